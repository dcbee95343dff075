//! Bounds on the documents that are read.

/// Bounds that the scanner enforces while it reads, before it allocates memory for the bounded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of arrays and objects open at once. The scanner recurses, so this also bounds its stack.
    pub max_depth: u32,
    /// Largest document, in bytes, inclusive. Offsets are kept in 32 bits, so no limit goes beyond [`Limits::MAX_BYTES`].
    pub max_bytes: usize,
}

impl Limits {
    /// Largest document that the scanner can address, in bytes.
    pub const MAX_BYTES: usize = u32::MAX as usize;

    /// Deepest nesting that a caller may ask for, in levels; a larger `max_depth` is cut to this.
    pub const MAX_DEPTH: u32 = 1_000;
}

impl Default for Limits {
    /// 512 levels, and every document that can be addressed.
    fn default() -> Self {
        Self { max_depth: 512, max_bytes: Self::MAX_BYTES }
    }
}
