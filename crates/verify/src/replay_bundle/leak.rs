//! [`Leak`]: a place in a member that looks like a secret, by position and rule, never by its text.

use std::borrow::Cow;

use reenact_secrets::{Redactor, RulePack};

/// Rule for `Authorization` header lines that the standard rules accept because their value is short.
///
/// A bundle with a whole header line contains its credential. The reference tool refuses such a line
/// whatever its value looks like.
pub(super) const AUTHORIZATION_LINE: &str = "authorization-line";

/// Places in a member that look like secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// Name of the rule that found the first one.
    pub rule: Cow<'static, str>,
    /// Offset of the first one, in bytes from the beginning of the member.
    pub offset: u64,
    /// Number of such places.
    pub count: u64,
}

impl Leak {
    /// Adds a place to those found before; the one with the smallest offset is the first.
    fn add_finding(leak: &mut Option<Self>, rule: Cow<'static, str>, offset: u64) {
        match leak {
            None => *leak = Some(Self { rule, offset, count: 1 }),
            Some(leak) => {
                leak.count += 1;
                if offset < leak.offset {
                    (leak.rule, leak.offset) = (rule, offset);
                }
            }
        }
    }
}

/// Adds the secrets of a text that begin in `[from, to)`. `base` is the offset of the text in its
/// member.
pub(super) fn scan(text: &[u8], from: usize, to: usize, base: u64, leak: &mut Option<Leak>) {
    let offset_of = |at: usize| base + at as u64;
    let found = RulePack::standard().scan(text);
    for finding in found.iter().filter(|finding| (from..to).contains(&finding.span.start)) {
        Leak::add_finding(leak, finding.rule.clone(), offset_of(finding.span.start));
    }
    authorization_lines(text, |span| {
        // Findings are sorted and do not overlap, so the first that ends after the line's start
        // decides.
        let next = found.partition_point(|finding| finding.span.end <= span.start);
        let is_known = found.get(next).is_some_and(|finding| finding.span.start < span.end);
        if (from..to).contains(&span.start) && !is_known {
            Leak::add_finding(leak, Cow::Borrowed(AUTHORIZATION_LINE), offset_of(span.start));
        }
    });
}

/// Returns a text that may be printed: everything that looks like a secret is masked.
pub fn masked(text: &[u8]) -> Cow<'_, [u8]> {
    Redactor::new(RulePack::standard()).redact(text).bytes
}

/// Name of the header, in lower case.
const HEADER_NAME: &[u8] = b"authorization";
/// Position of `z`, the rarest letter of the name.
const RAREST_AT: usize = 7;

/// Calls `found` with the range of the value of each `Authorization` header line.
fn authorization_lines(text: &[u8], mut found: impl FnMut(core::ops::Range<usize>)) {
    for at in memchr::memchr2_iter(b'z', b'Z', text) {
        if let Some(start) = at.checked_sub(RAREST_AT)
            && let Some(span) = header_value(text, start)
        {
            found(span);
        }
    }
}

/// Returns the range of the value of the header whose name begins at `start`; `None` if there is no
/// such header, or its value cannot be a credential.
fn header_value(text: &[u8], start: usize) -> Option<core::ops::Range<usize>> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let name = text.get(start..start + HEADER_NAME.len())?;
    if !name.eq_ignore_ascii_case(HEADER_NAME) {
        return None;
    }
    let before = text.get(..start)?.iter().rev().find(|byte| !is_blank(byte));
    if before.is_some_and(|byte| *byte != b'\n') {
        return None;
    }
    let rest = text.get(start + HEADER_NAME.len()..)?;
    let colon = rest.iter().position(|byte| !is_blank(byte)).filter(|at| rest.get(*at) == Some(&b':'))?;
    let after = rest.get(colon + 1..)?;
    let value = after.split(|byte| matches!(byte, b'\n' | b'\r')).next()?;
    let from = value.iter().position(|byte| !is_blank(byte))?;
    let value = value.get(from..)?.trim_ascii_end();
    let begin = start + HEADER_NAME.len() + colon + 1 + from;
    could_be_credential(value).then_some(begin..begin + value.len())
}

/// Returns true for a scheme with a credential, or a single word that is not a plain one.
///
/// Placeholders such as `[REDACTED]` or `$TOKEN` are not credentials, and a sentence that begins with
/// the word is a sentence.
fn could_be_credential(value: &[u8]) -> bool {
    const SCHEMES: [&str; 8] =
        ["basic", "bearer", "digest", "negotiate", "token", "apikey", "key", "aws4-hmac-sha256"];
    let mut words = value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let stands_in = |word: &[u8]| {
        word.first().is_some_and(|first| matches!(first, b'[' | b'<' | b'{' | b'$' | b'*' | b'(' | b'%'))
    };
    match (words.next(), words.next()) {
        (Some(word), None) => !stands_in(word) && !word.iter().all(u8::is_ascii_alphabetic),
        (Some(scheme), Some(credential)) => {
            SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes()))
                && !stands_in(credential)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        authorization_lines(text.as_bytes(), |span| found.push(&text[span]));
        found
    }

    #[test]
    fn header_lines() {
        assert_eq!(lines("Authorization: Basic abc"), ["Basic abc"]);
        assert_eq!(lines("GET / HTTP/1.1\r\nauthorization :Bearer x\r\n\r\n"), ["Bearer x"]);
        assert_eq!(lines("\n\n \tAUTHORIZATION: k3y \nz"), ["k3y"]);
        assert_eq!(
            lines("Authorization: AWS4-HMAC-SHA256 Credential=a, Signature=b"),
            ["AWS4-HMAC-SHA256 Credential=a, Signature=b"]
        );
    }

    #[test]
    fn what_is_no_header_line() {
        for text in [
            "",
            "z",
            "Authorization",
            "Authorization:",
            "Authorization:\n",
            "Authorization: [REDACTED]",
            "Authorization: Bearer [masked:authorization:1]",
            "Authorization: Bearer <your token>",
            "Authorization: Bearer $TOKEN",
            "authorization: required",
            "Authorization: the act of granting access",
            "see Authorization: Basic abc",
            "\"Authorization\": \"x\"",
            "Authorizations: Basic abc",
        ] {
            assert_eq!(lines(text), Vec::<&str>::new(), "{text:?}");
        }
    }
}
