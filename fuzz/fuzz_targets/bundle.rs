//! A published bundle, edited member by member and packed again.
//!
//! The private key is not here. So whatever passes is one of the published bundles: the same
//! artifact, the same manifest, every listed blob.
#![no_main]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use reenact_json::shown::is_unsafe;
use reenact_json::{Digest, Jcs, Limits, Value, canonical};
use reenact_pack::{
    ArchiveLimits, Container, PackError, TarGzWriter, TarStyle, TarWriter, ZipMethod, ZipWriter,
};
use reenact_verify::{
    BundleMembers, FormatId, Keys, Options, Report, TargetOutcome, render, verify, verify_members,
};

type Files = Vec<(String, Vec<u8>)>;

static BUNDLES: LazyLock<Vec<Files>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/rer/bundles_valid");
    let mut found: Vec<_> =
        std::fs::read_dir(folder).expect("the vectors").flatten().map(|e| e.path()).collect();
    found.sort();
    found.iter().map(|bundle| files(bundle, "")).collect()
});

/// Canonical forms of artifact and manifest, which bind a bundle.
static BOUND: LazyLock<Vec<[Vec<u8>; 2]>> = LazyLock::new(|| {
    let meaning = |files: &Files, name: &str| {
        let (_, bytes) = files.iter().find(|(found, _)| found == name).expect("a bundle has both");
        canonical_bytes(bytes)
    };
    BUNDLES.iter().map(|files| [meaning(files, "artifact.json"), meaning(files, "manifest.json")]).collect()
});

fn files(folder: &Path, prefix: &str) -> Files {
    let mut found: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path()).collect();
    found.sort();
    let each = found.iter().flat_map(|path| {
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        match path.is_dir() {
            true => files(path, &format!("{name}/")),
            false => vec![(name, std::fs::read(path).expect("a file"))],
        }
    });
    each.collect()
}

fn canonical_bytes(bytes: &[u8]) -> Vec<u8> {
    let value = Value::parse(bytes, &Limits::default()).expect("what passes is JSON");
    canonical::to_vec(value, Jcs).expect("what passes has a canonical form")
}

fuzz_target!(|input: &[u8]| {
    let [container, choice, wrap, edits @ ..] = input else { return };
    let mut files = BUNDLES[usize::from(*choice) % BUNDLES.len()].clone();
    for edit in edits.chunks_exact(5).take(8) {
        apply(
            &mut files,
            edit[0],
            usize::from(edit[1]),
            usize::from(u16::from_le_bytes([edit[2], edit[3]])),
            edit[4],
        );
    }
    if wrap % 8 == 1 {
        files.iter_mut().for_each(|(name, _)| *name = format!("around/{name}"));
    }
    // An empty tar is all zeros, and not recognised as an archive.
    if files.is_empty() {
        return;
    }
    let Ok(mut archive) = pack(&files, container % 4) else { return };
    let sound = check_bundle(&archive);
    // The same members in another container give the same report. Signatures are slow, so this is
    // done for some inputs only.
    if wrap / 8 % 8 == 0
        && let Ok(other) = pack(&files, container.wrapping_add(1) % 4)
    {
        let other = check_bundle(&other);
        // Without its artifact a bundle may be recognised as a Replay Bundle, which allows one
        // container only.
        let is_replay_bundle = |report: &Report| report.format_id() == Some(FormatId::ReplayBundle);
        if !is_replay_bundle(&sound) && !is_replay_bundle(&other) {
            assert_eq!(other, sound, "another container, another report");
        }
    }
    // Damage to the container itself.
    let mut damage = edits.chunks_exact(5).skip(8).take(4).peekable();
    if damage.peek().is_some() {
        for edit in damage {
            let at = usize::from(u16::from_le_bytes([edit[1], edit[2]])) % archive.len();
            archive[at] ^= edit[3];
        }
        check_bundle(&archive);
    }
});

fn check_bundle(archive: &[u8]) -> Report {
    let (keys, options) = (Keys::default(), Options::default());
    let report = verify(archive, &keys, &options);
    well_formed(&report);
    if report.pass() {
        let container = Container::detect(archive).expect("what passes is an archive");
        let members =
            BundleMembers::unpack(container, Cursor::new(archive)).ok().expect("what passes was read");
        assert_eq!(verify_members(&members, &keys, &options), report);
        check_passed(&members);
        assert!(report.summary.contains("signer unknown"), "{}", report.summary);
    }
    report
}

fn check_passed(members: &BundleMembers) {
    let found = ["artifact.json", "manifest.json"]
        .map(|name| canonical_bytes(members.document(name).expect("a document")));
    let which = BOUND.iter().position(|bound| *bound == found).expect("this was never signed");
    let there: BTreeMap<Digest, u64> = members.files().map(|(_, facts)| (facts.digest, facts.size)).collect();
    let manifest = Value::parse(&found[1], &Limits::default()).expect("it was read before");
    let blobs = manifest.member("blobs").expect("a manifest lists blobs");
    for blob in blobs.elements() {
        let hash =
            blob.member("hash").and_then(|hash| hash.string()).and_then(|hash| Digest::from_hex(&hash));
        let size = blob.member("size_bytes").and_then(|size| size.unsigned_integer());
        assert_eq!(hash.and_then(|hash| there.get(&hash).copied()), size, "a listed blob is not there");
    }
    let key = |name: &str| {
        BUNDLES[which].iter().find(|(found, _)| found == name).map(|(_, bytes)| bytes.as_slice())
    };
    if let (Some(own), Some(published)) = (members.document("key.bin"), key("key.bin")) {
        assert_eq!(own, published, "another key");
    }
}

fn well_formed(report: &Report) {
    let outcome = TargetOutcome::Report(report.clone());
    let text = outcome.to_json("x")
        + &render::outcome_text("x", &outcome, &reenact_verify::Demands::default(), &render::plain);
    assert!(text.len() < 128 * 1024, "a report of {} bytes", text.len());
    assert!(!text.lines().flat_map(str::chars).any(is_unsafe), "{text}");
    assert_eq!(report.pass(), report.reasons.is_empty());
    for check in report.failed() {
        assert!(report.reasons.iter().any(|reason| reason.starts_with(&format!("{check}: "))), "{check}");
    }
    assert_eq!(outcome.exit_code(), u8::from(!report.pass()));
}

fn pack(files: &Files, container: u8) -> Result<Vec<u8>, PackError> {
    let limits = ArchiveLimits::default();
    match container {
        0 => {
            let mut writer = TarWriter::new(Vec::new(), TarStyle::Ustar, limits);
            for (name, bytes) in files {
                writer.add(name, bytes.len() as u64, bytes.as_slice())?;
            }
            writer.finish()
        }
        1 => {
            let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, limits)?;
            for (name, bytes) in files {
                writer.add(name, bytes.len() as u64, bytes.as_slice())?;
            }
            writer.finish()
        }
        _ => {
            let method = if container == 2 { ZipMethod::Stored } else { ZipMethod::Deflated };
            let mut writer = ZipWriter::new(Cursor::new(Vec::new()), limits);
            for (name, bytes) in files {
                writer.add(name, bytes.len() as u64, method, bytes.as_slice())?;
            }
            Ok(writer.finish()?.into_inner())
        }
    }
}

const NAMES: [&str; 14] = [
    "artifact.json",
    "manifest.json",
    "key.bin",
    "key.jwk",
    "blobs/x.bin",
    "blobs/artifact.json",
    "x/manifest.json",
    "x/y/key.bin",
    "Artifact.json",
    "blobs",
    "x\u{202e}",
    "around/artifact.json",
    "blobs/0000000000000000000000000000000000000000000000000000000000000000.bin",
    "README",
];

fn apply(files: &mut Files, action: u8, which: usize, place: usize, detail: u8) {
    if files.is_empty() {
        return;
    }
    let count = files.len();
    let (this, other) = (which % count, usize::from(detail) % count);
    let name = NAMES[usize::from(detail) % NAMES.len()].to_owned();
    let content = &mut files[this].1;
    match action % 12 {
        0..=2 if !content.is_empty() => {
            let at = place % content.len();
            content[at] ^= 1 << (detail % 8);
        }
        3 if !content.is_empty() => {
            let at = place % content.len();
            content[at] = detail;
        }
        4 => content.truncate(place % (content.len() + 1)),
        // White space changes nothing in documents, and everything elsewhere.
        5 => content.insert(place % (content.len() + 1), b" \n0\"{"[usize::from(detail) % 5]),
        6 => drop(files.remove(this)),
        7 => {
            let copy = files[this].1.clone();
            files.insert(place % (count + 1), (name, copy));
        }
        8 => files[this].0 = name,
        9 => {
            let swapped = std::mem::take(&mut files[other].1);
            files[other].1 = std::mem::replace(&mut files[this].1, swapped);
        }
        10 => {
            let stranger = &BUNDLES[place % BUNDLES.len()];
            let (name, bytes) = stranger[usize::from(detail) % stranger.len()].clone();
            match files.iter_mut().find(|(found, _)| *found == name) {
                Some(found) => found.1 = bytes,
                None => files.push((name, bytes)),
            }
        }
        _ => files.swap(this, other),
    }
}
