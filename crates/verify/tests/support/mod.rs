//! Shared parts of the tests beside this folder: a signer, a small but difficult artifact, the vectors.
#![allow(clippy::unwrap_used, dead_code, reason = "each test file uses a part of this one")]

use std::path::Path;

use reenact_formats::rer::RerVersion;
use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader, Signer};
use reenact_json::{Jcs, Limits, Value, canonical};
use reenact_verify::{CheckId, FormatId, Keys, Options, Report, verify};

use reenact_testkit::fixture::TestKey;

/// Trusts a [`TestKey`].
pub(crate) trait KeyRing {
    /// Returns a key ring with the public half.
    fn keys(&self) -> Keys;
}

impl KeyRing for TestKey {
    fn keys(&self) -> Keys {
        Keys::from_raw(self.public_key().as_bytes())
    }
}

/// Verifies bytes as an RER artifact, whatever they look like.
pub(crate) fn report_of(bytes: &[u8], keys: &Keys) -> Report {
    verify(bytes, keys, &Options { format: Some(FormatId::Rer), ..Options::default() })
}

/// Returns the failed checks.
pub(crate) fn failed(report: &Report) -> Vec<CheckId> {
    report.failed().collect()
}

/// Returns the canonical form of a text, if it has one.
pub(crate) fn canonical(text: &[u8]) -> Option<Vec<u8>> {
    canonical::to_vec(Value::parse(text, &Limits::default()).ok()?, Jcs).ok()
}

/// Returns a published vector or its key, by file name.
pub(crate) fn vector(file: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/rer").join(file)).unwrap()
}

pub(crate) const ENVELOPE: &str = r#"{"envelope_version":"rer-envelope/0.2","permissions":{"allowed_models":["m"],
    "allowed_tools":[]},"limits":{"max_spend_usd":1e-7},"metadata":{"Ω":"\u2028"}}"#;

/// Payloads that are easy to get wrong, each with true if it is withheld.
pub(crate) const PAYLOADS: [(Option<&str>, bool); 4] = [
    (
        Some(
            r#"{"é\n\u0001":"\"\\/\u20ac😀","e":[1e+21,-1.5E-9,5e-324,9007199254740991],
            "":{"a":[[],{}],"\ud83d\ude00":null,"\uffee":[true,false]}}"#,
        ),
        false,
    ),
    (Some(r#""secret""#), true),
    (Some("{}"), false),
    (None, false),
];

/// Returns a sealed artifact of version 0.2, in canonical form, with those payloads.
pub(crate) fn tricky_artifact(key: &TestKey) -> Vec<u8> {
    let mut chain = ArtifactBuilder::new(RerVersion::V02);
    for (step_index, (payload, redacted)) in (7..).step_by(3).zip(PAYLOADS) {
        let event = NewEvent {
            step_index,
            event_type: "a.b",
            timestamp: "2026-05-13T12:34:56.7Z",
            payload: payload.map(str::as_bytes),
            redacted,
        };
        chain.append(&event).unwrap();
    }
    let run = RerRunHeader {
        run_id: "e\u{301}",
        implementation: "",
        version: "\t",
        envelope: ENVELOPE.as_bytes(),
        manifest_hash: None,
    };
    chain.seal(&run, key).unwrap()
}

/// Returns the same values over many lines.
pub(crate) fn pretty_printed(text: &[u8]) -> Vec<u8> {
    serde_json::to_vec_pretty(&serde_json::from_slice::<serde_json::Value>(text).unwrap()).unwrap()
}

#[test]
fn the_troubled_artifact_is_sound() {
    let key = TestKey::of(1);
    let artifact = tricky_artifact(&key);
    let report = report_of(&artifact, &key.keys());
    assert_eq!(failed(&report), [""; 0], "{:?}", report.reasons);
    assert_eq!(canonical(&artifact), Some(artifact));
}
