//! Any bytes through the RER verifier, with one real public key.
//!
//! An input that begins with a control byte is a script: it edits a published vector value by
//! value, so that the checks behind the parser are reached too. Anything else is taken as an
//! artifact as it is.
//!
//! The private key is not here. So whatever passes is, but for withheld payloads, one of the
//! vectors.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use reenact_json::shown::is_unsafe;
use reenact_json::{Jcs, Limits, Value, canonical};
use reenact_verify::rer::{self, RerBatchFindings, RerBatchReader, RerFindings};
use reenact_verify::{FormatId, Keys, Options, Report, TargetOutcome, render, verify, verify_or_err};
use serde_json::{Value as Json, json};

const KEY: &[u8; 32] = include_bytes!("../../vectors/rer/keys/alpha.bin");

/// Valid vectors, but for the two that test size.
static VECTORS: LazyLock<Vec<Json>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/rer/valid");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the vectors").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let texts = files.iter().map(|file| std::fs::read(file).expect("a vector"));
    texts.filter_map(|text| serde_json::from_slice(&text).ok()).collect()
});

/// Content of each vector that its signature covers.
static SIGNED: LazyLock<Vec<Json>> = LazyLock::new(|| VECTORS.iter().map(without_payloads).collect());

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((0..=8 | 14..=31, script)) => check_artifact(&edited_vector(script)),
        _ => check_artifact(input),
    }
});

fn check_artifact(bytes: &[u8]) {
    let keys = Keys::from_raw(KEY);
    let options = Options { format: Some(FormatId::Rer), ..Options::default() };
    let report = verify(bytes, &keys, &options);
    well_formed(&report);

    let detected = verify(bytes, &keys, &Options::default());
    well_formed(&detected);
    if detected.format_id() == Some(FormatId::Rer) {
        assert_eq!(detected, report, "the same bytes, told apart by content");
    }
    match verify_or_err(bytes, &keys, &options) {
        Ok(verified) => assert_eq!(verified.report(), &report),
        Err(refused) => assert_eq!(refused.report(), &report),
    }
    assert_eq!(by_jobs(bytes, &keys, &options), report, "jobs that ran in another order");
    if report.pass() {
        check_passed(bytes, &keys, &options, &report);
    }
}

/// Verifies by jobs in reverse order: jobs may run in any order, as long as their findings are
/// merged in order.
fn by_jobs(bytes: &[u8], keys: &Keys, options: &Options) -> Report {
    let mut reader = match RerBatchReader::open(bytes, options) {
        Ok(reader) => reader,
        Err(error) => return rer::unreadable_report(bytes, &Default::default(), &error),
    };
    let mut jobs = Vec::new();
    loop {
        match reader.next_batch() {
            Ok(Some(job)) => jobs.push(job),
            Ok(None) => break,
            Err(error) => return rer::unreadable_report(bytes, reader.head(), &error.into()),
        }
    }
    let mut found: Vec<RerBatchFindings<'_>> = jobs.iter().rev().map(rer::RerEventBatch::check).collect();
    let mut findings = RerFindings::default();
    while let Some(next) = found.pop() {
        findings.append(next);
    }
    reader.into_report(findings, keys)
}

fn check_passed(bytes: &[u8], keys: &Keys, options: &Options, report: &Report) {
    let value = Value::parse(bytes, &Limits::default()).expect("what passes is JSON");
    let canonical = canonical::to_vec(value, Jcs).expect("what passes has a canonical form");
    let again = verify(&canonical, keys, options);
    assert!(again.pass(), "{:?}", again.reasons);
    let spelling = |note: &String| note.starts_with("the file is not in canonical form");
    assert!(!again.notes.iter().any(spelling));
    let is_canonical = bytes.strip_suffix(b"\n").unwrap_or(bytes) == canonical;
    assert_eq!(report.notes.iter().any(spelling), !is_canonical && bytes != canonical);

    let Ok(read) = serde_json::from_slice::<Json>(bytes) else { return };
    assert!(SIGNED.contains(&without_payloads(&read)), "this was never signed: {read}");
    let withheld =
        read["events"].as_array().into_iter().flatten().filter(|event| event["payload_redacted"] == true);
    let named = report.notes.iter().filter(|note| note.starts_with("event ")).count();
    assert_eq!(named, withheld.count().min(20), "each withheld payload is named");
}

/// Returns an artifact without payloads: of a withheld payload, the seven checks bind only the
/// hash.
fn without_payloads(artifact: &Json) -> Json {
    let mut artifact = artifact.clone();
    for event in artifact["events"].as_array_mut().into_iter().flatten() {
        if let Some(event) = event.as_object_mut() {
            event.remove("payload");
            event.remove("payload_redacted");
        }
    }
    artifact
}

const MEMBERS: [&str; 9] =
    ["target", "format", "pass", "checks", "reasons", "verdict", "notes", "signer", "digests"];

fn well_formed(report: &Report) {
    let outcome = TargetOutcome::Report(report.clone());
    let line = outcome.to_json("x");
    let read = Value::parse(line.as_bytes(), &Limits::default()).expect("a report is JSON");
    let names = read.members().map(|(name, _)| name.string().unwrap_or_default());
    // The fuzzer may produce every other format too, with further members.
    const MORE: [&str; 5] = ["artifact_checks", "audit", "codes", "violations", "warnings"];
    assert!(names.filter(|name| !MORE.contains(&name.as_ref())).eq(MEMBERS), "{line}");
    let text = render::outcome_text("x", &outcome, &reenact_verify::Demands::default(), &render::plain);
    // A list of violations is complete by contract, and has no bound.
    let listed = report.violations().is_some_and(|list| !list.is_empty());
    assert!(
        listed || line.len().max(text.len()) < 64 * 1024,
        "a report of {} and {} bytes",
        line.len(),
        text.len()
    );
    let printed = line.chars().chain(text.lines().flat_map(str::chars));
    assert!(!printed.into_iter().any(is_unsafe));
    for check in report.failed() {
        assert!(report.reasons.iter().any(|reason| reason.starts_with(&format!("{check}: "))), "{check}");
    }
    for reason in &report.reasons {
        let (name, _) = reason.split_once(": ").expect("a reason begins with its check");
        assert!(report.failed().any(|check| check == name), "{reason}");
    }
}

/// Returns a vector, edited by instructions of four bytes.
fn edited_vector(script: &[u8]) -> Vec<u8> {
    let (&choice, edits) = script.split_first().unwrap_or((&0, &[]));
    let mut artifact = VECTORS[usize::from(choice) % VECTORS.len()].clone();
    for edit in edits.chunks_exact(4).take(8) {
        let place = usize::from(u16::from_le_bytes([edit[1], edit[2]]));
        apply(&mut artifact, edit[0], place, usize::from(edit[3]));
    }
    serde_json::to_vec(&artifact).expect("JSON is written")
}

fn apply(artifact: &mut Json, action: u8, place: usize, detail: usize) {
    let count = count(artifact);
    let other = nth(artifact, &mut (detail * 7 % count)).cloned().unwrap_or_default();
    let Some(target) = nth(artifact, &mut (place % count)) else { return };
    match (action % 8, &mut *target) {
        (0, any) => *any = replacement_value(detail),
        (1, any) => *any = other,
        (2, Json::Array(list)) if !list.is_empty() => {
            list.remove(detail % list.len());
        }
        (3, Json::Array(list)) if !list.is_empty() => list.insert(detail % list.len(), other),
        (4, Json::Array(list)) if !list.is_empty() => {
            let last = list.len() - 1;
            list.swap(detail % (last + 1), last);
        }
        (2, Json::Object(members)) => {
            if let Some(name) = members.keys().nth(detail % members.len().max(1)).cloned() {
                members.remove(&name);
            }
        }
        (3 | 4, Json::Object(members)) => {
            let names = ["payload", "payload_redacted", "manifest_hash", "signature", "note", "step_id"];
            members.insert(
                names[detail % names.len()].into(),
                if detail < 128 { replacement_value(detail) } else { other },
            );
        }
        (5, Json::Object(members)) if members.contains_key("payload_redacted") => {
            members.insert("payload_redacted".into(), json!(true));
            members.remove("payload");
        }
        (_, Json::String(text)) => {
            let mut characters: Vec<char> = text.chars().collect();
            if let Some(character) = characters.get_mut(detail % text.chars().count().max(1)) {
                *character = char::from_u32(u32::from(*character) ^ 1).unwrap_or('\u{202e}');
            }
            *text = characters.into_iter().collect();
        }
        _ => {}
    }
}

fn replacement_value(detail: usize) -> Json {
    let all = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(9007199254740993_u64),
        json!(""),
        json!("\u{1b}[2J\u{202e}"),
        json!("0".repeat(64)),
        json!("A".repeat(128)),
        json!([]),
        json!({}),
        json!([[]]),
        json!("rer-artifact/0.1"),
        json!("rer-artifact/0.2"),
        json!("rer-event/0.1"),
        json!("rer-envelope/0.1"),
    ];
    all[detail % all.len()].clone()
}

fn count(value: &Json) -> usize {
    1 + match value {
        Json::Array(list) => list.iter().map(count).sum(),
        Json::Object(members) => members.values().map(count).sum(),
        _ => 0_usize,
    }
}

/// Returns the node of this number, counted in depth-first order from the root.
fn nth<'v>(value: &'v mut Json, left: &mut usize) -> Option<&'v mut Json> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Json::Array(list) => list.iter_mut().find_map(|item| nth(item, left)),
        Json::Object(members) => members.values_mut().find_map(|item| nth(item, left)),
        _ => None,
    }
}
