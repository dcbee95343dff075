//! Approvals: asked for at the desk, waited for, and recorded, whatever comes of them.

use std::time::Duration;

use reenact_record::approval::{Look, Question};
use reenact_record::observation::{ApprovalNews, Observation};
use reenact_record::warden::{Action, Needed, Refused};

use super::{PolicyGate, denial};

/// Time between two looks at the desk.
const LOOK: Duration = Duration::from_millis(100);

impl PolicyGate {
    /// Asks for an approval, and waits for it as long as the desk does. Returns its id, or why there is none. If the future
    /// is dropped the question is withdrawn.
    pub(super) async fn approve(
        &self,
        action: Action,
        name: &str,
        input: &str,
        needed: &Needed,
    ) -> Result<String, String> {
        let signer_types = needed.signer_types.as_deref();
        let question = Question { signer_types, ..Question::new(action, name, input, &needed.rule) };
        let pen = self.recorder.pen();
        let asked = self.desk.ask(&question, pen.now()).map_err(|error| error.to_string())?;
        let approval_id = asked.approval_id().to_string();
        let id = approval_id.clone();
        let mut pending = PendingApproval { gate: self, action, name, approval_id: id, is_over: false };
        // Bound after `pending`, so dropped before it: the question is withdrawn by the time the record says so.
        let mut waiting = asked;
        self.tell(
            &approval_id,
            ApprovalNews::Requested {
                action,
                name: name.to_owned().into(),
                input_hash: question.input_hash.to_string().into(),
                rule: needed.rule.clone().into(),
                signer_types: signer_types.unwrap_or_default().to_vec(),
            },
        );
        loop {
            let look = waiting.look(pen.now());
            pending.is_over = !matches!(look, Look::Pending | Look::Refused { .. });
            match look {
                Look::Pending => tokio::time::sleep(LOOK).await,
                Look::Granted { token, .. } => {
                    let token = String::from_utf8_lossy(&token).into_owned().into();
                    self.tell(&approval_id, ApprovalNews::Granted { token });
                    return Ok(approval_id);
                }
                Look::Denied { reason, .. } => {
                    let reason = reason.unwrap_or_else(|| "the approver said no".to_owned());
                    self.tell(&approval_id, ApprovalNews::Denied { reason: reason.clone().into() });
                    return Err(pen.masked(&reason));
                }
                Look::Refused { why } => {
                    let (code, why) = (format!("approval_{}", why.code()).into(), why.to_string().into());
                    self.tell(&approval_id, ApprovalNews::Refused { code, why });
                }
                Look::TimedOut | Look::Over => {
                    let reason = "nobody approved it in time";
                    self.tell(&approval_id, ApprovalNews::Denied { reason: reason.into() });
                    return Err(reason.to_owned());
                }
            }
        }
    }

    /// Records a denial where an approval was not given.
    pub(super) fn approved(
        &self,
        action: Action,
        name: &str,
        approved: Result<String, String>,
    ) -> Result<String, Refused> {
        approved.map_err(|reason| {
            let refused = Refused::unapproved(reason);
            // A denial that cannot be recorded is a denial all the same.
            let _ = self.decide(|_, at| ((), vec![(denial(action, name, at, &refused), None)]));
            refused
        })
    }

    fn tell(&self, approval_id: &str, news: ApprovalNews<'static>) {
        let approval_id = approval_id.to_owned().into();
        // News that cannot be recorded stop the action that they are about.
        let _ = self.decide(|_, at| ((), vec![(Observation::Approval { at, approval_id, news }, None)]));
    }
}

/// An approval that is waited for. If it is dropped before the answer came, the agent has left, and the record says so.
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
            self.gate.tell(&self.approval_id, ApprovalNews::Denied { reason: reason.clone().into() });
            let _ = self.gate.approved(self.action, self.name, Err(reason));
        }
    }
}
