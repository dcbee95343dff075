//! Archives with a flipped bit, or without their end.

use std::io::Cursor;

use reenact_pack::{Container, ZipMethod};
use reenact_verify::{BundleMembers, TargetOutcome};

use crate::bundle_fixture::{Files, Run, TestKey, tar, tar_gz, zip};
use crate::{assert_bounded, report_of};

/// Returns the members of an archive, if it can be read.
fn members(archive: &[u8]) -> Option<(Files, Vec<(String, reenact_verify::members::FileFacts)>)> {
    let container = Container::detect(archive)?;
    let members = BundleMembers::unpack(container, Cursor::new(archive)).ok()?;
    let documents = ["artifact.json", "manifest.json", "key.bin", "key.jwk"].into_iter();
    let documents = documents.filter_map(|name| Some((name.to_owned(), members.document(name)?.to_vec())));
    Some((documents.collect(), members.files().map(|(name, facts)| (name.to_owned(), facts)).collect()))
}

/// Returns a bundle of few bytes, so that every one of them can be tried.
fn small() -> Files {
    Run { blobs: vec![b"b".to_vec()], ..Default::default() }.bundle(&TestKey::of(1), |_| {})
}

fn small_archives() -> [(&'static str, Vec<u8>, usize); 4] {
    let files = small();
    // Every byte of the compressed archives is tried; a tar is mostly zeros, and text that other tests
    // flip.
    [
        ("tar.gz", tar_gz(&files), 1),
        ("zip", zip(&files, ZipMethod::Deflated), 1),
        ("stored zip", zip(&files, ZipMethod::Stored), 3),
        ("tar", tar(&files), 7),
    ]
}

#[test]
fn whatever_bit_flips_the_members_are_the_same_or_it_does_not_pass() {
    for (form, archive, step) in small_archives() {
        let original = members(&archive).unwrap();
        let mut same = 0;
        for at in (0..archive.len()).step_by(step) {
            let mut flipped = archive.clone();
            flipped[at] ^= 1 << (at % 8);
            let report = report_of(&flipped);
            assert_bounded(&report, form);
            if report.pass() {
                assert_eq!(members(&flipped), Some(original.clone()), "{form}: byte {at}");
                same += 1;
            }
        }
        // Times, system ids and the like. In a tar the padding must be zero, and the checksum covers
        // the rest.
        assert!(same < 200, "{form}: {same} of {} flips went unnoticed", archive.len());
    }
}

#[test]
fn whatever_is_cut_off_it_does_not_pass() {
    for (form, archive, step) in small_archives() {
        for length in (0..archive.len()).step_by(step) {
            let report = report_of(&archive[..length]);
            assert_eq!(TargetOutcome::Report(report.clone()).exit_code(), 1, "{form}: {length} bytes");
            assert_bounded(&report, form);
            if form == "tar.gz" && length > 2 {
                assert!(
                    report.reasons[0].contains("the archive ends inside a gzip"),
                    "{}",
                    report.reasons[0]
                );
            }
        }
    }
}
