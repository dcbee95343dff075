//! Whose a file is, and who else may read or write it.

use std::fs::Metadata;

/// Permission bits, where there are any.
#[cfg(unix)]
pub fn mode(found: &Metadata) -> Option<u32> {
    Some(std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o7777)
}

/// Permission bits: none on this system.
#[cfg(not(unix))]
pub fn mode(_: &Metadata) -> Option<u32> {
    None
}

/// Returns the permission bits if they let others read or write.
pub fn mode_open_to_others(found: &Metadata) -> Option<u32> {
    mode(found).filter(|mode| mode & 0o077 != 0)
}

/// Returns the permission bits if they let others write.
pub fn mode_written_by_others(found: &Metadata) -> Option<u32> {
    mode(found).filter(|mode| mode & 0o022 != 0)
}

/// Returns true if a file belongs to the user of this process.
#[cfg(unix)]
pub fn is_ours(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}

/// Returns true: files have no owners that could be asked for on this system.
#[cfg(not(unix))]
pub fn is_ours(_: &Metadata) -> bool {
    true
}

/// Returns true if both are of one file.
#[cfg(unix)]
pub fn is_same(one: &Metadata, two: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (two.dev(), two.ino())
}

/// Returns true if both may be of one file.
#[cfg(not(unix))]
pub fn is_same(one: &Metadata, two: &Metadata) -> bool {
    one.file_type() == two.file_type()
}
