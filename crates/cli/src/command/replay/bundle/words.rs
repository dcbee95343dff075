//! The comparison of a replay with its bundle, in words.
//!
//! Start reading at [`comparison_notices`].

use reenact_json::Shown;
use reenact_replay::BundleComparison;
use reenact_run::bundled_outcome::OutcomeDifference;

use super::results::{ANSWER, COMMAND_EXIT, REPORTS};
use crate::quantity;

/// Largest number of differences that are printed; the report has all.
const MAX_SHOWN: usize = 10;

/// Returns true for a difference that no other line of the result tells.
fn is_told(difference: &OutcomeDifference) -> bool {
    let is_answer = difference.at.strip_prefix(ANSWER).is_some_and(|rest| rest.starts_with(' '));
    difference.at != COMMAND_EXIT && !is_answer
}

/// Returns the differences between a replay and its bundle, and what is not known of it, as notices.
pub(in crate::command::replay) fn comparison_notices(comparison: &BundleComparison) -> Vec<String> {
    let mut notices = Vec::new();
    let told: Vec<&OutcomeDifference> =
        comparison.differences.iter().filter(|difference| is_told(difference)).collect();
    if !told.is_empty() {
        let mut text = "not as in the bundle:".to_owned();
        let word = |side: &Option<String>| match side.as_deref() {
            Some("") => "nothing".to_owned(),
            Some(side) => Shown::new(side).to_string(),
            None => "not there".to_owned(),
        };
        for difference in told.iter().take(MAX_SHOWN) {
            text.push_str(&format!(
                "\n  {}: recorded {}, now {}",
                Shown::new(&difference.at),
                word(&difference.recorded),
                word(&difference.now)
            ));
        }
        if let Some(more) = told.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
            text.push_str(&format!("\n  and {more} more: --json has all"));
        }
        notices.push(text);
    }
    let count = comparison.tests_not_run;
    let is_ours = comparison.recorded.as_ref().is_some_and(|recorded| recorded.is_of_exchanges);
    // Answers that the bundle itself says are not in it were named before.
    if count > if is_ours { comparison.incomplete_tests.len() } else { 0 } {
        let (were, them) = if count == 1 { ("was", "it") } else { ("were", "them") };
        notices.push(match is_ours {
            true => format!(
                "{} {were} recorded that the bundle does not hold: nothing is known of {them}",
                quantity::count(count as u64, "answer")
            ),
            false => {
                let is_asked = comparison.differences.iter().any(|difference| difference.at == REPORTS);
                let advice = if is_asked {
                    ""
                } else {
                    ": --outputs DIR names the folder that the command writes run.json and summary.json into"
                };
                format!(
                    "{} {were} not run again here, and nothing is known of {them}{advice}",
                    quantity::count(count as u64, "recorded test")
                )
            }
        });
    }
    notices
}

/// Returns why a replay differs from its bundle, as part of a line; `None` if it does not, or only in how the command ended.
pub(in crate::command::replay) fn differing_phrase(comparison: &BundleComparison) -> Option<String> {
    let count = comparison.differences.iter().filter(|difference| is_told(difference)).count();
    let differs = if count == 1 { "differs" } else { "differ" };
    let outputs = quantity::count(count as u64, "result");
    (count > 0).then(|| format!("{outputs} {differs} from the bundle"))
}

/// Returns the recorded end of a run that failed without an exit code, if the command did not fail.
pub(in crate::command::replay) fn failure_phrase(comparison: &BundleComparison) -> Option<String> {
    let recorded = comparison.recorded.as_ref()?;
    let difference = comparison.differences.iter().find(|difference| difference.at == COMMAND_EXIT)?;
    // With an exit code in the record, the line of the verdict compares it.
    let recorded_exit = difference.recorded.as_ref().filter(|_| recorded.exit.is_none())?;
    Some(format!("{}, recorded was {recorded_exit}", difference.now.as_deref().unwrap_or_default()))
}
