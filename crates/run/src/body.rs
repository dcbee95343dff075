//! Bodies and headers as payloads of RER keep them.
//!
//! A body is `{"text":"…"}` if it is UTF-8, `{"base64":"…"}` if it is not, or `{"blob":"<sha256>"}` if it lies
//! in a file of the bundle; headers are `[["name","value"], …]`.

use std::borrow::Cow;

use base64ct::{Base64, Encoding};
use reenact_json::{Digest, Value, ValueKind};

use crate::run::RunInner;
use crate::unreadable::{UnreadablePayload, mistyped, pick_members, required};

/// Headers in their order, as pairs of name and value.
pub type RecordedHeaders = Vec<(String, String)>;

/// Returns the bytes of a body: `{"text"}`, `{"base64"}`, or `{"blob"}` if the blob is in the same bundle.
///
/// # Errors
/// [`UnreadablePayload::BlobMissing`] if the blob is not in the bundle, or its content has another digest.
pub(crate) fn read_bytes<'r>(
    member: &'static str,
    body: Value<'r>,
    run: &'r RunInner,
) -> Result<Cow<'r, [u8]>, UnreadablePayload> {
    match read_inline_bytes(member, body) {
        // The name of a file proves nothing about its content, so the digest is computed.
        Err(UnreadablePayload::BlobMissing { digest, .. }) => run
            .file(&format!("blobs/{digest}.bin"))
            .filter(|blob| Digest::of(blob) == digest)
            .map(Cow::Borrowed)
            .ok_or(UnreadablePayload::BlobMissing { member, digest }),
        read => read,
    }
}

/// Returns the bytes of a body that lies in the payload itself, as text or Base64.
///
/// # Errors
/// [`UnreadablePayload::BlobMissing`] for a body that lies in a blob; else if the body has none of the three
/// forms.
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

/// Reads headers: a list of pairs of strings.
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

/// Returns the value of the first header of a name; upper and lower case are the same.
pub fn header<'h>(headers: &'h RecordedHeaders, name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
