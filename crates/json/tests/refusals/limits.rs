//! Documents that are too deep or too large, and numbers that are very long.

use reenact_json::scanner::Scanner;
use reenact_json::{Limits, SyntaxError, SyntaxFault, Value};

use crate::{end, outcome, unexpected};

/// Returns a document of that depth, and the offset of its innermost bracket.
fn nested(depth: usize, open: &[&str], close: &[&str]) -> (String, usize) {
    let mut text: String = (0..depth).map(|level| open[level % open.len()]).collect();
    let innermost = text.rfind(['{', '[']).unwrap();
    // An object that is opened with a member needs a value in the middle.
    if text.ends_with(':') {
        text.push('1');
    }
    text.extend((0..depth).rev().map(|level| close[level % close.len()]));
    (text, innermost)
}

#[test]
fn depth_at_the_limit_and_one_over_it() {
    let shapes: [(&[&str], &[&str]); 5] = [
        (&["["], &["]"]),
        (&["{\"a\":"], &["}"]),
        (&["[", "{\"a\":"], &["]", "}"]),
        (&["{\"a\":", "["], &["}", "]"]),
        (&["[[],", "{\"z\":{}, \"a\":"], &["]", "}"]),
    ];
    for limit in [1, 2, 3, 64, 512, Limits::MAX_DEPTH] {
        let limits = Limits { max_depth: limit, ..Limits::default() };
        for (open, close) in shapes {
            // Siblings such as `[]` need one level more than the chain itself.
            let siblings = usize::from(open[0].len() > 1 && open[0].contains("[]"));
            let depth = limit as usize;
            if depth > siblings {
                let (text, _) = nested(depth - siblings, open, close);
                let text = if siblings > 0 { text.replace(",]", "]") } else { text };
                assert_eq!(outcome(text.as_bytes(), &limits), Ok(()), "{limit} levels of {open:?}");
            }
            if siblings == 0 {
                let (text, innermost) = nested(depth + 1, open, close);
                let fault = SyntaxFault::TooDeep { limit };
                let expected = SyntaxError { offset: innermost, fault };
                assert_eq!(outcome(text.as_bytes(), &limits), Err(expected), "{} of {open:?}", limit + 1);
            }
        }
    }
}

#[test]
fn depth_counts_what_is_open_not_what_was() {
    let text = format!("[{}]", ["[[]]"; 1_000].join(","));
    let limits = Limits { max_depth: 3, ..Limits::default() };
    assert_eq!(outcome(text.as_bytes(), &limits), Ok(()));
    let text = format!("[{}]", [r#"{"b":{},"a":{}}"#; 1_000].join(","));
    assert_eq!(outcome(text.as_bytes(), &limits), Ok(()));
}

#[test]
fn depth_zero_leaves_scalars() {
    let limits = Limits { max_depth: 0, ..Limits::default() };
    let too_deep = |offset| Err(SyntaxError { offset, fault: SyntaxFault::TooDeep { limit: 0 } });
    assert_eq!(outcome(b" 1 ", &limits), Ok(()));
    assert_eq!(outcome(b" []", &limits), too_deep(1));
    assert_eq!(outcome(b"{}", &limits), too_deep(0));
}

#[test]
fn levels_that_were_entered_count() {
    let limits = Limits { max_depth: 2, ..Limits::default() };
    let mut scanner = Scanner::new(b"[[[]]]", &limits).unwrap();
    let mut outer = scanner.enter_array().unwrap();
    assert!(scanner.next_element(&mut outer).unwrap());
    let mut inner = scanner.enter_array().unwrap();
    assert!(scanner.next_element(&mut inner).unwrap());
    let expected = SyntaxError { offset: 2, fault: SyntaxFault::TooDeep { limit: 2 } };
    assert_eq!(scanner.enter_array().unwrap_err(), expected);

    let mut scanner = Scanner::new(br#"{"a":[{}]}"#, &limits).unwrap();
    let mut object = scanner.enter_object().unwrap();
    assert!(scanner.next_name(&mut object).unwrap().unwrap().is_string("a"));
    let expected = SyntaxError { offset: 6, fault: SyntaxFault::TooDeep { limit: 2 } };
    assert_eq!(scanner.value().unwrap_err(), expected);
}

#[test]
fn entering_something_else_is_refused() {
    let mut scanner = Scanner::new(b" [1]", &Limits::default()).unwrap();
    let expected = SyntaxError { offset: 1, fault: unexpected(b'[', "an object") };
    assert_eq!(scanner.enter_object().unwrap_err(), expected);
    let mut scanner = Scanner::new(b"{}", &Limits::default()).unwrap();
    let expected = SyntaxError { offset: 0, fault: unexpected(b'{', "an array") };
    assert_eq!(scanner.enter_array().unwrap_err(), expected);
    let mut scanner = Scanner::new(b"  ", &Limits::default()).unwrap();
    assert_eq!(scanner.enter_array().unwrap_err(), SyntaxError { offset: 2, fault: end("an array") });
}

#[test]
fn a_hundred_thousand_levels_are_an_error_and_no_crash() {
    let boundless = Limits { max_depth: u32::MAX, max_bytes: usize::MAX };
    for (open, width) in [("[", 1), ("{\"a\":", 5), ("{\"b\":1,\"a\":", 11), (" [", 2)] {
        let text = open.repeat(100_000);
        for (limits, limit) in [(Limits::default(), 512), (boundless, Limits::MAX_DEPTH)] {
            let offset = limit as usize * width + open.find(['[', '{']).unwrap();
            let expected = SyntaxError { offset, fault: SyntaxFault::TooDeep { limit } };
            assert_eq!(outcome(text.as_bytes(), &limits), Err(expected), "{open}");
        }
    }
}

#[test]
fn size_at_the_limit_and_one_over_it() {
    let limits = Limits { max_bytes: 6, ..Limits::default() };
    assert_eq!(outcome(b"[1,23]", &limits), Ok(()));
    assert_eq!(
        outcome(b"[1,23] ", &limits),
        Err(SyntaxError { offset: 6, fault: SyntaxFault::TooLarge { bytes: 7, limit: 6 } })
    );
    // The size is checked first: other faults are not read.
    assert_eq!(
        outcome(b"\xef\xbb\xbf????", &limits),
        Err(SyntaxError { offset: 6, fault: SyntaxFault::TooLarge { bytes: 7, limit: 6 } })
    );
    let none = Limits { max_bytes: 0, ..Limits::default() };
    assert_eq!(outcome(b"", &none), Err(SyntaxError { offset: 0, fault: SyntaxFault::Empty }));
    assert_eq!(
        outcome(b"1", &none),
        Err(SyntaxError { offset: 0, fault: SyntaxFault::TooLarge { bytes: 1, limit: 0 } })
    );
}

#[test]
fn long_numbers_are_read_and_have_no_canonical_form() {
    use reenact_json::{CanonicalFault, Jcs, NumberFault, canonical};
    let integer = "7".repeat(5_000);
    let huge = "1".repeat(1_000_000);
    let fraction = format!("0.{}", "3".repeat(1_000_000));
    let exponent = format!("1e{}", "9".repeat(1_000_000));
    let tiny = format!("-1e-{}", "9".repeat(1_000_000));
    let zero = format!("0.{}e{}", "0".repeat(500_000), "9".repeat(500_000));
    let cut = |literal: &str| literal.chars().take(60).collect::<String>();
    let fault =
        |literal: &str, fault| Err(CanonicalFault::Number { path: "$".into(), literal: cut(literal), fault });
    for (text, expected) in [
        (&integer, fault(&integer, NumberFault::Overflow)),
        (&huge, fault(&huge, NumberFault::Overflow)),
        (&fraction, Ok("0.3333333333333333".into())),
        (&exponent, fault(&exponent, NumberFault::Overflow)),
        (&tiny, Ok("0".into())),
        (&zero, Ok("0".into())),
    ] {
        assert_eq!(outcome(text.as_bytes(), &Limits::default()), Ok(()));
        let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        assert!(!value.is_canonical());
        let written = canonical::to_vec(value, Jcs).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(written, expected, "{}", cut(text));
    }
    let bad = format!("{huge}.");
    let expected = SyntaxError { offset: 0, fault: SyntaxFault::Number };
    assert_eq!(outcome(bad.as_bytes(), &Limits::default()), Err(expected));
}

#[test]
fn a_text_of_brackets_over_the_limit_of_bytes_has_a_short_path() {
    let text = "[".repeat(3_000_000);
    let limits = Limits { max_bytes: 2_000_000, ..Limits::default() };
    let error = outcome(text.as_bytes(), &limits).unwrap_err();
    assert_eq!(error.fault, SyntaxFault::TooLarge { bytes: 3_000_000, limit: 2_000_000 });
    assert_eq!(error.position(text.as_bytes()).path, format!("${}…", "[0]".repeat(40)));
}
