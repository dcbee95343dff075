//! Trial of an envelope on a run that is over: the decisions that the gate would have made.
//!
//! A record tells what happened, so every action counts as done whatever the decision on it is, as in a run that only warns.
//! Requests and answers are read, and decided on, by the code of the gate itself. Start reading at [`PolicyTrial::request`] and
//! [`PolicyTrial::answer`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reenact_record::observation::{Admission, InboundRequest, Observation};
use reenact_record::policy_engine::{Action, Money, PolicyRefusal, ProposedAction};
use reenact_record::{PolicyEngine, PolicyMode};
use reenact_wire::call_ids::CallIds;
use reenact_wire::exchange::{ParsedRequest, answering_model};
use reenact_wire::price::PriceTable;
use reenact_wire::request_form;
use reenact_wire::request_path::{KnownPath, PathFault, judge_path};
use reenact_wire::{Endpoint, Vendor};

use super::warning::AnswerCalls;
use super::{DecisionJobs, GateState, ModelRequestInfo, interface_check};
use crate::DEFAULT_MAX_BODY_BYTES;
use crate::charge::{AnswerCount, Charge};
use crate::parsed_body::{
    ParsedRequestBody, answer_count, is_scanned, is_success, multipart_type, vendor_and_endpoint,
};
use crate::stream_end::StreamEndDetector;

/// Most rounds in which the forms of one request are looked for: each allows those that the round before found.
const MAX_ROUNDS: usize = 64;

/// Envelope that is tried on a run.
pub struct PolicyTrial {
    state: GateState,
    prices: PriceTable,
    /// Engine for questions that depend on the envelope alone.
    permissions: PolicyEngine,
    /// Calls without an answer so far, by the caller's number of the request.
    open_calls: BTreeMap<usize, TriedCall>,
    /// Ids of tool calls that answers asked for, or whose results requests brought.
    seen_calls: BTreeSet<String>,
    totals: TrialTotals,
}

/// Request that waits for its answer.
struct TriedCall {
    vendor: Vendor,
    endpoint: Option<Endpoint>,
    admission: Admission<'static>,
    reserved: Money,
    call_ids: Option<CallIds>,
    model: String,
}

/// Decision that the gate would have made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialDecision {
    /// Kind of the action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: String,
    /// Rule and reason of a denial; `None` if the action may happen.
    pub denial: Option<(String, String)>,
}

/// Answer of a recorded call, without content codings.
#[derive(Debug, Clone, Copy)]
pub struct TrialAnswer<'a> {
    /// HTTP status; `None` if no answer came.
    pub status: Option<u16>,
    /// True if the body is a stream of server-sent events.
    pub is_stream: bool,
    /// True if the answer came to its end.
    pub is_complete: bool,
    /// Body as far as it came.
    pub body: &'a [u8],
}

/// Sums over the actions of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrialTotals {
    /// Number of actions: calls of models and tools.
    pub actions: u64,
    /// Largest number of actions in 60 seconds.
    pub highest_rate: u64,
    /// Largest sum of what was spent and reserved at one time: a limit below it would have denied a call.
    pub highest_commitment: Money,
    /// Calls whose cost their vendor did not tell, so that what was reserved for them stays reserved.
    pub uncounted_calls: u64,
    /// Models that have no price.
    pub unpriced_models: BTreeSet<String>,
    /// Reason why the cost of a call could be neither bounded nor counted.
    pub uncountable: Option<&'static str>,
}

/// Permissions without which a request would be denied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestNeeds {
    /// Models that the request asks, or that may answer in its place.
    pub models: BTreeSet<String>,
    /// Tools that the vendor runs, by type, and things that it keeps or reaches.
    pub vendor_tools: BTreeSet<String>,
    /// Paths of forms that are not known.
    pub forms: BTreeSet<String>,
    /// Refusal that no permission averts.
    pub obstacle: Option<PolicyRefusal>,
}

impl PolicyTrial {
    /// Begins a trial of the engine's envelope on a run.
    pub fn new(engine: PolicyEngine, prices: PriceTable) -> Self {
        let engine = engine.with_mode(PolicyMode::Warn);
        Self {
            permissions: engine.clone(),
            state: GateState::new(engine),
            prices,
            open_calls: BTreeMap::new(),
            seen_calls: BTreeSet::new(),
            totals: TrialTotals::default(),
        }
    }

    /// Decides on a request that was sent at `at` (since 1970), and on the results of tools that it brings. `base` is the base path
    /// of its upstream. `number` identifies the request for [`PolicyTrial::answer`].
    ///
    /// Returns the decisions in order, that on the request last; none if there was nothing to decide.
    pub fn request(
        &mut self,
        number: usize,
        request: &InboundRequest<'_>,
        base: &str,
        at: Duration,
    ) -> Vec<TrialDecision> {
        let (vendor, endpoint) = vendor_and_endpoint(request);
        let path = judge_path(vendor, base, &request.method, &request.path, self.permissions.allowed_forms());
        if path == Ok(KnownPath::ReadOnly) {
            return Vec::new();
        }
        let parsed_body = ParsedRequestBody::of(request, DEFAULT_MAX_BODY_BYTES);
        let interface = interface_check::check(request, base, &parsed_body, &self.permissions);
        let nothing = ParsedRequest::default();
        let parsed = parsed_body.request.as_deref().filter(|_| parsed_body.fault.is_none());
        let info = ModelRequestInfo::of(request, &parsed_body, parsed.unwrap_or(&nothing), &self.prices);
        let wanted = info.proposed(at);
        let mut outcome = Vec::new();
        let ruling = self.state.judge_request(&info, Some(&interface), &wanted, &mut outcome);
        self.state.engine.begin_action(&wanted);
        self.seen_calls.extend(info.request.tool_results.iter().map(|result| result.id.clone()));
        self.totals.uncountable = self.totals.uncountable.or(info.request.output.uncountable);
        if info.highest_cost.is_none() {
            self.totals.unpriced_models.insert(info.model.to_owned());
        }
        let mut decisions = decisions(outcome);
        decisions.push(TrialDecision::of(Action::Model, info.model, ruling.refusal()));
        let call = TriedCall {
            vendor,
            endpoint,
            admission: info.admission(at, None),
            reserved: info.highest_cost.unwrap_or_default(),
            call_ids: info.request.call_ids.clone(),
            model: info.model.to_owned(),
        };
        self.open_calls.insert(number, call);
        self.note_totals(at);
        decisions
    }

    /// Decides on the model and the tool calls of the answer to request `number`, which was over at `at` (since 1970), and counts its cost.
    ///
    /// Returns the decisions in order; none if the request was not decided on.
    pub fn answer(&mut self, number: usize, answer: &TrialAnswer<'_>, at: Duration) -> Vec<TrialDecision> {
        let Some(call) = self.open_calls.remove(&number) else { return Vec::new() };
        let TrialAnswer { status, is_stream, is_complete, body } = *answer;
        let mut outcome = Vec::new();
        if let (Some(status), Some(endpoint)) = (status, call.endpoint.filter(|_| is_scanned(call.endpoint)))
        {
            let calls = AnswerCalls::scan(
                endpoint,
                is_success(status),
                is_stream,
                is_complete,
                Some(body),
                call.call_ids,
            );
            self.seen_calls.extend(calls.ids().map(str::to_owned));
            self.state.note_answer(&calls, at, &mut outcome);
        }
        let is_whole = match is_stream {
            true => {
                let mut end = StreamEndDetector::new(call.endpoint, &[], DEFAULT_MAX_BODY_BYTES);
                end.as_mut().is_some_and(|end| end.push(body) && end.is_whole())
            }
            false => is_complete,
        };
        let count = status.map_or(AnswerCount::UNANSWERED, |status| {
            answer_count(call.endpoint, status, is_stream, is_whole, body)
        });
        let succeeded =
            call.endpoint.filter(|endpoint| endpoint.calls_a_model() && status.is_some_and(is_success));
        let answering = succeeded.and_then(|endpoint| answering_model(endpoint, is_stream, body));
        let another = answering.filter(|answering| !call.vendor.is_same_model(&call.model, answering));
        let count = if another.is_some() { count.as_estimate() } else { count };
        if let Some(charge) = Charge::of(&call.admission, call.vendor, call.endpoint, count) {
            self.totals.uncounted_calls += u64::from(charge.is_estimate);
            self.state.book_cost(call.reserved, &charge);
        }
        self.note_totals(at);
        let mut decisions = decisions(outcome);
        if let Some(answering) = another
            && let Err(refused) = self.permissions.check_answering_model(call.vendor, &call.model, &answering)
        {
            decisions.push(TrialDecision::of(Action::Model, &answering, Some(refused)));
        }
        decisions
    }

    /// Decides on an action of which nothing but its name is recorded, and counts it. `cost` is what a call of a model cost, for the
    /// sums; `None` if nobody knows.
    pub fn named_action(
        &mut self,
        action: Action,
        name: &str,
        at: Duration,
        cost: Option<Money>,
    ) -> TrialDecision {
        let expected_cost = Some(cost.unwrap_or_default());
        let wanted = ProposedAction { action, name, at, expected_cost, is_approved: false };
        let refused = self.state.engine.evaluate(&wanted).refusal();
        self.count_action(&wanted);
        if action == Action::Model && cost.is_none() {
            self.totals.unpriced_models.insert(name.to_owned());
        }
        TrialDecision::of(action, name, refused)
    }

    /// Counts an action of which not even the name is recorded.
    pub fn unreadable_action(&mut self, action: Action, at: Duration) {
        let expected_cost = Some(Money::default());
        self.count_action(&ProposedAction { action, name: "", at, expected_cost, is_approved: false });
    }

    /// Counts an action that is over at once.
    fn count_action(&mut self, wanted: &ProposedAction<'_>) {
        self.state.engine.begin_action(wanted);
        let cost = wanted.expected_cost.unwrap_or_default();
        self.state.engine.settle_cost(cost, cost);
        self.note_totals(wanted.at);
    }

    /// Returns true if an answer asked for the tool call with this id, or a request brought its result.
    pub fn has_seen_call(&self, id: &str) -> bool {
        self.seen_calls.contains(id)
    }

    /// Returns the sums so far.
    pub fn totals(&self) -> &TrialTotals {
        &self.totals
    }

    /// Takes the state after an action into the sums.
    fn note_totals(&mut self, at: Duration) {
        let (engine, totals) = (&self.state.engine, &mut self.totals);
        totals.actions = engine.history().actions();
        totals.highest_rate = totals.highest_rate.max(engine.actions_in_last_minute(at));
        totals.highest_commitment = totals.highest_commitment.max(engine.committed_cost());
    }
}

impl TrialDecision {
    fn of(action: Action, name: &str, refused: Option<PolicyRefusal>) -> Self {
        let denial = refused.map(|refused| (refused.rule.to_owned(), refused.reason));
        Self { action, name: name.to_owned(), denial }
    }
}

/// Returns the decisions among the observations that follow from them.
fn decisions(outcome: DecisionJobs) -> Vec<TrialDecision> {
    let decision = |observation| match observation {
        Observation::Decision(decision) => {
            let denial = decision.denial.map(|(rule, reason)| (rule.into_owned(), reason.into_owned()));
            Some(TrialDecision { action: decision.action, name: decision.name.into_owned(), denial })
        }
        _ => None,
    };
    outcome.into_iter().filter_map(|(observation, _)| decision(observation)).collect()
}

impl RequestNeeds {
    /// Returns the needs of a request to an upstream with this base path; `None` if nothing is decided on it.
    pub fn of(request: &InboundRequest<'_>, base: &str) -> Option<Self> {
        let (vendor, _) = vendor_and_endpoint(request);
        let parsed_body = ParsedRequestBody::of(request, DEFAULT_MAX_BODY_BYTES);
        let parsed = parsed_body.request.as_deref().filter(|_| parsed_body.fault.is_none());
        let mut needs = Self::default();
        needs.models.extend(parsed.and_then(|parsed| parsed.model.clone()));
        for _ in 0..MAX_ROUNDS {
            let known = match judge_path(vendor, base, &request.method, &request.path, &needs.forms) {
                Ok(KnownPath::ReadOnly) => return None,
                Ok(known) => known,
                Err(PathFault::Query(form)) if needs.forms.insert(form.clone()) => continue,
                Err(_) => break,
            };
            let (KnownPath::Model(endpoint), Some(_)) = (known, parsed) else { break };
            let body = parsed_body.body(request);
            let found = match multipart_type(&request.headers) {
                Some(content_type) if endpoint.takes_multipart() => {
                    request_form::check_multipart(endpoint, content_type, body, &needs.forms)
                }
                _ => request_form::check(endpoint, body, &needs.forms),
            };
            needs.models.extend(found.models);
            needs.vendor_tools.extend(found.vendor_tools);
            let known_forms = needs.forms.len();
            needs.forms.extend(found.unknown);
            if needs.forms.len() == known_forms {
                break;
            }
        }
        let engine =
            PolicyEngine::permitting(needs.models.clone(), needs.vendor_tools.clone(), needs.forms.clone());
        needs.obstacle = interface_check::check(request, base, &parsed_body, &engine).err();
        Some(needs)
    }
}
