//! The types of event that a recorder writes.

/// An event's type. It is one of these, so it is never misspelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventType {
    RunStarted,
    RunEnded,
    ModelCalled,
    ModelReturned,
    HttpCalled,
    HttpReturned,
    ToolCalled,
    ToolReturned,
    PolicyEvaluated,
    StepBlocked,
    ApprovalRequested,
    ApprovalGranted,
    ApprovalDenied,
    SpendCounted,
    ArtifactWritten,
    PromptRendered,
    PlanStarted,
    StepCompleted,
    VerificationRan,
    OutputFinal,
    ErrorRaised,
    CaptureGap,
}

impl EventType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RunStarted => "rer.run.started",
            Self::RunEnded => "rer.run.ended",
            Self::ModelCalled => "rer.model.called",
            Self::ModelReturned => "rer.model.returned",
            Self::HttpCalled => "rer.http.called",
            Self::HttpReturned => "rer.http.returned",
            Self::ToolCalled => "rer.tool.called",
            Self::ToolReturned => "rer.tool.returned",
            Self::PolicyEvaluated => "rer.policy.evaluated",
            Self::StepBlocked => "rer.policy.step_blocked",
            Self::ApprovalRequested => "rer.approval.requested",
            Self::ApprovalGranted => "rer.approval.granted",
            Self::ApprovalDenied => "rer.approval.denied",
            Self::SpendCounted => "rer.spend.counted",
            Self::ArtifactWritten => "rer.artifact.written",
            Self::PromptRendered => "rer.prompt.rendered",
            Self::PlanStarted => "rer.plan.started",
            Self::StepCompleted => "rer.step.completed",
            Self::VerificationRan => "rer.verification.ran",
            Self::OutputFinal => "rer.output.final",
            Self::ErrorRaised => "rer.error.raised",
            Self::CaptureGap => "rer.capture.gap",
        }
    }
}
