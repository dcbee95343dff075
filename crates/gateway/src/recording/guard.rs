//! The guard of an enforced run: has everything decided that an agent wants to do, before it happens, and written down.
//!
//! Decisions are made one at a time, in the order in which they are written, with the times that are written: whoever audits the
//! record decides the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reenact_record::Warden;
use reenact_record::warden::{Action, Money, Refused, Ruling, Wanted};
use reenact_wire::conversation::Conversation;
use reenact_wire::exchange::Request;
use reenact_wire::price::{Rates, Table};
use reenact_wire::{Answer, Endpoint, ToolCall, exchange};

use super::job::{Asked, Decided, Decision, Job};
use super::scribe::{Scribe, Taken, lock};
use crate::decode;

/// Guards a run.
pub(crate) struct Guard {
    scribe: Arc<Scribe>,
    prices: Table,
    /// How much of a request is decoded to be read.
    most: usize,
    state: Mutex<State>,
}

struct State {
    warden: Warden,
    conversation: Conversation,
    /// The ids of the tools' calls that were allowed, and whose results have not come.
    open: BTreeSet<String>,
    /// Why results may not be handed over, by the ids of their calls.
    forbidden: BTreeMap<String, Refused>,
}

/// What an agent asks for in a request, as far as it matters here.
struct Plea {
    request: Request,
    model: String,
    rates: Option<Rates>,
    expected: Option<Money>,
}

impl Guard {
    pub(crate) fn new(scribe: Arc<Scribe>, warden: Warden, prices: Table, most: usize) -> Self {
        let state = State {
            warden,
            conversation: Conversation::default(),
            open: BTreeSet::new(),
            forbidden: BTreeMap::new(),
        };
        Self { scribe, prices, most, state: Mutex::new(state) }
    }

    /// Has a request decided on. If it may go out it is taken by the scribe; else why not is.
    pub(super) async fn admit(&self, asked: Asked) -> Result<(Decided, Taken), Refused> {
        if self.scribe.is_journal_lost() {
            return Err(Refused::unrecorded());
        }
        let plea = self.plea(&asked);
        let form = unknown_form(&asked);
        let decided = self.scribe.decide(|at| {
            let mut state = lock(&self.state);
            let mut jobs = Vec::new();
            let ruling = state.judge_results(&plea.request, at, &mut jobs);
            let ruling = ruling.and_then(|()| form).and_then(|()| state.judge_vendor_tools(&plea.request));
            let ruling = ruling.and_then(|()| {
                let wanted = Wanted {
                    action: Action::Model,
                    name: &plea.model,
                    at,
                    expected: plea.expected,
                    is_approved: false,
                };
                state.judge(&wanted)?;
                state.warden.began(&wanted);
                Ok(())
            });
            match ruling {
                Ok(()) => {
                    let decided = Decided {
                        at,
                        approval_id: None,
                        rates: plea.rates,
                        estimate: u64::try_from(plea.expected.unwrap_or_default().picodollars())
                            .unwrap_or(u64::MAX),
                    };
                    jobs.push(Job::Request(Asked { decided: Some(decided.clone()), ..asked }));
                    (Ok(decided), jobs)
                }
                Err(refused) => {
                    jobs.push(denial(Action::Model, &plea.model, at, &refused));
                    (Err(refused), jobs)
                }
            }
        });
        let (ruling, mut taken) = decided.ok_or_else(Refused::unrecorded)?;
        let decided = ruling?;
        Ok((decided, taken.pop().ok_or_else(Refused::unrecorded)?))
    }

    /// Has the tools decided on that an answer asks for, all or none. What is allowed counts as begun: its agent sees it next.
    pub(super) async fn admit_tools(&self, calls: &[ToolCall]) -> Result<(), Refused> {
        if self.scribe.is_journal_lost() {
            return Err(Refused::unrecorded());
        }
        let decided = self.scribe.decide(|at| {
            let mut state = lock(&self.state);
            let mut trial = state.warden.clone();
            let mut jobs = Vec::new();
            for call in calls {
                let wanted = tool(&call.name, at);
                if let Err(refused) = judge(&trial, &wanted) {
                    let job = denial(Action::Tool, &call.name, at, &refused);
                    return (Err(refused), vec![job]);
                }
                trial.began(&wanted);
                jobs.push(allowance(call, at));
            }
            state.warden = trial;
            state.open.extend(calls.iter().map(|call| call.id.clone()));
            state.conversation.answered(&Answer { tool_calls: calls.to_vec(), ..Answer::default() });
            (Ok(()), jobs)
        });
        let (ruling, taken) = decided.ok_or_else(Refused::unrecorded)?;
        for written in taken.into_iter().filter_map(|(_, written)| written) {
            // A scribe that is gone has said so.
            let _ = written.await;
        }
        if self.scribe.is_journal_lost() {
            return Err(Refused::unrecorded());
        }
        ruling
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
        let request =
            exchange::request(asked.endpoint().unwrap_or(Endpoint::Models), body).unwrap_or_default();
        let model = request.model.clone().unwrap_or_default();
        let rates = self.prices.rates(asked.vendor, &model);
        let expected = rates.map(|rates| Money::from_picodollars(rates.estimate(body.len())));
        Plea { request, model, rates, expected }
    }
}

impl State {
    /// The results of tools that a request brings. Those of calls that were allowed return; others were called out of our sight, and
    /// are decided on now.
    fn judge_results(&mut self, request: &Request, at: Duration, jobs: &mut Vec<Job>) -> Result<(), Refused> {
        for inferred in self.conversation.requested(request) {
            let (call, result) = (inferred.call, inferred.result);
            if !self.open.remove(&result.id) {
                let call = ToolCall { id: result.id.clone(), ..call.unwrap_or_else(unseen) };
                let wanted = tool(&call.name, at);
                if let Err(refused) = judge(&self.warden, &wanted) {
                    jobs.push(denial(Action::Tool, &call.name, at, &refused));
                    self.forbidden.insert(result.id, refused);
                    continue;
                }
                self.warden.began(&wanted);
                jobs.push(allowance(&call, at));
            }
            jobs.push(Job::ToolResult { at, result });
        }
        // An agent repeats its whole history: what was forbidden once stays so.
        let forbidden = request.tool_results.iter().find_map(|result| self.forbidden.get(&result.id));
        forbidden.map_or(Ok(()), |refused| Err(refused.clone()))
    }

    fn judge_vendor_tools(&self, request: &Request) -> Result<(), Refused> {
        request.vendor_tools.iter().try_for_each(|name| self.warden.rule_vendor_tool(name))
    }

    fn judge(&self, wanted: &Wanted<'_>) -> Result<(), Refused> {
        judge(&self.warden, wanted)
    }
}

fn judge(warden: &Warden, wanted: &Wanted<'_>) -> Result<(), Refused> {
    match warden.rule(wanted) {
        Ruling::Allowed => Ok(()),
        Ruling::Denied(refused) => Err(refused),
        Ruling::NeedsApproval(needed) => {
            let reason = format!("{} asks for an approval, and nobody can give it here", needed.rule);
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

fn allowance(call: &ToolCall, at: Duration) -> Job {
    Job::Decision(Decision {
        at,
        action: Action::Tool,
        name: call.name.clone(),
        denial: None,
        approval_id: None,
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

/// Interfaces that ask for no tools, whatever they answer, beside those that are read.
const WITHOUT_TOOLS: [&str; 6] = [
    "embeddings",
    "moderations",
    "messages/count_tokens",
    "responses/input_tokens",
    "images/generations",
    "audio/speech",
];

/// An interface that is not known here may ask for tools in a way that nobody sees.
fn unknown_form(asked: &Asked) -> Result<(), Refused> {
    let path = asked.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let is_known = WITHOUT_TOOLS.iter().any(|end| path.ends_with(&format!("/{end}")));
    if asked.endpoint().is_some() || is_known {
        return Ok(());
    }
    Err(Refused::unknown_form(&asked.method, path))
}
