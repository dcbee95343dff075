//! Any bytes as a REPLAY.jsonl and its RECEIPT.json, and published pairs that are edited line by
//! line.
//!
//! An input that begins with a control byte is a script over a published vector: lines are dropped,
//! doubled, swapped and truncated. Anything else is a replay as it is; what follows its first NUL
//! is the receipt.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use reenact_json::shown::is_unsafe;
use reenact_verify::replay_jsonl::{CHECKS, ReplayJsonlOptions, verify_bytes};
use reenact_verify::{FormatId, Keys, Options, Report, TargetOutcome, render, verify};

/// All published pairs of replay and receipt.
static VECTORS: LazyLock<Vec<(Vec<u8>, Vec<u8>)>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/replay_jsonl");
    let mut folders = Vec::new();
    for kind in ["valid", "broken"] {
        let entries = std::fs::read_dir(root.join(kind)).expect("the vectors").flatten();
        folders.extend(entries.map(|entry| entry.path()));
    }
    folders.sort();
    let read = |path: &Path| std::fs::read(path).unwrap_or_default();
    folders
        .iter()
        .map(|folder| (read(&folder.join("REPLAY.jsonl")), read(&folder.join("RECEIPT.json"))))
        .collect()
});

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((0..=8 | 14..=31, script)) => {
            let (replay, receipt) = edited_vector(script);
            check_replay(&replay, Some(&receipt));
        }
        _ => match input.iter().position(|byte| *byte == 0) {
            Some(end) => check_replay(&input[..end], Some(&input[end + 1..])),
            None => check_replay(input, None),
        },
    }
});

/// Edits a vector's lines: each three bytes give the action, the line and its argument.
fn edited_vector(script: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let Some((&which, edits)) = script.split_first() else { return VECTORS[0].clone() };
    let (replay, receipt) = &VECTORS[usize::from(which) % VECTORS.len()];
    let mut lines: Vec<Vec<u8>> = replay.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for edit in edits.chunks_exact(3).take(64) {
        let count = lines.len();
        if count == 0 {
            break;
        }
        let (at, other) = (usize::from(edit[1]) % count, usize::from(edit[2]) % count);
        match edit[0] % 5 {
            0 => drop(lines.remove(at)),
            1 if count < 64 => lines.insert(other, lines[at].clone()),
            2 => lines.swap(at, other),
            3 => lines[at].truncate(usize::from(edit[2])),
            _ => {
                let place = usize::from(edit[2]) % lines[at].len().max(1);
                if let Some(byte) = lines[at].get_mut(place) {
                    *byte = byte.wrapping_add(1);
                }
            }
        }
    }
    (lines.concat(), receipt.clone())
}

fn check_replay(replay: &[u8], receipt: Option<&[u8]>) {
    let options = Options { format: Some(FormatId::ReplayJsonl), ..Options::default() };
    let alone = verify(replay, &Keys::default(), &options);
    well_formed(&alone);
    let detected = verify(replay, &Keys::default(), &Options::default());
    if detected.format_id() == Some(FormatId::ReplayJsonl) {
        assert_eq!(detected, alone, "the same bytes, told apart by content");
    }
    let Some(receipt) = receipt else { return };
    let both = verify_bytes(replay, &ReplayJsonlOptions { receipt: Some(receipt), digest: true }, &options);
    well_formed(&both);
    // A receipt adds findings about the file and removes none.
    let own = |report: &Report| -> Vec<&str> {
        report.codes().into_iter().flatten().copied().filter(|code| code.starts_with("E_")).collect()
    };
    assert_eq!(own(&both), own(&alone));
}

fn well_formed(report: &Report) {
    assert!(report.checks.iter().map(|check| check.id).eq(CHECKS), "{:?}", report.checks);
    for check in report.failed() {
        let prefix = format!("{check}: ");
        assert!(report.reasons.iter().any(|reason| reason.starts_with(&prefix)), "{check} without a reason");
    }
    let codes = report.codes().unwrap_or_default();
    assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    assert!(report.pass() == codes.is_empty() && (report.pass() || !report.reasons.is_empty()));
    assert!(report.reasons.len() < 1_200 && report.notes.len() < 40);
    let outcome = TargetOutcome::Report(report.clone());
    let text = render::outcome_text("x", &outcome, &reenact_verify::Demands::default(), &render::plain);
    assert!(!text.chars().any(|found| found != '\n' && is_unsafe(found)), "{text:?}");
    assert!(!outcome.to_json("x").chars().any(is_unsafe));
}
