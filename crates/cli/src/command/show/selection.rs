//! The steps that `--step` names: one by its id or number, those of a step of the plan, or a range. Start reading at [`find_steps`].

use reenact_json::Shown;
use reenact_run::Timeline;
use reenact_run::timeline::{StepAction, TimelineStep};

use crate::output::CommandError;

/// Returns the steps that a name means, at least one, in their order.
///
/// `2`, `s2` and `tc_002` are one step; `step-1` are the calls that a plan's step of that name made; `2..5` are the steps from the one to the
/// other, both included, and a side that is left out is the end of the run.
///
/// # Errors
///
/// If there is none; the message says which steps the run has.
pub(super) fn find_steps<'s, 'r>(
    timeline: &'s Timeline<'r>,
    name: &str,
) -> Result<Vec<&'s TimelineStep<'r>>, CommandError> {
    if let Some(step) = timeline.steps.iter().find(|step| step.id == name) {
        return Ok(vec![step]);
    }
    let planned: Vec<_> =
        timeline.steps.iter().filter(|step| plan_step_of(step).as_deref() == Some(name)).collect();
    if !planned.is_empty() {
        return Ok(planned);
    }
    let Some((first, last)) = name.split_once("..") else { return Ok(vec![find_step(timeline, name)?]) };
    let position = |name: &str| {
        let step = find_step(timeline, name)?;
        Ok::<_, CommandError>(timeline.steps.iter().position(|other| core::ptr::eq(other, step)).unwrap_or(0))
    };
    let first = if first.is_empty() { 0 } else { position(first)? };
    let last = if last.is_empty() { timeline.steps.len().saturating_sub(1) } else { position(last)? };
    let steps: Vec<_> = timeline
        .steps
        .get(first..=last)
        .unwrap_or_default()
        .iter()
        .filter(|step| !step.is_redundant)
        .collect();
    match steps.is_empty() {
        true => Err(CommandError::impossible(format!("there are no steps in {}", Shown::new(name)))),
        false => Ok(steps),
    }
}

/// Returns the plan's step that a tool call belongs to, where the record has such steps beside the ids of calls.
pub(super) fn plan_step_of<'r>(step: &TimelineStep<'r>) -> Option<std::borrow::Cow<'r, str>> {
    let StepAction::Tool(tool) = &step.action else { return None };
    tool.call().ok()?.step_id.filter(|id| *id != step.id)
}

/// Returns the step of that name.
///
/// # Errors
///
/// If there is none; the message says which steps the run has.
pub(in crate::command) fn find_step<'s, 'r>(
    timeline: &'s Timeline<'r>,
    name: &str,
) -> Result<&'s TimelineStep<'r>, CommandError> {
    timeline.find(name).ok_or_else(|| {
        let mut named = timeline.steps.iter().filter(|step| !step.id.is_empty());
        let range = match (named.next(), named.next_back()) {
            (Some(first), Some(last)) => {
                format!("; it has {} to {}", Shown::new(&first.id), Shown::new(&last.id))
            }
            (Some(only), None) => format!("; it has {}", Shown::new(&only.id)),
            _ => "; it has none that is named".into(),
        };
        CommandError::impossible(format!("the run has no step {}{range}", Shown::new(name)))
    })
}
