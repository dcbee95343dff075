//! The secret part of the gateway's address: who does not know it gets nothing, and leaves no trace in a record.

use std::fmt;

use subtle::ConstantTimeEq;

/// 128 random bits, written as 32 hexadecimal digits.
#[derive(Clone)]
pub struct Token(String);

/// Why there is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The operating system gave no randomness.
    #[error("the operating system gives no randomness")]
    Randomness,
    /// Not 32 hexadecimal digits.
    #[error("a token is 32 lower-case hexadecimal digits")]
    Shape,
}

impl Token {
    const DIGITS: usize = 32;

    /// A new one.
    pub fn generate() -> Result<Self, TokenError> {
        let mut bits = [0_u8; Self::DIGITS / 2];
        getrandom::fill(&mut bits).map_err(|_| TokenError::Randomness)?;
        Ok(Self(bits.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// One that was made before.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != Self::DIGITS || !text.as_bytes().iter().all(is_digit) {
            return Err(TokenError::Shape);
        }
        Ok(Self(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the text, in a time that does not tell how much of it is right.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

/// Whoever prints a gateway does not print its secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn compares_whole_texts() {
        let token = Token::parse(TEXT).unwrap();
        assert!(token.is(TEXT));
        for other in ["", "0", "0123456789abcdef0123456789abcdee", "0123456789abcdef0123456789abcdef0"] {
            assert!(!token.is(other), "{other}");
        }
    }

    #[test]
    fn shape() {
        for text in ["", "0123456789ABCDEF0123456789abcdef", &TEXT[1..], "g123456789abcdef0123456789abcdef"] {
            assert_eq!(Token::parse(text).unwrap_err(), TokenError::Shape, "{text}");
        }
    }

    #[test]
    fn new_ones_differ_and_are_not_printed() {
        let (one, other) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert!(!one.is(other.as_str()));
        assert!(Token::parse(one.as_str()).is_ok());
        assert_eq!(format!("{one:?}"), "Token(…)");
    }
}
