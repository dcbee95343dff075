//! How much JSON we are willing to read.

/// Bounds that the scanner enforces while it reads, before anything is allocated for what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many arrays and objects may be open at once. The scanner recurses, so this also bounds its stack.
    pub depth: u32,
    /// The largest document, in bytes. Offsets are kept in 32 bits, so no limit goes beyond [`Limits::LARGEST`].
    pub bytes: usize,
}

impl Limits {
    /// The largest document that the scanner can address.
    pub const LARGEST: usize = u32::MAX as usize;

    /// The deepest nesting that any caller may ask for.
    pub const DEEPEST: u32 = 1_000;
}

impl Default for Limits {
    /// 512 levels (DESIGN §4) and every document that can be addressed.
    fn default() -> Self {
        Self { depth: 512, bytes: Self::LARGEST }
    }
}
