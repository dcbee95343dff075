//! Where things lie in a source, why they are lost, and what lies around the events.

use std::collections::HashSet;

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::{CASSETTES, MANIFEST, ManifestView};
use reenact_formats::rer::EventType;
use reenact_json::position::range_in;
use reenact_json::{Limits, Scanner, Value};

use crate::convert::loss::{Losses, SourcePath};
use crate::event::Event;
use crate::reader;
use crate::run::Run;

/// What is not of the kind that a format holds.
pub(crate) const NO_PLACE: &str = "the format has no place for it";
/// What was taken out of the source.
pub(super) const WITHHELD: &str = "it is withheld in the source";
/// What signs the source, and nothing else.
pub(crate) const SIGNS_THE_SOURCE: &str = "it signs the source, not what is made of it";
/// What cannot be read as what it should be.
pub(super) const UNREADABLE: &str = "it cannot be read as what it should be";
/// What an envelope leaves in the manifest of a bundle.
pub(crate) const ONLY_ITS_HASH: &str = "only the hash that the run's first event names is kept";
/// An answer to what is not recorded.
pub(super) const NO_CALL: &str = "what it answers is not recorded, and the format wants it";
/// A call or a request whose other end is not recorded.
pub(super) const NO_ANSWER: &str = "no answer to it is recorded, and the format wants one";

/// Where an event lies in its source. A REPLAY.jsonl and a trace count as the list of their lines.
pub(super) fn source_path(run: &Run, event: &Event<'_>) -> SourcePath {
    reader::reader_of(run.payload_format()).source_path(event)
}

/// Where a member of an event's payload lies in its source.
pub(super) fn member_path(run: &Run, event: &Event<'_>, name: &str) -> SourcePath {
    let at = source_path(run, event);
    let inside = if event.payload_format() == FormatId::Rer { ".payload." } else { "." };
    at.child(&format!("{inside}{name}"))
}

/// Notes an event of which nothing is kept.
pub(super) fn note_lost_event(run: &Run, event: &Event<'_>, losses: &mut Losses) {
    let is_manifest =
        run.payload_format() == FormatId::ReplayBundle && event.kind() == Some(EventType::RunStarted);
    let reason = match event.is_withheld() {
        true => WITHHELD,
        false if is_manifest => NO_PLACE,
        false => event.kind().map_or(NO_PLACE, EventType::unsupported_reason),
    };
    losses.add(source_path(run, event), reason);
}

/// Notes the members of an object that are not among those that are kept.
pub(crate) fn note_other_members(object: Value<'_>, kept: &[&str], at: &SourcePath, losses: &mut Losses) {
    for (name, _) in object.members().filter(|(name, _)| !kept.iter().any(|kept| name.is_string(kept))) {
        losses.add(at.child(&json_path_member(&name.string().unwrap_or_default())), NO_PLACE);
    }
}

/// A member as JSON paths name it.
fn json_path_member(name: &str) -> String {
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain {
        return format!(".{name}");
    }
    let mut quoted = String::from("[");
    reenact_json::print::write_string(name, &mut quoted);
    quoted.push(']');
    quoted
}

/// Notes what lies around the events and has no place in any other format.
pub(super) fn note_document_losses(run: &Run, target: FormatId, losses: &mut Losses) {
    reader::reader_of(run.payload_format()).note_document_losses(run, target, losses);
    let manifest = run.file(MANIFEST).and_then(|text| Value::parse(text, &widest_limits()).ok());
    let trace = manifest.and_then(|manifest| ManifestView::of(manifest).trace_path?.string());
    let read: HashSet<&str> = trace.as_deref().into_iter().chain([MANIFEST]).collect();
    for (name, _) in run.files() {
        let is_event = run.payload_format() == FormatId::ReplayBundle
            && (read.contains(name) || (name.starts_with(CASSETTES) && is_cassette(run, name)));
        if !is_event {
            losses.add(SourcePath::At(name.to_owned()), "the format holds no other files");
        }
    }
}

fn is_cassette(run: &Run, name: &str) -> bool {
    run.file(name).is_some_and(|file| {
        reenact_formats::replay_bundle::cassette::CassetteView::read(file, &widest_limits()).is_some()
    })
}

/// The document of a run that is one, without what lies behind it: the files that came with it.
pub(crate) fn document(run: &Run) -> &[u8] {
    let bytes = run.bytes();
    if run.files().next().is_none() {
        return bytes;
    }
    let starts = run.files().filter_map(|(_, file)| Some(range_in(file, bytes)?.start));
    let is_artifact = run.payload_format() == FormatId::Rer || run.is_imported();
    let end = if is_artifact { end_of_value(bytes) } else { starts.min() };
    end.and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}

/// Where the first JSON value of a text ends.
fn end_of_value(bytes: &[u8]) -> Option<usize> {
    let mut scanner = Scanner::new(bytes, &widest_limits()).ok()?;
    scanner.value().ok()?;
    Some(scanner.offset())
}

pub(crate) fn widest_limits() -> Limits {
    Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES }
}
