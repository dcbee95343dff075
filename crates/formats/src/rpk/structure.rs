//! The published shape of a document (`schemas/rpk-1.0.schema.json`).
//!
//! Objects are open: later minors add members, and the checksum covers them. What is not asked: that ids are unique, or that the
//! two places of the run's id agree.

use core::fmt;

use reenact_json::{Digest, Kind, Value};

use super::{AGENT_COMMAND, HASH_PREFIX, Head, Item, RunView, SIGNATURE_PREFIX, STEP_TYPES};

/// One way in which a document is not of the published shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructureFault {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

impl fmt::Display for StructureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// A JSON path, made into text only when someone reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A member outside the steps.
    Member(&'static str),
    /// A whole step.
    Step(usize),
    /// A member of a step.
    StepMember(usize, &'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(path) => write!(f, "$.{path}"),
            Self::Step(index) => write!(f, "$.payload.run.steps[{index}]"),
            Self::StepMember(index, member) => write!(f, "$.payload.run.steps[{index}].{member}"),
        }
    }
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A required member is absent.
    #[error("is missing")]
    Missing,
    /// A value of another kind.
    #[error("must be {wanted}, not {found}")]
    Kind {
        /// The kind that belongs there.
        wanted: &'static str,
        /// The kind that stands there.
        found: &'static str,
    },
    /// A value of the right kind that is not among the allowed ones.
    #[error("must be {wanted}")]
    Value {
        /// What belongs there.
        wanted: &'static str,
    },
}

/// Takes faults as they are found.
pub type Report<'r> = &'r mut dyn FnMut(StructureFault);

const HASH: &str = "\"sha256:\" and 64 lower-case hexadecimal digits";
const CODE: &str = "\"hmac-sha256:\" and 64 lower-case hexadecimal digits";
const TYPE: &str = "one of prompt.render, model.request, model.response, tool.request, tool.response, error.event, output.final";

/// The faults of all that is not a step. The version is not looked at: see [`super::version`].
pub fn head(head: &Head<'_>, report: Report<'_>) {
    let mut check = Check { place: Place::Member, report };
    check.hash("checksum", head.checksum, HASH_PREFIX, HASH);
    if let Some(metadata) = check.object("metadata", head.metadata) {
        check.kind("metadata.run_id", metadata.member("run_id"), Kind::String);
        check.kind("metadata.created_at", metadata.member("created_at"), Kind::String);
    }
    if check.object("payload", head.payload).is_some() && check.object("payload.run", head.run).is_some() {
        run(&head.of_run, &mut check);
    }
    if let Some(signature) = head.signature
        && check.kind("signature", Some(signature), Kind::Object)
    {
        check.kind("signature.algorithm", signature.member("algorithm"), Kind::String);
        check.kind("signature.key_id", signature.member("key_id"), Kind::String);
        check.hash("signature.value", signature.member("value"), SIGNATURE_PREFIX, CODE);
    }
}

fn run<P: Fn(&'static str) -> Place>(run: &RunView<'_>, check: &mut Check<'_, P>) {
    check.kind("payload.run.id", run.id, Kind::String);
    check.kind("payload.run.timestamp", run.timestamp, Kind::String);
    check.kind("payload.run.environment_fingerprint", run.environment_fingerprint, Kind::Object);
    check.kind("payload.run.runtime_versions", run.runtime_versions, Kind::Object);
    check.kind("payload.run.steps", run.steps, Kind::Array);
    const OPTIONAL: [&str; 7] = [
        "payload.run.source",
        "payload.run.provider",
        "payload.run.agent",
        "payload.run.capture_mode",
        "payload.run.listener_session_id",
        "payload.run.listener_process",
        "payload.run.listener_bind",
    ];
    for ((path, (_, kind)), value) in OPTIONAL.iter().zip(RunView::OPTIONAL).zip(run.optional) {
        if value.is_some() {
            check.kind(path, value, kind);
        }
    }
}

/// The faults of one element of `steps`.
pub fn step(index: usize, item: &Item<'_>, report: Report<'_>) {
    let step = match item {
        Item::Step(step) => step,
        Item::NotAnObject(kind) => {
            let problem = Problem::Kind { wanted: Kind::Object.name(), found: kind.name() };
            return report(StructureFault { place: Place::Step(index), problem });
        }
    };
    let mut check = Check { place: |member| Place::StepMember(index, member), report };
    check.kind("id", step.id, Kind::String);
    if check.kind("type", step.step_type, Kind::String) && !is_step_type(step.step_type) {
        check.fault("type", Problem::Value { wanted: TYPE });
    }
    for (member, value) in [("input", step.input), ("output", step.output)] {
        if value.is_none() {
            check.fault(member, Problem::Missing);
        }
    }
    check.kind("metadata", step.metadata, Kind::Object);
    check.hash("hash", step.hash, HASH_PREFIX, HASH);
}

/// Whether it is a type of step: one of the seven, or the one that is written beside them.
fn is_step_type(value: Option<Value<'_>>) -> bool {
    let is = |known: &&str| value.is_some_and(|value| value.is_string(known));
    STEP_TYPES.iter().chain([&AGENT_COMMAND]).any(is)
}

/// The digest behind a prefix, if the text is exactly that.
pub fn prefixed(text: &str, prefix: &str) -> Option<Digest> {
    text.strip_prefix(prefix).and_then(Digest::from_hex)
}

struct Check<'r, P> {
    place: P,
    report: Report<'r>,
}

impl<P: Fn(&'static str) -> Place> Check<'_, P> {
    fn fault(&mut self, member: &'static str, problem: Problem) {
        (self.report)(StructureFault { place: (self.place)(member), problem });
    }

    fn kind(&mut self, member: &'static str, value: Option<Value<'_>>, wanted: Kind) -> bool {
        let problem = match value {
            None => Problem::Missing,
            Some(value) if value.kind() == wanted => return true,
            Some(value) => Problem::Kind { wanted: wanted.name(), found: value.kind().name() },
        };
        self.fault(member, problem);
        false
    }

    fn object<'a>(&mut self, member: &'static str, value: Option<Value<'a>>) -> Option<Value<'a>> {
        if self.kind(member, value, Kind::Object) { value } else { None }
    }

    fn hash(&mut self, member: &'static str, value: Option<Value<'_>>, prefix: &str, wanted: &'static str) {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        let is_hash = |text: &[u8]| {
            text.strip_prefix(prefix.as_bytes())
                .is_some_and(|hex| hex.len() == 64 && hex.iter().all(is_digit))
        };
        if self.kind(member, value, Kind::String)
            && value.and_then(|value| value.read_string(is_hash)) == Some(false)
        {
            self.fault(member, Problem::Value { wanted });
        }
    }
}
