//! Files that are there whole or not at all: written under a temporary name beside the real one, flushed to the disk, and
//! only then given their name.

use std::fs;
use std::io::{self, BufReader, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::storage::{Disk, Opening, Reading, Storage, Stored};

/// Who may read a file. The process's own mask may narrow it further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner (0600).
    Owner,
    /// Everyone (0644).
    Everyone,
}

impl Readers {
    /// The permission bits.
    #[cfg(unix)]
    pub fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Everyone => 0o644,
        }
    }
}

/// Writes a new file. If there is one of that name already it is left alone, and the error is
/// [`io::ErrorKind::AlreadyExists`].
pub fn create(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    // Not needed for safety, since linking never overwrites; it saves writing a secret for nothing.
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut pending = Pending::new(path, readers)?;
    pending.write_all(bytes)?;
    pending.create()
}

/// Writes a file in the place of whatever has that name.
pub fn replace(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let mut pending = Pending::new(path, readers)?;
    pending.write_all(bytes)?;
    pending.replace()
}

/// Whether a file could be written under that name, as far as can be told beforehand.
pub fn check(path: &Path, replaces: bool) -> io::Result<()> {
    let found = path.symlink_metadata().ok();
    if found.is_some_and(|found| !replaces || found.is_dir()) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Pending::new(path, Readers::Owner).map(drop)
}

/// A file that is being written and has no name yet. Dropped, it is gone.
pub struct Pending {
    temporary: Temporary,
    file: Box<dyn Stored>,
    path: PathBuf,
    readers: Readers,
}

impl Pending {
    /// Begins a file that is to have that name.
    pub fn new(path: &Path, readers: Readers) -> io::Result<Self> {
        Self::new_in(Arc::new(Disk), path, readers)
    }

    /// The same elsewhere than on the machine's own disk.
    pub fn new_in(storage: Arc<dyn Storage>, path: &Path, readers: Readers) -> io::Result<Self> {
        let (temporary, file) = Temporary::open(storage, path, readers)?;
        Ok(Self { temporary, file, path: path.to_owned(), readers })
    }

    /// Flushes the file to the disk and gives it its name, if nothing has it.
    pub fn create(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let storage = Arc::clone(&self.temporary.storage);
        match storage.link(&self.temporary.path, &self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // A file system without links. A crash may leave half a file, but never over another one.
            Err(_) => {
                let mut file = Appending(storage.open(&self.path, Opening::New(self.readers))?);
                io::copy(&mut BufReader::new(Reading::new(self.file, 0)), &mut file)?;
                file.0.sync_all()?;
            }
        }
        drop(self.temporary);
        sync_name(&*storage, &self.path)
    }

    /// Flushes the file to the disk and gives it its name, in the place of whatever has it.
    pub fn replace(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let storage = Arc::clone(&self.temporary.storage);
        storage.rename(&self.temporary.path, &self.path)?;
        sync_name(&*storage, &self.path)
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.append(&[IoSlice::new(bytes)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is written piece by piece.
struct Appending(Box<dyn Stored>);

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(&[IoSlice::new(bytes)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes a folder, and those above it, that only its owner can enter.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    private_folder().recursive(true).create(path)
}

/// Makes a folder that only its owner can enter. One that is there already is [`io::ErrorKind::AlreadyExists`].
pub fn create_new_private_folder(path: &Path) -> io::Result<()> {
    private_folder().create(path)
}

fn private_folder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// A file that is gone when it is dropped, unless it was renamed.
struct Temporary {
    storage: Arc<dyn Storage>,
    path: PathBuf,
}

impl Temporary {
    fn open(storage: Arc<dyn Storage>, path: &Path, readers: Readers) -> io::Result<(Self, Box<dyn Stored>)> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = path.with_file_name(format!(".{name}.{}-{count}.tmp", std::process::id()));
            match storage.open(&path, Opening::New(readers)) {
                // Left by a process of the same id that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => return Ok((Self { storage, path }, file)),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing is there any more after a rename; and nothing can be done if it stays.
        let _ = self.storage.remove(&self.path);
    }
}

/// Returns when the disk has a new name, which is when it has the folder.
pub fn sync_name(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => storage.sync_folder(folder),
        _ => storage.sync_folder(Path::new(".")),
    }
}
