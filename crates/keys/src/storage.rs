//! Storage: the few calls to the file system by which the journal, the log and the artifact are written.
//!
//! The real one is the [`Disk`]. A test gives its own, which fails as disks do: what was promised must hold there too.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, IoSlice, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::durable::Readers;

/// How a file is opened. Each can be read, and what is written to it comes behind what is there, but for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// It is there.
    Existing,
    /// It is not there yet. Links are not followed.
    New(Readers),
    /// It is made if it is not there, for its owner alone.
    Either,
    /// It is not there yet, and is for its owner alone. What is written comes behind what was written last, or over what is there,
    /// from where it was [told](Stored::continue_at).
    Rewritable,
}

/// Where files are kept.
pub trait Storage: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn Stored>>;

    /// Gives a file a second name, if nothing has it.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file or a folder another name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes a folder with all that is in it.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Returns when the disk has the names in a folder.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
}

/// A file that is open.
pub trait Stored: Send {
    /// Appends these parts, or as much of their beginning as is taken; says how many bytes.
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Reads what stands there, as much as comes; nothing at the end. Not while one that is rewritable is written.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// How long it is.
    fn length(&self) -> io::Result<u64>;

    /// What is appended comes from there on, if it was opened as [rewritable](Opening::Rewritable).
    fn continue_at(&mut self, to: u64) -> io::Result<()>;

    /// Cuts off what stands behind that length.
    fn set_length(&mut self, length: u64) -> io::Result<()>;

    /// Returns when the disk has what was written.
    fn sync_data(&mut self) -> io::Result<()>;

    /// Returns when the disk has the file with all that it says of itself.
    fn sync_all(&mut self) -> io::Result<()>;

    /// The same file once more.
    fn again(&self) -> io::Result<Box<dyn Stored>>;

    /// Waits until no other writer has it, and keeps them away from then on.
    fn lock(&self) -> io::Result<()>;

    /// The same without waiting.
    fn try_lock(&self) -> Result<(), TryLockError>;

    /// Whether a name leads to this very file, and not by way of a link.
    fn is_at(&self, path: &Path) -> bool;
}

/// Appends all parts, by one call if they are taken whole.
pub fn append_all(file: &mut dyn Stored, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
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

/// A file that is read from a place on.
pub struct Reading {
    file: Box<dyn Stored>,
    at: u64,
}

impl Reading {
    /// Reads a file from that offset on.
    pub fn new(file: Box<dyn Stored>, at: u64) -> Self {
        Self { file, at }
    }
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read_at(self.at, buffer)?;
        self.at += length as u64;
        Ok(length)
    }
}

/// The machine's own file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Storage for Disk {
    fn open(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn Stored>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).append(opening != Opening::Rewritable);
        let readers = match opening {
            Opening::Existing => None,
            Opening::Rewritable => {
                options.create_new(true);
                Some(Readers::Owner)
            }
            Opening::New(readers) => {
                options.create_new(true);
                Some(readers)
            }
            Opening::Either => {
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

impl Stored for File {
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write_vectored(parts)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // Whatever is appended goes to the end all the same.
        let mut file = self;
        file.seek(SeekFrom::Start(at))?;
        file.read(buffer)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn continue_at(&mut self, to: u64) -> io::Result<()> {
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

    fn again(&self) -> io::Result<Box<dyn Stored>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn lock(&self) -> io::Result<()> {
        File::lock(self)
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        File::try_lock(self)
    }

    fn is_at(&self, path: &Path) -> bool {
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
