//! Paths and reasons of losses that all exporters share, and the losses of a document outside of its events.

use std::collections::HashSet;

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::{CASSETTES_FOLDER, MANIFEST, ManifestView};
use reenact_formats::rer::EventType;
use reenact_json::position::range_in;
use reenact_json::{Limits, Scanner, Value};

use crate::convert::loss::{Losses, SourcePath};
use crate::event::Event;
use crate::reader;
use crate::run::Run;

/// Reason of parts that a format does not hold.
pub(crate) const NO_EQUIVALENT: &str = "the format has no place for it";
/// Reason of payloads that are withheld.
pub(super) const WITHHELD: &str = "it is withheld in the source";
/// Reason of signatures.
pub(crate) const SIGNS_THE_SOURCE: &str = "it signs the source, not what is made of it";
/// Reason of payloads that cannot be read.
pub(super) const UNREADABLE: &str = "it cannot be read as what it should be";
/// Reason of envelopes, of which the manifest of a bundle keeps the hash.
pub(crate) const ONLY_ITS_HASH: &str = "only the hash that the run's first event names is kept";
/// Reason of answers whose request is not recorded.
pub(super) const NO_CALL: &str = "what it answers is not recorded, and the format wants it";
/// Reason of calls and requests whose answer is not recorded.
pub(super) const NO_ANSWER: &str = "no answer to it is recorded, and the format wants one";

/// Returns the path of an event in its source. A REPLAY.jsonl and a trace count as lists of their lines.
pub(super) fn source_path(run: &Run, event: &Event<'_>) -> SourcePath {
    reader::reader_of(run.payload_format()).source_path(event)
}

/// Returns the path of a member of an event's payload in its source.
pub(super) fn member_path(run: &Run, event: &Event<'_>, name: &str) -> SourcePath {
    let at = source_path(run, event);
    let inside = if event.payload_format() == FormatId::Rer { ".payload." } else { "." };
    at.child(&format!("{inside}{name}"))
}

/// Adds an event of which nothing is kept to the losses.
pub(super) fn note_lost_event(run: &Run, event: &Event<'_>, losses: &mut Losses) {
    let is_manifest =
        run.payload_format() == FormatId::ReplayBundle && event.kind() == Some(EventType::RunStarted);
    let reason = match event.is_withheld() {
        true => WITHHELD,
        false if is_manifest => NO_EQUIVALENT,
        false => event.kind().map_or(NO_EQUIVALENT, EventType::unsupported_reason),
    };
    losses.add(source_path(run, event), reason);
}

/// Adds the members of an object that are not kept to the losses.
pub(crate) fn note_other_members(object: Value<'_>, exported: &[&str], at: &SourcePath, losses: &mut Losses) {
    for (name, _) in
        object.members().filter(|(name, _)| !exported.iter().any(|exported| name.is_string(exported)))
    {
        losses.add(at.child(&json_path_member(&name.string().unwrap_or_default())), NO_EQUIVALENT);
    }
}

/// Returns a member as JSON paths write it: `.name`, or `["name"]` if it has other characters than letters,
/// digits and `_`.
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

/// Adds the parts of a document outside of its events to the losses, and the files that no event was read from.
pub(super) fn note_document_losses(run: &Run, target: FormatId, losses: &mut Losses) {
    reader::reader_of(run.payload_format()).note_document_losses(run, target, losses);
    let manifest = run.file(MANIFEST).and_then(|text| Value::parse(text, &widest_limits()).ok());
    let trace = manifest.and_then(|manifest| ManifestView::of(manifest).trace_path?.string());
    let read: HashSet<&str> = trace.as_deref().into_iter().chain([MANIFEST]).collect();
    for (name, _) in run.files() {
        let is_event = run.payload_format() == FormatId::ReplayBundle
            && (read.contains(name) || (name.starts_with(CASSETTES_FOLDER) && is_cassette(run, name)));
        if !is_event {
            losses.add(SourcePath::At(name.to_owned()), "the format holds no other files");
        }
    }
}

/// Returns true if a file of a bundle is a cassette.
fn is_cassette(run: &Run, name: &str) -> bool {
    run.file(name).is_some_and(|file| {
        reenact_formats::replay_bundle::cassette::CassetteView::read(file, &widest_limits()).is_some()
    })
}

/// Returns the document of a run, without the files that are appended to its bytes.
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

/// Returns the offset at which the first JSON value of a text ends.
fn end_of_value(bytes: &[u8]) -> Option<usize> {
    let mut scanner = Scanner::new(bytes, &widest_limits()).ok()?;
    scanner.value().ok()?;
    Some(scanner.offset())
}

/// Returns limits for texts that were parsed before: the widest there are.
pub(crate) fn widest_limits() -> Limits {
    Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES }
}
