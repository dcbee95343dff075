//! Secret part of the gateway's address. A request without it gets nothing, and leaves no trace in a record.

use std::fmt;

use subtle::ConstantTimeEq;

/// Secret of 128 random bits, written as 32 hexadecimal digits.
#[derive(Clone)]
pub struct GatewayToken(String);

/// Reason why there is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayTokenError {
    /// The operating system gave no random bytes.
    #[error("the operating system gives no randomness")]
    Randomness,
    /// The text is not 32 lower-case hexadecimal digits.
    #[error("a token is 32 lower-case hexadecimal digits")]
    Shape,
}

impl GatewayToken {
    /// Length of a token in hexadecimal digits.
    const DIGITS: usize = 32;

    /// Makes a new random token.
    ///
    /// # Errors
    /// [`GatewayTokenError::Randomness`] if the operating system gives no random bytes.
    pub fn generate() -> Result<Self, GatewayTokenError> {
        let mut bits = [0_u8; Self::DIGITS / 2];
        getrandom::fill(&mut bits).map_err(|_| GatewayTokenError::Randomness)?;
        Ok(Self(bits.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Parses a token that was made before.
    ///
    /// # Errors
    /// [`GatewayTokenError::Shape`] if the text is not 32 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, GatewayTokenError> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != Self::DIGITS || !text.as_bytes().iter().all(is_digit) {
            return Err(GatewayTokenError::Shape);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the 32 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the text is the token, in constant time, so that timing does not reveal a correct
    /// prefix.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

/// Hides the secret, so that a printed gateway does not contain it.
impl fmt::Debug for GatewayToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GatewayToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn compares_whole_texts() {
        let token = GatewayToken::parse(TEXT).unwrap();
        assert!(token.matches(TEXT));
        for other in ["", "0", "0123456789abcdef0123456789abcdee", "0123456789abcdef0123456789abcdef0"] {
            assert!(!token.matches(other), "{other}");
        }
    }

    #[test]
    fn shape() {
        for text in ["", "0123456789ABCDEF0123456789abcdef", &TEXT[1..], "g123456789abcdef0123456789abcdef"] {
            assert_eq!(GatewayToken::parse(text).unwrap_err(), GatewayTokenError::Shape, "{text}");
        }
    }

    #[test]
    fn new_ones_differ_and_are_not_printed() {
        let (one, other) = (GatewayToken::generate().unwrap(), GatewayToken::generate().unwrap());
        assert!(!one.matches(other.as_str()));
        assert!(GatewayToken::parse(one.as_str()).is_ok());
        assert_eq!(format!("{one:?}"), "GatewayToken(…)");
    }
}
