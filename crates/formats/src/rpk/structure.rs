//! The published shape of a document (`schemas/rpk-1.0.schema.json`).
//!
//! Objects are open: later minor versions add members, and the checksum covers them. Not checked: that ids are
//! unique, or that the two places of the run's id agree. Start reading at [`check_head`] and [`check_step`].

use core::fmt;

use reenact_json::{Digest, Value, ValueKind};

use super::{AGENT_COMMAND, HASH_PREFIX, RpkHead, RpkRunView, RpkStepItem, SIGNATURE_PREFIX, STEP_TYPES};

/// One way in which a document is not of the published shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpkStructureFault {
    /// JSON path of the value.
    pub path: RpkPath,
    /// Fault of the value.
    pub problem: RpkStructureProblem,
}

impl fmt::Display for RpkStructureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.problem)
    }
}

/// JSON path, formatted as text only when someone reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RpkPath {
    /// Member outside of the steps.
    Member(&'static str),
    /// Whole step, by its index.
    Step(usize),
    /// Member of a step.
    StepMember(usize, &'static str),
}

impl fmt::Display for RpkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(path) => write!(f, "$.{path}"),
            Self::Step(index) => write!(f, "$.payload.run.steps[{index}]"),
            Self::StepMember(index, member) => write!(f, "$.payload.run.steps[{index}].{member}"),
        }
    }
}

/// Fault of a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RpkStructureProblem {
    /// A required member is absent.
    #[error("is missing")]
    Missing,
    /// A value of another kind.
    #[error("must be {wanted}, not {found}")]
    Kind {
        /// Kind that belongs there, in words.
        wanted: &'static str,
        /// Kind of the value, in words.
        found: &'static str,
    },
    /// A value of the right kind that is not allowed.
    #[error("must be {wanted}")]
    Value {
        /// Allowed values, in words.
        wanted: &'static str,
    },
}

/// Callback that takes faults as they are found.
pub type RpkFaultSink<'r> = &'r mut dyn FnMut(RpkStructureFault);

const HASH: &str = "\"sha256:\" and 64 lower-case hexadecimal digits";
const CODE: &str = "\"hmac-sha256:\" and 64 lower-case hexadecimal digits";
const TYPE: &str = "one of prompt.render, model.request, model.response, tool.request, tool.response, error.event, output.final";

/// Reports the faults of everything that is not a step. The version is not checked: see [`super::version`].
pub fn check_head(head: &RpkHead<'_>, report: RpkFaultSink<'_>) {
    let mut check = RpkMemberChecker { to_path: RpkPath::Member, report };
    check.hash("checksum", head.checksum, HASH_PREFIX, HASH);
    if let Some(metadata) = check.object("metadata", head.metadata) {
        check.kind("metadata.run_id", metadata.member("run_id"), ValueKind::String);
        check.kind("metadata.created_at", metadata.member("created_at"), ValueKind::String);
    }
    if check.object("payload", head.payload).is_some() && check.object("payload.run", head.run).is_some() {
        check_run(&head.run_members, &mut check);
    }
    if let Some(signature) = head.signature
        && check.kind("signature", Some(signature), ValueKind::Object)
    {
        check.kind("signature.algorithm", signature.member("algorithm"), ValueKind::String);
        check.kind("signature.key_id", signature.member("key_id"), ValueKind::String);
        check.hash("signature.value", signature.member("value"), SIGNATURE_PREFIX, CODE);
    }
}

fn check_run<P: Fn(&'static str) -> RpkPath>(run: &RpkRunView<'_>, check: &mut RpkMemberChecker<'_, P>) {
    check.kind("payload.run.id", run.id, ValueKind::String);
    check.kind("payload.run.timestamp", run.timestamp, ValueKind::String);
    check.kind("payload.run.environment_fingerprint", run.environment_fingerprint, ValueKind::Object);
    check.kind("payload.run.runtime_versions", run.runtime_versions, ValueKind::Object);
    check.kind("payload.run.steps", run.steps, ValueKind::Array);
    const OPTIONAL: [&str; 7] = [
        "payload.run.source",
        "payload.run.provider",
        "payload.run.agent",
        "payload.run.capture_mode",
        "payload.run.listener_session_id",
        "payload.run.listener_process",
        "payload.run.listener_bind",
    ];
    for ((path, (_, kind)), value) in OPTIONAL.iter().zip(RpkRunView::OPTIONAL).zip(run.optional) {
        if value.is_some() {
            check.kind(path, value, kind);
        }
    }
}

/// Reports the faults of one element of `steps`.
pub fn check_step(index: usize, item: &RpkStepItem<'_>, report: RpkFaultSink<'_>) {
    let step = match item {
        RpkStepItem::Step(step) => step,
        RpkStepItem::NotAnObject(kind) => {
            let problem = RpkStructureProblem::Kind { wanted: ValueKind::Object.name(), found: kind.name() };
            return report(RpkStructureFault { path: RpkPath::Step(index), problem });
        }
    };
    let mut check = RpkMemberChecker { to_path: |member| RpkPath::StepMember(index, member), report };
    check.kind("id", step.id, ValueKind::String);
    if check.kind("type", step.step_type, ValueKind::String) && !is_step_type(step.step_type) {
        check.report_fault("type", RpkStructureProblem::Value { wanted: TYPE });
    }
    for (member, value) in [("input", step.input), ("output", step.output)] {
        if value.is_none() {
            check.report_fault(member, RpkStructureProblem::Missing);
        }
    }
    check.kind("metadata", step.metadata, ValueKind::Object);
    check.hash("hash", step.hash, HASH_PREFIX, HASH);
}

/// Returns true for a type of step: one of the seven of the specification, or [`AGENT_COMMAND`].
fn is_step_type(value: Option<Value<'_>>) -> bool {
    let is = |known: &&str| value.is_some_and(|value| value.is_string(known));
    STEP_TYPES.iter().chain([&AGENT_COMMAND]).any(is)
}

/// Parses a digest behind a prefix; `None` if the text is anything else.
pub fn parse_prefixed_digest(text: &str, prefix: &str) -> Option<Digest> {
    text.strip_prefix(prefix).and_then(Digest::from_hex)
}

struct RpkMemberChecker<'r, P> {
    to_path: P,
    report: RpkFaultSink<'r>,
}

impl<P: Fn(&'static str) -> RpkPath> RpkMemberChecker<'_, P> {
    fn report_fault(&mut self, member: &'static str, problem: RpkStructureProblem) {
        (self.report)(RpkStructureFault { path: (self.to_path)(member), problem });
    }

    fn kind(&mut self, member: &'static str, value: Option<Value<'_>>, wanted: ValueKind) -> bool {
        let problem = match value {
            None => RpkStructureProblem::Missing,
            Some(value) if value.kind() == wanted => return true,
            Some(value) => RpkStructureProblem::Kind { wanted: wanted.name(), found: value.kind().name() },
        };
        self.report_fault(member, problem);
        false
    }

    fn object<'a>(&mut self, member: &'static str, value: Option<Value<'a>>) -> Option<Value<'a>> {
        if self.kind(member, value, ValueKind::Object) { value } else { None }
    }

    fn hash(&mut self, member: &'static str, value: Option<Value<'_>>, prefix: &str, wanted: &'static str) {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        let is_hash = |text: &[u8]| {
            text.strip_prefix(prefix.as_bytes())
                .is_some_and(|hex| hex.len() == 64 && hex.iter().all(is_digit))
        };
        if self.kind(member, value, ValueKind::String)
            && value.and_then(|value| value.with_string_bytes(is_hash)) == Some(false)
        {
            self.report_fault(member, RpkStructureProblem::Value { wanted });
        }
    }
}
