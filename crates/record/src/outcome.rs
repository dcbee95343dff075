//! The end of a run: how it ended, what came out of it, and which files changed meanwhile.
//!
//! Start reading at [`RunEnd`]. The recorder adds the totals, which it counts itself.

use std::ffi::OsString;

use reenact_formats::rer::payload::{FileChanges, FileChangesView, PayloadMember, RunEndedView, RunStatus};
use reenact_json::{Digest, Value, ValueKind};

use crate::mask::{MaskedLeaves, MaskedText, Masks};
use crate::payload::quote;

/// Outcome of a run, as its last event states it. The recorder adds the totals, which it counts itself.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd<'a> {
    /// Status of the run, such as completed or failed.
    pub status: RunStatus,
    /// Reason in words, such as `exit` or `signal 9`. Secrets in it are masked.
    pub reason: &'a str,
    /// Exit code of the command, if it had one.
    pub exit_code: Option<i32>,
    /// SHA-256 of what the command wrote to its standard output, if that was not a terminal.
    pub stdout_sha256: Option<Digest>,
    /// Files of the working folder that changed during the run; `None` if the folder was not looked through.
    pub files: Option<&'a ChangedFiles>,
}

impl<'a> RunEnd<'a> {
    /// Returns an outcome without exit code, output and files.
    pub const fn new(status: RunStatus, reason: &'a str) -> Self {
        Self { status, reason, exit_code: None, stdout_sha256: None, files: None }
    }
}

/// Files of a folder that changed during a run. Paths are relative to the folder; secrets in them are masked, and what is not
/// UTF-8 is replaced by U+FFFD.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFiles {
    /// Files that are new, each with its SHA-256.
    pub added: Vec<(OsString, Digest)>,
    /// Files with other content, each with the SHA-256 of what is in it now.
    pub changed: Vec<(OsString, Digest)>,
    /// Files that are gone.
    pub removed: Vec<OsString>,
    /// Number of changes that are not in these lists.
    pub more: u64,
}

/// Longest list of changed files in the last event, in bytes of JSON: the event must fit into what the journal keeps free for
/// the end of a run.
const MAX_FILES_BYTES: usize = 768 << 10;

/// Bytes of one entry beside its path: brackets, quotes, a digest, commas.
const ENTRY_BYTES: usize = 72;

/// Outcome of a run, masked.
#[derive(Debug, Clone)]
pub(crate) struct MaskedRunEnd {
    pub(crate) status: RunStatus,
    pub(crate) reason: MaskedText,
    pub(crate) exit_code: Option<i64>,
    pub(crate) stdout_sha256: Option<Digest>,
    pub(crate) files: Option<MaskedFiles>,
}

/// [`ChangedFiles`], masked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MaskedFiles {
    added: Vec<(MaskedText, Digest)>,
    changed: Vec<(MaskedText, Digest)>,
    removed: Vec<MaskedText>,
    more: u64,
}

impl MaskedRunEnd {
    /// Masks an outcome.
    pub(crate) fn new(end: &RunEnd<'_>, masks: &Masks) -> Self {
        Self {
            status: end.status,
            reason: masks.text(end.reason),
            exit_code: end.exit_code.map(i64::from),
            stdout_sha256: end.stdout_sha256,
            files: end.files.map(|files| MaskedFiles::new(files, masks)),
        }
    }

    /// Reads the outcome of a run from a payload in the journal.
    pub(crate) fn from_payload(payload: Value<'_>) -> Option<Self> {
        let ended = RunEndedView::read(payload);
        let exit_code = match ended.exit_code.raw() {
            Some(code) => Some(str::from_utf8(code.text()).ok()?.parse().ok()?),
            None => None,
        };
        let stdout_sha256 = match ended.stdout_sha256.raw() {
            Some(digest) => Some(digest_of(digest)?),
            None => None,
        };
        let files = match ended.files.raw() {
            Some(files) => Some(MaskedFiles::from_payload(files)?),
            None => None,
        };
        let reason = MaskedText::from_journal(ended.reason.required_text().ok()?.into_owned());
        Some(Self { status: ended.status.word()?, reason, exit_code, stdout_sha256, files })
    }
}

impl MaskedFiles {
    /// Masks the paths, and counts instead of listing what would make the event too long.
    fn new(files: &ChangedFiles, masks: &Masks) -> Self {
        let mut left = MAX_FILES_BYTES;
        let mut scratch = Vec::new();
        let mut more = files.more;
        let mut masked = |path: &OsString| {
            let path = masks.os_text(path);
            scratch.clear();
            quote(path.as_str(), &mut scratch);
            match left.checked_sub(scratch.len() + ENTRY_BYTES) {
                Some(rest) => {
                    left = rest;
                    Some(path)
                }
                None => {
                    more += 1;
                    None
                }
            }
        };
        let mut hashed = |files: &[(OsString, Digest)]| -> Vec<(MaskedText, Digest)> {
            files.iter().filter_map(|(path, digest)| Some((masked(path)?, *digest))).collect()
        };
        let (added, changed) = (hashed(&files.added), hashed(&files.changed));
        let removed = files.removed.iter().filter_map(masked).collect();
        Self { added, changed, removed, more }
    }

    fn from_payload(files: Value<'_>) -> Option<Self> {
        let files = FileChangesView::read(files);
        let hashed = |member: PayloadMember<'_>| {
            let files = member.list("files", |file| {
                let mut file = file.elements();
                let (path, digest) = (file.next()?.string()?, digest_of(file.next()?)?);
                file.next().is_none().then(|| (MaskedText::from_journal(path.into_owned()), digest))
            });
            files.ok().flatten()
        };
        let path = |path: Value<'_>| Some(MaskedText::from_journal(path.string()?.into_owned()));
        let more = match files.more.raw() {
            Some(more) => more.unsigned_integer()?,
            None => 0,
        };
        Some(Self {
            added: hashed(files.added)?,
            changed: hashed(files.changed)?,
            removed: files.removed.list("paths", path).ok().flatten()?,
            more,
        })
    }

    /// Returns the member of the last event.
    pub(crate) fn payload(&self) -> FileChanges<MaskedLeaves<'_>> {
        FileChanges {
            added: self.added.iter().map(|(path, digest)| (path, *digest)).collect(),
            changed: self.changed.iter().map(|(path, digest)| (path, *digest)).collect(),
            more: Some(self.more).filter(|more| *more > 0),
            removed: self.removed.iter().collect(),
        }
    }
}

/// Reads a digest in lower-case hexadecimal.
fn digest_of(value: Value<'_>) -> Option<Digest> {
    (value.kind() == ValueKind::String).then(|| Digest::from_hex(&value.string()?))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_secrets::RulePack;

    fn files(count: usize) -> ChangedFiles {
        let path = |at: usize| OsString::from(format!("folder/{at}-\"planted-secret\".txt"));
        ChangedFiles {
            added: (0..count).map(|at| (path(at), Digest::of(b"a"))).collect(),
            changed: vec![("b".into(), Digest::of(b"b"))],
            removed: vec!["c".into()],
            more: 2,
        }
    }

    fn masks() -> Masks {
        let masks = Masks::new(RulePack::standard());
        masks.add_secret("known", b"planted-secret");
        masks
    }

    #[test]
    fn paths_are_masked() {
        let masked = MaskedFiles::new(&files(1), &masks());
        assert_eq!(masked.added[0].0.as_str(), "folder/0-\"[masked:known:1]\".txt");
        assert_eq!((masked.changed.len(), masked.removed.len(), masked.more), (1, 1, 2));
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let masked = MaskedFiles::new(&files(20_000), &masks());
        let listed = masked.added.len() + masked.changed.len() + masked.removed.len();
        assert!((2_000..20_000).contains(&masked.added.len()), "{}", masked.added.len());
        assert_eq!(listed as u64 + masked.more, 20_000 + 2 + 2);
    }

    #[test]
    #[cfg(unix)]
    fn a_name_that_is_no_text_is_listed() {
        let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"a\xff");
        let files = ChangedFiles { removed: vec![odd.to_owned()], ..ChangedFiles::default() };
        assert_eq!(MaskedFiles::new(&files, &masks()).removed[0].as_str(), "a\u{fffd}");
    }
}
