//! Randomness as a value: that of the operating system, or fixed bytes in a test.

/// Source of random bytes.
pub trait Randomness: Send + Sync {
    /// Fills all of `bytes`.
    ///
    /// # Errors
    /// Fails if the source has no randomness; the contents of `bytes` are unspecified then.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomnessError>;
}

/// Error of a source that has no randomness. The text is the operating system's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no randomness: {0}")]
pub struct RandomnessError(pub String);

/// Randomness of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomnessError> {
        getrandom::fill(bytes).map_err(|error| RandomnessError(error.to_string()))
    }
}
