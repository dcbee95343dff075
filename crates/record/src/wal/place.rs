//! Places for logs: in memory, closed to others.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use crate::run_id::RunId;

/// A folder for logs that lies in memory and belongs to this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(PathBuf);

impl Place {
    /// The user's runtime folder, else the machine's shared memory; `None` if neither is in memory and ours to write.
    pub fn find() -> Option<Self> {
        candidates().iter().find_map(|path| Self::at(path).ok())
    }

    /// The place in which the log of a run lies, whatever the environment was when it was made.
    pub fn holding(run_id: RunId) -> Option<Self> {
        let is_there = |path: &&PathBuf| path.join(run_id.to_string()).is_dir();
        candidates().iter().filter(is_there).find_map(|path| Self::at(path).ok())
    }

    /// A folder of this path, made if it is not there; refused if it is on a disk, a link, or open to others.
    pub fn at(path: &Path) -> io::Result<Self> {
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
        // Something else may be mounted there.
        if is_in_memory(path)? {
            Ok(Self(path.to_owned()))
        } else {
            Err(io::Error::from(io::ErrorKind::Unsupported))
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn run(&self, run_id: RunId) -> PathBuf {
        self.0.join(run_id.to_string())
    }

    /// Removes what is left of logs whose removal was cut short.
    pub(super) fn sweep(&self) {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        for path in
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == GONE))
        {
            // Another recorder may do the same at this moment.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Extension of a log's folder that is being removed.
const GONE: &str = "gone";

/// Returns the name of a log's folder while it is removed. No run's id has a dot.
pub(super) fn gone(folder: &Path) -> PathBuf {
    folder.with_extension(GONE)
}

/// Returns the places where logs may lie, the best first: the user's runtime folder, by its variable and where it commonly is,
/// and shared memory.
fn candidates() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let common = user().map(|user| PathBuf::from(format!("/run/user/{user}")));
    let shared = user().map(|user| PathBuf::from(format!("/dev/shm/reenact-{user}")));
    let runtime = runtime.into_iter().chain(common).map(|path| path.join("reenact"));
    runtime.chain(shared).collect()
}

#[cfg(unix)]
fn user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn user() -> Option<u32> {
    None
}

#[cfg(unix)]
fn is_private(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.is_dir() && Some(found.uid()) == user() && found.mode() & 0o077 == 0
}

#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> bool {
    false
}

/// Returns true if a folder's file system has no disk under it. Pages of a tmpfs may be swapped out, as those of any program.
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
        assert_eq!(Place::at(&own).unwrap(), Place(own.clone()));
        assert_eq!(Place::at(&own).unwrap(), Place(own.clone()), "it may be there already");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o750)).unwrap();
        assert_eq!(Place::at(&own).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
        let link = own.join("link");
        symlink(&own, &link).unwrap();
        assert_eq!(Place::at(&link).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(&own).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        if !is_in_memory(source).unwrap() {
            assert_eq!(Place::at(&source.join("x")).unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
    }
}
