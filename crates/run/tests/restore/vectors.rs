//! Every test vector that verifies, every example, and files that other projects wrote.

use std::fs;

use reenact_formats::FormatId;
use reenact_formats::model_io::pack;
use reenact_formats::replay_jsonl::RECEIPT;
use reenact_run::convert::RecordFile;
use reenact_verify::{Keys, Options, verify};

use crate::corpus::{assert_bundle_round_trip, assert_round_trip, files_below, peers, repository_path};

fn verifies(bytes: &[u8]) -> bool {
    verify(bytes, &Keys::default(), &Options::default()).pass()
}

#[test]
fn every_session() {
    let mut count = 0;
    for path in files_below(&repository_path("vectors/model_io/files")) {
        let bytes = fs::read(&path).unwrap();
        if verifies(&bytes) {
            assert_round_trip(FormatId::ModelIo, &bytes, &[]);
            count += 1;
        }
    }
    assert!(count >= 16, "{count}");
    let example = repository_path("examples/runs/invoice.pack");
    let session = fs::read(example.join(pack::SESSION_FILE)).unwrap();
    let run =
        RecordFile { name: pack::RUN_FILE.into(), bytes: fs::read(example.join(pack::RUN_FILE)).unwrap() };
    assert_round_trip(FormatId::ModelIo, &session, &[run]);
}

#[test]
fn every_replay() {
    let mut count = 0;
    for path in files_below(&repository_path("vectors/replay_jsonl/valid")) {
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let receipt = path.with_file_name(RECEIPT);
            let beside = fs::read(receipt).map(|bytes| RecordFile { name: RECEIPT.into(), bytes });
            assert_round_trip(FormatId::ReplayJsonl, &fs::read(&path).unwrap(), &Vec::from_iter(beside.ok()));
            count += 1;
        }
    }
    assert!(count >= 8, "{count}");
}

/// A replay that does not verify keeps every line, as far as it can be imported at all.
#[test]
fn torn_replays() {
    let mut count = 0;
    for path in files_below(&repository_path("vectors/replay_jsonl/broken")) {
        let bytes = fs::read(&path).unwrap();
        let is_replay = path.extension().is_some_and(|extension| extension == "jsonl");
        // Numbers that the format cannot write have no canonical form.
        if is_replay && !path.to_string_lossy().contains("1e400") && std::str::from_utf8(&bytes).is_ok() {
            let source = reenact_run::convert::ImportSource::of(FormatId::ReplayJsonl, &bytes);
            if crate::corpus::import_source(&source).is_ok() {
                let back = crate::corpus::round_trip(&source);
                assert_eq!(
                    String::from_utf8_lossy(&back.main_file).lines().count(),
                    String::from_utf8_lossy(&bytes).lines().filter(|line| !line.trim().is_empty()).count(),
                    "{}",
                    path.display()
                );
                count += 1;
            }
        }
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn every_bundle() {
    let mut count = 0;
    for path in files_below(&repository_path("vectors/replay_bundle/valid")) {
        count += usize::from(assert_bundle_round_trip(&fs::read(&path).unwrap()));
    }
    assert!(count >= 10, "{count}");
    assert!(assert_bundle_round_trip(&fs::read(repository_path("examples/runs/invoice.tar.gz")).unwrap()));
}

#[test]
fn every_rpk() {
    for name in ["invoice.rpk", "invoice.bundle", "minimal.rpk", "legacy-0.9.rpk"] {
        assert_round_trip(
            FormatId::Rpk,
            &fs::read(repository_path("examples/runs").join(name)).unwrap(),
            &[],
        );
    }
    let rpk = fs::read(repository_path("examples/runs/invoice.rpk")).unwrap();
    // A file that a program of the format wrote is in canonical form.
    assert_eq!(crate::corpus::canonical_main(FormatId::Rpk, &rpk), rpk);
}

#[test]
fn what_other_projects_wrote() {
    let Some(peers) = peers() else {
        println!("skipped: there is no ../shared/peers");
        return;
    };
    let (mut bundles, mut artifacts) = (0, 0);
    for path in files_below(&peers.join("replay_bundles/real")) {
        assert!(assert_bundle_round_trip(&fs::read(&path).unwrap()), "{}", path.display());
        bundles += 1;
    }
    for path in files_below(&peers.join("rpk_artifacts")) {
        let bytes = fs::read(&path).unwrap();
        if verifies(&bytes) {
            assert_round_trip(FormatId::Rpk, &bytes, &[]);
            artifacts += 1;
        }
    }
    assert!(bundles >= 20 && artifacts >= 15, "{bundles} {artifacts}");
}
