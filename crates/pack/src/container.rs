//! Detection of the archive format by the first bytes. A file name is only a claim; the bytes decide which reader runs.

use crate::tar::header;

/// Archive format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// A bare tar archive.
    Tar,
    /// A gzip file. Only its reader finds out if there is a tar inside.
    TarGz,
    /// A zip archive.
    Zip,
}

impl Container {
    /// Returns the format of a file that begins with these bytes; `None` if it is none of them. 512 bytes are enough; a tar needs
    /// all of them, since it is recognised by the checksum of its first header.
    #[must_use]
    pub fn detect(first: &[u8]) -> Option<Container> {
        if first.starts_with(&[0x1f, 0x8b]) {
            return Some(Container::TarGz);
        }
        if first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06") {
            return Some(Container::Zip);
        }
        let block = first.first_chunk::<{ header::BLOCK }>()?;
        header::has_valid_checksum(block).then_some(Container::Tar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArchiveLimits, TarStyle, TarWriter};

    #[test]
    fn bytes_decide() {
        let mut writer = TarWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default());
        writer.add("a", 0, &b""[..]).unwrap();
        let mut tar = writer.finish().unwrap();
        assert_eq!(Container::detect(&tar), Some(Container::Tar));
        assert_eq!(Container::detect(&tar[..511]), None);
        tar[0] ^= 1;
        assert_eq!(Container::detect(&tar), None);
        assert_eq!(Container::detect(&[0; 512]), None);
        assert_eq!(Container::detect(b""), None);
        assert_eq!(Container::detect(b"\x1f\x8b"), Some(Container::TarGz));
        assert_eq!(Container::detect(b"PK\x03\x04"), Some(Container::Zip));
        assert_eq!(Container::detect(b"PK\x05\x06"), Some(Container::Zip));
        assert_eq!(Container::detect(b"PK\x07\x08"), None);
    }
}
