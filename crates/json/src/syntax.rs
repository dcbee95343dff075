//! Errors of the scanner: a [`SyntaxFault`] and its byte offset.

use crate::position::Position;
use crate::shown::Shown;

/// First fault of a text, and the byte at which it stands.
///
/// Only the offset is kept: [`SyntaxError::position`] computes line, column and JSON path for a message, so that reading good
/// input pays nothing for them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {fault}")]
pub struct SyntaxError {
    /// Offset of the fault, in bytes from the start of the input.
    pub offset: usize,
    /// Kind of fault.
    pub fault: SyntaxFault,
}

impl SyntaxError {
    /// Returns line, column and JSON path of this error in `input`, the text that was scanned.
    pub fn position(&self, input: &[u8]) -> Position {
        Position::of(input, self.offset)
    }

    /// Returns the whole message with line, column, path and fault.
    pub fn describe(&self, input: &[u8]) -> String {
        format!("{}: {}", self.position(input), self.fault)
    }
}

/// Inside the scanner errors are boxed: results are then small, and good input pays for a pointer and no more.
impl From<Box<SyntaxError>> for SyntaxError {
    fn from(error: Box<SyntaxError>) -> Self {
        *error
    }
}

/// Reason why the scanner refuses a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxFault {
    /// Nothing but white space, or no bytes at all.
    #[error("the text is empty")]
    Empty,
    /// More bytes than [`crate::Limits::max_bytes`].
    #[error("the text has {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Size of the text, in bytes.
        bytes: usize,
        /// Limit in force, in bytes.
        limit: usize,
    },
    /// More open arrays and objects than [`crate::Limits::max_depth`].
    #[error("nested deeper than the limit of {limit} levels")]
    TooDeep {
        /// Limit in force, in levels.
        limit: u32,
    },
    /// U+FEFF at the start, which RFC 8259 §8.1 forbids to write.
    #[error("begins with a byte order mark; save it as UTF-8 without one")]
    ByteOrderMark,
    /// A NUL among the first two bytes, or a UTF-16 byte order mark.
    #[error("is not UTF-8 (it looks like UTF-16)")]
    Utf16,
    /// Bytes that are not UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// The text ends inside a value.
    #[error("the text ends here, {wanted} was due")]
    End {
        /// Description of the token that the grammar wants there, with its article.
        wanted: &'static str,
    },
    /// A byte that the grammar does not allow there.
    #[error("found {}, {wanted} was due", Shown::byte(*.found))]
    Unexpected {
        /// Byte at the offset of the error.
        found: u8,
        /// Description of the token that the grammar wants there, with its article.
        wanted: &'static str,
    },
    /// U+0000 to U+001F inside a string, unescaped.
    #[error("control character 0x{found:02x} in a string must be written as an escape")]
    ControlCharacter {
        /// Byte at the offset of the error.
        found: u8,
    },
    /// A backslash that begins none of the escapes of RFC 8259 §7.
    #[error("unknown escape in a string")]
    Escape,
    /// Half of a surrogate pair. It is no character, so the string has no UTF-8 and no canonical form.
    #[error("lone surrogate: this escape is half a character")]
    LoneSurrogate,
    /// A number with leading zeros, a bare point or a missing digit.
    #[error("is not a JSON number")]
    Number,
    /// The same member name twice in one object, compared after unescaping.
    #[error("the member name \"{}\" stands twice in one object", Shown::new(.name))]
    DuplicateName {
        /// The name, unescaped and cut after 100 characters.
        name: String,
    },
    /// Bytes other than white space after the value.
    #[error("data after the end of the value")]
    TrailingData,
}
