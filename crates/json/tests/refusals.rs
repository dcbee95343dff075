//! Texts that the scanner refuses: each with its exact fault and offset, through both doors (`Value::parse` and a walk
//! with `enter_object`/`enter_array`), which must refuse alike.
#![allow(clippy::unwrap_used)]

use reenact_json::scanner::Scanner;
use reenact_json::{Kind, Limits, Position, SyntaxError, SyntaxFault, Value};

const VALUE: &str = "a value";
const NAME: &str = "a member name in quotes";
const COLON: &str = "a colon";
const MORE_OF_OBJECT: &str = "a comma or the end of the object";
const MORE_OF_ARRAY: &str = "a comma or the end of the array";
const QUOTE: &str = "a closing quote";
const ESCAPE: &str = "the rest of an escape";

fn unexpected(found: u8, wanted: &'static str) -> SyntaxFault {
    SyntaxFault::Unexpected { found, wanted }
}

fn end(wanted: &'static str) -> SyntaxFault {
    SyntaxFault::End { wanted }
}

fn duplicate(name: &str) -> SyntaxFault {
    SyntaxFault::DuplicateName { name: name.into() }
}

/// Reads a document by entering every object and array in it.
fn walk(input: &[u8], limits: &Limits) -> Result<(), SyntaxError> {
    fn value(scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        match scanner.kind()? {
            Kind::Object => {
                let mut object = scanner.enter_object()?;
                while scanner.next_name(&mut object)?.is_some() {
                    value(scanner)?;
                }
            }
            Kind::Array => {
                let mut array = scanner.enter_array()?;
                while scanner.next_element(&mut array)? {
                    value(scanner)?;
                }
            }
            _ => {
                scanner.value()?;
            }
        }
        Ok(())
    }
    let mut scanner = Scanner::new(input, limits)?;
    value(&mut scanner)?;
    scanner.finish()
}

/// What both doors say of a text.
fn outcome(input: &[u8], limits: &Limits) -> Result<(), SyntaxError> {
    let parsed = Value::parse(input, limits).map(|_| ());
    let shown: String = String::from_utf8_lossy(input).chars().take(80).collect();
    assert_eq!(walk(input, limits), parsed, "the doors disagree on {shown}");
    if let Err(error) = &parsed {
        assert!(error.offset <= input.len(), "{error} of {shown}");
        assert!(!error.describe(input).is_empty());
    }
    parsed
}

/// A text, where it is refused and why.
type Case = (&'static [u8], usize, SyntaxFault);

fn check(cases: &[Case]) {
    for (input, offset, fault) in cases {
        let expected = SyntaxError { offset: *offset, fault: fault.clone() };
        let shown = String::from_utf8_lossy(input);
        assert_eq!(outcome(input, &Limits::default()), Err(expected), "{shown}");
    }
}

#[test]
fn nothing_at_all() {
    check(&[
        (b"", 0, SyntaxFault::Empty),
        (b" ", 1, SyntaxFault::Empty),
        (b" \t\r\n", 4, SyntaxFault::Empty),
        // White space is what RFC 8259 lists, not what Unicode lists.
        (b"\x0b1", 0, unexpected(0x0b, VALUE)),
        (b"\x0c1", 0, unexpected(0x0c, VALUE)),
        (b"\xc2\xa01", 0, unexpected(0xc2, VALUE)),
        (b"\xe2\x80\xa81", 0, unexpected(0xe2, VALUE)),
        (b"1\xc2\xa0", 1, SyntaxFault::TrailingData),
    ]);
}

#[test]
fn other_encodings() {
    check(&[
        (b"\xef\xbb\xbf{}", 0, SyntaxFault::ByteOrderMark),
        (b"\xef\xbb\xbf", 0, SyntaxFault::ByteOrderMark),
        (b" \xef\xbb\xbf{}", 1, unexpected(0xef, VALUE)),
        (b"{}\xef\xbb\xbf", 2, SyntaxFault::TrailingData),
        (b"\xfe\xff\0{\0}", 0, SyntaxFault::Utf16),
        (b"\xff\xfe{\0}\0", 0, SyntaxFault::Utf16),
        (b"\0{\0}", 0, SyntaxFault::Utf16),
        (b"{\0}\0", 0, SyntaxFault::Utf16),
        (b"\0\0\0{", 0, SyntaxFault::Utf16),
        (b"{\0\0\0", 0, SyntaxFault::Utf16),
        (b"\0", 0, unexpected(0, VALUE)),
        (b"[1\0]", 2, unexpected(0, MORE_OF_ARRAY)),
    ]);
}

#[test]
fn bytes_that_are_not_utf8_outside_strings() {
    check(&[
        (b"\xff", 0, SyntaxFault::NotUtf8),
        (b"\xef\xbb", 0, SyntaxFault::NotUtf8),
        (b"[\x80]", 1, SyntaxFault::NotUtf8),
        (b"[1\xc3]", 2, SyntaxFault::NotUtf8),
        (b"{\xed\xa0\x80:1}", 1, SyntaxFault::NotUtf8),
        (b"{\"a\"\xfe", 4, SyntaxFault::NotUtf8),
        // Good UTF-8 in a place where only ASCII goes is another mistake.
        ("[é]".as_bytes(), 1, unexpected(0xc3, VALUE)),
    ]);
}

#[test]
fn bytes_that_are_not_utf8_inside_strings() {
    check(&[
        (b"\"\xff\"", 1, SyntaxFault::NotUtf8),
        (b"\"a\x80\"", 2, SyntaxFault::NotUtf8),
        (b"\"12345678\x80\"", 9, SyntaxFault::NotUtf8),
        (b"\"\xc3\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xc3\\u00a9\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xe2\x82\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xf0\x9f\x98\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xc0\x80\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xc1\xbf\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xe0\x80\xaf\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xf0\x80\x80\xaf\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xed\xa0\xbd\xed\xb8\x80\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xf4\x90\x80\x80\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xf5\x80\x80\x80\"", 1, SyntaxFault::NotUtf8),
        (b"{\"a\xff\":1}", 3, SyntaxFault::NotUtf8),
        (b"[\"\\n\xff\"]", 4, SyntaxFault::NotUtf8),
    ]);
}

#[test]
fn extensions_of_json() {
    check(&[
        (b"NaN", 0, unexpected(b'N', VALUE)),
        (b"nan", 0, unexpected(b'n', "`null`")),
        (b"Infinity", 0, unexpected(b'I', VALUE)),
        (b"-Infinity", 0, SyntaxFault::Number),
        (b"[-NaN]", 1, SyntaxFault::Number),
        (b"undefined", 0, unexpected(b'u', VALUE)),
        (b"True", 0, unexpected(b'T', VALUE)),
        (b"TRUE", 0, unexpected(b'T', VALUE)),
        (b"// a\n1", 0, unexpected(b'/', VALUE)),
        (b"/* a */1", 0, unexpected(b'/', VALUE)),
        (b"# a\n1", 0, unexpected(b'#', VALUE)),
        (b"[1/**/]", 2, unexpected(b'/', MORE_OF_ARRAY)),
        (b"{}//", 2, SyntaxFault::TrailingData),
        (b"{/**/}", 1, unexpected(b'/', NAME)),
        (b"[1,]", 3, unexpected(b']', VALUE)),
        (b"[,1]", 1, unexpected(b',', VALUE)),
        (b"[,]", 1, unexpected(b',', VALUE)),
        (b"[1,,2]", 3, unexpected(b',', VALUE)),
        (b"{\"a\":1,}", 7, unexpected(b'}', NAME)),
        (b"{,}", 1, unexpected(b',', NAME)),
        (b"{\"a\":1,,\"b\":2}", 7, unexpected(b',', NAME)),
        (b"'a'", 0, unexpected(b'\'', VALUE)),
        (b"{'a':1}", 1, unexpected(b'\'', NAME)),
        (b"{a:1}", 1, unexpected(b'a', NAME)),
        (b"{1:1}", 1, unexpected(b'1', NAME)),
        (b"{null:1}", 1, unexpected(b'n', NAME)),
        (b"`a`", 0, unexpected(b'`', VALUE)),
    ]);
}

#[test]
fn broken_structure() {
    check(&[
        (b"]", 0, unexpected(b']', VALUE)),
        (b"}", 0, unexpected(b'}', VALUE)),
        (b",", 0, unexpected(b',', VALUE)),
        (b":", 0, unexpected(b':', VALUE)),
        (b"[", 1, end(VALUE)),
        (b"[ ", 2, end(VALUE)),
        (b"[1", 2, end(MORE_OF_ARRAY)),
        (b"[1,", 3, end(VALUE)),
        (b"[1}", 2, unexpected(b'}', MORE_OF_ARRAY)),
        (b"[1 2]", 3, unexpected(b'2', MORE_OF_ARRAY)),
        (b"[\"a\":1]", 4, unexpected(b':', MORE_OF_ARRAY)),
        (b"{", 1, end(NAME)),
        (b"{]", 1, unexpected(b']', NAME)),
        (b"{\"a\"", 4, end(COLON)),
        (b"{\"a\"}", 4, unexpected(b'}', COLON)),
        (b"{\"a\",1}", 4, unexpected(b',', COLON)),
        (b"{\"a\"=1}", 4, unexpected(b'=', COLON)),
        (b"{\"a\" 1}", 5, unexpected(b'1', COLON)),
        (b"{\"a\":", 5, end(VALUE)),
        (b"{\"a\":}", 5, unexpected(b'}', VALUE)),
        (b"{\"a\":,\"b\":1}", 5, unexpected(b',', VALUE)),
        (b"{\"a\"::1}", 5, unexpected(b':', VALUE)),
        (b"{\"a\":1", 6, end(MORE_OF_OBJECT)),
        (b"{\"a\":1]", 6, unexpected(b']', MORE_OF_OBJECT)),
        (b"{\"a\":1,", 7, end(NAME)),
        (b"{\"a\":1 \"b\":2}", 7, unexpected(b'"', MORE_OF_OBJECT)),
        (b"{\"a\":1;", 6, unexpected(b';', MORE_OF_OBJECT)),
    ]);
}

#[test]
fn cut_or_misspelled_literals() {
    check(&[
        (b"t", 0, unexpected(b't', "`true`")),
        (b"tru", 0, unexpected(b't', "`true`")),
        (b"trUe", 0, unexpected(b't', "`true`")),
        (b"fals", 0, unexpected(b'f', "`false`")),
        (b"nul", 0, unexpected(b'n', "`null`")),
        (b"[nulL]", 1, unexpected(b'n', "`null`")),
        (b"truee", 4, SyntaxFault::TrailingData),
        (b"[truefalse]", 5, unexpected(b'f', MORE_OF_ARRAY)),
    ]);
}

#[test]
fn data_after_the_value() {
    check(&[
        (b"1 2", 2, SyntaxFault::TrailingData),
        (b"{}{}", 2, SyntaxFault::TrailingData),
        (b"{} {}", 3, SyntaxFault::TrailingData),
        (b"{}\n{}\n", 3, SyntaxFault::TrailingData),
        (b"[]]", 2, SyntaxFault::TrailingData),
        (b"{}}", 2, SyntaxFault::TrailingData),
        (b"{},", 2, SyntaxFault::TrailingData),
        (b"\"a\"b", 3, SyntaxFault::TrailingData),
        (b"\"a\"\"b\"", 3, SyntaxFault::TrailingData),
        (b"{}\0", 2, SyntaxFault::TrailingData),
        (b"{}\xff", 2, SyntaxFault::TrailingData),
        (b"{}\x1e", 2, SyntaxFault::TrailingData),
    ]);
}

#[test]
fn numbers_off_the_grammar() {
    check(&[
        (b"00", 0, SyntaxFault::Number),
        (b"01", 0, SyntaxFault::Number),
        (b"-01", 0, SyntaxFault::Number),
        (b"-00", 0, SyntaxFault::Number),
        (b"00.5", 0, SyntaxFault::Number),
        (b"[007]", 1, SyntaxFault::Number),
        (b"-", 0, SyntaxFault::Number),
        (b"--1", 0, SyntaxFault::Number),
        (b"- 1", 0, SyntaxFault::Number),
        (b"-a", 0, SyntaxFault::Number),
        (b"-.5", 0, SyntaxFault::Number),
        (b"+1", 0, unexpected(b'+', VALUE)),
        (b".5", 0, unexpected(b'.', VALUE)),
        (b"[.5]", 1, unexpected(b'.', VALUE)),
        (b"1.", 0, SyntaxFault::Number),
        (b"[1.]", 1, SyntaxFault::Number),
        (b"1.e5", 0, SyntaxFault::Number),
        (b"1.-5", 0, SyntaxFault::Number),
        (b"1e", 0, SyntaxFault::Number),
        (b"1E", 0, SyntaxFault::Number),
        (b"1e+", 0, SyntaxFault::Number),
        (b"1e-", 0, SyntaxFault::Number),
        (b"1e+-5", 0, SyntaxFault::Number),
        (b"[1e]", 1, SyntaxFault::Number),
        (b"{\"a\":0e}", 5, SyntaxFault::Number),
        (b"1.5.2", 3, SyntaxFault::TrailingData),
        (b"1e5.5", 3, SyntaxFault::TrailingData),
        (b"1e5e5", 3, SyntaxFault::TrailingData),
        (b"0x10", 1, SyntaxFault::TrailingData),
        (b"1_000", 1, SyntaxFault::TrailingData),
        (b"1n", 1, SyntaxFault::TrailingData),
        (b"[1f]", 2, unexpected(b'f', MORE_OF_ARRAY)),
        ("１".as_bytes(), 0, unexpected(0xef, VALUE)),
    ]);
}

#[test]
fn strings_off_the_grammar() {
    check(&[
        (b"\"", 1, end(QUOTE)),
        (b"\"abc", 4, end(QUOTE)),
        (b"[\"abc]", 6, end(QUOTE)),
        (b"{\"abc", 5, end(QUOTE)),
        (b"\"\\\"", 3, end(QUOTE)),
        (b"\"\\", 2, end(ESCAPE)),
        (b"\"\\u", 3, end(ESCAPE)),
        (b"\"\\u12", 5, end(ESCAPE)),
        (b"\"\\ud83d\\u", 9, end(ESCAPE)),
        (b"\"\\x41\"", 1, SyntaxFault::Escape),
        (b"\"\\'\"", 1, SyntaxFault::Escape),
        (b"\"\\0\"", 1, SyntaxFault::Escape),
        (b"\"\\v\"", 1, SyntaxFault::Escape),
        (b"\"\\U0041\"", 1, SyntaxFault::Escape),
        (b"\"a\\\n\"", 2, SyntaxFault::Escape),
        (b"\"\\\xc3\xa9\"", 1, SyntaxFault::Escape),
        (b"\"\\u{41}\"", 1, SyntaxFault::Escape),
        (b"\"\\u004g\"", 1, SyntaxFault::Escape),
        (b"\"\\u+041\"", 1, SyntaxFault::Escape),
        (b"\"\\u 041\"", 1, SyntaxFault::Escape),
        (b"\"\\u00\xb2\xb2\"", 1, SyntaxFault::Escape),
        (b"\"\\ud83d\\uzzzz\"", 7, SyntaxFault::Escape),
        (b"{\"\\a\":1}", 2, SyntaxFault::Escape),
    ]);
}

#[test]
fn lone_surrogates() {
    check(&[
        (br#""\ud800""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\uDBFF""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\udc00""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\udfff""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83dx""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\n""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\u0041""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\ud83d\ude00""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\ue000""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ude00\ud83d""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\ude00\ude00""#, 13, SyntaxFault::LoneSurrogate),
        (br#""ab\ud83d \ude00""#, 3, SyntaxFault::LoneSurrogate),
        (br#"{"\ud800":1}"#, 2, SyntaxFault::LoneSurrogate),
    ]);
}

#[test]
fn each_raw_control_character_in_a_string_is_refused_at_each_offset() {
    for found in 0..0x20 {
        for length in 0..20 {
            for closed in ["\"", "and on and on\""] {
                let mut input = b" \"".to_vec();
                input.resize(2 + length, b'~');
                input.push(found);
                input.extend_from_slice(closed.as_bytes());
                let fault = SyntaxFault::ControlCharacter { found };
                assert_eq!(
                    outcome(&input, &Limits::default()),
                    Err(SyntaxError { offset: 2 + length, fault }),
                    "0x{found:02x} after {length}"
                );
            }
        }
    }
    // U+007F to U+009F are controls of Unicode, but not of JSON.
    assert_eq!(outcome("\"\u{7f}\u{80}\u{9f}\"".as_bytes(), &Limits::default()), Ok(()));
}

#[test]
fn duplicate_names() {
    check(&[
        (br#"{"a":1,"a":1}"#, 7, duplicate("a")),
        (br#"{"":1,"":2}"#, 6, duplicate("")),
        // However they are spelled.
        (br#"{"a":1,"\u0061":2}"#, 7, duplicate("a")),
        (br#"{"\u0061":1,"a":2}"#, 12, duplicate("a")),
        (br#"{"\u0061":1,"\u0061":2}"#, 12, duplicate("a")),
        (br#"{"\u004A":1,"\u004a":2}"#, 12, duplicate("J")),
        (br#"{"\/":1,"/":2}"#, 8, duplicate("/")),
        (br#"{"\n":1,"\u000a":2}"#, 8, duplicate("\n")),
        (br#"{"\"":1,"\u0022":2}"#, 8, duplicate("\"")),
        (br#"{"\\":1,"\u005C":2}"#, 8, duplicate("\\")),
        (br#"{"\u0000":1,"\u0000":2}"#, 12, duplicate("\0")),
        ("{\"\\ud83d\\ude00\":1,\"😀\":2}".as_bytes(), 18, duplicate("😀")),
        ("{\"😀\":1,\"\\uD83D\\uDE00\":2}".as_bytes(), 10, duplicate("😀")),
        ("{\"é\":1,\"\\u00e9\":2}".as_bytes(), 8, duplicate("é")),
        // At any depth, also in objects that are in order but for the duplicate, and in values that no one asks for.
        (br#"{"a":{"b":1,"b":2}}"#, 12, duplicate("b")),
        (br#"[{"a":1},{"a":1,"a":2}]"#, 16, duplicate("a")),
        (br#"{"a":[[{"x":1,"x":1}]],"b":1}"#, 14, duplicate("x")),
        (br#"{"a":1,"b":2,"c":3,"c":4,"d":5}"#, 19, duplicate("c")),
        (br#"{"a":1,"b":2,"c":3,"a":4}"#, 19, duplicate("a")),
        (br#"{"c":1,"b":2,"a":3,"c":4}"#, 19, duplicate("c")),
        (br#"{"a":{"z":1,"y":2},"b":{"z":1,"y":2},"a":1}"#, 37, duplicate("a")),
        // Three times: the second is reported. Two pairs: the one whose name sorts first.
        (br#"{"a":1,"a":2,"a":3}"#, 7, duplicate("a")),
        (br#"{"b":1,"b":2,"a":3,"a":4}"#, 19, duplicate("a")),
    ]);
}

#[test]
fn names_that_only_look_alike_are_no_duplicates() {
    for text in [
        r#"{"a":1,"A":2}"#,
        r#"{"a":1,"a ":2,"":3}"#,
        r#"{"a":{"a":{"a":1}}}"#,
        r#"[{"a":1},{"a":1}]"#,
        r#"{"a":[{"a":1}],"b":{"a":1}}"#,
        r#"{"\\u0061":1,"\u0061":2}"#,
        r#"{"\\n":1,"\n":2}"#,
        "{\"é\":1,\"e\u{301}\":2}",
        r#"{"\u0000":1,"":2}"#,
    ] {
        assert_eq!(outcome(text.as_bytes(), &Limits::default()), Ok(()), "{text}");
    }
}

/// Members with names of their own, in canonical order or against it.
fn numbered(from: usize, to: usize, descending: bool) -> String {
    let member = |n: usize| format!("\"n{n:07}\":{n}");
    let members: Vec<String> =
        if descending { (from..to).rev().map(member).collect() } else { (from..to).map(member).collect() };
    members.join(",")
}

#[test]
fn duplicate_names_far_apart() {
    // Below, at and above the count from which names are sorted in another way.
    for count in [2, 1_022, 1_023, 1_024, 5_000] {
        for descending in [false, true] {
            for spelled in ["n0000000", r"\u006e000000\u0030"] {
                let text = format!(r#"{{{},"{spelled}":0}}"#, numbered(0, count, descending));
                let offset = text.len() - 5 - spelled.len();
                let expected = SyntaxError { offset, fault: duplicate("n0000000") };
                assert_eq!(outcome(text.as_bytes(), &Limits::default()), Err(expected), "{count} {spelled}");
            }
            let text = format!(r#"{{{},"n":0}}"#, numbered(0, count, descending));
            assert_eq!(outcome(text.as_bytes(), &Limits::default()), Ok(()), "{count}");
        }
    }
}

#[test]
fn a_long_duplicate_name_is_cut_in_the_report() {
    let name = "é".repeat(5_000);
    let text = format!(r#"{{"{name}":1,"{name}":2}}"#);
    let expected = SyntaxError { offset: name.len() + 6, fault: duplicate(&"é".repeat(100)) };
    assert_eq!(outcome(text.as_bytes(), &Limits::default()), Err(expected));
}

/// A document of that depth, and the offset of its innermost bracket.
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
    for limit in [1, 2, 3, 64, 512, Limits::DEEPEST] {
        let limits = Limits { depth: limit, ..Limits::default() };
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
    let limits = Limits { depth: 3, ..Limits::default() };
    assert_eq!(outcome(text.as_bytes(), &limits), Ok(()));
    let text = format!("[{}]", [r#"{"b":{},"a":{}}"#; 1_000].join(","));
    assert_eq!(outcome(text.as_bytes(), &limits), Ok(()));
}

#[test]
fn depth_zero_leaves_scalars() {
    let limits = Limits { depth: 0, ..Limits::default() };
    let too_deep = |offset| Err(SyntaxError { offset, fault: SyntaxFault::TooDeep { limit: 0 } });
    assert_eq!(outcome(b" 1 ", &limits), Ok(()));
    assert_eq!(outcome(b" []", &limits), too_deep(1));
    assert_eq!(outcome(b"{}", &limits), too_deep(0));
}

#[test]
fn levels_that_were_entered_count() {
    let limits = Limits { depth: 2, ..Limits::default() };
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
    let boundless = Limits { depth: u32::MAX, bytes: usize::MAX };
    for (open, width) in [("[", 1), ("{\"a\":", 5), ("{\"b\":1,\"a\":", 11), (" [", 2)] {
        let text = open.repeat(100_000);
        for (limits, limit) in [(Limits::default(), 512), (boundless, Limits::DEEPEST)] {
            let offset = limit as usize * width + open.find(['[', '{']).unwrap();
            let expected = SyntaxError { offset, fault: SyntaxFault::TooDeep { limit } };
            assert_eq!(outcome(text.as_bytes(), &limits), Err(expected), "{open}");
        }
    }
}

#[test]
fn size_at_the_limit_and_one_over_it() {
    let limits = Limits { bytes: 6, ..Limits::default() };
    assert_eq!(outcome(b"[1,23]", &limits), Ok(()));
    assert_eq!(
        outcome(b"[1,23] ", &limits),
        Err(SyntaxError { offset: 6, fault: SyntaxFault::TooLarge { bytes: 7, limit: 6 } })
    );
    // The size is looked at first: what else is wrong is not read.
    assert_eq!(
        outcome(b"\xef\xbb\xbf????", &limits),
        Err(SyntaxError { offset: 6, fault: SyntaxFault::TooLarge { bytes: 7, limit: 6 } })
    );
    let none = Limits { bytes: 0, ..Limits::default() };
    assert_eq!(outcome(b"", &none), Err(SyntaxError { offset: 0, fault: SyntaxFault::Empty }));
    assert_eq!(
        outcome(b"1", &none),
        Err(SyntaxError { offset: 0, fault: SyntaxFault::TooLarge { bytes: 1, limit: 0 } })
    );
}

#[test]
fn long_numbers_are_read_and_have_no_canonical_form() {
    use reenact_json::{CanonicalFault, NumberFault, Profile, canonical};
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
        let written = canonical::to_vec(value, Profile::Jcs).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(written, expected, "{}", cut(text));
    }
    let bad = format!("{huge}.");
    let expected = SyntaxError { offset: 0, fault: SyntaxFault::Number };
    assert_eq!(outcome(bad.as_bytes(), &Limits::default()), Err(expected));
}

const SAMPLE: &str = concat!(
    " {\"b\" : [1, -2.5e+10, 0.001, true, false, null, \"\"],\n",
    "\t\"a\\u00e9\\ud83d\\ude00\\n\\\\\": {\"é\": \"日本\\t😀\", \"z\": {}, \"y\": []}, \r\n",
    "\"\\/\": {\"nested\": [[{\"deep\": [0]}]]}}"
);

#[test]
fn a_document_cut_at_any_byte_is_refused() {
    assert_eq!(outcome(SAMPLE.as_bytes(), &Limits::default()), Ok(()));
    for length in 0..SAMPLE.len() {
        let cut = &SAMPLE.as_bytes()[..length];
        let error = outcome(cut, &Limits::default()).expect_err("a cut document is no document");
        assert!(
            matches!(
                error.fault,
                SyntaxFault::Empty
                    | SyntaxFault::End { .. }
                    | SyntaxFault::Number
                    | SyntaxFault::LoneSurrogate
                    | SyntaxFault::Unexpected { found: b't' | b'f' | b'n', .. }
            ),
            "cut at {length}: {error}"
        );
    }
}

#[test]
fn any_byte_changed_is_judged_as_serde_json_judges_it() {
    for at in 0..SAMPLE.len() {
        for byte in 0..=255 {
            let mut text = SAMPLE.as_bytes().to_vec();
            text[at] = byte;
            let ours = outcome(&text, &Limits::default());
            let theirs = serde_json::from_slice::<serde_json::Value>(&text);
            let shown = String::from_utf8_lossy(&text);
            match ours {
                Ok(()) => {
                    // A number may be too large for serde_json and still be JSON.
                    let fine = theirs.map(|_| ()).or_else(|error| match error.to_string() {
                        text if text.starts_with("number out of range") => Ok(()),
                        text => Err(text),
                    });
                    assert_eq!(fine, Ok(()), "byte {at} as 0x{byte:02x}: {shown}");
                }
                // serde_json keeps the last of two members; in all else the two agree.
                Err(error) if matches!(error.fault, SyntaxFault::DuplicateName { .. }) => {}
                Err(error) => assert!(theirs.is_err(), "{error}, byte {at} as 0x{byte:02x}: {shown}"),
            }
        }
    }
}

#[test]
fn any_offset_has_a_position() {
    for text in [SAMPLE.as_bytes(), b"\xff{\"a\xff\"[]]]}},,\"", b"\"\\", b"{\"\\ud800\":", b"]]]"] {
        for offset in 0..text.len() + 3 {
            let position = Position::of(text, offset);
            let before = &text[..offset.min(text.len())];
            let lines = before.split(|&byte| byte == b'\n').count();
            assert_eq!(position.line, lines);
            assert!(position.path.starts_with('$'));
        }
    }
}

#[test]
fn a_text_of_brackets_over_the_limit_of_bytes_has_a_short_path() {
    let text = "[".repeat(3_000_000);
    let limits = Limits { bytes: 2_000_000, ..Limits::default() };
    let error = outcome(text.as_bytes(), &limits).unwrap_err();
    assert_eq!(error.fault, SyntaxFault::TooLarge { bytes: 3_000_000, limit: 2_000_000 });
    assert_eq!(error.position(text.as_bytes()).path, format!("${}…", "[0]".repeat(40)));
}
