//! Bundles with very many faults: reports stay short, and limits are kept.

use reenact_json::Digest;
use reenact_verify::rer::bundle::{BLOB_COMPLETENESS, BLOB_INTEGRITY, BLOB_METADATA, CHECKS};
use reenact_verify::{BundleMembers, Keys, Options, verify_members};
use serde_json::json;

use crate::bundle_fixture::{Run, TestDir, TestKey, archives, bundle, failed, lay_out, report_of_path, tar};
use crate::{ALL_BUT_ARTIFACT, assert_bounded, notes, report_of};

#[test]
fn a_hundred_thousand_blobs_that_are_not_there() {
    let files = Run::default().bundle(&TestKey::of(1), |m| {
        let entry = |number: u32| json!({"name": "x", "hash": Digest::of(&number.to_le_bytes()).to_string(), "size_bytes": 4});
        m["blobs"].as_array_mut().unwrap().extend((0..100_000).map(entry));
    });
    let report = report_of(&tar(&files), &Keys::default());
    assert_eq!(failed(&report), [BLOB_INTEGRITY, BLOB_METADATA]);
    let more = report.reasons.iter().filter(|reason| reason.ends_with("and 99980 more of this kind"));
    assert_eq!(more.count(), 2);
    assert_bounded(&report);
}

/// Even the largest number of unlisted blobs gives few reasons.
#[test]
fn many_written_blobs_that_are_not_listed() {
    let blobs = (0_u32..3_000).map(|number| number.to_le_bytes().to_vec()).collect();
    let run = Run { blobs, ..Run::default() };
    let mut files = run.bundle(&TestKey::of(1), |m| m["blobs"] = json!([]));
    files.retain(|name, _| !name.starts_with("blobs/"));
    let report = report_of(&tar(&files), &Keys::default());
    assert_eq!(failed(&report), [BLOB_COMPLETENESS]);
    assert_eq!(report.reasons.len(), 21, "{:#?}", report.reasons);
    assert_eq!(report.reasons[20], "blob_completeness: and 2980 more of this kind");
    assert_bounded(&report);
}

#[test]
fn many_files_that_nothing_vouches_for() {
    let mut files = bundle();
    (0..5_000).for_each(|number| drop(files.insert(format!("x/{number}\u{202e}"), Vec::new())));
    let report = report_of(&tar(&files), &Keys::default());
    assert!(report.pass());
    assert_eq!(notes(&report).len(), 21);
    assert_bounded(&report);
}

#[test]
fn a_manifest_of_two_hundred_megabytes_of_junk() {
    let files = bundle();
    let mut members = BundleMembers::default();
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "manifest.json") {
        members.add(name, &mut bytes.as_slice()).unwrap();
    }
    // Reading a string to its end is slow without optimisation, so that case is smaller.
    for (junk, size, reason) in
        [("\u{7}", 200 << 20, "byte 0x07"), ("\"", 10 << 20, "a closing quote was due")]
    {
        let mut manifest = vec![b'x'; size];
        manifest[..junk.len()].copy_from_slice(junk.as_bytes());
        members.add("manifest.json", &mut manifest.as_slice()).unwrap();
        drop(manifest);
        let report = verify_members(&members, &Keys::default(), &Options::default());
        assert_eq!(failed(&report), ALL_BUT_ARTIFACT);
        assert!(report.reasons[0].contains(reason), "{}", report.reasons[0]);
        assert_bounded(&report);
    }
}

#[test]
fn documents_that_are_too_large_are_refused_in_every_form() {
    for (name, size) in [("key.bin", 1025), ("key.jwk", (1 << 20) + 1)] {
        let mut files = bundle();
        files.insert(name.into(), vec![b' '; size]);
        let folder = TestDir::new();
        let report = report_of_path(&lay_out(&folder, "b", &files), &Keys::default());
        assert_eq!(failed(&report), CHECKS, "{name}");
        let limit = size - 1;
        assert_eq!(
            report.reasons[0],
            format!("artifact: the folder cannot be read: {name} is larger than {limit} bytes")
        );
        for (form, archive) in archives(&files) {
            let report = report_of(&archive, &Keys::default());
            assert_eq!(failed(&report), CHECKS, "{name}: {form}");
            let fault =
                format!("the size of a member in bytes is over the limit of {limit} (member \"{name}\")");
            assert_eq!(report.reasons[0], format!("artifact: the archive cannot be read: {fault}"));
        }
    }
}
