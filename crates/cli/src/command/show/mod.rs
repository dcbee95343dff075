//! `reenact show RUN`: the steps of a run, under the verdict on its record.
//!
//! `timeline` prints the whole run, `step_page` one step with all its content, `json` both for programs, `surroundings` what is beside
//! the steps. The
//! exit code is that of the verdict. Start reading at `ShowArgs::run`.

pub(super) mod json;
mod masked;
pub(super) mod step_page;
mod surroundings;
mod timeline;

use std::ffi::OsString;

use reenact_json::Shown;
use reenact_run::Timeline;
use reenact_run::timeline::TimelineStep;

pub(super) use surroundings::{addresses_text, fork_words};
pub(super) use timeline::one_line;

use crate::output::{self, CommandError};
use crate::runs;
use crate::runs::KeyFileArgs;

/// Show a run: its steps, models, tools, tokens and times
///
/// RUN is a file or a folder of any of the five formats, a run id, the beginning of one, or `last`. What is shown is what the record
/// says; whether it can be believed, the first line says. The exit code is 0 if the record verifies, 1 if it does not, 2 if it could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact show\n  reenact show last --step 2\n  reenact show run.rer.json --key signer.jwk --json\n  reenact show REPLAY.jsonl"
)]
pub(crate) struct ShowArgs {
    /// A file or a folder, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    run: OsString,

    /// Only this step, with all that was asked and answered
    #[arg(long, value_name = "N")]
    step: Option<String>,

    #[command(flatten)]
    keys: KeyFileArgs,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl ShowArgs {
    /// Prints the run, or the step that `--step` names.
    ///
    /// A record that does not verify is shown as well, under a verdict that says so; only the exit code is 1 then.
    pub(crate) fn run(&self) -> Result<u8, CommandError> {
        let found = runs::open(&self.run, &self.keys)?;
        let timeline = Timeline::of(&found.run);
        let chosen = self.step.as_ref().map(|name| find_step(&timeline, name)).transpose()?;
        let text = match (self.json, chosen) {
            (true, None) => json::run(&found, &timeline.steps) + "\n",
            (true, Some(step)) => json::step(step, json::Bodies::Included) + "\n",
            (false, None) => timeline::page(&found, &timeline.steps),
            (false, Some(step)) => step_page::step(step),
        };
        output::print(&text)?;
        Ok(u8::from(!found.report.pass()))
    }
}

/// Returns the step of that name.
///
/// # Errors
///
/// If there is none; the message says which steps the run has.
pub(super) fn find_step<'s, 'r>(
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
