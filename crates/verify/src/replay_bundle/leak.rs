//! What looks like a secret in the members of a bundle: where, never what.

use std::borrow::Cow;

use reenact_secrets::{Pack, Redactor};

/// The rule of a header line that the standard pack lets pass, because its value is short. Whoever puts a whole header into
/// a bundle put its credential there too: the real tool refuses it, whatever it looks like.
pub(super) const AUTHORIZATION_LINE: &str = "authorization-line";

/// Where a member seems to hold secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// The rule that found the first.
    pub rule: Cow<'static, str>,
    /// Where it begins, in bytes from the start of the member.
    pub offset: u64,
    /// How many there are.
    pub count: u64,
}

impl Leak {
    /// Adds a finding to those before it.
    fn add(leak: &mut Option<Self>, rule: Cow<'static, str>, offset: u64) {
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

/// Looks through a text for what begins in `[from, to)`; `base` is where the text lies in its member.
pub(super) fn look(text: &[u8], from: usize, to: usize, base: u64, leak: &mut Option<Leak>) {
    let place = |at: usize| base + at as u64;
    let found = Pack::standard().scan(text);
    for finding in found.iter().filter(|finding| (from..to).contains(&finding.span.start)) {
        Leak::add(leak, finding.rule.clone(), place(finding.span.start));
    }
    authorization_lines(text, |span| {
        // They are in order and do not overlap: the first that ends behind the line's beginning tells.
        let next = found.partition_point(|finding| finding.span.end <= span.start);
        let is_known = found.get(next).is_some_and(|finding| finding.span.start < span.end);
        if (from..to).contains(&span.start) && !is_known {
            Leak::add(leak, Cow::Borrowed(AUTHORIZATION_LINE), place(span.start));
        }
    });
}

/// A text that may be printed: whatever looks like a secret in it is masked.
pub fn masked(text: &[u8]) -> Cow<'_, [u8]> {
    Redactor::new(Pack::standard()).redact(text).bytes
}

const NAME: &[u8] = b"authorization";
/// Where the name's rarest letter stands in it.
const RAREST: usize = 7;

/// Calls `found` with the value of each line that is an `Authorization` header.
fn authorization_lines(text: &[u8], mut found: impl FnMut(core::ops::Range<usize>)) {
    for at in memchr::memchr2_iter(b'z', b'Z', text) {
        if let Some(start) = at.checked_sub(RAREST)
            && let Some(span) = header_value(text, start)
        {
            found(span);
        }
    }
}

/// The value of the header whose name begins at `start`, if one does and the value could be a credential.
fn header_value(text: &[u8], start: usize) -> Option<core::ops::Range<usize>> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let name = text.get(start..start + NAME.len())?;
    if !name.eq_ignore_ascii_case(NAME) {
        return None;
    }
    let before = text.get(..start)?.iter().rev().find(|byte| !is_blank(byte));
    if before.is_some_and(|byte| *byte != b'\n') {
        return None;
    }
    let rest = text.get(start + NAME.len()..)?;
    let colon = rest.iter().position(|byte| !is_blank(byte)).filter(|at| rest.get(*at) == Some(&b':'))?;
    let after = rest.get(colon + 1..)?;
    let value = after.split(|byte| matches!(byte, b'\n' | b'\r')).next()?;
    let from = value.iter().position(|byte| !is_blank(byte))?;
    let value = value.get(from..)?.trim_ascii_end();
    let begin = start + NAME.len() + colon + 1 + from;
    could_be_credential(value).then_some(begin..begin + value.len())
}

/// A scheme and a credential, or one word that is none of a language. What only stands for a credential is none, and a
/// sentence that begins with the word is a sentence.
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
