//! Mount of `/proc` for the process namespace, so that it lists the processes inside and no other.

use rustix::io::Errno;
use rustix::mount::MountFlags;
use std::path::Path;

/// Mounts a new proc file system over `/proc`. Must be called by the first process of the namespace.
///
/// # Errors
/// `EPERM` where a part of the old `/proc` is masked, as in a container: the kernel then lets nobody uncover it.
pub(super) fn mount() -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", Path::new("/proc"), "proc", flags, None::<&std::ffi::CStr>)
}
