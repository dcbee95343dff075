//! Signatures that are moved, malleated, over other bytes, or under keys that prove nothing.

use reenact_formats::key::PublicKey;
use reenact_formats::rer::seal::Signer as _;
use reenact_json::Digest;
use reenact_verify::Keys;
use serde_json::{Value as Json, json};

use crate::support::{KeyRing as _, canonical, failed, report_of, vector};
use crate::{
    ENVELOPE, ENVELOPE_SIG, HEAD, RUNTIME_SIG, SCHEMA, assert_noticed, base, hash, hex, remove,
    sign_envelope, sign_header, without,
};
use reenact_testkit::fixture::TestKey;

/// 2^252 + 27742317777372353535851937790883648493, the order of the group.
const L: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// Replaces S by S + L. The plain equation holds for both.
fn malleate(signature: &mut Json) {
    let text = signature.as_str().unwrap();
    let mut bytes: Vec<u8> =
        (0..64).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect();
    let mut carry = 0;
    for (byte, more) in bytes[32..].iter_mut().zip(L) {
        let sum = u16::from(*byte) + u16::from(more) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    *signature = hex(&bytes);
}

#[test]
fn signatures() {
    assert_noticed(&[
        ("S + L in the header's", |a| malleate(&mut a["runtime_signature"]), &[RUNTIME_SIG]),
        ("S + L in the envelope's", |a| malleate(&mut a["envelope"]["signature"]), &[ENVELOPE_SIG]),
        (
            "S + 2L",
            |a| {
                malleate(&mut a["runtime_signature"]);
                malleate(&mut a["runtime_signature"]);
            },
            &[RUNTIME_SIG],
        ),
        ("zeros", |a| a["runtime_signature"] = json!("0".repeat(128)), &[RUNTIME_SIG]),
        (
            "R the identity, S zero",
            |a| a["envelope"]["signature"] = json!(format!("01{}", "0".repeat(126))),
            &[ENVELOPE_SIG],
        ),
        ("of another key, for the header", |a| sign_header(a, &TestKey::of(2), &[]), &[RUNTIME_SIG]),
        ("of another key, for the envelope", |a| sign_envelope(a, &TestKey::of(2)), &[ENVELOPE_SIG]),
        (
            "of another key that says so",
            |a| {
                a["runtime"]["key_id"] = json!(TestKey::of(2).public_key().id().to_string());
                sign_envelope(a, &TestKey::of(2));
                sign_header(a, &TestKey::of(2), &[]);
            },
            &[ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "swapped",
            |a| {
                let header = a["runtime_signature"].take();
                a["runtime_signature"] = a["envelope"]["signature"].take();
                a["envelope"]["signature"] = header;
            },
            &[ENVELOPE_SIG, RUNTIME_SIG],
        ),
        ("in base64", |a| a["runtime_signature"] = json!("A".repeat(86)), &[SCHEMA, RUNTIME_SIG]),
        (
            "63 bytes",
            |a| a["runtime_signature"] = json!(&a["runtime_signature"].as_str().unwrap()[2..]),
            &[SCHEMA, RUNTIME_SIG],
        ),
        ("absent", |a| remove(a, "runtime_signature"), &[SCHEMA, RUNTIME_SIG]),
        ("a list of bytes", |a| a["runtime_signature"] = json!([1, 2, 3]), &[SCHEMA, RUNTIME_SIG]),
    ]);
}

/// Mistakes that only a producer with the key can make fail, too.
#[test]
fn signatures_over_other_bytes() {
    fn header(a: &Json) -> Vec<u8> {
        canonical(without(a, &["envelope", "events", "runtime_signature"]).to_string().as_bytes()).unwrap()
    }
    fn sign(a: &mut Json, message: &[u8]) {
        a["runtime_signature"] = hex(&TestKey::of(1).sign(message));
    }
    assert_noticed(&[
        (
            "the digest",
            |a| {
                let header = header(a);
                sign(a, Digest::of(&header).as_bytes());
            },
            &[RUNTIME_SIG],
        ),
        (
            "the digest in hex",
            |a| {
                let header = header(a);
                sign(a, Digest::of(&header).to_string().as_bytes());
            },
            &[RUNTIME_SIG],
        ),
        (
            "a line feed after it",
            |a| {
                let header = [header(a), b"\n".to_vec()].concat();
                sign(a, &header);
            },
            &[RUNTIME_SIG],
        ),
        (
            "the whole artifact",
            |a| {
                let all = canonical(without(a, &["runtime_signature"]).to_string().as_bytes()).unwrap();
                sign(a, &all);
            },
            &[RUNTIME_SIG],
        ),
        (
            "a false envelope_hash",
            |a| {
                a["envelope_hash"] = hash(&json!(0));
                sign_header(a, &TestKey::of(1), &[]);
            },
            &[ENVELOPE, RUNTIME_SIG],
        ),
        (
            "a false log_head_hash",
            |a| {
                a["log_head_hash"] = hash(&json!(0));
                sign_header(a, &TestKey::of(1), &[]);
            },
            &[HEAD, RUNTIME_SIG],
        ),
        (
            "the envelope with an empty signature",
            |a| {
                a["envelope"]["signature"] = json!("");
                let text = canonical(a["envelope"].to_string().as_bytes()).unwrap();
                a["envelope"]["signature"] = hex(&TestKey::of(1).sign(&text));
            },
            &[ENVELOPE_SIG],
        ),
    ]);
}

/// A signature without `manifest_hash` (§8.1) fails, since §6.6 requires it, and the reason says so.
#[test]
fn a_signature_that_leaves_out_manifest_hash() {
    for manifest_hash in [json!(null), hash(&json!("bundle"))] {
        let mut artifact = base();
        artifact["manifest_hash"] = manifest_hash;
        sign_header(&mut artifact, &TestKey::of(1), &["manifest_hash"]);
        let report = report_of(artifact.to_string().as_bytes(), &TestKey::of(1).keys());
        let reason = "runtime_signature: the signature leaves out manifest_hash (as §8.1 of the draft has it); §6.6 requires it";
        assert_eq!((failed(&report), report.reasons), (vec![RUNTIME_SIG], vec![reason.to_owned()]));
    }
    // Without the member there is nothing to leave out, so the reason is its absence.
    let mut artifact = base();
    remove(&mut artifact, "manifest_hash");
    sign_header(&mut artifact, &TestKey::of(1), &[]);
    let report = report_of(artifact.to_string().as_bytes(), &TestKey::of(1).keys());
    assert_eq!(report.reasons, ["schema_valid: $.manifest_hash: is missing"]);
}

/// Returns an artifact that names `key`, with one signature in both places.
fn signed_with(key: &[u8; 32], signature: &Json) -> Json {
    let mut artifact = base();
    artifact["runtime"]["key_id"] = json!(PublicKey::from_raw(key).unwrap().id().to_string());
    artifact["envelope"]["signature"] = signature.clone();
    artifact["runtime_signature"] = signature.clone();
    artifact
}

/// With a key of small order, R = identity and S = 0 fit every message, or one in eight.
#[test]
fn keys_of_small_order() {
    let identity: [u8; 32] = vector("keys/small_order_identity.bin").try_into().unwrap();
    let parse = |text: &str| -> [u8; 32] {
        core::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
    };
    let torsion = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        // The same points in encodings that are not canonical.
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];
    assert_eq!(parse(torsion[0]), identity);
    for text in torsion {
        let key = parse(text);
        let signature = json!(format!("{}{}", torsion[0], "0".repeat(64)));
        let artifact = signed_with(&key, &signature);
        let report = report_of(artifact.to_string().as_bytes(), &Keys::from_raw(&key));
        let id = PublicKey::from_raw(&key).unwrap().id();
        let reason = format!("the key {id} is of small order: a signature under it proves nothing");
        assert_eq!(
            report.reasons,
            [format!("envelope_signature: {reason}"), format!("runtime_signature: {reason}")],
            "{text}"
        );
    }
}

/// For this signature the cofactored equation holds, but the plain one does not.
#[test]
fn a_key_of_mixed_order() {
    let key = vector("keys/mixed_order.bin");
    let report = report_of(&vector("invalid/t124_mixed_order_key_cofactored.json"), &Keys::from_raw(&key));
    let id = PublicKey::from_raw(&key).unwrap().id();
    let reason = format!("the signature is not one of key {id} over these bytes");
    assert_eq!(
        report.reasons,
        [format!("envelope_signature: {reason}"), format!("runtime_signature: {reason}")]
    );
}

/// With both keys supplied, the named one must have signed.
#[test]
fn one_of_two_keys() {
    let mut keys = TestKey::of(1).keys();
    keys.add_supplied(TestKey::of(2).public_key());
    let mut artifact = base();
    sign_envelope(&mut artifact, &TestKey::of(2));
    let report = report_of(artifact.to_string().as_bytes(), &keys);
    assert_eq!(failed(&report), [ENVELOPE_SIG]);
    sign_header(&mut artifact, &TestKey::of(2), &[]);
    let report = report_of(artifact.to_string().as_bytes(), &keys);
    let reason =
        format!("the signature is not one of key {} over these bytes", TestKey::of(1).public_key().id());
    assert_eq!(
        report.reasons,
        [format!("envelope_signature: {reason}"), format!("runtime_signature: {reason}")]
    );
    // Signed wholly by the other key, and naming it, this is another artifact with another signer.
    artifact["runtime"]["key_id"] = json!(TestKey::of(2).public_key().id().to_string());
    sign_header(&mut artifact, &TestKey::of(2), &[]);
    let report = report_of(artifact.to_string().as_bytes(), &keys);
    assert_eq!(report.reasons, [""; 0]);
    assert_eq!(report.signer.unwrap().key_id, Some(TestKey::of(2).public_key().id().to_string()));
}
