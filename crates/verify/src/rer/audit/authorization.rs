//! The rule `authorization`: a platform's key allowed the run, or only the runtime's own did.
//!
//! The runtime's key signs the envelope (§5), so an envelope on its own is a permission that the
//! runtime wrote for itself. `metadata.authorization` = `{"key_id": …, "signature": …}` is a signature
//! by a platform's key over the envelope without that member: somebody else agreed.

use reenact_formats::key::KeyId;
use reenact_formats::rer::{RerHead, envelope};
use reenact_json::Shown;

use super::super::verdict::signature_bytes;
use super::tracker::RuleTracker;
use crate::audit::RuleVerdict;
use crate::{Keys, Trust};

/// Returns the verdict on `authorization`.
pub(super) fn check(head: &RerHead<'_>, keys: &Keys) -> RuleVerdict {
    let mut tracker = RuleTracker::new("authorization");
    match check_signature(head, keys) {
        Ok(reason) => return tracker.into_verdict(&reason),
        Err(AuthorizationFault::Inconclusive(reason)) => tracker.mark_inconclusive(None, &reason),
        Err(AuthorizationFault::Forged(reason)) => tracker.fail_without_event(&reason),
    }
    tracker.into_verdict("")
}

/// Reason why the rule does not pass.
enum AuthorizationFault {
    /// The record does not tell who authorised the run.
    Inconclusive(String),
    /// The authorization is malformed, or not signed by the key that it names.
    Forged(String),
}

/// Returns the reason of a pass.
///
/// # Errors
/// Returns the fault if the run was not authorised by a trusted key.
fn check_signature(head: &RerHead<'_>, keys: &Keys) -> Result<String, AuthorizationFault> {
    let doubt = |reason: &str| AuthorizationFault::Inconclusive(reason.to_owned());
    let envelope = head.envelope.ok_or_else(|| doubt("there is no envelope"))?;
    let authorization = envelope
        .member("metadata")
        .and_then(|metadata| metadata.member("authorization"))
        .ok_or_else(|| doubt("self-authorised: only the runtime's own key signed the envelope"))?;
    let text = |name: &str| authorization.member(name).and_then(|value| value.string());
    let (Some(key_id), Some(signature)) = (text("key_id"), text("signature")) else {
        return Err(AuthorizationFault::Forged(
            "metadata.authorization needs a key_id and a signature".into(),
        ));
    };
    if head.key_id().as_deref() == Some(&key_id) {
        return Err(doubt("self-authorised: the authorization is by the runtime's own key"));
    }
    let shown = Shown::new(&key_id).to_string();
    let Some(known) = KeyId::parse(&key_id).and_then(|id| keys.find(&id)) else {
        return Err(AuthorizationFault::Inconclusive(format!(
            "authorised by {shown}, but that key is not at hand"
        )));
    };
    let signable =
        envelope::authorisable(envelope).map_err(|fault| AuthorizationFault::Forged(fault.to_string()))?;
    let signed = signature_bytes(&signature).is_some_and(|bytes| known.key.verifies(&signable, &bytes));
    if !signed || known.key.is_weak() {
        return Err(AuthorizationFault::Forged(format!("the authorization is not signed by {shown}")));
    }
    match known.trust {
        Trust::SelfAsserted | Trust::Unknown => {
            Err(AuthorizationFault::Inconclusive(format!("authorised by {shown}, which nobody vouches for")))
        }
        Trust::Compromised => Err(AuthorizationFault::Inconclusive(format!(
            "authorised by {shown}, which is marked as compromised"
        ))),
        trust => Ok(format!("authorised by {shown} ({trust})")),
    }
}
