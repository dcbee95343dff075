//! State of the objects and arrays that a caller has entered with a [`Scanner`](crate::Scanner).

/// Object that the caller has entered with [`Scanner::enter_object`](crate::Scanner::enter_object) and reads member by member.
#[derive(Debug, Clone, Copy)]
pub struct OpenObject {
    /// Index of this object's first name in the name list of the scanner.
    pub(crate) names_start: usize,
    /// Offset of the opening brace.
    pub(crate) start: usize,
    /// Offset behind the closing brace, once the object is finished; until then the offset of the opening brace.
    pub(crate) end: usize,
    pub(crate) has_no_member_yet: bool,
    pub(crate) is_finished: bool,
    pub(crate) is_sorted: bool,
    /// True while all names are ASCII without escapes, so that their bytes sort as their UTF-16 code units do.
    pub(crate) is_plain: bool,
    /// Sort key of the name before: its first eight bytes as a big-endian number.
    pub(crate) last_key: u64,
}

impl OpenObject {
    pub(crate) fn new(start: usize, names_start: usize) -> Self {
        Self {
            names_start,
            start,
            end: start,
            has_no_member_yet: true,
            is_finished: false,
            is_sorted: true,
            is_plain: true,
            last_key: 0,
        }
    }
}

/// Array that the caller has entered with [`Scanner::enter_array`](crate::Scanner::enter_array) and reads element by element.
#[derive(Debug, Clone, Copy)]
pub struct OpenArray {
    pub(crate) is_empty_so_far: bool,
    pub(crate) is_finished: bool,
}
