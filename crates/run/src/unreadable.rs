//! Why a payload does not say what its event promises; and reading payloads member by member.

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::rer::payload::{MemberFault, PayloadMember};
use reenact_json::{Digest, Value, ValueKind};

use crate::event::{Event, EventPayload};

/// Why something cannot be read from a payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnreadablePayload {
    /// It was taken out of the record.
    #[error("the payload is withheld")]
    Withheld,
    /// The event carries nothing.
    #[error("there is no payload")]
    NoPayload,
    /// The record ends before the answer.
    #[error("no answer is recorded")]
    NoAnswer,
    /// An item of a format that knows no exchanges.
    #[error("the record holds no requests and answers")]
    NoExchange,
    /// An item of a format that knows no tools.
    #[error("the record holds no calls of tools")]
    NoTool,
    /// Something of which the record holds only the hash.
    #[error("only the hash of {member} is held ({digest})")]
    HashOnly {
        /// What it is.
        member: &'static str,
        /// Its SHA-256.
        digest: Digest,
    },
    /// Something that whoever recorded it left out.
    #[error("{member} was left out when it was recorded")]
    Omitted {
        /// What it is.
        member: &'static str,
    },
    /// A step that has none of the shapes that are known.
    #[error("the {member} has no shape that is known")]
    UnknownShape {
        /// Which part of it.
        member: &'static str,
    },
    /// A `$text` that holds no text of JSON.
    #[error("a \"$text\" in the payload holds no JSON")]
    InvalidTextMarker,
    /// A member that must be there is not.
    #[error("{member} is missing")]
    Missing {
        /// Its name.
        member: &'static str,
    },
    /// A member is of another type or range.
    #[error("{member} is {found}, not {wanted}")]
    Mistyped {
        /// Its name.
        member: &'static str,
        /// What stands there.
        found: &'static str,
        /// What should.
        wanted: &'static str,
    },
    /// A body that is neither text nor base64 nor a blob.
    #[error("{member} is none of text, base64 and blob")]
    UnknownBodyForm {
        /// Which body.
        member: &'static str,
    },
    /// A body whose base64 is none.
    #[error("{member} is not base64")]
    InvalidBase64 {
        /// Which body.
        member: &'static str,
    },
    /// A body that lies in a file beside the record.
    #[error("{member} lies in the blob {digest}, which is not part of this file")]
    BlobMissing {
        /// Which body.
        member: &'static str,
        /// The SHA-256 of the blob.
        digest: Digest,
    },
    /// Chunks that are not the body's.
    #[error("the chunks are {chunks} bytes together, the body is {body}")]
    ChunkLengths {
        /// The sum of the chunks.
        chunks: u64,
        /// The length of the body.
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

type PayloadResult<T> = Result<T, UnreadablePayload>;

/// The payload of an event, which must be an object.
pub(crate) fn payload_object<'r>(event: &Event<'r>) -> PayloadResult<Value<'r>> {
    match event.payload() {
        EventPayload::Withheld => Err(UnreadablePayload::Withheld),
        EventPayload::None => Err(UnreadablePayload::NoPayload),
        EventPayload::Present(value) if value.kind() == ValueKind::Object => Ok(value),
        EventPayload::Present(value) => Err(mistyped("the payload", value, "an object")),
    }
}

pub(crate) fn mistyped(member: &'static str, value: Value<'_>, wanted: &'static str) -> UnreadablePayload {
    UnreadablePayload::Mistyped { member, found: value.kind().name(), wanted }
}

/// The members of these names, found in one walk. `null` counts as absent: nothing that we read tells them apart.
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

/// A member that must be there.
pub(crate) fn required<'r>(member: &'static str, value: Option<Value<'r>>) -> PayloadResult<Value<'r>> {
    Ok(PayloadMember::new(member, value).required()?)
}

/// A string, if something is there.
pub(crate) fn optional_text<'r>(
    member: &'static str,
    value: Option<Value<'r>>,
) -> PayloadResult<Option<Cow<'r, str>>> {
    Ok(PayloadMember::new(member, value).text()?)
}

/// A string that must be there.
pub(crate) fn required_text<'r>(
    member: &'static str,
    value: Option<Value<'r>>,
) -> PayloadResult<Cow<'r, str>> {
    Ok(PayloadMember::new(member, value).required_text()?)
}

/// A number of milliseconds, if something is there.
pub(crate) fn optional_milliseconds(
    member: &'static str,
    value: Option<Value<'_>>,
) -> PayloadResult<Option<Duration>> {
    Ok(PayloadMember::new(member, value).milliseconds()?)
}
