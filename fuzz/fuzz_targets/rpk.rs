//! Any bytes through the checks of `.rpk`, through migration, and through both canonical forms.
//!
//! An input that begins with a control byte is a script: it changes bytes of an example, so that
//! the checks behind the parser are reached too. The key of the signed example is not here: no
//! signature may pass.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use reenact_formats::Profile;
use reenact_formats::rpk::hash_walk::compute_digests;
use reenact_formats::rpk::migrate::migrate;
use reenact_formats::rpk::{HmacKey, RpkHead};
use reenact_json::shown::is_unsafe;
use reenact_json::{Limits, Value, canonical};
use reenact_verify::{FormatId, Keys, Options, Report, TargetOutcome, render, rpk, verify};

const EXAMPLES: [&[u8]; 4] = [
    include_bytes!("../../examples/runs/invoice.bundle"),
    include_bytes!("../../examples/runs/invoice.rpk"),
    include_bytes!("../../examples/runs/minimal.rpk"),
    include_bytes!("../../examples/runs/legacy-0.9.rpk"),
];

/// Keys with one that signed nothing here.
static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let mut keys = Keys::default();
    keys.set_hmac_key(HmacKey::from_text(b"a key of the fuzzer").expect("a key"));
    keys
});

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((0..=8 | 14..=31, script)) => check_document(&edited_example(script)),
        _ => check_document(input),
    }
});

fn check_document(bytes: &[u8]) {
    let options = Options { format: Some(FormatId::Rpk), ..Options::default() };
    let report = verify(bytes, &KEYS, &options);
    well_formed(&report);
    let detected = verify(bytes, &KEYS, &Options::default());
    if detected.format_id() == Some(FormatId::Rpk) {
        assert_eq!(detected, report, "the same bytes, told apart by content");
    }
    // The key is not the one that signed, so no signature holds.
    assert_ne!(report.check(rpk::SIGNATURE), Some(true));
    let Ok(value) = Value::parse(bytes, &Limits::default()) else {
        assert_eq!(report.check(rpk::PARSE), Some(false));
        return;
    };
    if let Ok(whole) = canonical::to_vec(value, Profile::Rpk) {
        assert!(whole.iter().all(|byte| matches!(byte, 0x20..=0x7E)), "ASCII alone");
        let again = Value::parse(&whole, &Limits::default()).expect("a canonical form is JSON");
        let stripped = canonical::to_vec(value, Profile::RpkStep).expect("what has one form has the other");
        assert!(stripped.len() <= whole.len());
        // Volatile members of the canonical form are still volatile.
        let _ = canonical::to_vec(again, Profile::RpkStep);
    }
    if report.pass() {
        check_passed(bytes, &report, &options);
    }
    if let Ok(migrated) = migrate(bytes, "1.0") {
        let report = verify(&migrated.bytes, &KEYS, &options);
        assert!(report.pass(), "{:?}", report.reasons);
        assert!(!report.notes.iter().any(|note| note.starts_with("values are not spelled")));
    }
}

/// Checks a document that passed: its checksum covers its canonical text, and that text passes
/// without a note on spelling.
fn check_passed(bytes: &[u8], report: &Report, options: &Options) {
    let head = RpkHead::read(bytes, &Limits::default()).expect("what passes can be read");
    let sums = compute_digests(&head, None, |_, _, digest| assert!(digest.is_ok(), "what passes has hashes"));
    let is_told = report.notes.iter().any(|note| note.starts_with("values are not spelled"));
    assert_eq!(sums.is_respelled, is_told);
    let value = Value::parse(bytes, &Limits::default()).expect("what passes is JSON");
    let compact = canonical::to_vec(value, Profile::Rpk);
    if let (Ok(compact), false) = (compact, is_told) {
        assert!(verify(&compact, &KEYS, options).pass(), "its own canonical text");
    }
}

const MEMBERS: [&str; 9] =
    ["target", "format", "pass", "checks", "reasons", "verdict", "notes", "signer", "digests"];

fn well_formed(report: &Report) {
    let outcome = TargetOutcome::Report(report.clone());
    let line = outcome.to_json("x");
    let read = Value::parse(line.as_bytes(), &Limits::default()).expect("a report is JSON");
    assert!(read.members().map(|(name, _)| name.string().unwrap_or_default()).eq(MEMBERS));
    let text = render::outcome_text("x", &outcome, &reenact_verify::Demands::default(), &render::plain);
    assert!(line.len().max(text.len()) < 64 * 1024, "a report of {} and {} bytes", line.len(), text.len());
    assert!(!line.chars().chain(text.lines().flat_map(str::chars)).any(is_unsafe));
    for check in report.failed() {
        assert!(report.reasons.iter().any(|reason| reason.starts_with(&format!("{check}: "))), "{check}");
    }
    assert_eq!(report.pass(), report.reasons.is_empty());
}

/// Returns an example with bytes replaced, inserted or removed, by instructions of four bytes.
fn edited_example(script: &[u8]) -> Vec<u8> {
    const PIECES: [&[u8]; 12] =
        [b"\\u0041", b"\\r", b"\\/", b".0", b"e0", b" ", b"\\\\", b"/../", b"Z", b"{}", b"[1]", b"null"];
    let (&choice, edits) = script.split_first().unwrap_or((&0, &[]));
    let mut bytes = EXAMPLES[usize::from(choice) % EXAMPLES.len()].to_vec();
    for edit in edits.chunks_exact(4).take(8) {
        let at = usize::from(u16::from_le_bytes([edit[1], edit[2]])) % bytes.len().max(1);
        let detail = edit[3];
        match edit[0] % 4 {
            0 if !bytes.is_empty() => bytes[at] = detail,
            1 => drop(bytes.splice(at..at, PIECES[usize::from(detail) % PIECES.len()].iter().copied())),
            2 => drop(bytes.splice(at..(at + 1 + usize::from(detail % 8)).min(bytes.len()), [])),
            _ if !bytes.is_empty() => bytes[at] ^= 1 << (detail % 8),
            _ => {}
        }
    }
    bytes
}
