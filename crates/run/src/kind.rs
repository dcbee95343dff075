//! What happens in a run, whichever format says it.

/// What an event says has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// The run began.
    RunStarted,
    /// The run ended.
    RunEnded,
    /// A prompt was put together.
    PromptRendered,
    /// A model was asked.
    ModelCalled,
    /// A model answered.
    ModelReturned,
    /// Something else was asked over HTTP, such as a list of models.
    HttpCalled,
    /// Its answer came.
    HttpReturned,
    /// A tool was called.
    ToolCalled,
    /// A tool gave its result.
    ToolReturned,
    /// A rule was asked whether something may be done.
    PolicyEvaluated,
    /// Something was not allowed.
    StepBlocked,
    /// Someone was asked to allow something.
    ApprovalRequested,
    /// They did.
    ApprovalGranted,
    /// They did not.
    ApprovalDenied,
    /// A plan was made.
    PlanStarted,
    /// A step of a plan was done.
    StepCompleted,
    /// The outcome was checked.
    VerificationRan,
    /// Something went wrong.
    ErrorRaised,
    /// The final output.
    OutputFinal,
    /// A file was written.
    ArtifactWritten,
    /// Something was not captured.
    CaptureGap,
    /// An event that has no meaning here. It is kept, and its name says what it is.
    Other,
}

impl Kind {
    /// The kind of an RER `event_type`.
    pub(crate) fn of_rer(event_type: &[u8]) -> Self {
        match event_type.strip_prefix(b"rer.").unwrap_or_default() {
            b"run.started" => Self::RunStarted,
            b"run.ended" => Self::RunEnded,
            b"prompt.rendered" => Self::PromptRendered,
            b"model.called" => Self::ModelCalled,
            b"model.returned" => Self::ModelReturned,
            b"http.called" => Self::HttpCalled,
            b"http.returned" => Self::HttpReturned,
            b"tool.called" => Self::ToolCalled,
            b"tool.returned" => Self::ToolReturned,
            b"policy.evaluated" => Self::PolicyEvaluated,
            b"policy.step_blocked" => Self::StepBlocked,
            b"approval.requested" => Self::ApprovalRequested,
            b"approval.granted" => Self::ApprovalGranted,
            b"approval.denied" => Self::ApprovalDenied,
            b"plan.started" => Self::PlanStarted,
            b"step.completed" => Self::StepCompleted,
            b"verification.ran" => Self::VerificationRan,
            b"error.raised" => Self::ErrorRaised,
            b"output.final" => Self::OutputFinal,
            b"artifact.written" => Self::ArtifactWritten,
            b"capture.gap" => Self::CaptureGap,
            _ => Self::Other,
        }
    }

    /// Of an event that begins or ends an action: which action, and whether it begins.
    pub(crate) fn action(self) -> Option<(Action, bool)> {
        Some(match self {
            Self::ModelCalled => (Action::Model, true),
            Self::ModelReturned => (Action::Model, false),
            Self::HttpCalled => (Action::Http, true),
            Self::HttpReturned => (Action::Http, false),
            Self::ToolCalled => (Action::Tool, true),
            Self::ToolReturned => (Action::Tool, false),
            _ => return None,
        })
    }
}

/// What begins with one event and ends with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Action {
    Model,
    Http,
    Tool,
}
