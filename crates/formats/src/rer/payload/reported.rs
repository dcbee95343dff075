//! Payloads of events that an agent reports of itself: prompts, plans, steps, checks, files, outputs.

use super::payload;
use super::vocabulary::EventSource;

payload! {
    /// Payload of `rer.prompt.rendered`.
    PromptRendered, PromptRenderedView;
    /// Rendered prompt.
    prompt: required text,
    /// Origin of the event.
    source: required word(EventSource),
    /// Template of the prompt.
    template: optional text,
    /// Values that were put into the template.
    variables: optional json,
}

payload! {
    /// Payload of `rer.plan.started`.
    PlanStarted, PlanStartedView;
    /// SHA-256 of the plan.
    plan_hash: optional digest,
    /// Origin of the event.
    source: required word(EventSource),
    /// Steps of the plan.
    steps: required json,
}

payload! {
    /// Payload of `rer.step.completed`.
    StepCompleted, StepCompletedView;
    /// Number of tries.
    iterations: optional whole,
    /// Origin of the event.
    source: required word(EventSource),
    /// Outcome of the step, such as `success`.
    status: required text,
    /// Agent's own name for the step.
    step_id: required text,
    /// Worth of the step in the agent's own judgement; finite.
    utility: optional double,
}

payload! {
    /// Payload of `rer.verification.ran`.
    VerificationRan, VerificationRanView;
    /// Commands that were run.
    commands: required texts,
    /// Change that the verification measured, as any JSON value.
    delta: required json,
    /// Exit code of each command.
    exit_codes: required integers,
    /// Origin of the event.
    source: required word(EventSource),
}

payload! {
    /// Payload of `rer.artifact.written`.
    ArtifactWritten, ArtifactWrittenView;
    /// SHA-256 of the file.
    artifact_hash: required digest,
    /// Media type of the file.
    media_type: optional text,
    /// Name of the file, never a path.
    name: required text,
    /// Length of the file in bytes.
    size_bytes: required whole,
    /// Origin of the event.
    source: required word(EventSource),
}

payload! {
    /// Payload of `rer.output.final`.
    OutputFinal, OutputFinalView;
    /// Output: JSON if it is an object or an array, else text.
    output: required json,
    /// Origin of the event.
    source: required word(EventSource),
}
