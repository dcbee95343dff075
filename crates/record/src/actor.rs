//! Acting under an envelope, from a program: each action is decided on, recorded, and returns once.
//!
//! For agents that record themselves. Nothing here waits but for a line to be written, so that it can be used from threads and
//! from tasks alike; what is under way can be carried over an `await`.

use core::fmt;
use std::sync::{Arc, Mutex};

use reenact_json::Digest;

use crate::error::RecordError;
use crate::exchange::{EndedBy, Exchange, RawAnswer, RawRequest, StepId};
use crate::lock::locked;
use crate::pen::Pen;
use crate::policy::{Denial, Evaluation, Spent};
use crate::reported::Report;
use crate::tool::{RawToolCall, RawToolResult};
use crate::warden::{Action, Money, Refused, Ruling, Wanted, Warden};

/// Acts in a run. Cheap to copy, on any number of threads.
///
/// ```
/// use reenact_keys::SecretKey;
/// use reenact_record::actor::ModelCall;
/// use reenact_record::{End, Folder, RawAnswer, RawRequest, RawToolCall, RawToolResult, Recorder, Report};
/// use reenact_record::{RunId, RunStart, RunStatus, Source, Via};
///
/// # let place = std::env::temp_dir().join(format!("reenact-actor-{}", std::process::id()));
/// # let folder = Folder::new(place.join(".reenact"));
/// let envelope = br#"{"envelope_version":"rer-envelope/0.2","limits":{"max_steps":3},"metadata":{},
///     "permissions":{"allowed_models":["gpt-5"],"allowed_tools":["lookup"]}}"#;
/// let key = SecretKey::generate()?;
/// let start = RunStart { envelope: Some(envelope), ..RunStart::new(RunId::generate()?) };
/// let recorder = Recorder::begin(&folder, &start, &key)?;
/// let actor = recorder.actor();
///
/// let request = RawRequest { provider: "openai", method: "POST", path: "/v1/responses", headers: &[], body: b"{}" };
/// let call = actor.model_call(&ModelCall::new(request, "gpt-5"))?;
/// // … ask the model …
/// call.returned(RawAnswer { status: Some(200), body: b"{}", complete: true, ..RawAnswer::default() }, None)?;
///
/// let tool = actor.tool_call(&RawToolCall {
///     tool_call_id: "call_1",
///     tool: "lookup",
///     input: r#"{"id":7}"#,
///     via: Via::Sdk,
///     source: Source::Reported,
/// })?;
/// tool.returned(&RawToolResult { output: "found", is_error: false, latency: None })?;
///
/// // What the envelope does not name is denied, and recorded as denied.
/// let denied = actor.model_call(&ModelCall::new(request, "gpt-4")).unwrap_err();
/// assert_eq!(denied.to_string(), "denied by allowed_models: the model \"gpt-4\" is not on the list");
///
/// actor.artifact("report.txt", b"all well", Some("text/plain"))?;
/// actor.report(&Report::OutputFinal { output: "done" })?;
/// let ended = recorder.end(&End { status: RunStatus::Completed, reason: "done", exit_code: None })?;
/// assert!(ended.seal(&key)?.path.is_file());
/// # std::fs::remove_dir_all(place)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Actor {
    pen: Pen,
    /// `None` if the run is only watched.
    warden: Option<Arc<Mutex<Warden>>>,
}

/// A request to a model.
#[derive(Clone, Copy)]
pub struct ModelCall<'a> {
    /// As it goes out.
    pub request: RawRequest<'a>,
    /// Which model it asks.
    pub model: &'a str,
    /// By which interface, such as `responses`.
    pub endpoint: Option<&'a str>,
    /// What it is expected to cost; `None` if nobody knows. Under a limit on spending it must be known.
    pub expected: Option<Money>,
}

impl<'a> ModelCall<'a> {
    /// A request of which no more is known.
    pub fn new(request: RawRequest<'a>, model: &'a str) -> Self {
        Self { request, model, endpoint: None, expected: None }
    }
}

/// Why an action does not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotActed {
    /// The envelope says no, and the record says so.
    #[error("denied by {}: {}", .0.rule, .0.reason)]
    Denied(Refused),
    /// It cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl Actor {
    pub(crate) fn new(pen: Pen, warden: Option<Arc<Mutex<Warden>>>) -> Self {
        Self { pen, warden }
    }

    /// What else can be written.
    pub fn pen(&self) -> &Pen {
        &self.pen
    }

    /// Begins to ask a model. When this returns the request may go out.
    ///
    /// What needs an approval is denied here: approvals are given to runs that `reenact record` watches.
    pub fn model_call(&self, call: &ModelCall<'_>) -> Result<OpenCall, NotActed> {
        let request = self.pen.mask_request(&call.request);
        // A program that calls its models itself answers for what it asks; nobody looks for it by a key.
        let key = Digest::of(request.body()).to_string();
        let (pen, step) = self.decided(Action::Model, call.model, call.expected, |pen, decided| {
            pen.called_as(decided, Exchange::Model, &request, Some(call.model), call.endpoint, &key)
        })?;
        let expected = call.expected.unwrap_or_default();
        Ok(OpenCall { pen, step: Some(step), warden: self.warden.clone(), expected })
    }

    /// Begins to call a tool. When this returns it may be called.
    pub fn tool_call(&self, call: &RawToolCall<'_>) -> Result<OpenTool, NotActed> {
        let begin = |pen: &Pen, decided| pen.tool_called_as(decided, call);
        let (pen, step) = self.decided(Action::Tool, call.tool, None, begin)?;
        Ok(OpenTool { pen, step: Some(step) })
    }

    /// Records what the agent tells of itself.
    pub fn report(&self, report: &Report<'_>) -> Result<(), RecordError> {
        self.pen.report(report)
    }

    /// Records that a file was written, by its hash; gives that.
    pub fn artifact(
        &self,
        name: &str,
        bytes: &[u8],
        media_type: Option<&str>,
    ) -> Result<[u8; 32], RecordError> {
        let artifact_hash = *Digest::of(bytes).as_bytes();
        let size_bytes = bytes.len() as u64;
        self.pen.report(&Report::ArtifactWritten { artifact_hash, name, size_bytes, media_type })?;
        Ok(artifact_hash)
    }

    /// Decides, writes that down, and begins; nothing else is decided in between.
    fn decided(
        &self,
        action: Action,
        name: &str,
        expected: Option<Money>,
        begin: impl FnOnce(&Pen, Option<StepId>) -> Result<StepId, RecordError>,
    ) -> Result<(Pen, StepId), NotActed> {
        let Some(warden) = &self.warden else {
            return Ok((self.pen.clone(), begin(&self.pen, None)?));
        };
        let mut warden = locked(warden);
        let at = self.pen.now();
        let pen = self.pen.at(at);
        let wanted = Wanted { action, name, at, expected, is_approved: false };
        let refused = match warden.rule(&wanted) {
            Ruling::Allowed => None,
            Ruling::Denied(refused) => Some(refused),
            Ruling::NeedsApproval(needed) => {
                Some(Refused::unapproved(format!("{} asks for an approval", needed.rule)))
            }
        };
        let denial = refused.as_ref().map(|refused| Denial { rule: refused.rule, reason: &refused.reason });
        let step = pen.evaluated(&Evaluation { action, name, denial, approval_id: None })?;
        if let Some(refused) = refused {
            return Err(NotActed::Denied(refused));
        }
        let step = begin(&pen, Some(step))?;
        warden.began(&wanted);
        Ok((self.pen.clone(), step))
    }
}

/// A model that is being asked. Dropped, it is recorded as given up.
#[must_use = "what is dropped is recorded as given up"]
pub struct OpenCall {
    pen: Pen,
    step: Option<StepId>,
    warden: Option<Arc<Mutex<Warden>>>,
    expected: Money,
}

impl OpenCall {
    /// Its step.
    pub fn step(&self) -> Option<StepId> {
        self.step
    }

    /// Records what came of it, and what it cost if that is known; else what was expected counts.
    pub fn returned(mut self, answer: RawAnswer<'_>, spent: Option<&Spent<'_>>) -> Result<(), RecordError> {
        let Some(step) = self.step.take() else { return Ok(()) };
        self.settle(spent.map_or(self.expected, |spent| spent.amount));
        self.pen.returned(&step, answer)?;
        spent.map_or(Ok(()), |spent| self.pen.spent(&step, spent))
    }

    fn settle(&self, actual: Money) {
        if let Some(warden) = &self.warden {
            locked(warden).settled(self.expected, actual);
        }
    }
}

impl fmt::Debug for OpenCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenCall").field("step", &self.step).finish_non_exhaustive()
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if let Some(step) = self.step.take() {
            self.settle(self.expected);
            // There is nobody to tell; the end of the run notes what is still open.
            let _ = self.pen.returned(&step, RawAnswer { ended_by: EndedBy::Client, ..RawAnswer::default() });
        }
    }
}

/// A tool that is being called. Dropped, it is recorded as given up.
#[must_use = "what is dropped is recorded as given up"]
pub struct OpenTool {
    pen: Pen,
    step: Option<StepId>,
}

impl OpenTool {
    /// Its step.
    pub fn step(&self) -> Option<StepId> {
        self.step
    }

    /// Records what came of it.
    pub fn returned(mut self, result: &RawToolResult<'_>) -> Result<(), RecordError> {
        let Some(step) = self.step.take() else { return Ok(()) };
        self.pen.tool_returned(&step, result)
    }
}

impl fmt::Debug for OpenTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTool").field("step", &self.step).finish_non_exhaustive()
    }
}

impl Drop for OpenTool {
    fn drop(&mut self) {
        if let Some(step) = self.step.take() {
            let result = RawToolResult { output: "it was given up", is_error: true, latency: None };
            let _ = self.pen.tool_returned(&step, &result);
        }
    }
}
