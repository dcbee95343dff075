//! The approval token: strict parser, writer, signature.

use base64ct::{Base64UrlUnpadded, Encoding};
use reenact_json::canonical::{self, ObjectPart};
use reenact_json::{CanonicalFault, Digest, Limits, Shown, SyntaxError, Value, ValueKind};

use crate::key::{KeyId, PublicKey};
use crate::rer::envelope::permission::SignerType;
use crate::rer::envelope::policy::Action;
use crate::rer::seal::Signer;
use crate::rer::time;

/// Version of every token, as the member `token_version` spells it.
pub const VERSION: &str = "reenact-approval/1";

/// Longest token, in bytes.
pub const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// Answer of an approver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// The action may happen, once.
    Granted,
    /// The action may not happen.
    Denied {
        /// Reason, in the approver's words.
        reason: Option<String>,
    },
}

/// Content of a token that is to be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalTokenDraft<'a> {
    /// Id of the question that the token answers.
    pub approval_id: &'a str,
    /// Id of the run in which it was asked.
    pub run_id: &'a str,
    /// Kind of action.
    pub action: Action,
    /// Exact name of the model or tool.
    pub name: &'a str,
    /// [`input_hash`](super::input_hash) of the action's input.
    pub input_hash: Digest,
    /// Answer of the approver.
    pub decision: ApprovalDecision,
    /// Kind of approver.
    pub signer_type: SignerType,
    /// Time of signing: RFC 3339 in UTC.
    pub issued_at: &'a str,
    /// Time of expiry, in the same form; the token is invalid from that moment on.
    pub expires_at: &'a str,
}

/// Well-formed token. Its form says nothing about its validity: that is for [`verify_token`](super::verify_token).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalToken {
    /// Id of the question that the token answers.
    pub approval_id: String,
    /// Id of the run in which it was asked.
    pub run_id: String,
    /// Kind of action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: String,
    /// Hash of the action's input.
    pub input_hash: Digest,
    /// Answer of the approver.
    pub decision: ApprovalDecision,
    /// Kind of approver that the token claims.
    pub signer_type: SignerType,
    /// Key that the token claims to be signed with.
    pub key_id: KeyId,
    /// Time of signing, in nanoseconds since 1970.
    pub issued_at: i128,
    /// Time of expiry, in nanoseconds since 1970.
    pub expires_at: i128,
    signature: [u8; 64],
    signable: Vec<u8>,
}

/// Reason why bytes are not a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFault {
    /// Longer than any token.
    #[error("is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    /// Not JSON.
    #[error("is not JSON: {0}")]
    Json(SyntaxError),
    /// JSON, but not an object.
    #[error("is {found}, not an object")]
    NotAnObject {
        /// Kind of the value, in words.
        found: &'static str,
    },
    /// Not canonical: the same value can be spelled in other ways, and only one spelling is a token.
    #[error("is not in canonical form (RFC 8785)")]
    NotCanonical,
    /// A member that no token has.
    #[error("has the unknown member \"{}\"", Shown::new(.name))]
    Unknown {
        /// Name of the member.
        name: String,
    },
    /// A required member is absent.
    #[error("{member} is missing")]
    Missing {
        /// Name of the member.
        member: &'static str,
    },
    /// A member is not a string.
    #[error("{member} is {found}, not a string")]
    NotText {
        /// Name of the member.
        member: &'static str,
        /// Kind of the value, in words.
        found: &'static str,
    },
    /// A member has a text that is not allowed there.
    #[error("{member} must be {wanted}")]
    Value {
        /// Name of the member.
        member: &'static str,
        /// Allowed texts, in words.
        wanted: &'static str,
    },
    /// A member that contradicts the others: a model of a `tool.call`, a reason for a grant.
    #[error("{member} does not belong there")]
    OutOfPlace {
        /// Name of the member.
        member: &'static str,
    },
}

/// Reason why a draft cannot be signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignFault {
    /// The result would not be a token that anyone accepts.
    #[error("the approval {0}")]
    Draft(TokenFault),
    /// A text without a canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
}

/// Every member, in canonical order.
const MEMBERS: [&str; 14] = [
    "action",
    "approval_id",
    "decision",
    "expires_at",
    "input_hash",
    "issued_at",
    "key_id",
    "model",
    "reason",
    "run_id",
    "signature",
    "signer_type",
    "token_version",
    "tool",
];

/// Signs a draft; returns the token's bytes.
///
/// # Errors
///
/// [`SignFault::Draft`] if [`ApprovalToken::read`] would refuse the result.
pub fn sign(draft: &ApprovalTokenDraft<'_>, signer: &dyn Signer) -> Result<Vec<u8>, SignFault> {
    let key_id = signer.public_key().id().to_string();
    let input_hash = draft.input_hash.to_string();
    let (decision, reason) = match &draft.decision {
        ApprovalDecision::Granted => ("granted", None),
        ApprovalDecision::Denied { reason } => ("denied", reason.as_deref()),
    };
    let (model, tool) = match draft.action {
        Action::Model => (Some(draft.name), None),
        Action::Tool => (None, Some(draft.name)),
    };
    let object = |signature: Option<&str>| -> Result<Vec<u8>, SignFault> {
        let texts = [
            Some(draft.action.name()),
            Some(draft.approval_id),
            Some(decision),
            Some(draft.expires_at),
            Some(&input_hash),
            Some(draft.issued_at),
            Some(&key_id),
            model,
            reason,
            Some(draft.run_id),
            signature,
            Some(draft.signer_type.name()),
            Some(VERSION),
            tool,
        ];
        let members = MEMBERS.into_iter().zip(texts);
        let members: Vec<_> =
            members.filter_map(|(name, text)| Some((name, ObjectPart::String(text?)))).collect();
        let mut out = Vec::new();
        canonical::write_object(&members, &mut out)?;
        Ok(out)
    };
    let signature = Base64UrlUnpadded::encode_string(&signer.sign(&object(None)?));
    let token = object(Some(&signature))?;
    // A token that no reader would accept is not handed out.
    ApprovalToken::read(&token).map_err(SignFault::Draft)?;
    Ok(token)
}

impl ApprovalToken {
    /// Parses a token: exactly its bytes, with nothing around them.
    ///
    /// # Errors
    ///
    /// [`TokenFault`] at the first fault. Non-canonical text is reported last.
    pub fn read(bytes: &[u8]) -> Result<Self, TokenFault> {
        if bytes.len() > MAX_TOKEN_BYTES {
            return Err(TokenFault::TooLong);
        }
        // A token is one flat object of strings.
        let value = Value::parse(bytes, &Limits { max_depth: 8, max_bytes: MAX_TOKEN_BYTES })
            .map_err(TokenFault::Json)?;
        if value.kind() != ValueKind::Object {
            return Err(TokenFault::NotAnObject { found: value.kind().name() });
        }
        let mut found: [Option<Value<'_>>; MEMBERS.len()] = [None; MEMBERS.len()];
        for (name, member) in value.members() {
            let slot = MEMBERS.iter().zip(&mut found).find(|(known, _)| name.is_string(known));
            let Some((_, slot)) = slot else {
                let name = name.string().unwrap_or_default().into_owned();
                return Err(TokenFault::Unknown { name });
            };
            *slot = Some(member);
        }
        let texts = TokenMembers(found);
        texts.require_exactly("token_version", VERSION, "\"reenact-approval/1\"")?;
        let action = texts.action()?;
        let (own, other) = match action {
            Action::Model => ("model", "tool"),
            Action::Tool => ("tool", "model"),
        };
        texts.require_absent(other)?;
        let (issued_at, expires_at) = (texts.utc_instant("issued_at")?, texts.utc_instant("expires_at")?);
        if expires_at <= issued_at {
            return Err(TokenFault::Value { member: "expires_at", wanted: "later than issued_at" });
        }
        let token = Self {
            approval_id: texts.non_empty("approval_id")?,
            run_id: texts.non_empty("run_id")?,
            action,
            name: texts.non_empty(own)?,
            input_hash: texts.read("input_hash", "64 lower-case hexadecimal digits", Digest::from_hex)?,
            decision: texts.decision()?,
            signer_type: texts.signer_type()?,
            key_id: texts.read("key_id", "a key's id", KeyId::parse)?,
            issued_at,
            expires_at,
            signature: texts.read("signature", "64 bytes in base64url without padding", decode_signature)?,
            signable: Vec::new(),
        };
        // Last, so that more specific faults are reported first.
        if !value.is_canonical() || value.text() != bytes {
            return Err(TokenFault::NotCanonical);
        }
        let mut signable = Vec::with_capacity(bytes.len());
        canonical::write_without(value, &["signature"], &mut signable)
            .map_err(|_| TokenFault::NotCanonical)?;
        Ok(Self { signable, ..token })
    }

    /// Returns true if that key signed the token, by the strict rules of Ed25519.
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        key.id() == self.key_id && key.verifies(&self.signable, &self.signature)
    }
}

fn decode_signature(text: &str) -> Option<[u8; 64]> {
    let mut bytes = [0; 64];
    let decoded = Base64UrlUnpadded::decode(text, &mut bytes).ok()?;
    (decoded.len() == 64).then_some(bytes)
}

/// Members of a token, at their positions in [`MEMBERS`].
struct TokenMembers<'a>([Option<Value<'a>>; MEMBERS.len()]);

impl TokenMembers<'_> {
    fn text(&self, member: &'static str) -> Result<Option<String>, TokenFault> {
        let at = MEMBERS.iter().position(|known| *known == member);
        let Some(value) = at.and_then(|at| self.0.get(at).copied().flatten()) else { return Ok(None) };
        match value.string() {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(TokenFault::NotText { member, found: value.kind().name() }),
        }
    }

    fn read<T>(
        &self,
        member: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, TokenFault> {
        let text = self.text(member)?.ok_or(TokenFault::Missing { member })?;
        read(&text).ok_or(TokenFault::Value { member, wanted })
    }

    fn non_empty(&self, member: &'static str) -> Result<String, TokenFault> {
        self.read(member, "a text of at least one character", |text| {
            (!text.is_empty()).then(|| text.to_owned())
        })
    }

    fn require_exactly(
        &self,
        member: &'static str,
        text: &str,
        wanted: &'static str,
    ) -> Result<(), TokenFault> {
        self.read(member, wanted, |found| (found == text).then_some(()))
    }

    fn require_absent(&self, member: &'static str) -> Result<(), TokenFault> {
        match self.text(member)? {
            Some(_) => Err(TokenFault::OutOfPlace { member }),
            None => Ok(()),
        }
    }

    fn action(&self) -> Result<Action, TokenFault> {
        self.read("action", "\"model.call\" or \"tool.call\"", |text| {
            [Action::Model, Action::Tool].into_iter().find(|action| action.name() == text)
        })
    }

    fn signer_type(&self) -> Result<SignerType, TokenFault> {
        self.read("signer_type", "\"human\", \"delegate\" or \"automated\"", |text| {
            let all = [SignerType::Human, SignerType::Delegate, SignerType::Automated];
            all.into_iter().find(|known| known.name() == text)
        })
    }

    fn decision(&self) -> Result<ApprovalDecision, TokenFault> {
        let is_granted = self.read("decision", "\"granted\" or \"denied\"", |text| match text {
            "granted" => Some(true),
            "denied" => Some(false),
            _ => None,
        })?;
        if is_granted {
            self.require_absent("reason")?;
            return Ok(ApprovalDecision::Granted);
        }
        Ok(ApprovalDecision::Denied { reason: self.text("reason")? })
    }

    /// Parses a time in UTC, with capital `T` and `Z`: one instant has enough spellings as it is.
    fn utc_instant(&self, member: &'static str) -> Result<i128, TokenFault> {
        self.read(member, "a time of RFC 3339 in UTC, such as 2026-05-13T12:00:00Z", |text| {
            let is_utc = text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T');
            time::instant(text).filter(|_| is_utc)
        })
    }
}
