//! Secrets that only their names give away: `password = "…"`, `API_KEY=…`, `--token …`, "the key is
//! …".
//!
//! From the name, a cursor goes forward over quotes and signs as they stand in JSON (also inside of
//! a JSON string), YAML, environment files, programs and shells, to a value, and the value must be
//! plausible. Start reading at [`find`].

use crate::byte_class::{ALNUM, BASE64_PADDED, BEARER, PASSWORD, UNQUOTED};
use crate::command_line;
use crate::entropy::is_random;
use crate::name::{self, SecretKind, SecretName};
use crate::rule::padding_length;
use crate::value::{is_digest_or_uuid, is_identifier, is_mixed, is_placeholder_value, is_protocol_id};
use core::ops::Range;

/// Names of the rules of this module.
pub(crate) const RULES: [&str; 7] =
    ["password", "secret", "token", "api-key", "aws-secret-key", "authorization", "entropy"];

/// Longest quoted value, in bytes.
const MAX_QUOTED_BYTES: usize = 4096;
/// Longest unquoted value, in bytes.
const MAX_UNQUOTED_BYTES: usize = 1024;
/// Longest password, in bytes.
const MAX_PASSWORD_BYTES: usize = 128;

/// Syntax around a value, which decides how much proof it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    /// Between quotes.
    Quoted,
    /// The whole line, or a word of a shell: nothing but a value can stand there.
    WholeLine,
    /// Within running text or code, where it may be a variable or a word as well.
    InlineText,
}

/// Returns the rule and the span of the secret that the word at `word` announces.
///
/// `word` is an occurrence of one of [`name::NAME_ENDINGS`].
pub(crate) fn find(bytes: &[u8], word: Range<usize>) -> Option<(&'static str, Range<usize>)> {
    let name = name::name_around(bytes, word)?;
    if let Some(kind) = name.kind
        && let Some((span, form)) = assigned_value(bytes, &name)
        && !(form != ValueForm::Quoted && is_test_result(bytes, &name))
    {
        if kind == SecretKind::Credential
            && let Some(from) = command_line::pair_secret(bytes.get(span.clone())?)
        {
            let span = span.start + from..span.end;
            return command_line::is_password(bytes.get(span.clone())?).then_some(("password", span));
        }
        let (span, rule) = match kind {
            SecretKind::Authorization => (credential_span(bytes, span)?, "authorization"),
            SecretKind::Password => (span, "password"),
            SecretKind::Secret | SecretKind::Credential => (span, "secret"),
            SecretKind::Token => (span, "token"),
            SecretKind::Key => (span, "api-key"),
            SecretKind::AwsSecretKey => (span, "aws-secret-key"),
        };
        return is_plausible(kind, form, bytes.get(span.clone())?).then_some((rule, span));
    }
    Some(("entropy", stated_value(bytes, &name)?))
}

/// Returns true for `PASS: test_…`, as tests report themselves.
fn is_test_result(bytes: &[u8], name: &SecretName) -> bool {
    bytes.get(name.span.clone()).is_some_and(|name| name.eq_ignore_ascii_case(b"pass"))
        && bytes.get(name.span.end) == Some(&b':')
}

/// Returns true if a name stands in a line of a `.netrc`: `machine HOST login USER password …`.
fn is_netrc(bytes: &[u8], name: &SecretName) -> bool {
    const REACH: usize = 160;
    let before = bytes.get(name.span.start.saturating_sub(REACH)..name.span.start).unwrap_or_default();
    let mut words =
        before.rsplit(|byte| matches!(byte, b' ' | b'\t' | b'\n')).filter(|word| !word.is_empty());
    // In JSON, a line break is written `\n`.
    let is_login = |word: &[u8]| word == b"login" || word.ends_with(b"\\nlogin");
    bytes.get(name.span.clone()) == Some(b"password") && words.nth(1).is_some_and(is_login)
}

/// Returns true if a value could be a secret of this kind.
fn is_plausible(kind: SecretKind, form: ValueForm, value: &[u8]) -> bool {
    if value.len() < 8
        || !value.iter().all(u8::is_ascii_graphic)
        || is_placeholder_value(value)
        || is_protocol_id(value)
    {
        return false;
    }
    match kind {
        SecretKind::Password => {
            let is_odd = |byte: &u8| {
                matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' | b'~')
            };
            let has_letter = value.iter().any(u8::is_ascii_alphabetic);
            let has_other = value.iter().any(|byte| byte.is_ascii_digit() || is_odd(byte));
            // `db-password-2` names a password; `hunter2024` is one, unless it is a variable.
            let is_single = value.iter().all(u8::is_ascii_alphanumeric) && form != ValueForm::InlineText;
            value.len() <= MAX_PASSWORD_BYTES
                && has_letter
                && has_other
                && (is_single || !is_identifier(value))
        }
        SecretKind::Secret => {
            is_random(value)
                || (form != ValueForm::InlineText
                    && is_mixed(value)
                    && !is_identifier(value)
                    && value.len() >= 12)
        }
        SecretKind::Token | SecretKind::Key => {
            value.len() >= 16 && (is_random(value) || is_digest_or_uuid(value))
        }
        SecretKind::AwsSecretKey => {
            value.len() == 40 && value.iter().all(|byte| BASE64_PADDED.contains(*byte)) && is_mixed(value)
        }
        SecretKind::Credential => {
            is_random(value) || is_digest_or_uuid(value) || (is_mixed(value) && !is_identifier(value))
        }
        SecretKind::Authorization => {
            value.len() >= 12 && is_mixed(value) && (is_random(value) || !is_identifier(value))
        }
    }
}

/// Returns the span of what follows the scheme in the value of an `Authorization`; the whole value
/// if there is no scheme.
fn credential_span(bytes: &[u8], span: Range<usize>) -> Option<Range<usize>> {
    let value = bytes.get(span.clone())?;
    let start = match value.iter().position(|byte| *byte == b' ') {
        Some(space) => span.start + space + 1,
        None => span.start,
    };
    let length = BEARER.run_length(bytes, start, MAX_QUOTED_BYTES).min(span.end - start);
    Some(start..start + length)
}

/// Position in a text while it is parsed.
pub(crate) struct ByteCursor<'t> {
    pub(crate) bytes: &'t [u8],
    /// Offset of the next byte.
    pub(crate) offset: usize,
}

impl ByteCursor<'_> {
    /// Returns the next byte.
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.offset).copied()
    }

    /// Skips `text` if it comes next; returns true if it did.
    pub(crate) fn eat(&mut self, text: &[u8]) -> bool {
        let is_there = self.bytes.get(self.offset..).is_some_and(|ahead| ahead.starts_with(text));
        if is_there {
            self.offset += text.len();
        }
        is_there
    }

    /// Skips blanks and tabs, at most `max_bytes`; returns how many.
    pub(crate) fn skip_blanks(&mut self, max_bytes: usize) -> usize {
        let ahead = self.bytes.get(self.offset..).unwrap_or_default();
        let count = ahead.iter().take(max_bytes).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.offset += count;
        count
    }

    /// Skips a quote with the backslashes before it. Their number is the depth of strings inside
    /// strings.
    pub(crate) fn quote(&mut self) -> Option<(usize, u8)> {
        let ahead = self.bytes.get(self.offset..)?;
        let depth = ahead.iter().take(8).take_while(|byte| **byte == b'\\').count();
        let quote = *ahead.get(depth)?;
        matches!(quote, b'"' | b'\'' | b'`').then(|| {
            self.offset += depth + 1;
            (depth, quote)
        })
    }
}

/// Returns the span of the value that is assigned to a name, and its syntax.
fn assigned_value(bytes: &[u8], name: &SecretName) -> Option<(Range<usize>, ValueForm)> {
    let mut cursor = ByteCursor { bytes, offset: name.span.end };
    let quote = cursor.quote();
    let is_option = bytes.get(name.span.clone())?.starts_with(b"--");
    let mut is_netrc_entry = false;
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
    } else if blanks > 0 && quote.is_none() && is_netrc(bytes, name) {
        is_netrc_entry = true;
    } else if let Some(quote) = quote {
        // {"name": "API_KEY", "value": "…"}
        skip_to_value(&mut cursor, quote)?;
    } else {
        return None;
    }
    cursor.skip_blanks(8);
    if matches!(cursor.peek(), Some(b'f' | b'b' | b'r' | b'u' | b'@'))
        && matches!(bytes.get(cursor.offset + 1), Some(b'"' | b'\''))
    {
        cursor.offset += 1;
    }
    match cursor.quote() {
        Some((depth, quote)) => Some((quoted_value(bytes, cursor.offset, depth, quote)?, ValueForm::Quoted)),
        // An unquoted text behind a type is an expression.
        None if is_typed => None,
        // The value of an option or of a `.netrc` is a word, whatever it looks like.
        None => unquoted_value(bytes, name, cursor.offset, is_option || is_netrc_entry, is_tag),
    }
}

/// Skips a type between a name and its value, as in `: &str = "…"`; returns true if there was one.
fn skip_type(cursor: &mut ByteCursor<'_>) -> bool {
    let ahead = cursor.bytes.get(cursor.offset..).unwrap_or_default();
    let is_in_type = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'&' | b'\'' | b'<' | b'>' | b'?' | b'|')
    };
    let length = ahead.iter().take(40).take_while(|byte| is_in_type(byte)).count();
    let rest = ahead.get(length..).unwrap_or_default();
    let is_type = length > 1 && rest.starts_with(b"=") && !rest.starts_with(b"==");
    if is_type {
        cursor.offset += length + 1;
    }
    is_type
}

/// Skips to the value of an object such as `{"name": "API_KEY", "value": "…"}`.
fn skip_to_value(cursor: &mut ByteCursor<'_>, (depth, quote): (usize, u8)) -> Option<()> {
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

/// Returns the span up to the closing quote of the same depth, on the same line.
pub(crate) fn quoted_value(bytes: &[u8], from: usize, depth: usize, quote: u8) -> Option<Range<usize>> {
    let ahead = bytes.get(from..)?;
    let mut slashes = 0;
    for (at, byte) in ahead.iter().take(MAX_QUOTED_BYTES).enumerate() {
        match *byte {
            b'\\' => slashes += 1,
            b'\n' | b'\r' => return None,
            byte if byte == quote && slashes <= depth => return Some(from..from + at - slashes),
            _ => slashes = 0,
        }
    }
    None
}

/// Returns the span of an unquoted value, and its syntax.
fn unquoted_value(
    bytes: &[u8],
    name: &SecretName,
    from: usize,
    is_option: bool,
    is_tag: bool,
) -> Option<(Range<usize>, ValueForm)> {
    let mut length = unquoted_length(bytes, name, from)?;
    if length >= MAX_UNQUOTED_BYTES {
        return None;
    }
    let next = bytes.get(from + length);
    let ends_line = matches!(next, None | Some(b'\n' | b'\r' | b'\\'));
    let closes_tag = bytes.get(from + length..).is_some_and(|rest| rest.starts_with(b"</"));
    let ends = matches!(next, Some(b' ' | b'\t' | b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b')' | b'}'));
    let ends = ends || ends_sentence(bytes, from + length);
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
        return Some((from..from + length, ValueForm::WholeLine));
    }
    // Punctuation at the end of a sentence is no part of the value.
    while matches!(bytes.get(from..from + length)?.last(), Some(b'.' | b':' | b'?' | b'!')) {
        length -= 1;
    }
    Some((from..from + length, ValueForm::InlineText))
}

/// Returns true if a full stop at `at` ends a sentence.
fn ends_sentence(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b'.') && !bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
}

/// Returns the length of an unquoted value; for an `Authorization` together with its scheme.
fn unquoted_length(bytes: &[u8], name: &SecretName, from: usize) -> Option<usize> {
    let mut scheme = 0;
    if name.kind == Some(SecretKind::Authorization) {
        let length = ALNUM.run_length(bytes, from, 16);
        if bytes.get(from + length) == Some(&b' ') {
            scheme = length + 1;
        }
    }
    let class = match name.kind {
        Some(SecretKind::Password | SecretKind::Credential) => &PASSWORD,
        _ => &UNQUOTED,
    };
    let length = class.run_length(bytes, from + scheme, MAX_UNQUOTED_BYTES);
    (length > 0).then(|| scheme + length + padding_length(bytes, from + scheme + length))
}

/// Returns the span of a value that a sentence states: "The key is …". Without a sign of
/// assignment, the value must leave no doubt.
fn stated_value(bytes: &[u8], name: &SecretName) -> Option<Range<usize>> {
    let mut cursor = ByteCursor { bytes, offset: name.span.end };
    let is_of = |byte: u8| matches!(byte, b'*' | b'"' | b'\'' | b'`');
    while cursor.peek().is_some_and(is_of) && cursor.offset < name.span.end + 3 {
        cursor.offset += 1;
    }
    if cursor.offset == name.span.end && cursor.eat(b":") {
        if !is_qualified(bytes, name.span.start) {
            return None;
        }
    } else if cursor.skip_blanks(2) == 0 || !(cursor.eat(b"is") || cursor.eat(b"was")) {
        return None;
    }
    cursor.eat(b":");
    while cursor.peek().is_some_and(|byte| is_of(byte) || byte == b' ') && cursor.offset < name.span.end + 10
    {
        cursor.offset += 1;
    }
    let length = BEARER.run_length(bytes, cursor.offset, MAX_PASSWORD_BYTES + 1);
    let mut span = cursor.offset..cursor.offset + length;
    if bytes.get(span.clone())?.ends_with(b".") {
        span.end -= 1;
    }
    let value = bytes.get(span.clone())?;
    let is_typed = value
        .iter()
        .position(|byte| *byte == b'_')
        .is_some_and(|at| value[..at].iter().all(u8::is_ascii_lowercase));
    let is_beyond_doubt = (20..=MAX_PASSWORD_BYTES).contains(&value.len())
        && is_random(value)
        && !is_typed
        && !is_digest_or_uuid(value)
        && !is_protocol_id(value)
        && !value.starts_with(b"sha")
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_lowercase);
    is_beyond_doubt.then_some(span)
}

/// Returns true if the word before a name says which key or token is meant: "API key: …".
fn is_qualified(bytes: &[u8], start: usize) -> bool {
    let before = bytes.get(..start).unwrap_or_default();
    let Some(before) = before.strip_suffix(b" ") else { return false };
    QUALIFIERS.iter().any(|word| {
        let at = before.len().checked_sub(word.len());
        at.and_then(|at| before.get(at..)).is_some_and(|there| there.eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// Words that make a key or a token a secret one.
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
