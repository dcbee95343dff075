//! Payloads that are too long to be held in memory. They are made twice: once to be hashed, once to be written, because
//! an event's hash comes before its payload in the line.

use std::io::{self, IoSlice};

use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;

use crate::payload::Overflow;
use crate::storage::{StoredFile, append_all};

/// Overflow of the first pass: hashes and counts the payload.
pub(super) struct HashingOverflow {
    pub(super) payload_hash: Hasher,
    pub(super) bytes: u64,
    pub(super) result: io::Result<()>,
}

impl Overflow for HashingOverflow {
    fn drain(&mut self, buffer: &mut Vec<u8>) {
        self.payload_hash.put(buffer);
        self.bytes += buffer.len() as u64;
        buffer.clear();
    }

    fn fail(&mut self, error: io::Error) {
        self.result = Err(error);
    }
}

/// Overflow of the second pass: writes the line into the file.
pub(super) struct WritingOverflow<'j> {
    pub(super) file: &'j mut dyn StoredFile,
    /// Running hash of the whole journal.
    pub(super) journal_hash: &'j mut Hasher,
    pub(super) bytes: u64,
    /// Hash of the payload alone.
    pub(super) payload_hash: Hasher,
    pub(super) result: io::Result<()>,
}

impl WritingOverflow<'_> {
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if self.result.is_ok() {
            self.result = append_all(self.file, &mut [IoSlice::new(bytes)]);
            self.journal_hash.put(bytes);
            self.bytes += bytes.len() as u64;
        }
    }
}

impl Overflow for WritingOverflow<'_> {
    fn drain(&mut self, buffer: &mut Vec<u8>) {
        self.payload_hash.put(buffer);
        self.put(buffer);
        buffer.clear();
    }

    fn fail(&mut self, error: io::Error) {
        if self.result.is_ok() {
            self.result = Err(error);
        }
    }
}
