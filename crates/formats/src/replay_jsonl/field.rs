//! Rules for each member of each event.
//!
//! Widths of integers are those of the reference's own types and part of the contract: a number that does not fit
//! there makes the reference drop the line. Start reading at [`faults`].

use reenact_json::{Digest, Value, ValueKind};

use super::event::{ReplayJsonlEventKind, ReplayJsonlEventView, ReplayJsonlField};
use super::timestamp::TimestampCache;
use crate::rer::RerStructureProblem;

/// Member that breaks its rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {problem}", .field.name())]
pub struct FieldFault {
    /// Field with the fault.
    pub field: ReplayJsonlField,
    /// Fault of its value.
    pub problem: RerStructureProblem,
}

/// Rule for the value of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldRule {
    Any,
    Text,
    /// A text that could be the name of a folder, because the reference makes it one.
    FolderName,
    Time,
    Hash,
    Unsigned8,
    Unsigned64,
    Signed32,
    Signed32OrNull,
    Signed64OrNull,
    Single,
    Utility,
    StepStatus,
    SessionStatus,
    Texts,
    Signed32s,
}

/// Member of an event: its field, its rule, and true if it is required.
type FieldSpec = (ReplayJsonlField, FieldRule, bool);

/// Returns the members of each event. `policy_version` and `policy_bundle_id` are one member under two names.
fn field_specs(kind: ReplayJsonlEventKind) -> &'static [FieldSpec] {
    use FieldRule as R;
    use ReplayJsonlField as F;
    match kind {
        ReplayJsonlEventKind::ReplayHeader => &[
            (F::ReplayVersion, R::Unsigned8, true),
            (F::Producer, R::Text, true),
            (F::CreatedAt, R::Time, true),
        ],
        ReplayJsonlEventKind::SessionStart => &[
            (F::T, R::Time, true),
            (F::SessionId, R::FolderName, true),
            (F::IssueNumber, R::Signed64OrNull, false),
            (F::PolicyBundleId, R::Text, false),
            (F::PolicyVersion, R::Text, false),
        ],
        ReplayJsonlEventKind::PlanStart => {
            &[(F::T, R::Time, true), (F::PlanHash, R::Hash, true), (F::StepCount, R::Unsigned64, true)]
        }
        ReplayJsonlEventKind::ToolCall => &[
            (F::T, R::Time, true),
            (F::Id, R::Text, true),
            (F::Tool, R::Text, true),
            // Published logs leave params out and keep their hash.
            (F::Params, R::Any, false),
            (F::ParamsHash, R::Hash, true),
            (F::StepId, R::Text, true),
        ],
        ReplayJsonlEventKind::ToolResult => &[
            (F::T, R::Time, true),
            (F::Id, R::Text, true),
            (F::OutputHash, R::Hash, true),
            (F::ExitCode, R::Signed32OrNull, false),
            (F::StepUtility, R::Utility, true),
            (F::LatencyMs, R::Unsigned64, true),
        ],
        ReplayJsonlEventKind::StepComplete => &[
            (F::T, R::Time, true),
            (F::StepId, R::Text, true),
            (F::Status, R::StepStatus, true),
            (F::Iterations, R::Unsigned8, true),
        ],
        ReplayJsonlEventKind::Verification => &[
            (F::T, R::Time, true),
            (F::Commands, R::Texts, true),
            (F::ExitCodes, R::Signed32s, true),
            (F::VerificationDelta, R::Signed32, true),
        ],
        ReplayJsonlEventKind::SessionEnd => &[
            (F::T, R::Time, true),
            (F::Status, R::SessionStatus, true),
            (F::Confidence, R::Single, true),
            (F::TotalToolCalls, R::Unsigned64, true),
            (F::TotalLatencyMs, R::Unsigned64, true),
        ],
    }
}

/// Members of a `ToolResult` whose value may be a placeholder, in alphabetical order. The format requires a value where
/// its producer may know none.
pub const PLACEHOLDER_MEMBERS: [ReplayJsonlField; 3] =
    [ReplayJsonlField::LatencyMs, ReplayJsonlField::OutputHash, ReplayJsonlField::StepUtility];

/// Returns true if the value of a member is a placeholder: `unknown`, a member that we add to a `ToolResult`, lists the
/// member's name. A value of `unknown` that is no such list is another producer's, and means nothing.
pub fn is_placeholder(unknown: Option<Value<'_>>, member: ReplayJsonlField) -> bool {
    let Some(list) = unknown.filter(|list| is_placeholder_list(*list)) else { return false };
    list.elements().any(|name| name.is_string(member.name()))
}

/// Returns true if a value is a list of [`PLACEHOLDER_MEMBERS`], at least one.
fn is_placeholder_list(value: Value<'_>) -> bool {
    let is_known = |name: Value<'_>| PLACEHOLDER_MEMBERS.iter().any(|member| name.is_string(member.name()));
    value.kind() == ValueKind::Array && value.elements().next().is_some() && value.elements().all(is_known)
}

/// Calls `report` with every fault of an event of that kind; returns the number of members that the kind does not
/// know.
pub fn faults(
    kind: ReplayJsonlEventKind,
    event: &ReplayJsonlEventView<'_>,
    clock: &mut TimestampCache,
    mut report: impl FnMut(FieldFault),
) -> u64 {
    let mut known = 0;
    for &(field, rule, is_required) in field_specs(kind) {
        match event.get(field) {
            Some(value) => {
                known += 1;
                if let Err(problem) = rule.check_value(value, clock) {
                    report(FieldFault { field, problem });
                }
            }
            None if is_required => report(FieldFault { field, problem: RerStructureProblem::Missing }),
            None => {}
        }
    }
    if kind == ReplayJsonlEventKind::SessionStart && policy(event).is_none() {
        report(FieldFault { field: ReplayJsonlField::PolicyVersion, problem: RerStructureProblem::Missing });
    }
    if kind == ReplayJsonlEventKind::ToolResult
        && event.get(ReplayJsonlField::Unknown).is_some_and(is_placeholder_list)
    {
        known += 1;
    }
    event.count().saturating_sub(known)
}

/// Returns the policy of a session: `policy_bundle_id`, or its older name `policy_version`.
pub fn policy<'a>(event: &ReplayJsonlEventView<'a>) -> Option<Value<'a>> {
    event.get(ReplayJsonlField::PolicyBundleId).or_else(|| event.get(ReplayJsonlField::PolicyVersion))
}

impl FieldRule {
    fn check_value(self, value: Value<'_>, clock: &mut TimestampCache) -> Result<(), RerStructureProblem> {
        let kind = |wanted| RerStructureProblem::Kind { wanted, found: value.kind().name() };
        let is =
            |holds: bool, wanted| if holds { Ok(()) } else { Err(RerStructureProblem::Value { wanted }) };
        match self {
            Self::Any => Ok(()),
            Self::Signed32OrNull | Self::Signed64OrNull if value.is_null() => Ok(()),
            Self::Text
            | Self::FolderName
            | Self::Time
            | Self::Hash
            | Self::StepStatus
            | Self::SessionStatus
                if value.kind() != ValueKind::String =>
            {
                Err(kind("a string"))
            }
            Self::Text => Ok(()),
            Self::FolderName => {
                is(value.string().is_some_and(|name| is_folder_name(&name)), "a name that a folder can have")
            }
            Self::Time => is(clock.instant(value).is_some(), "an RFC 3339 time"),
            Self::Hash => is(is_hash(value), "sha256: and 64 lower-case hexadecimal digits"),
            Self::StepStatus => is(
                ["Success", "Failed", "Skipped", "MaxIterationsReached"].iter().any(|s| value.is_string(s)),
                "Success, Failed, Skipped or MaxIterationsReached",
            ),
            Self::SessionStatus => is(
                ["Success", "Failed", "Cancelled", "Timeout", "success", "failure", "cancelled"]
                    .iter()
                    .any(|status| value.is_string(status)),
                "Success, Failed, Cancelled or Timeout",
            ),
            Self::Texts => check_list(value, "a list of strings", |item| item.kind() == ValueKind::String),
            Self::Signed32s => {
                check_list(value, "a list of integers of 32 bits", |item| signed32(item).is_some())
            }
            _ if value.kind() != ValueKind::Number => Err(kind("a number")),
            Self::Unsigned8 => {
                is(unsigned(value).is_some_and(|n| n <= u64::from(u8::MAX)), "an integer from 0 to 255")
            }
            Self::Unsigned64 => is(unsigned(value).is_some(), "an integer of 64 bits, not negative"),
            Self::Signed32 | Self::Signed32OrNull => is(signed32(value).is_some(), "an integer of 32 bits"),
            Self::Signed64OrNull => is(signed(value).is_some(), "an integer of 64 bits"),
            Self::Single => is(single_precision(value).is_some(), "a number of single precision"),
            Self::Utility => is(utility(value).is_some(), "a number from -1 to 1"),
        }
    }
}

fn check_list(
    value: Value<'_>,
    wanted: &'static str,
    is_good: impl Fn(Value<'_>) -> bool,
) -> Result<(), RerStructureProblem> {
    if value.kind() != ValueKind::Array {
        return Err(RerStructureProblem::Kind { wanted: "an array", found: value.kind().name() });
    }
    if value.elements().all(is_good) { Ok(()) } else { Err(RerStructureProblem::Value { wanted }) }
}

/// Returns true if a text can be the name of one folder, with no path in it.
pub fn is_folder_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\']) && !name.contains(char::is_control)
}

/// Reads an unsigned integer of 64 bits as the reference does: digits only.
pub fn unsigned(value: Value<'_>) -> Option<u64> {
    match value.short_integer() {
        Some(short) => Some(short),
        None => integer(value)?.parse().ok(),
    }
}

/// Reads a signed integer of 64 bits.
pub fn signed(value: Value<'_>) -> Option<i64> {
    integer(value)?.parse().ok()
}

/// Reads a signed integer of 32 bits.
pub fn signed32(value: Value<'_>) -> Option<i32> {
    integer(value)?.parse().ok()
}

fn integer<'a>(value: Value<'a>) -> Option<&'a str> {
    // `-0` is a double to the reference.
    let text = core::str::from_utf8(value.text()).ok()?;
    (value.kind() == ValueKind::Number && text != "-0").then_some(text)
}

/// Reads a number in single precision, in which all fractions are compared: one file prints 0.8, the other
/// 0.800000011920929.
pub fn single_precision(value: Value<'_>) -> Option<f32> {
    // Through the double, as the reference reads it.
    #[allow(clippy::cast_possible_truncation, reason = "rounding to single precision is the rule")]
    let single = value.double()? as f32;
    single.is_finite().then_some(single)
}

/// Reads a step's utility: a number from -1 to 1, the label that training uses.
pub fn utility(value: Value<'_>) -> Option<f32> {
    single_precision(value).filter(|utility| (-1.0..=1.0).contains(utility))
}

/// Returns true if a string is `sha256:` and 64 lower-case hexadecimal digits.
pub fn is_hash(value: Value<'_>) -> bool {
    value.with_string_bytes(|text| {
        let is_hex = |hex: &[u8]| {
            // No early exit, so that the compiler compares all digits at once.
            hex.iter().fold(true, |good, digit| good & matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        };
        text.len() == 71 && text.strip_prefix(b"sha256:").is_some_and(is_hex)
    }) == Some(true)
}

/// Returns true if a string is `sha256:` and the digits of `digest`.
pub fn is_hash_of(value: Value<'_>, digest: &Digest) -> bool {
    value.with_string_bytes(|text| text.strip_prefix(b"sha256:").is_some_and(|hex| digest.is_hex(hex)))
        == Some(true)
}

/// Parses a string `sha256:<64 lower-case hexadecimal digits>`.
pub fn digest(value: Value<'_>) -> Option<Digest> {
    value.with_string_bytes(|text| {
        let hex = core::str::from_utf8(text.strip_prefix(b"sha256:")?).ok()?;
        Digest::from_hex(hex)
    })?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reenact_json::Limits;

    fn read(text: &str) -> Option<u64> {
        unsigned(Value::parse(text.as_bytes(), &Limits::default()).unwrap())
    }

    #[test]
    fn integers_as_the_reference_reads_them() {
        for (text, expected) in [
            ("0", Some(0)),
            ("999999999999999", Some(999_999_999_999_999)),
            ("1000000000000000", Some(1_000_000_000_000_000)),
            ("18446744073709551615", Some(u64::MAX)),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for none in ["18446744073709551616", "-0", "-1", "1.0", "1e0", "\"1\"", "null", "[1]"] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn any_integer_is_read(number in any::<u64>(), digits in 0..20_u32) {
            let number = number / 10_u64.pow(digits);
            prop_assert_eq!(read(&number.to_string()), Some(number));
        }
    }
}
