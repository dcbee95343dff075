//! The policy gate of an enforced run: everything that an agent wants to do is decided on before it happens, and recorded.
//!
//! Decisions are made one at a time, in the order and with the times that the record has: an auditor of the record decides the
//! same. Start with [`PolicyGate::admit`] for requests and [`PolicyGate::admit_tools`] for the tools that an answer asks for.

mod approval;
mod form;
mod results;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reenact_record::observation::{Admission, InboundRequest, Observation, PolicyDecision};
use reenact_record::warden::{Action, Money, Needed, Refused, Ruling, Wanted};
use reenact_record::{Warden, approval::Desk};
use reenact_wire::call_ids::CallIds;
use reenact_wire::conversation::Conversation;
use reenact_wire::exchange::Request;
use reenact_wire::price::{Rates, Table};
use reenact_wire::{Answer, ToolCall};

use self::results::Forbidden;
use crate::queue::Queued;
use crate::reading::{Reading, RequestReading, interface};
use crate::recorder_thread::{RecorderThread, lock};

/// An envelope that is enforced.
pub struct Policy {
    /// Decides on actions.
    pub warden: Warden,
    /// Prices of models.
    pub prices: Table,
    /// Queue of questions to approvers.
    pub desk: Desk,
}

/// Decides on the actions of a run.
pub struct PolicyGate {
    recorder: Arc<RecorderThread>,
    prices: Table,
    desk: Desk,
    /// Longest request body that is decoded, in bytes.
    max_body_bytes: usize,
    state: Mutex<State>,
}

struct State {
    warden: Warden,
    /// The run's one conversation: under an envelope nobody else infers calls.
    conversation: Conversation,
    /// Ids of calls that were allowed and whose results have not come. The journal knows them later than they are needed here.
    allowed: BTreeSet<String>,
    /// Results that may not be handed over, by the ids of their calls.
    forbidden: BTreeMap<String, Forbidden>,
}

/// Observations that follow from a decision, with the bodies that were read for it.
type Outcome = Vec<(Observation<'static>, Option<Reading>)>;

/// The parts of a request that are decided on.
struct ModelRequestInfo<'r> {
    request: &'r Request,
    model: &'r str,
    rates: Option<Rates>,
    expected: Option<Money>,
}

impl PolicyGate {
    pub(crate) fn new(recorder: Arc<RecorderThread>, policy: Policy, max_body_bytes: usize) -> Self {
        let Policy { warden, prices, desk } = policy;
        let state = State {
            warden,
            conversation: Conversation::default(),
            allowed: BTreeSet::new(),
            forbidden: BTreeMap::new(),
        };
        Self { recorder, prices, desk, max_body_bytes, state: Mutex::new(state) }
    }

    /// Decides on a request. If it may go out it is logged and queued, with the body that was read for the decision. Returns the ids
    /// for calls of its answer that have none, too.
    pub(crate) async fn admit(
        &self,
        request: InboundRequest<'static>,
    ) -> Result<(Admission<'static>, Queued, Option<CallIds>), Refused> {
        let reading = RequestReading::of(&request, self.max_body_bytes);
        let form = form::unknown_form(&request);
        let nothing = Request::default();
        let parsed = reading.request.clone().filter(|_| reading.fault.is_none());
        let parsed = parsed.as_deref().unwrap_or(&nothing);
        let info = self.info(&request, &reading, parsed);
        let mut approval_id: Option<String> = None;
        let mut has_results = true;
        // Both go with the admission.
        let mut unsent = Some((request, reading));
        loop {
            let (step, mut queued) = self.decide(|state, at| {
                let mut outcome = Vec::new();
                let wanted = Wanted {
                    action: Action::Model,
                    name: info.model,
                    at,
                    expected: info.expected,
                    is_approved: approval_id.is_some(),
                };
                // Results are judged once; conditions that may have changed meanwhile, again.
                let brought = if std::mem::take(&mut has_results) {
                    let results = state.judge_results(info.request, at, &mut outcome);
                    results.and_then(|()| form.clone()).and_then(|()| state.judge_vendor_tools(info.request))
                } else {
                    Ok(())
                };
                let ruling = match brought {
                    Ok(()) => state.warden.rule(&wanted),
                    Err(refused) => Ruling::Denied(refused),
                };
                if let Ruling::Denied(refused) = &ruling {
                    outcome.push((denial(Action::Model, info.model, at, refused), None));
                }
                if ruling != Ruling::Allowed {
                    return (Step::of(ruling), outcome);
                }
                state.warden.began(&wanted);
                let admission = info.admission(at, approval_id.clone());
                outcome.extend(unsent.take().map(|(request, reading)| {
                    let request = InboundRequest { admission: Some(admission.clone()), ..request };
                    (Observation::Request(Box::new(request)), Some(Reading::Request(Box::new(reading))))
                }));
                (Step::Go(admission), outcome)
            })?;
            match step {
                Step::Go(admission) => {
                    let queued = queued.pop().ok_or_else(Refused::unrecorded)?;
                    return Ok((admission, queued, info.request.call_ids.clone()));
                }
                Step::Stop(refused) => return Err(refused),
                Step::Ask(needed) => {
                    let input = unsent.as_ref().map(|(request, reading)| self.shown_body(request, reading));
                    let input = input.unwrap_or_default();
                    let approved = self.approve(Action::Model, info.model, &input, &needed).await;
                    approval_id = Some(self.approved(Action::Model, info.model, approved)?);
                }
            }
        }
    }

    /// Decides on the tools that an answer asks for, all or none. Calls that are allowed count as begun: the agent sees them
    /// next.
    pub async fn admit_tools(&self, calls: &[ToolCall]) -> Result<(), Refused> {
        let mut approvals: BTreeMap<usize, String> = BTreeMap::new();
        loop {
            let (step, queued) = self.decide(|state, at| {
                // Each call is decided on as if those before it had begun. Most answers ask for one.
                let mut trial: Option<Warden> = None;
                let mut outcome = Vec::new();
                for (place, call) in calls.iter().enumerate() {
                    let approval_id = approvals.get(&place);
                    let wanted = Wanted { is_approved: approval_id.is_some(), ..tool(&call.name, at) };
                    match trial.as_ref().unwrap_or(&state.warden).rule(&wanted) {
                        Ruling::Allowed => {}
                        Ruling::Denied(refused) => {
                            let denied = denial(Action::Tool, &call.name, at, &refused);
                            return (Step::Stop((place, refused)), vec![(denied, None)]);
                        }
                        Ruling::NeedsApproval(needed) => return (Step::Ask((place, needed)), Vec::new()),
                    }
                    if calls.len() > 1 {
                        trial.get_or_insert_with(|| state.warden.clone()).began(&wanted);
                    }
                    outcome.push((allowance(call, at, approval_id.cloned()), None));
                }
                match trial {
                    Some(trial) => state.warden = trial,
                    None => calls.iter().for_each(|call| state.warden.began(&tool(&call.name, at))),
                }
                state.allowed.extend(calls.iter().map(|call| call.id.clone()));
                state.conversation.answered(&Answer { tool_calls: calls.to_vec(), ..Answer::default() });
                (Step::Go(()), outcome)
            })?;
            match step {
                Step::Go(()) => return self.written(queued).await,
                Step::Stop((_, refused)) => return Err(refused),
                Step::Ask((place, needed)) => {
                    let Some(call) = calls.get(place) else { return Err(Refused::unrecorded()) };
                    let input = self.recorder.pen().masked_input(&call.input);
                    let approved = self.approve(Action::Tool, &call.name, &input, &needed).await;
                    approvals.insert(place, self.approved(Action::Tool, &call.name, approved)?);
                }
            }
        }
    }

    /// Books the cost of a call that is over, in place of what was expected.
    pub(crate) fn book_cost(&self, admission: &Admission<'_>, actual: Money) {
        if admission.rates.is_some() {
            let expected = Money::from_picodollars(admission.estimate.into());
            lock(&self.state).warden.settled(expected, actual);
        }
    }

    /// Makes a decision and queues what follows from it. Refuses where the run cannot be recorded.
    fn decide<R>(
        &self,
        decide: impl FnOnce(&mut State, Duration) -> (R, Outcome),
    ) -> Result<(R, Vec<Queued>), Refused> {
        if self.recorder.has_lost_something() {
            return Err(Refused::unrecorded());
        }
        let decided = self.recorder.decide(|at| decide(&mut lock(&self.state), at));
        decided.ok_or_else(Refused::unrecorded)
    }

    /// Waits until queued jobs are written, where that is needed.
    async fn written(&self, queued: Vec<Queued>) -> Result<(), Refused> {
        for written in queued.into_iter().filter_map(|(_, written)| written) {
            written.await;
        }
        if self.recorder.has_lost_something() { Err(Refused::unrecorded()) } else { Ok(()) }
    }

    fn info<'r>(
        &self,
        request: &InboundRequest<'_>,
        reading: &RequestReading,
        parsed: &'r Request,
    ) -> ModelRequestInfo<'r> {
        let model = parsed.model.as_deref().unwrap_or_default();
        // A body that cannot be read names no model, and costs nothing to be read.
        let length = if reading.fault.is_some() { 0 } else { reading.body(request).len() };
        let rates = self.prices.rates(interface(request).0, model);
        let expected = rates.map(|rates| Money::from_picodollars(rates.estimate(length)));
        ModelRequestInfo { request: parsed, model, rates, expected }
    }

    /// Returns the body of a request as an approver sees it.
    fn shown_body(&self, request: &InboundRequest<'_>, reading: &RequestReading) -> String {
        let body = if reading.fault.is_some() { &[] } else { reading.body(request) };
        self.recorder.pen().masked(&String::from_utf8_lossy(body))
    }
}

/// Consequence of a decision.
enum Step<Go, Stop, Ask> {
    Go(Go),
    Stop(Stop),
    Ask(Ask),
}

impl Step<Admission<'static>, Refused, Needed> {
    /// Of a ruling that does not let a request go.
    fn of(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Denied(refused) => Self::Stop(refused),
            Ruling::NeedsApproval(needed) => Self::Ask(needed),
            Ruling::Allowed => Self::Stop(Refused::unrecorded()),
        }
    }
}

impl ModelRequestInfo<'_> {
    fn admission(&self, at: Duration, approval_id: Option<String>) -> Admission<'static> {
        let estimate = self.expected.unwrap_or_default().picodollars();
        let estimate = u64::try_from(estimate).unwrap_or(u64::MAX);
        Admission { at, approval_id: approval_id.map(Into::into), rates: self.rates, estimate }
    }
}

fn tool(name: &str, at: Duration) -> Wanted<'_> {
    Wanted { action: Action::Tool, name, at, expected: None, is_approved: false }
}

fn allowance(call: &ToolCall, at: Duration, approval_id: Option<String>) -> Observation<'static> {
    Observation::Decision(Box::new(PolicyDecision {
        at,
        action: Action::Tool,
        name: call.name.clone().into(),
        denial: None,
        approval_id: approval_id.map(Into::into),
        call: Some((call.id.clone().into(), call.input.clone().into())),
    }))
}

fn denial(action: Action, name: &str, at: Duration, refused: &Refused) -> Observation<'static> {
    Observation::Decision(Box::new(PolicyDecision {
        at,
        action,
        name: name.to_owned().into(),
        denial: Some((refused.rule.into(), refused.reason.clone().into())),
        approval_id: None,
        call: None,
    }))
}
