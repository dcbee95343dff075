//! A body that is too long for memory, on its way into the journal: masked as it comes, and kept in a file until it is written.
//!
//! The file lies beside the journal and holds nothing that the journal may not hold: what will be withheld stays in memory. What is left
//! of one when the recorder is killed is thrown away: the body is in the write-ahead log.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reenact_secrets::{Cut, Window};

use crate::durable::Readers;
use crate::error::RecordError;
use crate::exchange::StepId;
use crate::pen::{Pen, Shared};
use crate::storage::{Opening, Storage, Stored, append_all};

/// How the files are named, behind a number.
const SUFFIX: &str = ".spool";

/// One body. Only a [`Pen`] makes one; the file goes with it.
pub struct Spool {
    shared: Arc<Shared>,
    /// `None` if no file may hold it.
    file: Option<SpoolFile>,
    window: Window,
    /// What is masked and not in the file.
    masked: Vec<u8>,
    /// How many bytes came.
    came: u64,
    utf8: Utf8,
}

/// The file, for as long as it is needed.
struct SpoolFile {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    stored: Box<dyn Stored>,
    length: u64,
}

impl SpoolFile {
    fn create(storage: Arc<dyn Storage>, journal: &Path) -> Result<Self, RecordError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = journal.with_file_name(format!("{}-{number}{SUFFIX}", std::process::id()));
        let opened = storage.open(&path, Opening::New(Readers::Owner));
        let stored = opened.map_err(|error| RecordError::io(&path, &error))?;
        Ok(Self { storage, path, stored, length: 0 })
    }
}

impl Spool {
    fn new(shared: Arc<Shared>, file: Option<SpoolFile>) -> Self {
        let (window, masked, utf8) = (Window::new(), Vec::new(), Utf8::default());
        Self { shared, file, window, masked, came: 0, utf8 }
    }

    /// Takes the next piece of the body. After an error the body is lost.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), RecordError> {
        self.came += piece.len() as u64;
        let from = self.masked.len();
        self.shared.masks.more(&mut self.window, piece, &mut self.masked);
        self.write(from)
    }

    /// How many bytes of the body came so far.
    pub fn came(&self) -> u64 {
        self.came
    }

    /// Nothing comes any more. Gives what was cut out of the body.
    pub(crate) fn finish(&mut self) -> Result<Vec<Cut>, RecordError> {
        let (window, from) = (std::mem::take(&mut self.window), self.masked.len());
        let cuts = self.shared.masks.last(window, &mut self.masked);
        self.write(from)?;
        Ok(cuts)
    }

    /// What is masked since then goes into the file, if there is one.
    fn write(&mut self, from: usize) -> Result<(), RecordError> {
        self.utf8.push(self.masked.get(from..).unwrap_or_default());
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = append_all(&mut *file.stored, &mut [IoSlice::new(&self.masked)]);
        file.length += self.masked.len() as u64;
        self.masked.clear();
        written.map_err(|error| RecordError::io(&file.path, &error))
    }

    pub(crate) fn is_text(&self) -> bool {
        self.utf8.is_whole()
    }

    /// Gives out all of it, in pieces of that length, but for the last.
    pub(crate) fn each(&self, length: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let Some(file) = &self.file else {
            self.masked.chunks(length).for_each(take);
            return Ok(());
        };
        let (mut piece, mut filled, mut at) = (vec![0; length], 0, 0);
        loop {
            let room = piece.get_mut(filled..).unwrap_or_default();
            let read = match file.stored.read_at(at, room) {
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
                // Someone cut it off, or wrote into it.
                let is_whole = at == file.length;
                return if is_whole { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) };
            }
        }
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        // What stays is swept away when the run is recovered.
        let _ = self.storage.remove(&self.path);
    }
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spool").field("came", &self.came).finish_non_exhaustive()
    }
}

impl Pen {
    /// Begins the body with which a step will return, where it is too long for memory.
    pub fn spool(&self, step: &StepId) -> Result<Spool, RecordError> {
        let shared = self.shared();
        let place = {
            let ledger = shared.ledger();
            let place = || (ledger.journal.storage(), ledger.journal.path().to_owned());
            (!ledger.will_withhold(*step)).then(place)
        };
        let file = place.map(|(storage, path)| SpoolFile::create(storage, &path)).transpose()?;
        Ok(Spool::new(shared, file))
    }
}

/// Removes what a recorder that was killed left of its spools.
pub(crate) fn sweep(run: &Path) {
    let Ok(entries) = std::fs::read_dir(run) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().ends_with(SUFFIX) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether bytes that come in pieces are UTF-8.
#[derive(Debug, Default)]
struct Utf8 {
    /// The beginning of a character.
    open: Vec<u8>,
    is_broken: bool,
}

impl Utf8 {
    fn push(&mut self, bytes: &[u8]) {
        if self.is_broken || bytes.is_empty() {
            return;
        }
        // A character has four bytes at most.
        let head = bytes.len().min(4);
        let mut rest = bytes;
        if !self.open.is_empty() {
            let open = self.open.len();
            let joined = [&self.open, bytes.get(..head).unwrap_or_default()].concat();
            let valid = match str::from_utf8(&joined) {
                Ok(_) => joined.len(),
                Err(error) => error.valid_up_to(),
            };
            if valid < open {
                // Perhaps the character is still not whole.
                self.is_broken = joined.len() >= 4
                    || str::from_utf8(&joined).is_err_and(|error| error.error_len().is_some());
                self.open = joined;
                return;
            }
            rest = bytes.get(valid - open..).unwrap_or_default();
            self.open.clear();
        }
        if let Err(error) = str::from_utf8(rest) {
            self.is_broken = error.error_len().is_some();
            self.open = rest.get(error.valid_up_to()..).unwrap_or_default().to_vec();
        }
    }

    fn is_whole(&self) -> bool {
        !self.is_broken && self.open.is_empty()
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
            let mut utf8 = Utf8::default();
            let mut rest = &text[..];
            for length in lengths {
                let (piece, behind) = rest.split_at(rest.len().min(length));
                utf8.push(piece);
                rest = behind;
            }
            utf8.push(rest);
            prop_assert_eq!(utf8.is_whole(), str::from_utf8(&text).is_ok());
        }
    }
}
