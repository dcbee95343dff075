//! Headers in the encoding of the log, in one buffer that is borrowed or owned.

use core::fmt;
use std::borrow::Cow;

/// Header names and values in the order in which they came. The encoding is a count, then each text after its length;
/// count and lengths have 32 bits, little-endian. A list takes one allocation, and none if it is read from a log.
///
/// ```
/// use reenact_record::observation::HeaderList;
///
/// let list: HeaderList<'_> = [("accept", &b"*/*"[..])].into_iter().collect();
/// assert_eq!(list.all("Accept").next(), Some(&b"*/*"[..]));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderList<'a>(Cow<'a, [u8]>);

/// Bytes of a length.
const LENGTH: usize = 4;

impl<'a> HeaderList<'a> {
    /// Reads a list from the front of `bytes`, and returns it with the rest. `None` if it is truncated or a name is not
    /// UTF-8.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut rest = bytes;
        let count = take_length(&mut rest)?;
        for _ in 0..count {
            core::str::from_utf8(take_bytes(&mut rest)?).ok()?;
            take_bytes(&mut rest)?;
        }
        let list = bytes.get(..bytes.len() - rest.len())?;
        Some((Self(Cow::Borrowed(list)), rest))
    }

    /// Returns the list in the encoding of the log.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns an iterator over names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut rest = self.0.get(LENGTH..).unwrap_or_default();
        core::iter::from_fn(move || {
            let name = core::str::from_utf8(take_bytes(&mut rest)?).ok()?;
            Some((name, take_bytes(&mut rest)?))
        })
    }

    /// Returns the values of one name, compared without regard to ASCII case.
    pub fn all<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n [u8]> {
        self.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns names and values as [`crate::RawRequest`] takes them.
    pub fn pairs(&self) -> Vec<(&str, &[u8])> {
        self.iter().collect()
    }

    /// Returns a copy that borrows nothing.
    pub fn into_owned(self) -> HeaderList<'static> {
        HeaderList(Cow::Owned(self.0.into_owned()))
    }
}

impl Default for HeaderList<'_> {
    fn default() -> Self {
        Self(Cow::Borrowed(&[0; LENGTH]))
    }
}

impl<'p> FromIterator<(&'p str, &'p [u8])> for HeaderList<'static> {
    /// Packs headers. A header of 4 GiB would be left out, but no transport lets one through.
    fn from_iter<I: IntoIterator<Item = (&'p str, &'p [u8])>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        // Most headers are shorter than 64 bytes.
        let mut list = Vec::with_capacity(LENGTH + 64 * pairs.size_hint().0);
        list.extend_from_slice(&[0; LENGTH]);
        let mut count = 0_u32;
        for (name, value) in pairs {
            let (Ok(name_length), Ok(value_length)) = (u32::try_from(name.len()), u32::try_from(value.len()))
            else {
                continue;
            };
            list.extend_from_slice(&name_length.to_le_bytes());
            list.extend_from_slice(name.as_bytes());
            list.extend_from_slice(&value_length.to_le_bytes());
            list.extend_from_slice(value);
            count = count.saturating_add(1);
        }
        for (there, byte) in list.iter_mut().zip(count.to_le_bytes()) {
            *there = byte;
        }
        Self(Cow::Owned(list))
    }
}

impl fmt::Debug for HeaderList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    let (length, after) = rest.split_first_chunk::<LENGTH>()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*length)).ok()
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_length(rest)?;
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_and_read_again() {
        let pairs: [(&str, &[u8]); 3] = [("accept", b"*/*"), ("x-two", b"a"), ("x-two", b"\xff")];
        let list: HeaderList<'_> = pairs.into_iter().collect();
        assert_eq!(list.pairs(), pairs);
        assert_eq!(list.all("X-Two").collect::<Vec<_>>(), [&b"a"[..], b"\xff"]);
        let bytes = [list.as_bytes(), b"rest"].concat();
        assert_eq!(HeaderList::read(&bytes), Some((list.clone(), &b"rest"[..])));
        for cut in 0..list.as_bytes().len() {
            assert_eq!(HeaderList::read(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(HeaderList::default().pairs(), []);
        assert_eq!(HeaderList::read(&[0; 4]), Some((HeaderList::default(), &[][..])));
    }
}
