//! What an agent tells of itself: prompts, plans, steps, checks, outputs. Nobody saw it happen.

mod json;

use reenact_json::Digest;

pub use json::{ReportFault, read};

use crate::error::RecordError;
use crate::event::EventType;
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
        match *report {
            Report::PromptRendered { template, variables, prompt } => {
                let (template, prompt) = (template.map(|text| masks.text(text)), masks.text(prompt));
                let variables = variables.map(|text| masks.json(text, true));
                self.append(EventType::PromptRendered, |payload| {
                    payload.text("prompt", &prompt);
                    payload.salt();
                    payload.constant("source", "reported");
                    if let Some(template) = &template {
                        payload.text("template", template);
                    }
                    if let Some(variables) = &variables {
                        payload.json("variables", variables);
                    }
                })
            }
            Report::PlanStarted { plan_hash, steps } => {
                let steps = masks.json(steps, true);
                self.append(EventType::PlanStarted, |payload| {
                    if let Some(hash) = plan_hash {
                        payload.digest("plan_hash", &Digest::from_bytes(hash));
                    }
                    payload.salt();
                    payload.constant("source", "reported");
                    payload.json("steps", &steps);
                })
            }
            Report::StepCompleted { step_id, status, iterations, utility } => {
                let (step_id, status) = (masks.text(step_id), masks.text(status));
                self.append(EventType::StepCompleted, |payload| {
                    if let Some(iterations) = iterations {
                        payload.number("iterations", iterations);
                    }
                    payload.salt();
                    payload.constant("source", "reported");
                    payload.text("status", &status);
                    payload.text("step_id", &step_id);
                    if let Some(utility) = utility.filter(|utility| utility.is_finite()) {
                        payload.double("utility", utility);
                    }
                })
            }
            Report::VerificationRan { commands, exit_codes, delta } => {
                let commands: Vec<_> = commands.iter().map(|command| masks.text(command)).collect();
                let delta = masks.json(delta, true);
                self.append(EventType::VerificationRan, |payload| {
                    payload.texts("commands", &commands);
                    payload.json("delta", &delta);
                    payload.signed_numbers("exit_codes", exit_codes);
                    payload.salt();
                    payload.constant("source", "reported");
                })
            }
            Report::ArtifactWritten { artifact_hash, name, size_bytes, media_type } => {
                let (name, media_type) = (masks.text(name), media_type.map(|text| masks.text(text)));
                self.append(EventType::ArtifactWritten, |payload| {
                    payload.digest("artifact_hash", &Digest::from_bytes(artifact_hash));
                    if let Some(media_type) = &media_type {
                        payload.text("media_type", media_type);
                    }
                    payload.text("name", &name);
                    payload.salt();
                    payload.number("size_bytes", size_bytes);
                    payload.constant("source", "reported");
                })
            }
            Report::OutputFinal { output } => {
                let output = masks.json(output, false);
                self.append(EventType::OutputFinal, |payload| {
                    payload.json("output", &output);
                    payload.salt();
                    payload.constant("source", "reported");
                })
            }
        }
    }
}
