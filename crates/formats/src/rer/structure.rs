//! The published shape of artifacts, envelopes and events (§3 to §5), as check 1 asks for it.
//!
//! The versions are frozen, so a member that the format does not know is a fault of its own: at the root and in
//! events no hash covers it, and anyone could have added it. Only `metadata` and `payload` are open. Start reading at
//! [`check_event`] and [`check_head`].

use core::fmt;

use reenact_json::{Shown, Value, ValueKind};

use super::{RerEventItem, RerEventView, RerHead, RerVersion, time};
use crate::key::KeyId;

/// One way in which a document is not of the published shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RerStructureFault {
    /// JSON path of the value.
    pub path: RerPath,
    /// Fault of the value.
    pub problem: RerStructureProblem,
}

impl fmt::Display for RerStructureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.problem)
    }
}

/// JSON path, formatted as text only when someone reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RerPath {
    /// Member of the artifact, the runtime or the envelope.
    Member(&'static str),
    /// Element of a list in the envelope.
    Element(&'static str, usize),
    /// Member of an element of a list in the envelope.
    ElementMember(&'static str, usize, &'static str),
    /// Whole event, by its index.
    Event(usize),
    /// Member of an event.
    EventMember(usize, &'static str),
}

impl fmt::Display for RerPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member("") => write!(f, "$"),
            Self::Member(path) => write!(f, "$.{path}"),
            Self::Element(path, index) => write!(f, "$.{path}[{index}]"),
            Self::ElementMember(path, index, member) => write!(f, "$.{path}[{index}].{member}"),
            Self::Event(index) => write!(f, "$.events[{index}]"),
            Self::EventMember(index, member) => write!(f, "$.events[{index}].{member}"),
        }
    }
}

/// Fault of a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RerStructureProblem {
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
    /// A member name that the format does not know.
    #[error("unknown member \"{}\"", Shown::new(.name))]
    Unknown {
        /// Name of the member, at most 60 characters of it.
        name: String,
    },
    /// A member of version 0.2 in version 0.1.
    #[error("does not belong into version 0.1")]
    NotIn01,
    /// A payload, although `payload_redacted` is true.
    #[error("is there although payload_redacted is true")]
    PayloadOfRedacted,
    /// A sub-record of another version than the artifact's (§3.1).
    #[error("is of version {found} in an artifact of version {artifact}")]
    MixedVersions {
        /// Version of the sub-record.
        found: &'static str,
        /// Version of the artifact.
        artifact: &'static str,
    },
    /// A version that this verifier does not know (§11.6).
    #[error("is not a version known here; known are 0.1 and 0.2")]
    UnknownVersion,
}

/// Callback that takes faults as they are found.
pub type RerFaultSink<'r> = &'r mut dyn FnMut(RerStructureFault);

const HEX64: &str = "64 lower-case hexadecimal digits";
const HEX128: &str = "128 lower-case hexadecimal digits";

/// Reports the faults of one element of `events`. Its version is not compared here, since the artifact's may not be
/// known yet: see [`event_version_fault`].
pub fn check_event(index: usize, item: &RerEventItem<'_>, report: RerFaultSink<'_>) {
    let event = match item {
        RerEventItem::Event(event) => event,
        RerEventItem::NotAnObject(kind) => {
            let problem = RerStructureProblem::Kind { wanted: ValueKind::Object.name(), found: kind.name() };
            return report(RerStructureFault { path: RerPath::Event(index), problem });
        }
    };
    let mut check = RerMemberChecker { to_path: |member| RerPath::EventMember(index, member), report };
    check.matches("event_version", event.event_version, "\"rer-event/0.1\" or \"rer-event/0.2\"", |text| {
        RerVersion::ALL.iter().any(|version| version.event().as_bytes() == text)
    });
    check.whole("step_index", event.step_index, "a whole number from 0 to 2^53-1", 0);
    check.matches(
        "event_type",
        event.event_type,
        "dotted lower-case words, such as rer.run.started",
        is_event_type,
    );
    if !event.parent_event_hash.is_some_and(|parent| parent.is_null()) {
        check.hex(
            "parent_event_hash",
            event.parent_event_hash,
            64,
            "null or 64 lower-case hexadecimal digits",
        );
    }
    check.matches("timestamp", event.timestamp, "RFC 3339 with a fraction and Z", time::is_event_timestamp);
    check.kind("payload_redacted", event.payload_redacted, "true or false", |kind| {
        matches!(kind, ValueKind::True | ValueKind::False)
    });
    check.hex("payload_hash", event.payload_hash, 64, HEX64);
    check.hex("event_hash", event.event_hash, 64, HEX64);
    if event.is_redacted() && event.payload.is_some() {
        check.report_fault("payload", RerStructureProblem::PayloadOfRedacted);
    }
    if let Some(name) = event.unknown_member {
        report(RerStructureFault { path: RerPath::Event(index), problem: unknown_member(name) });
    }
}

/// Returns the fault of an event of another version than its artifact.
pub fn event_version_fault(
    index: usize,
    event: &RerEventView<'_>,
    artifact: RerVersion,
) -> Option<RerStructureFault> {
    let found = RerVersion::of(event.event_version, RerVersion::event)?;
    mixed_version_fault(RerPath::EventMember(index, "event_version"), found, artifact)
}

/// Returns the fault of a sub-record of version `found` in an artifact of version `artifact`; `None` if they agree.
pub fn mixed_version_fault(
    path: RerPath,
    found: RerVersion,
    artifact: RerVersion,
) -> Option<RerStructureFault> {
    (found != artifact).then(|| RerStructureFault {
        path,
        problem: RerStructureProblem::MixedVersions { found: found.number(), artifact: artifact.number() },
    })
}

/// Reports the faults of everything that is not an event.
pub fn check_head(head: &RerHead<'_>, report: RerFaultSink<'_>) {
    let version = head.version();
    let mut check = RerMemberChecker { to_path: RerPath::Member, report };
    if check.kind("artifact_version", head.artifact_version, "a string", |kind| kind == ValueKind::String)
        && version.is_none()
    {
        check.report_fault("artifact_version", RerStructureProblem::UnknownVersion);
    }
    check.kind("run_id", head.run_id, "a string", |kind| kind == ValueKind::String);
    check.hex("envelope_hash", head.envelope_hash, 64, HEX64);
    check.hex("log_head_hash", head.log_head_hash, 64, HEX64);
    check.hex("runtime_signature", head.runtime_signature, 128, HEX128);
    match (version, head.manifest_hash) {
        (Some(RerVersion::V01), Some(_)) => check.report_fault("manifest_hash", RerStructureProblem::NotIn01),
        (Some(RerVersion::V02), None) => check.report_fault("manifest_hash", RerStructureProblem::Missing),
        (_, Some(hash)) if !hash.is_null() => {
            check.hex("manifest_hash", Some(hash), 64, "null or 64 lower-case hexadecimal digits");
        }
        _ => {}
    }
    match head.events {
        None => check.report_fault("events", RerStructureProblem::Missing),
        Some(ValueKind::Array) => {}
        Some(kind) => check.report_fault(
            "events",
            RerStructureProblem::Kind { wanted: ValueKind::Array.name(), found: kind.name() },
        ),
    }
    if let Some(name) = head.unknown_member {
        check.report_fault("", unknown_member(name));
    }
    if check.kind("runtime", head.runtime, ValueKind::Object.name(), |kind| kind == ValueKind::Object) {
        check_runtime(head.runtime, check.report);
    }
    let mut check = RerMemberChecker { to_path: RerPath::Member, report };
    if check.kind("envelope", head.envelope, ValueKind::Object.name(), |kind| kind == ValueKind::Object) {
        check_envelope(head.envelope, version, check.report);
    }
}

fn check_runtime(runtime: Option<Value<'_>>, report: RerFaultSink<'_>) {
    let names = ["implementation", "version", "key_id", "algorithm"];
    let ([implementation, version, key_id, algorithm], stranger) = pick_members(runtime, names);
    let mut check = RerMemberChecker { to_path: RerPath::Member, report };
    check.kind("runtime.implementation", implementation, "a string", |kind| kind == ValueKind::String);
    check.kind("runtime.version", version, "a string", |kind| kind == ValueKind::String);
    check.matches("runtime.key_id", key_id, "43 characters of base64url, the SHA-256 of a key", |text| {
        core::str::from_utf8(text).ok().and_then(KeyId::parse).is_some()
    });
    check.matches("runtime.algorithm", algorithm, "\"Ed25519\"", |text| text == b"Ed25519");
    check.report_unknown_member("runtime", stranger);
}

/// Reports the faults of an envelope, which should be of the version `artifact`.
pub fn check_envelope(envelope: Option<Value<'_>>, artifact: Option<RerVersion>, report: RerFaultSink<'_>) {
    let names = [
        "envelope_version",
        "permissions",
        "limits",
        "expiry",
        "metadata",
        "required_approvals",
        "required_signer_types",
        "signature",
    ];
    let ([version, permissions, limits, expiry, metadata, approvals, signers, signature], stranger) =
        pick_members(envelope, names);
    let mut check = RerMemberChecker { to_path: RerPath::Member, report };
    let known = RerVersion::of(version, RerVersion::envelope);
    if check.kind("envelope.envelope_version", version, "a string", |kind| kind == ValueKind::String) {
        match (known, artifact) {
            (None, _) => check.report_fault("envelope.envelope_version", RerStructureProblem::UnknownVersion),
            (Some(found), Some(artifact)) => {
                let fault =
                    mixed_version_fault(RerPath::Member("envelope.envelope_version"), found, artifact);
                fault.into_iter().for_each(&mut *check.report);
            }
            _ => {}
        }
    }
    check.hex("envelope.signature", signature, 128, HEX128);
    if expiry.is_some() {
        check.matches("envelope.expiry", expiry, "an RFC 3339 timestamp", time::is_rfc3339);
    }
    if metadata.is_some() {
        check.kind("envelope.metadata", metadata, ValueKind::Object.name(), |kind| kind == ValueKind::Object);
    }
    if check
        .kind("envelope.permissions", permissions, ValueKind::Object.name(), |kind| kind == ValueKind::Object)
    {
        let ([models, tools], stranger) = pick_members(permissions, ["allowed_models", "allowed_tools"]);
        check.strings("envelope.permissions.allowed_models", models);
        check.strings("envelope.permissions.allowed_tools", tools);
        check.report_unknown_member("envelope.permissions", stranger);
    }
    if check.kind("envelope.limits", limits, ValueKind::Object.name(), |kind| kind == ValueKind::Object) {
        let ([steps, spend, rate], stranger) =
            pick_members(limits, ["max_steps", "max_spend_usd", "rate_limit_rpm"]);
        check.optional_whole("envelope.limits.max_steps", steps);
        check.optional_whole("envelope.limits.rate_limit_rpm", rate);
        if let Some(spend) = spend
            && check.kind("envelope.limits.max_spend_usd", Some(spend), "a number", |kind| {
                kind == ValueKind::Number
            })
            && !spend.double().is_some_and(|dollars| dollars >= 0.0)
        {
            check.report_fault(
                "envelope.limits.max_spend_usd",
                RerStructureProblem::Value { wanted: "0 or more" },
            );
        }
        check.report_unknown_member("envelope.limits", stranger);
    }
    check.report_unknown_member("envelope", stranger);
    // An envelope of 0.1 has no approvals; one of an unknown version is checked against 0.2, the larger of the two.
    for (name, value) in
        [("envelope.required_approvals", approvals), ("envelope.required_signer_types", signers)]
    {
        if value.is_some() && known == Some(RerVersion::V01) {
            check.report_fault(name, RerStructureProblem::NotIn01);
        }
    }
    if known != Some(RerVersion::V01) {
        check_approval_rules(approvals, check.report);
        check_signer_types(signers, "envelope.required_signer_types", RerPath::Element, report);
    }
}

fn check_approval_rules(rules: Option<Value<'_>>, report: RerFaultSink<'_>) {
    const LIST: &str = "envelope.required_approvals";
    let Some(rules) = rules else { return };
    let mut check = RerMemberChecker { to_path: RerPath::Member, report };
    if !check.kind(LIST, Some(rules), ValueKind::Array.name(), |kind| kind == ValueKind::Array) {
        return;
    }
    for (index, rule) in rules.elements().enumerate() {
        if rule.kind() != ValueKind::Object {
            let problem =
                RerStructureProblem::Kind { wanted: ValueKind::Object.name(), found: rule.kind().name() };
            return report(RerStructureFault { path: RerPath::Element(LIST, index), problem });
        }
        let names = ["action", "tool_pattern", "model_pattern", "signer_types"];
        let ([action, tool, model, signers], stranger) = pick_members(Some(rule), names);
        let mut check =
            RerMemberChecker { to_path: |member| RerPath::ElementMember(LIST, index, member), report };
        check.kind("action", action, "a string", |kind| kind == ValueKind::String);
        for (name, pattern) in [("tool_pattern", tool), ("model_pattern", model)] {
            if pattern.is_some() {
                check.kind(name, pattern, "a string", |kind| kind == ValueKind::String);
            }
        }
        if let Some(name) = stranger {
            report(RerStructureFault { path: RerPath::Element(LIST, index), problem: unknown_member(name) });
        }
        // One path for each rule is enough: the list in it is short, and the rule is named.
        check_signer_types(
            signers,
            "signer_types",
            |_, _| RerPath::ElementMember(LIST, index, "signer_types"),
            report,
        );
    }
}

/// Checks a list of kinds of approver (§5.1.1): each is "human", "delegate" or "automated".
fn check_signer_types(
    types: Option<Value<'_>>,
    name: &'static str,
    to_path: impl Fn(&'static str, usize) -> RerPath,
    report: RerFaultSink<'_>,
) {
    let Some(types) = types else { return };
    if types.kind() != ValueKind::Array {
        let problem =
            RerStructureProblem::Kind { wanted: ValueKind::Array.name(), found: types.kind().name() };
        let path = match to_path(name, 0) {
            RerPath::Element(path, _) => RerPath::Member(path),
            inner => inner,
        };
        return report(RerStructureFault { path, problem });
    }
    let is_known =
        |value: &Value<'_>| ["human", "delegate", "automated"].iter().any(|known| value.is_string(known));
    if let Some(index) = types.elements().position(|value| !is_known(&value)) {
        let problem = RerStructureProblem::Value { wanted: "\"human\", \"delegate\" or \"automated\"" };
        report(RerStructureFault { path: to_path(name, index), problem });
    }
}

/// Returns true for `[a-z0-9_]+(\.[a-z0-9_]+)+`.
fn is_event_type(text: &[u8]) -> bool {
    let is_word = |word: &[u8]| {
        !word.is_empty() && word.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    };
    text.contains(&b'.') && text.split(|&byte| byte == b'.').all(is_word)
}

/// Returns the members of these names, and the first name that is none of them.
fn pick_members<'a, const N: usize>(
    object: Option<Value<'a>>,
    names: [&str; N],
) -> ([Option<Value<'a>>; N], Option<Value<'a>>) {
    let mut found = [None; N];
    let mut stranger = None;
    for (name, value) in object.into_iter().flat_map(|object| object.members()) {
        match names.iter().position(|known| name.is_string(known)) {
            Some(at) => found[at] = Some(value),
            None => {
                stranger.get_or_insert(name);
            }
        }
    }
    (found, stranger)
}

fn unknown_member(name: Value<'_>) -> RerStructureProblem {
    RerStructureProblem::Unknown { name: name.string().unwrap_or_default().chars().take(60).collect() }
}

/// Checks of single members; faults go to `report`, under paths that `to_path` makes.
struct RerMemberChecker<'r, P> {
    to_path: P,
    report: RerFaultSink<'r>,
}

impl<P: Fn(&'static str) -> RerPath> RerMemberChecker<'_, P> {
    fn report_fault(&mut self, member: &'static str, problem: RerStructureProblem) {
        (self.report)(RerStructureFault { path: (self.to_path)(member), problem });
    }

    fn report_unknown_member(&mut self, object: &'static str, name: Option<Value<'_>>) {
        if let Some(name) = name {
            self.report_fault(object, unknown_member(name));
        }
    }

    /// Checks a required member's kind; returns true if it is present and of that kind.
    fn kind(
        &mut self,
        member: &'static str,
        value: Option<Value<'_>>,
        wanted: &'static str,
        is_wanted: impl Fn(ValueKind) -> bool,
    ) -> bool {
        match value {
            Some(value) if is_wanted(value.kind()) => return true,
            Some(value) => {
                self.report_fault(member, RerStructureProblem::Kind { wanted, found: value.kind().name() })
            }
            None => self.report_fault(member, RerStructureProblem::Missing),
        }
        false
    }

    /// Checks a required string with `is_wanted`.
    fn matches(
        &mut self,
        member: &'static str,
        value: Option<Value<'_>>,
        wanted: &'static str,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) {
        if self.kind(member, value, wanted, |kind| kind == ValueKind::String)
            && value.and_then(|value| value.with_string_bytes(is_wanted)) != Some(true)
        {
            self.report_fault(member, RerStructureProblem::Value { wanted });
        }
    }

    fn hex(&mut self, member: &'static str, value: Option<Value<'_>>, length: usize, wanted: &'static str) {
        self.matches(member, value, wanted, |text| {
            // No early exit, so that the compiler compares many bytes at once.
            let is_digit = |byte: &u8| byte.is_ascii_digit() | (b'a'..=b'f').contains(byte);
            text.len() == length && text.iter().fold(true, |all, byte| all & is_digit(byte))
        });
    }

    fn whole(&mut self, member: &'static str, value: Option<Value<'_>>, wanted: &'static str, least: u64) {
        if self.kind(member, value, wanted, |kind| kind == ValueKind::Number)
            && value.and_then(|value| value.unsigned_integer()).is_none_or(|number| number < least)
        {
            self.report_fault(member, RerStructureProblem::Value { wanted });
        }
    }

    fn optional_whole(&mut self, member: &'static str, value: Option<Value<'_>>) {
        if value.is_some() {
            self.whole(member, value, "a whole number of 1 or more", 1);
        }
    }

    /// Checks a required list of strings.
    fn strings(&mut self, member: &'static str, value: Option<Value<'_>>) {
        if !self.kind(member, value, ValueKind::Array.name(), |kind| kind == ValueKind::Array) {
            return;
        }
        let mut elements = value.into_iter().flat_map(|list| list.elements()).enumerate();
        if let Some((index, stranger)) = elements.find(|(_, element)| element.kind() != ValueKind::String) {
            let problem = RerStructureProblem::Kind { wanted: "a string", found: stranger.kind().name() };
            (self.report)(RerStructureFault { path: RerPath::Element(member, index), problem });
        }
    }
}
