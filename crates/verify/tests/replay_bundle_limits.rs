//! Replay Bundles at their limits and beyond. Large content is generated while it is read.

#![allow(clippy::unwrap_used, reason = "a test that cannot read stops")]

mod replay_bundle_fixture;

use std::io::{self, Cursor, Read};

use reenact_verify::replay_bundle::{self, BundleSnapshot, CONTENTS, DIGESTS, FILES, MANIFEST, PATHS};
use reenact_verify::{Keys, Options, Report, verify};
use replay_bundle_fixture::BundleDraft;
use replay_bundle_fixture::archive_builder::{END, entry, gzip, header};
use serde_json::json;

/// Returns the reasons without those of checks that had nothing to check.
fn reasons(report: &Report) -> Vec<&str> {
    let told = report.reasons.iter().filter(|reason| !reason.contains(": nothing to check"));
    told.map(String::as_str).collect()
}

/// Returns the report on a bundle with this manifest.
fn report_of(manifest: &[u8]) -> Report {
    let archive = gzip(&[&entry(b'0', b"manifest.json", manifest)[..], &END].concat());
    verify(&archive, &Keys::default(), &Options::default())
}

/// Returns a gzip stream of stored blocks: a tar header, then zeros without end.
fn stored(header: &[u8]) -> impl Read {
    let block = |bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).unwrap();
        [&[0], &length.to_le_bytes()[..], &(!length).to_le_bytes(), bytes].concat()
    };
    let start = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], &block(header)[..]].concat();
    Cursor::new(start).chain(Repeated { block: block(&[0; 0xffff]), at: 0 })
}

struct Repeated {
    block: Vec<u8>,
    at: usize,
}

impl Read for Repeated {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = Read::read(&mut &self.block[self.at..], out)?;
        self.at = (self.at + count) % self.block.len();
        Ok(count)
    }
}

#[test]
fn an_archive_without_end() {
    let snapshot = BundleSnapshot::read(stored(&header(b'0', b"files/endless", 400 << 20))).unwrap();
    assert_eq!(
        reasons(&replay_bundle::verify(&snapshot)),
        [
            "archive: E_REPLAY_LIMIT_EXCEEDED: the archive's own size in bytes is over the limit of 104857600 (member \"files/endless\")"
        ]
    );
}

/// The limits are those of the reference tool. The tests of `pack` show with smaller archives what
/// happens beyond a gigabyte.
#[test]
fn the_limits() {
    let limits = reenact_formats::replay_bundle::archive_limits();
    assert_eq!(
        (limits.source_bytes, limits.total_bytes, limits.member_bytes, limits.members, limits.name_bytes),
        (104_857_600, 1_073_741_824, 524_288_000, 100_000, 256)
    );
    let manifest = reenact_formats::replay_bundle::manifest_limits();
    assert_eq!((manifest.max_bytes, manifest.max_depth), (10_485_760, 64));
    // Logs of repeated lines shrink a thousandfold, so the compression ratio has no limit.
    assert!(limits.expansion.is_none());
}

/// A line may be as long as a member.
#[test]
fn one_line_without_end_in_a_folder() {
    let mut snapshot = BundleSnapshot::default();
    assert!(!snapshot.add_file("files/line.jsonl", &mut io::repeat(b'x')).unwrap());
    assert_eq!(
        reasons(&replay_bundle::verify(&snapshot)),
        [
            "archive: E_REPLAY_LIMIT_EXCEEDED: the size of a member in bytes is over the limit of 524288000 (member \"files/line.jsonl\")"
        ]
    );
    let mut snapshot = BundleSnapshot::default();
    assert!(!snapshot.add_file("manifest.json", &mut io::repeat(b' ')).unwrap());
    assert_eq!(
        reasons(&replay_bundle::verify(&snapshot)),
        [
            "archive: E_REPLAY_LIMIT_EXCEEDED: the size of a member in bytes is over the limit of 10485760 (member \"manifest.json\")"
        ]
    );
    let name = format!("files/{}", "n".repeat(251));
    let mut snapshot = BundleSnapshot::default();
    assert!(!snapshot.add_file(&name, &mut &b""[..]).unwrap());
    let expected = format!(
        "archive: E_REPLAY_LIMIT_EXCEEDED: the length of a name in bytes is over the limit of 256 (member \"{}\")",
        &name[..200]
    );
    assert_eq!(reasons(&replay_bundle::verify(&snapshot)), [expected]);
    let mut snapshot = BundleSnapshot::default();
    assert!(snapshot.add_file(&name[..256], &mut &b""[..]).unwrap());
}

#[test]
fn numbers_that_are_none() {
    let digits = "9".repeat(5_000);
    for (version, is_json) in
        [("NaN", false), ("Infinity", false), ("01", false), ("1e999", true), ("-1", true), (&digits, true)]
    {
        let report =
            report_of(format!("{{\"schema_version\":{version},\"assay_version\":\"x\"}}").as_bytes());
        assert!(!report.pass());
        assert_eq!(report.format, "replay-bundle/?", "{version}");
        let first = reasons(&report)[0];
        let start = if is_json { "manifest: schema_version is " } else { "manifest: manifest.json: " };
        assert!(first.starts_with(start) && first.len() < 300, "{first}");
    }
    for size in ["1e2", "-3", "16.0", "18446744073709551616", &digits] {
        let mut draft = BundleDraft::sound();
        draft.manifest["files"]["files/eval.yaml"]["size"] = json!("SIZE");
        let text = draft.manifest.to_string().replace("\"SIZE\"", size);
        let mut archive = entry(b'0', b"manifest.json", text.as_bytes());
        for (name, content) in &draft.files {
            archive.extend_from_slice(&entry(b'0', name.as_bytes(), content));
        }
        let report = verify(&gzip(&[&archive[..], &END].concat()), &Keys::default(), &Options::default());
        let told = reasons(&report);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("files: files/eval.yaml: size is "), "{told:?}");
        assert!(told[0].ends_with(", not a whole number") && told[0].len() < 300, "{told:?}");
    }
}

#[test]
fn texts_that_are_none() {
    let sound = BundleDraft::sound().manifest.to_string();
    let utf16: Vec<u8> = sound.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let torn = &sound.as_bytes()[..sound.len() - 1];
    let marked = ["\u{feff}", &sound].concat();
    let twice = sound.replace("{\"assay_version\"", "{\"schema_versi\\u006fn\":1,\"assay_version\"");
    assert_ne!(twice, sound);
    for text in [
        &b""[..],
        b"null",
        b"[1]",
        torn,
        &utf16,
        marked.as_bytes(),
        twice.as_bytes(),
        b"{\"a\":\"\xff\"}",
        b"{\"a\":\"\\ud800\"}",
    ] {
        let report = report_of(text);
        let told = reasons(&report);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("manifest: manifest.json"), "{told:?}");
        assert_eq!(
            report.failed().collect::<Vec<_>>(),
            [MANIFEST, PATHS, FILES, DIGESTS, CONTENTS],
            "{told:?}"
        );
    }
}
