//! Events that an agent reports about itself: prompts, plans, steps, checks, outputs. The record marks them as
//! reported, since the recorder did not observe them. `json` parses reports that come as JSON.

mod json;

use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{
    ArtifactWritten, EventSource, OutputFinal, PlanStarted, PromptRendered, StepCompleted, VerificationRan,
};
use reenact_json::Digest;

pub use json::{AgentReportFault, parse};

use crate::error::RecordError;
use crate::event_writer::EventWriter;

/// Event that an agent reports about itself. Secrets in its texts are masked when it is recorded.
#[derive(Debug, Clone, Copy)]
pub enum AgentReport<'a> {
    /// `rer.prompt.rendered`: a prompt was made of a template.
    PromptRendered {
        /// Template, if there is one.
        template: Option<&'a str>,
        /// Values for the template, as JSON.
        variables: Option<&'a str>,
        /// Rendered prompt.
        prompt: &'a str,
    },
    /// `rer.plan.started`: the agent begins a plan.
    PlanStarted {
        /// SHA-256 of the plan.
        plan_hash: Option<[u8; 32]>,
        /// Steps of the plan, as JSON.
        steps: &'a str,
    },
    /// `rer.step.completed`: a step of the agent's plan is done. These steps have names of the agent's own, not
    /// [`StepId`](crate::StepId)s.
    StepCompleted {
        /// Name of the step.
        step_id: &'a str,
        /// Outcome, such as `success`.
        status: &'a str,
        /// Number of attempts.
        iterations: Option<u64>,
        /// Value of the result in the agent's own judgement. Left out of the record if it is not finite.
        utility: Option<f64>,
    },
    /// `rer.verification.ran`: the agent ran checks.
    VerificationRan {
        /// Commands that were run.
        commands: &'a [&'a str],
        /// Exit code of each command.
        exit_codes: &'a [i32],
        /// Changes, as JSON.
        delta: &'a str,
    },
    /// `rer.artifact.written`: the agent wrote a file.
    ArtifactWritten {
        /// SHA-256 of the file.
        artifact_hash: [u8; 32],
        /// Name of the file; never a path.
        name: &'a str,
        /// Length of the file in bytes.
        size_bytes: u64,
        /// Media type, such as `text/plain`.
        media_type: Option<&'a str>,
    },
    /// `rer.output.final`: the agent's result.
    OutputFinal {
        /// Output: recorded as JSON if it is an object or an array, else as text.
        output: &'a str,
    },
}

impl EventWriter {
    /// Records an event that the agent reports, with the source `reported`.
    pub fn record_report(&self, report: &AgentReport<'_>) -> Result<(), RecordError> {
        let masks = self.masks();
        let source = EventSource::Reported;
        match *report {
            AgentReport::PromptRendered { template, variables, prompt } => {
                let (template, prompt) = (template.map(|text| masks.text(text)), masks.text(prompt));
                let variables = variables.map(|text| masks.json(text, true));
                let (template, variables) = (template.as_ref(), variables.as_ref());
                let rendered = PromptRendered { prompt: &prompt, source, template, variables };
                self.append(EventType::PromptRendered, |payload| rendered.write(payload))
            }
            AgentReport::PlanStarted { plan_hash, steps } => {
                let steps = masks.json(steps, true);
                let plan_hash = plan_hash.map(Digest::from_bytes);
                let started = PlanStarted { plan_hash, source, steps: &steps };
                self.append(EventType::PlanStarted, |payload| started.write(payload))
            }
            AgentReport::StepCompleted { step_id, status, iterations, utility } => {
                let (step_id, status) = (&masks.text(step_id), &masks.text(status));
                let utility = utility.filter(|utility| utility.is_finite());
                let completed = StepCompleted { iterations, source, status, step_id, utility };
                self.append(EventType::StepCompleted, |payload| completed.write(payload))
            }
            AgentReport::VerificationRan { commands, exit_codes, delta } => {
                let commands: Vec<_> = commands.iter().map(|command| masks.text(command)).collect();
                let commands = commands.iter().collect();
                let exit_codes = exit_codes.iter().copied().map(i64::from).collect();
                let ran = VerificationRan { commands, delta: &masks.json(delta, true), exit_codes, source };
                self.append(EventType::VerificationRan, |payload| ran.write(payload))
            }
            AgentReport::ArtifactWritten { artifact_hash, name, size_bytes, media_type } => {
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
            AgentReport::OutputFinal { output } => {
                let output = masks.json(output, false);
                let last = OutputFinal { output: &output, source };
                self.append(EventType::OutputFinal, |payload| last.write(payload))
            }
        }
    }
}
