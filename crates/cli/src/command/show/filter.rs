//! Which steps of a run are shown: by their kind, by what is in them, and how many.
//!
//! A kind is a row of [`STEP_KINDS`]. Start reading at [`StepFilter::apply`].

use std::num::NonZeroUsize;

use reenact_run::timeline::{StepAction, TimelineStep};
use reenact_run::{EventType, Exchange, ToolUse, UnreadablePayload};

use super::step_page::{self, OutputLength};

/// Kind of steps that `--only` names.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepKind {
    /// Word of the option.
    name: &'static str,
    includes: fn(&StepAction<'_>) -> bool,
}

/// All kinds, as the help lists them. A step may be of several.
static STEP_KINDS: [StepKind; 7] = [
    StepKind { name: "model", includes: |action| matches!(action, StepAction::Model(_)) },
    StepKind { name: "tool", includes: |action| matches!(action, StepAction::Tool(_)) },
    StepKind { name: "http", includes: |action| matches!(action, StepAction::Http(_)) },
    StepKind { name: "error", includes: is_error },
    StepKind { name: "policy", includes: is_policy },
    StepKind {
        name: "gap",
        includes: |action| matches!(action, StepAction::Other(event) if event.kind() == Some(EventType::CaptureGap)),
    },
    StepKind { name: "event", includes: |action| matches!(action, StepAction::Other(_)) },
];

impl StepKind {
    /// Parses the word of the option, for clap.
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        let found = STEP_KINDS.iter().find(|kind| kind.name == word);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = STEP_KINDS.iter().map(|kind| kind.name).collect();
            format!("not one of {}", names.join(", "))
        })
    }
}

/// Returns true for a call that failed, was cut short or got no answer, and for an error that was reported.
fn is_error(action: &StepAction<'_>) -> bool {
    match action {
        StepAction::Model(exchange) | StepAction::Http(exchange) => has_failed(exchange),
        StepAction::Tool(tool) => tool_has_failed(tool),
        StepAction::Other(event) => event.kind() == Some(EventType::ErrorRaised),
    }
}

fn has_failed(exchange: &Exchange<'_>) -> bool {
    let facts = exchange.facts();
    let is_answered = match &facts.answer {
        Ok(answer) => answer.complete && answer.status.is_none_or(|status| status < 400),
        Err(UnreadablePayload::Withheld) => true,
        Err(_) => exchange.foreign_return().is_some(),
    };
    !is_answered || facts.message.is_some_and(|message| message.error.is_some())
}

fn tool_has_failed(tool: &ToolUse<'_>) -> bool {
    match tool.result() {
        Ok(result) => result.is_error,
        Err(why) => why != UnreadablePayload::Withheld,
    }
}

/// Returns true for decisions of policy, denied actions, and approvals.
fn is_policy(action: &StepAction<'_>) -> bool {
    let StepAction::Other(event) = action else { return false };
    matches!(
        event.kind(),
        Some(
            EventType::PolicyEvaluated
                | EventType::StepBlocked
                | EventType::ApprovalRequested
                | EventType::ApprovalGranted
                | EventType::ApprovalDenied
        )
    )
}

/// Steps that `--only`, `--grep` and `--limit` ask for. Without any of them, every step is shown.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct StepFilter {
    /// Only steps of this kind: model, tool, http, error, policy, gap, event; may be given more than once
    #[arg(long, value_name = "KIND", value_parser = StepKind::parse)]
    only: Vec<StepKind>,

    /// Only steps with this text in what was asked, answered or noted; upper and lower case are the same
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,

    /// At most this many steps, the first that fit
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
}

impl StepFilter {
    /// Returns true if any option was given.
    pub(super) fn is_set(&self) -> bool {
        !self.only.is_empty() || self.grep.is_some() || self.limit.is_some()
    }

    /// Returns the steps that fit, in their order.
    pub(super) fn apply<'s, 'r>(
        &self,
        steps: impl Iterator<Item = &'s TimelineStep<'r>>,
    ) -> Vec<&'s TimelineStep<'r>> {
        let wanted = self.grep.as_ref().map(|text| text.to_lowercase());
        let is_wanted = |step: &&TimelineStep<'_>| {
            (self.only.is_empty() || self.only.iter().any(|kind| (kind.includes)(&step.action)))
                && wanted.as_ref().is_none_or(|wanted| page_text(step).to_lowercase().contains(wanted))
        };
        steps.filter(is_wanted).take(self.limit.map_or(usize::MAX, NonZeroUsize::get)).collect()
    }
}

/// Returns all that is printed of a step, without colours: the record's own text, with what was masked masked.
fn page_text(step: &TimelineStep<'_>) -> String {
    let page = step_page::step(step, OutputLength::Whole);
    format!("{}\n{}", step.id, anstream::adapter::strip_str(&page))
}
