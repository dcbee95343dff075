//! Errors of payloads that do not hold what their event type promises, and functions that read payloads member
//! by member.

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::rer::payload::{MemberFault, PayloadMember};
use reenact_json::{Digest, Value, ValueKind};

use crate::event::{Event, EventPayload};

/// Reason why something cannot be read from a payload. `member` fields name a member, such as `http.body`, or
/// describe it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnreadablePayload {
    /// The payload was withheld.
    #[error("the payload is withheld")]
    Withheld,
    /// The event has no payload.
    #[error("there is no payload")]
    NoPayload,
    /// No answer is recorded.
    #[error("no answer is recorded")]
    NoAnswer,
    /// The item is of a format, or of a kind, that holds no exchanges.
    #[error("the record holds no requests and answers")]
    NoExchange,
    /// The item is of a format that holds no tool calls.
    #[error("the record holds no calls of tools")]
    NoTool,
    /// The record holds only the hash of a member.
    #[error("only the hash of {member} is held ({digest})")]
    HashOnly {
        /// Name of the member.
        member: &'static str,
        /// SHA-256 of the member.
        digest: Digest,
    },
    /// The recorder left the member out.
    #[error("{member} was left out when it was recorded")]
    Omitted {
        /// Name of the member.
        member: &'static str,
    },
    /// A step of an `.rpk` has none of the known shapes.
    #[error("the {member} has no shape that is known")]
    UnknownShape {
        /// Part of the step: `input` or `output`.
        member: &'static str,
    },
    /// A `$text` does not hold JSON.
    #[error("a \"$text\" in the payload holds no JSON")]
    InvalidTextMarker,
    /// A required member is missing.
    #[error("{member} is missing")]
    Missing {
        /// Name of the member.
        member: &'static str,
    },
    /// A member has another type, or is out of range.
    #[error("{member} is {found}, not {wanted}")]
    Mistyped {
        /// Name of the member.
        member: &'static str,
        /// Type that was found.
        found: &'static str,
        /// Type or value that is expected.
        wanted: &'static str,
    },
    /// A body is neither text nor Base64 nor a blob.
    #[error("{member} is none of text, base64 and blob")]
    UnknownBodyForm {
        /// Name of the body.
        member: &'static str,
    },
    /// A body is not valid Base64.
    #[error("{member} is not base64")]
    InvalidBase64 {
        /// Name of the body.
        member: &'static str,
    },
    /// A body lies in a blob that is not part of the record, or whose content has another digest.
    #[error("{member} lies in the blob {digest}, which is not part of this file")]
    BlobMissing {
        /// Name of the body.
        member: &'static str,
        /// SHA-256 of the blob.
        digest: Digest,
    },
    /// The lengths of the chunks do not add up to the body.
    #[error("the chunks are {chunks} bytes together, the body is {body}")]
    ChunkLengths {
        /// Sum of the chunk lengths, in bytes.
        chunks: u64,
        /// Length of the body, in bytes.
        body: u64,
    },
}

impl From<MemberFault> for UnreadablePayload {
    fn from(fault: MemberFault) -> Self {
        match fault {
            MemberFault::Missing { member } => Self::Missing { member },
            MemberFault::Mistyped { member, found, wanted } => Self::Mistyped { member, found, wanted },
        }
    }
}

/// Result of reading a payload.
type PayloadResult<T> = Result<T, UnreadablePayload>;

/// Returns the payload of an event, which must be a JSON object.
pub(crate) fn payload_object<'r>(event: &Event<'r>) -> PayloadResult<Value<'r>> {
    match event.payload() {
        EventPayload::Withheld => Err(UnreadablePayload::Withheld),
        EventPayload::None => Err(UnreadablePayload::NoPayload),
        EventPayload::Present(value) if value.kind() == ValueKind::Object => Ok(value),
        EventPayload::Present(value) => Err(mistyped("the payload", value, "an object")),
    }
}

/// Returns the error for a member that has another type than `wanted`.
pub(crate) fn mistyped(member: &'static str, value: Value<'_>, wanted: &'static str) -> UnreadablePayload {
    UnreadablePayload::Mistyped { member, found: value.kind().name(), wanted }
}

/// Returns the members of these names, found in one walk over the object. `null` counts as absent, since no
/// format that is read here tells the two apart.
pub(crate) fn pick_members<'r, const N: usize>(
    object: Value<'r>,
    names: [&str; N],
) -> [Option<Value<'r>>; N] {
    let mut found = [None; N];
    for (name, value) in object.members() {
        if let Some(at) = names.iter().position(|wanted| name.is_string(wanted)) {
            found[at] = Some(value).filter(|value| !value.is_null());
        }
    }
    found
}

/// Returns a member that must be there.
pub(crate) fn required<'r>(member: &'static str, value: Option<Value<'r>>) -> PayloadResult<Value<'r>> {
    Ok(PayloadMember::new(member, value).required()?)
}

/// Returns a string, if there is a member.
pub(crate) fn optional_text<'r>(
    member: &'static str,
    value: Option<Value<'r>>,
) -> PayloadResult<Option<Cow<'r, str>>> {
    Ok(PayloadMember::new(member, value).text()?)
}

/// Returns a string that must be there.
pub(crate) fn required_text<'r>(
    member: &'static str,
    value: Option<Value<'r>>,
) -> PayloadResult<Cow<'r, str>> {
    Ok(PayloadMember::new(member, value).required_text()?)
}

/// Returns a duration given in milliseconds, if there is a member.
pub(crate) fn optional_milliseconds(
    member: &'static str,
    value: Option<Value<'_>>,
) -> PayloadResult<Option<Duration>> {
    Ok(PayloadMember::new(member, value).milliseconds()?)
}
