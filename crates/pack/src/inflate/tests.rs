//! Comparison with one call of the same library on the whole stream: chunks and windows change neither input nor output.

use super::*;
use crate::error::ArchiveSection;
use crate::input::{ArchiveInput, BUFFER_BYTES, ChunkStream as _};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use proptest::prelude::*;
use std::io::{Read, Write};

/// Reader that returns a few bytes at a time.
struct ChunkedReader<'a>(&'a [u8], usize);

impl Read for ChunkedReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(out.len());
        self.0.read(&mut out[..count])
    }
}

/// Returns the output of a stream, and the length of the stream in bytes.
fn inflated(stream: &[u8], piece: usize) -> Result<(Vec<u8>, u64), PackError> {
    let mut input = ArchiveInput::new(ChunkedReader(stream, piece), u64::MAX);
    let mut inflater = Inflater::new();
    let mut all = Vec::new();
    loop {
        let step = inflater.inflate(input.chunk()?)?;
        input.advance(step.consumed);
        match step.stop {
            InflateStop::NeedsInput if step.made_no_progress() => {
                return Err(PackError::truncated(ArchiveSection::Gzip));
            }
            InflateStop::NeedsInput => {}
            stop => {
                assert!(inflater.output().len() <= BUFFER_BYTES);
                all.extend_from_slice(inflater.output());
                inflater.discard_output();
                if stop == InflateStop::StreamEnd {
                    return Ok((all, input.consumed()));
                }
            }
        }
    }
}

/// Returns the same by one call of the library, with a window that begins at the stream. `None` if the stream is malformed or
/// cut.
fn expected(stream: &[u8]) -> Option<(Vec<u8>, u64)> {
    let mut made = vec![0; 8 << 20];
    let (status, used, length) = decompress(
        &mut DecompressorOxide::new(),
        stream,
        &mut made,
        0,
        TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
    );
    assert_ne!(status, TINFLStatus::HasMoreOutput);
    made.truncate(length);
    (status == TINFLStatus::Done).then_some((made, used as u64))
}

fn deflated(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Strategy for bytes with repetitions near and far, and some noise.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        (any::<u8>(), 1..600_usize).prop_map(|(byte, count)| vec![byte; count]),
        proptest::collection::vec(any::<u8>(), 0..300),
        proptest::collection::vec(b'a'..b'e', 0..3_000),
        (proptest::collection::vec(any::<u8>(), 1..40), 1..3_000_usize)
            .prop_map(|(word, count)| word.repeat(count)),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| {
        let all = pieces.concat();
        // The second time it refers far back.
        [all.as_slice(), &all].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_level_comes_back(bytes in content(), level in 0..=9_u32, piece in 1..5_000_usize) {
        let stream = deflated(&bytes, level);
        let length = stream.len() as u64;
        let behind = [stream.as_slice(), b"what follows is not touched"].concat();
        prop_assert_eq!(inflated(&behind, piece), Ok((bytes, length)));
    }

    #[test]
    fn what_was_changed_means_the_same_to_both(
        bytes in content(),
        level in 0..=9_u32,
        places in proptest::collection::vec((any::<prop::sample::Index>(), 0..8_u32), 1..4),
    ) {
        let mut stream = deflated(&bytes, level);
        for (place, bit) in places {
            // Most faults are possible at the beginning only, in the code tables.
            let within = stream.len().min(if bit % 2 == 0 { 100 } else { usize::MAX });
            let at = place.index(within);
            stream[at] ^= 1 << bit;
        }
        prop_assert_eq!(inflated(&stream, usize::MAX).ok(), expected(&stream));
    }

    #[test]
    fn noise_means_the_same_to_both(stream in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(inflated(&stream, usize::MAX).ok(), expected(&stream));
    }
}

#[test]
fn a_cut_stream_is_told_from_a_broken_one() {
    let text: Vec<u8> = (0..40_000_u32).flat_map(|at| (at * at % 1_000).to_string().into_bytes()).collect();
    for level in [0, 1, 6] {
        let stream = deflated(&text, level);
        for length in (0..stream.len()).step_by(101).chain(0..500).chain(stream.len() - 50..stream.len()) {
            let cut = inflated(&stream[..length], usize::MAX);
            assert_eq!(cut, Err(PackError::truncated(ArchiveSection::Gzip)), "level {level}, {length} bytes");
        }
    }
}

/// Returns a stream of bits, each number with its lowest bit first.
fn bits(parts: &[(u32, u32)]) -> Vec<u8> {
    let all = parts.iter().flat_map(|(value, count)| (0..*count).map(move |at| value >> at & 1 == 1));
    let all: Vec<bool> = all.collect();
    all.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | u8::from(*bit))).collect()
}

/// Returns a Huffman code of the fixed block, which is written with its highest bit first.
fn code(value: u32, count: u32) -> (u32, u32) {
    (value.reverse_bits() >> (32 - count), count)
}

#[test]
fn what_no_encoder_writes() {
    let last_fixed = (0b011, 3);
    let end = code(0, 7);
    let a = code(0x30 + u32::from(b'a'), 8);
    let length_3 = code(1, 7);
    let cases = [
        ("an empty block", bits(&[last_fixed, end]), Some(&b""[..])),
        ("a reference", bits(&[last_fixed, a, length_3, code(0, 5), end]), Some(b"aaaa")),
        ("before the beginning", bits(&[last_fixed, a, length_3, code(1, 5), end]), None),
        ("distance 30", bits(&[last_fixed, a, length_3, code(30, 5), end]), None),
        ("length 286", bits(&[last_fixed, a, code(0b1100_0110, 8), code(0, 5), end]), None),
        ("block of the fourth kind", bits(&[(0b111, 3), (0, 16)]), None),
        ("stored, lengths that differ", vec![1, 1, 0, 0xFF, 0xFF, b'a'], None),
        ("stored", vec![1, 1, 0, 0xFE, 0xFF, b'a'], Some(b"a")),
        ("stored, nothing", vec![0, 0, 0, 0xFF, 0xFF, 1, 0, 0, 0xFF, 0xFF], Some(b"")),
    ];
    for (name, stream, made) in cases {
        let result = inflated(&stream, usize::MAX);
        match made {
            Some(made) => assert_eq!(result, Ok((made.to_vec(), stream.len() as u64)), "{name}"),
            None => assert_eq!(result, Err(malformed()), "{name}"),
        }
    }
}

/// Dynamic blocks with code lengths that are incomplete, oversubscribed or missing.
#[test]
fn codes_that_are_none() {
    // 257 literals, 1 distance, 19 lengths of lengths; those of the symbols 0, 1, 2 and 18 as given.
    let declared = |zero: u32, one: u32, two: u32, run: u32, rest: &[(u32, u32)]| {
        let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        let lengths = order.map(|symbol| match symbol {
            0 => (zero, 3),
            1 => (one, 3),
            2 => (two, 3),
            18 => (run, 3),
            _ => (0, 3),
        });
        let mut parts = vec![(0b101, 3), (0, 5), (0, 5), (15, 4)];
        parts.extend(lengths);
        parts.extend(rest);
        parts.push((0, 32));
        bits(&parts)
    };
    // 1 → 0, 18 → 1: runs of 138 and 118 zeros, then the end's length, then the distance's.
    let runs = [(1, 1), (127, 7), (1, 1), (107, 7)];
    let with = |rest: &[(u32, u32)]| [&runs[..], rest].concat();
    let cases = [
        (
            "one code only, and no distance",
            declared(2, 1, 0, 2, &[(0b11, 2), (127, 7), (0b11, 2), (107, 7), (0, 1), (0b01, 2), (0, 1)]),
            Ok(()),
        ),
        ("more than there are", declared(0, 1, 0, 1, &with(&[(0, 1), (1, 1), (127, 7)])), Err(())),
        ("without an end", declared(1, 0, 0, 1, &with(&[(0, 1), (0, 1)])), Err(())),
        ("too many codes of one length", declared(1, 1, 1, 0, &[]), Err(())),
        ("too few codes", declared(2, 2, 0, 0, &[]), Err(())),
        ("no code of lengths", declared(0, 0, 0, 0, &[]), Err(())),
    ];
    for (name, stream, result) in cases {
        let found = inflated(&stream, usize::MAX);
        assert_eq!(
            found
                .clone()
                .map(|(made, _)| assert_eq!(made, b""))
                .map_err(|error| assert_eq!(error, malformed())),
            result,
            "{name}: {found:?}"
        );
        assert_eq!(found.ok(), expected(&stream), "{name}");
    }
}

#[test]
fn another_stream_does_not_see_the_one_before() {
    let mut inflater = Inflater::new();
    assert_eq!(inflater.inflate(&deflated(&[b'x'; 50_000], 6)).unwrap().stop, InflateStop::StreamEnd);
    assert_eq!(inflater.output().len(), 50_000);
    inflater.reset();
    // A reference before the beginning, where the other stream left something.
    let stream = bits(&[(0b011, 3), code(1, 7), code(4, 5), (0, 20)]);
    assert_eq!(inflater.inflate(&stream).map(|step| step.produced), Err(malformed()));
}
