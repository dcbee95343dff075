//! gzip streams that are broken, doubled or followed by something.

use crate::handmade::{file, gzip, malformed, members_of_tar_gz, noise, tar};
use reenact_pack::{ArchiveRules, ArchiveSection, ChecksumKind, Malformation, PackError, read_tar_gz};
use std::io::{self, Read};

fn refused(bytes: &[u8]) -> PackError {
    members_of_tar_gz(bytes, &ArchiveRules::portable()).unwrap_err()
}

fn sample() -> Vec<u8> {
    gzip(&tar(&[file("a", b"content"), file("b", &[7; 3000])]))
}

#[test]
fn bytes_after_the_stream() {
    let trailing = PackError::TrailingData { section: ArchiveSection::Gzip };
    for tail in [&b"x"[..], b"\0", &[0; 512], b"\x1f\x8b", &gzip(b""), &sample()] {
        assert_eq!(refused(&[&sample(), tail].concat()), trailing);
    }
}

#[test]
fn garbage_after_several_members() {
    let rules = ArchiveRules { many_gzip_members: true, ..ArchiveRules::portable() };
    let read = |tail: &[u8]| members_of_tar_gz(&[&sample(), tail].concat(), &rules).unwrap_err();
    assert_eq!(read(b"0123456789"), malformed(Malformation::GzipHeader, ""));
    assert_eq!(read(b"\0"), PackError::Truncated { section: ArchiveSection::GzipHeader, member: None });
}

#[test]
fn wrong_sums() {
    let mut bytes = sample();
    let crc = bytes.len() - 8;
    bytes[crc] ^= 1;
    assert_eq!(refused(&bytes), PackError::Checksum { checksum: ChecksumKind::GzipCrc, member: None });
    let mut bytes = sample();
    let length = bytes.len() - 1;
    bytes[length] ^= 1;
    assert_eq!(refused(&bytes), PackError::Checksum { checksum: ChecksumKind::GzipLength, member: None });
    let mut bytes = sample();
    bytes[3] = 2;
    bytes.splice(10..10, [0, 0]);
    assert_eq!(refused(&bytes), PackError::Checksum { checksum: ChecksumKind::GzipHeader, member: None });
}

#[test]
fn headers_that_are_none() {
    for (at, value) in [(0, 0x1e), (1, 0x8a), (2, 7), (2, 0), (3, 0x20), (3, 0x80)] {
        let mut bytes = sample();
        bytes[at] = value;
        assert_eq!(refused(&bytes), malformed(Malformation::GzipHeader, ""), "byte {at}");
    }
    assert_eq!(refused(b""), PackError::Truncated { section: ArchiveSection::GzipHeader, member: None });
    let endless_name = [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 255][..], &[b'n'; 100_000]].concat();
    assert_eq!(
        refused(&endless_name),
        PackError::Truncated { section: ArchiveSection::GzipHeader, member: None }
    );
}

#[test]
fn data_that_is_no_deflate() {
    let bytes = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255][..], &[0xff; 100]].concat();
    assert_eq!(refused(&bytes), malformed(Malformation::Deflate, ""));
}

#[test]
fn a_stream_that_is_no_tar() {
    assert!(matches!(
        refused(&gzip(&[b'x'; 2000])),
        PackError::Checksum { checksum: ChecksumKind::TarHeader, .. }
    ));
    assert_eq!(
        refused(&gzip(b"short")),
        PackError::Truncated { section: ArchiveSection::TarHeader, member: None }
    );
    assert_eq!(
        refused(&gzip(b"")),
        PackError::Truncated { section: ArchiveSection::TarHeader, member: None }
    );
}

#[test]
fn cut_anywhere() {
    // Noise, so that the archive is long enough to be cut in many places.
    let noise = noise(9000);
    let bytes = gzip(&tar(&[file("a", &noise), file("b", b"x")]));
    assert!(bytes.len() > 5000);
    for length in (0..bytes.len() - 1).step_by(64).chain(bytes.len() - 9..bytes.len()) {
        assert!(matches!(refused(&bytes[..length]), PackError::Truncated { .. }), "{length}");
    }
}

#[test]
fn a_fault_cannot_be_overlooked() {
    let mut bytes = gzip(&tar(&[file("a", &[7; 300_000]), file("b", b"x")]));
    let crc = bytes.len() - 8;
    bytes[crc] ^= 1;
    let mut visits = 0;
    let result = read_tar_gz(&bytes[..], &ArchiveRules::portable(), |member| {
        visits += 1;
        // Read up to the error and ignore it.
        while member.read(&mut [0; 4096]).is_ok_and(|got| got > 0) {}
        Ok::<(), PackError>(())
    });
    let fault = PackError::Checksum { checksum: ChecksumKind::GzipCrc, member: Some("a".to_owned()) };
    assert_eq!((result, visits), (Err(fault), 1));
}

/// Reader that returns its bytes and then fails.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "no more"));
        }
        let step = out.len().min(7);
        self.0.read(&mut out[..step])
    }
}

#[test]
fn a_reader_that_fails_is_named() {
    let bytes = sample();
    let result = read_tar_gz(Failing(&bytes[..50]), &ArchiveRules::portable(), |_| Ok::<(), PackError>(()));
    let kind = io::ErrorKind::PermissionDenied;
    assert_eq!(result, Err(PackError::Io { kind, text: "no more".to_owned() }));
}
