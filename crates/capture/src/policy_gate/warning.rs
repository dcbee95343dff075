//! Actions of a run that only warns: they happen whatever the decision is, and the record has both.
//!
//! An answer is handed on as it comes. Its tool calls are decided on when it is over, before the agent's next request.
//! Start reading at [`PolicyGate::note_answer`].

use std::time::Duration;

use reenact_record::observation::{ActionDecision, Observation};
use reenact_record::policy_engine::{Action, PolicyRefusal};
use reenact_wire::call_ids::CallIds;
use reenact_wire::sse::SseReader;
use reenact_wire::tool_calls::{self, ToolCallScanner};
use reenact_wire::{Endpoint, ModelAnswer, ToolCall};

use super::{DecisionJobs, GateState, PolicyGate, allowed_call, denied_action, tool_request};

/// Name under which a decision on an unreadable answer is recorded: any tool may be in it.
const UNKNOWN_TOOL: &str = "unknown";

/// Tool calls of an answer that is over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AnswerCalls {
    /// Calls in the order of the answer.
    calls: Vec<ToolCall>,
    /// True if the answer may hold further calls that cannot be read.
    is_unreadable: bool,
}

impl AnswerCalls {
    /// Scans an answer by the same rules as the filter of an enforced run. `body` is decoded, `None` if it cannot be.
    /// `is_whole` is false if the answer broke off: a call that never became complete is not one then.
    pub(crate) fn scan(
        endpoint: Endpoint,
        is_success: bool,
        is_stream: bool,
        is_whole: bool,
        body: Option<&[u8]>,
        call_ids: Option<CallIds>,
    ) -> Self {
        let Some(body) = body else { return Self { is_unreadable: true, ..Self::default() } };
        if is_stream {
            return Self::scan_stream(endpoint, is_whole, body, call_ids);
        }
        // The status of an error does not keep a client from acting on a call.
        let scan = if is_success { tool_calls::scan_answer } else { tool_calls::scan_error_answer };
        match scan(endpoint, body) {
            Ok(mut scanned) => {
                call_ids.into_iter().for_each(|mut ids| ids.fill(&mut scanned.calls));
                Self { calls: scanned.calls, is_unreadable: false }
            }
            // A document that broke off was not handed on as one that a client could act on.
            Err(_) => Self { is_unreadable: is_whole, ..Self::default() },
        }
    }

    /// Returns the ids of the calls.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(|call| call.id.as_str())
    }

    fn scan_stream(endpoint: Endpoint, is_whole: bool, body: &[u8], call_ids: Option<CallIds>) -> Self {
        let mut reader = SseReader::new();
        let mut events = reader.push(body);
        if is_whole {
            events.append(&mut reader.finish());
        }
        let mut scanner = ToolCallScanner::new(endpoint).with_call_ids(call_ids);
        let mut calls = Vec::new();
        for event in events {
            match scanner.scan_event(&event) {
                Ok(found) => calls.extend(found),
                Err(_) => return Self { calls, is_unreadable: true },
            }
        }
        if is_whole {
            calls.append(&mut scanner.finish());
        }
        Self { calls, is_unreadable: false }
    }
}

impl PolicyGate {
    /// Decides on the tool calls of an answer that was handed on, and records decisions and calls.
    pub(crate) fn note_answer(&self, answer: &AnswerCalls) {
        if *answer != AnswerCalls::default() {
            // Only the end of the recording refuses a note, and then there is no record to write it to.
            let _ = self.decide(|state, at| {
                let mut outcome = Vec::new();
                state.note_answer(answer, at, &mut outcome);
                ((), outcome)
            });
        }
    }
}

impl GateState {
    /// Decides on the tool calls of an answer that was handed on, and counts them.
    pub(super) fn note_answer(&mut self, answer: &AnswerCalls, at: Duration, outcome: &mut DecisionJobs) {
        for call in &answer.calls {
            let refused = self.engine.evaluate(&tool_request(&call.name, at)).refusal();
            self.note_call(call, refused, at, outcome);
        }
        self.allowed_calls.extend(answer.calls.iter().map(|call| call.id.clone()));
        self.conversation
            .add_answer(&ModelAnswer { tool_calls: answer.calls.clone(), ..ModelAnswer::default() });
        if answer.is_unreadable {
            let refused = PolicyRefusal::unreadable();
            let denied = denied_action(Action::Tool, UNKNOWN_TOOL, at, &refused);
            outcome.push((unenforced(denied, None), None));
        }
    }

    /// Records the decision on a tool call that happens, and counts it.
    pub(super) fn note_call(
        &mut self,
        call: &ToolCall,
        refused: Option<PolicyRefusal>,
        at: Duration,
        outcome: &mut DecisionJobs,
    ) {
        self.engine.begin_action(&tool_request(&call.name, at));
        outcome.push((unenforced(allowed_call(call, at, None), refused), None));
    }
}

/// Returns a decision that has no effect, with the refusal if there is one.
pub(super) fn unenforced(
    decision: Observation<'static>,
    refused: Option<PolicyRefusal>,
) -> Observation<'static> {
    let Observation::Decision(decision) = decision else { return decision };
    let denial = refused.map(|refused| (refused.rule.into(), refused.reason.into()));
    let denial = denial.or(decision.denial);
    // A decision that allows the action is enforced as much as any.
    Observation::Decision(Box::new(ActionDecision { is_enforced: denial.is_none(), denial, ..*decision }))
}
