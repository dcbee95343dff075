//! The token itself: read strictly, written, signed.

use base64ct::{Base64UrlUnpadded, Encoding};
use reenact_json::canonical::{self, Part};
use reenact_json::{CanonicalFault, Digest, Kind, Limits, Shown, SyntaxError, Value};

use crate::key::{KeyId, PublicKey};
use crate::rer::envelope::decide::Action;
use crate::rer::envelope::permission::SignerType;
use crate::rer::seal::Signer;
use crate::rer::time;

/// The version of every token, as it names itself.
pub const VERSION: &str = "reenact-approval/1";

/// No token is longer, in bytes.
pub const LARGEST: usize = 64 * 1024;

/// What an approver says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may happen, once.
    Granted,
    /// It may not.
    Denied {
        /// Why, in the approver's words.
        reason: Option<String>,
    },
}

/// What is to be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft<'a> {
    /// The question that it answers.
    pub approval_id: &'a str,
    /// The run in which it was asked.
    pub run_id: &'a str,
    /// What is to happen.
    pub action: Action,
    /// The model or tool, by its exact name.
    pub name: &'a str,
    /// The [`input_hash`](super::input_hash) of what it is to happen with.
    pub input_hash: Digest,
    /// The answer.
    pub decision: Decision,
    /// What the approver is.
    pub signer_type: SignerType,
    /// When it was signed: RFC 3339, in UTC.
    pub issued_at: &'a str,
    /// When it ends, in the same form; that moment is no longer within.
    pub expires_at: &'a str,
}

/// A token that is well-formed. Whether it holds is for [`judge`](super::judge()) to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The question that it answers.
    pub approval_id: String,
    /// The run in which it was asked.
    pub run_id: String,
    /// What is to happen.
    pub action: Action,
    /// The model or tool.
    pub name: String,
    /// The hash of what it is to happen with.
    pub input_hash: Digest,
    /// The answer.
    pub decision: Decision,
    /// What the approver is, in its own words.
    pub signer_type: SignerType,
    /// The key that is said to have signed it.
    pub key_id: KeyId,
    /// When it was signed, in nanoseconds since 1970.
    pub issued_at: i128,
    /// When it ends, in nanoseconds since 1970.
    pub expires_at: i128,
    signature: [u8; 64],
    signable: Vec<u8>,
}

/// Why bytes are no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFault {
    /// Longer than any token.
    #[error("is longer than {LARGEST} bytes")]
    TooLong,
    /// Not JSON.
    #[error("is not JSON: {0}")]
    Json(SyntaxError),
    /// JSON of another kind.
    #[error("is {found}, not an object")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// The same value can be spelled otherwise; only one spelling is a token.
    #[error("is not in canonical form (RFC 8785)")]
    NotCanonical,
    /// A member that no token has.
    #[error("has the unknown member \"{}\"", Shown::new(.name))]
    Unknown {
        /// Its name.
        name: String,
    },
    /// A member that every token has is absent, or one that this kind of token has.
    #[error("{member} is missing")]
    Missing {
        /// Its name.
        member: &'static str,
    },
    /// A member that is no string.
    #[error("{member} is {found}, not a string")]
    NotText {
        /// Its name.
        member: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A member whose text is not one that belongs there.
    #[error("{member} must be {wanted}")]
    Value {
        /// Its name.
        member: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A member that does not go with the others: a model of a `tool.call`, a reason for a grant.
    #[error("{member} does not belong there")]
    OutOfPlace {
        /// Its name.
        member: &'static str,
    },
}

/// Why a draft cannot be signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignFault {
    /// What would be signed is no token that anyone would read.
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

/// Signs a draft; gives the token's bytes.
pub fn sign(draft: &Draft<'_>, signer: &dyn Signer) -> Result<Vec<u8>, SignFault> {
    let key_id = signer.public_key().id().to_string();
    let input_hash = draft.input_hash.to_string();
    let (decision, reason) = match &draft.decision {
        Decision::Granted => ("granted", None),
        Decision::Denied { reason } => ("denied", reason.as_deref()),
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
        let members: Vec<_> = members.filter_map(|(name, text)| Some((name, Part::Text(text?)))).collect();
        let mut out = Vec::new();
        canonical::write_object(&members, &mut out)?;
        Ok(out)
    };
    let signature = Base64UrlUnpadded::encode_string(&signer.sign(&object(None)?));
    let token = object(Some(&signature))?;
    // What nobody would read is not handed out.
    Token::read(&token).map_err(SignFault::Draft)?;
    Ok(token)
}

impl Token {
    /// Reads a token: exactly its bytes, with nothing around them.
    pub fn read(bytes: &[u8]) -> Result<Self, TokenFault> {
        if bytes.len() > LARGEST {
            return Err(TokenFault::TooLong);
        }
        // Strings in one object: nothing of it is nested.
        let value = Value::parse(bytes, &Limits { depth: 8, bytes: LARGEST }).map_err(TokenFault::Json)?;
        if value.kind() != Kind::Object {
            return Err(TokenFault::NotAnObject { found: value.kind().name() });
        }
        let mut found: [Option<Value<'_>>; MEMBERS.len()] = [None; MEMBERS.len()];
        for (name, member) in value.members() {
            let place = MEMBERS.iter().zip(&mut found).find(|(known, _)| name.is_string(known));
            let Some((_, place)) = place else {
                let name = name.string().unwrap_or_default().into_owned();
                return Err(TokenFault::Unknown { name });
            };
            *place = Some(member);
        }
        let texts = Texts(found);
        texts.only("token_version", VERSION, "\"reenact-approval/1\"")?;
        let action = texts.action()?;
        let (own, other) = match action {
            Action::Model => ("model", "tool"),
            Action::Tool => ("tool", "model"),
        };
        texts.absent(other)?;
        let (issued_at, expires_at) = (texts.moment("issued_at")?, texts.moment("expires_at")?);
        if expires_at <= issued_at {
            return Err(TokenFault::Value { member: "expires_at", wanted: "later than issued_at" });
        }
        let token = Self {
            approval_id: texts.some("approval_id")?,
            run_id: texts.some("run_id")?,
            action,
            name: texts.some(own)?,
            input_hash: texts.read("input_hash", "64 lower-case hexadecimal digits", Digest::from_hex)?,
            decision: texts.decision()?,
            signer_type: texts.signer_type()?,
            key_id: texts.read("key_id", "a key's id", KeyId::parse)?,
            issued_at,
            expires_at,
            signature: texts.read("signature", "64 bytes in base64url without padding", signature)?,
            signable: Vec::new(),
        };
        // Last, so that what is plainly wrong is named as that.
        if !value.is_canonical() || value.text() != bytes {
            return Err(TokenFault::NotCanonical);
        }
        let mut signable = Vec::with_capacity(bytes.len());
        canonical::write_without(value, &["signature"], &mut signable)
            .map_err(|_| TokenFault::NotCanonical)?;
        Ok(Self { signable, ..token })
    }

    /// Whether that key signed it, by the strict rules of Ed25519.
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        key.id() == self.key_id && key.verifies(&self.signable, &self.signature)
    }
}

fn signature(text: &str) -> Option<[u8; 64]> {
    let mut bytes = [0; 64];
    let decoded = Base64UrlUnpadded::decode(text, &mut bytes).ok()?;
    (decoded.len() == 64).then_some(bytes)
}

/// The members that were found, each at its place in [`MEMBERS`].
struct Texts<'a>([Option<Value<'a>>; MEMBERS.len()]);

impl Texts<'_> {
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

    fn some(&self, member: &'static str) -> Result<String, TokenFault> {
        self.read(member, "a text of at least one character", |text| {
            (!text.is_empty()).then(|| text.to_owned())
        })
    }

    fn only(&self, member: &'static str, text: &str, wanted: &'static str) -> Result<(), TokenFault> {
        self.read(member, wanted, |found| (found == text).then_some(()))
    }

    fn absent(&self, member: &'static str) -> Result<(), TokenFault> {
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

    fn decision(&self) -> Result<Decision, TokenFault> {
        let is_granted = self.read("decision", "\"granted\" or \"denied\"", |text| match text {
            "granted" => Some(true),
            "denied" => Some(false),
            _ => None,
        })?;
        if is_granted {
            self.absent("reason")?;
            return Ok(Decision::Granted);
        }
        Ok(Decision::Denied { reason: self.text("reason")? })
    }

    /// In UTC, spelled with capital letters: one moment has few enough spellings as it is.
    fn moment(&self, member: &'static str) -> Result<i128, TokenFault> {
        self.read(member, "a time of RFC 3339 in UTC, such as 2026-05-13T12:00:00Z", |text| {
            let is_utc = text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T');
            time::instant(text).filter(|_| is_utc)
        })
    }
}
