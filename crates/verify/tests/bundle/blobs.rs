//! Blobs are found by their hash, whatever their files are called; a name that is a hash must be their own.

use reenact_json::Digest;
use reenact_verify::Keys;
use reenact_verify::rer::bundle::{BLOB_INTEGRITY, BLOB_METADATA};
use serde_json::json;

use crate::bundle_fixture::{BLOBS, Run, TestKey, blob_name, bundle, failed};
use crate::{assert_bounded, notes, report_in_every_form};

#[test]
fn blobs_are_found_by_their_hash() {
    for name in
        ["blobs/x.bin", "x", "a/b/c", "blobs/artifact.json", "x/manifest.json", "key.bin.old", "a/key.jwk"]
    {
        let mut files = bundle();
        let blob = files.remove(&blob_name(BLOBS[0])).unwrap();
        files.insert(name.into(), blob);
        let report = report_in_every_form(&files, &Keys::default(), name);
        assert_eq!((failed(&report), notes(&report)), (vec![], vec![]), "{name}: {:#?}", report.reasons);
    }
}

#[test]
fn files_that_nothing_vouches_for_are_told() {
    let mut files = bundle();
    let strangers = ["README.md", "blobs/extra.bin", "x/artifact.json", "x/key.bin", "blobs/manifest.json"];
    strangers.iter().for_each(|name| drop(files.insert((*name).into(), b"{}".to_vec())));
    let report = report_in_every_form(&files, &Keys::default(), "strangers");
    assert!(report.pass(), "{:#?}", report.reasons);
    let mut expected =
        strangers.map(|name| format!("{name} is not listed in the manifest: nothing vouches for it"));
    expected.sort();
    assert_eq!(notes(&report), expected);
}

#[test]
fn a_changed_blob_is_changed_and_not_unlisted() {
    let mut files = bundle();
    files.insert(blob_name(BLOBS[0]), b"one blub".to_vec());
    let report = report_in_every_form(&files, &Keys::default(), "changed");
    let (name, hash) = (blob_name(BLOBS[0]), Digest::of(b"one blub"));
    assert_eq!(report.reasons, [format!("blob_integrity: blobs[0]: {name} has the hash {hash}")]);
    assert_eq!(notes(&report), [""; 0]);
}

/// Readers that open a blob by its name must not get another one, even if the true one is there under another name.
#[test]
fn a_file_named_by_a_hash_has_that_hash() {
    let told = |name: &str, bytes: &[u8]| {
        let hash = Digest::of(bytes);
        format!("blob_integrity: {name} is not the blob that its name says: it has the hash {hash}")
    };
    let mut files = bundle();
    files.insert(blob_name(BLOBS[0]), b"one blub".to_vec());
    files.insert("blobs/hidden.bin".into(), BLOBS[0].to_vec());
    let report = report_in_every_form(&files, &Keys::default(), "beside");
    assert_eq!(report.reasons, [told(&blob_name(BLOBS[0]), b"one blub")]);

    let mut files = bundle();
    files.insert(blob_name(BLOBS[0]), BLOBS[1].to_vec());
    files.insert(blob_name(BLOBS[1]), BLOBS[0].to_vec());
    let report = report_in_every_form(&files, &Keys::default(), "swapped");
    let mut expected = [told(&blob_name(BLOBS[0]), BLOBS[1]), told(&blob_name(BLOBS[1]), BLOBS[0])];
    expected.sort();
    assert_eq!((failed(&report), report.reasons), (vec![BLOB_INTEGRITY], expected.to_vec()));

    let other = Digest::of(b"other").to_string();
    for name in [
        format!("blobs/{other}.bin"),
        format!("blobs/{other}"),
        format!("blobs/{}.tar.gz", other.to_uppercase()),
        format!("blobs/a/{other}.bin"),
        format!("{other}.bin"),
    ] {
        let mut files = bundle();
        let blob = files.remove(&blob_name(BLOBS[0])).unwrap();
        files.insert(name.clone(), blob);
        let report = report_in_every_form(&files, &Keys::default(), &name);
        assert_eq!(report.reasons, [told(&name, BLOBS[0])], "{name}");
    }
    // A file that is no blob of this bundle may be called anything outside of the folder of blobs.
    let mut files = bundle();
    files.insert(format!("notes/{other}.txt"), b"text".to_vec());
    assert!(report_in_every_form(&files, &Keys::default(), "no blob").pass());
    files.insert(format!("blobs/{other}.bin"), b"text".to_vec());
    let report = report_in_every_form(&files, &Keys::default(), "an unlisted blob");
    assert_eq!(report.reasons, [told(&format!("blobs/{other}.bin"), b"text")]);
}

#[test]
fn names_of_blobs_are_labels() {
    let labels = ["../../etc/passwd", "/etc/passwd", "C:\\x", "", "\u{1b}[2J\u{202e}", "blobs/"];
    for label in labels {
        let files = Run::default().bundle(&TestKey::of(1), |m| m["blobs"][0]["name"] = json!(label));
        let report = report_in_every_form(&files, &Keys::default(), label);
        assert_eq!((failed(&report), notes(&report)), (vec![], vec![]), "{label}");
    }
    for label in [json!(null), json!(7), json!(["x"])] {
        let files = Run::default().bundle(&TestKey::of(1), |m| m["blobs"][0]["name"] = label.clone());
        assert!(report_in_every_form(&files, &Keys::default(), "label").pass(), "{label}");
    }
}

#[test]
fn hashes_that_are_paths_are_no_hashes() {
    for hash in ["../../artifact.json", "../../../../etc/passwd", "", "\u{1b}[2J"] {
        let files = Run::default().bundle(&TestKey::of(1), |m| {
            let entry = json!({"name": "x", "hash": hash, "size_bytes": 1});
            m["blobs"].as_array_mut().unwrap().push(entry);
        });
        let report = report_in_every_form(&files, &Keys::default(), hash);
        assert_eq!(failed(&report), [BLOB_INTEGRITY, BLOB_METADATA], "{hash}");
        assert_bounded(&report);
    }
}

#[test]
fn one_blob_listed_twice_must_have_one_size() {
    let twice = |size: usize| {
        Run::default().bundle(&TestKey::of(1), |m| {
            let mut again = m["blobs"][0].clone();
            again["size_bytes"] = json!(size);
            m["blobs"].as_array_mut().unwrap().push(again);
        })
    };
    let report = report_in_every_form(&twice(BLOBS[0].len()), &Keys::default(), "the same size");
    assert_eq!(failed(&report), [""; 0]);
    let report = report_in_every_form(&twice(1), &Keys::default(), "another size");
    assert_eq!(report.reasons, ["blob_metadata: blobs[2]: size_bytes is 1, the blob has 8 bytes"]);
}
