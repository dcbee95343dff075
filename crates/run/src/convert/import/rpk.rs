//! `.rpk` → RER: each step is an event.

use reenact_formats::FormatId;
use reenact_formats::rer::{Callee, EventType};
use reenact_formats::rpk::{Head, ReadError, StepView};
use reenact_json::{Kind, Limits, Value};

use super::{Items, callee, encode_document, origin, without_items};
use crate::convert::fault::ConvertError;
use crate::convert::sealing::{Sealing, Tape, Words};
use crate::convert::source::Source;

pub(in crate::convert) fn import(
    source: &Source<'_>,
    sealing: &mut Sealing<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let head = Head::read(source.main, &Limits::default()).map_err(|error| {
        ConvertError::Unreadable(match error {
            ReadError::Syntax(error) => error.describe(source.main),
            other => other.to_string(),
        })
    })?;
    let steps = head.of_run.steps.filter(|steps| steps.kind() == Kind::Array);
    let document = encode_document(&without_items(source.main, steps), FormatId::Rpk)?;
    let started_at = head.of_run.timestamp.and_then(|time| time.string());
    let mut tape = Tape::begin(sealing, started_at.as_deref(), &origin(source, &document))?;
    let mut items = Items::new(FormatId::Rpk, "step");
    let mut pairs = Pairs::default();
    for (index, step) in steps.into_iter().flat_map(|steps| steps.elements()).enumerate() {
        let view = StepView::of(step);
        let step_type = view.step_type.and_then(|step_type| step_type.string());
        let event_type = event_type(step_type.as_deref());
        let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
        // Only these events have a model or a tool to name.
        let named = |name: &str, of: Callee| {
            let places = [view.metadata, view.input].into_iter().flatten();
            (callee(event_type) == Some(of))
                .then(|| places.filter_map(|place| text(place.member(name))).next())?
        };
        let step_id = pairs.step_id(&view, step_type.as_deref().unwrap_or_default());
        let (model, tool) = (named("model", Callee::Model), named("tool", Callee::Tool));
        let words = Words { model: model.as_deref(), step_id: step_id.as_deref(), tool: tool.as_deref() };
        let time = text(view.timestamp);
        tape.item(event_type, time.as_deref(), items.encode(index, step)?, words)?;
    }
    tape.end(None)
}

/// The event that a step is.
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

/// Requests without their responses. The format ties the two by nothing but, sometimes, a `request_id`.
#[derive(Default)]
pub(crate) struct Pairs {
    open: Vec<Open>,
}

struct Open {
    is_model: bool,
    id: String,
    request_id: Option<String>,
}

/// An attack of requests alone must not make each response look at all of them.
const MOST_OPEN: usize = 1024;

impl Pairs {
    /// What a request and its response are both known by: the id of the request.
    pub(crate) fn step_id(&mut self, view: &StepView<'_>, step_type: &str) -> Option<String> {
        let id = view.id.and_then(|id| id.string()).map(|id| id.into_owned());
        let is_paired = matches!(step_type.rsplit_once('.'), Some((_, "request" | "response")));
        let places = if is_paired { [view.input, view.metadata] } else { [None; 2] };
        let request_id = places.into_iter().flatten().find_map(|place| {
            ["call_id", "request_id"].iter().find_map(|name| Some(place.member(name)?.string()?.into_owned()))
        });
        let is_model = step_type.starts_with("model.");
        match step_type {
            "model.request" | "tool.request" => {
                if self.open.len() == MOST_OPEN {
                    self.open.remove(0);
                }
                self.open.push(Open { is_model, id: id.clone()?, request_id });
                id
            }
            "model.response" | "tool.response" => {
                let is_same = |open: &Open| open.is_model == is_model;
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
