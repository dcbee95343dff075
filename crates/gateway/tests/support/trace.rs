//! Everything that a recorder does to its files, in order, and between it what others saw: so that the files can be had as
//! they were at any moment, as a kill or the end of the machine would have left them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, TryLockError};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use reenact_record::storage::{Disk, Opening, Storage, Stored};

/// What was done, or seen.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Open(PathBuf),
    Append(PathBuf, Vec<u8>),
    ContinueAt(PathBuf, usize),
    SetLength(PathBuf, usize),
    Sync(PathBuf),
    /// A folder, and the names that were in it.
    SyncFolder(PathBuf, BTreeSet<OsString>),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    RemoveFolder(PathBuf),
    /// A vendor has a request.
    Asked(String),
    /// A client has more bytes of an answer.
    Received(String, Vec<u8>),
}

/// The acts so far. Each is done and written down in one step, so that what follows from another comes after it.
#[derive(Clone, Default)]
pub(crate) struct Trace(Arc<Mutex<Vec<Act>>>);

impl Trace {
    pub(crate) fn acts(&self) -> Vec<Act> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn saw(&self, act: Act) {
        self.0.lock().unwrap().push(act);
    }

    fn does<T>(&self, done: impl FnOnce() -> io::Result<T>, act: impl FnOnce(&T) -> Act) -> io::Result<T> {
        let mut acts = self.0.lock().unwrap();
        let done = done()?;
        acts.push(act(&done));
        Ok(done)
    }
}

impl Storage for Trace {
    fn open(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn Stored>> {
        let file = self.does(|| Disk.open(path, opening), |_| Act::Open(path.to_owned()))?;
        Ok(Box::new(Traced { file, path: path.to_owned(), trace: self.clone() }))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.does(|| Disk.rename(from, to), |()| Act::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.does(|| Disk.remove(path), |()| Act::Remove(path.to_owned()))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.does(|| Disk.remove_folder(path), |()| Act::RemoveFolder(path.to_owned()))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let names = || fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect();
        self.does(names, |names: &BTreeSet<OsString>| Act::SyncFolder(path.to_owned(), names.clone()))
            .map(drop)
    }
}

struct Traced {
    file: Box<dyn Stored>,
    path: PathBuf,
    trace: Trace,
}

impl Stored for Traced {
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let (file, path) = (&mut self.file, &self.path);
        self.trace.does(
            || file.append(parts),
            |length| {
                let bytes = parts.iter().flat_map(|part| part.iter().copied());
                Act::Append(path.clone(), bytes.take(*length).collect())
            },
        )
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(at, buffer)
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn continue_at(&mut self, to: u64) -> io::Result<()> {
        let (file, path) = (&mut self.file, &self.path);
        let place = usize::try_from(to).unwrap();
        self.trace.does(|| file.continue_at(to), |()| Act::ContinueAt(path.clone(), place))
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        let (file, path) = (&mut self.file, &self.path);
        let kept = usize::try_from(length).unwrap();
        self.trace.does(|| file.set_length(length), |()| Act::SetLength(path.clone(), kept))
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.trace.does(|| Ok(()), |()| Act::Sync(self.path.clone()))
    }

    fn sync_all(&mut self) -> io::Result<()> {
        self.sync_data()
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

/// The files, and what others had seen, at a moment.
#[derive(Clone, Default)]
pub(crate) struct Moment {
    pub(crate) files: BTreeMap<PathBuf, Vec<u8>>,
    /// Where the next bytes come that are written to a file, if it was ever told.
    places: BTreeMap<PathBuf, usize>,
    /// What the disk has of them.
    synced: BTreeMap<PathBuf, Vec<u8>>,
    names: BTreeMap<PathBuf, BTreeSet<OsString>>,
    pub(crate) asked: BTreeSet<String>,
    pub(crate) received: BTreeMap<String, Vec<u8>>,
}

impl Moment {
    /// One act later.
    pub(crate) fn act(&mut self, act: &Act) {
        match act {
            Act::Open(path) => {
                self.files.entry(path.clone()).or_default();
            }
            Act::Append(path, bytes) => self.append(path, bytes),
            Act::ContinueAt(path, to) => {
                self.places.insert(path.clone(), *to);
            }
            Act::SetLength(path, length) => self.files.get_mut(path).unwrap().truncate(*length),
            Act::Sync(path) => {
                self.synced.insert(path.clone(), self.files[path].clone());
            }
            Act::SyncFolder(path, names) => {
                self.names.insert(path.clone(), names.clone());
            }
            Act::Rename(from, to) => {
                let files = std::mem::take(&mut self.files).into_iter();
                let renamed =
                    |path: PathBuf| path.strip_prefix(from).map(|rest| to.join(rest)).unwrap_or(path);
                self.files = files.map(|(path, bytes)| (renamed(path), bytes)).collect();
            }
            Act::Remove(path) => {
                self.files.remove(path);
            }
            Act::RemoveFolder(path) => self.files.retain(|file, _| !file.starts_with(path)),
            Act::Asked(name) => {
                self.asked.insert(name.clone());
            }
            Act::Received(name, bytes) => {
                self.received.entry(name.clone()).or_default().extend(bytes);
            }
        }
    }

    pub(crate) fn append(&mut self, path: &Path, bytes: &[u8]) {
        let file = self.files.get_mut(path).unwrap();
        let Some(place) = self.places.get_mut(path) else { return file.extend(bytes) };
        let end = *place + bytes.len();
        file.resize(file.len().max(end), 0);
        file[*place..end].copy_from_slice(bytes);
        *place = end;
    }

    /// What is on the disk after the machine went down. `has_page` says of each page that was not synced whether it is there.
    pub(crate) fn after_the_machine(&self, root: &Path, mut has_page: impl FnMut() -> bool) -> Self {
        const PAGE: usize = 4096;
        let mut left = Self { asked: self.asked.clone(), received: self.received.clone(), ..Self::default() };
        for (path, written) in self.files.iter().filter(|(path, _)| path.starts_with(root)) {
            let has_name = |path: &Path| {
                self.names
                    .get(path.parent().unwrap())
                    .is_some_and(|names| names.contains(path.file_name().unwrap()))
            };
            let above = path.ancestors().take_while(|above| *above != root);
            if !above.into_iter().all(has_name) {
                continue;
            }
            let mut bytes = written.clone();
            let mut from = self.synced.get(path).map_or(0, Vec::len);
            while from < bytes.len() {
                let to = (from - from % PAGE + PAGE).min(bytes.len());
                if !has_page() {
                    bytes[from..to].fill(0);
                }
                from = to;
            }
            left.files.insert(path.clone(), bytes);
        }
        left
    }
}
