//! Which container a file is, by its first bytes. A file name is a claim; the bytes decide which reader runs.

use crate::tar::header;

/// The containers that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// A bare tar archive.
    Tar,
    /// A gzip stream. That there is a tar in it is for the reader to find out.
    TarGz,
    /// A zip archive.
    Zip,
}

impl Container {
    /// The container that begins with these bytes. 512 bytes are enough; a tar needs all of them.
    #[must_use]
    pub fn detect(first: &[u8]) -> Option<Container> {
        if first.starts_with(&[0x1f, 0x8b]) {
            return Some(Container::TarGz);
        }
        if first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06") {
            return Some(Container::Zip);
        }
        let block = first.first_chunk::<{ header::BLOCK }>()?;
        header::has_checksum(block).then_some(Container::Tar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, TarStyle, TarWriter};

    #[test]
    fn bytes_decide() {
        let mut writer = TarWriter::new(Vec::new(), TarStyle::Gnu, Limits::default());
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
