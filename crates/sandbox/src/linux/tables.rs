//! What the kernel lists about the host: mounts, and Unix sockets that somebody listens on.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) at: PathBuf,
    /// What part of its file system it shows: more than `/` for a bind mount.
    pub(super) root: PathBuf,
    pub(super) options: Vec<String>,
    pub(super) kind: String,
}

/// As it was before the new namespaces.
#[derive(Debug, Default)]
pub(super) struct Outside {
    pub(super) mounts: Vec<Mount>,
    /// Unix sockets with a path. A relative one cannot be found again.
    pub(super) sockets: BTreeSet<PathBuf>,
    /// Whether both tables could be read.
    pub(super) is_complete: bool,
}

impl Outside {
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

/// proc(5): `36 35 98:0 /root /at rw,noatime shared:1 - ext3 /dev/root rw`.
fn mounts(table: &[u8]) -> Vec<Mount> {
    let mount = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let root = path(fields.nth(3)?);
        let at = path(fields.next()?);
        let options = String::from_utf8_lossy(fields.next()?).split(',').map(str::to_owned).collect();
        let kind = String::from_utf8_lossy(fields.skip_while(|field| field != b"-").nth(1)?).into_owned();
        Some(Mount { at, root, options, kind })
    };
    table.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// proc(5): seven columns, then the path, if it has one. Abstract names start with `@`.
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

/// Mount tables write blanks and backslashes as `\040`.
fn path(field: &[u8]) -> PathBuf {
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
        assert_eq!(found[1].at, PathBuf::from("/my dir/b.sock"));
        assert_eq!((found[1].root.to_str(), found[1].kind.as_str()), (Some("/a.sock"), "tmpfs"));
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
