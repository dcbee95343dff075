//! Folders for write-ahead logs: in memory, and closed to other users, because logs hold secrets.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use crate::run_id::RunId;

/// Folder for write-ahead logs. It lies in memory and belongs to this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalDir(PathBuf);

impl WalDir {
    /// Finds a folder for new logs: in the user's runtime folder, else in the machine's shared memory. `None` if
    /// neither is a file system in memory that this user may write to.
    pub fn find() -> Option<Self> {
        candidate_paths().iter().find_map(|path| Self::open(path).ok())
    }

    /// Finds the folder that holds the log of a run, whatever the environment was when the log was created.
    pub fn containing(run_id: RunId) -> Option<Self> {
        let is_there = |path: &&PathBuf| path.join(run_id.to_string()).is_dir();
        candidate_paths().iter().filter(is_there).find_map(|path| Self::open(path).ok())
    }

    /// Opens the folder at `path`, and creates it if it is missing.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if it would lie on a disk, [`io::ErrorKind::PermissionDenied`] if it is a link or
    /// open to other users.
    pub fn open(path: &Path) -> io::Result<Self> {
        let parent = path.parent().ok_or(io::ErrorKind::NotFound)?;
        if !is_in_memory(parent)? {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if !is_private(&fs::symlink_metadata(path)?) {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        // Another file system may be mounted on the folder itself.
        if is_in_memory(path)? {
            Ok(Self(path.to_owned()))
        } else {
            Err(io::Error::from(io::ErrorKind::Unsupported))
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder of a run's log.
    pub(super) fn run_path(&self, run_id: RunId) -> PathBuf {
        self.0.join(run_id.to_string())
    }

    /// Returns all folders of logs that are there, whatever the environment was when they were made.
    pub(super) fn existing() -> Vec<Self> {
        let mut paths = candidate_paths();
        paths.retain(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()));
        paths.dedup();
        paths.iter().filter_map(|path| Self::open(path).ok()).collect()
    }
}

/// Extension of a log's folder that is being removed.
pub(super) const REMOVED_EXTENSION: &str = "gone";

/// Returns the name of a log's folder while it is being removed. No run's id has a dot, so it is never taken for a log.
pub(super) fn removal_path(folder: &Path) -> PathBuf {
    folder.with_extension(REMOVED_EXTENSION)
}

/// Returns the folders in which logs may lie, best first: the user's runtime folder, by its variable and by its usual
/// path, and shared memory.
fn candidate_paths() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let common = user_id().map(|user| PathBuf::from(format!("/run/user/{user}")));
    let shared = user_id().map(|user| PathBuf::from(format!("/dev/shm/reenact-{user}")));
    let runtime = runtime.into_iter().chain(common).map(|path| path.join("reenact"));
    runtime.chain(shared).collect()
}

#[cfg(unix)]
fn user_id() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn user_id() -> Option<u32> {
    None
}

#[cfg(unix)]
pub(super) fn is_private(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.is_dir() && Some(found.uid()) == user_id() && found.mode() & 0o077 == 0
}

#[cfg(not(unix))]
pub(super) fn is_private(_: &fs::Metadata) -> bool {
    false
}

/// Returns true if a folder's file system has no disk under it. Pages of a tmpfs may be swapped out, like those of any
/// program.
#[cfg(target_os = "linux")]
fn is_in_memory(path: &Path) -> io::Result<bool> {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    let kind = rustix::fs::statfs(path)?.f_type;
    Ok(u64::try_from(kind).is_ok_and(|kind| matches!(kind, TMPFS | RAMFS)))
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_memory_that_is_closed_to_others() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let shared = Path::new("/dev/shm");
        if !is_in_memory(shared).unwrap_or(false) {
            return;
        }
        let own = shared.join(format!("reenact-place-{}", std::process::id()));
        assert_eq!(WalDir::open(&own).unwrap(), WalDir(own.clone()));
        assert_eq!(WalDir::open(&own).unwrap(), WalDir(own.clone()), "it may be there already");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o750)).unwrap();
        assert_eq!(WalDir::open(&own).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
        let link = own.join("link");
        symlink(&own, &link).unwrap();
        assert_eq!(WalDir::open(&link).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(&own).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        if !is_in_memory(source).unwrap() {
            assert_eq!(WalDir::open(&source.join("x")).unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
    }
}
