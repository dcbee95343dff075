//! Hostile archives and folders: each is refused with a reason that names the fault, in bounded memory.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test says what it skipped")]

mod archives {
    mod bombs;
    mod damage;
    mod folders;
    mod tricks;
}
mod archive_builder;
mod bundle_fixture;

use bundle_fixture::{TestDir, failed, report_of_path};
use reenact_json::shown::is_unsafe;
use reenact_verify::rer::bundle::CHECKS;
use reenact_verify::{Demands, Keys, Options, RECOGNISED, Report, TargetOutcome, render, verify};

fn report_of(archive: &[u8]) -> Report {
    verify(archive, &Keys::default(), &Options::default())
}

/// Asserts that a report is short and has no character that acts on a terminal.
fn assert_bounded(report: &Report, what: &str) {
    let outcome = TargetOutcome::Report(report.clone());
    let text =
        outcome.to_json("x") + &render::outcome_text("x", &outcome, &Demands::default(), &render::plain);
    assert!(text.len() < 16 * 1024, "{what}: {} bytes", text.len());
    assert!(!text.lines().flat_map(str::chars).any(is_unsafe), "{what}: {text}");
    let lines = report.reasons.iter().chain(&report.notes);
    assert!(!lines.flat_map(|line| line.chars()).any(is_unsafe), "{what}: {report:?}");
}

/// Asserts that an archive is refused for this reason, both as bytes and as a file. `meant` is true if
/// it is recognisably a bundle.
fn refused(what: &str, archive: &[u8], meant: bool, reason: &str) {
    let report = report_of(archive);
    let folder = TestDir::new();
    assert_eq!(report_of_path(&folder.write("archive", archive), &Keys::default()), report, "{what}");
    assert_eq!(TargetOutcome::Report(report.clone()).exit_code(), 1, "{what}");
    assert_bounded(&report, what);
    let expected = if meant {
        assert_eq!(failed(&report), CHECKS, "{what}: {:#?}", report.reasons);
        assert!(report.artifact_checks().iter().all(|check| check.holds == Some(false)), "{what}");
        format!("artifact: the archive cannot be read: {reason}")
    } else {
        assert_eq!(failed(&report), [RECOGNISED], "{what}: {:#?}", report.reasons);
        format!("recognised: it is an archive that cannot be read: {reason}")
    };
    assert_eq!(report.reasons[0], expected, "{what}");
}
