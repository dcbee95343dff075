//! What a verification found.

use reenact_formats::FormatId;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::shown::is_unsafe;
use reenact_json::{Digest, Shown};

use crate::audit::Audit;
use crate::keys::{Keys, Trust};

/// One check of a format's matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// Its name, as reports spell it.
    pub name: &'static str,
    /// What it asks, in words.
    pub asks: &'static str,
    /// Whether it holds; `None` where there was nothing to check.
    pub holds: Option<bool>,
}

/// The verdict on one target: every check, and every reason why one does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The format with its version as found, such as `rer-artifact/0.2`.
    pub format: String,
    /// The matrix, in the format's own order.
    pub checks: Vec<Check>,
    /// Of a bundle: the matrix of its artifact.
    pub artifact_checks: Vec<Check>,
    /// Of a Model IO session: what breaks its rules, in the order that MI10 asks for.
    pub violations: Option<Vec<Violation>>,
    /// Of a REPLAY.jsonl: the codes of all that does not hold, sorted.
    pub codes: Option<Vec<&'static str>>,
    /// Of a REPLAY.jsonl: the codes of what is worth knowing and fails nothing, sorted.
    pub warnings: Option<Vec<&'static str>>,
    /// Why checks do not hold. Each begins with the name of its check.
    pub reasons: Vec<String>,
    /// What a reader should know beside the checks.
    pub notes: Vec<String>,
    /// Who signed, where the format has signatures.
    pub signer: Option<RecordSigner>,
    /// Whether the run obeyed its envelope, where the format has one.
    pub audit: Option<Audit>,
    /// Digests worth keeping, by name.
    pub digests: Vec<(&'static str, String)>,
    /// The verdict in words, for people.
    pub verdict: String,
    /// How many payloads are withheld.
    pub withheld: usize,
    /// Which run this is a record of, where the record says so.
    pub run: Option<RunIdentity>,
    /// Another target is another record of the same run.
    pub has_duplicate: bool,
}

/// What breaks a rule of Model IO, where, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule: `MI1` to `MI11`, `SCHEMA` or `PARSE`.
    pub rule_id: &'static str,
    /// Where, as a JSON path from `$`.
    pub path: String,
    /// What is wrong. It may quote the file and is not safe to print as it stands.
    pub message: String,
}

/// Which run a record claims to be of, and which record of it this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    /// The key that the record names.
    pub key_id: String,
    /// The run's own id.
    pub run_id: String,
    /// The digest of what was signed: it is the same for every copy, however it is spelled and whatever is withheld.
    pub digest: Digest,
}

/// Who signed, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSigner {
    /// The key that the record names; `None` where it names none.
    pub key_id: Option<String>,
    /// What is known of that key.
    pub trust: Trust,
    /// What its owner calls it.
    pub label: Option<String>,
}

impl RecordSigner {
    /// The signer that a record names, as far as `keys` knows it.
    pub(crate) fn from_key_id(key_id: Option<&str>, keys: &Keys) -> Self {
        let known =
            key_id.and_then(reenact_formats::key::KeyId::parse).and_then(|id| keys.find(&id).cloned());
        Self {
            // Exact, so that a program can look it up; but no key has an id as long as that.
            key_id: key_id
                .map(|id| if id.len() <= MAX_HEX_BYTES { id.to_owned() } else { shown_carried(id) }),
            trust: known.as_ref().map_or(Trust::Unknown, |known| known.trust),
            label: known.and_then(|known| known.label),
        }
    }
}

impl Report {
    /// The format that was judged; `None` of content that is of none.
    pub fn id(&self) -> Option<FormatId> {
        FormatId::of_report(&self.format)
    }

    /// A matrix of checks that all hold so far.
    pub(crate) fn new(format: String, checks: &[(&'static str, &'static str)]) -> Self {
        let checks = checks.iter().map(|&(name, asks)| Check { name, asks, holds: Some(true) }).collect();
        Self {
            format,
            checks,
            artifact_checks: Vec::new(),
            codes: None,
            warnings: None,
            violations: None,
            reasons: Vec::new(),
            notes: Vec::new(),
            signer: None,
            audit: None,
            digests: Vec::new(),
            verdict: String::new(),
            withheld: 0,
            run: None,
            has_duplicate: false,
        }
    }

    /// Whether no check failed.
    pub fn pass(&self) -> bool {
        self.checks.iter().all(|check| check.holds != Some(false))
    }

    /// Whether the check of that name holds.
    pub fn check(&self, name: &str) -> Option<bool> {
        self.checks.iter().find(|check| check.name == name)?.holds
    }

    /// The names of the checks that do not hold.
    pub fn failed(&self) -> impl Iterator<Item = &'static str> {
        self.checks.iter().filter(|check| check.holds == Some(false)).map(|check| check.name)
    }

    /// Fails a check, for a reason.
    pub(crate) fn fail(&mut self, name: &'static str, reason: impl core::fmt::Display) {
        for check in self.checks.iter_mut().filter(|check| check.name == name) {
            check.holds = Some(false);
        }
        self.reasons.push(format!("{name}: {reason}"));
    }

    /// Marks a check that had nothing to check.
    pub(crate) fn mark_void(&mut self, name: &str) {
        for check in self.checks.iter_mut().filter(|check| check.name == name && check.holds == Some(true)) {
            check.holds = None;
        }
    }

    /// Puts the reasons in the order of the checks; those of one check stay in the order in which they were found.
    pub(crate) fn sort_reasons(&mut self) {
        let place = |reason: &String| {
            let name = reason.split(':').next().unwrap_or_default();
            self.checks.iter().position(|check| check.name == name)
        };
        self.reasons.sort_by_cached_key(place);
    }

    fn write_json(&self, object: &mut PrintObjectWriter<'_>) {
        object.string("format", self.format.as_str());
        object.boolean("pass", self.pass());
        let mut matrix = |name: &str, checks: &[Check]| {
            let mut matrix = PrintObjectWriter::open(object.name(name));
            for check in checks {
                matrix.boolean(check.name, check.holds);
            }
            matrix.close();
        };
        matrix("checks", &self.checks);
        if !self.artifact_checks.is_empty() {
            matrix("artifact_checks", &self.artifact_checks);
        }
        if let Some(violations) = &self.violations {
            write_violations(violations, object);
        }
        for (name, codes) in [("codes", &self.codes), ("warnings", &self.warnings)] {
            if let Some(codes) = codes {
                object.strings(name, codes);
            }
        }
        object.strings("reasons", &self.reasons);
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

/// Why a target could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UnreadableTarget {
    /// A code that a program may branch on, such as `E_NOT_FOUND`.
    pub code: &'static str,
    /// The same for people.
    pub message: String,
}

/// What became of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nearly every target is judged")]
pub enum TargetOutcome {
    /// It was read and judged.
    Report(Report),
    /// It could not be read.
    Unreadable(UnreadableTarget),
}

impl TargetOutcome {
    /// 0 it holds, 1 it does not, 2 it could not be read. A record under a compromised key may be intact, and still
    /// nobody can say whose it is: 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Report(report) => {
                let trust = report.signer.as_ref().map(|signer| signer.trust);
                u8::from(!report.pass() || trust == Some(Trust::Compromised))
            }
            Self::Unreadable(_) => 2,
        }
    }

    /// The report as one line of JSON, without its line feed.
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

/// The reason of checks that could not run because nothing could be read.
pub(crate) const NOTHING_TO_CHECK: &str = "nothing to check: it could not be read";

/// The longest thing in hexadecimal that a record carries: a signature.
const MAX_HEX_BYTES: usize = 128;

/// How many characters of other texts are shown. Reports hold dozens of them and must stay small.
const MAX_OTHER_CHARS: usize = 40;

/// A hash or an id from outside, safe to print. Hashes are never cut; a text that cannot be one is.
pub(crate) fn shown_carried(text: &str) -> String {
    let could_be_hex = text.len() <= MAX_HEX_BYTES && !text.contains(is_unsafe);
    match text.char_indices().nth(MAX_OTHER_CHARS) {
        Some((cut, _)) if !could_be_hex => format!("{}… ({} bytes)", Shown::whole(&text[..cut]), text.len()),
        _ => Shown::whole(text).to_string(),
    }
}
