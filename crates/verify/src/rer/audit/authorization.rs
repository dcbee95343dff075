//! Who allowed the run: a platform's key, or only the runtime's own.
//!
//! The runtime's key signs the envelope (§5), so an envelope on its own is a permission slip that the runtime wrote for
//! itself. `metadata.authorization` = `{"key_id": …, "signature": …}`, a signature by the platform's key over the envelope
//! without it, says that somebody else agreed.

use reenact_formats::key::KeyId;
use reenact_formats::rer::{Head, envelope};
use reenact_json::Shown;

use super::super::judge::signature_bytes;
use super::tracker::Tracker;
use crate::audit::RuleVerdict;
use crate::{Keys, Trust};

/// The verdict on `authorization`.
pub(super) fn judge(head: &Head<'_>, keys: &Keys) -> RuleVerdict {
    let mut tracker = Tracker::new("authorization");
    match authorised(head, keys) {
        Ok(reason) => return tracker.conclude(&reason),
        Err(Problem::Doubt(reason)) => tracker.doubt(None, &reason),
        Err(Problem::Forged(reason)) => tracker.fail_at_end(&reason),
    }
    tracker.conclude("")
}

enum Problem {
    Doubt(String),
    Forged(String),
}

fn authorised(head: &Head<'_>, keys: &Keys) -> Result<String, Problem> {
    let doubt = |reason: &str| Problem::Doubt(reason.to_owned());
    let envelope = head.envelope.ok_or_else(|| doubt("there is no envelope"))?;
    let authorization = envelope
        .member("metadata")
        .and_then(|metadata| metadata.member("authorization"))
        .ok_or_else(|| doubt("self-authorised: only the runtime's own key signed the envelope"))?;
    let text = |name: &str| authorization.member(name).and_then(|value| value.string());
    let (Some(key_id), Some(signature)) = (text("key_id"), text("signature")) else {
        return Err(Problem::Forged("metadata.authorization needs a key_id and a signature".into()));
    };
    if head.key_id().as_deref() == Some(&key_id) {
        return Err(doubt("self-authorised: the authorization is by the runtime's own key"));
    }
    let shown = Shown::new(&key_id).to_string();
    let Some(known) = KeyId::parse(&key_id).and_then(|id| keys.find(&id)) else {
        return Err(Problem::Doubt(format!("authorised by {shown}, but that key is not at hand")));
    };
    let signable = envelope::authorisable(envelope).map_err(|fault| Problem::Forged(fault.to_string()))?;
    let signed = signature_bytes(&signature).is_some_and(|bytes| known.key.verifies(&signable, &bytes));
    if !signed || known.key.is_weak() {
        return Err(Problem::Forged(format!("the authorization is not signed by {shown}")));
    }
    match known.trust {
        Trust::SelfAsserted | Trust::Unknown => {
            Err(Problem::Doubt(format!("authorised by {shown}, which nobody vouches for")))
        }
        Trust::Compromised => {
            Err(Problem::Doubt(format!("authorised by {shown}, which is marked as compromised")))
        }
        trust => Ok(format!("authorised by {shown} ({trust})")),
    }
}
