//! Bodies and headers as payloads keep them.

use std::borrow::Cow;

use base64ct::{Base64, Encoding};
use reenact_json::{Digest, Value, ValueKind};

use crate::run::RunInner;
use crate::unreadable::{UnreadablePayload, mistyped, pick_members, required};

/// Headers in their order: names and values, as recorded.
pub type RecordedHeaders = Vec<(String, String)>;

/// The bytes of a body: `{"text"}`, `{"base64"}`, or `{"blob"}` where the blob is in the same bundle.
pub(crate) fn read_bytes<'r>(
    member: &'static str,
    body: Value<'r>,
    run: &'r RunInner,
) -> Result<Cow<'r, [u8]>, UnreadablePayload> {
    match read_inline_bytes(member, body) {
        // What a name says is not what a file holds.
        Err(UnreadablePayload::BlobMissing { digest, .. }) => run
            .file(&format!("blobs/{digest}.bin"))
            .filter(|blob| Digest::of(blob) == digest)
            .map(Cow::Borrowed)
            .ok_or(UnreadablePayload::BlobMissing { member, digest }),
        read => read,
    }
}

/// The bytes of a body that lie in the payload itself.
pub(crate) fn read_inline_bytes<'r>(
    member: &'static str,
    body: Value<'r>,
) -> Result<Cow<'r, [u8]>, UnreadablePayload> {
    if body.kind() != ValueKind::Object {
        return Err(mistyped(member, body, "an object"));
    }
    let [text, base64, blob] = pick_members(body, ["text", "base64", "blob"]);
    if let Some(text) = text {
        return text.string_bytes().ok_or_else(|| mistyped(member, text, "a text"));
    }
    if let Some(base64) = base64 {
        let decoded =
            base64.with_string_bytes(|text| Base64::decode_vec(core::str::from_utf8(text).ok()?).ok());
        return Ok(Cow::Owned(decoded.flatten().ok_or(UnreadablePayload::InvalidBase64 { member })?));
    }
    let digest = blob.and_then(|blob| Digest::from_hex(&blob.string()?));
    Err(digest.map_or(UnreadablePayload::UnknownBodyForm { member }, |digest| {
        UnreadablePayload::BlobMissing { member, digest }
    }))
}

/// A list of pairs of strings.
pub(crate) fn read_headers(
    member: &'static str,
    headers: Option<Value<'_>>,
) -> Result<RecordedHeaders, UnreadablePayload> {
    let headers = required(member, headers)?;
    if headers.kind() != ValueKind::Array {
        return Err(mistyped(member, headers, "an array"));
    }
    let pair = |pair: Value<'_>| {
        let mut words = pair.elements();
        let read = (words.next()?.string()?.into_owned(), words.next()?.string()?.into_owned());
        words.next().is_none().then_some(read)
    };
    headers
        .elements()
        .map(|header| pair(header).ok_or_else(|| mistyped(member, header, "a name and a value")))
        .collect()
}

/// The value of a header, by its name in lower case.
pub fn header<'h>(headers: &'h RecordedHeaders, name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
