//! Storage that fails like disks do. Its files lie on the real disk, so that a recovery finds there what a failure
//! leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, TryLockError};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use reenact_record::storage::{Disk, OpenMode, Storage, StoredFile};

/// Error codes of the operating system.
pub(crate) const EIO: i32 = 5;
pub(crate) const EINTR: i32 = 4;
pub(crate) const ENOSPC: i32 = 28;
pub(crate) const EROFS: i32 = 30;

/// Bytes of a page of the system's cache, which reaches the disk whole or not at all.
const PAGE: usize = 4096;

/// Failures to simulate, and the calls so far.
#[derive(Default)]
pub(crate) struct Faults {
    /// Bytes that one write takes at most; 0 for all.
    pub(crate) max_write_bytes: usize,
    /// True if every second call is interrupted.
    pub(crate) interrupts_every_second_call: bool,
    /// Bytes of free space, and the error code when there is none.
    pub(crate) free_bytes: Option<(usize, i32)>,
    /// Number of syncs before one fails.
    pub(crate) syncs_until_failure: Option<usize>,
    /// True if no file can be removed.
    pub(crate) keeps_files: bool,
    /// True if nothing can be opened for writing.
    pub(crate) is_read_only: bool,
    /// Number of writes and syncs.
    pub(crate) calls: usize,
    /// Synced contents of each file.
    synced_files: BTreeMap<PathBuf, Vec<u8>>,
    /// Synced names in each folder.
    synced_names: BTreeMap<PathBuf, BTreeSet<OsString>>,
}

#[derive(Clone, Default)]
pub(crate) struct FaultyStorage(Arc<Mutex<Faults>>);

impl FaultyStorage {
    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.0.lock().unwrap()
    }

    /// Stops the machine: names that were not synced are lost or not, and so is each page of a file that was not
    /// synced. `choose` returns a number below its argument.
    pub(crate) fn crash(&self, root: &Path, choose: &mut impl FnMut(usize) -> usize) {
        let faults = self.faults();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            let synced = faults.synced_names.get(&folder);
            for entry in fs::read_dir(&folder).unwrap() {
                let entry = entry.unwrap();
                let path = entry.path();
                let is_synced = synced.is_some_and(|names| names.contains(&entry.file_name()));
                let is_folder = entry.file_type().unwrap().is_dir();
                if !is_synced && choose(2) == 0 {
                    if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
                } else if is_folder {
                    folders.push(path);
                } else {
                    let synced = faults.synced_files.get(&path).map(Vec::as_slice).unwrap_or_default();
                    let left = after_crash(synced, fs::read(&path).unwrap(), choose);
                    fs::write(&path, left).unwrap();
                }
            }
        }
    }

    fn count_call(&self) -> MutexGuard<'_, Faults> {
        let mut faults = self.faults();
        faults.calls += 1;
        faults
    }
}

/// Returns what a crash leaves of a file that was only appended to.
fn after_crash(synced: &[u8], mut written: Vec<u8>, choose: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    if written.len() < synced.len() || written[..synced.len()] != *synced {
        return synced.to_vec();
    }
    written.truncate(synced.len() + choose(written.len() - synced.len() + 1));
    let mut from = synced.len();
    while from < written.len() {
        let to = (from - from % PAGE + PAGE).min(written.len());
        if choose(2) == 0 {
            written[from..to].fill(0);
        }
        from = to;
    }
    written
}

fn os_error(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

impl Storage for FaultyStorage {
    fn open(&self, path: &Path, opening: OpenMode) -> io::Result<Box<dyn StoredFile>> {
        if self.faults().is_read_only {
            return Err(os_error(EROFS));
        }
        let file = Disk.open(path, opening)?;
        Ok(Box::new(FaultyFile { file, path: path.to_owned(), storage: self.clone() }))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut faults = self.faults();
        if let Some(synced) = faults.synced_files.get(from).cloned() {
            faults.synced_files.insert(to.to_owned(), synced);
        }
        Disk.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut faults = self.faults();
        if let Some(synced) = faults.synced_files.remove(from) {
            faults.synced_files.insert(to.to_owned(), synced);
        }
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.faults().keeps_files {
            return Err(os_error(EROFS));
        }
        Disk.remove(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        Disk.remove_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut faults = self.count_call();
        let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
        faults.synced_names.insert(path.to_owned(), names);
        Ok(())
    }
}

struct FaultyFile {
    file: Box<dyn StoredFile>,
    path: PathBuf,
    storage: FaultyStorage,
}

impl FaultyFile {
    fn sync(&mut self) -> io::Result<()> {
        let mut faults = self.storage.count_call();
        match &mut faults.syncs_until_failure {
            Some(0) => {
                faults.syncs_until_failure = None;
                return Err(os_error(EIO));
            }
            Some(left) => *left -= 1,
            None => {}
        }
        if let Ok(written) = fs::read(&self.path) {
            faults.synced_files.insert(self.path.clone(), written);
        }
        Ok(())
    }
}

impl StoredFile for FaultyFile {
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut faults = self.storage.count_call();
        if faults.interrupts_every_second_call && faults.calls.is_multiple_of(2) {
            return Err(os_error(EINTR));
        }
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        if faults.max_write_bytes > 0 {
            bytes.truncate(faults.max_write_bytes);
        }
        if let Some((room, errno)) = &mut faults.free_bytes {
            if *room == 0 {
                return Err(os_error(*errno));
            }
            bytes.truncate(*room);
            *room -= bytes.len();
        }
        self.file.append(&[IoSlice::new(&bytes)])
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(at, buffer)
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn set_write_offset(&mut self, to: u64) -> io::Result<()> {
        self.file.set_write_offset(to)
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.sync()
    }

    fn sync_all(&mut self) -> io::Result<()> {
        self.sync()
    }

    fn reopen(&self) -> io::Result<Box<dyn StoredFile>> {
        self.file.reopen()
    }

    fn lock(&self) -> io::Result<()> {
        self.file.lock()
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        self.file.try_lock()
    }

    fn is_linked_at(&self, path: &Path) -> bool {
        self.file.is_linked_at(path)
    }
}
