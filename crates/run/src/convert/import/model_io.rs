//! Import of Model IO sessions and of recordings of its kernel: each interaction is a call and a return, and
//! its members are split between the two.
//!
//! The payloads of one interaction, without salts:
//!
//! ```json
//! {"import":{"i":0,"prompt_hash":"sha256:…"},"model":"…","source":"imported","step_id":"interaction-000000"}
//! {"import":{"response_content":"…","tokens_input":3},"model":"…","source":"imported","step_id":"interaction-000000"}
//! ```

use reenact_formats::FormatId;
use reenact_formats::rer::EventType;
use reenact_json::{Value, ValueKind};

use super::{ItemEncoder, encode_document, import_member, parse, without_items};
use crate::convert::artifact_builder::{CommonMembers, ImportContext, ImportedArtifactBuilder};
use crate::convert::error::ConvertError;
use crate::convert::source::ImportSource;
use crate::unreadable::pick_members;

/// Members of an interaction that belong to the call; all others belong to the return.
const REQUEST_MEMBERS: [&str; 5] = ["i", "prompt_hash", "sequence", "prompt", "context"];

/// Event type of an interaction that is no object, and so cannot be split.
pub(crate) const UNDIVIDED_INTERACTION: &str = "reenact.model_io.interaction";

/// Imports the interactions of a session.
pub(in crate::convert) fn import(
    source: &ImportSource<'_>,
    context: &mut ImportContext<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let session = parse(source.main_file)?;
    // One walk finds all members; a search for each would walk over the whole session every time.
    let names = ["interactions", "model_id", "created_at_utc", "ended_at_utc", "started_at", "ended_at"];
    let [interactions, model, created_at, ended_at_utc, started_at, ended_at] = pick_members(session, names);
    let interactions = interactions.filter(|list| list.kind() == ValueKind::Array);
    let document = encode_document(&without_items(source.main_file, interactions), source.format)?;
    let (started_at, ended_at) = match source.format {
        FormatId::RecordingSession => (started_at, ended_at),
        _ => (created_at, ended_at_utc),
    };
    let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
    let started_at = text(started_at);
    let mut builder =
        ImportedArtifactBuilder::begin(context, started_at.as_deref(), &import_member(source, &document))?;
    let model = text(model);
    let mut items = ItemEncoder::new(source.format, "interaction");
    for (index, interaction) in interactions.into_iter().flat_map(|list| list.elements()).enumerate() {
        if interaction.kind() != ValueKind::Object {
            builder.append_item(
                UNDIVIDED_INTERACTION,
                None,
                items.encode(index, interaction)?,
                CommonMembers::default(),
            )?;
            continue;
        }
        let (called, returned, time) = split_interaction(interaction);
        let step_id = format!("interaction-{index:06}");
        let members = CommonMembers { model: model.as_deref(), step_id: Some(&step_id), tool: None };
        let time = text(time);
        builder.append_item(
            EventType::ModelCalled.name(),
            time.as_deref(),
            items.encode(index, parse(&called)?)?,
            members,
        )?;
        builder.append_item(
            EventType::ModelReturned.name(),
            time.as_deref(),
            items.encode(index, parse(&returned)?)?,
            members,
        )?;
    }
    builder.seal(text(ended_at).as_deref())
}

/// Splits an interaction. Returns the JSON texts of its two halves, and its time.
fn split_interaction(interaction: Value<'_>) -> (Vec<u8>, Vec<u8>, Option<Value<'_>>) {
    let (mut called, mut returned, mut time) = (b"{".to_vec(), b"{".to_vec(), None);
    for (name, value) in interaction.members() {
        let is_request_member = REQUEST_MEMBERS.iter().any(|asked| name.is_string(asked));
        if name.is_string("recorded_at") {
            time = Some(value);
        }
        let part = if is_request_member { &mut called } else { &mut returned };
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
