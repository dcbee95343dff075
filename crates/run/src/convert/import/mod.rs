//! Import of any format into RER, without loss.
//!
//! The first event holds the document around the items, each item is an event of its own type, and the last
//! event ends the run. A document without the list of items that its format has lies in the first event as a
//! whole.
//!
//! The member `import` of the first event's payload:
//!
//! ```json
//! {"beside":[{"body":{"text":"…"},"name":"RECEIPT.json"}],"digest":"sha256:…","document":{},"format":"replay-jsonl",
//!  "source":{"text":"…"},"verified":true}
//! ```
//!
//! `beside` holds the other files, `source` the original bytes if they are kept. Start reading at [`import`].

pub(super) mod lines;
pub(super) mod model_io;
pub(super) mod replay_bundle;
pub(super) mod rpk;
pub(super) mod timeline;

use std::borrow::Cow;

use base64ct::{Base64, Encoding};
use reenact_formats::FormatId;
use reenact_formats::rer::{Callee, EventType};
use reenact_json::canonical::write_string;
use reenact_json::{Limits, Value, ValueKind};

use super::artifact_builder::{ImportContext, quoted_digest};
use super::error::ConvertError;
use super::route::route;
use super::source::{ImportSource, RecordFile};
use crate::text_rule::TextRule;

/// Seals a record as an RER artifact that names the source. The inverse is [`restore`](super::restore()).
///
/// # Errors
/// If the source cannot be read, a value of it has no canonical form, or the artifact cannot be sealed.
pub fn import(source: &ImportSource<'_>, context: &mut ImportContext<'_>) -> Result<Vec<u8>, ConvertError> {
    (route(source.format)?.import)(source, context)
}

/// Returns the member `import` of the first event as JSON text: digest and format of the source, its document
/// and its other files, and whether it verified. `document` is JSON text.
fn import_member(source: &ImportSource<'_>, document: &[u8]) -> Vec<u8> {
    let mut out = b"{".to_vec();
    if source.format != FormatId::ReplayBundle && !source.other_files.is_empty() {
        let mut before: &[u8] = b"\"beside\":[";
        for file in source.other_files {
            out.extend_from_slice(before);
            before = b",";
            write_file(file, &mut out);
        }
        out.extend_from_slice(b"],");
    }
    out.extend_from_slice(b"\"digest\":");
    out.extend_from_slice(quoted_digest(&source.digest).as_bytes());
    out.extend_from_slice(b",\"document\":");
    out.extend_from_slice(document);
    out.extend_from_slice(b",\"format\":");
    write_string(source.format.name(), &mut out);
    if let Some(kept) = source.original_bytes {
        out.extend_from_slice(b",\"source\":");
        write_body(kept, &mut out);
    }
    // The seal vouches for the import alone, so a later reader needs to know whether the source verified.
    out.extend_from_slice(match source.verified {
        Some(true) => b",\"verified\":true}",
        Some(false) => b",\"verified\":false}",
        None => b",\"verified\":null}",
    });
    out
}

/// Appends a file as an object of `body` and `name`.
fn write_file(file: &RecordFile, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"body\":");
    write_body(&file.bytes, out);
    out.extend_from_slice(b",\"name\":");
    write_string(&file.name, out);
    out.push(b'}');
}

/// Appends bytes as payloads keep them: UTF-8 as `text`, all else as `base64`.
fn write_body(bytes: &[u8], out: &mut Vec<u8>) {
    match core::str::from_utf8(bytes) {
        Ok(text) => {
            out.extend_from_slice(b"{\"text\":");
            write_string(text, out);
        }
        Err(_) => {
            out.extend_from_slice(b"{\"base64\":\"");
            out.extend_from_slice(Base64::encode_string(bytes).as_bytes());
            out.push(b'"');
        }
    }
    out.push(b'}');
}

/// Parses a document of the source.
fn parse(text: &[u8]) -> Result<Value<'_>, ConvertError> {
    Value::parse(text, &Limits::default()).map_err(|error| ConvertError::Unreadable(error.describe(text)))
}

/// Returns a document with an empty list in place of its items.
fn without_items(text: &[u8], items: Option<Value<'_>>) -> Vec<u8> {
    let span = items.and_then(|items| {
        let span = items.range_in(text)?;
        Some((text.get(..span.start)?, text.get(span.end..)?))
    });
    match span {
        Some((before, after)) => [before, b"[]", after].concat(),
        None => text.to_vec(),
    }
}

/// Encodes a document by the `$text` rule, as the first event holds it.
fn encode_document(document: &[u8], origin: FormatId) -> Result<Vec<u8>, ConvertError> {
    let mut out = Vec::new();
    TextRule::new(origin.row().profile)
        .encode(parse(document)?, &mut out)
        .map_err(|fault| ConvertError::Text { location: "the document".into(), fault })?;
    Ok(out)
}

/// Encoder of items by the `$text` rule, with one buffer for all.
struct ItemEncoder {
    rule: TextRule,
    out: Vec<u8>,
    /// Word for an item in error messages, such as `step`.
    item_name: &'static str,
}

impl ItemEncoder {
    /// Makes an encoder for the items of a format.
    fn new(origin: FormatId, item_name: &'static str) -> Self {
        Self { rule: TextRule::new(origin.row().profile), out: Vec::new(), item_name }
    }

    /// Encodes an item; `index` is its number in error messages.
    fn encode(&mut self, index: usize, item: Value<'_>) -> Result<&[u8], ConvertError> {
        self.out.clear();
        self.rule
            .encode(item, &mut self.out)
            .map_err(|fault| ConvertError::Text { location: format!("{} {index}", self.item_name), fault })?;
        Ok(&self.out)
    }
}

/// Returns a member that is a string.
fn string_member<'a>(object: Value<'a>, name: &str) -> Option<Cow<'a, str>> {
    object.member(name)?.string()
}

/// Returns a member that is a list.
fn array_member<'a>(object: Value<'a>, name: &str) -> Option<Value<'a>> {
    object.member(name).filter(|list| list.kind() == ValueKind::Array)
}

/// Returns the callee of an event type, if it is a call or a return.
fn callee(event_type: &str) -> Option<Callee> {
    EventType::of_name(event_type)?.role().callee()
}
