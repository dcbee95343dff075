//! The names seen so far, to refuse two that would be one file on some disk.
//!
//! Each name is kept in one spelling without case, with its slashes as NUL, the smallest character (names have no control
//! characters). In that order whatever is inside a folder follows the folder directly. So a file that is also the
//! folder of another is always its neighbour, and one look to each side finds it, however deep the paths are.

use crate::error::{PackError, quoted};
use crate::limits::{Limit, Limits};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// The names of one archive. The readers and writers all use this; so can a reader of a folder.
#[derive(Debug, Default)]
pub struct Names {
    seen: BTreeMap<String, Seen>,
    bytes: u64,
}

#[derive(Debug)]
struct Seen {
    folder: bool,
    /// The name as written; `None` when that is the key.
    spelled: Option<Box<str>>,
}

impl Names {
    /// Files and folders admitted.
    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.seen.len()).unwrap_or(u64::MAX)
    }

    /// Takes a name in, or says what it collides with.
    ///
    /// # Errors
    /// The collision, or the limit that one more name is over.
    pub fn admit(&mut self, name: &str, folder: bool, limits: &Limits) -> Result<(), PackError> {
        Limit::Members.hold(self.count().saturating_add(1), limits.members)?;
        let key = folded(name);
        let spelled = (key != name.replace('/', "\0")).then(|| Box::<str>::from(name));
        let kept = key.len() + spelled.as_ref().map_or(0, |text| text.len());
        self.bytes = self.bytes.saturating_add(u64::try_from(kept).unwrap_or(u64::MAX));
        Limit::AllNameBytes.hold(self.bytes, limits.all_name_bytes)?;

        if let Some(seen) = self.seen.get(&key) {
            let other = written(&key, seen);
            return Err(if other != name {
                PackError::CaseCollision { name: quoted(name.as_bytes()), other: quoted(other.as_bytes()) }
            } else if seen.folder == folder {
                PackError::Duplicate { name: quoted(name.as_bytes()) }
            } else {
                PackError::FileAndFolder { file: quoted(name.as_bytes()), inside: quoted(name.as_bytes()) }
            });
        }
        if let Some((before, seen)) =
            self.seen.range::<str, _>((Unbounded, Excluded(key.as_str()))).next_back()
            && !seen.folder
            && is_inside(&key, before)
        {
            let file = quoted(written(before, seen).as_bytes());
            return Err(PackError::FileAndFolder { file, inside: quoted(name.as_bytes()) });
        }
        if let Some((after, seen)) = self.seen.range::<str, _>((Excluded(key.as_str()), Unbounded)).next()
            && !folder
            && is_inside(after, &key)
        {
            let inside = quoted(written(after, seen).as_bytes());
            return Err(PackError::FileAndFolder { file: quoted(name.as_bytes()), inside });
        }
        self.seen.insert(key, Seen { folder, spelled });
        Ok(())
    }
}

fn written(key: &str, seen: &Seen) -> String {
    seen.spelled.as_ref().map_or_else(|| key.replace('\0', "/"), |name| name.to_string())
}

fn is_inside(key: &str, folder: &str) -> bool {
    key.strip_prefix(folder).is_some_and(|rest| rest.starts_with('\0'))
}

/// The name without case. Lower, upper and lower again: systems disagree which of the two they compare, and some letters
/// (ſ, ẞ, the Kelvin sign) meet only on the way.
fn folded(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '/' {
            key.push('\0');
        } else if c.is_ascii() {
            key.push(c.to_ascii_lowercase());
        } else {
            key.extend(c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase));
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(names: &[&str]) -> Result<(), PackError> {
        let mut seen = Names::default();
        for name in names {
            let file = name.strip_suffix('/');
            seen.admit(file.unwrap_or(name), file.is_some(), &Limits::default())?;
        }
        Ok(())
    }

    fn collision(name: &str, other: &str) -> Result<(), PackError> {
        Err(PackError::CaseCollision { name: name.to_owned(), other: other.to_owned() })
    }

    fn nested(file: &str, inside: &str) -> Result<(), PackError> {
        Err(PackError::FileAndFolder { file: file.to_owned(), inside: inside.to_owned() })
    }

    #[test]
    fn the_same_name_by_case() {
        assert_eq!(admit(&["a", "b", "a"]), Err(PackError::Duplicate { name: "a".to_owned() }));
        assert_eq!(admit(&["a/b", "A/b"]), collision("A/b", "a/b"));
        assert_eq!(admit(&["Straße", "STRASSE"]), collision("STRASSE", "Straße"));
        assert_eq!(admit(&["ẞ", "ß"]), collision("ß", "ẞ"));
        assert_eq!(admit(&["\u{212a}", "k"]), collision("k", "\u{212a}"));
        assert_eq!(admit(&["ſ", "s"]), collision("s", "ſ"));
        assert_eq!(admit(&["É", "é"]), collision("é", "É"));
        assert_eq!(admit(&["e", "é", "a-b", "a/b", "a.b", "a b"]), Ok(()));
    }

    #[test]
    fn a_file_is_no_folder() {
        assert_eq!(admit(&["a", "a/b"]), nested("a", "a/b"));
        assert_eq!(admit(&["a/b", "a"]), nested("a", "a/b"));
        assert_eq!(admit(&["a/b/c/d", "a-", "a!", "A/B"]), nested("A/B", "a/b/c/d"));
        assert_eq!(admit(&["x/a", "x/a/b/c"]), nested("x/a", "x/a/b/c"));
        assert_eq!(admit(&["a/", "a"]), nested("a", "a"));
        assert_eq!(admit(&["a", "a/b/"]), nested("a", "a/b"));
        assert_eq!(admit(&["a/", "a/b", "a/c/", "a/c/d", "ab", "a!"]), Ok(()));
    }

    #[test]
    fn all_names_together_are_bounded() {
        let limits = Limits { all_name_bytes: 10, members: 3, ..Limits::default() };
        let mut names = Names::default();
        assert_eq!(names.admit("aaaaa", false, &limits), Ok(()));
        let over = PackError::Limit { limit: Limit::AllNameBytes, max: 10, member: None };
        assert_eq!(names.admit("bbbbbb", false, &limits), Err(over));
        let mut names = Names::default();
        for name in ["a", "b", "c"] {
            assert_eq!(names.admit(name, false, &limits), Ok(()));
        }
        let over = PackError::Limit { limit: Limit::Members, max: 3, member: None };
        assert_eq!(names.admit("d", false, &limits), Err(over));
    }
}
