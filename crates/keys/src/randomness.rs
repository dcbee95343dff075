//! Randomness as a value: the operating system's, or known bytes in a test.

/// Where random bytes come from.
pub trait Randomness: Send + Sync {
    /// Fills all of `bytes`.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness>;
}

/// There is no randomness to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no randomness: {0}")]
pub struct NoRandomness(pub String);

/// The operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        getrandom::fill(bytes).map_err(|error| NoRandomness(error.to_string()))
    }
}
