//! The authorization of an envelope, judged by the keys at hand.
//!
//! The runtime's key signs the envelope (§5), so an envelope on its own is a permission that the
//! runtime wrote for itself. `metadata.authorization` is a signature by a platform's key in a domain of
//! its own: somebody else agreed, for this runtime. The form of 0.1.0 proves nothing: a run's own
//! signature of the same envelope could take its place.
//!
//! The recorder asks before a run, the audit afterwards. Start reading at [`authoriser`].

use core::fmt;

use reenact_formats::key::KeyId;
use reenact_formats::rer::RerHashFault;
use reenact_formats::rer::envelope::authorization::{Authorization, AuthorizationFault};
use reenact_formats::trust::{KeyRole, KeyRoles};
use reenact_json::{Shown, Value};

use crate::{Keys, Trust};

/// Key that authorised an envelope, as the caller knows it.
///
/// Its text is for people: `ci (key …, trusted as platform)`, or `… (supplied)` for a key without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authoriser {
    /// Id of the key.
    pub key_id: KeyId,
    /// Trust in the key as a platform's: supplied, trusted or superseded.
    pub trust: Trust,
    /// Name that its owner has in the caller's sources.
    pub label: Option<String>,
}

impl fmt::Display for Authoriser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            Some(label) => write!(f, "{} (key {}, ", Shown::new(label), self.key_id)?,
            None => write!(f, "{} (", self.key_id)?,
        }
        match self.trust {
            Trust::Trusted => write!(f, "trusted as {})", KeyRole::Platform.name()),
            trust => write!(f, "{trust})"),
        }
    }
}

/// Reason why nobody is known to have authorised an envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unauthorised {
    /// There is no authorization.
    #[error("self-authorised: only the runtime's own key signed the envelope")]
    Nobody,
    /// The authorization is malformed, or of the form of 0.1.0.
    #[error("{0}")]
    Form(#[from] AuthorizationFault),
    /// The record names no key of its runtime.
    #[error("the record does not tell which key its runtime has")]
    RuntimeUnknown,
    /// The runtime's key authorised itself, and is not known as a platform's.
    #[error("self-authorised: the authorization is by the runtime's own key")]
    Itself,
    /// The authorization is for the runs of another key.
    #[error("the authorization by {by} is for another runtime's key")]
    OtherRuntime {
        /// Key that it names.
        by: KeyId,
    },
    /// The key is not at hand, so that the signature cannot be checked.
    #[error("authorised by {by}, but that key is not at hand")]
    KeyNotAtHand {
        /// Key that it names.
        by: KeyId,
    },
    /// The signature does not hold for this envelope and these terms.
    #[error("the authorization is not signed by {by}")]
    Forged {
        /// Key that it names.
        by: KeyId,
    },
    /// The envelope has no canonical form.
    #[error("{0}")]
    Uncanonical(#[from] RerHashFault),
    /// The key is trusted, but not to authorise.
    #[error("authorised by {by}, which is trusted as {roles} and not as platform")]
    NotAPlatform {
        /// Key that signed.
        by: KeyId,
        /// Purposes for which it is trusted.
        roles: KeyRoles,
    },
    /// The key came with the record.
    #[error("authorised by {by}, which nobody vouches for")]
    NotVouchedFor {
        /// Key that signed.
        by: KeyId,
    },
    /// Somebody else may have the key.
    #[error("authorised by {by}, which is marked as compromised")]
    Compromised {
        /// Key that signed.
        by: KeyId,
    },
}

impl Unauthorised {
    /// Returns true if the authorization is wrong, whoever judges it; false if more trust or another key could settle it.
    pub fn is_wrong(&self) -> bool {
        match self {
            Self::Form(fault) => !matches!(fault, AuthorizationFault::Legacy { .. }),
            Self::OtherRuntime { .. } | Self::Forged { .. } | Self::Uncanonical(_) => true,
            _ => false,
        }
    }
}

/// Returns the key that authorised an envelope for runs that the key `runtime` signs.
///
/// A key that was supplied may authorise, as may one that a trust store knows as a platform's. The runtime's own key may
/// only if it is known as a platform's. The end of the authorization is left to the caller, who knows the time.
///
/// # Errors
///
/// [`Unauthorised`] with the first reason.
pub fn authoriser(
    envelope: Value<'_>,
    runtime: Option<KeyId>,
    keys: &Keys,
) -> Result<Authoriser, Unauthorised> {
    let authorization = Authorization::read(envelope)?.ok_or(Unauthorised::Nobody)?;
    let runtime = runtime.ok_or(Unauthorised::RuntimeUnknown)?;
    let by = authorization.key_id;
    let known = keys.find(&by);
    if by == runtime && !known.is_some_and(|known| known.roles.contains(KeyRole::Platform)) {
        return Err(Unauthorised::Itself);
    }
    if !authorization.terms.runtime.covers(&runtime) {
        return Err(Unauthorised::OtherRuntime { by });
    }
    let known = known.ok_or(Unauthorised::KeyNotAtHand { by })?;
    if !authorization.is_signed_by(&known.key, envelope)? {
        return Err(Unauthorised::Forged { by });
    }
    match known.trust_as(KeyRole::Platform) {
        Trust::Unknown if known.trust != Trust::Unknown => {
            Err(Unauthorised::NotAPlatform { by, roles: known.roles })
        }
        Trust::SelfAsserted | Trust::Unknown => Err(Unauthorised::NotVouchedFor { by }),
        Trust::Compromised => Err(Unauthorised::Compromised { by }),
        trust @ (Trust::Supplied | Trust::Trusted | Trust::Superseded) => {
            Ok(Authoriser { key_id: by, trust, label: known.label.clone() })
        }
    }
}
