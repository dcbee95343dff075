//! The guard of an enforced run: has everything decided that an agent wants to do, before it happens, and written down.
//!
//! Decisions are made one at a time, in the order in which they are written, with the times that are written: whoever audits the
//! record decides the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reenact_record::Warden;
use reenact_record::approval::{Desk, Look, Question};
use reenact_record::warden::{Action, Money, Needed, Refused, Ruling, Wanted};
use reenact_wire::call_ids::CallIds;
use reenact_wire::conversation::{Conversation, InferredCall};
use reenact_wire::exchange::Request;
use reenact_wire::price::{Rates, Table};
use reenact_wire::{Answer, Endpoint, ToolCall, ToolResult, exchange};

use super::job::{Approval, Asked, Decided, Decision, Job, News};
use super::scribe::{Scribe, Taken, lock};
use crate::decode;
use crate::work::Policy;

/// Guards a run.
pub(crate) struct Guard {
    scribe: Arc<Scribe>,
    prices: Table,
    desk: Desk,
    /// How much of a request is decoded to be read.
    most: usize,
    state: Mutex<State>,
}

struct State {
    warden: Warden,
    conversation: Conversation,
    /// The ids of the tools' calls that were allowed, and whose results have not come.
    open: BTreeSet<String>,
    /// Results that may not be handed over, by the ids of their calls.
    forbidden: BTreeMap<String, Forbidden>,
}

/// A result that may not be handed over, and why.
struct Forbidden {
    call: Option<ToolCall>,
    result: ToolResult,
    refused: Refused,
}

/// What an agent asks for in a request, as far as it matters here.
struct Plea {
    request: Request,
    model: String,
    rates: Option<Rates>,
    expected: Option<Money>,
}

impl Guard {
    pub(crate) fn new(scribe: Arc<Scribe>, policy: Policy, most: usize) -> Self {
        let Policy { warden, prices, desk } = policy;
        let state = State {
            warden,
            conversation: Conversation::default(),
            open: BTreeSet::new(),
            forbidden: BTreeMap::new(),
        };
        Self { scribe, prices, desk, most, state: Mutex::new(state) }
    }

    /// Has a request decided on. If it may go out it is taken by the scribe; else why not is. Gives the ids for calls of its answer
    /// that have none, too.
    pub(super) async fn admit(&self, asked: Asked) -> Result<(Decided, Taken, Option<CallIds>), Refused> {
        let plea = self.plea(&asked);
        let form = unknown_form(&asked);
        let mut results = Some(&plea.request);
        let mut approval_id: Option<String> = None;
        // It is taken when it goes out.
        let mut asked = Some(asked);
        loop {
            let (step, mut taken) = self.decide(|state, at| {
                let mut jobs = Vec::new();
                let wanted = Wanted {
                    action: Action::Model,
                    name: &plea.model,
                    at,
                    expected: plea.expected,
                    is_approved: approval_id.is_some(),
                };
                // What is brought along is looked at once; what may have changed meanwhile, again.
                let brought = results.take().map_or(Ok(()), |request| {
                    let results = state.judge_results(request, at, &mut jobs);
                    results.and_then(|()| form.clone()).and_then(|()| state.judge_vendor_tools(request))
                });
                let ruling = match brought {
                    Ok(()) => state.warden.rule(&wanted),
                    Err(refused) => Ruling::Denied(refused),
                };
                if let Ruling::Denied(refused) = &ruling {
                    jobs.push(denial(Action::Model, &plea.model, at, refused));
                }
                if ruling != Ruling::Allowed {
                    return (Step::of(ruling), jobs);
                }
                state.warden.began(&wanted);
                let decided = plea.decided(at, approval_id.clone());
                jobs.extend(
                    asked.take().map(|asked| Job::Request(Asked { decided: Some(decided.clone()), ..asked })),
                );
                (Step::Go(decided), jobs)
            })?;
            match step {
                Step::Go(decided) => {
                    let taken = taken.pop().ok_or_else(Refused::unrecorded)?;
                    return Ok((decided, taken, plea.request.call_ids));
                }
                Step::Stop(refused) => return Err(refused),
                Step::Ask(needed) => {
                    let input = asked.as_ref().map(|asked| self.shown_body(asked)).unwrap_or_default();
                    let approved = self.approve(Action::Model, &plea.model, &input, &needed).await;
                    approval_id = Some(self.approved(Action::Model, &plea.model, approved)?);
                }
            }
        }
    }

    /// Has the tools decided on that an answer asks for, all or none. What is allowed counts as begun: its agent sees it next.
    pub(super) async fn admit_tools(&self, calls: &[ToolCall]) -> Result<(), Refused> {
        let mut approvals: BTreeMap<usize, String> = BTreeMap::new();
        loop {
            let (step, taken) = self.decide(|state, at| {
                // What comes after the first is decided on as if that had begun. Most answers ask for one.
                let mut trial: Option<Warden> = None;
                let mut jobs = Vec::new();
                for (place, call) in calls.iter().enumerate() {
                    let approval_id = approvals.get(&place);
                    let wanted = Wanted { is_approved: approval_id.is_some(), ..tool(&call.name, at) };
                    match trial.as_ref().unwrap_or(&state.warden).rule(&wanted) {
                        Ruling::Allowed => {}
                        Ruling::Denied(refused) => {
                            let job = denial(Action::Tool, &call.name, at, &refused);
                            return (Step::Stop((place, refused)), vec![job]);
                        }
                        Ruling::NeedsApproval(needed) => return (Step::Ask((place, needed)), Vec::new()),
                    }
                    if calls.len() > 1 {
                        trial.get_or_insert_with(|| state.warden.clone()).began(&wanted);
                    }
                    jobs.push(allowance(call, at, approval_id.cloned()));
                }
                match trial {
                    Some(trial) => state.warden = trial,
                    None => calls.iter().for_each(|call| state.warden.began(&tool(&call.name, at))),
                }
                state.open.extend(calls.iter().map(|call| call.id.clone()));
                state.conversation.answered(&Answer { tool_calls: calls.to_vec(), ..Answer::default() });
                (Step::Go(()), jobs)
            })?;
            match step {
                Step::Go(()) => return self.written(taken).await,
                Step::Stop((_, refused)) => return Err(refused),
                Step::Ask((place, needed)) => {
                    let Some(call) = calls.get(place) else { return Err(Refused::unrecorded()) };
                    let input = self.scribe.pen().masked_input(&call.input);
                    let approved = self.approve(Action::Tool, &call.name, &input, &needed).await;
                    approvals.insert(place, self.approved(Action::Tool, &call.name, approved)?);
                }
            }
        }
    }

    /// Has something decided that is then taken by the scribe; nothing is, where the run cannot be recorded.
    fn decide<R>(
        &self,
        decide: impl FnOnce(&mut State, Duration) -> (R, Vec<Job>),
    ) -> Result<(R, Vec<Taken>), Refused> {
        if self.scribe.has_lost_something() {
            return Err(Refused::unrecorded());
        }
        let decided = self.scribe.decide(|at| decide(&mut lock(&self.state), at));
        decided.ok_or_else(Refused::unrecorded)
    }

    /// Waits until what was taken is written, where that must be waited for.
    async fn written(&self, taken: Vec<Taken>) -> Result<(), Refused> {
        for written in taken.into_iter().filter_map(|(_, written)| written) {
            // A scribe that is gone has said so.
            let _ = written.await;
        }
        if self.scribe.has_lost_something() { Err(Refused::unrecorded()) } else { Ok(()) }
    }

    /// Asks for an approval, and waits for it as long as the desk does. Dropped, the question is withdrawn.
    async fn approve(
        &self,
        action: Action,
        name: &str,
        input: &str,
        needed: &Needed,
    ) -> Result<String, String> {
        let signer_types = needed.signer_types.as_deref();
        let question = Question { signer_types, ..Question::new(action, name, input, &needed.rule) };
        let pen = self.scribe.pen();
        let asked = self.desk.ask(&question, pen.now()).map_err(|error| error.to_string())?;
        let approval_id = asked.approval_id().to_string();
        let id = approval_id.clone();
        let mut asking = Asking { guard: self, action, name, approval_id: id, is_over: false };
        // Bound after it, so that it is dropped before it: the question is withdrawn by the time the record says so.
        let mut waiting = asked;
        self.tell(
            &approval_id,
            News::Requested {
                action,
                name: name.to_owned(),
                input_hash: question.input_hash.to_string(),
                rule: needed.rule.clone(),
                signer_types: signer_types.unwrap_or_default().to_vec(),
            },
        );
        loop {
            let look = waiting.look(pen.now());
            asking.is_over = !matches!(look, Look::Pending | Look::Refused { .. });
            match look {
                Look::Pending => tokio::time::sleep(LOOK).await,
                Look::Granted { token, .. } => {
                    let token = String::from_utf8_lossy(&token).into_owned();
                    self.tell(&approval_id, News::Granted { token });
                    return Ok(approval_id);
                }
                Look::Denied { reason, .. } => {
                    let reason = reason.unwrap_or_else(|| "the approver said no".to_owned());
                    self.tell(&approval_id, News::Denied { reason: reason.clone() });
                    return Err(pen.masked(&reason));
                }
                Look::Refused { why } => {
                    let (code, why) = (format!("approval_{}", why.code()), why.to_string());
                    self.tell(&approval_id, News::Refused { code, why });
                }
                Look::TimedOut | Look::Over => {
                    let reason = "nobody approved it in time".to_owned();
                    self.tell(&approval_id, News::Denied { reason: reason.clone() });
                    return Err(reason);
                }
            }
        }
    }

    /// Has a denial written down where an approval was not given.
    fn approved(
        &self,
        action: Action,
        name: &str,
        approved: Result<String, String>,
    ) -> Result<String, Refused> {
        approved.map_err(|reason| {
            let refused = Refused::unapproved(reason);
            // What cannot be written down is denied all the same.
            let _ = self.decide(|_, at| ((), vec![denial(action, name, at, &refused)]));
            refused
        })
    }

    fn tell(&self, approval_id: &str, news: News) {
        let approval_id = approval_id.to_owned();
        // What cannot be written down stops the action it is about.
        let _ = self.decide(|_, at| ((), vec![Job::Approval(Approval { at, approval_id, news })]));
    }

    /// The body of a request as an approver sees it.
    fn shown_body(&self, asked: &Asked) -> String {
        let codings = decode::codings(&asked.headers);
        let body = decode::whole(&codings, &asked.body, false, self.most).unwrap_or_default();
        self.scribe.pen().masked(&String::from_utf8_lossy(&body))
    }

    /// A call is over: what it was expected to cost, and what it did.
    pub(super) fn settle(&self, decided: &Decided, actual: Money) {
        if decided.rates.is_some() {
            let expected = Money::from_picodollars(decided.estimate.into());
            lock(&self.state).warden.settled(expected, actual);
        }
    }

    fn plea(&self, asked: &Asked) -> Plea {
        let codings = decode::codings(&asked.headers);
        let decoded = if codings.is_empty() {
            None
        } else {
            decode::whole(&codings, &asked.body, false, self.most).ok()
        };
        let body = match (&decoded, codings.is_empty()) {
            (Some(decoded), _) => decoded,
            (None, true) => &asked.body[..],
            // What cannot be read names no model.
            (None, false) => &[],
        };
        let request = exchange::request_to(asked.vendor, asked.endpoint(), &asked.path, body);
        let request = request.unwrap_or_default();
        let model = request.model.clone().unwrap_or_default();
        let rates = self.prices.rates(asked.vendor, &model);
        let expected = rates.map(|rates| Money::from_picodollars(rates.estimate(body.len())));
        Plea { request, model, rates, expected }
    }
}

/// What a decision leads to.
enum Step<Go, Stop, Ask> {
    Go(Go),
    Stop(Stop),
    Ask(Ask),
}

impl Step<Decided, Refused, Needed> {
    /// Of a ruling that does not let a request go.
    fn of(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Denied(refused) => Self::Stop(refused),
            Ruling::NeedsApproval(needed) => Self::Ask(needed),
            Ruling::Allowed => Self::Stop(Refused::unrecorded()),
        }
    }
}

/// An approval that is waited for. Dropped before it came, its agent has left: that is written down as what it is.
struct Asking<'g> {
    guard: &'g Guard,
    action: Action,
    name: &'g str,
    approval_id: String,
    is_over: bool,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let reason = "the agent did not wait for the approval".to_owned();
            self.guard.tell(&self.approval_id, News::Denied { reason: reason.clone() });
            let _ = self.guard.approved(self.action, self.name, Err(reason));
        }
    }
}

/// How often someone looks whether an approval has come.
const LOOK: Duration = Duration::from_millis(100);

impl Plea {
    fn decided(&self, at: Duration, approval_id: Option<String>) -> Decided {
        let estimate = self.expected.unwrap_or_default().picodollars();
        let estimate = u64::try_from(estimate).unwrap_or(u64::MAX);
        Decided { at, approval_id, rates: self.rates, estimate }
    }
}

impl State {
    /// The results of tools that a request brings. Those of calls that were allowed return; others were called out of our sight, and
    /// are decided on now.
    fn judge_results(&mut self, request: &Request, at: Duration, jobs: &mut Vec<Job>) -> Result<(), Refused> {
        let mut brought = self.forbidden_for_now(request);
        brought.extend(self.conversation.requested(request));
        for InferredCall { call, result } in brought {
            if !self.open.remove(&result.id) {
                let unknown = call.clone().unwrap_or_else(unseen);
                let judged = ToolCall { id: result.id.clone(), ..unknown };
                let wanted = tool(&judged.name, at);
                if let Err(refused) = judge(&self.warden, &wanted) {
                    jobs.push(denial(Action::Tool, &judged.name, at, &refused));
                    self.forbidden.insert(result.id.clone(), Forbidden { call, result, refused });
                    continue;
                }
                self.warden.began(&wanted);
                jobs.push(allowance(&judged, at, None));
            }
            jobs.push(Job::ToolResult { at, result });
        }
        // An agent repeats its whole history: what was forbidden once stays so.
        let forbidden = request.tool_results.iter().find_map(|result| self.forbidden.get(&result.id));
        forbidden.map_or(Ok(()), |forbidden| Err(forbidden.refused.clone()))
    }

    /// Of the results that a request brings, those that waiting may have helped.
    fn forbidden_for_now(&mut self, request: &Request) -> Vec<InferredCall> {
        let mut again = Vec::new();
        for result in &request.tool_results {
            let may_pass = |forbidden: &Forbidden| forbidden.refused.retry_after.is_some();
            if self.forbidden.get(&result.id).is_some_and(may_pass)
                && let Some(Forbidden { call, result, .. }) = self.forbidden.remove(&result.id)
            {
                again.push(InferredCall { call, result });
            }
        }
        again
    }

    fn judge_vendor_tools(&self, request: &Request) -> Result<(), Refused> {
        request.vendor_tools.iter().try_for_each(|name| self.warden.rule_vendor_tool(name))
    }
}

/// Whether a tool may have been called that nobody held back.
fn judge(warden: &Warden, wanted: &Wanted<'_>) -> Result<(), Refused> {
    match warden.rule(wanted) {
        Ruling::Allowed => Ok(()),
        Ruling::Denied(refused) => Err(refused),
        Ruling::NeedsApproval(needed) => {
            let reason = format!("{} asks for an approval, and it was called without one", needed.rule);
            Err(Refused::unapproved(reason))
        }
    }
}

fn tool(name: &str, at: Duration) -> Wanted<'_> {
    Wanted { action: Action::Tool, name, at, expected: None, is_approved: false }
}

/// A result for a call that nobody saw.
fn unseen() -> ToolCall {
    ToolCall { name: "unknown".to_owned(), input: "null".to_owned(), ..ToolCall::default() }
}

fn allowance(call: &ToolCall, at: Duration, approval_id: Option<String>) -> Job {
    Job::Decision(Decision {
        at,
        action: Action::Tool,
        name: call.name.clone(),
        denial: None,
        approval_id,
        call: Some((call.id.clone(), call.input.clone())),
    })
}

fn denial(action: Action, name: &str, at: Duration, refused: &Refused) -> Job {
    Job::Decision(Decision {
        at,
        action,
        name: name.to_owned(),
        denial: Some((refused.rule.to_owned(), refused.reason.clone())),
        approval_id: None,
        call: None,
    })
}

/// An interface that is not known here may ask for tools in a way that nobody sees.
fn unknown_form(asked: &Asked) -> Result<(), Refused> {
    let calls_model = asked.endpoint().is_some_and(Endpoint::calls_a_model);
    if calls_model || asked.vendor.is_without_tools(&asked.path) {
        return Ok(());
    }
    let path = asked.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    Err(Refused::unknown_form(&asked.method, path))
}
