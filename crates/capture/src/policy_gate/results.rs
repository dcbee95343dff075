//! Results of tools that a request brings: each belongs to a call that was allowed, or is decided on now.

use std::time::Duration;

use reenact_record::Warden;
use reenact_record::observation::Observation;
use reenact_record::warden::{Action, Refused, Ruling, Wanted};
use reenact_wire::conversation::InferredCall;
use reenact_wire::exchange::Request;
use reenact_wire::{ToolCall, ToolResult};

use super::{Outcome, State, allowance, denial, tool};

/// A result that may not be handed over, and why.
pub(super) struct Forbidden {
    call: Option<ToolCall>,
    result: ToolResult,
    refused: Refused,
}

impl State {
    /// Judges the results that a request brings. Those of allowed calls return; others were called out of sight, and are decided
    /// on now.
    pub(super) fn judge_results(
        &mut self,
        request: &Request,
        at: Duration,
        outcome: &mut Outcome,
    ) -> Result<(), Refused> {
        let mut brought = self.forbidden_for_now(request);
        brought.extend(self.conversation.requested(request));
        for InferredCall { call, result } in brought {
            if !self.allowed.remove(&result.id) {
                let unknown = call.clone().unwrap_or_else(unseen);
                let judged = ToolCall { id: result.id.clone(), ..unknown };
                let wanted = tool(&judged.name, at);
                if let Err(refused) = judge(&self.warden, &wanted) {
                    outcome.push((denial(Action::Tool, &judged.name, at, &refused), None));
                    self.forbidden.insert(result.id.clone(), Forbidden { call, result, refused });
                    continue;
                }
                self.warden.began(&wanted);
                outcome.push((allowance(&judged, at, None), None));
            }
            let ToolResult { id, output, is_error } = result;
            let (tool_call_id, output) = (id.into(), output.into());
            outcome.push((Observation::ToolResult { at, tool_call_id, output, is_error }, None));
        }
        // An agent repeats its whole history: a result that was forbidden once stays so.
        let forbidden = request.tool_results.iter().find_map(|result| self.forbidden.get(&result.id));
        forbidden.map_or(Ok(()), |forbidden| Err(forbidden.refused.clone()))
    }

    /// Returns the forbidden results of a request that waiting may have helped, and takes them off the list.
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

    /// Judges the tools that the vendor itself is to run.
    pub(super) fn judge_vendor_tools(&self, request: &Request) -> Result<(), Refused> {
        request.vendor_tools.iter().try_for_each(|name| self.warden.rule_vendor_tool(name))
    }
}

/// Judges a tool that was called without being held back.
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

/// Returns the call of a result whose call was never seen.
fn unseen() -> ToolCall {
    ToolCall { name: "unknown".to_owned(), input: "null".to_owned(), ..ToolCall::default() }
}
