//! Signatures: HMAC-SHA256 under a key that the signer and the verifier share.
//!
//! The message is the canonical text of `checksum`, `metadata`, `payload` and `version`. What stands in `signature` beside the
//! value (the algorithm, the key's name) is covered by nothing.

use core::fmt;

use reenact_json::digest::Hmac;

/// The one algorithm.
pub const ALGORITHM: &str = "hmac-sha256";

/// The largest key file that is read.
pub const LARGEST_KEY: usize = 64 * 1024;

/// A shared key. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct HmacKey {
    secret: Vec<u8>,
}

/// Why bytes are no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HmacKeyError {
    /// Nothing but white space.
    #[error("the key is empty")]
    Empty,
    /// Bytes that are no text: the format's keys are.
    #[error("the key is not UTF-8 text")]
    NotText,
    /// Over [`LARGEST_KEY`].
    #[error("this is too long for a key: at most {LARGEST_KEY} bytes")]
    TooLong,
}

impl HmacKey {
    /// A key as people keep it: text, white space around it left out.
    pub fn from_text(bytes: &[u8]) -> Result<Self, HmacKeyError> {
        if bytes.len() > LARGEST_KEY {
            return Err(HmacKeyError::TooLong);
        }
        let text = core::str::from_utf8(bytes).map_err(|_| HmacKeyError::NotText)?;
        // What Python's `strip` takes away, which is a little more than Rust's `trim`.
        let text = text.trim_matches(|c: char| c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c));
        if text.is_empty() {
            return Err(HmacKeyError::Empty);
        }
        Ok(Self { secret: text.as_bytes().to_vec() })
    }

    /// Begins a message.
    pub fn begin(&self) -> Hmac {
        Hmac::new(&self.secret)
    }
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HmacKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_text_without_the_space_around_it() {
        let key = HmacKey::from_text(b"dev key").unwrap();
        for same in
            [&b"dev key\n"[..], b" dev key\r\n", b"\x1c\tdev key\x0b", "\u{a0}dev key\u{3000}".as_bytes()]
        {
            assert_eq!(HmacKey::from_text(same), Ok(key.clone()));
        }
        assert_eq!(HmacKey::from_text(b" \n"), Err(HmacKeyError::Empty));
        assert_eq!(HmacKey::from_text(b"\xff"), Err(HmacKeyError::NotText));
        assert_eq!(HmacKey::from_text(&[b'k'; LARGEST_KEY + 1]), Err(HmacKeyError::TooLong));
        assert_eq!(format!("{key:?}"), "HmacKey(…)");
    }
}
