//! `reenact show RUN`: what happened, step by step, with the verdict on top.

mod json;
mod masked;
pub(super) mod page;
mod timeline;

use std::ffi::OsString;

use reenact_json::Shown;
use reenact_run::Timeline;
use reenact_run::timeline::TimelineStep;

use crate::output::{self, Ending};
use crate::runs;
use crate::runs::KeyFiles;

/// Show a run: its steps, models, tools, tokens and times, under the verdict on its record
///
/// RUN is a file or a folder of any of the five formats, a run id, the beginning of one, or `last`. What is shown is what the record
/// says; whether it can be believed, the first line says. The exit code is 0 if the record verifies, 1 if it does not, 2 if it could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact show last\n  reenact show last --step 2\n  reenact show run.rer.json --key signer.jwk --json\n  reenact show REPLAY.jsonl"
)]
pub(crate) struct Show {
    /// A file or a folder, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    run: OsString,

    /// Only this step, with all that was asked and answered
    #[arg(long, value_name = "N")]
    step: Option<String>,

    #[command(flatten)]
    keys: KeyFiles,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) fn run(&self) -> Result<u8, Ending> {
        let found = runs::open(&self.run, &self.keys)?;
        let timeline = Timeline::of(&found.run);
        let chosen = self.step.as_ref().map(|name| choose(&timeline, name)).transpose()?;
        let text = match (self.json, chosen) {
            (true, None) => json::run(&found, &timeline.steps) + "\n",
            (true, Some(step)) => json::step(step, json::Bodies::Whole) + "\n",
            (false, None) => timeline::page(&found, &timeline.steps),
            (false, Some(step)) => page::step(step),
        };
        output::print(&text)?;
        Ok(u8::from(!found.report.pass()))
    }
}

/// The step that a person means, or an error that says which there are.
fn choose<'s, 'r>(timeline: &'s Timeline<'r>, name: &str) -> Result<&'s TimelineStep<'r>, Ending> {
    timeline.find(name).ok_or_else(|| {
        let mut named = timeline.steps.iter().filter(|step| !step.id.is_empty());
        let range = match (named.next(), named.next_back()) {
            (Some(first), Some(last)) => {
                format!("; it has {} to {}", Shown::new(&first.id), Shown::new(&last.id))
            }
            (Some(only), None) => format!("; it has {}", Shown::new(&only.id)),
            _ => "; it has none that is named".into(),
        };
        Ending::impossible(format!("the run has no step {}{range}", Shown::new(name)))
    })
}
