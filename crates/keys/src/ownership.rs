//! Owner and permissions of files. On systems without Unix permissions the checks pass.

use std::fs::Metadata;

/// Returns the permission bits.
#[cfg(unix)]
pub fn mode(found: &Metadata) -> Option<u32> {
    Some(std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o7777)
}

/// Returns `None`: there are no permission bits on this system.
#[cfg(not(unix))]
pub fn mode(_: &Metadata) -> Option<u32> {
    None
}

/// Returns the permission bits if they let other users read or write.
pub fn mode_open_to_others(found: &Metadata) -> Option<u32> {
    mode(found).filter(|mode| mode & 0o077 != 0)
}

/// Returns the permission bits if they let other users write.
pub fn mode_written_by_others(found: &Metadata) -> Option<u32> {
    mode(found).filter(|mode| mode & 0o022 != 0)
}

/// Returns true if the file belongs to the effective user of this process.
#[cfg(unix)]
pub fn is_ours(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}

/// Returns true: the owner of a file cannot be told on this system.
#[cfg(not(unix))]
pub fn is_ours(_: &Metadata) -> bool {
    true
}

/// Returns true if both are the metadata of one file, by device and inode.
#[cfg(unix)]
pub fn is_same(one: &Metadata, two: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (two.dev(), two.ino())
}

/// Returns true if both may be the metadata of one file; only the types are compared on this system.
#[cfg(not(unix))]
pub fn is_same(one: &Metadata, two: &Metadata) -> bool {
    one.file_type() == two.file_type()
}
