//! A broken gzip file has the same error, whatever the size of the chunks in which it is read.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use reenact_pack::{ArchiveRules, gunzip};

/// Reader that returns at most that many bytes at a time.
struct ChunkedReader<'a>(&'a [u8], usize);

impl Read for ChunkedReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let length = out.len().min(self.1).min(self.0.len());
        out[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        Ok(length)
    }
}

/// Returns all bytes before the error, and the error.
fn read(file: &[u8], piece: usize) -> (Vec<u8>, String) {
    let mut reader = gunzip(ChunkedReader(file, piece), &ArchiveRules::plain());
    let (mut all, mut part) = (Vec::new(), [0; 777]);
    loop {
        match reader.read(&mut part) {
            Ok(0) => return (all, String::new()),
            Ok(length) => all.extend_from_slice(&part[..length]),
            Err(error) => {
                let again = reader.read(&mut part).unwrap_err();
                assert_eq!(again.to_string(), error.to_string(), "a fault stays");
                return (all, error.to_string());
            }
        }
    }
}

#[test]
fn the_same_bytes_before_the_same_fault() {
    let mut state = 7_u32;
    let text: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b"abcdefgh"[(state >> 29) as usize]
    })
    .take(150_000)
    .collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&text).unwrap();
    let good = encoder.finish().unwrap();
    assert_eq!(read(&good, 1000), (text.clone(), String::new()));

    let length = good.len();
    let mut wrong_sum = good.clone();
    wrong_sum[length - 8] ^= 1;
    let mut wrong_data = good.clone();
    wrong_data[length / 2..length / 2 + 40].fill(0xff);
    let cut = good[..length - 3000].to_vec();
    for (what, file) in [("sum", wrong_sum), ("data", wrong_data), ("cut", cut)] {
        let whole = read(&file, usize::MAX);
        assert_ne!(whole.1, "", "{what}");
        for piece in (1..60).chain([100, 999, 1024, 4096, 65_535]) {
            let (came, fault) = read(&file, piece);
            assert_eq!(fault, whole.1, "{what} in pieces of {piece}");
            // Broken data may yield wrong bytes before the error is found.
            assert!(what == "data" || text.starts_with(&came), "{what} in pieces of {piece}");
        }
    }
}
