//! Objects and arrays that are being read: what a scanner keeps of each.

/// An object that the caller has entered.
#[derive(Debug, Clone, Copy)]
pub struct OpenObject {
    /// Where this object's names begin in the names of the scanner.
    pub(crate) base: usize,
    pub(crate) start: usize,
    /// Where it ends, once it is left.
    pub(crate) end: usize,
    pub(crate) first: bool,
    pub(crate) left: bool,
    pub(crate) sorted: bool,
    /// Whether all names so far are ASCII without escapes, so that bytes compare like UTF-16.
    pub(crate) plain: bool,
    /// The first eight bytes of the name before, as a number that sorts as they do.
    pub(crate) key: u64,
}

impl OpenObject {
    pub(crate) fn at(start: usize, base: usize) -> Self {
        Self { base, start, end: start, first: true, left: false, sorted: true, plain: true, key: 0 }
    }
}

/// An array that the caller has entered.
#[derive(Debug, Clone, Copy)]
pub struct OpenArray {
    pub(crate) first: bool,
    pub(crate) left: bool,
}
