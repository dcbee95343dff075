//! Payloads that are too long to be held: made twice, once to be hashed and once to be written.

use std::io::{self, IoSlice};

use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;

use crate::payload::Overflow;
use crate::storage::{Stored, append_all};

/// A payload that is hashed as it is made, where it is too long to be held.
pub(super) struct Hashed {
    pub(super) hasher: Hasher,
    pub(super) bytes: u64,
    pub(super) failed: io::Result<()>,
}

impl Overflow for Hashed {
    fn take(&mut self, held: &mut Vec<u8>) {
        self.hasher.put(held);
        self.bytes += held.len() as u64;
        held.clear();
    }

    fn fails(&mut self, error: io::Error) {
        self.failed = Err(error);
    }
}

/// A long line on its way into the file.
pub(super) struct Writing<'j> {
    pub(super) file: &'j mut dyn Stored,
    /// Of the journal.
    pub(super) hash: &'j mut Hasher,
    pub(super) bytes: u64,
    /// Of the payload.
    pub(super) hasher: Hasher,
    pub(super) failed: io::Result<()>,
}

impl Writing<'_> {
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if self.failed.is_ok() {
            self.failed = append_all(self.file, &mut [IoSlice::new(bytes)]);
            self.hash.put(bytes);
            self.bytes += bytes.len() as u64;
        }
    }
}

impl Overflow for Writing<'_> {
    fn take(&mut self, held: &mut Vec<u8>) {
        self.hasher.put(held);
        self.put(held);
        held.clear();
    }

    fn fails(&mut self, error: io::Error) {
        if self.failed.is_ok() {
            self.failed = Err(error);
        }
    }
}
