//! The core of a session (§4), which `model_io_hash` covers: no times and no metrics, the interactions in the order
//! of `i`.
//!
//! The hash is over the canonical text under the profile `model-io`, without a line feed at its end. Start reading at
//! [`hash`].

use core::cmp::Ordering;

use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, CanonicalForm, Digest, Limits, Value, ValueKind};

use super::canonical::ModelIoForm;
use super::session::ModelIoReadError;
use super::{InteractionView, ModelIoHead, ModelIoReader};

/// Reason why a session has no core to hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CoreFault {
    /// The text cannot be read as a session.
    #[error(transparent)]
    Read(#[from] ModelIoReadError),
    /// A member that the hash covers is absent.
    #[error("{member} is missing")]
    Missing {
        /// Name of the member.
        member: &'static str,
    },
    /// `interactions` is not a list.
    #[error("interactions is {}, not an array", .found.name())]
    NotAnArray {
        /// Kind of the value.
        found: ValueKind,
    },
    /// A member of an interaction that the hash covers is absent.
    #[error("interaction {at}: {member} is missing")]
    Incomplete {
        /// Position of the interaction, 0-based.
        at: usize,
        /// Name of the member.
        member: &'static str,
    },
    /// `i` is not a number, so the interaction has no position in the order.
    #[error("interaction {at}: i is {}, not a number", .found.name())]
    Index {
        /// Position of the interaction, 0-based.
        at: usize,
        /// Kind of `i`.
        found: ValueKind,
    },
    /// A covered value has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
}

/// Returns the hash of a session's core: the value that `model_io_hash` should have, whatever else is wrong with the
/// session.
///
/// # Errors
///
/// [`CoreFault`] if the text is not a session, or lacks a member that the hash covers.
pub fn hash(text: &[u8], limits: &Limits) -> Result<Digest, CoreFault> {
    let mut reader = ModelIoReader::open(text, limits)?;
    let mut interactions = Vec::new();
    while let Some(interaction) = reader.next_interaction().map_err(ModelIoReadError::from)? {
        let at = interactions.len();
        InteractionCore::of(at, &interaction)?;
        interactions.push(interaction);
    }
    hash_of(reader.head(), &interactions)
}

/// Returns the hash of the core of a session that has been read already.
///
/// # Errors
///
/// As [`hash`], but for syntax.
pub fn hash_of(head: &ModelIoHead<'_>, interactions: &[InteractionView<'_>]) -> Result<Digest, CoreFault> {
    let mut hasher = Hasher::new();
    write(head, interactions, &mut hasher)?;
    Ok(hasher.finish())
}

/// Writes the canonical text of the core to `out`.
///
/// # Errors
///
/// As [`hash_of`]. After an error `out` holds part of a text, which must be discarded.
pub fn write<S: ByteSink>(
    head: &ModelIoHead<'_>,
    interactions: &[InteractionView<'_>],
    out: &mut S,
) -> Result<(), CoreFault> {
    let version = required(head.model_io_schema_version, "model_io_schema_version")?;
    let adapter_id = required(head.adapter_id, "adapter_id")?;
    let model_id = required(head.model_id, "model_id")?;
    let mode = required(head.mode, "mode")?;
    match head.interactions {
        Some(ValueKind::Array) => {}
        Some(found) => return Err(CoreFault::NotAnArray { found }),
        None => return Err(CoreFault::Missing { member: "interactions" }),
    }
    out.put(b"{\"adapter_id\":");
    ModelIoForm.write(adapter_id, out)?;
    out.put(b",\"interactions\":[");
    write_interactions(interactions, out)?;
    out.put(b"],\"mode\":");
    ModelIoForm.write(mode, out)?;
    out.put(b",\"model_id\":");
    ModelIoForm.write(model_id, out)?;
    out.put(b",\"model_io_schema_version\":");
    ModelIoForm.write(version, out)?;
    out.put(b"}");
    Ok(())
}

fn required<'a>(value: Option<Value<'a>>, member: &'static str) -> Result<Value<'a>, CoreFault> {
    value.ok_or(CoreFault::Missing { member })
}

/// Members of an interaction that the hash covers (§4.2).
struct InteractionCore<'a> {
    i: Value<'a>,
    prompt_hash: Value<'a>,
    response_content: Value<'a>,
    response_hash: Value<'a>,
}

impl<'a> InteractionCore<'a> {
    fn of(at: usize, view: &InteractionView<'a>) -> Result<Self, CoreFault> {
        let present = |value: Option<Value<'a>>, member| value.ok_or(CoreFault::Incomplete { at, member });
        let i = present(view.i, "i")?;
        if i.kind() != ValueKind::Number {
            return Err(CoreFault::Index { at, found: i.kind() });
        }
        Ok(Self {
            i,
            prompt_hash: present(view.prompt_hash, "prompt_hash")?,
            response_content: present(view.response_content, "response_content")?,
            response_hash: present(view.response_hash, "response_hash")?,
        })
    }

    fn write<S: ByteSink>(&self, out: &mut S) -> Result<(), CanonicalFault> {
        out.put(b"{\"i\":");
        ModelIoForm.write(self.i, out)?;
        out.put(b",\"prompt_hash\":");
        ModelIoForm.write(self.prompt_hash, out)?;
        out.put(b",\"response_content\":");
        ModelIoForm.write(self.response_content, out)?;
        out.put(b",\"response_hash\":");
        ModelIoForm.write(self.response_hash, out)?;
        out.put(b"}");
        Ok(())
    }
}

fn write_interactions<S: ByteSink>(
    interactions: &[InteractionView<'_>],
    out: &mut S,
) -> Result<(), CoreFault> {
    let mut in_order = |order: &mut dyn Iterator<Item = usize>| {
        for (written, at) in order.enumerate() {
            if written > 0 {
                out.put(b",");
            }
            InteractionCore::of(at, &interactions[at])?.write(out)?;
        }
        Ok(())
    };
    // A number beyond the range of doubles has no canonical form and ends in an error, wherever it is sorted to.
    let index = |at: usize| interactions[at].i.and_then(|i| i.double()).unwrap_or(f64::INFINITY);
    let compare = |a: usize, b: usize| index(a).partial_cmp(&index(b)).unwrap_or(Ordering::Equal);
    if (1..interactions.len()).all(|at| compare(at - 1, at).is_le()) {
        return in_order(&mut (0..interactions.len()));
    }
    let mut order: Vec<usize> = (0..interactions.len()).collect();
    order.sort_by(|a, b| compare(*a, *b));
    in_order(&mut order.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(session: &str) -> Result<String, CoreFault> {
        let mut reader = ModelIoReader::open(session.as_bytes(), &Limits::default())?;
        let mut interactions = Vec::new();
        while let Some(interaction) = reader.next_interaction().map_err(ModelIoReadError::from)? {
            interactions.push(interaction);
        }
        let mut out = Vec::new();
        let written = write(reader.head(), &interactions, &mut out);
        let hashed = hash(session.as_bytes(), &Limits::default());
        assert_eq!(hashed, written.map(|()| Digest::of(&out)));
        hashed.map(|_| String::from_utf8(out).unwrap())
    }

    #[test]
    fn only_what_is_covered_and_in_order() {
        let session = r#"{"stats":{},"model_io_schema_version":"1.0.0","mode":"record","model_id":"m","adapter_id":"a",
            "interactions":[
                {"i":1.0,"response_hash":"r1","prompt_hash":"p1","response_content":"\u0041","tokens_input":7},
                {"i":0,"response_hash":"r0","prompt_hash":"p0","response_content":"B","x":1}],
            "created_at_utc":"2026-01-01T00:00:00Z"}"#;
        assert_eq!(
            text(session).as_deref(),
            Ok(concat!(
                r#"{"adapter_id":"a","interactions":["#,
                r#"{"i":0,"prompt_hash":"p0","response_content":"B","response_hash":"r0"},"#,
                r#"{"i":1,"prompt_hash":"p1","response_content":"A","response_hash":"r1"}],"#,
                r#""mode":"record","model_id":"m","model_io_schema_version":"1.0.0"}"#
            ))
        );
    }

    #[test]
    fn what_has_no_core() {
        let session = |interactions: &str| {
            let rest = r#""model_io_schema_version":"1.0.0","mode":"record","model_id":"m","adapter_id":"a""#;
            text(&format!("{{\"interactions\":{interactions},{rest}}}"))
        };
        assert_eq!(session("7"), Err(CoreFault::NotAnArray { found: ValueKind::Number }));
        assert_eq!(session("[null]"), Err(CoreFault::Incomplete { at: 0, member: "i" }));
        let index = session(r#"[{"i":"0"}]"#);
        assert_eq!(index, Err(CoreFault::Index { at: 0, found: ValueKind::String }));
        let far = session(r#"[{"i":1e400,"prompt_hash":"","response_hash":"","response_content":""}]"#);
        assert!(matches!(far, Err(CoreFault::Canonical(CanonicalFault::Number { .. }))), "{far:?}");
        assert_eq!(
            text(r#"{"interactions":[]}"#),
            Err(CoreFault::Missing { member: "model_io_schema_version" })
        );
        assert_eq!(
            text("[]"),
            Err(CoreFault::Read(ModelIoReadError::NotAnObject { found: ValueKind::Array }))
        );
    }
}
