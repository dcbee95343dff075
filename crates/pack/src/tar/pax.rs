//! PAX headers: `path` and `size` of the member that follows; all other accepted keys are ignored.
//!
//! A PAX header is a second, invisible header. The keys that it may have are listed here. A key that no known tool writes for a
//! plain file, or that would change the type of the member, refuses the archive.

use crate::error::PaxFault;
use crate::error::shortened;

/// Name and size in bytes of the next member, if the PAX header states them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PaxHeader {
    pub(super) path: Option<String>,
    pub(super) size: Option<u64>,
}

/// Keys without effect on the content: times, owners, and comments.
const IGNORED_KEYS: [&str; 8] = ["mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment"];
/// Prefixes of keys without effect on the content: attributes that the tools of one system keep for themselves.
const IGNORED_KEY_PREFIXES: [&str; 9] = [
    "SCHILY.xattr.",
    "SCHILY.acl.",
    "SCHILY.dev",
    "SCHILY.ino",
    "SCHILY.nlink",
    "SCHILY.fflags",
    "LIBARCHIVE.xattr.",
    "LIBARCHIVE.creationtime",
    "RHT.security.selinux",
];

impl PaxHeader {
    /// Parses `length key=value\n` records, each key once and at most 256 of them.
    pub(super) fn parse(mut bytes: &[u8]) -> Result<PaxHeader, PaxFault> {
        let mut pax = PaxHeader::default();
        let mut keys: Vec<&str> = Vec::new();
        while !bytes.is_empty() {
            let (key, value, rest) = split_record(bytes).ok_or(PaxFault::Record)?;
            bytes = rest;
            if keys.contains(&key) {
                return Err(PaxFault::Repeated(shortened(key.as_bytes())));
            }
            // A header of one member has a dozen keys; without a bound, the search above would be quadratic.
            if keys.len() >= 256 {
                return Err(PaxFault::Record);
            }
            keys.push(key);
            let bad_value = || PaxFault::Value(shortened(key.as_bytes()));
            match key {
                "path" => {
                    let path = std::str::from_utf8(value).map_err(|_| bad_value())?;
                    if path.is_empty() || path.contains('\0') {
                        return Err(bad_value());
                    }
                    pax.path = Some(path.to_owned());
                }
                "size" => pax.size = Some(decimal(value).ok_or_else(bad_value)?),
                _ if IGNORED_KEYS.contains(&key) => {}
                _ if IGNORED_KEY_PREFIXES.iter().any(|prefix| key.starts_with(prefix)) => {}
                _ => return Err(PaxFault::Key(shortened(key.as_bytes()))),
            }
        }
        Ok(pax)
    }
}

/// Splits off the first record: its key, its value, and the bytes behind it.
fn split_record(bytes: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let space = bytes.iter().position(|b| *b == b' ')?;
    let length = usize::try_from(decimal(&bytes[..space])?).ok()?;
    let (record, rest) = bytes.split_at_checked(length)?;
    let pair = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = pair.iter().position(|b| *b == b'=')?;
    let (key, value) = pair.split_at(equals);
    let printable = !key.is_empty() && key.iter().all(u8::is_ascii_graphic);
    let key = std::str::from_utf8(key).ok().filter(|_| printable)?;
    Some((key, &value[1..], rest))
}

/// Parses decimal digits without a sign or leading zeros.
fn decimal(digits: &[u8]) -> Option<u64> {
    let plain = digits == b"0" || digits.first().is_some_and(|d| (b'1'..=b'9').contains(d));
    if !plain || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a record with its correct length.
    fn pair(text: &[u8]) -> Vec<u8> {
        let length = |digits: usize| digits + 1 + text.len() + 1;
        let digits = (1..).find(|digits| length(*digits).to_string().len() == *digits).unwrap();
        [length(digits).to_string().as_bytes(), b" ", text, b"\n"].concat()
    }

    fn parse(pairs: &[&[u8]]) -> Result<PaxHeader, PaxFault> {
        PaxHeader::parse(&pairs.iter().flat_map(|text| pair(text)).collect::<Vec<u8>>())
    }

    #[test]
    fn what_ordinary_tools_write() {
        let pax = PaxHeader { path: Some("long/name.js".to_owned()), size: Some(4096) };
        assert_eq!(
            parse(&[b"mtime=1700000000.5", b"path=long/name.js", b"size=4096", b"comment=a"]),
            Ok(pax)
        );
        assert_eq!(parse(&[]), Ok(PaxHeader::default()));
        assert_eq!(parse(&[b"SCHILY.xattr.user.x=\xff\0\n\x01=", b"uname="]), Ok(PaxHeader::default()));
    }

    #[test]
    fn tricks() {
        let key = |key: &str| Err(PaxFault::Key(key.to_owned()));
        let value = |key: &str| Err(PaxFault::Value(key.to_owned()));
        assert_eq!(parse(&[b"linkpath=a"]), key("linkpath"));
        assert_eq!(parse(&[b"GNU.sparse.major=1"]), key("GNU.sparse.major"));
        assert_eq!(parse(&[b"hdrcharset=BINARY"]), key("hdrcharset"));
        assert_eq!(parse(&[b"SCHILY.realsize=12"]), key("SCHILY.realsize"));
        assert_eq!(parse(&[b"path=a", b"path=b"]), Err(PaxFault::Repeated("path".to_owned())));
        assert_eq!(parse(&[b"path=a", b"uid=1", b"path=a"]), Err(PaxFault::Repeated("path".to_owned())));
        for path in [&b"path=a\0b"[..], b"path=\xff", b"path="] {
            assert_eq!(parse(&[path]), value("path"));
        }
        for size in [&b"size=-1"[..], b"size=01", b"size=", b"size=1.0", b"size=18446744073709551616"] {
            assert_eq!(parse(&[size]), value("size"));
        }
    }

    #[test]
    fn records_that_are_none() {
        assert_eq!(pair(b"path=ab"), b"11 path=ab\n");
        for bytes in [
            &b"x"[..],
            b" path=ab\n",
            b"0 path=ab\n",
            b"1 path=ab\n",
            b"2 path=ab\n",
            b"10 path=ab\n",
            b"12 path=ab\n",
            b"011 path=ab\n",
            b"+11 path=ab\n",
            b"99999999999999999999 path=ab\n",
            b"18446744073709551615 path=ab\n",
            b"7 path\n",
            b"5 =a\n",
            b"11 pa\th=ab\n",
            b"11 path=ab\0",
            b"11 path=ab\n\0\0\0",
        ] {
            assert_eq!(PaxHeader::parse(bytes), Err(PaxFault::Record), "{}", bytes.escape_ascii());
        }
        let many: Vec<u8> = (0..300).flat_map(|n| pair(format!("SCHILY.dev.{n}=a").as_bytes())).collect();
        assert_eq!(PaxHeader::parse(&many), Err(PaxFault::Record));
    }
}
