//! A Replay Bundle to measure: one trace, and cassettes beside it. Time is that of unpacking, hashing and looking through each
//! byte once; memory does not grow with it.
//!
//! No verifier can be faster than unpacking and hashing, so that is what it is held against. The trace of prose packs to about
//! two fifths, as prose does; that of calls, in which much is the same, to a twentieth.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reenact_formats::replay_bundle::{Held, NewFile, NewManifest, Source, rules, write};
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_pack::{PackError, read_tar_gz};
use reenact_verify::disk::{self, Place};
use reenact_verify::{Keys, Options};

use super::corpus::Content;
use super::peak_memory;

/// Every row that is asked for, under a head of their own.
pub(super) fn rows(folder: &Path, is_asked_for: impl Fn(&str) -> bool) -> Result<(), String> {
    let all = [
        ("100MB replay bundle, prose", Text::Prose, 100 << 20, 0),
        ("100MB replay bundle, calls", Text::Calls, 100 << 20, 0),
        ("100MB replay bundle, 64 cassettes", Text::Prose, 36 << 20, 64),
    ];
    let asked: Vec<_> = all.into_iter().filter(|(name, ..)| is_asked_for(name)).collect();
    if !asked.is_empty() {
        println!(
            "{:<34} {:>8} {:>9} {:>9} {:>9} {:>7} {:>8}",
            "replay bundle", "packed", "gunzip", "sha-256", "verify", "ratio", "memory"
        );
    }
    for (name, text, trace, cassettes) in asked {
        row(name, &Packed::write(folder, text, trace, cassettes)?)?;
    }
    Ok(())
}

fn row(name: &str, packed: &Packed) -> Result<(), String> {
    let place = Place::File(packed.path.clone());
    let verify = || {
        let content = disk::open(&place).map_err(|error| error.to_string())?;
        let report = content.judge(&Keys::default(), &Options::default());
        if report.pass() { Ok(()) } else { Err(format!("{name} does not verify: {:?}", report.reasons)) }
    };
    let unpack = || packed.unpack(|_| {}).map_err(|error| error.to_string());
    let mut hasher = Hasher::new();
    let bytes = packed.bytes;
    let mut hash = || {
        hash_of(bytes, &mut hasher);
        Ok(())
    };
    // In turns, so that all three meet the same weather.
    let mut best = [Duration::MAX; 3];
    for _ in 0..5 {
        best[0] = best[0].min(timed(unpack)?);
        best[1] = best[1].min(timed(&mut hash)?);
        best[2] = best[2].min(timed(verify)?);
    }
    let [unpack, hash, verify] = best.map(|time| time.as_secs_f64() * 1e3);
    let peak = peak_memory(&packed.path, None)?;
    let size = place.size() as f64 / f64::from(1 << 20);
    println!(
        "{name:<34} {size:>5.1} MB {unpack:>6.0} ms {hash:>6.0} ms {verify:>6.0} ms {:>7.2} {peak:>5.1} MB",
        verify / (unpack + hash),
    );
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<(), String>) -> Result<Duration, String> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// SHA-256 over so many bytes.
fn hash_of(bytes: u64, hasher: &mut Hasher) {
    let chunk = vec![b'x'; 64 << 10];
    (0..bytes / chunk.len() as u64).for_each(|_| hasher.put(black_box(&chunk)));
    black_box(hasher.finish());
}

/// A bundle on disk, gone when this is.
struct Packed {
    path: PathBuf,
    /// Unpacked.
    bytes: u64,
}

impl Drop for Packed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Packed {
    fn write(folder: &Path, text: Text, trace: u64, cassettes: u64) -> Result<Self, String> {
        let path = folder.join("bench.tar.gz");
        let sink = BufWriter::new(File::create(&path).map_err(|error| error.to_string())?);
        let trace = Lines { text, seed: 0, bytes: trace };
        let each: Vec<(String, Lines)> = (1..=cassettes)
            .map(|seed| (format!("cassettes/{seed}.jsonl"), Lines { text, seed: seed << 32, bytes: 1 << 20 }))
            .collect();
        let mut files = vec![NewFile { name: "files/trace.jsonl", content: &trace }];
        files.extend(each.iter().map(|(name, lines)| NewFile { name, content: lines as &dyn Source }));
        let manifest = NewManifest {
            assay_version: "reenact/0.1.0".into(),
            trace: Held::File("files/trace.jsonl".into()),
            ..NewManifest::default()
        };
        let mut sink = write(&manifest, &files, sink).map_err(|error| error.to_string())?;
        sink.flush().map_err(|error| error.to_string())?;
        let mut packed = Self { path, bytes: 0 };
        let mut bytes = 0;
        packed.unpack(|chunk| bytes += chunk.len() as u64).map_err(|error| error.to_string())?;
        packed.bytes = bytes;
        Ok(packed)
    }

    /// What every reader must do, and nothing more.
    fn unpack(&self, mut show: impl FnMut(&[u8])) -> Result<(), PackError> {
        let file = BufReader::new(File::open(&self.path)?);
        read_tar_gz(file, &rules(), |member| member.read_chunks(|chunk| show(black_box(chunk))))?;
        Ok(())
    }
}

/// What the lines say.
#[derive(Clone, Copy)]
enum Text {
    Prose,
    Calls,
}

impl Text {
    fn line(self, seed: u64) -> String {
        match self {
            Self::Calls => {
                format!("{{\"request_id\":\"{seed}\",\"payload\":{}}}\n", Content::Native.payload(seed))
            }
            Self::Prose => {
                let (prompt, response) = (words(seed, 30), words(!seed, 120));
                format!(
                    "{{\"type\":\"assay.trace\",\"request_id\":\"{seed}\",\"prompt\":\"{prompt}\",\"response\":\"{response}\"}}\n"
                )
            }
        }
    }
}

/// Words of no language, out of some thousands.
fn words(seed: u64, count: u64) -> String {
    let mix = |number: u64| {
        let number = (number ^ (number >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        number ^ (number >> 29)
    };
    let mut text = String::new();
    for at in 0..count {
        // The word is the same wherever its number comes up.
        let mut word = mix(mix(seed.wrapping_mul(1009).wrapping_add(at)) % 3_000 + 1);
        for _ in 0..2 + word % 9 {
            word = mix(word + 1);
            text.push(char::from(b"etaoinshrdlucmfwypvbgk"[usize::try_from(word % 22).unwrap_or(0)]));
        }
        text.push(' ');
    }
    text
}

/// Lines as a trace has them, never in memory at once.
struct Lines {
    text: Text,
    seed: u64,
    bytes: u64,
}

impl Source for Lines {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(
            Reader { text: self.text, seed: self.seed, left: self.bytes, line: Vec::new(), at: 0 }
                .take(self.bytes),
        ))
    }
}

struct Reader {
    text: Text,
    seed: u64,
    left: u64,
    line: Vec<u8>,
    at: usize,
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            if self.left == 0 {
                return Ok(0);
            }
            self.seed += 1;
            self.line = self.text.line(self.seed).into_bytes();
            self.at = 0;
        }
        let count = out.len().min(self.line.len() - self.at);
        out[..count].copy_from_slice(&self.line[self.at..self.at + count]);
        self.at += count;
        self.left = self.left.saturating_sub(count as u64);
        Ok(count)
    }
}
