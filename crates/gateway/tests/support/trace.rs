//! Trace of all operations of a recorder on its files, in order, and of what others saw in between. From it the
//! files can be rebuilt as a kill or a power loss at any point would have left them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, TryLockError};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use reenact_record::storage::{Disk, OpenMode, Storage, StoredFile};

/// File operation, or an effect that others saw.
#[derive(Debug, Clone)]
pub(crate) enum TracedOp {
    Open(PathBuf),
    Append(PathBuf, Vec<u8>),
    ContinueAt(PathBuf, usize),
    SetLength(PathBuf, usize),
    Sync(PathBuf),
    /// Folder, and the names that were in it.
    SyncFolder(PathBuf, BTreeSet<OsString>),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    RemoveFolder(PathBuf),
    /// A vendor received the named request.
    VendorGotRequest(String),
    /// A client received more bytes of the named answer.
    ClientGotBytes(String, Vec<u8>),
}

/// Operations so far. Each is performed and recorded under one lock, so that consequences come after their
/// causes.
#[derive(Clone, Default)]
pub(crate) struct StorageTrace(Arc<Mutex<Vec<TracedOp>>>);

impl StorageTrace {
    pub(crate) fn ops(&self) -> Vec<TracedOp> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn record(&self, act: TracedOp) {
        self.0.lock().unwrap().push(act);
    }

    fn perform<T>(
        &self,
        done: impl FnOnce() -> io::Result<T>,
        act: impl FnOnce(&T) -> TracedOp,
    ) -> io::Result<T> {
        let mut acts = self.0.lock().unwrap();
        let done = done()?;
        acts.push(act(&done));
        Ok(done)
    }
}

impl Storage for StorageTrace {
    fn open(&self, path: &Path, opening: OpenMode) -> io::Result<Box<dyn StoredFile>> {
        let file = self.perform(|| Disk.open(path, opening), |_| TracedOp::Open(path.to_owned()))?;
        Ok(Box::new(TracedFile { file, path: path.to_owned(), trace: self.clone() }))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.perform(|| Disk.rename(from, to), |()| TracedOp::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.perform(|| Disk.remove(path), |()| TracedOp::Remove(path.to_owned()))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.perform(|| Disk.remove_folder(path), |()| TracedOp::RemoveFolder(path.to_owned()))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let names = || fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect();
        self.perform(names, |names: &BTreeSet<OsString>| TracedOp::SyncFolder(path.to_owned(), names.clone()))
            .map(drop)
    }
}

struct TracedFile {
    file: Box<dyn StoredFile>,
    path: PathBuf,
    trace: StorageTrace,
}

impl StoredFile for TracedFile {
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let (file, path) = (&mut self.file, &self.path);
        self.trace.perform(
            || file.append(parts),
            |length| {
                let bytes = parts.iter().flat_map(|part| part.iter().copied());
                TracedOp::Append(path.clone(), bytes.take(*length).collect())
            },
        )
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(at, buffer)
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn set_write_offset(&mut self, to: u64) -> io::Result<()> {
        let (file, path) = (&mut self.file, &self.path);
        let place = usize::try_from(to).unwrap();
        self.trace.perform(|| file.set_write_offset(to), |()| TracedOp::ContinueAt(path.clone(), place))
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        let (file, path) = (&mut self.file, &self.path);
        let kept = usize::try_from(length).unwrap();
        self.trace.perform(|| file.set_length(length), |()| TracedOp::SetLength(path.clone(), kept))
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.trace.perform(|| Ok(()), |()| TracedOp::Sync(self.path.clone()))
    }

    fn sync_all(&mut self) -> io::Result<()> {
        self.sync_data()
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

/// Files, and all that others had seen, at one point.
#[derive(Clone, Default)]
pub(crate) struct StorageSnapshot {
    pub(crate) files: BTreeMap<PathBuf, Vec<u8>>,
    /// Offset of the next write, for files in which it was set.
    write_offsets: BTreeMap<PathBuf, usize>,
    /// Contents that are on the disk.
    synced: BTreeMap<PathBuf, Vec<u8>>,
    names: BTreeMap<PathBuf, BTreeSet<OsString>>,
    pub(crate) asked: BTreeSet<String>,
    pub(crate) received: BTreeMap<String, Vec<u8>>,
}

impl StorageSnapshot {
    /// Applies one operation.
    pub(crate) fn apply(&mut self, act: &TracedOp) {
        match act {
            TracedOp::Open(path) => {
                self.files.entry(path.clone()).or_default();
            }
            TracedOp::Append(path, bytes) => self.append(path, bytes),
            TracedOp::ContinueAt(path, to) => {
                self.write_offsets.insert(path.clone(), *to);
            }
            TracedOp::SetLength(path, length) => self.files.get_mut(path).unwrap().truncate(*length),
            TracedOp::Sync(path) => {
                self.synced.insert(path.clone(), self.files[path].clone());
            }
            TracedOp::SyncFolder(path, names) => {
                self.names.insert(path.clone(), names.clone());
            }
            TracedOp::Rename(from, to) => {
                let files = std::mem::take(&mut self.files).into_iter();
                let renamed =
                    |path: PathBuf| path.strip_prefix(from).map(|rest| to.join(rest)).unwrap_or(path);
                self.files = files.map(|(path, bytes)| (renamed(path), bytes)).collect();
            }
            TracedOp::Remove(path) => {
                self.files.remove(path);
            }
            TracedOp::RemoveFolder(path) => self.files.retain(|file, _| !file.starts_with(path)),
            TracedOp::VendorGotRequest(name) => {
                self.asked.insert(name.clone());
            }
            TracedOp::ClientGotBytes(name, bytes) => {
                self.received.entry(name.clone()).or_default().extend(bytes);
            }
        }
    }

    pub(crate) fn append(&mut self, path: &Path, bytes: &[u8]) {
        let file = self.files.get_mut(path).unwrap();
        let Some(place) = self.write_offsets.get_mut(path) else { return file.extend(bytes) };
        let end = *place + bytes.len();
        file.resize(file.len().max(end), 0);
        file[*place..end].copy_from_slice(bytes);
        *place = end;
    }

    /// Returns the files on the disk after a power loss. `has_page` decides for each page that was not synced
    /// whether it was written.
    pub(crate) fn after_power_loss(&self, root: &Path, mut has_page: impl FnMut() -> bool) -> Self {
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
