//! Records on disk, and assertions that they survive the way to RER and back.

use std::path::{Path, PathBuf};

use reenact_formats::FormatId;
use reenact_formats::Profile;
use reenact_formats::replay_bundle::archive;
use reenact_formats::rpk;
use reenact_json::{Limits, Value, canonical};
use reenact_run::convert::source::unpack_replay_bundle;
use reenact_run::convert::{ImportSource, RecordFile, RestoredRecord, import, restore};
use reenact_verify::{Options, verify};

use super::support::{KeyRing as _, with_import_context};
use reenact_testkit::fixture::TestKey;

pub(crate) fn repository_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Returns the folder with files of other projects, if there is one: `REENACT_PEERS`, or `../shared/peers`.
pub(crate) fn peers() -> Option<PathBuf> {
    let peers = std::env::var_os("REENACT_PEERS").map_or(repository_path("../shared/peers"), PathBuf::from);
    peers.is_dir().then_some(peers)
}

/// Returns every file in a folder and below it, sorted by name.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            found.extend(files_below(&entry));
        } else {
            found.push(entry);
        }
    }
    found
}

/// Imports a record with a test key and salts that count up.
pub(crate) fn import_source(
    source: &ImportSource<'_>,
) -> Result<Vec<u8>, reenact_run::convert::ConvertError> {
    with_import_context(&TestKey::of(7), |context| import(source, context))
}

/// Imports a record, verifies the artifact, and restores the record.
pub(crate) fn round_trip(source: &ImportSource<'_>) -> RestoredRecord {
    let artifact = import_source(source).unwrap();
    let report = verify(&artifact, &TestKey::of(7).keys(), &Options::default());
    assert!(report.pass(), "{:?}", report.reasons);
    assert_eq!(report.notes, Vec::<String>::new());
    restore(&artifact, &Limits::default()).unwrap().unwrap()
}

/// Returns the canonical bytes of a record's main file, computed in one piece.
pub(crate) fn canonical_main(origin: FormatId, main: &[u8]) -> Vec<u8> {
    let whole = |profile| {
        let value = Value::parse(main, &Limits::default()).unwrap();
        canonical::to_vec(value, profile).unwrap()
    };
    match origin {
        FormatId::Rpk => {
            let mut out = Vec::new();
            rpk::write::indent(&whole(Profile::Rpk), &mut out);
            out
        }
        FormatId::ModelIo | FormatId::RecordingSession => whole(Profile::ModelIo),
        FormatId::SessionTimeline => whole(Profile::ReplayJsonl),
        FormatId::ReplayJsonl | FormatId::TypedReplay => {
            let mut out = Vec::new();
            for line in main.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                match Value::parse(line, &Limits::default()) {
                    Ok(value) => out.extend(canonical::to_vec(value, Profile::ReplayJsonl).unwrap()),
                    Err(_) => out.extend_from_slice(line),
                }
                out.push(b'\n');
            }
            out
        }
        _ => main.to_vec(),
    }
}

/// Asserts that a record is restored in canonical form, and byte for byte if its bytes are kept.
pub(crate) fn assert_round_trip(origin: FormatId, main: &[u8], beside: &[RecordFile]) {
    let source = ImportSource { other_files: beside, ..ImportSource::of(origin, main) };
    let restored = round_trip(&source);
    let expected = canonical_main(origin, main);
    assert_eq!(
        String::from_utf8_lossy(&restored.main_file),
        String::from_utf8_lossy(&expected),
        "{}",
        origin.name()
    );
    assert_eq!(restored.main_file, expected);
    assert_eq!(restored.other_files, beside);
    assert_eq!(restored.format, origin);
    let kept = round_trip(&ImportSource { original_bytes: Some(main), ..source });
    assert_eq!(kept.original_file().unwrap(), main);
}

/// Asserts that a Replay Bundle is restored as the reproducible archive. Returns false if the bytes are no
/// bundle.
pub(crate) fn assert_bundle_round_trip(bytes: &[u8]) -> bool {
    let Ok((manifest, files)) = unpack_replay_bundle(bytes) else { return false };
    let named = |files: &[RecordFile]| -> Vec<(String, Vec<u8>)> {
        files.iter().map(|file| (file.name.clone(), file.bytes.clone())).collect()
    };
    let source = ImportSource { other_files: &files, ..ImportSource::of(FormatId::ReplayBundle, &manifest) };
    let restored = round_trip(&source);
    assert_eq!(restored.main_file, manifest);
    assert_eq!(named(&restored.other_files), named(&files));
    let expected = archive(&manifest, files.iter().map(|file| (file.name.as_str(), file.bytes.as_slice())));
    if let Ok(expected) = expected {
        let back = restored.original_file().unwrap();
        assert_eq!(back.as_ref(), expected);
        // The restored archive has the same files.
        let (again, members) = unpack_replay_bundle(&back).unwrap();
        assert_eq!((again, named(&members)), (manifest, named(&files)));
    }
    true
}
