//! Passwords inside URLs: `scheme://user:password@host`.

use crate::{entropy, value};
use core::ops::Range;
use memchr::{memchr, memrchr};

/// Name of the rule.
pub(crate) const RULE: &str = "url-password";
/// Beginnings of an authority; the second is how some JSON writers spell the first.
pub(crate) const AUTHORITY_STARTS: [&str; 2] = ["://", ":\\/\\/"];
/// Longest authority that is looked at, in bytes.
const MAX_AUTHORITY_BYTES: usize = 1024;
/// Passwords that only show where one would stand.
pub(crate) const PLACEHOLDER_PASSWORDS: [&str; 9] =
    ["password", "pass", "passwd", "pwd", "pw", "secret", "token", "user", "username"];

/// Returns the span of the password, or of a user that is a token itself, in the URL whose
/// authority begins at `from`.
pub(crate) fn find(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let authority = bytes.get(from..)?;
    let length =
        authority.iter().take(MAX_AUTHORITY_BYTES).take_while(|byte| is_authority_byte(**byte)).count();
    let user_info = authority.get(..length)?;
    let user_info = user_info.get(..memrchr(b'@', user_info)?)?;
    let Some(colon) = memchr(b':', user_info) else {
        return (entropy::is_random(user_info) && user_info.len() >= 16)
            .then_some(from..from + user_info.len());
    };
    let (user, password) = (&user_info[..colon], &user_info[colon + 1..]);
    let is_shown = password == user || value::is_placeholder_value(password) || {
        let lower = password.to_ascii_lowercase();
        PLACEHOLDER_PASSWORDS.iter().any(|word| word.as_bytes() == lower)
    };
    (password.len() >= 3 && !is_shown).then_some(from + colon + 1..from + user_info.len())
}

/// Returns true for bytes of userinfo and host (RFC 3986); brackets, quotes and what programs put
/// around URLs end it.
fn is_authority_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'%'
                | b'!'
                | b'$'
                | b'&'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                | b':'
                | b'@'
                | b'^'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Option<&str> {
        let from = text.find("://").unwrap() + 3;
        find(text.as_bytes(), from).map(|span| &text[span])
    }

    #[test]
    fn passwords_and_tokens() {
        assert_eq!(password("postgres://app:s3cr3t@db:5432/x"), Some("s3cr3t"));
        assert_eq!(password("redis://:p%40ss@h"), Some("p%40ss"));
        assert_eq!(password("amqp://u:a:b@c@host/"), Some("a:b@c"));
        assert_eq!(password("https://x7Gk20fPq9LmZ4tR8@git.example/x"), Some("x7Gk20fPq9LmZ4tR8"));
    }

    #[test]
    fn urls_without() {
        for url in [
            "https://example.com/a:b@c",
            "ssh://git@example.com/x",
            "https://example.com:8080/",
            "postgres://user:password@host/db",
            "postgres://postgres:postgres@localhost/db",
            "https://user:<token>@host",
            "https://u:${PASSWORD}@host",
            "x://",
            "http://a:@b",
        ] {
            assert_eq!(password(url), None, "{url}");
        }
    }
}
