//! Policy gate of an enforced run: decides on each request and each tool call before it happens, and records
//! the decision.
//!
//! Decisions are made one at a time, in the order and with the times that the record has. So an auditor who
//! evaluates the record reaches the same decisions. Start reading at [`PolicyGate::admit`] for requests and
//! [`PolicyGate::admit_tools`] for the tool calls of an answer. A [`PolicyTrial`] decides in the same way on a run that is over.

mod approval;
mod interface_check;
mod results;
mod trial;
mod warning;

pub use trial::{PolicyTrial, RequestNeeds, TrialAnswer, TrialDecision, TrialTotals};
pub(crate) use warning::AnswerCalls;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reenact_record::observation::{ActionDecision, Admission, InboundRequest, Observation};
use reenact_record::policy_engine::{Action, Money, NeededApproval, PolicyRefusal, ProposedAction, Ruling};
use reenact_record::{PolicyEngine, PolicyMode, approval::ApprovalQueue};
use reenact_wire::call_ids::CallIds;
use reenact_wire::conversation::Conversation;
use reenact_wire::exchange::ParsedRequest;
use reenact_wire::output_bound::OutputBound;
use reenact_wire::price::{PriceTable, Rates};
use reenact_wire::request_path::{KnownPath, judge_path};
use reenact_wire::{ModelAnswer, ToolCall, Vendor};

use self::results::ForbiddenResult;
use crate::charge::Charge;
use crate::parsed_body::{ParsedBody, ParsedRequestBody};
use crate::queue::JobTicket;
use crate::recorder_thread::{RecorderThread, lock};

/// Envelope that is enforced, with all that its decisions need.
pub struct EnforcedPolicy {
    /// Engine that decides on actions.
    pub engine: PolicyEngine,
    /// Prices of models, for spending limits.
    pub prices: PriceTable,
    /// Queue of questions to approvers.
    pub approvals: ApprovalQueue,
}

/// Gate through which all requests and tool calls of an enforced run pass.
pub struct PolicyGate {
    /// Thread that records decisions; its queue gives them their order.
    recorder: Arc<RecorderThread>,
    prices: PriceTable,
    approvals: ApprovalQueue,
    /// True if the envelope limits spending.
    limits_spending: bool,
    /// Longest request body that is decoded, in bytes.
    max_body_bytes: usize,
    /// Engine for questions that depend on the envelope alone, which need no lock.
    permissions: PolicyEngine,
    mode: PolicyMode,
    state: Mutex<GateState>,
}

/// Mutable state of the gate, behind one lock, so that decisions are made one at a time.
struct GateState {
    engine: PolicyEngine,
    /// Conversation of the run, from which calls are inferred. Under an envelope the event builder has none.
    conversation: Conversation,
    /// Ids of calls that were allowed and whose results have not come. The journal learns of them too late for
    /// the next decision.
    allowed_calls: BTreeSet<String>,
    /// Results that may not be handed over, by the ids of their calls.
    forbidden_results: BTreeMap<String, ForbiddenResult>,
}

impl GateState {
    /// Returns the state of a run that begins now.
    fn new(engine: PolicyEngine) -> Self {
        Self {
            engine,
            conversation: Conversation::default(),
            allowed_calls: BTreeSet::new(),
            forbidden_results: BTreeMap::new(),
        }
    }

    /// Decides on a request. `brings` is the judgement on its interface; `None` if that and the results that the request
    /// brings were judged before. The decisions on these results go to `outcome`.
    fn judge_request(
        &mut self,
        info: &ModelRequestInfo<'_>,
        brings: Option<&Result<(), PolicyRefusal>>,
        wanted: &ProposedAction<'_>,
        outcome: &mut DecisionJobs,
    ) -> Ruling {
        let brought = brings.map_or(Ok(()), |interface| {
            let results = self.check_results(info.request, wanted.at, outcome);
            results.and_then(|()| interface.clone()).and_then(|()| self.check_countable(info.request))
        });
        match brought {
            Ok(()) => self.engine.evaluate_with_advice(wanted, || info.spend_advice()),
            Err(refused) => Ruling::Denied(refused),
        }
    }
}

/// Observations that follow from a decision, with the bodies that were parsed for it.
type DecisionJobs = Vec<(Observation<'static>, Option<ParsedBody>)>;

/// Parts of a request that are decided on.
struct ModelRequestInfo<'r> {
    request: &'r ParsedRequest,
    model: &'r str,
    /// Prices of the model; `None` if the table does not have it.
    rates: Option<Rates>,
    /// Estimated cost of reading the request, in picodollars.
    input_cost: u128,
    /// Largest number of tokens of one answer: as the request says, else the model's own.
    max_output_tokens: u64,
    /// Highest cost of the call, which is reserved before it; `None` without prices.
    highest_cost: Option<Money>,
}

/// Request that may go out.
pub(crate) struct AdmittedCall {
    /// Decision under which it goes out.
    pub(crate) admission: Admission<'static>,
    /// Cost that is reserved for it.
    pub(crate) reserved: Money,
    /// Ids for tool calls of the answer that come without one.
    pub(crate) call_ids: Option<CallIds>,
    /// Model that the request asks.
    pub(crate) model: String,
}

impl PolicyGate {
    /// Makes the gate of a run.
    pub(crate) fn new(recorder: Arc<RecorderThread>, policy: EnforcedPolicy, max_body_bytes: usize) -> Self {
        let EnforcedPolicy { engine, prices, approvals } = policy;
        let (mode, limits_spending, permissions) = (engine.mode(), engine.limits_spending(), engine.clone());
        let state = Mutex::new(GateState::new(engine));
        Self { recorder, prices, approvals, limits_spending, max_body_bytes, permissions, mode, state }
    }

    /// Returns true if a request calls no model and its path, below the upstream's base path, is known for that, so that there is
    /// nothing to decide.
    pub fn lets_pass(&self, vendor: Vendor, base: &str, method: &str, path: &str) -> bool {
        judge_path(vendor, base, method, path, self.permissions.allowed_forms()) == Ok(KnownPath::ReadOnly)
    }

    /// Decides on a request to an upstream with this base path. A request that may go out is logged and queued, together with its parsed body.
    ///
    /// Returns the admitted call, and the ticket of the queued request. If the envelope asks for an approval, waits for the approver and then decides again, since
    /// other conditions may have changed.
    ///
    /// # Errors
    /// Returns the refusal if the envelope or an approver denies the request, or if the run cannot be recorded.
    pub(crate) async fn admit(
        &self,
        request: InboundRequest<'static>,
        base: &str,
    ) -> Result<(AdmittedCall, JobTicket), PolicyRefusal> {
        let parsed_body = ParsedRequestBody::of(&request, self.max_body_bytes);
        let interface = interface_check::check(&request, base, &parsed_body, &self.permissions);
        let nothing = ParsedRequest::default();
        let parsed = parsed_body.request.clone().filter(|_| parsed_body.fault.is_none());
        let parsed = parsed.as_deref().unwrap_or(&nothing);
        let info = ModelRequestInfo::of(&request, &parsed_body, parsed, &self.prices);
        let mut approval_id: Option<String> = None;
        let mut has_results = true;
        // Moved into the observation when the request is admitted.
        let mut unsent = Some((request, parsed_body));
        loop {
            let (step, mut queued) = self.decide(|state, at| {
                let mut outcome = Vec::new();
                let wanted = ProposedAction { is_approved: approval_id.is_some(), ..info.proposed(at) };
                // Results are judged once, conditions that may have changed meanwhile again.
                let brings = std::mem::take(&mut has_results).then_some(&interface);
                let ruling = state.judge_request(&info, brings, &wanted, &mut outcome);
                let warning = ruling.refusal().filter(|_| state.engine.mode() == PolicyMode::Warn);
                if ruling != Ruling::Allowed && warning.is_none() {
                    if let Ruling::Denied(refused) = &ruling {
                        outcome.push((denied_action(Action::Model, info.model, at, refused), None));
                    }
                    return (AdmissionStep::refuse_or_ask(ruling), outcome);
                }
                state.engine.begin_action(&wanted);
                let mut admission = info.admission(at, approval_id.clone());
                admission.warning = warning.map(|refused| refused.rule.into());
                outcome.extend(unsent.take().map(|(request, parsed_body)| {
                    let request = InboundRequest { admission: Some(admission.clone()), ..request };
                    (
                        Observation::Request(Box::new(request)),
                        Some(ParsedBody::Request(Box::new(parsed_body))),
                    )
                }));
                (AdmissionStep::Admit(admission), outcome)
            })?;
            match step {
                AdmissionStep::Admit(admission) => {
                    let queued = queued.pop().ok_or_else(PolicyRefusal::unrecorded)?;
                    let reserved = info.highest_cost.unwrap_or_default();
                    let call_ids = info.request.call_ids.clone();
                    let model = info.model.to_owned();
                    return Ok((AdmittedCall { admission, reserved, call_ids, model }, queued));
                }
                AdmissionStep::Refuse(refused) => return Err(refused),
                AdmissionStep::AskApproval(needed) => {
                    let input =
                        unsent.as_ref().map(|(request, parsed_body)| self.shown_body(request, parsed_body));
                    let input = input.unwrap_or_default();
                    let approved = self.await_approval(Action::Model, info.model, &input, &needed).await;
                    approval_id = Some(self.denied_unless_approved(Action::Model, info.model, approved)?);
                }
            }
        }
    }

    /// Returns the treatment of actions that the envelope denies. With [`PolicyMode::Warn`] a front end hands answers
    /// on as they come, and `PolicyGate::note_answer` decides on their tool calls.
    pub fn mode(&self) -> PolicyMode {
        self.mode
    }

    /// Decides on the tool calls of an answer, all or none. Allowed calls count as begun, because the agent
    /// sees them next.
    ///
    /// # Errors
    /// Returns the refusal of the first call that may not be made.
    pub async fn admit_tools(&self, calls: &[ToolCall]) -> Result<(), PolicyRefusal> {
        let mut approvals: BTreeMap<usize, String> = BTreeMap::new();
        loop {
            let (step, queued) = self.decide(|state, at| {
                // Each call is decided on as if those before it had begun. A single call, the usual case, needs
                // no copy of the engine.
                let mut trial: Option<PolicyEngine> = None;
                let mut outcome = Vec::new();
                for (index, call) in calls.iter().enumerate() {
                    let approval_id = approvals.get(&index);
                    let wanted =
                        ProposedAction { is_approved: approval_id.is_some(), ..tool_request(&call.name, at) };
                    match trial.as_ref().unwrap_or(&state.engine).evaluate(&wanted) {
                        Ruling::Allowed => {}
                        Ruling::Denied(refused) => {
                            let denied = denied_action(Action::Tool, &call.name, at, &refused);
                            return (AdmissionStep::Refuse((index, refused)), vec![(denied, None)]);
                        }
                        Ruling::NeedsApproval(needed) => {
                            return (AdmissionStep::AskApproval((index, needed)), Vec::new());
                        }
                    }
                    if calls.len() > 1 {
                        trial.get_or_insert_with(|| state.engine.clone()).begin_action(&wanted);
                    }
                    outcome.push((allowed_call(call, at, approval_id.cloned()), None));
                }
                match trial {
                    Some(trial) => state.engine = trial,
                    None => {
                        calls.iter().for_each(|call| state.engine.begin_action(&tool_request(&call.name, at)))
                    }
                }
                state.allowed_calls.extend(calls.iter().map(|call| call.id.clone()));
                state
                    .conversation
                    .add_answer(&ModelAnswer { tool_calls: calls.to_vec(), ..ModelAnswer::default() });
                (AdmissionStep::Admit(()), outcome)
            })?;
            match step {
                AdmissionStep::Admit(()) => return self.wait_written(queued).await,
                AdmissionStep::Refuse((_, refused)) => return Err(refused),
                AdmissionStep::AskApproval((index, needed)) => {
                    let Some(call) = calls.get(index) else { return Err(PolicyRefusal::unrecorded()) };
                    let input = self.recorder.writer().mask_tool_input(&call.input);
                    let approved = self.await_approval(Action::Tool, &call.name, &input, &needed).await;
                    approvals.insert(index, self.denied_unless_approved(Action::Tool, &call.name, approved)?);
                }
            }
        }
    }

    /// Records a denial if another model answered than the one that was asked, and the envelope does not permit it. The answer is
    /// paid for by then, and so not held back: the denial makes the audit find the rule broken.
    pub(crate) fn note_answering_model(&self, vendor: Vendor, asked: &str, answering: &str) {
        if let Err(refused) = self.permissions.check_answering_model(vendor, asked, answering) {
            // Only the end of the recording refuses a note, and then there is no record to write it to.
            let _ = self.decide(|_, at| {
                let denied = denied_action(Action::Model, answering, at, &refused);
                ((), vec![(warning::unenforced(denied, None), None)])
            });
        }
    }

    /// Books the cost of a finished call in place of what was reserved for it. If the cost is an estimate, the
    /// reservation stays: the call may have cost as much.
    pub(crate) fn book_cost(&self, reserved: Money, charge: &Charge) {
        lock(&self.state).book_cost(reserved, charge);
    }

    /// Returns true if the envelope limits spending.
    pub(crate) fn limits_spending(&self) -> bool {
        self.limits_spending
    }

    /// Makes a decision under the lock of the queue, and queues the observations that follow from it.
    ///
    /// # Errors
    /// Refuses if any event of the run could not be recorded.
    fn decide<R>(
        &self,
        decide: impl FnOnce(&mut GateState, Duration) -> (R, DecisionJobs),
    ) -> Result<(R, Vec<JobTicket>), PolicyRefusal> {
        if self.is_blocked() {
            return Err(PolicyRefusal::unrecorded());
        }
        let decided = self.recorder.decide(|at| decide(&mut lock(&self.state), at));
        decided.ok_or_else(PolicyRefusal::unrecorded)
    }

    /// Waits until queued jobs are written, as far as their tickets ask for a wait.
    async fn wait_written(&self, queued: Vec<JobTicket>) -> Result<(), PolicyRefusal> {
        for written in queued.into_iter().filter_map(|(_, written)| written) {
            written.await;
        }
        if self.is_blocked() { Err(PolicyRefusal::unrecorded()) } else { Ok(()) }
    }

    /// Returns true if nothing may happen any more, because the run cannot be recorded.
    pub(crate) fn is_blocked(&self) -> bool {
        self.mode == PolicyMode::Enforce && self.recorder.has_unrecorded()
    }

    /// Returns the masked body of a request for an approver.
    fn shown_body(&self, request: &InboundRequest<'_>, parsed_body: &ParsedRequestBody) -> String {
        let body = if parsed_body.fault.is_some() { &[] } else { parsed_body.body(request) };
        // The credentials in its headers are masked in its body, as in the record.
        self.recorder.writer().add_credentials(&request.headers.pairs());
        self.recorder.writer().mask_text(&String::from_utf8_lossy(body))
    }
}

/// Next step after a decision.
enum AdmissionStep<Go, Stop, Ask> {
    /// The action may happen.
    Admit(Go),
    /// The action may not happen.
    Refuse(Stop),
    /// An approver decides.
    AskApproval(Ask),
}

impl AdmissionStep<Admission<'static>, PolicyRefusal, NeededApproval> {
    /// Converts a decision that does not admit a request.
    fn refuse_or_ask(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Denied(refused) => Self::Refuse(refused),
            Ruling::NeedsApproval(needed) => Self::AskApproval(needed),
            Ruling::Allowed => Self::Refuse(PolicyRefusal::unrecorded()),
        }
    }
}

impl<'r> ModelRequestInfo<'r> {
    /// Collects the parts of a request that are decided on.
    fn of(
        request: &InboundRequest<'_>,
        parsed_body: &ParsedRequestBody,
        parsed: &'r ParsedRequest,
        prices: &PriceTable,
    ) -> Self {
        let model = parsed.model.as_deref().unwrap_or_default();
        // A body that cannot be decoded names no model, and reading it costs nothing.
        let length = if parsed_body.fault.is_some() { 0 } else { parsed_body.body(request).len() };
        let rates = match Vendor::is_free_path(&request.provider, &request.path) {
            true => Some(Rates::default()),
            false => prices.rates(&request.provider, model),
        };
        let bound = parsed.output;
        let own_limit = || prices.max_output_tokens(&request.provider, model);
        let max_output_tokens = bound.max_tokens.unwrap_or_else(own_limit);
        let highest = |rates: Rates| rates.highest_cost(length, max_output_tokens, bound.answers);
        Self {
            request: parsed,
            model,
            rates,
            input_cost: rates.map_or(0, |rates| rates.input_estimate(length)),
            max_output_tokens,
            highest_cost: rates.map(|rates| Money::from_picodollars(highest(rates))),
        }
    }

    /// Returns the call as an action that is not approved yet.
    fn proposed(&self, at: Duration) -> ProposedAction<'r> {
        ProposedAction {
            action: Action::Model,
            name: self.model,
            at,
            expected_cost: self.highest_cost,
            is_approved: false,
        }
    }

    /// Returns the decision to admit the request, with the estimated cost of reading it in picodollars.
    fn admission(&self, at: Duration, approval_id: Option<String>) -> Admission<'static> {
        let estimate = u64::try_from(self.input_cost).unwrap_or(u64::MAX);
        let approval_id = approval_id.map(Into::into);
        Admission { at, approval_id, warning: None, rates: self.rates, estimate }
    }
}

impl ModelRequestInfo<'_> {
    /// Returns advice for a client whose request may cost too much; empty if the model has no price.
    fn spend_advice(&self) -> String {
        let OutputBound { max_tokens, answers, member, .. } = self.request.output;
        if self.highest_cost.is_none() || member.is_empty() {
            return String::new();
        }
        let tokens = self.max_output_tokens;
        let each = if answers == 1 { String::new() } else { format!("{answers} answers of ") };
        match max_tokens {
            Some(_) => format!("it asks for {each}up to {tokens} tokens: lower {member}, or raise the limit"),
            None => format!(
                "it sets no {member}, so that the model may write {each}{tokens} tokens: set it, or raise the limit"
            ),
        }
    }
}

impl GateState {
    /// Books the cost of a finished call in place of what was reserved for it. If the cost is an estimate, the
    /// reservation stays: the call may have cost as much.
    fn book_cost(&mut self, reserved: Money, charge: &Charge) {
        match charge.is_estimate {
            true => self.engine.keep_reserved(reserved, charge.amount),
            false => self.engine.settle_cost(reserved, charge.amount),
        }
    }

    /// Refuses a call whose cost nobody could count, if the envelope limits spending.
    fn check_countable(&self, request: &ParsedRequest) -> Result<(), PolicyRefusal> {
        match request.output.uncountable.filter(|_| self.engine.limits_spending()) {
            Some(problem) => Err(PolicyRefusal::uncountable(problem)),
            None => Ok(()),
        }
    }
}

/// Returns the action of calling a tool.
fn tool_request(name: &str, at: Duration) -> ProposedAction<'_> {
    ProposedAction { action: Action::Tool, name, at, expected_cost: None, is_approved: false }
}

/// Returns the observation of a tool call that was allowed.
fn allowed_call(call: &ToolCall, at: Duration, approval_id: Option<String>) -> Observation<'static> {
    Observation::Decision(Box::new(ActionDecision {
        at,
        action: Action::Tool,
        name: call.name.clone().into(),
        denial: None,
        is_enforced: true,
        approval_id: approval_id.map(Into::into),
        call: Some((call.id.clone().into(), call.input.clone().into())),
    }))
}

/// Returns the observation of an action that was denied.
fn denied_action(action: Action, name: &str, at: Duration, refused: &PolicyRefusal) -> Observation<'static> {
    Observation::Decision(Box::new(ActionDecision {
        at,
        action,
        name: name.to_owned().into(),
        denial: Some((refused.rule.into(), refused.reason.clone().into())),
        is_enforced: true,
        approval_id: None,
        call: None,
    }))
}
