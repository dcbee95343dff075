//! Storage: the few file system calls by which the journal, the write-ahead log and the artifact are written.
//!
//! The real one is [`Disk`]. A test brings its own, which fails like disks do, to check that the promises of the
//! recorder hold then too.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, IoSlice, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::durable::Readers;

/// Mode in which a file is opened. All modes allow reading. Writes append, except in [`OpenMode::Rewritable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// The file must exist.
    Existing,
    /// The file must not exist. Links are not followed.
    New(Readers),
    /// The file is created for its owner alone if it does not exist.
    NewOrExisting,
    /// The file must not exist, and is created for its owner alone. Writes continue behind the last one, or at the
    /// offset that [`StoredFile::set_write_offset`] sets.
    Rewritable,
}

/// File system of a recorder.
pub trait Storage: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, opening: OpenMode) -> io::Result<Box<dyn StoredFile>>;

    /// Creates a hard link `to` the file `from`.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if something has the name `to`.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file or a folder, and replaces a file of the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes a folder with everything in it.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Flushes the names in a folder to the disk.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
}

/// Open file.
pub trait StoredFile: Send {
    /// Writes as much of the beginning of `parts` as one call takes, and returns the number of bytes. See
    /// [`append_all`].
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Reads up to `buffer.len()` bytes at an offset, and returns the number; 0 at EOF. Must not be mixed with writes
    /// to a rewritable file, whose write offset it may move.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Returns the length of the file in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Sets the offset of the next write, for a file that was opened as [`OpenMode::Rewritable`].
    fn set_write_offset(&mut self, to: u64) -> io::Result<()>;

    /// Truncates or extends the file to `length` bytes.
    fn set_length(&mut self, length: u64) -> io::Result<()>;

    /// Flushes the contents to the disk (`fdatasync`).
    fn sync_data(&mut self) -> io::Result<()>;

    /// Flushes the contents and the metadata to the disk (`fsync`).
    fn sync_all(&mut self) -> io::Result<()>;

    /// Returns another handle to the same open file.
    fn reopen(&self) -> io::Result<Box<dyn StoredFile>>;

    /// Waits for an exclusive lock on the file, and takes it. The lock ends with the last handle.
    fn lock(&self) -> io::Result<()>;

    /// Takes the exclusive lock if it is free.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if another process has the lock.
    fn try_lock(&self) -> Result<(), TryLockError>;

    /// Returns true if `path` names this very file, and is no link.
    fn is_linked_at(&self, path: &Path) -> bool;
}

/// Writes all parts, by one call if it takes everything. Interrupted calls are repeated.
///
/// # Errors
/// [`io::ErrorKind::WriteZero`] if a call takes nothing. The beginning of `parts` may have been written after an error.
pub fn append_all(file: &mut dyn StoredFile, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
    while parts.iter().any(|part| !part.is_empty()) {
        match file.append(parts) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(written) => IoSlice::advance_slices(&mut parts, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// [`Read`] over a [`StoredFile`], from an offset on.
pub struct StoredFileReader {
    file: Box<dyn StoredFile>,
    at: u64,
}

impl StoredFileReader {
    /// Returns a reader that begins at offset `at`.
    pub fn new(file: Box<dyn StoredFile>, at: u64) -> Self {
        Self { file, at }
    }
}

impl Read for StoredFileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read_at(self.at, buffer)?;
        self.at += length as u64;
        Ok(length)
    }
}

/// The machine's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Storage for Disk {
    fn open(&self, path: &Path, opening: OpenMode) -> io::Result<Box<dyn StoredFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).append(opening != OpenMode::Rewritable);
        let readers = match opening {
            OpenMode::Existing => None,
            OpenMode::Rewritable => {
                options.create_new(true);
                Some(Readers::Owner)
            }
            OpenMode::New(readers) => {
                options.create_new(true);
                Some(readers)
            }
            OpenMode::NewOrExisting => {
                options.create(true);
                Some(Readers::Owner)
            }
        };
        #[cfg(unix)]
        if let Some(readers) = readers {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, readers.mode());
        }
        #[cfg(not(unix))]
        let _ = readers;
        Ok(Box::new(options.open(path)?))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        #[cfg(unix)]
        File::open(path)?.sync_all()?;
        #[cfg(not(unix))]
        let _ = path;
        Ok(())
    }
}

impl StoredFile for File {
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write_vectored(parts)
    }

    /// A handle of [`StoredFile::reopen`] shares its offset with the other, which an append on another thread moves: where the
    /// system can, the offset is left alone.
    #[cfg(unix)]
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, at)
    }

    #[cfg(not(unix))]
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // Moving the offset does not disturb appends: in append mode they go to the end.
        let mut file = self;
        file.seek(SeekFrom::Start(at))?;
        file.read(buffer)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_write_offset(&mut self, to: u64) -> io::Result<()> {
        self.seek(SeekFrom::Start(to)).map(drop)
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn sync_all(&mut self) -> io::Result<()> {
        File::sync_all(self)
    }

    fn reopen(&self) -> io::Result<Box<dyn StoredFile>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn lock(&self) -> io::Result<()> {
        File::lock(self)
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        File::try_lock(self)
    }

    fn is_linked_at(&self, path: &Path) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let identity = |found: fs::Metadata| (found.dev(), found.ino());
            let named = path.symlink_metadata().map(identity).ok();
            named.is_some() && named == self.metadata().map(identity).ok()
        }
        #[cfg(not(unix))]
        {
            path.is_file()
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use reenact_testkit::fixture::TestDir;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Both handles share one offset, which each append moves to the end.
    #[test]
    fn a_read_is_at_its_offset_while_another_handle_appends() {
        let folder = TestDir::new();
        let mut file = Disk.open(&folder.join("file"), OpenMode::New(Readers::Owner)).unwrap();
        append_all(&mut *file, &mut [IoSlice::new(b"first")]).unwrap();
        let reader = file.reopen().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    append_all(&mut *file, &mut [IoSlice::new(b"x")]).unwrap();
                }
            });
            let mut wrong = 0;
            for _ in 0..100_000 {
                let mut bytes = [0; 5];
                let length = reader.read_at(0, &mut bytes).unwrap();
                wrong += usize::from((length, &bytes) != (5, b"first"));
            }
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(wrong, 0);
        });
    }
}
