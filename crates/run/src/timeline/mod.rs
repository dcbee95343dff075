//! Timeline of a run: each call with its result, and the events between them.
//!
//! All outputs print this one model: text and JSON today. [`Timeline::of`] lists the steps; the [`facts`] of a
//! step are read from its payloads when they are asked for, so that a long run takes no more memory than its
//! list of steps.

pub mod event_words;
pub mod facts;

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::rer::time;

use crate::reader;
use crate::{Event, EventType, Exchange, ExchangeKind, Run, ToolUse};
use reenact_formats::rer::payload::{PolicyDecision, PolicyEvaluatedView};

/// All steps of a run, in order.
#[derive(Debug, Clone)]
pub struct Timeline<'r> {
    /// Steps, in the order of the events that begin them.
    pub steps: Vec<TimelineStep<'r>>,
}

/// One step: a call with its result, or another event.
#[derive(Debug, Clone)]
pub struct TimelineStep<'r> {
    /// Id by the record's word, untrusted; empty for an event that is no step.
    pub id: Cow<'r, str>,
    /// Time since the beginning of the run; `None` if the format or the event has no time.
    pub at: Option<Duration>,
    /// Kind of step, with the events that hold it.
    pub action: StepAction<'r>,
    /// True if another step or the summary says the same, so that outputs for people leave the step out.
    pub is_redundant: bool,
}

/// Kinds of steps.
#[derive(Debug, Clone)]
pub enum StepAction<'r> {
    /// Call of a model.
    Model(Exchange<'r>),
    /// Other request over HTTP.
    Http(Exchange<'r>),
    /// Call of a tool.
    Tool(ToolUse<'r>),
    /// Any other event that is worth a line: decisions, capture gaps, errors.
    Other(Event<'r>),
}

impl<'r> Timeline<'r> {
    /// Lists the steps of a run.
    pub fn of(run: &'r Run) -> Self {
        let began = run.started_at().and_then(|at| time::instant(&at));
        let mut tools = run.tool_calls();
        let mut steps = Vec::new();
        for event in run.events() {
            let at = event.time().and_then(|text| time::instant(&text));
            let at = at
                .zip(began)
                .and_then(|(at, began)| u64::try_from(at - began).ok())
                .map(Duration::from_nanos);
            let is_redundant = is_redundant(run, &event);
            let (id, action) = match event.kind() {
                Some(EventType::ModelCalled | EventType::HttpCalled) => {
                    let Some(exchange) = run.exchange(event.index()) else { continue };
                    let id = exchange.step_id();
                    match exchange.kind {
                        ExchangeKind::Model => (id, StepAction::Model(exchange)),
                        ExchangeKind::Http => (id, StepAction::Http(exchange)),
                    }
                }
                Some(EventType::ToolCalled) => {
                    // Events and tool calls come in the same order.
                    let Some(tool) = tools.next() else { continue };
                    (event.step_id(), StepAction::Tool(tool))
                }
                // A return belongs to its call; the summary says how the run began and ended.
                Some(EventType::ModelReturned | EventType::HttpReturned | EventType::ToolReturned)
                    if event.partner().is_some() =>
                {
                    continue;
                }
                Some(EventType::RunStarted | EventType::RunEnded) => continue,
                Some(EventType::StepBlocked) => (event.step_id(), StepAction::Other(event)),
                None if is_framing(&event) => continue,
                _ if reader::reader_of(event.payload_format()).has_step_ids() => {
                    (event.step_id(), StepAction::Other(event))
                }
                _ => (Cow::default(), StepAction::Other(event)),
            };
            steps.push(TimelineStep { id, at, action, is_redundant });
        }
        Self { steps }
    }

    /// Finds the step that a user means: by its id, such as `s2` or `step-000002`, or by the number in the id,
    /// such as `2`.
    pub fn find(&self, name: &str) -> Option<&TimelineStep<'r>> {
        let number = name.parse::<u64>().ok();
        let is_meant = |step: &&TimelineStep<'_>| {
            let digits = step.id.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            number.is_some() && !digits.is_empty() && digits.parse().ok() == number
        };
        let exact = self.steps.iter().find(|step| step.id == name);
        exact.or_else(|| self.steps.iter().find(is_meant))
    }
}

/// Returns true if an event is part of the format and not of the run, such as a header line.
fn is_framing(event: &Event<'_>) -> bool {
    event
        .payload()
        .value()
        .is_some_and(|payload| reader::reader_of(event.payload_format()).is_framing(payload))
}

/// Returns true for costs, which the summary adds up, and for a decision that is followed by its consequence: an action that was
/// allowed, or the block of one that was denied.
fn is_redundant(run: &Run, event: &Event<'_>) -> bool {
    if event.kind() != Some(EventType::PolicyEvaluated) {
        return event.kind() == Some(EventType::SpendCounted);
    }
    let evaluated = event.payload().value().map(PolicyEvaluatedView::read);
    match evaluated.and_then(|evaluated| evaluated.decision.word()) {
        Some(PolicyDecision::Allow) => true,
        Some(PolicyDecision::Deny) => {
            run.event(event.index() + 1).and_then(|next| next.kind()) == Some(EventType::StepBlocked)
        }
        None => false,
    }
}
