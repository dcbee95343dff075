//! Import of `.rpk`: each step is an event.
//!
//! The payload of a step, without its salt:
//!
//! ```json
//! {"import":{"id":"a","type":"model.request","input":{},"output":{}},"model":"gpt-5","source":"imported","step_id":"a"}
//! ```

use reenact_formats::FormatId;
use reenact_formats::rer::{Callee, EventType};
use reenact_formats::rpk::{RpkHead, RpkReadError, RpkStepView};
use reenact_json::{Limits, Value, ValueKind};

use super::{ItemEncoder, callee, encode_document, import_member, without_items};
use crate::convert::artifact_builder::{CommonMembers, ImportContext, ImportedArtifactBuilder};
use crate::convert::error::ConvertError;
use crate::convert::source::ImportSource;

/// Imports the steps of an artifact.
///
/// The model or tool of an event is named by the step's metadata, or else by its input.
pub(in crate::convert) fn import(
    source: &ImportSource<'_>,
    context: &mut ImportContext<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let head = RpkHead::read(source.main_file, &Limits::default()).map_err(|error| {
        ConvertError::Unreadable(match error {
            RpkReadError::Syntax(error) => error.describe(source.main_file),
            other => other.to_string(),
        })
    })?;
    let steps = head.run_members.steps.filter(|steps| steps.kind() == ValueKind::Array);
    let document = encode_document(&without_items(source.main_file, steps), FormatId::Rpk)?;
    let started_at = head.run_members.timestamp.and_then(|time| time.string());
    let mut builder =
        ImportedArtifactBuilder::begin(context, started_at.as_deref(), &import_member(source, &document))?;
    let mut items = ItemEncoder::new(FormatId::Rpk, "step");
    let mut open_requests = OpenRequests::default();
    for (index, step) in steps.into_iter().flat_map(|steps| steps.elements()).enumerate() {
        let view = RpkStepView::of(step);
        let step_type = view.step_type.and_then(|step_type| step_type.string());
        let event_type = event_type(step_type.as_deref());
        let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
        // Only events of that callee name a model or a tool.
        let named = |name: &str, of: Callee| {
            let places = [view.metadata, view.input].into_iter().flatten();
            (callee(event_type) == Some(of))
                .then(|| places.filter_map(|place| text(place.member(name))).next())?
        };
        let step_id = open_requests.step_id(&view, step_type.as_deref().unwrap_or_default());
        let (model, tool) = (named("model", Callee::Model), named("tool", Callee::Tool));
        let members =
            CommonMembers { model: model.as_deref(), step_id: step_id.as_deref(), tool: tool.as_deref() };
        let time = text(view.timestamp);
        builder.append_item(event_type, time.as_deref(), items.encode(index, step)?, members)?;
    }
    builder.seal(None)
}

/// Returns the event type of a step. Steps of a type that RER has no word for keep a type of their own.
fn event_type(step_type: Option<&str>) -> &'static str {
    match step_type {
        Some("prompt.render") => EventType::PromptRendered.name(),
        Some("model.request") => EventType::ModelCalled.name(),
        Some("model.response") => EventType::ModelReturned.name(),
        Some("tool.request") => EventType::ToolCalled.name(),
        Some("tool.response") => EventType::ToolReturned.name(),
        Some("error.event") => EventType::ErrorRaised.name(),
        Some("output.final") => EventType::OutputFinal.name(),
        _ => "reenact.rpk.step",
    }
}

/// Requests whose responses are due. The format pairs the two only by a `call_id` or `request_id`, which many
/// programs leave out.
#[derive(Default)]
pub(crate) struct OpenRequests {
    open: Vec<OpenRequest>,
}

/// Request whose response is due.
struct OpenRequest {
    is_model: bool,
    id: String,
    request_id: Option<String>,
}

/// Largest number of open requests. A hostile file of requests alone must not make each response search all of
/// them.
const MAX_OPEN_REQUESTS: usize = 1024;

impl OpenRequests {
    /// Returns the id that a request and its response share in the artifact: the id of the request. A response
    /// without a matching id takes the last open request of its kind.
    pub(crate) fn step_id(&mut self, view: &RpkStepView<'_>, step_type: &str) -> Option<String> {
        let id = view.id.and_then(|id| id.string()).map(|id| id.into_owned());
        let is_paired = matches!(step_type.rsplit_once('.'), Some((_, "request" | "response")));
        let places = if is_paired { [view.input, view.metadata] } else { [None; 2] };
        let request_id = places.into_iter().flatten().find_map(|place| {
            ["call_id", "request_id"].iter().find_map(|name| Some(place.member(name)?.string()?.into_owned()))
        });
        let is_model = step_type.starts_with("model.");
        match step_type {
            "model.request" | "tool.request" => {
                if self.open.len() == MAX_OPEN_REQUESTS {
                    self.open.remove(0);
                }
                self.open.push(OpenRequest { is_model, id: id.clone()?, request_id });
                id
            }
            "model.response" | "tool.response" => {
                let is_same = |open: &OpenRequest| open.is_model == is_model;
                let by_id = self
                    .open
                    .iter()
                    .rposition(|open| is_same(open) && request_id.is_some() && open.request_id == request_id);
                let found = by_id.or_else(|| self.open.iter().rposition(is_same));
                found.map(|at| self.open.remove(at).id).or(id)
            }
            _ => id,
        }
    }
}
