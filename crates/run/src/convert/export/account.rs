//! Where things lie in a source, why they are lost, and what lies around the events.

use std::collections::HashSet;

use reenact_formats::replay_bundle::{CASSETTES, MANIFEST, ManifestView};
use reenact_formats::rer::EventType;
use reenact_formats::rpk;
use reenact_json::position::range_in;
use reenact_json::{Kind as JsonKind, Limits, Scanner, Value};

use crate::convert::loss::{Losses, Place};
use crate::dialect::Dialect;
use crate::event::Event;
use crate::run::Run;

/// What is not of the kind that a format holds.
pub(super) const NO_PLACE: &str = "the format has no place for it";
/// What was taken out of the source.
pub(super) const WITHHELD: &str = "it is withheld in the source";
/// What signs the source, and nothing else.
const SIGNS_THE_SOURCE: &str = "it signs the source, not what is made of it";
/// What cannot be read as what it should be.
pub(super) const UNREADABLE: &str = "it cannot be read as what it should be";
/// What an envelope leaves in the manifest of a bundle.
const ONLY_ITS_HASH: &str = "only the hash that the run's first event names is kept";
/// An answer to what is not recorded.
pub(super) const NO_CALL: &str = "what it answers is not recorded, and the format wants it";
/// A call or a request whose other end is not recorded.
pub(super) const NO_ANSWER: &str = "no answer to it is recorded, and the format wants one";

/// Where an event lies in its source. A REPLAY.jsonl and a trace count as the list of their lines.
pub(super) fn place(run: &Run, event: &Event<'_>) -> Place {
    let at = event.index();
    match run.dialect() {
        Dialect::Rer => Place::Item("$.events[", at, "]".into()),
        Dialect::Rpk => Place::Item("$.payload.run.steps[", at, "]".into()),
        Dialect::ModelIo => Place::Item("$.interactions[", at / 2, "]".into()),
        Dialect::ReplayJsonl => Place::Item("$[", at, "]".into()),
        Dialect::ReplayBundle if event.kind() == Some(EventType::RunStarted) => Place::At(MANIFEST.into()),
        Dialect::ReplayBundle => {
            let name = event.name();
            if name.starts_with(CASSETTES) {
                return Place::At(name.into_owned());
            }
            // The first event is the manifest.
            Place::Item("trace[", at.saturating_sub(1), "]".into())
        }
    }
}

/// Where a member of an event's payload lies in its source.
pub(super) fn member_of(run: &Run, event: &Event<'_>, name: &str) -> Place {
    let at = place(run, event);
    match event.dialect() {
        Dialect::Rer => at.inside(&format!(".payload.{name}")),
        _ => at.inside(&format!(".{name}")),
    }
}

/// Notes an event of which nothing is kept.
pub(super) fn lost(run: &Run, event: &Event<'_>, losses: &mut Losses) {
    let is_manifest = run.dialect() == Dialect::ReplayBundle && event.kind() == Some(EventType::RunStarted);
    let reason = match event.is_withheld() {
        true => WITHHELD,
        false if is_manifest => NO_PLACE,
        false => event.kind().map_or(NO_PLACE, EventType::no_place),
    };
    losses.add(place(run, event), reason);
}

/// Notes the members of an object that are not among those that are kept.
pub(super) fn others(object: Value<'_>, kept: &[&str], at: &Place, losses: &mut Losses) {
    for (name, _) in object.members().filter(|(name, _)| !kept.iter().any(|kept| name.is_string(kept))) {
        losses.add(at.inside(&member(&name.string().unwrap_or_default())), NO_PLACE);
    }
}

/// A member as JSON paths name it.
fn member(name: &str) -> String {
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain {
        return format!(".{name}");
    }
    let mut quoted = String::from("[");
    reenact_json::print::string(name, &mut quoted);
    quoted.push(']');
    quoted
}

/// Notes what lies around the events and has no place in any other format.
pub(super) fn around(run: &Run, target: Dialect, losses: &mut Losses) {
    let root = Place::At("$".into());
    match run.dialect() {
        Dialect::Rer => {
            if run.envelope().is_some() {
                let is_bundle = target == Dialect::ReplayBundle;
                losses.add(Place::At("$.envelope".into()), if is_bundle { ONLY_ITS_HASH } else { NO_PLACE });
            }
            losses.add(Place::At("$.runtime".into()), NO_PLACE);
            losses.add(Place::At("$.runtime_signature".into()), SIGNS_THE_SOURCE);
        }
        Dialect::Rpk => around_steps(run, &root, losses),
        Dialect::ModelIo => {
            let kept: &[&str] = match target {
                Dialect::ReplayJsonl => &["created_at_utc", "ended_at_utc"],
                _ => &["created_at_utc", "model_id", "adapter_id"],
            };
            let kept = [kept, &["interactions", "model_io_schema_version"]].concat();
            if let Ok(session) = Value::parse(document(run), &limits()) {
                others(session, &kept, &root, losses);
            }
        }
        Dialect::ReplayJsonl | Dialect::ReplayBundle => {}
    }
    let manifest = run.file(MANIFEST).and_then(|text| Value::parse(text, &limits()).ok());
    let trace = manifest.and_then(|manifest| ManifestView::of(manifest).trace_path?.string());
    let read: HashSet<&str> = trace.as_deref().into_iter().chain([MANIFEST]).collect();
    for (name, _) in run.files() {
        let is_event = run.dialect() == Dialect::ReplayBundle
            && (read.contains(name) || (name.starts_with(CASSETTES) && is_cassette(run, name)));
        if !is_event {
            losses.add(Place::At(name.to_owned()), "the format holds no other files");
        }
    }
}

fn is_cassette(run: &Run, name: &str) -> bool {
    run.file(name).is_some_and(|file| {
        reenact_formats::replay_bundle::cassette::CassetteView::read(file, &limits()).is_some()
    })
}

/// What an `.rpk` says beside its steps.
fn around_steps(run: &Run, root: &Place, losses: &mut Losses) {
    let Ok(head) = rpk::Head::read(document(run), &limits()) else { return };
    if head.signature.is_some() {
        losses.add(root.inside(".signature"), SIGNS_THE_SOURCE);
    }
    let at = root.inside(".payload");
    if let Some(payload) = head.payload.filter(|payload| payload.kind() == JsonKind::Object) {
        others(payload, &["run"], &at, losses);
    }
    if let Some(of_run) = head.run.filter(|of_run| of_run.kind() == JsonKind::Object) {
        others(of_run, &["id", "timestamp", "steps"], &at.inside(".run"), losses);
    }
    if let Some(metadata) = head.metadata {
        others(metadata, &["run_id", "created_at"], &root.inside(".metadata"), losses);
    }
}

/// The document of a run that is one, without what lies behind it: the files that came with it.
pub(crate) fn document(run: &Run) -> &[u8] {
    let bytes = run.bytes();
    if run.files().next().is_none() {
        return bytes;
    }
    let starts = run.files().filter_map(|(_, file)| Some(range_in(file, bytes)?.start));
    let end = match run.dialect() {
        Dialect::Rer => end_of_value(bytes),
        _ if run.is_imported() => end_of_value(bytes),
        _ => starts.min(),
    };
    end.and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}

/// Where the first JSON value of a text ends.
fn end_of_value(bytes: &[u8]) -> Option<usize> {
    let mut scanner = Scanner::new(bytes, &limits()).ok()?;
    scanner.value().ok()?;
    Some(scanner.offset())
}

pub(super) fn limits() -> Limits {
    Limits { depth: Limits::DEEPEST, bytes: Limits::LARGEST }
}
