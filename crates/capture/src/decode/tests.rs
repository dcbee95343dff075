use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 20;
const TEXT: &[u8] = b"data: {\"delta\":\"one\"}\n\ndata: {\"delta\":\"two\"}\n\ndata: [DONE]\n\n";

fn encoded(coding: &str, body: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        "raw deflate" => {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        "br" => {
            let mut bytes = Vec::new();
            let mut encoder = brotli::CompressorWriter::new(&mut bytes, 4096, 5, 22);
            encoder.write_all(body).unwrap();
            drop(encoder);
            bytes
        }
        "zstd" => zstd::stream::encode_all(body, 3).unwrap(),
        other => panic!("{other}"),
    }
}

const CODINGS: [&str; 5] = ["gzip", "deflate", "raw deflate", "br", "zstd"];

fn named(coding: &str) -> Vec<String> {
    vec![coding.trim_start_matches("raw ").to_owned()]
}

#[test]
fn each_coding() {
    for coding in CODINGS {
        let body = encoded(coding, TEXT);
        assert_eq!(decode_whole(&named(coding), &body, false, LIMIT).as_deref(), Ok(TEXT), "{coding}");
        assert_eq!(
            decode_whole(&named(coding), &encoded(coding, b""), false, LIMIT).as_deref(),
            Ok(&b""[..]),
            "{coding}"
        );
    }
}

#[test]
fn several_in_a_row() {
    let body = encoded("zstd", &encoded("br", &encoded("gzip", TEXT)));
    let codings = ["gzip".to_owned(), "br".to_owned(), "zstd".to_owned()];
    assert_eq!(decode_whole(&codings, &body, false, LIMIT).as_deref(), Ok(TEXT));
    assert_eq!(decode_whole(&[], TEXT, false, LIMIT).as_deref(), Ok(TEXT));
}

#[test]
fn two_members_are_one_body() {
    for coding in ["gzip", "zstd"] {
        let body = [encoded(coding, b"one "), encoded(coding, b"two")].concat();
        assert_eq!(
            decode_whole(&named(coding), &body, false, LIMIT).as_deref(),
            Ok(&b"one two"[..]),
            "{coding}"
        );
    }
}

#[test]
fn what_is_cut_counts_only_when_it_was_cut() {
    for coding in CODINGS {
        let body = encoded(coding, &TEXT.repeat(50));
        let cut = &body[..body.len() - 1];
        assert_eq!(decode_whole(&named(coding), cut, false, LIMIT), Err(Undecodable::Truncated), "{coding}");
        assert!(
            TEXT.repeat(50).starts_with(&decode_whole(&named(coding), cut, true, LIMIT).unwrap()),
            "{coding}"
        );
    }
}

#[test]
fn damage_and_unknown_codings() {
    for coding in ["gzip", "br", "zstd"] {
        let why = decode_whole(&named(coding), &[0xff; 64], false, LIMIT);
        assert_eq!(why, Err(Undecodable::Damaged), "{coding}");
    }
    assert_eq!(decode_whole(&named("compress"), TEXT, false, LIMIT), Err(Undecodable::Unknown));
    assert_eq!(decode_whole(&vec!["gzip".to_owned(); 5], TEXT, false, LIMIT), Err(Undecodable::TooMany));
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let zeros = vec![0_u8; 8 << 20];
    for coding in CODINGS {
        let bomb = encoded(coding, &zeros);
        assert_eq!(decode_whole(&named(coding), &bomb, false, LIMIT), Err(Undecodable::TooLong), "{coding}");
        assert_eq!(
            decode_whole(&named(coding), &bomb, false, zeros.len()).map(|body| body.len()),
            Ok(8 << 20)
        );
    }
    assert_eq!(decode_whole(&[], &zeros, false, LIMIT), Err(Undecodable::TooLong));
}

/// Bytes that a server flushed are decoded when they arrive, not later.
#[test]
fn flushed_pieces_come_at_once() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let mut zstd = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    let mut brotli = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    let mut decoders =
        ["gzip", "zstd", "br"].map(|coding| ContentDecoder::new(&named(coding), LIMIT).unwrap());
    for piece in [&b"data: one\n\n"[..], b"data: two\n\n", b"data: [DONE]\n\n"] {
        gzip.write_all(piece).unwrap();
        gzip.flush().unwrap();
        zstd.write_all(piece).unwrap();
        zstd.flush().unwrap();
        brotli.write_all(piece).unwrap();
        brotli.flush().unwrap();
        let sent = [std::mem::take(gzip.get_mut()), std::mem::take(zstd.get_mut()), brotli.get_ref().clone()];
        // The brotli writer lends its buffer for reading only: a fresh decoder reads all of it.
        let mut result = Vec::new();
        decoders[0].push(&sent[0], &mut result).unwrap();
        assert_eq!(result, piece, "gzip");
        result.clear();
        decoders[1].push(&sent[1], &mut result).unwrap();
        assert_eq!(result, piece, "zstd");
        result.clear();
        let mut brotli_decoder = ContentDecoder::new(&named("br"), LIMIT).unwrap();
        brotli_decoder.push(&sent[2], &mut result).unwrap();
        assert!(result.ends_with(piece), "br");
    }
}

/// The stage in front may return nothing for many pieces in a row.
#[test]
fn empty_pieces_do_not_matter() {
    let body = b"data: one\n\n".repeat(20);
    for coding in CODINGS {
        let bytes = encoded(coding, &body);
        let (front, back) = bytes.split_at(bytes.len() / 2);
        let mut decoder = ContentDecoder::new(&named(coding), LIMIT).unwrap();
        let mut result = Vec::new();
        decoder.push(front, &mut result).unwrap();
        for _ in 0..100 {
            decoder.push(b"", &mut result).unwrap();
        }
        decoder.push(back, &mut result).unwrap();
        decoder.finish(&mut result).unwrap();
        assert_eq!(result, body, "{coding}");
    }
}

/// The body is longer than any buffer on the way, and than any compression window.
#[test]
fn long_bodies() {
    let line = |at: usize| format!("{{\"line\": {at}, \"square\": {}}}\n", at * at);
    let body: String = (0..40_000).map(line).collect();
    for coding in CODINGS {
        let bytes = encoded(coding, body.as_bytes());
        for length in [1_000, 8_000, bytes.len()] {
            let mut decoder = ContentDecoder::new(&named(coding), 1 << 30).unwrap();
            let mut result = Vec::new();
            for piece in bytes.chunks(length) {
                decoder.push(piece, &mut result).unwrap();
            }
            decoder.finish(&mut result).unwrap();
            assert!(result == body.as_bytes(), "{coding} {length}");
        }
    }
}

#[test]
fn the_list_of_codings() {
    assert_eq!(codings(&HeaderList::default()), [""; 0]);
    let pairs: [(&str, &[u8]); 3] = [
        ("content-encoding", b"identity"),
        ("Content-Encoding", b"GZIP , br,"),
        ("accept-encoding", b"zstd"),
    ];
    assert_eq!(codings(&pairs.into_iter().collect()), ["gzip", "br"]);
    let noise: [(&str, &[u8]); 1] = [("content-encoding", b"gz\xffip")];
    assert_eq!(codings(&noise.into_iter().collect()), ["?"], "no coding is known by that name");
}

proptest! {
    #[test]
    fn pieces_do_not_matter(body: Vec<u8>, coding in 0..CODINGS.len(), cuts: Vec<prop::sample::Index>) {
        let coding = CODINGS[coding];
        let bytes = encoded(coding, &body);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut decoder = ContentDecoder::new(&named(coding), LIMIT).unwrap();
        let mut result = Vec::new();
        for pair in cuts.windows(2) {
            decoder.push(&bytes[pair[0]..pair[1]], &mut result).unwrap();
        }
        decoder.finish(&mut result).unwrap();
        prop_assert_eq!(result, body);
    }

    #[test]
    fn noise_never_panics(noise: Vec<u8>, coding in 0..CODINGS.len()) {
        let _ = decode_whole(&named(CODINGS[coding]), &noise, false, LIMIT);
    }
}
