//! Storage that fails as disks do. What it takes lies on the real disk, so that whoever comes after a fault finds there what a
//! fault would have left.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, TryLockError};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use reenact_record::storage::{Disk, Opening, Storage, Stored};

/// What the system says.
pub(crate) const EIO: i32 = 5;
pub(crate) const EINTR: i32 = 4;
pub(crate) const ENOSPC: i32 = 28;
pub(crate) const EROFS: i32 = 30;

/// What a page of the system's cache holds: it reaches the disk whole or not at all.
const PAGE: usize = 4096;

/// What goes wrong, and what happened so far.
#[derive(Default)]
pub(crate) struct Faults {
    /// How many bytes one call takes at most; 0 for all.
    pub(crate) most: usize,
    /// Whether every second call is interrupted.
    pub(crate) interrupts: bool,
    /// How many bytes there is still room for, and what is said when there is none.
    pub(crate) room: Option<(usize, i32)>,
    /// After how many more calls to sync one fails.
    pub(crate) sync: Option<usize>,
    /// Whether nothing can be opened for writing.
    pub(crate) is_read_only: bool,
    /// Calls to write or sync.
    pub(crate) calls: usize,
    /// What the disk has of each file.
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// The names that the disk has in each folder.
    names: BTreeMap<PathBuf, BTreeSet<OsString>>,
}

#[derive(Clone, Default)]
pub(crate) struct Faulty(Arc<Mutex<Faults>>);

impl Faulty {
    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.0.lock().unwrap()
    }

    /// The machine goes down: names that were not synced are gone, and of what was not synced in a file each page is there or
    /// is not. `choose` says which of so many.
    pub(crate) fn crash(&self, root: &Path, choose: &mut impl FnMut(usize) -> usize) {
        let faults = self.faults();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            let synced = faults.names.get(&folder);
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
                    let synced = faults.files.get(&path).map(Vec::as_slice).unwrap_or_default();
                    let left = torn(synced, fs::read(&path).unwrap(), choose);
                    fs::write(&path, left).unwrap();
                }
            }
        }
    }

    fn call(&self) -> MutexGuard<'_, Faults> {
        let mut faults = self.faults();
        faults.calls += 1;
        faults
    }
}

/// What a crash leaves of a file that was only appended to.
fn torn(synced: &[u8], mut written: Vec<u8>, choose: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
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

fn refused(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

impl Storage for Faulty {
    fn open(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn Stored>> {
        if self.faults().is_read_only {
            return Err(refused(EROFS));
        }
        let file = Disk.open(path, opening)?;
        Ok(Box::new(File { file, path: path.to_owned(), storage: self.clone() }))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut faults = self.faults();
        if let Some(synced) = faults.files.get(from).cloned() {
            faults.files.insert(to.to_owned(), synced);
        }
        Disk.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut faults = self.faults();
        if let Some(synced) = faults.files.remove(from) {
            faults.files.insert(to.to_owned(), synced);
        }
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        Disk.remove_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut faults = self.call();
        let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
        faults.names.insert(path.to_owned(), names);
        Ok(())
    }
}

struct File {
    file: Box<dyn Stored>,
    path: PathBuf,
    storage: Faulty,
}

impl File {
    fn sync(&mut self) -> io::Result<()> {
        let mut faults = self.storage.call();
        match &mut faults.sync {
            Some(0) => {
                faults.sync = None;
                return Err(refused(EIO));
            }
            Some(left) => *left -= 1,
            None => {}
        }
        if let Ok(written) = fs::read(&self.path) {
            faults.files.insert(self.path.clone(), written);
        }
        Ok(())
    }
}

impl Stored for File {
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut faults = self.storage.call();
        if faults.interrupts && faults.calls.is_multiple_of(2) {
            return Err(refused(EINTR));
        }
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        if faults.most > 0 {
            bytes.truncate(faults.most);
        }
        if let Some((room, errno)) = &mut faults.room {
            if *room == 0 {
                return Err(refused(*errno));
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

    fn continue_at(&mut self, to: u64) -> io::Result<()> {
        self.file.continue_at(to)
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

    fn again(&self) -> io::Result<Box<dyn Stored>> {
        self.file.again()
    }

    fn lock(&self) -> io::Result<()> {
        self.file.lock()
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        self.file.try_lock()
    }

    fn is_at(&self, path: &Path) -> bool {
        self.file.is_at(path)
    }
}
