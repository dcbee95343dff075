//! Events of notes, which belong to no exchange: gaps, reports, decisions, results of tools, approvals.

use reenact_record::observation::{ActionDecision, ApprovalUpdate, Observation};
use reenact_record::{
    ApprovalRequest, Evaluation, EventSource, RawToolCall, RawToolResult, RecordedDenial, ToolChannel,
    agent_report,
};

use super::ObservationWriter;

impl ObservationWriter<'_> {
    /// Writes the events of a note.
    pub(super) fn write_note(&mut self, note: Observation<'_>) {
        match note {
            Observation::Gap { what, why } => self.write_gap(&what, &why),
            Observation::Reported { text } => self.write_report(&text),
            Observation::Decision(decision) => self.write_decision(&decision),
            Observation::ToolResult { tool_call_id, output, is_error, .. } => {
                self.write_tool_result(&tool_call_id, &output, is_error);
            }
            Observation::Approval { approval_id, update: news, .. } => {
                self.write_approval(&approval_id, &news)
            }
            _ => {}
        }
    }

    /// Writes a report of the agent. Texts that are not reports were refused when they came.
    fn write_report(&mut self, text: &[u8]) {
        if let Ok(written) = agent_report::parse(text, |report| self.writer.record_report(report)) {
            self.value_or_report(written);
        }
    }

    /// Writes a decision, and the call of a tool that was allowed.
    fn write_decision(&mut self, decision: &ActionDecision<'_>) {
        let is_enforced = decision.is_enforced;
        let denial =
            decision.denial.as_ref().map(|(rule, reason)| RecordedDenial { rule, reason, is_enforced });
        let evaluated = self.writer.record_evaluation(&Evaluation {
            action: decision.action,
            name: &decision.name,
            denial,
            approval_id: decision.approval_id.as_deref(),
        });
        let Some(step) = self.value_or_report(evaluated).filter(|_| denial.is_none() || !is_enforced) else {
            return;
        };
        let Some((id, input)) = &decision.call else { return };
        let called = self.writer.record_tool_call(
            &RawToolCall {
                tool_call_id: id,
                tool: &decision.name,
                input,
                via: ToolChannel::Conversation,
                source: EventSource::Inferred,
            },
            Some(step),
        );
        self.value_or_report(called);
    }

    /// Writes the result of a tool call that was decided on.
    fn write_tool_result(&mut self, tool_call_id: &str, output: &str, is_error: bool) {
        let Some(step) = self.writer.open_tool_call(tool_call_id) else { return };
        let returned =
            self.writer.record_tool_result(&step, &RawToolResult { output, is_error, latency: None });
        self.value_or_report(returned);
    }

    /// Writes a step of an approval.
    fn write_approval(&mut self, id: &str, news: &ApprovalUpdate<'_>) {
        let written = match news {
            ApprovalUpdate::Requested { action, name, input_hash, rule, signer_types } => {
                let signer_types: Vec<&'static str> = signer_types.iter().map(|it| it.name()).collect();
                self.writer.record_approval_request(&ApprovalRequest {
                    approval_id: id,
                    action: *action,
                    name,
                    input_hash,
                    rule,
                    signer_types: &signer_types,
                })
            }
            ApprovalUpdate::Granted { token } => self.writer.record_approval_grant(id, token),
            ApprovalUpdate::Denied { reason } => self.writer.record_approval_denial(id, reason),
            ApprovalUpdate::Refused { code, why } => {
                self.writer.record_error("approval", code, &format!("{id}: {why}"))
            }
        };
        self.value_or_report(written);
    }
}
