//! A Replay Bundle, edited member by member and packed again, or with any bytes as its manifest.
//!
//! An input that begins with a control byte is a script over the published vectors; anything else
//! is a manifest as it is, and what follows its first NUL is the archive's one file.
#![no_main]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use reenact_formats::replay_bundle::{ManifestView, archive_rules, manifest_limits, read_digest};
use reenact_json::shown::is_unsafe;
use reenact_json::{Digest, Value};
use reenact_pack::{ArchiveLimits, PackError, TarGzWriter, TarStyle, read_tar_gz};
use reenact_verify::replay_bundle::{self, BundleSnapshot, CHECKS};
use reenact_verify::{FormatId, Keys, Options, Report, TargetOutcome, render, verify};

type Files = Vec<(String, Vec<u8>)>;

/// Published bundles that can be read and are small.
static BUNDLES: LazyLock<Vec<Files>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/replay_bundle");
    let mut paths: Vec<_> = ["valid", "invalid"]
        .iter()
        .flat_map(|kind| std::fs::read_dir(root.join(kind)).expect("the vectors").flatten())
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let bundles = paths.iter().filter_map(|path| members(&std::fs::read(path).expect("a file")).ok());
    bundles.filter(|files| files.iter().map(|(_, content)| content.len()).sum::<usize>() < 8_192).collect()
});

fn members(archive: &[u8]) -> Result<Files, PackError> {
    let mut files = Files::new();
    read_tar_gz(archive, &archive_rules(), |member| {
        let name = member.name().to_owned();
        files.push((name, member.read_whole(1 << 20)?));
        Ok::<(), PackError>(())
    })?;
    Ok(files)
}

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((0..=8 | 14..=31, script)) => {
            let Some(archive) = pack(&edited_bundle(script)) else { return };
            check_bundle(&archive);
        }
        _ => {
            let (manifest, file) = match input.iter().position(|byte| *byte == 0) {
                Some(end) => (&input[..end], &input[end + 1..]),
                None => (input, &b""[..]),
            };
            let files = vec![
                ("manifest.json".into(), manifest.to_vec()),
                ("files/trace.jsonl".into(), file.to_vec()),
            ];
            check_bundle(&pack(&files).expect("two names"));
            check_bundle(input);
        }
    }
});

/// Edits a published bundle: each four bytes give the action, the member and two arguments.
fn edited_bundle(script: &[u8]) -> Files {
    let Some((&which, edits)) = script.split_first() else { return BUNDLES[0].clone() };
    let mut files = BUNDLES[usize::from(which) % BUNDLES.len()].clone();
    for edit in edits.chunks_exact(4).take(32) {
        let count = files.len();
        if count == 0 {
            break;
        }
        let (at, other, byte) = (usize::from(edit[1]) % count, usize::from(edit[2]), edit[3]);
        match edit[0] % 7 {
            0 => drop(files.remove(at)),
            1 if count < 32 => {
                let (name, content) = files[at].clone();
                files.insert(other % count, (format!("{name}{byte}"), content));
            }
            2 => files.swap(at, other % count),
            3 => files[at].1.truncate(other),
            4 => files[at].0.push(char::from(byte)),
            5 => files[at].1.push(byte),
            _ => {
                let content = &mut files[at].1;
                let place = usize::from(u16::from_le_bytes([edit[2], byte])) % content.len().max(1);
                if let Some(there) = content.get_mut(place) {
                    *there = there.wrapping_add(byte | 1);
                }
            }
        }
    }
    files
}

/// Packs an archive; `None` if a name cannot stand in an archive of ours.
fn pack(files: &Files) -> Option<Vec<u8>> {
    let mut writer =
        TarGzWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default()).expect("a vector takes all");
    for (name, content) in files {
        writer.add(name, content.len() as u64, content.as_slice()).ok()?;
    }
    Some(writer.finish().expect("a vector takes all"))
}

fn check_bundle(archive: &[u8]) {
    let snapshot = BundleSnapshot::read(archive).expect("a slice does not fail");
    let report = replay_bundle::verify(&snapshot);
    assert!(report.checks.iter().map(|check| check.id).eq(CHECKS), "{:?}", report.checks);
    well_formed(&report);
    let detected = verify(archive, &Keys::default(), &Options::default());
    well_formed(&detected);
    if detected.format_id() == Some(FormatId::ReplayBundle) && snapshot.manifest().is_some() {
        assert_eq!(detected, report, "the same bytes, told apart by content");
    }
    if report.pass() {
        check_manifest(&members(archive).expect("what passes can be read"));
    }
}

/// Checks by other means that a bundle which passed is what its manifest says.
fn check_manifest(files: &Files) {
    let files: BTreeMap<&str, &[u8]> =
        files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
    let manifest = Value::parse(files["manifest.json"], &manifest_limits()).expect("what passes is JSON");
    let view = ManifestView::of(manifest);
    assert_eq!(view.schema_version.expect("a version").text(), b"1");
    let Some(list) = view.files else { return };
    let mut count = 1;
    for (name, entry) in list.members() {
        let content = files[name.string().expect("a name").as_ref()];
        let digest = entry.member("sha256").and_then(|digest| digest.string()).expect("a digest");
        assert_eq!(read_digest(&digest), Some(Digest::of(content)));
        assert_eq!(entry.member("size").and_then(|size| size.unsigned_integer()), Some(content.len() as u64));
        count += 1;
    }
    assert_eq!(count, files.len(), "every file is listed");
}

fn well_formed(report: &Report) {
    for check in report.failed() {
        let prefix = format!("{check}: ");
        assert!(report.reasons.iter().any(|reason| reason.starts_with(&prefix)), "{check} without a reason");
    }
    assert!(report.reasons.len() < 200 && report.notes.len() < 100);
    let outcome = TargetOutcome::Report(report.clone());
    let text = render::outcome_text("x", &outcome, &reenact_verify::Demands::default(), &render::plain);
    assert!(!text.chars().any(|found| found != '\n' && is_unsafe(found)), "{text:?}");
    assert!(!outcome.to_json("x").chars().any(is_unsafe));
}
