//! The token of a granted approval, judged as far as the record and the keys at hand tell.
//!
//! What needs no key is judged when the event is read: the token's form, the question that it answers, its
//! times, and its key, which the envelope must pin. The id of the run and the signature follow when the
//! whole record is read. Start reading at [`GrantedApproval`].

use std::sync::Arc;

use reenact_formats::key::KeyId;
use reenact_formats::rer::approval::{ApprovalDecision, ApprovalToken, TokenRefusal, VERSION, input_hash};
use reenact_formats::rer::envelope::approvers::PinnedApprovers;
use reenact_formats::rer::envelope::permission::{Envelope, SignerType};
use reenact_formats::rer::envelope::policy::Action;
use reenact_formats::rer::{RerHead, time};
use reenact_formats::trust::KeyRole;
use reenact_json::{Digest, Jcs, Value, ValueKind, canonical};

use super::audited_event::AuditedEvent;
use super::rule_cache::{ApprovalRuleCache, TOO_MANY_RULES};
use crate::{Keys, Trust};

/// Mark that stands where a secret stood (`[masked:RULE:N]`).
const MASK_MARK: &[u8] = b"[masked:";

/// Facts about the whole record, and the keys at hand.
pub(super) struct ApprovalContext<'k> {
    /// Id of the run; `None` if the record names none.
    run_id: Option<String>,
    /// Key that sealed the run.
    runtime: Option<KeyId>,
    /// Keys by which tokens are verified.
    keys: &'k Keys,
}

impl<'k> ApprovalContext<'k> {
    /// Takes the facts from the head of an artifact.
    pub(super) fn of(head: &RerHead<'_>, keys: &'k Keys) -> Self {
        let run_id = head.run_id.and_then(|id| id.string()).map(|id| id.into_owned());
        Self { run_id, runtime: head.key_id().and_then(|id| KeyId::parse(&id)), keys }
    }
}

/// Finding about a token: the reason why it does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenFinding {
    /// The token is no approval of the action, whoever judges it.
    Wrong(String),
    /// Nothing shows that the token is wrong, but something that would show it right is not known.
    Unknown(String),
}

/// Question about an action, as the record has it.
pub(super) struct RequestedApproval {
    /// Name of the model or tool.
    pub(super) name: Vec<u8>,
    /// Kind of action; `None` if the event does not tell.
    action: Option<Action>,
    /// Hash of the action's input; `None` if the event does not tell.
    input_hash: Option<Digest>,
}

impl RequestedApproval {
    /// Reads a question; `None` if it does not name its model or tool.
    pub(super) fn of(event: &AuditedEvent<'_>) -> Option<Self> {
        let name = event.name?.string_bytes()?.into_owned();
        let member = |name: &str| event.payload.and_then(|payload| payload.member(name));
        let action = member("action").and_then(|word| {
            [Action::Model, Action::Tool].into_iter().find(|known| word.is_string(known.name()))
        });
        let input_hash = member("input_hash").and_then(|hash| Digest::from_hex(&hash.string()?));
        Some(Self { name, action, input_hash })
    }
}

/// Approval that was granted, with its token.
pub(super) struct GrantedApproval {
    /// Index of the event.
    pub(super) event: usize,
    /// Type of the signer, if the token states it.
    pub(super) signer_type: Option<SignerType>,
    /// Model or tool of the first action that used the approval, safe to print.
    pub(super) used_for: Option<String>,
    /// Token, if it is one of ours.
    token: Option<Box<ApprovalToken>>,
    /// Finding so far. A wrong token stays wrong.
    finding: Option<TokenFinding>,
    /// True once the signature was judged.
    is_final: bool,
}

impl GrantedApproval {
    /// Reads the token of a grant, and judges its form and its times.
    pub(super) fn of(event: &AuditedEvent<'_>) -> Self {
        let mut grant = Self {
            event: event.index,
            signer_type: event.signer_type().and_then(SignerType::of),
            used_for: None,
            token: None,
            finding: None,
            is_final: false,
        };
        let value = event.token();
        let is_ours =
            value.and_then(|token| token.member("token_version")).is_some_and(|it| it.is_string(VERSION));
        let text = value.and_then(|token| canonical::to_vec(token, Jcs).ok()).unwrap_or_default();
        let token = match ApprovalToken::read(&text) {
            Ok(token) => token,
            Err(fault) if is_ours => {
                grant.find(TokenFinding::Wrong(TokenRefusal::Malformed(fault).to_string()));
                return grant;
            }
            Err(_) => {
                grant.find(TokenFinding::Unknown("its token has a form that is not known".into()));
                return grant;
            }
        };
        match event.timestamp.and_then(|timestamp| time::instant(&timestamp.string()?)) {
            None => grant.find(TokenFinding::Unknown("the timestamp of its grant names no moment".into())),
            Some(at) => grant.require(token.check_time(at)),
        }
        if token.decision != ApprovalDecision::Granted {
            grant.find(TokenFinding::Wrong("the token denies it".into()));
        }
        grant.signer_type = Some(token.signer_type);
        grant.token = Some(Box::new(token));
        grant
    }

    /// Adds a finding. The first one stays, unless it was only a doubt.
    fn find(&mut self, found: TokenFinding) {
        if matches!(
            (&self.finding, &found),
            (None, _) | (Some(TokenFinding::Unknown(_)), TokenFinding::Wrong(_))
        ) {
            self.finding = Some(found);
        }
    }

    /// Returns true if the token is wrong as far as it was judged.
    pub(super) fn is_wrong(&self) -> bool {
        matches!(self.finding, Some(TokenFinding::Wrong(_)))
    }

    fn require(&mut self, checked: Result<(), TokenRefusal>) {
        if let Err(refusal) = checked {
            self.find(TokenFinding::Wrong(refusal.to_string()));
        }
    }

    /// Judges the question that the token answers: the one of this id. `may_be_withheld` is true if a question's payload is
    /// withheld, which may be the one.
    pub(super) fn judge_request(
        &mut self,
        approval_id: &[u8],
        requested: Option<&RequestedApproval>,
        may_be_withheld: bool,
    ) {
        let Some(token) = &self.token else { return };
        if token.approval_id.as_bytes() != approval_id {
            return self.find(TokenFinding::Wrong(TokenRefusal::OtherApproval.to_string()));
        }
        let Some(requested) = requested else {
            return match may_be_withheld {
                // The action that uses the approval is compared with the token as well.
                true => {}
                false => self.find(TokenFinding::Wrong("nobody asked for it in this run".into())),
            };
        };
        let refusal = match requested.input_hash {
            _ if requested.action.is_some_and(|action| action != token.action) => {
                Some(TokenRefusal::OtherAction)
            }
            _ if requested.name != token.name.as_bytes() => Some(TokenRefusal::OtherName),
            Some(hash) => token.check_input(&hash).err(),
            None => return self.find(TokenFinding::Unknown("its question does not tell the input".into())),
        };
        self.require(refusal.map_or(Ok(()), Err));
    }

    /// Judges the token's key, which the envelope must pin for the action.
    pub(super) fn judge_pin(&mut self, envelope: &Arc<Envelope>, rules: &mut ApprovalRuleCache) {
        let finding = match &envelope.approvers {
            PinnedApprovers::Absent => Some(TokenFinding::Unknown(
                "the envelope pins no approvers (metadata.approvers), so nobody can tell whose approval counts".into(),
            )),
            PinnedApprovers::Unreadable(fault) => Some(TokenFinding::Unknown(fault.to_string())),
            PinnedApprovers::Listed(_) => self.token.as_ref().map_or_else(
                || Some(TokenFinding::Wrong("its token is none of an approver whom the envelope pins".into())),
                |token| match rules.is_pinned(envelope, token.action, &token.name, &token.key_id) {
                    None => Some(TokenFinding::Unknown(TOO_MANY_RULES.into())),
                    Some(true) => None,
                    Some(false) => {
                        Some(TokenFinding::Wrong(TokenRefusal::NotPinned { key_id: token.key_id }.to_string()))
                    }
                },
            ),
        };
        if let Some(finding) = finding {
            self.find(finding);
        }
    }

    /// Judges the action that uses the approval: its kind, name and input must be those of the token.
    pub(super) fn judge_call(
        &self,
        event: &AuditedEvent<'_>,
        action: Action,
        name: &str,
    ) -> Option<TokenFinding> {
        let token = self.token.as_ref()?;
        if let Err(refusal) = token.check_binding(&token.approval_id, action, name) {
            return Some(TokenFinding::Wrong(refusal.to_string()));
        }
        let Some(input) = own_input(event, action) else {
            return Some(TokenFinding::Unknown("the record does not hold the input as text".into()));
        };
        if input.hashes.iter().any(|hash| token.check_input(hash).is_ok()) {
            return None;
        }
        // A secret that became known while the approver was asked is masked in the record, and was not in the question.
        Some(match input.has_masks {
            true => TokenFinding::Unknown("the input has masks that the approver may not have seen".into()),
            false => TokenFinding::Wrong(TokenRefusal::OtherInput.to_string()),
        })
    }

    /// Returns the finding about the token after its signature was judged too; `None` if it holds.
    pub(super) fn finding(&mut self, context: &ApprovalContext<'_>) -> Option<TokenFinding> {
        if !std::mem::replace(&mut self.is_final, true)
            && !self.is_wrong()
            && let Some(found) = self.token.as_ref().and_then(|token| signature_finding(token, context))
        {
            self.find(found);
        }
        self.finding.clone()
    }
}

/// Returns the finding about the run and the signature of a token; `None` if both are right.
fn signature_finding(token: &ApprovalToken, context: &ApprovalContext<'_>) -> Option<TokenFinding> {
    let by = token.key_id;
    let wrong = |refusal: TokenRefusal| Some(TokenFinding::Wrong(refusal.to_string()));
    let unknown = |reason: String| Some(TokenFinding::Unknown(reason));
    match &context.run_id {
        None => return unknown("the record does not name its run".into()),
        Some(run_id) if *run_id != token.run_id => return wrong(TokenRefusal::OtherRun),
        Some(_) => {}
    }
    if context.runtime == Some(by) {
        return Some(TokenFinding::Wrong(format!("it is signed with the key of the run itself, {by}")));
    }
    let Some(known) = context.keys.find(&by) else {
        return unknown(format!(
            "it is signed with the key {by}, which is not at hand: ask for that approver's key"
        ));
    };
    if !token.is_signed_by(&known.key) {
        return wrong(TokenRefusal::Forged);
    }
    match known.trust_as(KeyRole::Approver) {
        Trust::Supplied | Trust::Trusted | Trust::Superseded => None,
        Trust::Compromised => {
            unknown(format!("it is signed with the key {by}, which is marked as compromised"))
        }
        Trust::Unknown if known.trust != Trust::Unknown => unknown(format!(
            "it is signed with the key {by}, which is trusted as {} and not as {}",
            known.roles,
            KeyRole::Approver.name()
        )),
        Trust::SelfAsserted | Trust::Unknown => {
            unknown(format!("it is signed with the key {by}, which nobody vouches for"))
        }
    }
}

/// Input of an action, as the record holds it.
struct OwnInput {
    /// Possible hashes of the input: a text in a record may have been text, or JSON of one string.
    hashes: Vec<Digest>,
    /// True if there are masks in the input.
    has_masks: bool,
}

/// Returns the input that a call's event holds; `None` if it does not hold it, or not as text.
fn own_input(event: &AuditedEvent<'_>, action: Action) -> Option<OwnInput> {
    let of_text = |text: Value<'_>| {
        let text = text.string_bytes()?;
        let hashes = vec![input_hash(&text)];
        Some(OwnInput { hashes, has_masks: has_masks(&text) })
    };
    match action {
        Action::Model => of_text(event.payload?.member("http")?.member("body")?.member("text")?),
        Action::Tool => {
            let input = event.payload?.member("input")?;
            let as_json = input_hash(input.text());
            if input.kind() == ValueKind::String {
                return of_text(input).map(|mut text| {
                    text.hashes.push(as_json);
                    text
                });
            }
            Some(OwnInput { hashes: vec![as_json], has_masks: has_masks(input.text()) })
        }
    }
}

fn has_masks(text: &[u8]) -> bool {
    text.windows(MASK_MARK.len()).any(|part| part == MASK_MARK)
}
