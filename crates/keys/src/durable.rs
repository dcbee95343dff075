//! Files that are there whole or not at all: written under a temporary name beside the real one, flushed to the disk,
//! and only then linked or renamed to their name. Start reading at [`PendingFile`].

use std::fs;
use std::io::{self, BufReader, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::storage::{Disk, OpenMode, Storage, StoredFile, StoredFileReader};

/// Permissions of a new file. The process's umask may narrow them further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Only the owner may read and write (0600).
    Owner,
    /// Everyone may read, the owner may write (0644).
    Everyone,
}

impl Readers {
    /// Returns the permission bits.
    #[cfg(unix)]
    pub fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Everyone => 0o644,
        }
    }
}

/// Writes a new file, whole or not at all.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if something has that name; it is left alone.
pub fn create(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    // Linking never overwrites, so this is not needed for safety. It keeps a secret from being written in vain.
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut pending = PendingFile::new(Arc::new(Disk), path, readers)?;
    pending.write_all(bytes)?;
    pending.create()
}

/// Writes a file, whole or not at all, and replaces the file that has that name.
pub fn replace(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let mut pending = PendingFile::new(Arc::new(Disk), path, readers)?;
    pending.write_all(bytes)?;
    pending.replace()
}

/// Checks as far as possible that a file can be written under that name, by creating and removing a temporary file
/// beside it.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if there is a folder of that name, or a file and `replaces` is false.
pub fn check_writable(path: &Path, replaces: bool) -> io::Result<()> {
    let found = path.symlink_metadata().ok();
    if found.is_some_and(|found| !replaces || found.is_dir()) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    PendingFile::new(Arc::new(Disk), path, Readers::Owner).map(drop)
}

/// File that is being written under a temporary name. It is removed on drop, unless [`PendingFile::create`] or
/// [`PendingFile::replace`] gave it its name.
pub struct PendingFile {
    temporary: PendingTempFile,
    file: Box<dyn StoredFile>,
    path: PathBuf,
    readers: Readers,
}

impl PendingFile {
    /// Opens a temporary file beside `path`.
    pub fn new(storage: Arc<dyn Storage>, path: &Path, readers: Readers) -> io::Result<Self> {
        let (temporary, file) = PendingTempFile::open(storage, path, readers)?;
        Ok(Self { temporary, file, path: path.to_owned(), readers })
    }

    /// Flushes the file to the disk, and gives it its name.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if something has the name.
    pub fn create(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let storage = Arc::clone(&self.temporary.storage);
        match storage.link(&self.temporary.path, &self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // On a file system without hard links the file is copied. A crash may then leave half a file, but never
            // over another one.
            Err(_) => {
                let mut file = AppendWriter(storage.open(&self.path, OpenMode::New(self.readers))?);
                io::copy(&mut BufReader::new(StoredFileReader::new(self.file, 0)), &mut file)?;
                file.0.sync_all()?;
            }
        }
        drop(self.temporary);
        sync_parent_folder(&*storage, &self.path)
    }

    /// Flushes the file to the disk, and gives it its name in the place of the file that has it.
    pub fn replace(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let storage = Arc::clone(&self.temporary.storage);
        storage.rename(&self.temporary.path, &self.path)?;
        sync_parent_folder(&*storage, &self.path)
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.append(&[IoSlice::new(bytes)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// [`Write`] over a [`StoredFile`].
struct AppendWriter(Box<dyn StoredFile>);

impl Write for AppendWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(&[IoSlice::new(bytes)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates a folder, and its missing parents, that only the owner can enter (0700).
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    private_folder().recursive(true).create(path)
}

/// Creates a folder that only the owner can enter (0700).
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if something has that name.
pub fn create_new_private_folder(path: &Path) -> io::Result<()> {
    private_folder().create(path)
}

fn private_folder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Temporary file, removed on drop.
struct PendingTempFile {
    storage: Arc<dyn Storage>,
    path: PathBuf,
}

impl PendingTempFile {
    /// Creates a file of an unused name beside `path`, with the process id and a counter in it.
    fn open(
        storage: Arc<dyn Storage>,
        path: &Path,
        readers: Readers,
    ) -> io::Result<(Self, Box<dyn StoredFile>)> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = path.with_file_name(format!(".{name}.{}-{count}.tmp", std::process::id()));
            match storage.open(&path, OpenMode::New(readers)) {
                // The name is left over from a killed process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => return Ok((Self { storage, path }, file)),
            }
        }
    }
}

impl Drop for PendingTempFile {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove; any other error cannot be helped.
        let _ = self.storage.remove(&self.path);
    }
}

/// Flushes the folder of `path` to the disk, so that the name survives a crash.
pub fn sync_parent_folder(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => storage.sync_folder(folder),
        _ => storage.sync_folder(Path::new(".")),
    }
}
