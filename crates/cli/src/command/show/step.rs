//! The steps of a run: each call with what came of it, and what else happened between them.

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::FormatId;
use reenact_formats::rer::time;
use reenact_run::{Asked, Event, Exchange, Kind, Run, ToolUse};

/// Something that happened.
pub(super) struct Step<'r> {
    /// Its id, by the record's word; empty for what is no step.
    pub(super) id: Cow<'r, str>,
    /// How long after the beginning of the run.
    pub(super) at: Option<Duration>,
    pub(super) what: What<'r>,
    /// Whether it is told elsewhere, so that a person need not read it twice.
    pub(super) is_told: bool,
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

/// Whether an event is part of the format and not of the run: the line of a replay that says who wrote it, as the heading does, and
/// the files of a bundle that was imported, whose lines are shown.
fn is_frame(event: &Event<'_>) -> bool {
    let Some(payload) = event.payload().value() else { return false };
    match event.dialect() {
        FormatId::ReplayJsonl => payload.member("event").is_some_and(|tag| tag.is_string("ReplayHeader")),
        FormatId::ReplayBundle => payload.member("name").is_some() && payload.member("body").is_some(),
        _ => false,
    }
}

/// Whether an event is told elsewhere: costs by their sums, a decision by what follows it, which is an action that was allowed or the
/// block of one that was denied.
fn is_told(run: &Run, event: &Event<'_>) -> bool {
    if event.kind() != Kind::PolicyEvaluated {
        return event.kind() == Kind::Other && &*event.name() == "rer.spend.counted";
    }
    let decision = event.payload().value().and_then(|payload| payload.member("decision"));
    let follows = || run.event(event.index() + 1).map(|next| next.kind());
    decision.is_some_and(|decision| {
        decision.is_string("allow") || decision.is_string("deny") && follows() == Some(Kind::StepBlocked)
    })
}

/// Everything that happened, in order.
pub(super) fn of(run: &Run) -> Vec<Step<'_>> {
    let began = run.started_at().and_then(|at| time::instant(&at));
    let mut tools = run.tool_calls();
    let mut steps = Vec::new();
    for event in run.events() {
        let at = event.time().and_then(|text| time::instant(&text));
        let at =
            at.zip(began).and_then(|(at, began)| u64::try_from(at - began).ok()).map(Duration::from_nanos);
        let is_told = is_told(run, &event);
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
                (event.step_id(), What::Tool(tool))
            }
            // The ends of calls belong to their beginnings; the ends of the run are told by its summary.
            Kind::ModelReturned | Kind::HttpReturned | Kind::ToolReturned if event.partner().is_some() => {
                continue;
            }
            Kind::RunStarted | Kind::RunEnded => continue,
            Kind::StepBlocked => (event.step_id(), What::Other(event)),
            Kind::Other if is_frame(&event) => continue,
            _ if event.dialect() == FormatId::Rpk => (event.step_id(), What::Other(event)),
            _ => (Cow::default(), What::Other(event)),
        };
        steps.push(Step { id, at, what, is_told });
    }
    steps
}
