//! Any bytes as a Model IO session, compared with a naive implementation of the rules over
//! serde_json's tree.
//!
//! They are compared only on input that both read: serde_json refuses numbers beyond the doubles,
//! we refuse duplicate names.
#![no_main]

#[path = "../../crates/verify/tests/model_io_reference/mod.rs"]
mod reference;

use libfuzzer_sys::fuzz_target;
use reenact_formats::Profile;
use reenact_json::shown::is_unsafe;
use reenact_json::{Limits, Value, canonical};
use reenact_verify::{FormatId, Keys, Options, Report, TargetOutcome, model_io, render, verify};

fuzz_target!(|input: &[u8]| {
    let options = Options { format: Some(FormatId::ModelIo), ..Options::default() };
    let report = verify(input, &Keys::default(), &options);
    well_formed(&report);
    let backwards = model_io::verify_with(input, &options, |jobs| {
        let mut findings: Vec<_> = jobs.iter().rev().map(model_io::ModelIoJob::run).collect();
        findings.reverse();
        findings
    });
    assert_eq!(backwards, report, "jobs that ran in another order");

    let violations = report.violations().expect("a session has a list of violations");
    if violations.iter().any(|violation| violation.rule_id == "PARSE") {
        return;
    }
    let value = Value::parse(input, &Limits::default()).expect("it was read");
    if let Ok(canonical) = canonical::to_vec(value, Profile::ModelIo) {
        let again = verify(&canonical, &Keys::default(), &options);
        assert_eq!(again, report, "the spelling of a session changes nothing");
    }
    let Ok(tree) = serde_json::from_slice::<serde_json::Value>(input) else { return };
    let (expected, hash) = reference::report_of(&tree);
    let found: Vec<_> = violations
        .iter()
        .map(|one| (one.rule_id.to_owned(), one.path.clone(), one.message.clone()))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(report.digests.first().map(|(_, hash)| hash.clone()), hash);
});

fn well_formed(report: &Report) {
    let outcome = TargetOutcome::Report(report.clone());
    let text = outcome.to_json("x")
        + &render::outcome_text("x", &outcome, &reenact_verify::Demands::default(), &render::plain);
    assert!(!text.lines().flat_map(str::chars).any(is_unsafe), "{text}");
    assert!(report.reasons.len() <= 300 && report.notes.len() <= 6);
    assert_eq!(report.pass(), report.reasons.is_empty());
    assert_eq!(report.pass(), report.violations().is_some_and(<[_]>::is_empty));
    for check in report.failed() {
        assert!(report.reasons.iter().any(|reason| reason.starts_with(&format!("{check}: "))), "{check}");
    }
}
