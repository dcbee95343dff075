//! Archives with too much in them: bytes, members, layers of compression.

use std::io::{self, Cursor, Read};
use std::path::Path;
use std::process::Command;

use reenact_pack::{ArchiveLimits, TarGzWriter, TarStyle, ZipMethod, ZipWriter};
use reenact_verify::RECOGNISED;
use reenact_verify::rer::bundle::CHECKS;

use crate::archive_builder::{END, entry, gzip, header};
use crate::bundle_fixture::{TestDir, bundle, failed, tar, tar_gz};
use crate::{assert_bounded, refused, report_of};

/// Returns a tar.gz of a bundle that begins with members of zeros.
fn tar_gz_of_zeros(sizes: &[(&str, u64)]) -> Vec<u8> {
    let limits = ArchiveLimits { member_bytes: 1 << 40, ..ArchiveLimits::default() };
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, limits).unwrap();
    let files = bundle();
    for name in ["artifact.json", "manifest.json"] {
        writer.add(name, files[name].len() as u64, files[name].as_slice()).unwrap();
    }
    for (name, size) in sizes {
        writer.add(name, *size, io::repeat(0).take(*size)).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn bombs_are_refused() {
    let zeros = tar_gz_of_zeros(&[("blobs/zeros", 32 << 20)]);
    assert!(zeros.len() < 200_000);
    refused("tar.gz", &zeros, true, "the expansion ratio is over the limit of 200 (member \"blobs/zeros\")");

    let mut writer = ZipWriter::new(Cursor::new(Vec::new()), ArchiveLimits::default());
    for number in 0..3 {
        let (size, method) = (40 << 20, ZipMethod::Deflated);
        writer.add(&format!("{number}.bin"), size, method, io::repeat(0).take(size)).unwrap();
    }
    let bomb = writer.finish().unwrap().into_inner();
    refused("zip", &bomb, false, "the expansion ratio is over the limit of 200 (member \"0.bin\")");

    // A zip in a zip is a blob and is never opened.
    let mut files = bundle();
    files.insert("blobs/42.zip".into(), bomb);
    let report = report_of(&tar(&files));
    assert!(report.pass());
    assert!(report.notes[1].starts_with("blobs/42.zip is not listed"), "{:?}", report.notes);
}

#[test]
fn gzip_in_gzip_is_no_tar() {
    let once = tar_gz(&bundle());
    let twice = gzip(&once);
    let report = report_of(&twice);
    assert_eq!(failed(&report), [RECOGNISED]);
    assert!(
        report.reasons[0].contains("the checksum of a tar header does not match"),
        "{}",
        report.reasons[0]
    );
    assert_bounded(&report, "gzip in gzip");
    // The archive is so short that no member was read before the error.
    refused("two gzip members", &[&once[..], &once[..]].concat(), false, "there is data after a gzip stream");
    refused("data after gzip", &[&once[..], b"\0"].concat(), false, "there is data after a gzip stream");
}

#[test]
fn members_beyond_a_hundred_thousand_are_refused() {
    let mut archive = tar(&bundle());
    archive.truncate(archive.len() - END.len());
    let own = bundle().len();
    for number in own..100_000 {
        archive.extend_from_slice(&header(b'0', format!("f{number}").as_bytes(), 0));
    }
    let full = [archive.as_slice(), &END].concat();
    assert!(report_of(&full).pass());
    drop(full);
    archive.extend_from_slice(&header(b'0', b"one more", 0));
    let report = report_of(&archive);
    assert_eq!(failed(&report), CHECKS);
    let reason = "artifact: the archive cannot be read: the number of members is over the limit of 100000";
    assert_eq!(report.reasons[0], reason);
}

#[test]
fn an_artifact_larger_than_its_limit_is_refused_before_it_is_read() {
    let size = (1_u64 << 30) + 1;
    let archive = header(b'0', b"artifact.json", size);
    let reason = "the size of a member in bytes is over the limit of 1073741824 (member \"artifact.json\")";
    refused("artifact.json", &archive, true, reason);
    let archive = [&entry(b'0', b"d/x", b"")[..], &header(b'0', b"d/manifest.json", size)].concat();
    let reason = "the size of a member in bytes is over the limit of 268435456 (member \"d/manifest.json\")";
    refused("manifest.json in a folder", &archive, true, reason);
}

/// Runs `reenact-verify` with this many kilobytes of address space; returns its exit code, or `None` if
/// a signal ended it.
#[cfg(target_os = "linux")]
fn in_memory(kilobytes: u32, path: &Path) -> Option<i32> {
    let script = format!("ulimit -v {kilobytes} && exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_reenact-verify")])
        .arg(path)
        .output()
        .unwrap();
    output.status.code()
}

#[cfg(not(target_os = "linux"))]
fn in_memory(_: u32, _: &Path) -> Option<i32> {
    eprintln!("skipped: address space is limited on Linux only");
    None
}

/// Reader of bytes that deflate compresses about 70 times: zeros with a little noise.
struct NoiseReader {
    left: u64,
    state: u64,
}

impl Read for NoiseReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = usize::try_from(self.left.min(out.len() as u64)).unwrap();
        out[..count].fill(0);
        for byte in out[..count].iter_mut().step_by(180) {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            *byte = self.state.to_le_bytes()[0];
        }
        self.left -= count as u64;
        Ok(count)
    }
}

#[test]
fn three_hundred_megabytes_need_no_memory() {
    const KILOBYTES: u32 = 64 << 10;
    const SIZE: u64 = 300 << 20;
    let folder = TestDir::new();
    let dense = |writer: &mut TarGzWriter<Vec<u8>>, name: &str, size: u64| {
        writer.add(name, size, NoiseReader { left: size, state: 0x2545_f491_4f6c_dd1d }).unwrap();
    };
    let begin = || {
        let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default()).unwrap();
        let files = bundle();
        files
            .iter()
            .for_each(|(name, bytes)| writer.add(name, bytes.len() as u64, bytes.as_slice()).unwrap());
        writer
    };
    // One blob that stays below the compression ratio is read to its end, and the bundle passes.
    let mut writer = begin();
    dense(&mut writer, "blobs/dense", SIZE);
    let archive = writer.finish().unwrap();
    assert!(archive.len() < 8 << 20, "{} bytes are no bomb", archive.len());
    let blob = folder.write("blob.tar.gz", &archive);
    // Documents are kept in memory, but not those in six folders.
    let mut writer = begin();
    (0..6).for_each(|number| dense(&mut writer, &format!("{number}/artifact.json"), 16 << 20));
    let documents = folder.write("documents.tar.gz", writer.finish().unwrap());
    // The same without members that tell the first folder from an enclosing one.
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default()).unwrap();
    (0..6).for_each(|number| dense(&mut writer, &format!("{number}/artifact.json"), 16 << 20));
    let folders = folder.write("folders.tar.gz", writer.finish().unwrap());
    let zeros = folder.write("zeros.tar.gz", tar_gz_of_zeros(&[("blobs/zeros", 64 << 20)]));

    if cfg!(not(target_os = "linux")) {
        in_memory(KILOBYTES, &zeros);
        return;
    }
    for (path, code) in [(&zeros, 1), (&blob, 0), (&documents, 0), (&folders, 1)] {
        assert_eq!(in_memory(KILOBYTES, path), Some(code), "{}", path.display());
    }
    // Shows that the memory limit works: an artifact is kept as a whole.
    let large = folder.write("large.json", vec![b' '; 100 << 20]);
    assert_ne!(in_memory(KILOBYTES, &large), Some(1));
}
