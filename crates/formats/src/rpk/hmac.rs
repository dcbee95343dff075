//! Signatures: HMAC-SHA256 under a key that the signer and the verifier share.
//!
//! The message is the canonical text of `checksum`, `metadata`, `payload` and `version`. The other members of
//! `signature` (the algorithm, the key's name) are covered by nothing.

use core::fmt;

use reenact_json::digest::Hmac;

/// Name of the only algorithm.
pub const ALGORITHM: &str = "hmac-sha256";

/// Largest key file that is read, in bytes.
pub const MAX_HMAC_KEY_BYTES: usize = 64 * 1024;

/// Shared key. Its `Debug` output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct HmacKey {
    secret: Vec<u8>,
}

/// Reason why bytes are not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HmacKeyError {
    /// Nothing but white space.
    #[error("the key is empty")]
    Empty,
    /// Not UTF-8: the format's keys are text.
    #[error("the key is not UTF-8 text")]
    NotText,
    /// Longer than [`MAX_HMAC_KEY_BYTES`].
    #[error("this is too long for a key: at most {MAX_HMAC_KEY_BYTES} bytes")]
    TooLong,
}

impl HmacKey {
    /// Takes a key as people keep it: UTF-8 text; white space around it is removed.
    ///
    /// # Errors
    ///
    /// [`HmacKeyError`] if the text is empty, too long or not UTF-8.
    pub fn from_text(bytes: &[u8]) -> Result<Self, HmacKeyError> {
        if bytes.len() > MAX_HMAC_KEY_BYTES {
            return Err(HmacKeyError::TooLong);
        }
        let text = core::str::from_utf8(bytes).map_err(|_| HmacKeyError::NotText)?;
        // The characters that Python's `strip` removes, a few more than Rust's `trim`.
        let text = text.trim_matches(|c: char| c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c));
        if text.is_empty() {
            return Err(HmacKeyError::Empty);
        }
        Ok(Self { secret: text.as_bytes().to_vec() })
    }

    /// Begins a message under this key.
    pub fn begin_message(&self) -> Hmac {
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
        assert_eq!(HmacKey::from_text(&[b'k'; MAX_HMAC_KEY_BYTES + 1]), Err(HmacKeyError::TooLong));
        assert_eq!(format!("{key:?}"), "HmacKey(…)");
    }
}
