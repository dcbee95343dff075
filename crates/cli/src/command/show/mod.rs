//! `reenact show RUN`: the steps of a run, under the verdict on its record.
//!
//! `timeline` prints the whole run, `step_page` one step with all its content, `json` both for programs, `surroundings` what is beside
//! the steps; `filter` and `selection` decide which steps. The exit code is that of the verdict. Start reading at `ShowArgs::run`.

mod filter;
pub(super) mod json;
mod masked;
mod selection;
pub(super) mod step_page;
mod surroundings;
mod timeline;
mod tool_output;

use std::ffi::OsString;

use reenact_run::Timeline;

pub(super) use selection::find_step;
pub(super) use surroundings::{addresses_text, fork_words};
pub(super) use timeline::one_line;

use crate::output::{self, CommandError};
use crate::pager;
use crate::runs;
use crate::runs::KeyFileArgs;
use filter::StepFilter;
use selection::find_steps;
use step_page::OutputLength;

/// Show a run: its steps, models, tools, tokens and times
///
/// RUN is a file or a folder of any of the five formats, a run id, the beginning of one, `last`, or the id of a session whose REPLAY.jsonl is
/// in this folder or in one in it. What is shown is what the record
/// says; whether it can be believed, the first line says. At a terminal, PAGER shows it a screen at a time. The exit code is 0 if the record verifies, 1 if it does not, 2 if it could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact show\n  reenact show last -s 2\n  reenact show last -s 2..5\n  reenact show last --only tool --grep lisbon\n  reenact show run.rer.json --key signer.jwk --json\n  reenact show sess_abc123"
)]
pub(crate) struct ShowArgs {
    /// A file or a folder, a run id, the beginning of one, `last`, or the id of a session
    #[arg(value_name = "RUN", default_value = "last")]
    run: OsString,

    /// Only this step, with all that was asked and answered: its number or id, or a range such as 2..5
    #[arg(short, long, value_name = "STEP", conflicts_with_all = ["only", "grep", "limit"])]
    step: Option<String>,

    /// With --step: outputs of tools whole, however long they are
    #[arg(long, requires = "step")]
    full: bool,

    #[command(flatten)]
    filter: StepFilter,

    #[command(flatten)]
    keys: KeyFileArgs,

    /// Print it all at once, also at a terminal
    #[arg(long)]
    no_pager: bool,

    /// One JSON object, with --step one a line
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
        let chosen = self.step.as_ref().map(|name| find_steps(&timeline, name)).transpose()?;
        let length = if self.full { OutputLength::Whole } else { OutputLength::Shortened };
        let text = match (self.json, chosen) {
            (true, None) => {
                json::run(&found, &self.filter.apply(timeline.steps.iter()), timeline.steps.len()) + "\n"
            }
            (true, Some(steps)) => {
                steps.iter().map(|step| json::step(step, json::Bodies::Included) + "\n").collect()
            }
            (false, None) => timeline::page(&found, &timeline.steps, &self.filter),
            (false, Some(steps)) => step_page::pages(&steps, length),
        };
        match self.json || self.no_pager {
            true => output::print(&text),
            false => pager::print(&text),
        }?;
        Ok(u8::from(!found.report.pass()))
    }
}
