//! More than there should be: of bytes, of members, of layers.

use std::io::{self, Cursor, Read};
use std::path::Path;
use std::process::Command;

use reenact_pack::{Limits, TarGzWriter, TarStyle, ZipMethod, ZipWriter};
use reenact_verify::rer::bundle::CHECKS;

use crate::archives_forge::{END, entry, gzip, header};
use crate::bundle_maker::{TestDir, bundle, failed, tar, tar_gz};
use crate::{assert_bounded, judge, refused};

/// A tar.gz of a bundle with members of zeros before the rest.
fn tar_gz_of_zeros(sizes: &[(&str, u64)]) -> Vec<u8> {
    let limits = Limits { member_bytes: 1 << 40, ..Limits::default() };
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

    let mut writer = ZipWriter::new(Cursor::new(Vec::new()), Limits::default());
    for number in 0..3 {
        let (size, method) = (40 << 20, ZipMethod::Deflated);
        writer.add(&format!("{number}.bin"), size, method, io::repeat(0).take(size)).unwrap();
    }
    let bomb = writer.finish().unwrap().into_inner();
    refused("zip", &bomb, false, "the expansion ratio is over the limit of 200 (member \"0.bin\")");

    // A zip in a zip is a blob: nobody opens it.
    let mut files = bundle();
    files.insert("blobs/42.zip".into(), bomb);
    let report = judge(&tar(&files));
    assert!(report.pass());
    assert!(report.notes[1].starts_with("blobs/42.zip is not listed"), "{:?}", report.notes);
}

#[test]
fn gzip_in_gzip_is_no_tar() {
    let once = tar_gz(&bundle());
    let twice = gzip(&once);
    let report = judge(&twice);
    assert_eq!(failed(&report), ["recognised"]);
    assert!(
        report.reasons[0].contains("the checksum of a tar header does not match"),
        "{}",
        report.reasons[0]
    );
    assert_bounded(&report, "gzip in gzip");
    // So short that nothing of it was shown before its end.
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
    assert!(judge(&full).pass());
    drop(full);
    archive.extend_from_slice(&header(b'0', b"one more", 0));
    let report = judge(&archive);
    assert_eq!(failed(&report), CHECKS.map(|(name, _)| name));
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

/// The exit code of `reenact-verify`, in so many kilobytes of address space: memory that is not there cannot be used.
/// `None` if it ended without one.
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

/// Bytes that deflate packs by about 70: zeros with a little noise.
struct Dense {
    left: u64,
    state: u64,
}

impl Read for Dense {
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
        writer.add(name, size, Dense { left: size, state: 0x2545_f491_4f6c_dd1d }).unwrap();
    };
    let begin = || {
        let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, Limits::default()).unwrap();
        let files = bundle();
        files
            .iter()
            .for_each(|(name, bytes)| writer.add(name, bytes.len() as u64, bytes.as_slice()).unwrap());
        writer
    };
    // One blob that stays below the ratio: read to its end, and the bundle holds.
    let mut writer = begin();
    dense(&mut writer, "blobs/dense", SIZE);
    let archive = writer.finish().unwrap();
    assert!(archive.len() < 8 << 20, "{} bytes are no bomb", archive.len());
    let blob = folder.write("blob.tar.gz", &archive);
    // Documents are kept; those of six folders are not.
    let mut writer = begin();
    (0..6).for_each(|number| dense(&mut writer, &format!("{number}/artifact.json"), 16 << 20));
    let documents = folder.write("documents.tar.gz", writer.finish().unwrap());
    // The same, with nothing around that tells the first folder from one around everything.
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, Limits::default()).unwrap();
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
    // That the limit bites: an artifact is kept whole.
    let large = folder.write("large.json", vec![b' '; 100 << 20]);
    assert_ne!(in_memory(KILOBYTES, &large), Some(1));
}
