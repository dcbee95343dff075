//! Records on the disk, and the way to RER and back.

use std::path::{Path, PathBuf};

use reenact_formats::replay_bundle::archive;
use reenact_formats::rpk;
use reenact_json::{Limits, Profile, Value, canonical};
use reenact_run::convert::source::unpack;
use reenact_run::convert::{File, Origin, Restored, Source, import, restore};
use reenact_verify::{Options, safe};

use super::support::{KeyRing as _, sealing};
use reenact_testkit::fixture::TestKey;

pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Other people's files, where they are: `../shared/peers`, or what `REENACT_PEERS` names.
pub(crate) fn peers() -> Option<PathBuf> {
    let peers = std::env::var_os("REENACT_PEERS").map_or(folder("../shared/peers"), PathBuf::from);
    peers.is_dir().then_some(peers)
}

/// Every file in a folder and below it, in the order of names.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else {
            found.push(entry);
        }
    }
    found
}

/// Seals an import, with salts that are told apart and a key of tests.
pub(crate) fn sealed(source: &Source<'_>) -> Result<Vec<u8>, reenact_run::convert::ConvertError> {
    sealing(&TestKey::of(7), |sealing| import(source, sealing))
}

/// Imports, verifies, and gives back.
pub(crate) fn there_and_back(source: &Source<'_>) -> Restored {
    let artifact = sealed(source).unwrap();
    let report = safe(&artifact, &TestKey::of(7).keys(), &Options::default());
    assert!(report.pass(), "{:?}", report.reasons);
    assert_eq!(report.notes, Vec::<String>::new());
    restore(&artifact, &Limits::default()).unwrap().unwrap()
}

/// The canonical bytes of a record's main file, computed in one piece.
pub(crate) fn canonical_main(origin: Origin, main: &[u8]) -> Vec<u8> {
    let whole = |profile| {
        let value = Value::parse(main, &Limits::default()).unwrap();
        canonical::to_vec(value, profile).unwrap()
    };
    match origin {
        Origin::Rpk => {
            let mut out = Vec::new();
            rpk::write::indent(&whole(Profile::Rpk), &mut out);
            out
        }
        Origin::ModelIo | Origin::RecordingSession => whole(Profile::ModelIo),
        Origin::SessionTimeline => whole(Profile::ReplayJsonl),
        Origin::ReplayJsonl | Origin::TypedReplay => {
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
        Origin::ReplayBundle => main.to_vec(),
    }
}

/// Checks that a record comes back, and that its canonical form does so byte for byte.
pub(crate) fn check(origin: Origin, main: &[u8], beside: &[File]) {
    let source = Source { beside, ..Source::of(origin, main) };
    let restored = there_and_back(&source);
    let expected = canonical_main(origin, main);
    assert_eq!(
        String::from_utf8_lossy(&restored.main),
        String::from_utf8_lossy(&expected),
        "{}",
        origin.name()
    );
    assert_eq!(restored.main, expected);
    assert_eq!(restored.beside, beside);
    assert_eq!(restored.origin, origin);
    let kept = there_and_back(&Source { kept: Some(main), ..source });
    assert_eq!(kept.file().unwrap(), main);
}

/// Checks a Replay Bundle: its archive comes back as the reproducible one.
pub(crate) fn check_bundle(bytes: &[u8]) -> bool {
    let Ok((manifest, files)) = unpack(bytes) else { return false };
    let named = |files: &[File]| -> Vec<(String, Vec<u8>)> {
        files.iter().map(|file| (file.name.clone(), file.bytes.clone())).collect()
    };
    let source = Source { beside: &files, ..Source::of(Origin::ReplayBundle, &manifest) };
    let restored = there_and_back(&source);
    assert_eq!(restored.main, manifest);
    assert_eq!(named(&restored.beside), named(&files));
    let expected = archive(&manifest, files.iter().map(|file| (file.name.as_str(), file.bytes.as_slice())));
    if let Ok(expected) = expected {
        let back = restored.file().unwrap();
        assert_eq!(back.as_ref(), expected);
        // What comes back is read as what went in.
        let (again, members) = unpack(&back).unwrap();
        assert_eq!((again, named(&members)), (manifest, named(&files)));
    }
    true
}
