//! The authorization of an envelope: a platform's signature, in `metadata.authorization`.
//!
//! ```json
//! {"key_id":"…","not_after":"2026-12-31T00:00:00Z","runtime_key_id":"…","signature":"…"}
//! ```
//!
//! The signature covers the canonical form (RFC 8785) of a text of its own domain, which no other signature can be
//! mistaken for:
//!
//! ```json
//! {"authorization":"reenact-authorization/1","envelope_hash":"…","not_after":"…","runtime_key_id":"…"}
//! ```
//!
//! `envelope_hash` is that of the envelope without `signature` and `metadata.authorization`. `runtime_key_id` names the
//! one key whose runs are authorised, or is `*`. Version 0.1.0 signed the bare envelope, which the runtime of the same
//! key signs for its own runs as well: anyone could move such a signature into another record. Start reading at
//! [`authorise`] and [`Authorization::read`].

use reenact_json::canonical::{self, ObjectPart};
use reenact_json::{Digest, Jcs, Limits, Shown, Value, ValueKind};

use super::authorisable;
use crate::key::{KeyId, PublicKey};
use crate::rer::seal::Signer;
use crate::rer::{RerHashFault, time};

/// Domain of the signature, in the member `authorization` of the signed text.
pub const AUTHORIZATION_DOMAIN: &str = "reenact-authorization/1";

/// Runtimes that an authorization is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizedRuntime {
    /// Any runtime, written `*`.
    Any,
    /// The runtime that signs with this key.
    Key(KeyId),
}

impl AuthorizedRuntime {
    /// Parses the text of `runtime_key_id`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "*" { Some(Self::Any) } else { KeyId::parse(text).map(Self::Key) }
    }

    /// Returns true if runs that this key signs are authorised.
    pub fn covers(&self, runtime: &KeyId) -> bool {
        match self {
            Self::Any => true,
            Self::Key(key) => key == runtime,
        }
    }

    /// Returns the text of `runtime_key_id`.
    pub fn text(&self) -> String {
        match self {
            Self::Any => "*".to_owned(),
            Self::Key(key) => key.to_string(),
        }
    }
}

/// Terms that a platform agrees to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationTerms {
    /// Runtimes that may use the envelope.
    pub runtime: AuthorizedRuntime,
    /// Last moment at which the envelope is authorised, in RFC 3339; `None` for no end.
    pub not_after: Option<String>,
}

/// Authorization as an envelope carries it. Its form says nothing about its validity: see
/// [`Authorization::is_signed_by`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// Key that claims to authorise.
    pub key_id: KeyId,
    /// Terms that the key agreed to.
    pub terms: AuthorizationTerms,
    signature: [u8; 64],
}

/// Fault of `metadata.authorization`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorizationFault {
    /// The form of 0.1.0, which any signature of the same key over the envelope fits.
    #[error(
        "the authorization by {} is of the form of 0.1.0: it names no runtime, and a run's own signature could take its place",
        Shown::new(.key_id)
    )]
    Legacy {
        /// Key that it names. Untrusted text.
        key_id: String,
    },
    /// A member that is missing, unknown, or has a wrong value.
    #[error("metadata.authorization.{} must be {wanted}", Shown::new(.member))]
    Member {
        /// Name of the member. Untrusted text if it is unknown.
        member: String,
        /// Right values, in words.
        wanted: &'static str,
    },
    /// Not an object.
    #[error("metadata.authorization must be an object with key_id, runtime_key_id and signature")]
    NotAnObject,
}

impl Authorization {
    /// Reads the authorization of an envelope; `None` if it carries none.
    ///
    /// # Errors
    ///
    /// [`AuthorizationFault`] if there is something in its place that is no authorization of this version.
    pub fn read(envelope: Value<'_>) -> Result<Option<Self>, AuthorizationFault> {
        let metadata = envelope.member("metadata");
        let Some(value) = metadata.and_then(|metadata| metadata.member("authorization")) else {
            return Ok(None);
        };
        if value.kind() != ValueKind::Object {
            return Err(AuthorizationFault::NotAnObject);
        }
        let fault = |member: &str, wanted| AuthorizationFault::Member { member: member.to_owned(), wanted };
        let known = ["key_id", "not_after", "runtime_key_id", "signature"];
        let mut names = value.members().map(|(name, _)| name);
        if let Some(name) = names.find(|name| !known.iter().any(|known| name.is_string(known))) {
            return Err(fault(&name.string().unwrap_or_default(), "left out: there is no such member"));
        }
        let text = |name: &str| value.member(name).and_then(|member| member.string());
        let has = |name: &str| value.member(name).is_some();
        if let Some(key_id) = text("key_id").filter(|_| has("signature"))
            && !has("runtime_key_id")
            && !has("not_after")
        {
            return Err(AuthorizationFault::Legacy { key_id: key_id.into_owned() });
        }
        let key_id = text("key_id").and_then(|id| KeyId::parse(&id));
        let runtime = text("runtime_key_id").and_then(|id| AuthorizedRuntime::parse(&id));
        let signature = text("signature").and_then(|hex| signature_bytes(&hex));
        let not_after = match has("not_after") {
            false => None,
            true => {
                let end = text("not_after").filter(|end| time::instant(end).is_some());
                Some(end.ok_or_else(|| fault("not_after", "a time like 2026-12-31T00:00:00Z"))?.into_owned())
            }
        };
        Ok(Some(Self {
            key_id: key_id.ok_or_else(|| fault("key_id", "the id of a key"))?,
            terms: AuthorizationTerms {
                runtime: runtime.ok_or_else(|| {
                    fault("runtime_key_id", "the id of the runtime's key, or \"*\" for any")
                })?,
                not_after,
            },
            signature: signature.ok_or_else(|| fault("signature", "128 lower-case hexadecimal digits"))?,
        }))
    }

    /// Returns the last authorised moment in nanoseconds since 1970; `None` for no end.
    pub fn not_after(&self) -> Option<i128> {
        // `read` accepts only texts that are instants.
        self.terms.not_after.as_deref().map(|end| time::instant(end).unwrap_or(i128::MIN))
    }

    /// Returns true if that key signed these terms for this envelope, by the strict rules of Ed25519.
    ///
    /// # Errors
    ///
    /// [`RerHashFault`] if the envelope has no canonical form.
    pub fn is_signed_by(&self, key: &PublicKey, envelope: Value<'_>) -> Result<bool, RerHashFault> {
        let signable = signable(&self.terms, envelope)?;
        Ok(key.id() == self.key_id && !key.is_weak() && key.verifies(&signable, &self.signature))
    }
}

/// Returns the canonical envelope with an authorization by `signer`, and without `signature`. An authorization that
/// was there is replaced.
///
/// # Errors
///
/// [`RerHashFault`] if the envelope is not an object, or has no canonical form.
pub fn authorise(
    envelope: Value<'_>,
    terms: &AuthorizationTerms,
    signer: &dyn Signer,
) -> Result<Vec<u8>, RerHashFault> {
    // An envelope without metadata gets an empty one first: that is what is left of it without the authorization.
    let plain = with_authorization(envelope, None)?;
    let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
    let missing = |_| RerHashFault::Missing { member: "envelope" };
    let document = Value::parse(&plain, &limits).map_err(missing)?;
    let signature = signer.sign(&signable(terms, document)?);
    let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    let (key_id, runtime) = (signer.public_key().id().to_string(), terms.runtime.text());
    let mut members = vec![("key_id", ObjectPart::String(&key_id))];
    if let Some(end) = &terms.not_after {
        members.push(("not_after", ObjectPart::String(end)));
    }
    members.push(("runtime_key_id", ObjectPart::String(&runtime)));
    members.push(("signature", ObjectPart::String(&signature)));
    let mut authorization = Vec::new();
    canonical::write_object(&members, &mut authorization)?;
    with_authorization(document, Some(&authorization))
}

/// Returns the bytes that an authorization covers.
fn signable(terms: &AuthorizationTerms, envelope: Value<'_>) -> Result<Vec<u8>, RerHashFault> {
    let hash = Digest::of(&authorisable(envelope)?).to_string();
    let runtime = terms.runtime.text();
    let mut members = vec![
        ("authorization", ObjectPart::String(AUTHORIZATION_DOMAIN)),
        ("envelope_hash", ObjectPart::String(&hash)),
    ];
    if let Some(end) = &terms.not_after {
        members.push(("not_after", ObjectPart::String(end)));
    }
    members.push(("runtime_key_id", ObjectPart::String(&runtime)));
    let mut text = Vec::new();
    canonical::write_object(&members, &mut text)?;
    Ok(text)
}

/// Returns the canonical envelope with `metadata`, which has this authorization or none, and without `signature`.
fn with_authorization(envelope: Value<'_>, authorization: Option<&[u8]>) -> Result<Vec<u8>, RerHashFault> {
    if envelope.kind() != ValueKind::Object {
        return Err(RerHashFault::NotAnObject { what: "envelope", found: envelope.kind().name() });
    }
    let mut text = b"{\"metadata\":{".to_vec();
    if let Some(authorization) = authorization {
        text.extend_from_slice(b"\"authorization\":");
        text.extend_from_slice(authorization);
    }
    let mut is_first = authorization.is_none();
    let metadata = envelope.member("metadata");
    for (name, value) in metadata.into_iter().flat_map(|metadata| metadata.members()) {
        if !name.is_string("authorization") {
            let before: &[u8] = if core::mem::take(&mut is_first) { b"" } else { b"," };
            text.extend_from_slice(&[before, name.text(), b":", value.text()].concat());
        }
    }
    text.push(b'}');
    for (name, value) in envelope.members() {
        if !name.is_string("metadata") && !name.is_string("signature") {
            text.extend_from_slice(&[b",", name.text(), b":", value.text()].concat());
        }
    }
    text.push(b'}');
    let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
    // The text is assembled from parsed values, so the only possible error is that it became too large.
    let document = Value::parse(&text, &limits).map_err(|_| RerHashFault::Missing { member: "envelope" })?;
    Ok(canonical::to_vec(document, Jcs)?)
}

/// Parses an Ed25519 signature of 128 lower-case hexadecimal digits.
fn signature_bytes(text: &str) -> Option<[u8; 64]> {
    let (r, s) = text.split_at_checked(64)?;
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(Digest::from_hex(r)?.as_bytes());
    bytes[32..].copy_from_slice(Digest::from_hex(s)?.as_bytes());
    Some(bytes)
}
