//! Model IO and recordings of its kernel → RER: each interaction is a call and its return, its members divided between the two.

use reenact_formats::FormatId;
use reenact_formats::rer::EventType;
use reenact_json::{Kind, Value};

use super::{Items, encode_document, origin, parse, without_items};
use crate::convert::fault::ConvertError;
use crate::convert::sealing::{Sealing, Tape, Words};
use crate::convert::source::Source;
use crate::unreadable::pick;

/// The members that were there when the model was asked; the rest came with its answer.
const ASKED: [&str; 5] = ["i", "prompt_hash", "sequence", "prompt", "context"];

/// An element that is no object cannot be divided.
pub(crate) const WHOLE: &str = "reenact.model_io.interaction";

pub(in crate::convert) fn import(
    source: &Source<'_>,
    sealing: &mut Sealing<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let session = parse(source.main)?;
    // Each look would be one at all of it.
    let names = ["interactions", "model_id", "created_at_utc", "ended_at_utc", "started_at", "ended_at"];
    let [interactions, model, created_at, ended_at_utc, started_at, ended_at] = pick(session, names);
    let interactions = interactions.filter(|list| list.kind() == Kind::Array);
    let document = encode_document(&without_items(source.main, interactions), source.origin)?;
    let (started_at, ended_at) = match source.origin {
        FormatId::RecordingSession => (started_at, ended_at),
        _ => (created_at, ended_at_utc),
    };
    let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
    let started_at = text(started_at);
    let mut tape = Tape::begin(sealing, started_at.as_deref(), &origin(source, &document))?;
    let model = text(model);
    let mut items = Items::new(source.origin, "interaction");
    for (index, interaction) in interactions.into_iter().flat_map(|list| list.elements()).enumerate() {
        if interaction.kind() != Kind::Object {
            tape.item(WHOLE, None, items.encode(index, interaction)?, Words::default())?;
            continue;
        }
        let (called, returned, time) = divided(interaction);
        let step_id = format!("interaction-{index:06}");
        let words = Words { model: model.as_deref(), step_id: Some(&step_id), tool: None };
        let time = text(time);
        tape.item(
            EventType::ModelCalled.name(),
            time.as_deref(),
            items.encode(index, parse(&called)?)?,
            words,
        )?;
        tape.item(
            EventType::ModelReturned.name(),
            time.as_deref(),
            items.encode(index, parse(&returned)?)?,
            words,
        )?;
    }
    tape.end(text(ended_at).as_deref())
}

/// The two halves of an interaction, and when it was.
fn divided(interaction: Value<'_>) -> (Vec<u8>, Vec<u8>, Option<Value<'_>>) {
    let (mut called, mut returned, mut time) = (b"{".to_vec(), b"{".to_vec(), None);
    for (name, value) in interaction.members() {
        let is_asked = ASKED.iter().any(|asked| name.is_string(asked));
        if name.is_string("recorded_at") {
            time = Some(value);
        }
        let part = if is_asked { &mut called } else { &mut returned };
        if part.len() > 1 {
            part.push(b',');
        }
        part.extend_from_slice(name.text());
        part.push(b':');
        part.extend_from_slice(value.text());
    }
    called.push(b'}');
    returned.push(b'}');
    (called, returned, time)
}
