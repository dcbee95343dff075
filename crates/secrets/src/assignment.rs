//! Secrets that only their names give away: `password = "…"`, `API_KEY=…`, `--token …`, "the key is …".
//!
//! From the name it goes forward, over quotes and signs as they stand in JSON (also inside a string of JSON),
//! YAML, environment files, programs and shells, to a value, and the value must be plausible.

use crate::chance::is_random;
use crate::class::{ALNUM, BARE, BEARER, PADDED, PASSWORD};
use crate::name::{self, Kind, Name};
use crate::rule::padding;
use crate::value::{is_digest_or_uuid, is_identifier, is_mixed, is_protocol_id, is_stand_in};
use core::ops::Range;

/// The names of what is found here.
pub(crate) const RULES: [&str; 7] =
    ["password", "secret", "token", "api-key", "aws-secret-key", "authorization", "entropy"];

const LONGEST_QUOTED: usize = 4096;
const LONGEST_BARE: usize = 1024;
const LONGEST_PASSWORD: usize = 128;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Between quotes.
    Quoted,
    /// All of the line, or a word of a shell: nothing but a value can stand there.
    Line,
    /// In running text or code: it may be a variable or a word as well.
    Running,
}

/// The secret that the word at `word` announces.
pub(crate) fn find(bytes: &[u8], word: Range<usize>) -> Option<(&'static str, Range<usize>)> {
    let name = name::around(bytes, word)?;
    if let Some(kind) = name.kind
        && let Some((span, form)) = value(bytes, &name)
    {
        let (span, rule) = match kind {
            Kind::Authorization => (credential(bytes, span)?, "authorization"),
            Kind::Password => (span, "password"),
            Kind::Secret => (span, "secret"),
            Kind::Token => (span, "token"),
            Kind::Key => (span, "api-key"),
            Kind::AwsSecretKey => (span, "aws-secret-key"),
        };
        return is_plausible(kind, form, bytes.get(span.clone())?).then_some((rule, span));
    }
    Some(("entropy", told(bytes, &name)?))
}

fn is_plausible(kind: Kind, form: Form, value: &[u8]) -> bool {
    if value.len() < 8
        || !value.iter().all(u8::is_ascii_graphic)
        || is_stand_in(value)
        || is_protocol_id(value)
    {
        return false;
    }
    match kind {
        Kind::Password => {
            let is_odd = |byte: &u8| {
                matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' | b'~')
            };
            let has_letter = value.iter().any(u8::is_ascii_alphabetic);
            let has_other = value.iter().any(|byte| byte.is_ascii_digit() || is_odd(byte));
            // `db-password-2` names a password; `hunter2024` is one, unless it is a variable.
            let is_single = value.iter().all(u8::is_ascii_alphanumeric) && form != Form::Running;
            value.len() <= LONGEST_PASSWORD && has_letter && has_other && (is_single || !is_identifier(value))
        }
        Kind::Secret => {
            is_random(value)
                || (form != Form::Running && is_mixed(value) && !is_identifier(value) && value.len() >= 12)
        }
        Kind::Token | Kind::Key => value.len() >= 16 && (is_random(value) || is_digest_or_uuid(value)),
        Kind::AwsSecretKey => {
            value.len() == 40 && value.iter().all(|byte| PADDED.has(*byte)) && is_mixed(value)
        }
        Kind::Authorization => {
            value.len() >= 12 && is_mixed(value) && (is_random(value) || !is_identifier(value))
        }
    }
}

/// What follows the scheme in the value of an `Authorization`; all of it if there is no scheme.
fn credential(bytes: &[u8], span: Range<usize>) -> Option<Range<usize>> {
    let value = bytes.get(span.clone())?;
    let start = match value.iter().position(|byte| *byte == b' ') {
        Some(space) => span.start + space + 1,
        None => span.start,
    };
    let length = BEARER.run(bytes, start, LONGEST_QUOTED).min(span.end - start);
    Some(start..start + length)
}

/// A place in a text.
struct Cursor<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, text: &[u8]) -> bool {
        let is_there = self.bytes.get(self.at..).is_some_and(|ahead| ahead.starts_with(text));
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    fn skip_blanks(&mut self, most: usize) -> usize {
        let ahead = self.bytes.get(self.at..).unwrap_or_default();
        let count = ahead.iter().take(most).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.at += count;
        count
    }

    /// A quote, with the backslashes before it: their number is the depth of strings inside strings.
    fn quote(&mut self) -> Option<(usize, u8)> {
        let ahead = self.bytes.get(self.at..)?;
        let depth = ahead.iter().take(8).take_while(|byte| **byte == b'\\').count();
        let quote = *ahead.get(depth)?;
        matches!(quote, b'"' | b'\'' | b'`').then(|| {
            self.at += depth + 1;
            (depth, quote)
        })
    }
}

/// The value that is assigned to a name.
fn value(bytes: &[u8], name: &Name) -> Option<(Range<usize>, Form)> {
    let mut cursor = Cursor { bytes, at: name.span.end };
    let quote = cursor.quote();
    let is_option = bytes.get(name.span.clone())?.starts_with(b"--");
    if quote.is_some() {
        cursor.eat(b"]");
    }
    let blanks = cursor.skip_blanks(8);
    let mut is_typed = false;
    let is_tag = bytes.get(..name.span.start)?.ends_with(b"<") && quote.is_none();
    if cursor.eat(b"=>") || cursor.eat(b":=") {
    } else if cursor.eat(b"==") {
        return None;
    } else if cursor.eat(b"=") || (is_tag && cursor.eat(b">")) {
    } else if cursor.eat(b":") {
        is_typed = skip_type(&mut cursor);
    } else if is_option && (blanks > 0 || (quote.is_some() && cursor.eat(b","))) {
    } else if let Some(quote) = quote {
        // {"name": "API_KEY", "value": "…"}
        skip_to_value(&mut cursor, quote)?;
    } else {
        return None;
    }
    cursor.skip_blanks(8);
    if matches!(cursor.peek(), Some(b'f' | b'b' | b'r' | b'u' | b'@'))
        && matches!(bytes.get(cursor.at + 1), Some(b'"' | b'\''))
    {
        cursor.at += 1;
    }
    match cursor.quote() {
        Some((depth, quote)) => Some((quoted(bytes, cursor.at, depth, quote)?, Form::Quoted)),
        // Behind a type stands an expression.
        None if is_typed => None,
        None => bare(bytes, name, cursor.at, is_option, is_tag),
    }
}

/// `: &str = "…"`: a type may stand between a name and its value.
fn skip_type(cursor: &mut Cursor<'_>) -> bool {
    let ahead = cursor.bytes.get(cursor.at..).unwrap_or_default();
    let is_in_type = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'&' | b'\'' | b'<' | b'>' | b'?' | b'|')
    };
    let length = ahead.iter().take(40).take_while(|byte| is_in_type(byte)).count();
    let rest = ahead.get(length..).unwrap_or_default();
    let is_type = length > 1 && rest.starts_with(b"=") && !rest.starts_with(b"==");
    if is_type {
        cursor.at += length + 1;
    }
    is_type
}

fn skip_to_value(cursor: &mut Cursor<'_>, (depth, quote): (usize, u8)) -> Option<()> {
    let mut step = |text: &[u8]| {
        cursor.skip_blanks(8);
        cursor.eat(text).then_some(())
    };
    step(b",")?;
    let mark = [&b"\\".repeat(depth)[..], &[quote]].concat();
    step(&mark)?;
    step(b"value")?;
    step(&mark)?;
    step(b":")
}

/// What stands between quotes of the same depth, on one line.
fn quoted(bytes: &[u8], from: usize, depth: usize, quote: u8) -> Option<Range<usize>> {
    let ahead = bytes.get(from..)?;
    let mut slashes = 0;
    for (at, byte) in ahead.iter().take(LONGEST_QUOTED).enumerate() {
        match *byte {
            b'\\' => slashes += 1,
            b'\n' | b'\r' => return None,
            byte if byte == quote && slashes <= depth => return Some(from..from + at - slashes),
            _ => slashes = 0,
        }
    }
    None
}

/// A value without quotes.
fn bare(
    bytes: &[u8],
    name: &Name,
    from: usize,
    is_option: bool,
    is_tag: bool,
) -> Option<(Range<usize>, Form)> {
    let mut length = run_with_scheme(bytes, name, from)?;
    if length >= LONGEST_BARE {
        return None;
    }
    let next = bytes.get(from + length);
    let ends_line = matches!(next, None | Some(b'\n' | b'\r' | b'\\'));
    let closes_tag = bytes.get(from + length..).is_some_and(|rest| rest.starts_with(b"</"));
    let ends = matches!(next, Some(b' ' | b'\t' | b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b')' | b'}'));
    if is_tag != closes_tag || !(ends_line || closes_tag || ends) {
        return None;
    }
    // `NAME=value`, as in a shell or an environment file.
    let names = bytes.get(name.span.clone())?;
    let is_variable =
        names.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
            && from == name.span.end + 1;
    let is_entry = ends_line && bytes.get(from.checked_sub(2)?..from) == Some(b": ");
    if is_option || is_tag || is_variable || is_entry {
        return Some((from..from + length, Form::Line));
    }
    // What ends the sentence is no part of the value.
    while matches!(bytes.get(from..from + length)?.last(), Some(b'.' | b':' | b'?' | b'!')) {
        length -= 1;
    }
    Some((from..from + length, Form::Running))
}

/// The length of a value; for an `Authorization` with its scheme.
fn run_with_scheme(bytes: &[u8], name: &Name, from: usize) -> Option<usize> {
    let mut scheme = 0;
    if name.kind == Some(Kind::Authorization) {
        let length = ALNUM.run(bytes, from, 16);
        if bytes.get(from + length) == Some(&b' ') {
            scheme = length + 1;
        }
    }
    let class = if name.kind == Some(Kind::Password) { &PASSWORD } else { &BARE };
    let length = class.run(bytes, from + scheme, LONGEST_BARE);
    (length > 0).then(|| scheme + length + padding(bytes, from + scheme + length))
}

/// "The key is …": a value that is told, not assigned. Without a sign between them it must be beyond doubt.
fn told(bytes: &[u8], name: &Name) -> Option<Range<usize>> {
    let mut cursor = Cursor { bytes, at: name.span.end };
    let is_of = |byte: u8| matches!(byte, b'*' | b'"' | b'\'' | b'`');
    while cursor.peek().is_some_and(is_of) && cursor.at < name.span.end + 3 {
        cursor.at += 1;
    }
    if cursor.at == name.span.end && cursor.eat(b":") {
        if !is_qualified(bytes, name.span.start) {
            return None;
        }
    } else if cursor.skip_blanks(2) == 0 || !(cursor.eat(b"is") || cursor.eat(b"was")) {
        return None;
    }
    cursor.eat(b":");
    while cursor.peek().is_some_and(|byte| is_of(byte) || byte == b' ') && cursor.at < name.span.end + 10 {
        cursor.at += 1;
    }
    let length = BEARER.run(bytes, cursor.at, LONGEST_PASSWORD + 1);
    let mut span = cursor.at..cursor.at + length;
    if bytes.get(span.clone())?.ends_with(b".") {
        span.end -= 1;
    }
    let value = bytes.get(span.clone())?;
    let is_typed = value
        .iter()
        .position(|byte| *byte == b'_')
        .is_some_and(|at| value[..at].iter().all(u8::is_ascii_lowercase));
    let is_beyond_doubt = (20..=LONGEST_PASSWORD).contains(&value.len())
        && is_random(value)
        && !is_typed
        && !is_digest_or_uuid(value)
        && !is_protocol_id(value)
        && !value.starts_with(b"sha")
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_lowercase);
    is_beyond_doubt.then_some(span)
}

/// Whether the words before say which key or token is meant: "API key: …".
fn is_qualified(bytes: &[u8], start: usize) -> bool {
    let before = bytes.get(..start).unwrap_or_default();
    let Some(before) = before.strip_suffix(b" ") else { return false };
    QUALIFIERS.iter().any(|word| {
        let at = before.len().checked_sub(word.len());
        at.and_then(|at| before.get(at..)).is_some_and(|there| there.eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// The words that make a key or a token a secret one.
pub(crate) const QUALIFIERS: [&str; 9] =
    ["api", "access", "secret", "auth", "bearer", "private", "personal", "deploy", "license"];

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(text: &'t str, word: &str) -> Option<(&'static str, &'t str)> {
        let at = text.find(word).unwrap();
        find(text.as_bytes(), at..at + word.len()).map(|(rule, span)| (rule, &text[span]))
    }

    #[test]
    fn quotes_of_the_same_depth_end_a_value() {
        assert_eq!(found(r#"password="a\"b1234567""#, "password"), Some(("password", r#"a\"b1234567"#)));
        assert_eq!(found(r#"{\"password\":\"ab123456!\"}"#, "password"), Some(("password", "ab123456!")));
        assert_eq!(
            found(r#"{\\\"password\\\":\\\"ab123456!\\\"}"#, "password"),
            Some(("password", "ab123456!"))
        );
        assert_eq!(found("password=\"ab123456!\n\"", "password"), None);
        assert_eq!(found("password=\"ab123456!", "password"), None);
    }

    #[test]
    fn expressions_are_no_values() {
        for text in [
            "password = get_password1()",
            "password == \"ab123456!\"",
            "password: Password1Type = x",
            "password=password2,",
            "password[abc12345]",
        ] {
            assert_eq!(found(text, "password"), None, "{text}");
        }
    }

    #[test]
    fn what_is_told_must_be_beyond_doubt() {
        let value = "x9Kd83LsQ0pWm4Zt7RvB";
        assert_eq!(found(&format!("the key is {value}."), "key"), Some(("entropy", value)));
        for text in [
            format!("the key, {value}"),
            format!("key: {value}"),
            format!("the key is id_{value}"),
            format!("the key is {}", &value[..19]),
        ] {
            assert_eq!(found(&text, "key"), None, "{text}");
        }
    }
}
