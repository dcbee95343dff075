//! The steps of a run: each call with what came of it, and what else happened between them.

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::rer::time;
use reenact_run::{Asked, Event, Exchange, Kind, Run, ToolUse};

/// Something that happened.
pub(super) struct Step<'r> {
    /// Its id, by the record's word; empty for what is no step.
    pub(super) id: Cow<'r, str>,
    /// How long after the beginning of the run.
    pub(super) at: Option<Duration>,
    pub(super) what: What<'r>,
}

pub(super) enum What<'r> {
    /// A model was asked.
    Model(Exchange<'r>),
    /// Something else was asked over HTTP.
    Http(Exchange<'r>),
    /// A tool was called.
    Tool(ToolUse<'r>),
    /// Anything else that is worth a line.
    Other(Event<'r>),
}

/// Everything that happened, in order.
pub(super) fn of(run: &Run) -> Vec<Step<'_>> {
    let began = run.event(0).and_then(|first| time::instant(&first.time()?));
    let mut tools = run.tool_calls();
    let mut steps = Vec::new();
    for event in run.events() {
        let at = event.time().and_then(|text| time::instant(&text));
        let at =
            at.zip(began).and_then(|(at, began)| u64::try_from(at - began).ok()).map(Duration::from_nanos);
        let (id, what) = match event.kind() {
            Kind::ModelCalled | Kind::HttpCalled => {
                let Some(exchange) = run.exchange(event.index()) else { continue };
                let id = exchange.step_id();
                match exchange.asked {
                    Asked::Model => (id, What::Model(exchange)),
                    Asked::Http => (id, What::Http(exchange)),
                }
            }
            Kind::ToolCalled => {
                // Both come in the order of the events.
                let Some(tool) = tools.next() else { continue };
                (tool.call().ok().and_then(|call| call.step_id).unwrap_or_default(), What::Tool(tool))
            }
            // The ends of calls belong to their beginnings; the ends of the run are told by its summary.
            Kind::ModelReturned | Kind::HttpReturned | Kind::ToolReturned => continue,
            Kind::RunStarted | Kind::RunEnded => continue,
            _ => (Cow::default(), What::Other(event)),
        };
        steps.push(Step { id, at, what });
    }
    steps
}
