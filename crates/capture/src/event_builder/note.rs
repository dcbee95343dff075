//! Events of notes, which stand beside all exchanges: gaps, reports, decisions, results of tools, approvals.

use reenact_record::observation::{ApprovalNews, Observation, PolicyDecision};
use reenact_record::{
    ApprovalRequest, Denial, Evaluation, RawToolCall, RawToolResult, Source, Via, reported,
};

use super::Writing;

impl Writing<'_> {
    /// Writes a note.
    pub(super) fn note(&mut self, note: Observation<'_>) {
        match note {
            Observation::Gap { what, why } => self.gap(&what, &why),
            Observation::Reported { text } => self.reported(&text),
            Observation::Decision(decision) => self.decision(&decision),
            Observation::ToolResult { tool_call_id, output, is_error, .. } => {
                self.tool_result(&tool_call_id, &output, is_error);
            }
            Observation::Approval { approval_id, news, .. } => self.approval(&approval_id, &news),
            _ => {}
        }
    }

    /// Writes a report of the agent. Texts that are none were refused when they came.
    fn reported(&mut self, text: &[u8]) {
        if let Ok(written) = reported::read(text, |report| self.pen.report(report)) {
            self.written(written);
        }
    }

    /// Writes a decision, and the call of a tool that was allowed.
    fn decision(&mut self, decision: &PolicyDecision<'_>) {
        let denial = decision.denial.as_ref().map(|(rule, reason)| Denial { rule, reason });
        let evaluated = self.pen.evaluated(&Evaluation {
            action: decision.action,
            name: &decision.name,
            denial,
            approval_id: decision.approval_id.as_deref(),
        });
        let Some(step) = self.written(evaluated).filter(|_| denial.is_none()) else { return };
        let Some((id, input)) = &decision.call else { return };
        let called = self.pen.tool_called_as(
            Some(step),
            &RawToolCall {
                tool_call_id: id,
                tool: &decision.name,
                input,
                via: Via::Conversation,
                source: Source::Inferred,
            },
        );
        self.written(called);
    }

    /// Writes the result of a tool's call that was decided on.
    fn tool_result(&mut self, tool_call_id: &str, output: &str, is_error: bool) {
        let Some(step) = self.pen.open_tool(tool_call_id) else { return };
        let returned = self.pen.tool_returned(&step, &RawToolResult { output, is_error, latency: None });
        self.written(returned);
    }

    fn approval(&mut self, id: &str, news: &ApprovalNews<'_>) {
        let written = match news {
            ApprovalNews::Requested { action, name, input_hash, rule, signer_types } => {
                let signer_types: Vec<&'static str> = signer_types.iter().map(|it| it.name()).collect();
                self.pen.approval_requested(&ApprovalRequest {
                    approval_id: id,
                    action: *action,
                    name,
                    input_hash,
                    rule,
                    signer_types: &signer_types,
                })
            }
            ApprovalNews::Granted { token } => self.pen.approval_granted(id, token),
            ApprovalNews::Denied { reason } => self.pen.approval_denied(id, reason),
            ApprovalNews::Refused { code, why } => self.pen.error("approval", code, &format!("{id}: {why}")),
        };
        self.written(written);
    }
}
