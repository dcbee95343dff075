//! The published shape of artifacts, envelopes and events (§3 to §5), as check 1 asks for it.
//!
//! The versions are frozen, so a member that the format does not know is a fault of its own: at the root and in events no
//! hash covers it, and anyone could have added it. Only `metadata` and `payload` are open.

use core::fmt;

use reenact_json::{Kind, Shown, Value};

use super::{EventView, Head, Item, Version, time};
use crate::key::KeyId;

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
    /// A member of the artifact, the runtime or the envelope.
    Member(&'static str),
    /// An element of a list in the envelope.
    Element(&'static str, usize),
    /// A member of an element of a list in the envelope.
    ElementMember(&'static str, usize, &'static str),
    /// A whole event.
    Event(usize),
    /// A member of an event.
    EventMember(usize, &'static str),
}

impl fmt::Display for Place {
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
    /// A member name that the format does not know.
    #[error("unknown member \"{}\"", Shown::new(.name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// A member of version 0.2 in version 0.1.
    #[error("does not belong into version 0.1")]
    NotIn01,
    /// A payload beside the statement that it is withheld.
    #[error("is there although payload_redacted is true")]
    PayloadOfRedacted,
    /// A sub-record of another version than the artifact's (§3.1).
    #[error("is of version {found} in an artifact of version {artifact}")]
    MixedVersions {
        /// The sub-record's.
        found: &'static str,
        /// The artifact's.
        artifact: &'static str,
    },
    /// A version that this verifier does not know (§11.6).
    #[error("is not a version known here; known are 0.1 and 0.2")]
    UnknownVersion,
}

/// Takes faults as they are found.
pub type Report<'r> = &'r mut dyn FnMut(StructureFault);

const HEX64: &str = "64 lower-case hexadecimal digits";
const HEX128: &str = "128 lower-case hexadecimal digits";

/// The faults of one element of `events`. Its version is not compared here: the artifact's may not be known yet.
pub fn event(index: usize, item: &Item<'_>, report: Report<'_>) {
    let event = match item {
        Item::Event(event) => event,
        Item::NotAnObject(kind) => {
            let problem = Problem::Kind { wanted: Kind::Object.name(), found: kind.name() };
            return report(StructureFault { place: Place::Event(index), problem });
        }
    };
    let mut check = Check { place: |member| Place::EventMember(index, member), report };
    check.matches("event_version", event.event_version, "\"rer-event/0.1\" or \"rer-event/0.2\"", |text| {
        Version::ALL.iter().any(|version| version.event().as_bytes() == text)
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
        matches!(kind, Kind::True | Kind::False)
    });
    check.hex("payload_hash", event.payload_hash, 64, HEX64);
    check.hex("event_hash", event.event_hash, 64, HEX64);
    if event.is_redacted() && event.payload.is_some() {
        check.fault("payload", Problem::PayloadOfRedacted);
    }
    if let Some(name) = event.unknown {
        report(StructureFault { place: Place::Event(index), problem: unknown(name) });
    }
}

/// The fault of an event of another version than its artifact.
pub fn event_version(index: usize, event: &EventView<'_>, artifact: Version) -> Option<StructureFault> {
    let found = Version::of(event.event_version, Version::event)?;
    mixed(Place::EventMember(index, "event_version"), found, artifact)
}

/// The fault of a sub-record of version `found` in an artifact of version `artifact`.
pub fn mixed(place: Place, found: Version, artifact: Version) -> Option<StructureFault> {
    (found != artifact).then(|| StructureFault {
        place,
        problem: Problem::MixedVersions { found: found.number(), artifact: artifact.number() },
    })
}

/// The faults of all that is not an event.
pub fn head(head: &Head<'_>, report: Report<'_>) {
    let version = head.version();
    let mut check = Check { place: Place::Member, report };
    if check.kind("artifact_version", head.artifact_version, "a string", |kind| kind == Kind::String)
        && version.is_none()
    {
        check.fault("artifact_version", Problem::UnknownVersion);
    }
    check.kind("run_id", head.run_id, "a string", |kind| kind == Kind::String);
    check.hex("envelope_hash", head.envelope_hash, 64, HEX64);
    check.hex("log_head_hash", head.log_head_hash, 64, HEX64);
    check.hex("runtime_signature", head.runtime_signature, 128, HEX128);
    match (version, head.manifest_hash) {
        (Some(Version::V01), Some(_)) => check.fault("manifest_hash", Problem::NotIn01),
        (Some(Version::V02), None) => check.fault("manifest_hash", Problem::Missing),
        (_, Some(hash)) if !hash.is_null() => {
            check.hex("manifest_hash", Some(hash), 64, "null or 64 lower-case hexadecimal digits");
        }
        _ => {}
    }
    match head.events {
        None => check.fault("events", Problem::Missing),
        Some(Kind::Array) => {}
        Some(kind) => check.fault("events", Problem::Kind { wanted: Kind::Array.name(), found: kind.name() }),
    }
    if let Some(name) = head.unknown {
        check.fault("", unknown(name));
    }
    if check.kind("runtime", head.runtime, Kind::Object.name(), |kind| kind == Kind::Object) {
        runtime(head.runtime, check.report);
    }
    let mut check = Check { place: Place::Member, report };
    if check.kind("envelope", head.envelope, Kind::Object.name(), |kind| kind == Kind::Object) {
        envelope(head.envelope, version, check.report);
    }
}

fn runtime(runtime: Option<Value<'_>>, report: Report<'_>) {
    let names = ["implementation", "version", "key_id", "algorithm"];
    let ([implementation, version, key_id, algorithm], stranger) = members(runtime, names);
    let mut check = Check { place: Place::Member, report };
    check.kind("runtime.implementation", implementation, "a string", |kind| kind == Kind::String);
    check.kind("runtime.version", version, "a string", |kind| kind == Kind::String);
    check.matches("runtime.key_id", key_id, "43 characters of base64url, the SHA-256 of a key", |text| {
        core::str::from_utf8(text).ok().and_then(KeyId::parse).is_some()
    });
    check.matches("runtime.algorithm", algorithm, "\"Ed25519\"", |text| text == b"Ed25519");
    check.stranger("runtime", stranger);
}

/// The faults of an envelope, which should be of the version `artifact`.
pub fn envelope(envelope: Option<Value<'_>>, artifact: Option<Version>, report: Report<'_>) {
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
        members(envelope, names);
    let mut check = Check { place: Place::Member, report };
    let known = Version::of(version, Version::envelope);
    if check.kind("envelope.envelope_version", version, "a string", |kind| kind == Kind::String) {
        match (known, artifact) {
            (None, _) => check.fault("envelope.envelope_version", Problem::UnknownVersion),
            (Some(found), Some(artifact)) => {
                let fault = mixed(Place::Member("envelope.envelope_version"), found, artifact);
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
        check.kind("envelope.metadata", metadata, Kind::Object.name(), |kind| kind == Kind::Object);
    }
    if check.kind("envelope.permissions", permissions, Kind::Object.name(), |kind| kind == Kind::Object) {
        let ([models, tools], stranger) = members(permissions, ["allowed_models", "allowed_tools"]);
        check.strings("envelope.permissions.allowed_models", models);
        check.strings("envelope.permissions.allowed_tools", tools);
        check.stranger("envelope.permissions", stranger);
    }
    if check.kind("envelope.limits", limits, Kind::Object.name(), |kind| kind == Kind::Object) {
        let ([steps, spend, rate], stranger) =
            members(limits, ["max_steps", "max_spend_usd", "rate_limit_rpm"]);
        check.optional_whole("envelope.limits.max_steps", steps);
        check.optional_whole("envelope.limits.rate_limit_rpm", rate);
        if let Some(spend) = spend
            && check
                .kind("envelope.limits.max_spend_usd", Some(spend), "a number", |kind| kind == Kind::Number)
            && !spend.double().is_some_and(|dollars| dollars >= 0.0)
        {
            check.fault("envelope.limits.max_spend_usd", Problem::Value { wanted: "0 or more" });
        }
        check.stranger("envelope.limits", stranger);
    }
    check.stranger("envelope", stranger);
    // An envelope of 0.1 has no approvals; one of an unknown version is held against 0.2, the larger of the two.
    for (name, value) in
        [("envelope.required_approvals", approvals), ("envelope.required_signer_types", signers)]
    {
        if value.is_some() && known == Some(Version::V01) {
            check.fault(name, Problem::NotIn01);
        }
    }
    if known != Some(Version::V01) {
        approval_rules(approvals, check.report);
        signer_types(signers, "envelope.required_signer_types", Place::Element, report);
    }
}

fn approval_rules(rules: Option<Value<'_>>, report: Report<'_>) {
    const LIST: &str = "envelope.required_approvals";
    let Some(rules) = rules else { return };
    let mut check = Check { place: Place::Member, report };
    if !check.kind(LIST, Some(rules), Kind::Array.name(), |kind| kind == Kind::Array) {
        return;
    }
    for (index, rule) in rules.elements().enumerate() {
        if rule.kind() != Kind::Object {
            let problem = Problem::Kind { wanted: Kind::Object.name(), found: rule.kind().name() };
            return report(StructureFault { place: Place::Element(LIST, index), problem });
        }
        let names = ["action", "tool_pattern", "model_pattern", "signer_types"];
        let ([action, tool, model, signers], stranger) = members(Some(rule), names);
        let mut check = Check { place: |member| Place::ElementMember(LIST, index, member), report };
        check.kind("action", action, "a string", |kind| kind == Kind::String);
        for (name, pattern) in [("tool_pattern", tool), ("model_pattern", model)] {
            if pattern.is_some() {
                check.kind(name, pattern, "a string", |kind| kind == Kind::String);
            }
        }
        if let Some(name) = stranger {
            report(StructureFault { place: Place::Element(LIST, index), problem: unknown(name) });
        }
        // One place a rule is enough: the list in it is short, and the rule is named.
        signer_types(
            signers,
            "signer_types",
            |_, _| Place::ElementMember(LIST, index, "signer_types"),
            report,
        );
    }
}

/// §5.1.1: each of "human", "delegate", "automated".
fn signer_types(
    types: Option<Value<'_>>,
    name: &'static str,
    place: impl Fn(&'static str, usize) -> Place,
    report: Report<'_>,
) {
    let Some(types) = types else { return };
    if types.kind() != Kind::Array {
        let problem = Problem::Kind { wanted: Kind::Array.name(), found: types.kind().name() };
        let place = match place(name, 0) {
            Place::Element(path, _) => Place::Member(path),
            inner => inner,
        };
        return report(StructureFault { place, problem });
    }
    let is_known =
        |value: &Value<'_>| ["human", "delegate", "automated"].iter().any(|known| value.is_string(known));
    if let Some(index) = types.elements().position(|value| !is_known(&value)) {
        let problem = Problem::Value { wanted: "\"human\", \"delegate\" or \"automated\"" };
        report(StructureFault { place: place(name, index), problem });
    }
}

/// `[a-z0-9_]+(\.[a-z0-9_]+)+`
fn is_event_type(text: &[u8]) -> bool {
    let is_word = |word: &[u8]| {
        !word.is_empty() && word.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    };
    text.contains(&b'.') && text.split(|&byte| byte == b'.').all(is_word)
}

/// The members of these names, and the first name that is none of them.
fn members<'a, const N: usize>(
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

fn unknown(name: Value<'_>) -> Problem {
    Problem::Unknown { name: name.string().unwrap_or_default().chars().take(60).collect() }
}

/// The rules that several members share.
struct Check<'r, P> {
    place: P,
    report: Report<'r>,
}

impl<P: Fn(&'static str) -> Place> Check<'_, P> {
    fn fault(&mut self, member: &'static str, problem: Problem) {
        (self.report)(StructureFault { place: (self.place)(member), problem });
    }

    fn stranger(&mut self, object: &'static str, name: Option<Value<'_>>) {
        if let Some(name) = name {
            self.fault(object, unknown(name));
        }
    }

    /// A required member of a kind. Says whether it is one.
    fn kind(
        &mut self,
        member: &'static str,
        value: Option<Value<'_>>,
        wanted: &'static str,
        is_wanted: impl Fn(Kind) -> bool,
    ) -> bool {
        match value {
            Some(value) if is_wanted(value.kind()) => return true,
            Some(value) => self.fault(member, Problem::Kind { wanted, found: value.kind().name() }),
            None => self.fault(member, Problem::Missing),
        }
        false
    }

    /// A required string that passes a test.
    fn matches(
        &mut self,
        member: &'static str,
        value: Option<Value<'_>>,
        wanted: &'static str,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) {
        if self.kind(member, value, wanted, |kind| kind == Kind::String)
            && value.and_then(|value| value.read_string(is_wanted)) != Some(true)
        {
            self.fault(member, Problem::Value { wanted });
        }
    }

    fn hex(&mut self, member: &'static str, value: Option<Value<'_>>, length: usize, wanted: &'static str) {
        self.matches(member, value, wanted, |text| {
            // Without an early exit, so that it runs on many bytes at once.
            let is_digit = |byte: &u8| byte.is_ascii_digit() | (b'a'..=b'f').contains(byte);
            text.len() == length && text.iter().fold(true, |all, byte| all & is_digit(byte))
        });
    }

    fn whole(&mut self, member: &'static str, value: Option<Value<'_>>, wanted: &'static str, least: u64) {
        if self.kind(member, value, wanted, |kind| kind == Kind::Number)
            && value.and_then(|value| value.whole()).is_none_or(|number| number < least)
        {
            self.fault(member, Problem::Value { wanted });
        }
    }

    fn optional_whole(&mut self, member: &'static str, value: Option<Value<'_>>) {
        if value.is_some() {
            self.whole(member, value, "a whole number of 1 or more", 1);
        }
    }

    /// A required list of strings.
    fn strings(&mut self, member: &'static str, value: Option<Value<'_>>) {
        if !self.kind(member, value, Kind::Array.name(), |kind| kind == Kind::Array) {
            return;
        }
        let mut elements = value.into_iter().flat_map(|list| list.elements()).enumerate();
        if let Some((index, stranger)) = elements.find(|(_, element)| element.kind() != Kind::String) {
            let problem = Problem::Kind { wanted: "a string", found: stranger.kind().name() };
            (self.report)(StructureFault { place: Place::Element(member, index), problem });
        }
    }
}
