//! [`Report`]: the result of a verification.
//!
//! A report has a part that every format shares and [`ReportDetails`] for what only one format has. Reasons and notes are texts for
//! people; programs branch on [`CheckId`]s, codes and [`Trust`].

use reenact_formats::FormatId;
use reenact_formats::trust::KeyRole;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::shown::is_unsafe;
use reenact_json::{Digest, Shown};

use crate::audit::Audit;
pub use crate::capped::{MAX_LIST_ITEMS, MAX_TEXT_BYTES};
use crate::capped::{cap_lines, cap_text};
use crate::check::{Check, CheckId};
use crate::keys::{Keys, Trust};
use crate::verdict::{MissingKey, Verdict};

/// Result of verifying one target: the answer to every check, and a reason for each that fails.
///
/// ```
/// use reenact_verify::{Keys, Options, rer, verify};
///
/// let report = verify(br#"{"artifact_version":"rer-artifact/0.2"}"#, &Keys::default(), &Options::default());
/// assert!(!report.pass());
/// assert_eq!(report.check(rer::EVENT_CHAIN), Some(false));
/// for reason in &report.reasons {
///     println!("{reason}");
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Format with its version as found, such as `rer-artifact/0.2`; `?` stands for a version that could not be read.
    pub format: String,
    /// Checks in the order of the format's specification.
    pub checks: Vec<Check>,
    /// Reasons of the checks that fail. Each begins with the name of its check and a colon, and is safe to print.
    pub reasons: Vec<String>,
    /// Facts that a reader should know and that fail no check. Safe to print.
    pub notes: Vec<String>,
    /// Signer that the record names; `None` if the format has no signatures.
    pub signer: Option<RecordSigner>,
    /// Audit of the events against the signed envelope; `None` if the format has no envelope.
    pub audit: Option<Audit>,
    /// Digests by name, such as `file` or `model_io_hash`, each as `sha256:` and 64 hexadecimal digits.
    pub digests: Vec<(&'static str, String)>,
    /// Conclusion in one sentence, for people. [`Report::verdict`] is the same for programs.
    pub summary: String,
    /// Key that the record names and that is not at hand; `None` if no signature lacks its key.
    pub missing_key: Option<MissingKey>,
    /// True if the record says that its recorder did not vouch for the end of the run.
    pub is_recovered: bool,
    /// Number of payloads that are withheld.
    pub withheld: usize,
    /// Identity of the recorded run, if the record states it.
    pub run: Option<RunIdentity>,
    /// True if another target is a different record of the same run.
    pub has_duplicate: bool,
    /// Results that only this format has.
    pub details: ReportDetails,
}

/// Results that only one format has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReportDetails {
    /// None: the common part of the report says everything.
    #[default]
    Common,
    /// Results of an RER bundle.
    RerBundle {
        /// Seven checks of the artifact inside.
        artifact_checks: Vec<Check>,
    },
    /// Results of a Model IO session or pack.
    ModelIo {
        /// Violations of the rules, in the order that rule MI10 requires.
        violations: Vec<Violation>,
    },
    /// Results of a REPLAY.jsonl.
    ReplayJsonl {
        /// Codes of the faults, sorted, each once.
        codes: Vec<&'static str>,
        /// Codes of what is worth knowing and fails no check, sorted.
        warnings: Vec<&'static str>,
    },
}

/// Violation of one rule of Model IO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Rule: `MI1` to `MI11`, `SCHEMA` or `PARSE`.
    pub rule_id: &'static str,
    /// Place in the document, as a JSON path from `$`.
    pub path: String,
    /// Message in the reference's words. It may quote the file and is not safe to print as it stands.
    pub message: String,
}

/// Identity of a run, as its record states it, and of this record of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    /// Id of the key that the record names.
    pub key_id: String,
    /// Id of the run.
    pub run_id: String,
    /// Digest of the signed header without `manifest_hash`. It is the same for every copy of the record, however the copy is
    /// spelled, whatever is withheld in it, and whether it is in a bundle.
    pub digest: Digest,
}

/// Signer of a record, as far as the signer is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSigner {
    /// Id of the key that the record names; `None` if the record names none.
    pub key_id: Option<String>,
    /// Trust in that key. It never changes whether a record is intact.
    pub trust: Trust,
    /// Owner's name for the key.
    pub label: Option<String>,
}

impl RecordSigner {
    /// Looks up the key that a record names.
    pub(crate) fn from_key_id(key_id: Option<&str>, keys: &Keys) -> Self {
        let known =
            key_id.and_then(reenact_formats::key::KeyId::parse).and_then(|id| keys.find(&id).cloned());
        Self {
            // Exact, so that a program can look it up; but no key has an id as long as that.
            key_id: key_id
                .map(|id| if id.len() <= MAX_HEX_BYTES { id.to_owned() } else { shown_carried(id) }),
            trust: known.as_ref().map_or(Trust::Unknown, |known| known.trust_as(KeyRole::Runtime)),
            label: known.and_then(|known| known.label),
        }
    }
}

impl Report {
    /// Returns the format that was verified; `None` for content of no known format.
    pub fn format_id(&self) -> Option<FormatId> {
        FormatId::of_report(&self.format)
    }

    /// Creates a report in which all checks hold so far.
    pub(crate) fn new(format: String, checks: &[CheckId]) -> Self {
        let checks = checks.iter().copied().map(Check::holding).collect();
        Self {
            format,
            checks,
            reasons: Vec::new(),
            notes: Vec::new(),
            signer: None,
            audit: None,
            digests: Vec::new(),
            summary: String::new(),
            missing_key: None,
            is_recovered: false,
            withheld: 0,
            run: None,
            has_duplicate: false,
            details: ReportDetails::Common,
        }
    }

    /// Returns true if no check fails. Checks that had nothing to check do not count.
    pub fn pass(&self) -> bool {
        !self.checks.iter().any(Check::has_failed)
    }

    /// Returns the conclusion in one word: the first of failed, unproven, recovered and intact that fits.
    ///
    /// ```
    /// use reenact_verify::{Keys, Options, Verdict, verify};
    ///
    /// assert_eq!(verify(b"{}", &Keys::default(), &Options::default()).verdict(), Verdict::Failed);
    /// ```
    pub fn verdict(&self) -> Verdict {
        let lacks_key = |id: CheckId| self.missing_key.as_ref().is_some_and(|key| key.checks.contains(&id));
        match (self.pass(), self.is_recovered) {
            (false, _) if self.failed().all(lacks_key) => Verdict::Unproven,
            (false, _) => Verdict::Failed,
            (true, true) => Verdict::Recovered,
            (true, false) => Verdict::Intact,
        }
    }

    /// Returns the answer to a check: true, false, or `None` if there was nothing to check or the format has no such check.
    pub fn check(&self, id: CheckId) -> Option<bool> {
        self.checks.iter().find(|check| check.id == id)?.holds
    }

    /// Returns the checks that fail, in the order of the report.
    pub fn failed(&self) -> impl Iterator<Item = CheckId> {
        self.checks.iter().filter(|check| check.has_failed()).map(|check| check.id)
    }

    /// Returns the checks of the artifact inside of an RER bundle; none for every other format.
    pub fn artifact_checks(&self) -> &[Check] {
        match &self.details {
            ReportDetails::RerBundle { artifact_checks } => artifact_checks,
            _ => &[],
        }
    }

    /// Returns the violations of a Model IO session; `None` for every other format.
    pub fn violations(&self) -> Option<&[Violation]> {
        match &self.details {
            ReportDetails::ModelIo { violations } => Some(violations),
            _ => None,
        }
    }

    /// Returns the fault codes of a REPLAY.jsonl; `None` for every other format.
    pub fn codes(&self) -> Option<&[&'static str]> {
        match &self.details {
            ReportDetails::ReplayJsonl { codes, .. } => Some(codes),
            _ => None,
        }
    }

    /// Returns the warning codes of a REPLAY.jsonl; `None` for every other format.
    pub fn warnings(&self) -> Option<&[&'static str]> {
        match &self.details {
            ReportDetails::ReplayJsonl { warnings, .. } => Some(warnings),
            _ => None,
        }
    }

    /// Returns the conclusion on failed checks, such as `2 of 7 checks do not hold: event_chain, log_head`; `None` if none fails.
    pub(crate) fn failure_summary(&self) -> Option<String> {
        let failed: Vec<&str> = self.failed().map(CheckId::name).collect();
        let verb = if failed.len() == 1 { "does" } else { "do" };
        let all = self.checks.len();
        (!failed.is_empty())
            .then(|| format!("{} of {all} checks {verb} not hold: {}", failed.len(), failed.join(", ")))
    }

    /// Fails a check, for a reason.
    pub(crate) fn fail(&mut self, id: CheckId, reason: impl core::fmt::Display) {
        for check in self.checks.iter_mut().filter(|check| check.id == id) {
            check.holds = Some(false);
        }
        self.reasons.push(format!("{id}: {reason}"));
    }

    /// Marks a check that had nothing to check. A check that fails stays failed.
    pub(crate) fn mark_void(&mut self, id: CheckId) {
        for check in self.checks.iter_mut().filter(|check| check.id == id && check.holds == Some(true)) {
            check.holds = None;
        }
    }

    /// Holds every list and text to the bounds of a report. Every check that fails keeps a reason.
    pub(crate) fn bounded(mut self) -> Self {
        if self.reasons.len() > MAX_LIST_ITEMS {
            let each = MAX_LIST_ITEMS / self.checks.len().max(1);
            let mut kept = Vec::new();
            for check in &self.checks {
                let own = format!("{}: ", check.id);
                let reasons = self.reasons.iter().filter_map(|reason| reason.strip_prefix(&own));
                let mut reasons: Vec<String> = reasons.map(str::to_owned).collect();
                cap_lines(&mut reasons, each);
                kept.extend(reasons.into_iter().map(|reason| own.clone() + &reason));
            }
            self.reasons = kept;
        }
        cap_lines(&mut self.reasons, MAX_LIST_ITEMS);
        if let ReportDetails::ModelIo { violations } = &mut self.details {
            if violations.len() > MAX_LIST_ITEMS {
                let more = violations.len() - MAX_LIST_ITEMS;
                violations.truncate(MAX_LIST_ITEMS);
                let are = if more == 1 { "violation is" } else { "violations are" };
                self.notes.insert(0, format!("{more} more {are} not listed"));
            }
            violations.iter_mut().for_each(|violation| cap_text(&mut violation.message));
        }
        cap_lines(&mut self.notes, MAX_LIST_ITEMS);
        for rule in self.audit.iter_mut().flat_map(|audit| &mut audit.rules) {
            cap_text(&mut rule.reason);
        }
        cap_text(&mut self.format);
        cap_text(&mut self.summary);
        self
    }

    /// Sorts the reasons by the order of the checks; those of one check stay in the order in which they were found.
    pub(crate) fn sort_reasons(&mut self) {
        let position = |reason: &String| {
            let name = reason.split(':').next().unwrap_or_default();
            self.checks.iter().position(|check| check.id.name() == name)
        };
        self.reasons.sort_by_cached_key(position);
    }

    /// Writes the members that a report has in JSON.
    fn write_json(&self, object: &mut PrintObjectWriter<'_>) {
        object.string("format", self.format.as_str());
        object.boolean("pass", self.pass());
        let mut matrix = |name: &str, checks: &[Check]| {
            let mut matrix = PrintObjectWriter::open(object.name(name));
            for check in checks {
                matrix.boolean(check.id.name(), check.holds);
            }
            matrix.close();
        };
        matrix("checks", &self.checks);
        match &self.details {
            ReportDetails::Common => {}
            ReportDetails::RerBundle { artifact_checks } => matrix("artifact_checks", artifact_checks),
            ReportDetails::ModelIo { violations } => write_violations(violations, object),
            ReportDetails::ReplayJsonl { codes, warnings } => {
                object.strings("codes", codes);
                object.strings("warnings", warnings);
            }
        }
        object.strings("reasons", &self.reasons);
        object.string("verdict", self.verdict().name());
        object.strings("notes", &self.notes);
        match &self.signer {
            None => object.string("signer", None),
            Some(signer) => {
                let mut member = PrintObjectWriter::open(object.name("signer"));
                member.string("key_id", signer.key_id.as_deref());
                member.string("trust", signer.trust.name());
                member.string("label", signer.label.as_deref());
                member.close();
            }
        }
        if let Some(audit) = &self.audit {
            write_audit(audit, object);
        }
        let mut digests = PrintObjectWriter::open(object.name("digests"));
        for (name, digest) in &self.digests {
            digests.string(name, digest.as_str());
        }
        digests.close();
    }
}

fn write_violations(violations: &[Violation], object: &mut PrintObjectWriter<'_>) {
    print::write_list(violations, object.name("violations"), |violation, out| {
        let mut object = PrintObjectWriter::open(out);
        object.string("rule_id", violation.rule_id);
        object.string("path", violation.path.as_str());
        object.string("message", violation.message.as_str());
        object.close();
    });
}

fn write_audit(audit: &Audit, object: &mut PrintObjectWriter<'_>) {
    let mut member = PrintObjectWriter::open(object.name("audit"));
    member.boolean("ok", audit.ok());
    print::write_list(&audit.rules, member.name("rules"), |rule, out| {
        let mut object = PrintObjectWriter::open(out);
        object.string("rule", rule.rule);
        object.string("verdict", rule.verdict.name());
        let event = rule.event.map_or("null".to_owned(), |event| event.to_string());
        object.name("event").push_str(&event);
        object.string("reason", rule.reason.as_str());
        object.close();
    });
    member.close();
}

/// Reason why a target could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UnreadableTarget {
    /// Code that a program may branch on: `E_NOT_FOUND`, `E_NOT_READABLE` or `E_TOO_LARGE`.
    pub code: &'static str,
    /// Message for people.
    pub message: String,
}

/// Result for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nearly every target is judged")]
pub enum TargetOutcome {
    /// The target was read and verified.
    Report(Report),
    /// The target could not be read.
    Unreadable(UnreadableTarget),
}

impl TargetOutcome {
    /// Returns 0 if the record holds, 1 if it does not, 2 if it could not be read. A record under a compromised key may be intact,
    /// but its signer is unknown: 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Report(report) => {
                let trust = report.signer.as_ref().map(|signer| signer.trust);
                u8::from(!report.pass() || trust == Some(Trust::Compromised))
            }
            Self::Unreadable(_) => 2,
        }
    }

    /// Returns the report as one line of JSON, without the line feed.
    pub fn to_json(&self, target: &str) -> String {
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("target", target);
        match self {
            Self::Report(report) => report.write_json(&mut object),
            Self::Unreadable(unreadable) => {
                let nothing = Report::new("unknown".into(), &[]);
                object.string("format", "unknown");
                object.boolean("pass", false);
                PrintObjectWriter::open(object.name("checks")).close();
                object.strings("reasons", &nothing.reasons);
                object.string("verdict", Verdict::Failed.name());
                object.strings("notes", &nothing.notes);
                object.string("signer", None);
                PrintObjectWriter::open(object.name("digests")).close();
                let mut error = PrintObjectWriter::open(object.name("error"));
                error.string("code", unreadable.code);
                error.string("message", unreadable.message.as_str());
                error.close();
            }
        }
        object.close();
        line
    }
}

/// Reason of the checks that could not run because nothing could be read.
pub(crate) const NOTHING_TO_CHECK: &str = "nothing to check: it could not be read";

/// Length of the longest hexadecimal value that a record carries, in bytes: a signature.
const MAX_HEX_BYTES: usize = 128;

/// Number of characters that are shown of other texts. A report holds dozens of them and must stay small.
const MAX_OTHER_CHARS: usize = 40;

/// Returns a hash or an id from outside, safe to print. Hashes are never shortened; a text that cannot be a hash is.
pub(crate) fn shown_carried(text: &str) -> String {
    let could_be_hex = text.len() <= MAX_HEX_BYTES && !text.contains(is_unsafe);
    match text.char_indices().nth(MAX_OTHER_CHARS) {
        Some((cut, _)) if !could_be_hex => format!("{}… ({} bytes)", Shown::whole(&text[..cut]), text.len()),
        _ => Shown::whole(text).to_string(),
    }
}
