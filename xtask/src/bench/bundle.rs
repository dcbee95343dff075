//! RER bundles to measure: a small artifact and large blobs of noise.
//!
//! Time is compared with reading and hashing each byte once; memory does not grow with the blobs.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reenact_formats::rer::manifest;
use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits, Value};
use reenact_pack::{
    ArchiveLimits as PackLimits, ArchiveMember, ArchiveRules, PackError, TarGzWriter, TarStyle, TarWriter,
};
use reenact_pack::{read_tar, read_tar_gz};
use reenact_verify::disk::{self, RecordPath};
use reenact_verify::{Keys, Options};

use super::corpus::{BenchArtifact, BenchContent};
use super::peak_memory;

/// Packing of a bundle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BundlePacking {
    /// Plain tar.
    Tar,
    /// Tar packed with gzip.
    TarGz,
}

/// Size of the artifact in a bundle, in bytes: little beside its blobs.
const ARTIFACT_BYTES: usize = 1 << 20;
/// Number of blobs in a bundle.
const BLOB_COUNT: u64 = 16;

/// Prints the rows that are asked for, under a table head of their own.
///
/// `read` is the time to read all members, `sha-256` the time to hash as many bytes, and `ratio` is
/// `verify` divided by the sum of both.
///
/// # Errors
/// If a generated bundle does not verify, or if the verifier cannot be run.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let all = [
        ("1GB bundle.tar", BundlePacking::Tar, 1 << 30),
        ("200MB bundle.tar.gz", BundlePacking::TarGz, 200 << 20),
    ];
    let selected: Vec<_> = all.into_iter().filter(|(name, ..)| is_selected(name)).collect();
    if selected.is_empty() {
        return Ok(());
    }
    println!(
        "{:<22} {:>9} {:>9} {:>9} {:>9} {:>7} {:>8}",
        "bundle", "size", "read", "sha-256", "verify", "ratio", "memory"
    );
    for (name, form, size) in selected {
        row(name, &BundleFile::write(form, size, folder)?, folder)?;
    }
    Ok(())
}

/// Measures and prints one bundle.
fn row(name: &str, packed: &BundleFile, folder: &Path) -> Result<(), String> {
    let key_file = folder.join("bench.key");
    fs::write(&key_file, packed.key).map_err(|error| error.to_string())?;
    let keys = Keys::from_raw(&packed.key);
    let verify = || {
        let content = disk::open(&packed.record).map_err(|error| error.to_string())?;
        let report = content.verify(&keys, &Options::default());
        if report.pass() { Ok(()) } else { Err(format!("{name} does not verify: {:?}", report.reasons)) }
    };
    let read = || packed.read().map_err(|error| error.to_string());
    let hash = || packed.hash().map_err(|error| error.to_string());
    // In turn, so that all three meet the same load of the machine.
    let mut best = [Duration::MAX; 3];
    for _ in 0..3 {
        best[0] = best[0].min(timed(read)?);
        best[1] = best[1].min(timed(hash)?);
        best[2] = best[2].min(timed(verify)?);
    }
    let [read, hash, verify] = best.map(|time| time.as_secs_f64() * 1e3);
    let peak = peak_memory(packed.record.path(), Some(&key_file))?;
    let size = packed.record.size() as f64 / f64::from(1 << 20);
    println!(
        "{name:<22} {size:>6.0} MB {read:>6.0} ms {hash:>6.0} ms {verify:>6.0} ms {:>7.2} {peak:>5.1} MB",
        verify / (read + hash),
    );
    Ok(())
}

/// Returns the time that the closure takes.
fn timed(work: impl Fn() -> Result<(), String>) -> Result<Duration, String> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Bundle on disk, removed on drop.
struct BundleFile {
    /// Packing of the file.
    packing: BundlePacking,
    record: RecordPath,
    /// Public key that signed the artifact.
    key: [u8; 32],
    /// Sum of the members' sizes, in bytes.
    content_bytes: u64,
}

impl Drop for BundleFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.record.path());
    }
}

impl BundleFile {
    /// Writes a bundle with `size` bytes of blobs, none of which is ever in memory as a whole.
    fn write(form: BundlePacking, size: u64, folder: &Path) -> Result<Self, String> {
        let text = |error: &dyn ToString| error.to_string();
        let blobs = (1..=BLOB_COUNT)
            .map(|seed| NoiseBlob::new(seed, size / BLOB_COUNT))
            .collect::<io::Result<Vec<_>>>();
        let blobs = blobs.map_err(|error| text(&error))?;
        let chain = BenchArtifact::chain(BenchContent::Native, ARTIFACT_BYTES)?;
        let unbound = BenchArtifact::sealed(&chain, None)?;
        let (manifest, bundle_hash) = manifest_of(&unbound, &blobs)?;
        let artifact = BenchArtifact::sealed(&chain, Some(bundle_hash))?;
        let key = *artifact.key.as_bytes();

        let path = folder.join(if form == BundlePacking::Tar { "bench.rer.tar" } else { "bench.rer.tar.gz" });
        let packed = Self {
            packing: form,
            record: RecordPath::File(path.clone()),
            key,
            content_bytes: size + (artifact.bytes.len() + manifest.len() + key.len()) as u64,
        };
        let documents: [(&str, &[u8]); 3] =
            [("artifact.json", &artifact.bytes), ("manifest.json", manifest.as_bytes()), ("key.bin", &key)];
        pack(form, &path, &documents, &blobs).map_err(|error| text(&error))?;
        Ok(packed)
    }

    /// Reads every member to its end and drops the bytes: the lower bound of any verifier.
    fn read(&self) -> Result<(), PackError> {
        let visit = |member: &mut ArchiveMember<'_>| {
            member.read_chunks(|chunk| {
                black_box(chunk);
            })
        };
        let file = BufReader::new(File::open(self.record.path())?);
        match self.packing {
            BundlePacking::Tar => read_tar(file, &ArchiveRules::portable(), visit)?,
            BundlePacking::TarGz => read_tar_gz(file, &ArchiveRules::portable(), visit)?,
        };
        Ok(())
    }

    /// Hashes as many bytes as the bundle has, all from memory.
    fn hash(&self) -> io::Result<()> {
        let mut chunk = vec![0; 64 << 10];
        NoiseReader::new(1, chunk.len() as u64).read_exact(&mut chunk)?;
        let mut hasher = Hasher::new();
        let mut left = self.content_bytes;
        while left > 0 {
            let step = usize::try_from(left).map_or(chunk.len(), |left| left.min(chunk.len()));
            hasher.put(black_box(&chunk[..step]));
            left -= step as u64;
        }
        black_box(hasher.finish());
        Ok(())
    }
}

/// Function that adds a member to an archive: name, size, content.
type AddMember<'a> = dyn FnMut(&str, u64, &mut dyn Read) -> Result<(), PackError> + 'a;

/// Packs the documents and the blobs.
fn pack(
    form: BundlePacking,
    path: &PathBuf,
    documents: &[(&str, &[u8])],
    blobs: &[NoiseBlob],
) -> Result<(), PackError> {
    let file = BufWriter::new(File::create(path)?);
    let each = |add: &mut AddMember<'_>| {
        for (name, bytes) in documents {
            add(name, bytes.len() as u64, &mut &**bytes)?;
        }
        for blob in blobs {
            add(&format!("blobs/{}.bin", blob.digest), blob.size, &mut blob.content())?;
        }
        Ok::<(), PackError>(())
    };
    let mut file = match form {
        BundlePacking::Tar => {
            let mut writer = TarWriter::new(file, TarStyle::Ustar, PackLimits::default());
            each(&mut |name, size, content| writer.add(name, size, content))?;
            writer.finish()?
        }
        BundlePacking::TarGz => {
            let mut writer = TarGzWriter::new(file, TarStyle::Ustar, PackLimits::default())?;
            each(&mut |name, size, content| writer.add(name, size, content))?;
            writer.finish()?
        }
    };
    Ok(file.flush()?)
}

/// Returns the manifest's text, and its hash.
fn manifest_of(artifact: &BenchArtifact, blobs: &[NoiseBlob]) -> Result<(String, Digest), String> {
    let parsed = Value::parse(&artifact.bytes, &Limits::default()).map_err(|error| error.to_string())?;
    let artifact_hash = manifest::artifact_hash(parsed).map_err(|error| error.to_string())?;
    let events = parsed.member("events").map_or(0, |events| events.elements().count());
    let blobs: Vec<String> = blobs
        .iter()
        .map(|blob| {
            format!("{{\"hash\":\"{0}\",\"name\":\"{0}\",\"size_bytes\":{1}}}", blob.digest, blob.size)
        })
        .collect();
    let members = format!(
        "\"artifact_hash\":\"{artifact_hash}\",\"blobs\":[{}],\"redacted_event_count\":0,\"runtime_key_hash\":\"{}\",\"total_event_count\":{events}}}",
        blobs.join(","),
        artifact.key.digest(),
    );
    let unbound = format!("{{{members}");
    let parsed = Value::parse(unbound.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
    let hash = manifest::bundle_hash(parsed).map_err(|error| error.to_string())?;
    Ok((format!("{{\"bundle_hash\":\"{hash}\",{members}"), hash))
}

/// Blob that is generated anew each time it is read.
struct NoiseBlob {
    /// Seed of the blob's bytes.
    seed: u64,
    /// Length in bytes.
    size: u64,
    /// SHA-256 of the blob's bytes.
    digest: Digest,
}

impl NoiseBlob {
    /// Generates the blob once, for its digest.
    fn new(seed: u64, size: u64) -> io::Result<Self> {
        let (mut noise, mut chunk) = (NoiseReader::new(seed, size), vec![0; 64 << 10]);
        let mut hasher = Hasher::new();
        loop {
            match noise.read(&mut chunk)? {
                0 => return Ok(Self { seed, size, digest: hasher.finish() }),
                count => hasher.put(&chunk[..count]),
            }
        }
    }

    /// Returns a reader of the blob's bytes.
    fn content(&self) -> NoiseReader {
        NoiseReader::new(self.seed, self.size)
    }
}

/// Reader of bytes that do not compress: the same for the same seed, in whatever portions they are
/// read.
struct NoiseReader {
    /// State of the xorshift generator.
    state: u64,
    /// Bytes left to read.
    left: u64,
    /// Last eight bytes of the generator.
    word: [u8; 8],
    /// Bytes of `word` that were handed out.
    used: usize,
}

impl NoiseReader {
    fn new(seed: u64, left: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, left, word: [0; 8], used: 8 }
    }
}

impl Read for NoiseReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = usize::try_from(self.left).map_or(out.len(), |left| left.min(out.len()));
        for byte in &mut out[..count] {
            if self.used == 8 {
                self.state ^= self.state << 13;
                self.state ^= self.state >> 7;
                self.state ^= self.state << 17;
                (self.word, self.used) = (self.state.to_le_bytes(), 0);
            }
            *byte = self.word[self.used];
            self.used += 1;
        }
        self.left -= count as u64;
        Ok(count)
    }
}
