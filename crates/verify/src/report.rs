//! What a verification found.

use reenact_json::Shown;
use reenact_json::print::Object;

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
    /// Why checks do not hold. Each begins with the name of its check.
    pub reasons: Vec<String>,
    /// What a reader should know beside the checks.
    pub notes: Vec<String>,
    /// Who signed, where the format has signatures.
    pub signer: Option<Signer>,
    /// Digests worth keeping, by name.
    pub digests: Vec<(&'static str, String)>,
    /// The verdict in words, for people.
    pub verdict: String,
}

/// Who signed, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The key that the record names; `None` where it names none.
    pub key_id: Option<String>,
    /// What is known of that key.
    pub trust: Trust,
    /// What its owner calls it.
    pub label: Option<String>,
}

impl Signer {
    /// The signer that a record names, as far as `keys` knows it.
    pub(crate) fn named(key_id: Option<&str>, keys: &Keys) -> Self {
        let known =
            key_id.and_then(reenact_formats::key::KeyId::parse).and_then(|id| keys.find(&id).cloned());
        Self {
            key_id: key_id.map(str::to_owned),
            trust: known.as_ref().map_or(Trust::Unknown, |known| known.trust),
            label: known.and_then(|known| known.label),
        }
    }
}

impl Report {
    /// A matrix of checks that all hold so far.
    pub(crate) fn new(format: String, checks: &[(&'static str, &'static str)]) -> Self {
        let checks = checks.iter().map(|&(name, asks)| Check { name, asks, holds: Some(true) }).collect();
        Self {
            format,
            checks,
            artifact_checks: Vec::new(),
            reasons: Vec::new(),
            notes: Vec::new(),
            signer: None,
            digests: Vec::new(),
            verdict: String::new(),
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

    /// Puts the reasons in the order of the checks; those of one check stay in the order in which they were found.
    pub(crate) fn sort_reasons(&mut self) {
        let place = |reason: &String| {
            let name = reason.split(':').next().unwrap_or_default();
            self.checks.iter().position(|check| check.name == name)
        };
        self.reasons.sort_by_cached_key(place);
    }

    fn write_json(&self, object: &mut Object<'_>) {
        object.string("format", self.format.as_str());
        object.boolean("pass", self.pass());
        let mut matrix = |name: &str, checks: &[Check]| {
            let mut matrix = Object::open(object.name(name));
            for check in checks {
                matrix.boolean(check.name, check.holds);
            }
            matrix.close();
        };
        matrix("checks", &self.checks);
        if !self.artifact_checks.is_empty() {
            matrix("artifact_checks", &self.artifact_checks);
        }
        object.strings("reasons", &self.reasons);
        object.strings("notes", &self.notes);
        match &self.signer {
            None => object.string("signer", None),
            Some(signer) => {
                let mut member = Object::open(object.name("signer"));
                member.string("key_id", signer.key_id.as_deref());
                member.string("trust", signer.trust.name());
                member.string("label", signer.label.as_deref());
                member.close();
            }
        }
        let mut digests = Object::open(object.name("digests"));
        for (name, digest) in &self.digests {
            digests.string(name, digest.as_str());
        }
        digests.close();
    }
}

/// Why a target could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unreadable {
    /// A code that a program may branch on, such as `E_NOT_FOUND`.
    pub code: &'static str,
    /// The same for people.
    pub message: String,
}

/// What became of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was read and judged.
    Judged(Report),
    /// It could not be read.
    Unreadable(Unreadable),
}

impl Outcome {
    /// 0 it holds, 1 it does not, 2 it could not be read.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Judged(report) => u8::from(!report.pass()),
            Self::Unreadable(_) => 2,
        }
    }

    /// The report as one line of JSON, without its line feed.
    pub fn to_json(&self, target: &str) -> String {
        let mut line = String::new();
        let mut object = Object::open(&mut line);
        object.string("target", target);
        match self {
            Self::Judged(report) => report.write_json(&mut object),
            Self::Unreadable(unreadable) => {
                let nothing = Report::new("unknown".into(), &[]);
                object.string("format", "unknown");
                object.boolean("pass", false);
                Object::open(object.name("checks")).close();
                object.strings("reasons", &nothing.reasons);
                object.strings("notes", &nothing.notes);
                object.string("signer", None);
                Object::open(object.name("digests")).close();
                let mut error = Object::open(object.name("error"));
                error.string("code", unreadable.code);
                error.string("message", unreadable.message.as_str());
                error.close();
            }
        }
        object.close();
        line
    }
}

/// A hash or an id from outside, whole but safe to print. Hashes are never cut; a text that is no hash may be.
pub(crate) fn carried(text: &str) -> String {
    if text.len() <= 128 { Shown::whole(text).to_string() } else { Shown::new(text).to_string() }
}
