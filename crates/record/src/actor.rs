//! Acting under an envelope, for programs that record themselves: each action is decided on, recorded, and finished
//! once.
//!
//! No call waits for anything but a line being written, so actors can be used from threads and from async tasks alike;
//! an open call may be held across an `await`. Start reading at [`Actor`].

use core::fmt;
use std::sync::{Arc, Mutex};

use reenact_json::Digest;

use crate::agent_report::AgentReport;
use crate::error::RecordError;
use crate::event_writer::EventWriter;
use crate::exchange::{CallKind, EndedBy, ExchangeCall, RawAnswer, RawRequest, StepId};
use crate::lock::locked;
use crate::policy::{CallCost, Evaluation, RecordedDenial};
use crate::policy_engine::{Action, Money, PolicyEngine, PolicyMode, PolicyRefusal, ProposedAction, Ruling};
use crate::tool::{RawToolCall, RawToolResult};

/// Acts in a run, under its envelope if that is enforced. Clones are cheap, share the run, and may be used on any thread.
///
/// ```
/// use reenact_keys::SecretKey;
/// use reenact_record::actor::ModelCall;
/// use reenact_record::{AgentReport, RawAnswer, RawRequest, RawToolCall, RawToolResult, Recorder, RunEnd};
/// use reenact_record::{RunId, RunStart, RunStatus, RunStore, EventSource, ToolChannel};
///
/// # let dir = std::env::temp_dir().join(format!("reenact-actor-{}", std::process::id()));
/// # let store = RunStore::new(dir.join("reenact"));
/// let envelope = br#"{"envelope_version":"rer-envelope/0.2","limits":{"max_steps":3},"metadata":{},
///     "permissions":{"allowed_models":["gpt-5"],"allowed_tools":["lookup"]}}"#;
/// let key = SecretKey::generate()?;
/// let start = RunStart { envelope: Some(envelope), ..RunStart::new(RunId::generate()?) };
/// let recorder = Recorder::builder(&store, &key).begin(&start)?;
/// let actor = recorder.actor()?;
///
/// let request = RawRequest { provider: "openai", method: "POST", path: "/v1/responses", headers: &[], body: b"{}" };
/// let call = actor.model_call(&ModelCall::new(request, "gpt-5"))?;
/// // … ask the model …
/// call.finish(RawAnswer { status: Some(200), body: b"{}", complete: true, ..RawAnswer::default() }, None)?;
///
/// let tool = actor.tool_call(&RawToolCall {
///     tool_call_id: "call_1",
///     tool: "lookup",
///     input: r#"{"id":7}"#,
///     via: ToolChannel::Sdk,
///     source: EventSource::Reported,
/// })?;
/// tool.finish(&RawToolResult { output: "found", is_error: false, latency: None })?;
///
/// // A model that the envelope does not name is denied, and the denial is recorded.
/// let denied = actor.model_call(&ModelCall::new(request, "gpt-4")).unwrap_err();
/// assert_eq!(denied.to_string(), "denied by allowed_models: the model \"gpt-4\" is not on the list");
///
/// actor.record_artifact("report.txt", b"all well", Some("text/plain"))?;
/// actor.record_report(&AgentReport::OutputFinal { output: "done" })?;
/// let ended = recorder.end(&RunEnd::new(RunStatus::Completed, "done"))?;
/// assert!(ended.seal(&key)?.path.is_file());
/// # std::fs::remove_dir_all(dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Actor {
    writer: EventWriter,
    /// `None` if the envelope is not enforced.
    policy: Option<Arc<Mutex<PolicyEngine>>>,
}

/// Request to a model, before it is sent.
#[derive(Clone, Copy)]
pub struct ModelCall<'a> {
    /// The HTTP request, unmasked.
    pub request: RawRequest<'a>,
    /// Name of the model.
    pub model: &'a str,
    /// Interface of the vendor, such as `responses`.
    pub endpoint: Option<&'a str>,
    /// Highest cost that the call may have; `None` if it is unknown. An envelope that limits spending denies calls of
    /// unknown cost.
    pub expected_cost: Option<Money>,
}

impl<'a> ModelCall<'a> {
    /// Returns a call without endpoint and expected cost.
    pub fn new(request: RawRequest<'a>, model: &'a str) -> Self {
        Self { request, model, endpoint: None, expected_cost: None }
    }
}

/// Reason why an action must not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActionError {
    /// The envelope denies the action. The denial is recorded.
    #[error("denied by {}: {}", .0.rule, .0.reason)]
    Denied(PolicyRefusal),
    /// The action cannot be recorded, so it must not happen.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl Actor {
    pub(crate) fn new(writer: EventWriter, policy: Option<Arc<Mutex<PolicyEngine>>>) -> Self {
        Self { writer, policy }
    }

    /// Returns the writer of this run, for everything that is no action.
    pub fn event_writer(&self) -> &EventWriter {
        &self.writer
    }

    /// Begins a model call: decides on it and records it. When this returns `Ok`, the request may be sent.
    ///
    /// An action that needs an approval is denied here: approvals are only asked for by `reenact record`.
    ///
    /// # Errors
    /// [`ActionError::Denied`] if the envelope says no, and [`ActionError::Record`] if the call cannot be recorded.
    pub fn model_call(&self, call: &ModelCall<'_>) -> Result<OpenModelCall, ActionError> {
        let request = self.writer.mask_request(&call.request);
        let exchange = ExchangeCall {
            model: Some(call.model),
            endpoint: call.endpoint,
            ..ExchangeCall::new(CallKind::Model, &request)
        };
        let (writer, step) =
            self.decide_and_begin(Action::Model, call.model, call.expected_cost, |writer, decided| {
                writer.record_call(&exchange, decided)
            })?;
        let expected = call.expected_cost.unwrap_or_default();
        Ok(OpenModelCall { writer, step: Some(step), policy: self.policy.clone(), expected })
    }

    /// Begins a tool call: decides on it and records it. When this returns `Ok`, the tool may be called.
    ///
    /// # Errors
    /// Those of [`Actor::model_call`].
    pub fn tool_call(&self, call: &RawToolCall<'_>) -> Result<OpenToolCall, ActionError> {
        let begin = |writer: &EventWriter, decided| writer.record_tool_call(call, decided);
        let (writer, step) = self.decide_and_begin(Action::Tool, call.tool, None, begin)?;
        Ok(OpenToolCall { writer, step: Some(step) })
    }

    /// Records something that the agent reports about itself.
    pub fn record_report(&self, report: &AgentReport<'_>) -> Result<(), RecordError> {
        self.writer.record_report(report)
    }

    /// Records that a file was written, by name, size and hash, and returns the SHA-256 of `bytes`. The bytes are not
    /// recorded.
    pub fn record_artifact(
        &self,
        name: &str,
        bytes: &[u8],
        media_type: Option<&str>,
    ) -> Result<[u8; 32], RecordError> {
        let artifact_hash = *Digest::of(bytes).as_bytes();
        let size_bytes = bytes.len() as u64;
        self.writer.record_report(&AgentReport::ArtifactWritten {
            artifact_hash,
            name,
            size_bytes,
            media_type,
        })?;
        Ok(artifact_hash)
    }

    /// Decides on an action, records the decision, and begins the action, all under the lock of the policy engine: no
    /// other action is decided on in between.
    fn decide_and_begin(
        &self,
        action: Action,
        name: &str,
        expected_cost: Option<Money>,
        begin: impl FnOnce(&EventWriter, Option<StepId>) -> Result<StepId, RecordError>,
    ) -> Result<(EventWriter, StepId), ActionError> {
        let Some(policy) = &self.policy else {
            return Ok((self.writer.clone(), begin(&self.writer, None)?));
        };
        let mut policy = locked(policy);
        let at = self.writer.now();
        let writer = self.writer.at(at);
        let proposed = ProposedAction { action, name, at, expected_cost, is_approved: false };
        let refused = match policy.evaluate(&proposed) {
            Ruling::Allowed => None,
            Ruling::Denied(refused) => Some(refused),
            Ruling::NeedsApproval(needed) => {
                Some(PolicyRefusal::unapproved(format!("{} asks for an approval", needed.rule)))
            }
        };
        let is_enforced = policy.mode() == PolicyMode::Enforce;
        let denial = refused.as_ref().map(|refused| RecordedDenial {
            rule: refused.rule,
            reason: &refused.reason,
            is_enforced,
        });
        let step = writer.record_evaluation(&Evaluation { action, name, denial, approval_id: None })?;
        if let Some(refused) = refused.filter(|_| is_enforced) {
            return Err(ActionError::Denied(refused));
        }
        let step = begin(&writer, Some(step))?;
        policy.begin_action(&proposed);
        Ok((self.writer.clone(), step))
    }
}

/// Model call that has not finished. If it is dropped, it is recorded as abandoned by the client.
#[must_use = "what is dropped is recorded as given up"]
pub struct OpenModelCall {
    writer: EventWriter,
    step: Option<StepId>,
    policy: Option<Arc<Mutex<PolicyEngine>>>,
    expected: Money,
}

impl OpenModelCall {
    /// Returns the step of the call; `None` once it is finished.
    pub fn step(&self) -> Option<StepId> {
        self.step
    }

    /// Records the answer, and its cost if that is known. Otherwise, and if the cost is an estimate, the expected cost stays
    /// reserved.
    pub fn finish(mut self, answer: RawAnswer<'_>, spent: Option<&CallCost<'_>>) -> Result<(), RecordError> {
        let Some(step) = self.step.take() else { return Ok(()) };
        self.settle_cost(spent);
        self.writer.record_return(&step, answer)?;
        spent.map_or(Ok(()), |spent| self.writer.record_spend(&step, spent))
    }

    fn settle_cost(&self, spent: Option<&CallCost<'_>>) {
        let Some(policy) = &self.policy else { return };
        match spent {
            Some(spent) if !spent.is_estimate => locked(policy).settle_cost(self.expected, spent.amount),
            _ => {
                let least = spent.map(|spent| spent.amount).unwrap_or_default();
                locked(policy).keep_reserved(self.expected, least);
            }
        }
    }
}

impl fmt::Debug for OpenModelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenModelCall").field("step", &self.step).finish_non_exhaustive()
    }
}

impl Drop for OpenModelCall {
    fn drop(&mut self) {
        if let Some(step) = self.step.take() {
            self.settle_cost(None);
            // `drop` has no way to report an error; the end of the run records a gap for a step that is still open.
            let _ = self
                .writer
                .record_return(&step, RawAnswer { ended_by: EndedBy::Client, ..RawAnswer::default() });
        }
    }
}

/// Tool call that has not finished. If it is dropped, it is recorded as failed.
#[must_use = "what is dropped is recorded as given up"]
pub struct OpenToolCall {
    writer: EventWriter,
    step: Option<StepId>,
}

impl OpenToolCall {
    /// Returns the step of the call; `None` once it is finished.
    pub fn step(&self) -> Option<StepId> {
        self.step
    }

    /// Records the result.
    pub fn finish(mut self, result: &RawToolResult<'_>) -> Result<(), RecordError> {
        let Some(step) = self.step.take() else { return Ok(()) };
        self.writer.record_tool_result(&step, result)
    }
}

impl fmt::Debug for OpenToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenToolCall").field("step", &self.step).finish_non_exhaustive()
    }
}

impl Drop for OpenToolCall {
    fn drop(&mut self) {
        if let Some(step) = self.step.take() {
            let result = RawToolResult { output: "it was given up", is_error: true, latency: None };
            let _ = self.writer.record_tool_result(&step, &result);
        }
    }
}
