//! The rule `authorization`: a platform's key allowed the run, or only the runtime's own did.
//!
//! The runtime's key signs the envelope (§5), so an envelope on its own is a permission that the
//! runtime wrote for itself. `metadata.authorization` is a signature by a platform's key in a domain of
//! its own: somebody else agreed, for this runtime. The form of 0.1.0 proves nothing: a run's own
//! signature of the same envelope could take its place.

use reenact_formats::key::KeyId;
use reenact_formats::rer::RerHead;
use reenact_formats::rer::envelope::authorization::{Authorization, AuthorizationFault};

use super::tracker::RuleTracker;
use crate::audit::RuleVerdict;
use crate::{Keys, Trust};

/// Returns the verdict on `authorization`.
pub(super) fn check(head: &RerHead<'_>, keys: &Keys) -> RuleVerdict {
    let mut tracker = RuleTracker::new("authorization");
    match check_signature(head, keys) {
        Ok(reason) => return tracker.into_verdict(&reason),
        Err(Unauthorized::Doubt(reason)) => tracker.mark_inconclusive(None, &reason),
        Err(Unauthorized::Broken(reason)) => tracker.fail_without_event(&reason),
    }
    tracker.into_verdict("")
}

/// Reason why the rule does not pass.
enum Unauthorized {
    /// The record does not tell who authorised the run.
    Doubt(String),
    /// The authorization is malformed, for another runtime, or not signed by the key that it names.
    Broken(String),
}

/// Returns the reason of a pass.
///
/// # Errors
/// Returns the fault if the run was not authorised by a trusted key.
fn check_signature(head: &RerHead<'_>, keys: &Keys) -> Result<String, Unauthorized> {
    let doubt = |reason: &str| Unauthorized::Doubt(reason.to_owned());
    let envelope = head.envelope.ok_or_else(|| doubt("there is no envelope"))?;
    let authorization = Authorization::read(envelope).map_err(|fault| match fault {
        AuthorizationFault::Legacy { .. } => Unauthorized::Doubt(fault.to_string()),
        fault => Unauthorized::Broken(fault.to_string()),
    })?;
    let authorization = authorization
        .ok_or_else(|| doubt("self-authorised: only the runtime's own key signed the envelope"))?;
    let runtime = head.key_id().and_then(|id| KeyId::parse(&id));
    let runtime = runtime.ok_or_else(|| doubt("the record does not tell which key its runtime has"))?;
    let by = authorization.key_id;
    if by == runtime {
        return Err(doubt("self-authorised: the authorization is by the runtime's own key"));
    }
    if !authorization.terms.runtime.covers(&runtime) {
        return Err(Unauthorized::Broken(format!("the authorization by {by} is for another runtime's key")));
    }
    let Some(known) = keys.find(&by) else {
        return Err(Unauthorized::Doubt(format!("authorised by {by}, but that key is not at hand")));
    };
    let is_signed = authorization.is_signed_by(&known.key, envelope);
    if !is_signed.map_err(|fault| Unauthorized::Broken(fault.to_string()))? {
        return Err(Unauthorized::Broken(format!("the authorization is not signed by {by}")));
    }
    match known.trust {
        Trust::SelfAsserted | Trust::Unknown => {
            Err(Unauthorized::Doubt(format!("authorised by {by}, which nobody vouches for")))
        }
        Trust::Compromised => {
            Err(Unauthorized::Doubt(format!("authorised by {by}, which is marked as compromised")))
        }
        trust => Ok(format!("authorised by {by} ({trust})")),
    }
}
