//! Archives and folders made to hurt: each is refused with a reason that names the fault, in bounded memory.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test says what it skipped")]

mod archives {
    mod bombs;
    mod damage;
    mod folders;
    mod tricks;
}
mod archives_forge;
mod bundle_maker;

use bundle_maker::{TestDir, failed, judge_path};
use reenact_json::shown::is_unsafe;
use reenact_verify::rer::bundle::CHECKS;
use reenact_verify::{Keys, Options, Outcome, Report, render, safe};

fn judge(archive: &[u8]) -> Report {
    safe(archive, &Keys::default(), &Options::default())
}

/// A report that is short and that no terminal obeys.
fn assert_bounded(report: &Report, what: &str) {
    let outcome = Outcome::Judged(report.clone());
    let text = outcome.to_json("x") + &render::outcome("x", &outcome, &render::plain);
    assert!(text.len() < 16 * 1024, "{what}: {} bytes", text.len());
    assert!(!text.lines().flat_map(str::chars).any(is_unsafe), "{what}: {text}");
    let lines = report.reasons.iter().chain(&report.notes);
    assert!(!lines.flat_map(|line| line.chars()).any(is_unsafe), "{what}: {report:?}");
}

/// That an archive is refused for this reason, as bytes and as a file: `meant` to be a bundle, or of no known format.
fn refused(what: &str, archive: &[u8], meant: bool, reason: &str) {
    let report = judge(archive);
    let folder = TestDir::new();
    assert_eq!(judge_path(&folder.write("archive", archive), &Keys::default()), report, "{what}");
    assert_eq!(Outcome::Judged(report.clone()).exit_code(), 1, "{what}");
    assert_bounded(&report, what);
    let expected = if meant {
        assert_eq!(failed(&report), CHECKS.map(|(name, _)| name), "{what}: {:#?}", report.reasons);
        assert!(report.artifact_checks.iter().all(|check| check.holds == Some(false)), "{what}");
        format!("artifact: the archive cannot be read: {reason}")
    } else {
        assert_eq!(failed(&report), ["recognised"], "{what}: {:#?}", report.reasons);
        format!("recognised: it is an archive that cannot be read: {reason}")
    };
    assert_eq!(report.reasons[0], expected, "{what}");
}
