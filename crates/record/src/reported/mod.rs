//! What an agent tells of itself: prompts, plans, steps, checks, outputs. Nobody saw it happen.

mod json;

use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{
    ArtifactWritten, OutputFinal, PlanStarted, PromptRendered, Source, StepCompleted, VerificationRan,
};
use reenact_json::Digest;

pub use json::{ReportFault, read};

use crate::error::RecordError;
use crate::pen::Pen;

/// Something that an agent reports.
#[derive(Debug, Clone, Copy)]
pub enum Report<'a> {
    /// `rer.prompt.rendered`
    PromptRendered {
        /// The template.
        template: Option<&'a str>,
        /// What was put into it, as JSON.
        variables: Option<&'a str>,
        /// What came out.
        prompt: &'a str,
    },
    /// `rer.plan.started`
    PlanStarted {
        /// SHA-256 of the plan.
        plan_hash: Option<[u8; 32]>,
        /// The steps, as JSON.
        steps: &'a str,
    },
    /// `rer.step.completed`. The agent's steps have names of its own.
    StepCompleted {
        /// The agent's name for the step.
        step_id: &'a str,
        /// Such as `success`.
        status: &'a str,
        /// How often it was tried.
        iterations: Option<u64>,
        /// What it was worth, in the agent's own judgement; what is no finite number is left out.
        utility: Option<f64>,
    },
    /// `rer.verification.ran`
    VerificationRan {
        /// What was run.
        commands: &'a [&'a str],
        /// How each ended.
        exit_codes: &'a [i32],
        /// What changed, as JSON.
        delta: &'a str,
    },
    /// `rer.artifact.written`
    ArtifactWritten {
        /// SHA-256 of its bytes.
        artifact_hash: [u8; 32],
        /// What it is called. Never a path.
        name: &'a str,
        /// Its length.
        size_bytes: u64,
        /// Its media type.
        media_type: Option<&'a str>,
    },
    /// `rer.output.final`
    OutputFinal {
        /// The output: JSON if it is an object or an array, else text.
        output: &'a str,
    },
}

impl Pen {
    /// Records what the agent reports.
    pub fn report(&self, report: &Report<'_>) -> Result<(), RecordError> {
        let masks = self.masks();
        let source = Source::Reported;
        match *report {
            Report::PromptRendered { template, variables, prompt } => {
                let (template, prompt) = (template.map(|text| masks.text(text)), masks.text(prompt));
                let variables = variables.map(|text| masks.json(text, true));
                let (template, variables) = (template.as_ref(), variables.as_ref());
                let rendered = PromptRendered { prompt: &prompt, source, template, variables };
                self.append(EventType::PromptRendered, |payload| rendered.write(payload))
            }
            Report::PlanStarted { plan_hash, steps } => {
                let steps = masks.json(steps, true);
                let plan_hash = plan_hash.map(Digest::from_bytes);
                let started = PlanStarted { plan_hash, source, steps: &steps };
                self.append(EventType::PlanStarted, |payload| started.write(payload))
            }
            Report::StepCompleted { step_id, status, iterations, utility } => {
                let (step_id, status) = (&masks.text(step_id), &masks.text(status));
                let utility = utility.filter(|utility| utility.is_finite());
                let completed = StepCompleted { iterations, source, status, step_id, utility };
                self.append(EventType::StepCompleted, |payload| completed.write(payload))
            }
            Report::VerificationRan { commands, exit_codes, delta } => {
                let commands: Vec<_> = commands.iter().map(|command| masks.text(command)).collect();
                let commands = commands.iter().collect();
                let exit_codes = exit_codes.iter().copied().map(i64::from).collect();
                let ran = VerificationRan { commands, delta: &masks.json(delta, true), exit_codes, source };
                self.append(EventType::VerificationRan, |payload| ran.write(payload))
            }
            Report::ArtifactWritten { artifact_hash, name, size_bytes, media_type } => {
                let (name, media_type) = (masks.text(name), media_type.map(|text| masks.text(text)));
                let written = ArtifactWritten {
                    artifact_hash: Digest::from_bytes(artifact_hash),
                    media_type: media_type.as_ref(),
                    name: &name,
                    size_bytes,
                    source,
                };
                self.append(EventType::ArtifactWritten, |payload| written.write(payload))
            }
            Report::OutputFinal { output } => {
                let output = masks.json(output, false);
                let last = OutputFinal { output: &output, source };
                self.append(EventType::OutputFinal, |payload| last.write(payload))
            }
        }
    }
}
