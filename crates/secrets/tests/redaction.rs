//! Replacement of secrets by marks: which, where, and with which number.
#![allow(clippy::unwrap_used)]

mod support;

use reenact_secrets::{MaskedSpan, Redactor, RulePack, renumbered};
use std::borrow::Cow;
use support::SeededRandom;

fn redactor() -> Redactor {
    Redactor::new(RulePack::standard())
}

fn masked(redactor: &mut Redactor, text: &str) -> String {
    String::from_utf8(redactor.redact(text.as_bytes()).bytes.into_owned()).unwrap()
}

fn key(seed: u64) -> String {
    format!("ghp_{}", SeededRandom::new(seed).letters("alnum", 36))
}

/// Returns a request whose message has these parts.
fn request(shape: &str, parts: &[&str]) -> String {
    let part = |text: &&str| match shape {
        "gemini" => format!(r#"{{"text":"{text}"}}"#),
        "responses" => format!(r#"{{"type":"input_text","text":"{text}"}}"#),
        _ => format!(r#"{{"type":"text","text":"{text}"}}"#),
    };
    let parts = parts.iter().map(part).collect::<Vec<_>>().join(",");
    match shape {
        "gemini" => format!(r#"{{"contents":[{{"role":"user","parts":[{parts}]}}]}}"#),
        "responses" => format!(r#"{{"model":"m","input":[{{"role":"user","content":[{parts}]}}]}}"#),
        _ => format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{parts}]}}]}}"#),
    }
}

/// A token, a private key or a known value that is cut over the parts of a request is masked in all of them.
#[test]
fn a_secret_cut_over_parts_of_a_request() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----",
        "MIIEvQIBADANBgkq".repeat(12)
    );
    let known = "correct-horse-battery";
    for shape in ["gemini", "responses", "messages"] {
        for (secret, rule) in
            [(token.as_str(), "github-token"), (&key, "private-key"), (known, "environment")]
        {
            for cut in (1..secret.len()).filter(|cut| !secret[..*cut].ends_with('\\')) {
                let (one, two) = secret.split_at(cut);
                let mut redactor = Redactor::new(RulePack::standard());
                redactor.add_known("environment", known.as_bytes());
                let text = request(shape, &[&format!("use {one}"), &format!("{two} now")]);
                let expected = request(shape, &[&format!("use [masked:{rule}:1]"), " now"]);
                let masked = String::from_utf8(redactor.redact(text.as_bytes()).bytes.into_owned()).unwrap();
                assert_eq!(masked, expected, "{cut}");
            }
        }
        let (one, two, three) = (&token[..9], &token[9..20], &token[20..]);
        let text = request(shape, &[one, two, three]);
        let masked = Redactor::new(RulePack::standard()).redact(text.as_bytes()).bytes.into_owned();
        assert_eq!(String::from_utf8(masked).unwrap(), request(shape, &["[masked:github-token:1]", "", ""]));
    }
}

/// What stands in another part is no value of a name, and what is whole in one part is masked as ever.
#[test]
fn parts_that_belong_to_nothing() {
    for parts in
        [&["What is your password:", "Hunter2024!x"][..], &["the sk-", "learn package"], &["user", "s"]]
    {
        let text = request("messages", parts);
        assert_eq!(Redactor::new(RulePack::standard()).redact(text.as_bytes()).masked_spans, []);
    }
}

/// The table of ordinary texts, in all readings: decoded, joined, and as parts of a document.
#[test]
fn ordinary_texts_stay_as_they_are() {
    let mut alarms = Vec::new();
    for (name, template) in support::corpus("false") {
        for seed in 0..5 {
            let text = support::made(&template, seed).text;
            let lines: Vec<String> = text.lines().map(|line| format!("{line:?}")).collect();
            let document = format!("[{}]", lines.join(","));
            for text in [&text, &document] {
                let mut redactor = Redactor::new(RulePack::standard());
                let redacted = redactor.redact(text.as_bytes());
                let found = redacted
                    .masked_spans
                    .iter()
                    .map(|found| format!("{name}: {}: {:.80}", found.rule, &text[found.source_span.clone()]));
                alarms.extend(found);
            }
        }
    }
    assert_eq!(alarms, Vec::<String>::new());
}

#[test]
fn a_value_keeps_its_number() {
    let mut redactor = redactor();
    let (one, two) = (key(1), key(2));
    assert_eq!(
        masked(&mut redactor, &format!("{one} {two} {one}")),
        "[masked:github-token:1] [masked:github-token:2] [masked:github-token:1]"
    );
    assert_eq!(masked(&mut redactor, &two), "[masked:github-token:2]");
    assert_eq!(masked(&mut redactor, &key(3)), "[masked:github-token:3]");
}

#[test]
fn numbers_are_per_rule() {
    let mut redactor = redactor();
    redactor.add_known("environment", b"made-up value");
    assert_eq!(
        masked(&mut redactor, &format!("{} made-up value", key(1))),
        "[masked:github-token:1] [masked:environment:1]"
    );
}

#[test]
fn cuts_say_what_moved_where() {
    let key = key(1);
    let text = format!("ab {key} cd");
    let redacted = redactor().redact(text.as_bytes());
    assert_eq!(
        redacted.masked_spans,
        [MaskedSpan { rule: "github-token".into(), source_span: 3..43, result_span: 3..26 }]
    );
    let positions: Vec<usize> = [0, 3, 4, 42, 43, 44, 46].map(|at| redacted.result_offset(at)).into();
    assert_eq!(positions, [0, 3, 26, 26, 26, 27, 29]);
}

#[test]
fn nothing_found_is_nothing_copied() {
    let mut redactor = redactor();
    redactor.add_known("environment", b"made-up value");
    let redacted = redactor.redact(b"no secret here");
    assert!(matches!(redacted.bytes, Cow::Borrowed(b"no secret here")));
    assert_eq!(redacted.masked_spans, []);
}

#[test]
fn known_values_are_found_in_every_form() {
    let mut redactor = redactor();
    redactor.add_known("environment", "pä \"ss\"/w<d>\n&+".as_bytes());
    for text in [
        "pä \"ss\"/w<d>\n&+",
        r#"{"x":"pä \"ss\"/w<d>\n&+"}"#,
        r#"{"x":"pä \"ss\"\/w<d>\n&+"}"#,
        r#"{"x":"p\u00e4 \"ss\"/w<d>\n&+"}"#,
        r#"{"x":"p\u00E4 \"ss\"/w<d>\n&+"}"#,
        r#"{"x":"pä \"ss\"/w\u003cd\u003e\n\u0026+"}"#,
        r#"{"x":"{\"y\":\"pä \\\"ss\\\"/w<d>\\n&+\"}"}"#,
        "a=p%C3%A4%20%22ss%22%2Fw%3Cd%3E%0A%26%2B",
        "a=p%c3%a4+%22ss%22%2fw%3cd%3e%0a%26%2b",
    ] {
        let masked = masked(&mut redactor, text);
        assert!(masked.contains("[masked:environment:1]") && !masked.contains("ss"), "{text} {masked}");
    }
}

#[test]
fn known_values_are_found_in_base64() {
    let mut redactor = redactor();
    redactor.add_known("environment", b"made-up-password");
    // user:made-up-password
    assert_eq!(
        masked(&mut redactor, "x dXNlcjptYWRlLXVwLXBhc3N3b3Jk y"),
        "x dXNlcjp[masked:environment:1] y"
    );
}

#[test]
fn of_two_known_values_the_longer_one_is_meant() {
    let mut redactor = redactor();
    redactor.add_known("a", b"12345678");
    redactor.add_known("b", b"123456789012");
    assert_eq!(masked(&mut redactor, "x1234567890123 123456780"), "x[masked:b:1]3 [masked:a:1]0");
}

#[test]
fn where_two_secrets_overlap_no_part_is_left() {
    let mut redactor = redactor();
    redactor.add_known("a", b"abcdefgh");
    redactor.add_known("b", b"efghijkl");
    assert_eq!(masked(&mut redactor, "abcdefghijkl"), "[masked:a:1]");
    assert_eq!(masked(&mut redactor, "abcdefgh efghijkl"), "[masked:a:2] [masked:b:1]");
}

#[test]
fn what_is_known_names_what_a_rule_would_find_too() {
    let mut redactor = redactor();
    redactor.add_known("environment", key(1).as_bytes());
    assert_eq!(masked(&mut redactor, &format!("token={}", key(1))), "token=[masked:environment:1]");
}

#[test]
fn what_stands_next_to_a_mark_is_found() {
    let mut redactor = redactor();
    redactor.add_known("environment", b"made-up-value");
    let text = format!("made-up-value{}made-up-value", key(1));
    let once = masked(&mut redactor, &text);
    assert_eq!(once, "[masked:environment:1][masked:github-token:1][masked:environment:1]");
    assert_eq!(masked(&mut redactor, &once), once);
}

#[test]
fn a_value_that_begins_inside_an_escape_takes_the_backslash() {
    let mut redactor = redactor();
    redactor.add_known("environment", b"nothing-else");
    assert_eq!(masked(&mut redactor, r#""a\nothing-else""#), r#""a[masked:environment:1]""#);
    assert_eq!(masked(&mut redactor, r#""a\\nothing-else""#), r#""a\\[masked:environment:1]""#);
}

#[test]
fn marks_that_are_there_stay() {
    let mut redactor = redactor();
    redactor.add_known("environment", b"password");
    redactor.add_known("environment", b"environment");
    let text = "[masked:environment:7] password=[masked:password:12] [masked:jwt:1]";
    assert_eq!(masked(&mut redactor, text), text.replace(" password=", " [masked:environment:1]="));
}

#[test]
fn brackets_hide_nothing() {
    let mut redactor = redactor();
    redactor.add_known("environment", b"made-up-value");
    redactor.add_known("environment", b"12345678");
    assert_eq!(masked(&mut redactor, "[masked:made-up-value:1]"), "[masked:[masked:environment:1]:1]");
    assert_eq!(masked(&mut redactor, "[masked:jwt:12345678]"), "[masked:jwt:[masked:environment:2]]");
    let key = format!("sk-{}", SeededRandom::new(1).letters("hex", 32));
    assert_eq!(masked(&mut redactor, &format!("[masked:{key}:1]")), "[masked:[masked:openai-key:1]:1]");
}

#[test]
fn marks_are_renumbered_by_first_appearance() {
    let renumber = |text: &str| String::from_utf8(renumbered(text.as_bytes()).into_owned()).unwrap();
    assert_eq!(
        renumber("[masked:a:7] [masked:b:3] [masked:a:12] [masked:a:7] [masked:b:1]"),
        "[masked:a:1] [masked:b:1] [masked:a:2] [masked:a:1] [masked:b:2]"
    );
    for text in [
        "",
        "[masked:a:1]",
        "[masked:a:]",
        "[masked::2]",
        "[masked:a:2",
        "[masked:A:2]",
        "[masked:a:02]",
        "[masked:a:1234567890]",
    ] {
        assert_eq!(renumber(text), text);
        assert!(matches!(renumbered(text.as_bytes()), Cow::Borrowed(_)));
    }
}

#[test]
fn nothing_shows_the_values() {
    let mut redactor = redactor();
    redactor.add_known("environment", b"made-up-value");
    assert_eq!(format!("{redactor:?}"), "Redactor { pack: RulePack { name: \"reenact-1\", .. }, .. }");
}

/// Percent-encoding may hide any letter, of known values and of what rules find.
/// Returns a text as it stands in the value of a form or a query.
fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let spelled =
        |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(spelled).collect()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let code =
            behind.get(..2).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        let code = code.filter(|_| byte == b'%');
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).unwrap()
}

/// Whatever a rule finds in a text, it finds in the value of a form as well, also at its beginning, and leaves the values around it.
#[test]
fn every_case_of_the_corpus_in_a_form() {
    let mut left = Vec::new();
    for (rule, template) in support::true_cases() {
        let made = support::made(&template, 11);
        for text in [made.text.clone(), format!("as said:\n{}\nand so on", made.text)] {
            let form = format!("a=1&text={}&b=2", percent_encoded(&text));
            let masked = masked(&mut redactor(), &form);
            let decoded = percent_decoded(&masked);
            let is_left = made.spans.iter().any(|span| decoded.contains(&made.text[span.clone()]));
            if is_left || !masked.starts_with("a=1&text=") || !masked.ends_with("&b=2") {
                left.push(format!("{rule} | {template}\n    {masked}"));
            }
        }
    }
    assert!(left.is_empty(), "{} left:\n{}", left.len(), left.join("\n"));
}

#[test]
fn percent_encoding_is_read_as_what_it_means() {
    let mut redactor = redactor();
    redactor.add_known("environment", b"zorro-quilt-lamp");
    let (token, known) = (key(1), "[masked:environment:1]");
    assert_eq!(masked(&mut redactor, "a=zorro%2Dquilt-lamp&b=1"), format!("a={known}&b=1"));
    assert_eq!(masked(&mut redactor, "a=zorro%252Dquilt-lamp"), format!("a={known}"));
    let encoded = token.replacen('_', "%5F", 1);
    assert_eq!(
        masked(&mut redactor, &format!("{token} t={encoded}&c=2")),
        "[masked:github-token:1] t=[masked:github-token:1]&c=2"
    );
    assert_eq!(
        masked(&mut redactor, "url=postgres%3A%2F%2Fapp%3Ahunter2x%40db"),
        "url=postgres%3A%2F%2Fapp%3A[masked:url-password:1]%40db"
    );
}

/// A form writes a blank as a plus: private keys and passwords of several words are in forms, too.
#[test]
fn a_plus_in_a_form_is_a_blank() {
    let mut redactor = redactor();
    let line = "MadeUp0%2B".repeat(9);
    let block = format!("-----BEGIN+PRIVATE+KEY-----%0A{line}%0A-----END+PRIVATE+KEY-----");
    assert_eq!(masked(&mut redactor, &format!("a=1&pem={block}&b=2")), "a=1&pem=[masked:private-key:1]&b=2");
    let bearer = SeededRandom::new(1).letters("alnum", 40);
    assert_eq!(masked(&mut redactor, &format!("h=Bearer+{bearer}")), "h=Bearer+[masked:bearer-token:1]");
}
