//! What `model_io_hash` covers (§4): the session without times and metrics, its interactions in the order of `i`.
//!
//! The hash is over the canonical text under the profile `model-io`, without a line feed at its end.

use core::cmp::Ordering;

use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, CanonicalForm, Digest, Kind, Limits, Value};

use super::canonical::ModelIoForm;
use super::session::ReadError;
use super::{Head, InteractionView, SessionReader};

/// Why there is no core to hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CoreFault {
    /// The text cannot be read as a session.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A member that the hash covers is absent.
    #[error("{member} is missing")]
    Missing {
        /// Its name.
        member: &'static str,
    },
    /// `interactions` is something else than a list.
    #[error("interactions is {}, not an array", .found.name())]
    NotAnArray {
        /// What it is.
        found: Kind,
    },
    /// A member of an interaction that the hash covers is absent.
    #[error("interaction {at}: {member} is missing")]
    Incomplete {
        /// The position of the interaction, from 0.
        at: usize,
        /// The member's name.
        member: &'static str,
    },
    /// An interaction without a number has no place in the order.
    #[error("interaction {at}: i is {}, not a number", .found.name())]
    Index {
        /// The position of the interaction, from 0.
        at: usize,
        /// What `i` is.
        found: Kind,
    },
    /// A value in it has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
}

/// The hash of a session's core. Whatever else is wrong with the session, this is what `model_io_hash` would be.
pub fn hash(text: &[u8], limits: &Limits) -> Result<Digest, CoreFault> {
    let mut reader = SessionReader::open(text, limits)?;
    let mut interactions = Vec::new();
    while let Some(interaction) = reader.next_interaction().map_err(ReadError::from)? {
        let at = interactions.len();
        Covered::of(at, &interaction)?;
        interactions.push(interaction);
    }
    hash_of(reader.head(), &interactions)
}

/// The hash of the core of a session that has been read.
pub fn hash_of(head: &Head<'_>, interactions: &[InteractionView<'_>]) -> Result<Digest, CoreFault> {
    let mut hasher = Hasher::new();
    write(head, interactions, &mut hasher)?;
    Ok(hasher.finish())
}

/// Writes the canonical text of the core. After an error, what was written is to be thrown away.
pub fn write<S: Sink>(
    head: &Head<'_>,
    interactions: &[InteractionView<'_>],
    out: &mut S,
) -> Result<(), CoreFault> {
    let version = present(head.model_io_schema_version, "model_io_schema_version")?;
    let adapter_id = present(head.adapter_id, "adapter_id")?;
    let model_id = present(head.model_id, "model_id")?;
    let mode = present(head.mode, "mode")?;
    match head.interactions {
        Some(Kind::Array) => {}
        Some(found) => return Err(CoreFault::NotAnArray { found }),
        None => return Err(CoreFault::Missing { member: "interactions" }),
    }
    out.put(b"{\"adapter_id\":");
    ModelIoForm.write(adapter_id, out)?;
    out.put(b",\"interactions\":[");
    each(interactions, out)?;
    out.put(b"],\"mode\":");
    ModelIoForm.write(mode, out)?;
    out.put(b",\"model_id\":");
    ModelIoForm.write(model_id, out)?;
    out.put(b",\"model_io_schema_version\":");
    ModelIoForm.write(version, out)?;
    out.put(b"}");
    Ok(())
}

fn present<'a>(value: Option<Value<'a>>, member: &'static str) -> Result<Value<'a>, CoreFault> {
    value.ok_or(CoreFault::Missing { member })
}

/// The members of an interaction that the hash covers (§4.2).
struct Covered<'a> {
    i: Value<'a>,
    prompt_hash: Value<'a>,
    response_content: Value<'a>,
    response_hash: Value<'a>,
}

impl<'a> Covered<'a> {
    fn of(at: usize, view: &InteractionView<'a>) -> Result<Self, CoreFault> {
        let present = |value: Option<Value<'a>>, member| value.ok_or(CoreFault::Incomplete { at, member });
        let i = present(view.i, "i")?;
        if i.kind() != Kind::Number {
            return Err(CoreFault::Index { at, found: i.kind() });
        }
        Ok(Self {
            i,
            prompt_hash: present(view.prompt_hash, "prompt_hash")?,
            response_content: present(view.response_content, "response_content")?,
            response_hash: present(view.response_hash, "response_hash")?,
        })
    }

    fn write<S: Sink>(&self, out: &mut S) -> Result<(), CanonicalFault> {
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

fn each<S: Sink>(interactions: &[InteractionView<'_>], out: &mut S) -> Result<(), CoreFault> {
    let mut in_order = |order: &mut dyn Iterator<Item = usize>| {
        for (written, at) in order.enumerate() {
            if written > 0 {
                out.put(b",");
            }
            Covered::of(at, &interactions[at])?.write(out)?;
        }
        Ok(())
    };
    // What exceeds the doubles has no canonical form and ends in an error, wherever it is put.
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
        let mut reader = SessionReader::open(session.as_bytes(), &Limits::default())?;
        let mut interactions = Vec::new();
        while let Some(interaction) = reader.next_interaction().map_err(ReadError::from)? {
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
        assert_eq!(session("7"), Err(CoreFault::NotAnArray { found: Kind::Number }));
        assert_eq!(session("[null]"), Err(CoreFault::Incomplete { at: 0, member: "i" }));
        let index = session(r#"[{"i":"0"}]"#);
        assert_eq!(index, Err(CoreFault::Index { at: 0, found: Kind::String }));
        let far = session(r#"[{"i":1e400,"prompt_hash":"","response_hash":"","response_content":""}]"#);
        assert!(matches!(far, Err(CoreFault::Canonical(CanonicalFault::Number { .. }))), "{far:?}");
        assert_eq!(
            text(r#"{"interactions":[]}"#),
            Err(CoreFault::Missing { member: "model_io_schema_version" })
        );
        assert_eq!(text("[]"), Err(CoreFault::Read(ReadError::NotAnObject { found: Kind::Array })));
    }
}
