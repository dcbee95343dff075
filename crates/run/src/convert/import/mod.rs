//! Any format → RER, without loss.
//!
//! The first event holds the document around the items, each item is an event of its own kind, and the last event ends the run. A
//! document without a list of items where its format has one lies in the first event as a whole.

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

/// Seals a record as an RER artifact that says where it came from.
pub fn import(source: &ImportSource<'_>, context: &mut ImportContext<'_>) -> Result<Vec<u8>, ConvertError> {
    (route(source.format)?.import)(source, context)
}

/// What the first event says of the source; `document` is JSON text.
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
    // The seal speaks for the import alone: whoever reads it later must know what the source was worth.
    out.extend_from_slice(match source.verified {
        Some(true) => b",\"verified\":true}",
        Some(false) => b",\"verified\":false}",
        None => b",\"verified\":null}",
    });
    out
}

/// A file: its name, and its bytes.
fn write_file(file: &RecordFile, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"body\":");
    write_body(&file.bytes, out);
    out.extend_from_slice(b",\"name\":");
    write_string(&file.name, out);
    out.push(b'}');
}

/// Bytes as payloads keep them.
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

fn parse(text: &[u8]) -> Result<Value<'_>, ConvertError> {
    Value::parse(text, &Limits::default()).map_err(|error| ConvertError::Unreadable(error.describe(text)))
}

/// A text without what lies at a place in it: an empty list stands there instead.
fn without_items(text: &[u8], items: Option<Value<'_>>) -> Vec<u8> {
    let place = items.and_then(|items| {
        let place = items.range_in(text)?;
        Some((text.get(..place.start)?, text.get(place.end..)?))
    });
    match place {
        Some((before, after)) => [before, b"[]", after].concat(),
        None => text.to_vec(),
    }
}

/// A document as the first event holds it.
fn encode_document(document: &[u8], origin: FormatId) -> Result<Vec<u8>, ConvertError> {
    let mut out = Vec::new();
    TextRule::new(origin.row().profile)
        .encode(parse(document)?, &mut out)
        .map_err(|fault| ConvertError::Text { place: "the document".into(), fault })?;
    Ok(out)
}

/// Encodes one item after the other.
struct ItemEncoder {
    rule: TextRule,
    out: Vec<u8>,
    item_name: &'static str,
}

impl ItemEncoder {
    fn new(origin: FormatId, item_name: &'static str) -> Self {
        Self { rule: TextRule::new(origin.row().profile), out: Vec::new(), item_name }
    }

    fn encode(&mut self, index: usize, item: Value<'_>) -> Result<&[u8], ConvertError> {
        self.out.clear();
        self.rule
            .encode(item, &mut self.out)
            .map_err(|fault| ConvertError::Text { place: format!("{} {index}", self.item_name), fault })?;
        Ok(&self.out)
    }
}

/// What a member spells, if it is a string.
fn string_member<'a>(object: Value<'a>, name: &str) -> Option<Cow<'a, str>> {
    object.member(name)?.string()
}

/// A list, if that is what stands there.
fn array_member<'a>(object: Value<'a>, name: &str) -> Option<Value<'a>> {
    object.member(name).filter(|list| list.kind() == ValueKind::Array)
}

/// What an imported event calls or ends the call of, if it is one of the vocabulary.
fn callee(event_type: &str) -> Option<Callee> {
    EventType::of_name(event_type)?.role().callee()
}
