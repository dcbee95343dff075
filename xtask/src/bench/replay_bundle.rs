//! Replay Bundles to measure: one trace, and cassettes beside it. Memory does not grow with the
//! bundle.
//!
//! No verifier can be faster than unpacking and hashing, so those are the reference. The trace of
//! prose packs to about two fifths of its size, as prose does; the trace of calls, which repeats
//! much, to a twentieth.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reenact_formats::replay_bundle::{
    DocumentInclusion, NewBundleFile, NewManifest, ReopenableSource, archive_rules, write,
};
use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_pack::{PackError, read_tar_gz};
use reenact_verify::disk::{self, RecordPath};
use reenact_verify::{Keys, Options};

use super::corpus::BenchContent;
use super::peak_memory;

/// Prints the rows that are asked for, under a table head of their own.
///
/// `gunzip` is the time to unpack the archive, `sha-256` the time to hash its content, and `ratio`
/// is `verify` divided by the sum of both.
///
/// # Errors
/// If a generated bundle does not verify, or if the verifier cannot be run.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let all = [
        ("100MB replay bundle, prose", TraceText::Prose, 100 << 20, 0),
        ("100MB replay bundle, calls", TraceText::Calls, 100 << 20, 0),
        ("100MB replay bundle, 64 cassettes", TraceText::Prose, 36 << 20, 64),
    ];
    let selected: Vec<_> = all.into_iter().filter(|(name, ..)| is_selected(name)).collect();
    if !selected.is_empty() {
        println!(
            "{:<34} {:>8} {:>9} {:>9} {:>9} {:>7} {:>8}",
            "replay bundle", "packed", "gunzip", "sha-256", "verify", "ratio", "memory"
        );
    }
    for (name, text, trace, cassettes) in selected {
        row(name, &ReplayBundleFile::write(folder, text, trace, cassettes)?)?;
    }
    Ok(())
}

/// Measures and prints one bundle.
fn row(name: &str, packed: &ReplayBundleFile) -> Result<(), String> {
    let record = RecordPath::File(packed.path.clone());
    let verify = || {
        let content = disk::open(&record).map_err(|error| error.to_string())?;
        let report = content.verify(&Keys::default(), &Options::default());
        if report.pass() { Ok(()) } else { Err(format!("{name} does not verify: {:?}", report.reasons)) }
    };
    let unpack = || packed.unpack(|_| {}).map_err(|error| error.to_string());
    let mut hasher = Hasher::new();
    let bytes = packed.bytes;
    let mut hash = || {
        hash_of(bytes, &mut hasher);
        Ok(())
    };
    // In turn, so that all three meet the same load of the machine.
    let mut best = [Duration::MAX; 3];
    for _ in 0..5 {
        best[0] = best[0].min(timed(unpack)?);
        best[1] = best[1].min(timed(&mut hash)?);
        best[2] = best[2].min(timed(verify)?);
    }
    let [unpack, hash, verify] = best.map(|time| time.as_secs_f64() * 1e3);
    let peak = peak_memory(&packed.path, None)?;
    let size = record.size() as f64 / f64::from(1 << 20);
    println!(
        "{name:<34} {size:>5.1} MB {unpack:>6.0} ms {hash:>6.0} ms {verify:>6.0} ms {:>7.2} {peak:>5.1} MB",
        verify / (unpack + hash),
    );
    Ok(())
}

/// Returns the time that the closure takes.
fn timed(work: impl FnOnce() -> Result<(), String>) -> Result<Duration, String> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Hashes this many bytes from memory.
fn hash_of(bytes: u64, hasher: &mut Hasher) {
    let chunk = vec![b'x'; 64 << 10];
    (0..bytes / chunk.len() as u64).for_each(|_| hasher.put(black_box(&chunk)));
    black_box(hasher.finish());
}

/// Bundle on disk, removed on drop.
struct ReplayBundleFile {
    path: PathBuf,
    /// Unpacked size, in bytes.
    bytes: u64,
}

impl Drop for ReplayBundleFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl ReplayBundleFile {
    /// Writes a bundle with a trace of `trace` bytes, and cassettes of 1 MiB each.
    fn write(folder: &Path, text: TraceText, trace: u64, cassettes: u64) -> Result<Self, String> {
        let path = folder.join("bench.tar.gz");
        let sink = BufWriter::new(File::create(&path).map_err(|error| error.to_string())?);
        let trace = TraceLines { text, seed: 0, bytes: trace };
        let each: Vec<(String, TraceLines)> = (1..=cassettes)
            .map(|seed| {
                (format!("cassettes/{seed}.jsonl"), TraceLines { text, seed: seed << 32, bytes: 1 << 20 })
            })
            .collect();
        let mut files = vec![NewBundleFile { name: "files/trace.jsonl", content: &trace }];
        files.extend(
            each.iter().map(|(name, lines)| NewBundleFile { name, content: lines as &dyn ReopenableSource }),
        );
        let manifest = NewManifest {
            assay_version: "reenact/0.1.0".into(),
            trace: DocumentInclusion::File("files/trace.jsonl".into()),
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

    /// Unpacks the bundle: the lower bound of any verifier.
    fn unpack(&self, mut show: impl FnMut(&[u8])) -> Result<(), PackError> {
        let file = BufReader::new(File::open(&self.path)?);
        read_tar_gz(file, &archive_rules(), |member| member.read_chunks(|chunk| show(black_box(chunk))))?;
        Ok(())
    }
}

/// Text of the lines.
#[derive(Clone, Copy)]
enum TraceText {
    /// Words of which no two lines are alike.
    Prose,
    /// JSON payloads that repeat much.
    Calls,
}

impl TraceText {
    /// Returns one line of the trace.
    fn line(self, seed: u64) -> String {
        match self {
            Self::Calls => {
                format!("{{\"request_id\":\"{seed}\",\"payload\":{}}}\n", BenchContent::Native.payload(seed))
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

/// Returns made-up words out of a vocabulary of some thousands.
fn words(seed: u64, count: u64) -> String {
    let mix = |number: u64| {
        let number = (number ^ (number >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        number ^ (number >> 29)
    };
    let mut text = String::new();
    for at in 0..count {
        // A word is the same wherever its number comes up.
        let mut word = mix(mix(seed.wrapping_mul(1009).wrapping_add(at)) % 3_000 + 1);
        for _ in 0..2 + word % 9 {
            word = mix(word + 1);
            text.push(char::from(b"etaoinshrdlucmfwypvbgk"[usize::try_from(word % 22).unwrap_or(0)]));
        }
        text.push(' ');
    }
    text
}

/// Lines of a trace, generated while they are read.
struct TraceLines {
    text: TraceText,
    /// Seed of the first line.
    seed: u64,
    bytes: u64,
}

impl ReopenableSource for TraceLines {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(
            TraceReader { text: self.text, seed: self.seed, left: self.bytes, line: Vec::new(), at: 0 }
                .take(self.bytes),
        ))
    }
}

/// Reader of the lines.
struct TraceReader {
    text: TraceText,
    seed: u64,
    left: u64,
    line: Vec<u8>,
    at: usize,
}

impl Read for TraceReader {
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
