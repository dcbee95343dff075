//! Approvals: asked for through the approval queue, awaited, and recorded with their outcome.

use std::time::Duration;

use reenact_formats::rer::approval::ApprovalToken;
use reenact_record::approval::{AnswerPoll, Question};
use reenact_record::observation::{ApprovalUpdate, Observation};
use reenact_record::policy_engine::{Action, NeededApproval, PolicyRefusal};

use super::{PolicyGate, denied_action};

/// Reason for a denial whose token expired between its answer and the record of it.
const LATE_GRANT: &str = "the approval had expired before it could be recorded";

/// Pause between two looks at the approval queue.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl PolicyGate {
    /// Asks for an approval, and waits for it up to the timeout of the approval queue. Returns the approval id.
    /// If the future is dropped the question is withdrawn.
    ///
    /// # Errors
    /// Returns the reason in words if there is no approval.
    pub(super) async fn await_approval(
        &self,
        action: Action,
        name: &str,
        input: &str,
        needed: &NeededApproval,
    ) -> Result<String, String> {
        let signer_types = needed.signer_types.as_deref();
        let question = Question::new(action, name, input, &needed.rule, &needed.pinned);
        let question = Question { signer_types, ..question };
        let writer = self.recorder.writer();
        let pending_question =
            self.approvals.ask(&question, writer.now()).map_err(|error| error.to_string())?;
        let approval_id = pending_question.approval_id().to_string();
        let id = approval_id.clone();
        let mut pending = PendingApproval { gate: self, action, name, approval_id: id, is_over: false };
        // Bound after `pending`, so dropped before it: the question is withdrawn by the time the record says
        // so.
        let mut waiting = pending_question;
        self.record_approval(
            &approval_id,
            ApprovalUpdate::Requested {
                action,
                name: name.to_owned().into(),
                input_hash: question.input_hash.to_string().into(),
                rule: needed.rule.clone().into(),
                signer_types: signer_types.unwrap_or_default().to_vec(),
            },
        );
        loop {
            let look = waiting.poll(writer.now());
            pending.is_over = !matches!(look, AnswerPoll::Pending | AnswerPoll::Refused { .. });
            match look {
                AnswerPoll::Pending => tokio::time::sleep(POLL_INTERVAL).await,
                AnswerPoll::Granted { token, .. } => {
                    return match self.record_grant(&approval_id, &token) {
                        true => Ok(approval_id),
                        false => Err(LATE_GRANT.to_owned()),
                    };
                }
                AnswerPoll::Denied { reason, .. } => {
                    let reason = reason.unwrap_or_else(|| "the approver said no".to_owned());
                    self.record_approval(
                        &approval_id,
                        ApprovalUpdate::Denied { reason: reason.clone().into() },
                    );
                    return Err(writer.mask_text(&reason));
                }
                AnswerPoll::Refused { why } => {
                    let (code, why) = (format!("approval_{}", why.code()).into(), why.to_string().into());
                    self.record_approval(&approval_id, ApprovalUpdate::Refused { code, why });
                }
                AnswerPoll::TimedOut | AnswerPoll::Closed => {
                    let reason = "nobody approved it in time";
                    self.record_approval(&approval_id, ApprovalUpdate::Denied { reason: reason.into() });
                    return Err(reason.to_owned());
                }
            }
        }
    }

    /// Records a grant. A token that has expired by the time that the record gives the grant is recorded as a denial: whoever
    /// audits the record would refuse it. Returns true if the approval was granted.
    fn record_grant(&self, approval_id: &str, token: &[u8]) -> bool {
        let end = ApprovalToken::read(token).map_or(i128::MIN, |token| token.expires_at);
        let approval_id = approval_id.to_owned().into();
        let recorded = self.decide(|_, at| {
            let is_granted = i128::try_from(at.as_nanos()).is_ok_and(|at| at < end);
            let update = match is_granted {
                true => ApprovalUpdate::Granted { token: String::from_utf8_lossy(token).into_owned().into() },
                false => ApprovalUpdate::Denied { reason: LATE_GRANT.into() },
            };
            (is_granted, vec![(Observation::Approval { at, approval_id, update }, None)])
        });
        // What cannot be recorded is refused by the decision on the action.
        recorded.is_ok_and(|(is_granted, _)| is_granted)
    }

    /// Returns the approval id, or records a denial and returns its refusal.
    pub(super) fn denied_unless_approved(
        &self,
        action: Action,
        name: &str,
        approved: Result<String, String>,
    ) -> Result<String, PolicyRefusal> {
        approved.map_err(|reason| {
            let refused = PolicyRefusal::unapproved(reason);
            // A denial that cannot be recorded is a denial all the same.
            let _ = self.decide(|_, at| ((), vec![(denied_action(action, name, at, &refused), None)]));
            refused
        })
    }

    /// Records a step of an approval: its request, its outcome, or an answer that was not valid.
    fn record_approval(&self, approval_id: &str, update: ApprovalUpdate<'static>) {
        let approval_id = approval_id.to_owned().into();
        // If this cannot be recorded, the decision on the action refuses it.
        let _ = self.decide(|_, at| ((), vec![(Observation::Approval { at, approval_id, update }, None)]));
    }
}

/// Approval that is awaited. If it is dropped before the answer came, the agent has disconnected, and the
/// record says so.
struct PendingApproval<'g> {
    gate: &'g PolicyGate,
    action: Action,
    name: &'g str,
    approval_id: String,
    is_over: bool,
}

impl Drop for PendingApproval<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let reason = "the agent did not wait for the approval".to_owned();
            self.gate
                .record_approval(&self.approval_id, ApprovalUpdate::Denied { reason: reason.clone().into() });
            let _ = self.gate.denied_unless_approved(self.action, self.name, Err(reason));
        }
    }
}
