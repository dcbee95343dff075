//! What a caller may ask for beyond the checks: each demand that is not met makes the answer no.

use reenact_json::Shown;

use crate::keys::Trust;
use crate::report::{Outcome, Report};

/// The demands of one verification.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demands {
    /// The signer must be supplied or trusted.
    pub trusted: bool,
    /// Every rule of the audit must be kept.
    pub audit: bool,
    /// No payload may be withheld.
    pub unredacted: bool,
    /// No run may come in two versions.
    pub unique: bool,
}

impl Demands {
    /// Which demands a report does not meet, in words.
    pub fn unmet(&self, report: &Report) -> Vec<String> {
        let mut unmet = Vec::new();
        let trust = report.signer.as_ref().map_or(Trust::Unknown, |signer| signer.trust);
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
        if self.unique && report.has_twin {
            unmet.push("--deny-duplicates: this run comes in more than one version".into());
        }
        unmet
    }

    /// The exit code of an outcome under these demands.
    pub fn exit_code(&self, outcome: &Outcome) -> u8 {
        match outcome {
            Outcome::Judged(report) if !self.unmet(report).is_empty() => outcome.exit_code().max(1),
            _ => outcome.exit_code(),
        }
    }
}

/// Notes on each record that claims the same run as another but is not the same record: one of them may be a forgery by
/// whoever holds the key, or one run was sealed twice.
pub fn note_twins(outcomes: &mut [(String, Outcome)]) {
    let mut runs: std::collections::BTreeMap<(String, String), Vec<usize>> =
        std::collections::BTreeMap::new();
    for (at, (_, outcome)) in outcomes.iter().enumerate() {
        if let Outcome::Judged(Report { run: Some(run), .. }) = outcome {
            runs.entry((run.key_id.clone(), run.run_id.clone())).or_default().push(at);
        }
    }
    let digest = |outcome: &Outcome| match outcome {
        Outcome::Judged(report) => report.run.as_ref().map(|run| run.digest),
        Outcome::Unreadable(_) => None,
    };
    for same in runs.values().filter(|same| same.len() > 1) {
        for &at in same {
            let other = same.iter().find(|other| digest(&outcomes[**other].1) != digest(&outcomes[at].1));
            let Some(other) = other.map(|other| Shown::new(&outcomes[*other].0).to_string()) else {
                continue;
            };
            if let Outcome::Judged(report) = &mut outcomes[at].1 {
                report.has_twin = true;
                report.notes.push(format!("{other} is another record of the same run by the same key"));
            }
        }
    }
}
