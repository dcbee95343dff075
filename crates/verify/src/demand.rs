//! Demands of a caller beyond the checks, such as a trusted signer.
//!
//! A report that passes may still not be what the caller needs. [`Demands`] holds the flags of the
//! verify commands; each unmet one turns the exit code into a failure without changing the report.
//! [`note_duplicate_runs`] compares the reports of several targets.

use reenact_formats::FormatId;
use reenact_json::Shown;

use crate::keys::Trust;
use crate::report::{Report, TargetOutcome};

/// Additional requirements of one verification, all off by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demands {
    /// True if the signer's key must be one that was supplied: `--key` or `--keys` without `--any-signer`. Formats
    /// without signatures never meet it.
    pub supplied: bool,
    /// True if an `.rpk` must be signed with the shared key: `--hmac-key-file` without `--any-signer`.
    pub shared_key: bool,
    /// True if the signer's key must be supplied or trusted (`--require-trusted`).
    pub trusted: bool,
    /// True if every audit rule must pass (`--require-audit`).
    pub audit: bool,
    /// True if no payload may be withheld (`--deny-redacted`).
    pub unredacted: bool,
    /// True if no run may occur with two different contents (`--deny-duplicates`).
    pub unique: bool,
}

impl Demands {
    /// Returns a sentence for each demand that the report does not meet, beginning with its flag.
    pub fn unmet(&self, report: &Report) -> Vec<String> {
        let mut unmet = Vec::new();
        let trust = report.signer.as_ref().map_or(Trust::Unknown, |signer| signer.trust);
        let given = match report.format_id() {
            Some(FormatId::Rpk) if self.shared_key => Some("--hmac-key-file"),
            _ if self.supplied => Some("--key"),
            _ => None,
        };
        // A record that fails, or whose key is compromised, is refused for a better reason.
        let is_refused = !report.pass() || trust == Trust::Compromised;
        if let Some(option) = given.filter(|_| trust != Trust::Supplied && !is_refused) {
            let signer = match &report.signer {
                Some(_) => format!("the signer is {trust}"),
                None => "nothing is signed".into(),
            };
            unmet.push(format!(
                "{option}: {signer}, so it is not signed by a key that was given (--any-signer takes any)"
            ));
        }
        if self.trusted && !matches!(trust, Trust::Supplied | Trust::Trusted) {
            unmet.push(format!("--require-trusted: the signer is {trust}"));
        }
        if self.audit && report.audit.as_ref().and_then(crate::Audit::ok) != Some(true) {
            let word = match report.audit.as_ref().and_then(crate::Audit::ok) {
                Some(false) => "a rule of the envelope was broken",
                _ => "not every rule of the envelope is known to be kept",
            };
            unmet.push(format!("--require-audit: {word}"));
        }
        if self.unredacted && report.withheld > 0 {
            let count = report.withheld;
            unmet.push(format!(
                "--deny-redacted: {count} payload{} withheld",
                if count == 1 { " is" } else { "s are" }
            ));
        }
        if self.unique && report.has_duplicate {
            unmet.push("--deny-duplicates: this run comes in more than one version".into());
        }
        unmet
    }

    /// Returns the exit code of an outcome under these demands.
    ///
    /// The code of the outcome itself is raised to at least 1 if a demand is not met. A target that
    /// could not be read keeps its 2.
    pub fn exit_code(&self, outcome: &TargetOutcome) -> u8 {
        match outcome {
            TargetOutcome::Report(report) if !self.unmet(report).is_empty() => outcome.exit_code().max(1),
            _ => outcome.exit_code(),
        }
    }
}

/// Adds a note to each record that names the same run and key as another target, but has another
/// content.
///
/// Either one of them is a forgery by someone who holds the key, or one run was sealed twice. Copies of
/// one record are not duplicates, however they are spelled.
pub fn note_duplicate_runs(outcomes: &mut [(String, TargetOutcome)]) {
    let mut runs: std::collections::BTreeMap<(String, String), Vec<usize>> =
        std::collections::BTreeMap::new();
    for (at, (_, outcome)) in outcomes.iter().enumerate() {
        if let TargetOutcome::Report(Report { run: Some(run), .. }) = outcome {
            runs.entry((run.key_id.clone(), run.run_id.clone())).or_default().push(at);
        }
    }
    let digest = |outcome: &TargetOutcome| match outcome {
        TargetOutcome::Report(report) => report.run.as_ref().map(|run| run.digest),
        TargetOutcome::Unreadable(_) => None,
    };
    for same in runs.values().filter(|same| same.len() > 1) {
        for &at in same {
            let other = same.iter().find(|other| digest(&outcomes[**other].1) != digest(&outcomes[at].1));
            let Some(other) = other.map(|other| Shown::new(&outcomes[*other].0).to_string()) else {
                continue;
            };
            if let TargetOutcome::Report(report) = &mut outcomes[at].1 {
                report.has_duplicate = true;
                report.notes.push(format!("{other} is another record of the same run by the same key"));
            }
        }
    }
}
