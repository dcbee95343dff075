//! Kernel tables of the host: its mounts, and its Unix sockets with a path.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) mount_point: PathBuf,
    /// Part of the file system that is mounted: `/`, or another path for a bind mount.
    pub(super) root: PathBuf,
    pub(super) options: Vec<String>,
    pub(super) fs_type: String,
}

/// Tables as they were before the new namespaces.
#[derive(Debug, Default)]
pub(super) struct HostTables {
    pub(super) mounts: Vec<Mount>,
    /// Paths of Unix sockets. A relative path cannot be resolved.
    pub(super) sockets: BTreeSet<PathBuf>,
    /// True if both tables could be read.
    pub(super) is_complete: bool,
}

impl HostTables {
    /// Reads both tables; one that cannot be read counts as empty.
    pub(super) fn read() -> Self {
        let (mounts_table, sockets_table) =
            (std::fs::read("/proc/self/mountinfo"), std::fs::read("/proc/net/unix"));
        Self {
            is_complete: mounts_table.is_ok() && sockets_table.is_ok(),
            mounts: mounts(&mounts_table.unwrap_or_default()),
            sockets: sockets(&sockets_table.unwrap_or_default()),
        }
    }
}

/// Parses `/proc/self/mountinfo` (proc(5)): `36 35 98:0 /root /at rw,noatime shared:1 - ext3 /dev/root rw`.
fn mounts(table: &[u8]) -> Vec<Mount> {
    let mount = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let root = unescaped_path(fields.nth(3)?);
        let at = unescaped_path(fields.next()?);
        let options = String::from_utf8_lossy(fields.next()?).split(',').map(str::to_owned).collect();
        let kind = String::from_utf8_lossy(fields.skip_while(|field| field != b"-").nth(1)?).into_owned();
        Some(Mount { mount_point: at, root, options, fs_type: kind })
    };
    table.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// Parses `/proc/net/unix` (proc(5)): seven columns, then the path, if there is one. Abstract names start with `@`.
fn sockets(table: &[u8]) -> BTreeSet<PathBuf> {
    let socket = |line: &[u8]| {
        let mut rest = line;
        for _ in 0..7 {
            let end = rest.iter().position(|byte| *byte == b' ')?;
            let next = rest[end..].iter().position(|byte| *byte != b' ')?;
            rest = &rest[end + next..];
        }
        (!rest.starts_with(b"@")).then(|| PathBuf::from(OsString::from_vec(rest.to_vec())))
    };
    table.split(|byte| *byte == b'\n').skip(1).filter_map(socket).collect()
}

/// Decodes the path of a mount table, in which blanks and backslashes are octal escapes such as `\040`.
fn unescaped_path(field: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                out.push(byte);
                rest = &tail[3..];
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_their_optional_fields() {
        let table = b"36 35 98:0 / / rw,noatime shared:1 master:2 - ext4 /dev/root rw\n\
            37 36 0:5 /a.sock /my\\040dir/b.sock rw - tmpfs tmpfs rw\nbroken line\n";
        let found = mounts(table);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].options, ["rw", "noatime"]);
        assert_eq!(found[1].mount_point, PathBuf::from("/my dir/b.sock"));
        assert_eq!((found[1].root.to_str(), found[1].fs_type.as_str()), (Some("/a.sock"), "tmpfs"));
    }

    #[test]
    fn sockets_are_read_by_path() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 22811 /run/a b.sock\n\
            0000000000000000: 00000002 00000000 00010000 0001 01    11 @abstract\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 26170\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 22812 rel.sock\n";
        let found: Vec<_> = sockets(table).into_iter().collect();
        assert_eq!(found, [PathBuf::from("/run/a b.sock"), PathBuf::from("rel.sock")]);
    }
}
