//! Results of tools that a request brings: each belongs to a call that was allowed, or is decided on now.

use std::time::Duration;

use reenact_record::PolicyMode;
use reenact_record::observation::Observation;
use reenact_record::policy_engine::{Action, PolicyRefusal};
use reenact_wire::conversation::InferredCall;
use reenact_wire::exchange::ParsedRequest;
use reenact_wire::{ToolCall, ToolResult};

use super::{DecisionJobs, GateState, allowed_call, denied_action, tool_request};

/// Result that may not be handed over, with the refusal.
pub(super) struct ForbiddenResult {
    call: Option<ToolCall>,
    result: ToolResult,
    refused: PolicyRefusal,
}

impl GateState {
    /// Judges the results that a request brings. Results of allowed calls are recorded. Other calls were made
    /// without passing the gate, and are decided on now.
    ///
    /// # Errors
    /// Returns the refusal of the first forbidden result in the request.
    pub(super) fn check_results(
        &mut self,
        request: &ParsedRequest,
        at: Duration,
        outcome: &mut DecisionJobs,
    ) -> Result<(), PolicyRefusal> {
        let mut brought = self.take_retriable(request);
        brought.extend(self.conversation.add_request(request));
        for InferredCall { call, result } in brought {
            if result.id.is_empty() || !self.allowed_calls.remove(&result.id) {
                let is_unseen = call.is_none();
                let unknown = call.clone().unwrap_or_else(unseen_call);
                let inferred = ToolCall { id: result.id.clone(), ..unknown };
                let wanted = tool_request(&inferred.name, at);
                // No list allows a tool that nobody knows.
                let unseen = is_unseen.then(PolicyRefusal::unseen_call);
                let refused = unseen.or_else(|| self.engine.evaluate(&wanted).refusal());
                if self.engine.mode() == PolicyMode::Warn {
                    self.note_call(&inferred, refused, at, outcome);
                } else if let Some(refused) = refused {
                    outcome.push((denied_action(Action::Tool, &inferred.name, at, &refused), None));
                    self.forbidden_results
                        .insert(result.id.clone(), ForbiddenResult { call, result, refused });
                    continue;
                } else {
                    self.engine.begin_action(&wanted);
                    outcome.push((allowed_call(&inferred, at, None), None));
                }
            }
            let ToolResult { id, output, is_error } = result;
            let (tool_call_id, output) = (id.into(), output.into());
            outcome.push((Observation::ToolResult { at, tool_call_id, output, is_error }, None));
        }
        // An agent repeats its whole history, so a result that was forbidden once stays forbidden.
        let forbidden = request.tool_results.iter().find_map(|result| self.forbidden_results.get(&result.id));
        forbidden.map_or(Ok(()), |forbidden| Err(forbidden.refused.clone()))
    }

    /// Takes those forbidden results of a request off the list whose refusal named a time to retry, and returns
    /// them to be judged again.
    fn take_retriable(&mut self, request: &ParsedRequest) -> Vec<InferredCall> {
        let mut again = Vec::new();
        for result in &request.tool_results {
            let may_pass = |forbidden: &ForbiddenResult| forbidden.refused.retry_after.is_some();
            if self.forbidden_results.get(&result.id).is_some_and(may_pass)
                && let Some(ForbiddenResult { call, result, .. }) = self.forbidden_results.remove(&result.id)
            {
                again.push(InferredCall { call, result });
            }
        }
        again
    }
}

/// Returns a placeholder for the call of a result whose call was never seen.
fn unseen_call() -> ToolCall {
    ToolCall { name: "unknown".to_owned(), input: "null".to_owned(), ..ToolCall::default() }
}
