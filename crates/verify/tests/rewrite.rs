//! Artifacts that are rewritten: payloads withheld afterwards, artifacts bound to bundles. They still
//! pass.
#![allow(clippy::unwrap_used)]

mod bundle_fixture;

use bundle_fixture::{BLOBS, Files, KeyRing as _, Run, TestKey, archives, blob_name, failed};
use proptest::collection::vec;
use proptest::prelude::*;
use reenact_formats::rer::RerVersion;
use reenact_formats::rer::rewrite::{BoundBundle, BundleBlob, RewriteError, bind, withhold};
use reenact_formats::rer::seal::Signer as _;
use reenact_json::{Digest, Limits};
use reenact_pack::PackError;
use reenact_verify::rer::bundle::{ARTIFACT_HASH, REDACTED_COUNT};
use reenact_verify::rer::{ENVELOPE_HASH, ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE};
use reenact_verify::{Options, verify};
use serde_json::Value as Json;

fn limits() -> Limits {
    Limits::default()
}

fn blobs() -> Vec<BundleBlob> {
    let blob = |(index, bytes): (usize, &[u8])| BundleBlob {
        name: format!("file {index}"),
        hash: Digest::of(bytes),
        size_bytes: bytes.len() as u64,
    };
    BLOBS.into_iter().enumerate().map(blob).collect()
}

/// Returns the files of a bundle.
fn files(bound: &BoundBundle) -> Files {
    let mut files = Files::from([
        ("artifact.json".to_owned(), bound.artifact.clone()),
        ("manifest.json".to_owned(), bound.manifest.clone()),
        ("key.bin".to_owned(), bound.key.to_vec()),
    ]);
    files.extend(BLOBS.map(|blob| (blob_name(blob), blob.to_vec())));
    files
}

/// Returns the same document in another spelling.
fn respelled(artifact: &[u8]) -> Vec<u8> {
    serde_json::to_vec_pretty(&serde_json::from_slice::<Json>(artifact).unwrap()).unwrap()
}

#[test]
fn a_withheld_payload_leaves_its_hash_and_nothing_else() {
    let key = TestKey::of(1);
    let whole = Run::default().artifact(&key, None);
    let withheld = withhold(&whole, &limits(), |index, _| index == 0).unwrap();
    assert_eq!((withheld.newly_withheld, withheld.already_withheld, withheld.event_count), (vec![0], 1, 5));
    let report = verify(&withheld.artifact, &key.keys(), &Options::default());
    assert_eq!(failed(&report), [""; 0]);
    assert_eq!(
        report.notes,
        [
            "event 0: payload withheld; its content cannot be checked",
            "event 1: payload withheld; its content cannot be checked",
            "whether the producer or someone else withheld it cannot be told from an artifact alone"
        ]
    );
    let (mut before, after): (Json, Json) =
        (serde_json::from_slice(&whole).unwrap(), serde_json::from_slice(&withheld.artifact).unwrap());
    before["events"][0].as_object_mut().unwrap().remove("payload").unwrap();
    before["events"][0]["payload_redacted"] = true.into();
    assert_eq!(before, after);
    // A withheld payload stays withheld and is not counted again.
    let again = withhold(&withheld.artifact, &limits(), |_, _| true).unwrap();
    assert_eq!((again.newly_withheld, again.already_withheld), (vec![2, 3, 4], 2));
}

#[test]
fn binding_gives_the_bundle_that_its_signer_makes() {
    let key = TestKey::of(1);
    let unbound = Run::default().artifact(&key, None);
    let bound = bind(&unbound, &blobs(), &limits(), &key).unwrap();
    assert_eq!((bound.event_count, bound.redacted_count), (5, 1));
    let made = Run::default().bundle(&key, |_| {});
    assert_eq!(made["artifact.json"], bound.artifact);
    let parse = |bytes: &[u8]| serde_json::from_slice::<Json>(bytes).unwrap();
    assert_eq!(parse(&made["manifest.json"]), parse(&bound.manifest));
    for (form, archive) in archives(&files(&bound)) {
        let report = verify(&archive, &key.keys(), &Options::default());
        assert_eq!(failed(&report), [""; 0], "{form}: {:?}", report.reasons);
    }
    // The result does not depend on the spelling or on an earlier binding.
    for other in [respelled(&unbound), bound.artifact.clone(), respelled(&bound.artifact)] {
        assert_eq!(bind(&other, &blobs(), &limits(), &key).unwrap(), bound);
    }
}

#[test]
fn a_withheld_payload_in_a_bundle_needs_the_key() {
    let key = TestKey::of(1);
    let bound = bind(&Run::default().artifact(&key, None), &blobs(), &limits(), &key).unwrap();
    let withheld = withhold(&bound.artifact, &limits(), |index, _| index == 0).unwrap();
    // Without a new binding, the manifest shows the change.
    let torn = BoundBundle { artifact: withheld.artifact.clone(), ..bound };
    let (_, archive) = &archives(&files(&torn))[0];
    let report = verify(archive, &key.keys(), &Options::default());
    assert_eq!(failed(&report), [ARTIFACT_HASH, REDACTED_COUNT]);
    let again = bind(&withheld.artifact, &blobs(), &limits(), &key).unwrap();
    let (_, archive) = &archives(&files(&again))[0];
    assert_eq!(failed(&verify(archive, &key.keys(), &Options::default())), [""; 0]);
}

/// An empty file in the place of a blob would be a bundle that fails at its reader's.
#[test]
fn a_blob_that_is_not_given_is_an_error() {
    let key = TestKey::of(1);
    let bound = bind(&Run::default().artifact(&key, None), &blobs(), &limits(), &key).unwrap();
    let hashes: Vec<String> = blobs().iter().map(|blob| blob.hash.to_string()).collect();
    let text = format!("the blob {} was not given", hashes.iter().min().unwrap());
    let error = PackError::Io { kind: std::io::ErrorKind::NotFound, text };
    assert_eq!(bound.pack(&blobs(), |_| None, Vec::new()), Err(error));
}

#[test]
fn what_cannot_be_bound_is_refused() {
    let (key, other) = (TestKey::of(1), TestKey::of(2));
    let old = Run { version: RerVersion::V01, ..Run::default() }.artifact(&key, None);
    assert_eq!(bind(&old, &[], &limits(), &key), Err(RewriteError::Version));
    let ours = Run::default().artifact(&key, None);
    let (signer, given) = (key.public_key().id().to_string(), other.public_key().id());
    assert_eq!(bind(&ours, &[], &limits(), &other), Err(RewriteError::OtherKey { signer, given }));
    let mut forged: Json = serde_json::from_slice(&ours).unwrap();
    forged["run_id"] = "another".into();
    assert_eq!(bind(forged.to_string().as_bytes(), &[], &limits(), &key), Err(RewriteError::NotSigned));
    forged["runtime_signature"] = "é".repeat(64).into();
    assert_eq!(bind(forged.to_string().as_bytes(), &[], &limits(), &key), Err(RewriteError::NotSigned));
    let mut empty: Json = serde_json::from_slice(&ours).unwrap();
    empty["events"] = Json::Array(Vec::new());
    assert_eq!(bind(empty.to_string().as_bytes(), &[], &limits(), &key), Err(RewriteError::NoEvents));
    empty["events"] = serde_json::json!([7]);
    let refused = withhold(empty.to_string().as_bytes(), &limits(), |_, _| true);
    assert_eq!(refused, Err(RewriteError::NotAnEvent { index: 0 }));
}

#[test]
fn a_forged_artifact_stays_forged() {
    let key = TestKey::of(1);
    let mut forged: Json = serde_json::from_slice(&Run::default().artifact(&key, None)).unwrap();
    forged["envelope"]["limits"]["max_steps"] = 10.into();
    let withheld = withhold(forged.to_string().as_bytes(), &limits(), |_, _| true).unwrap();
    let report = verify(&withheld.artifact, &key.keys(), &Options::default());
    assert_eq!(failed(&report), [ENVELOPE_HASH, ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE]);
}

proptest! {
    /// Any payloads may be withheld: the seven checks pass, and the other payloads are unchanged.
    #[test]
    fn any_choice_verifies(choice in vec(any::<bool>(), 5), spelled in any::<bool>()) {
        let key = TestKey::of(3);
        let mut artifact = Run::default().artifact(&key, None);
        if spelled {
            artifact = respelled(&artifact);
        }
        let withheld = withhold(&artifact, &limits(), |index, _| choice[index]).unwrap();
        let report = verify(&withheld.artifact, &key.keys(), &Options::default());
        prop_assert_eq!(failed(&report), [""; 0]);
        let (before, after): (Json, Json) =
            (serde_json::from_slice(&artifact).unwrap(), serde_json::from_slice(&withheld.artifact).unwrap());
        for (index, is_chosen) in choice.into_iter().enumerate() {
            let is_withheld = is_chosen || index == 1;
            prop_assert_eq!(&after["events"][index]["payload_redacted"], &Json::Bool(is_withheld));
            let payload = after["events"][index].get("payload");
            prop_assert_eq!(payload, before["events"][index].get("payload").filter(|_| !is_withheld));
        }
    }

    /// Rewriting returns a result or an error for any bytes.
    #[test]
    fn no_bytes_lead_astray(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut artifact = Run::default().artifact(&TestKey::of(1), None);
        let at = at.index(artifact.len());
        artifact[at] = to;
        let _ = withhold(&artifact, &limits(), |_, _| true);
        let _ = bind(&artifact, &[], &limits(), &TestKey::of(1));
    }
}
