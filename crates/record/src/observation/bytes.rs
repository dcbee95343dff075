//! Bytes of a body: borrowed from a log, or shared with the socket that they came from.

use core::fmt;
use core::ops::Deref;

use bytes::Bytes;

/// Bytes that are not copied on their way from a socket into the log and the queue.
#[derive(Clone)]
pub enum BodyBytes<'a> {
    /// Part of a buffer, such as a frame of the log.
    Borrowed(&'a [u8]),
    /// Reference-counted buffer.
    Shared(Bytes),
}

impl BodyBytes<'_> {
    /// Returns bytes that borrow nothing. Copies only borrowed bytes.
    pub fn into_owned(self) -> BodyBytes<'static> {
        BodyBytes::Shared(self.into_shared())
    }

    /// Returns a reference-counted buffer. Copies only borrowed bytes.
    pub fn into_shared(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Shared(bytes) => bytes,
        }
    }
}

impl Deref for BodyBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl<'a> From<&'a [u8]> for BodyBytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl From<Bytes> for BodyBytes<'_> {
    fn from(bytes: Bytes) -> Self {
        Self::Shared(bytes)
    }
}

impl PartialEq for BodyBytes<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for BodyBytes<'_> {}

impl fmt::Debug for BodyBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
