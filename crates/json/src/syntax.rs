//! Why a text is not JSON that we read.

use crate::position::Position;
use crate::shown::Shown;

/// What was wrong, and at which byte.
///
/// The offset is all that is kept: [`SyntaxError::position`] finds line, column and JSON path when a person asks for
/// them, so that reading good input pays nothing for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {fault}")]
pub struct SyntaxError {
    /// Where, counted in bytes from the start of the input.
    pub offset: usize,
    /// What.
    pub fault: SyntaxFault,
}

impl SyntaxError {
    /// The place of this error for a person who has `input` open in an editor.
    pub fn position(&self, input: &[u8]) -> Position {
        Position::of(input, self.offset)
    }

    /// The whole message: place, path, fault.
    pub fn describe(&self, input: &[u8]) -> String {
        format!("{}: {}", self.position(input), self.fault)
    }
}

/// Inside the scanner errors are boxed: good input, which is nearly all, then pays for a pointer and no more.
impl From<Box<SyntaxError>> for SyntaxError {
    fn from(error: Box<SyntaxError>) -> Self {
        *error
    }
}

/// Every way in which the scanner refuses a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxFault {
    /// Nothing but white space.
    #[error("the text is empty")]
    Empty,
    /// Over [`crate::Limits::bytes`].
    #[error("the text has {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// The text's own size.
        bytes: usize,
        /// The limit in force.
        limit: usize,
    },
    /// Over [`crate::Limits::depth`].
    #[error("nested deeper than the limit of {limit} levels")]
    TooDeep {
        /// The limit in force.
        limit: u32,
    },
    /// U+FEFF at the start. RFC 8259 §8.1 forbids writing one.
    #[error("begins with a byte order mark; save it as UTF-8 without one")]
    ByteOrderMark,
    /// A NUL beside ASCII at the start, or a UTF-16 mark.
    #[error("is not UTF-8 (it looks like UTF-16)")]
    Utf16,
    /// Bytes that are not UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// The text stops inside a value.
    #[error("the text ends here, {wanted} was due")]
    End {
        /// What should have come.
        wanted: &'static str,
    },
    /// Another byte than the grammar allows.
    #[error("found {}, {wanted} was due", Shown::byte(*.found))]
    Unexpected {
        /// The byte that stands there.
        found: u8,
        /// What should have come.
        wanted: &'static str,
    },
    /// U+0000 to U+001F inside a string.
    #[error("control character 0x{found:02x} in a string must be written as an escape")]
    ControlCharacter {
        /// The byte that stands there.
        found: u8,
    },
    /// A backslash followed by something that RFC 8259 §7 does not list.
    #[error("unknown escape in a string")]
    Escape,
    /// Half of a surrogate pair: no character, so no canonical form.
    #[error("lone surrogate: this escape is half a character")]
    LoneSurrogate,
    /// Leading zeros, a bare point, a missing digit.
    #[error("is not a JSON number")]
    Number,
    /// The same member name twice in one object, however each is spelled.
    #[error("the member name \"{}\" stands twice in one object", Shown::new(.name))]
    DuplicateName {
        /// The name, decoded; long names are cut.
        name: String,
    },
    /// Something after the value.
    #[error("data after the end of the value")]
    TrailingData,
}
