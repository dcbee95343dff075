//! Archives made by hand, for the tests beside this folder. Nothing here validates its input, so that
//! invalid archives can be made.
#![allow(clippy::unwrap_used, dead_code, reason = "each test file uses a part of this one")]

/// Returns a ustar header with a valid checksum.
pub(crate) fn header(kind: u8, name: &[u8], size: u64) -> [u8; 512] {
    let mut block = [0; 512];
    block[..name.len()].copy_from_slice(name);
    block[100..108].copy_from_slice(b"0000644\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Returns a tar entry: header, content and padding.
pub(crate) fn entry(kind: u8, name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut out = header(kind, name, content.len() as u64).to_vec();
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

/// Returns a PAX header from `key=value` texts.
pub(crate) fn pax(pairs: &[&[u8]]) -> Vec<u8> {
    let mut body = Vec::new();
    for pair in pairs {
        let length = |digits: usize| digits + 1 + pair.len() + 1;
        let digits = (1..).find(|digits| length(*digits).to_string().len() == *digits).unwrap();
        body.extend_from_slice(length(digits).to_string().as_bytes());
        body.extend_from_slice(&[b" ", *pair, b"\n"].concat());
    }
    entry(b'x', b"PaxHeaders/x", &body)
}

/// The two zero blocks that end a tar.
pub(crate) const END: [u8; 1024] = [0; 1024];

/// Returns a gzip stream of stored blocks, without compression.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    for chunk in bytes.chunks(0xffff) {
        let length = u16::try_from(chunk.len()).unwrap();
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(chunk);
    }
    out.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    out.extend_from_slice(&crc(bytes).to_le_bytes());
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_le_bytes());
    out
}

/// Returns the CRC-32 of zip and gzip.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}

/// Uncompressed entry of a zip.
#[derive(Clone)]
pub(crate) struct StoredZipEntry {
    pub(crate) name: Vec<u8>,
    /// Name in the local header.
    pub(crate) local_name: Vec<u8>,
    pub(crate) content: Vec<u8>,
    /// Values added to the CRC, the size and the offset in the central directory.
    pub(crate) lies: [u32; 3],
    pub(crate) mode: u32,
    pub(crate) flags: u16,
}

impl StoredZipEntry {
    pub(crate) fn new(name: &[u8], content: &[u8]) -> Self {
        let (name, content) = (name.to_vec(), content.to_vec());
        Self { local_name: name.clone(), name, content, lies: [0; 3], mode: 0o100_644, flags: 0x800 }
    }
}

pub(crate) fn zip(entries: &[StoredZipEntry]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = u32::try_from(out.len()).unwrap().wrapping_add(entry.lies[2]);
        let size = u32::try_from(entry.content.len()).unwrap();
        let fields = |name: &[u8], lies: [u32; 3]| {
            let mut fields = Vec::new();
            for value in [20, entry.flags, 0, 0, 0x21] {
                fields.extend_from_slice(&value.to_le_bytes());
            }
            let size = size.wrapping_add(lies[1]);
            for value in [crc(&entry.content).wrapping_add(lies[0]), size, size] {
                fields.extend_from_slice(&value.to_le_bytes());
            }
            fields.extend_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
            fields.extend_from_slice(&[0; 2]);
            fields
        };
        let local = fields(&entry.local_name, [0; 3]);
        out.extend_from_slice(&[b"PK\x03\x04", &local[..], &entry.local_name, &entry.content].concat());
        directory.extend_from_slice(b"PK\x01\x02\x14\x03");
        directory.extend_from_slice(&fields(&entry.name, entry.lies));
        directory.extend_from_slice(&[0; 6]);
        directory.extend_from_slice(&(entry.mode << 16).to_le_bytes());
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(&entry.name);
    }
    let (count, start) =
        (u16::try_from(entries.len()).unwrap().to_le_bytes(), u32::try_from(out.len()).unwrap());
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    out.extend_from_slice(&[count, count].concat());
    out.extend_from_slice(&u32::try_from(directory.len()).unwrap().to_le_bytes());
    out.extend_from_slice(&start.to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    out
}

#[test]
fn the_sums_are_right() {
    assert_eq!(crc(b"123456789"), 0xcbf4_3926);
}
