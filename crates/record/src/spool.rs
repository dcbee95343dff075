//! Spool files: bodies that are too long for memory, masked as they come in and kept in a file until they are
//! journaled.
//!
//! The file lies beside the journal, and holds nothing that the journal may not hold: a body that will be withheld
//! stays in memory. Leftovers of a recorder that was killed are removed when the run is resumed; their bodies are in
//! the write-ahead log.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reenact_secrets::{MaskedSpan, RedactionWindow};

use crate::durable::Readers;
use crate::error::RecordError;
use crate::event_writer::{EventWriter, SharedRun};
use crate::exchange::StepId;
use crate::storage::{OpenMode, Storage, StoredFile, append_all};

/// Extension of the files, behind the process id and a number.
const SUFFIX: &str = ".spool";

/// One long body. [`EventWriter::spool`] makes it; its file is removed on drop.
pub struct Spool {
    shared: Arc<SharedRun>,
    /// `None` if no file may hold the body.
    file: Option<SpoolFile>,
    window: RedactionWindow,
    /// Masked bytes that are not in the file.
    masked: Vec<u8>,
    /// Number of bytes that came in, before masking.
    received_bytes: u64,
    utf8: Utf8Checker,
}

/// File of a spool, removed on drop.
struct SpoolFile {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    stored: Box<dyn StoredFile>,
    length: u64,
}

impl SpoolFile {
    /// Creates a file beside the journal, for its owner alone.
    fn create(storage: Arc<dyn Storage>, journal: &Path) -> Result<Self, RecordError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = journal.with_file_name(format!("{}-{number}{SUFFIX}", std::process::id()));
        let opened = storage.open(&path, OpenMode::New(Readers::Owner));
        let stored = opened.map_err(|error| RecordError::io(&path, &error))?;
        Ok(Self { storage, path, stored, length: 0 })
    }
}

impl Spool {
    fn new(shared: Arc<SharedRun>, file: Option<SpoolFile>) -> Self {
        let (window, masked, utf8) = (RedactionWindow::new(), Vec::new(), Utf8Checker::default());
        Self { shared, file, window, masked, received_bytes: 0, utf8 }
    }

    /// Masks and appends the next piece of the body. After an error the body is lost.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), RecordError> {
        self.received_bytes += piece.len() as u64;
        let from = self.masked.len();
        self.shared.masks.push_piece(&mut self.window, piece, &mut self.masked);
        self.flush_masked(from)
    }

    /// Returns the number of bytes that came in so far, before masking.
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Masks the rest of the body, and returns the cuts that were made in all of it.
    pub(crate) fn finish(&mut self) -> Result<Vec<MaskedSpan>, RecordError> {
        let (window, from) = (std::mem::take(&mut self.window), self.masked.len());
        let cuts = self.shared.masks.finish_window(window, &mut self.masked);
        self.flush_masked(from)?;
        Ok(cuts)
    }

    /// Writes the masked bytes into the file, if there is one. Those from `from` on are new to the UTF-8 check.
    fn flush_masked(&mut self, from: usize) -> Result<(), RecordError> {
        self.utf8.push(self.masked.get(from..).unwrap_or_default());
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = append_all(&mut *file.stored, &mut [IoSlice::new(&self.masked)]);
        file.length += self.masked.len() as u64;
        self.masked.clear();
        written.map_err(|error| RecordError::io(&file.path, &error))
    }

    /// Returns true if the masked body is UTF-8.
    pub(crate) fn is_text(&self) -> bool {
        self.utf8.is_valid()
    }

    /// Passes the whole masked body to `take`, in pieces of `length` bytes; the last one may be shorter.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the file's length is not what was written.
    pub(crate) fn for_each_piece(&self, length: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let Some(file) = &self.file else {
            self.masked.chunks(length).for_each(take);
            return Ok(());
        };
        let (mut piece, mut filled, mut at) = (vec![0; length], 0, 0);
        loop {
            let unfilled = piece.get_mut(filled..).unwrap_or_default();
            let read = match file.stored.read_at(at, unfilled) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            at += read as u64;
            filled += read;
            if filled == length || read == 0 {
                take(piece.get(..filled).unwrap_or_default());
                filled = 0;
            }
            if read == 0 {
                // Another process truncated the file, or wrote into it.
                let is_whole = at == file.length;
                return if is_whole { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) };
            }
        }
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        // A file that stays is removed when the run is resumed.
        let _ = self.storage.remove(&self.path);
    }
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spool").field("received_bytes", &self.received_bytes).finish_non_exhaustive()
    }
}

impl EventWriter {
    /// Returns a spool for the body with which a step will return, if that may be too long for memory.
    pub fn spool(&self, step: &StepId) -> Result<Spool, RecordError> {
        let shared = self.shared();
        let location = {
            let state = shared.lock_state();
            let location = || (state.journal.storage(), state.journal.path().to_owned());
            (!state.will_withhold(*step)).then(location)
        };
        let file = location.map(|(storage, path)| SpoolFile::create(storage, &path)).transpose()?;
        Ok(Spool::new(shared, file))
    }
}

/// Removes the spool files that a killed recorder left in a run's folder.
pub(crate) fn remove_leftovers(run: &Path) {
    let Ok(entries) = std::fs::read_dir(run) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().ends_with(SUFFIX) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Incremental check whether bytes are UTF-8.
#[derive(Debug, Default)]
struct Utf8Checker {
    /// First bytes of a character whose rest has not come yet.
    partial: Vec<u8>,
    is_invalid: bool,
}

impl Utf8Checker {
    /// Checks the next bytes, together with the first bytes of a character from the last call.
    fn push(&mut self, bytes: &[u8]) {
        if self.is_invalid || bytes.is_empty() {
            return;
        }
        // A character has at most four bytes.
        let head = bytes.len().min(4);
        let mut rest = bytes;
        if !self.partial.is_empty() {
            let open = self.partial.len();
            let joined = [&self.partial, bytes.get(..head).unwrap_or_default()].concat();
            let valid = match str::from_utf8(&joined) {
                Ok(_) => joined.len(),
                Err(error) => error.valid_up_to(),
            };
            if valid < open {
                // The character may still be incomplete.
                self.is_invalid = joined.len() >= 4
                    || str::from_utf8(&joined).is_err_and(|error| error.error_len().is_some());
                self.partial = joined;
                return;
            }
            rest = bytes.get(valid - open..).unwrap_or_default();
            self.partial.clear();
        }
        if let Err(error) = str::from_utf8(rest) {
            self.is_invalid = error.error_len().is_some();
            self.partial = rest.get(error.valid_up_to()..).unwrap_or_default().to_vec();
        }
    }

    /// Returns true if all bytes so far are UTF-8, and no character is incomplete.
    fn is_valid(&self) -> bool {
        !self.is_invalid && self.partial.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_is_text_however_it_is_cut(
            text in prop_oneof![
                any::<String>().prop_map(String::into_bytes),
                proptest::collection::vec(prop_oneof![Just(b'a'), Just(0xc3), Just(0xa9), Just(0xf0), Just(0x9f), Just(0x92), Just(0xe4), Just(0xb8)], 0..12),
                proptest::collection::vec(any::<u8>(), 0..12),
            ],
            lengths in proptest::collection::vec(0_usize..4, 1..40),
        ) {
            let mut utf8 = Utf8Checker::default();
            let mut rest = &text[..];
            for length in lengths {
                let (piece, behind) = rest.split_at(rest.len().min(length));
                utf8.push(piece);
                rest = behind;
            }
            utf8.push(rest);
            prop_assert_eq!(utf8.is_valid(), str::from_utf8(&text).is_ok());
        }
    }
}
