//! Packs (§7): a run in `run.json`, and the session that it may name by `model_io_hash`.

use reenact_json::{CanonicalFault, Digest, Kind, Limits, SyntaxError, Value, canonical};

use super::canonical::ModelIoForm;
use super::content_hash;

/// The run of a pack.
pub const RUN: &str = "run.json";

/// The session of a pack.
pub const SESSION: &str = "model_io.json";

/// The member of a run that names its session.
pub const MODEL_IO_HASH: &str = "model_io_hash";

/// Why a run cannot be bound to a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindFault {
    /// It is not JSON.
    #[error("run.json is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    /// It is something else than an object.
    #[error("run.json is {}, not an object", .found.name())]
    NotAnObject {
        /// What it is.
        found: Kind,
    },
    /// It has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
}

/// The run, in canonical form, with `model_io_hash` naming a session: in place of another one, if it named one before.
pub fn bind(run: &[u8], session: &Digest, limits: &Limits) -> Result<Vec<u8>, BindFault> {
    let parsed = Value::parse(run, limits)?;
    if parsed.kind() != Kind::Object {
        return Err(BindFault::NotAnObject { found: parsed.kind() });
    }
    let mut text = format!("{{\"{MODEL_IO_HASH}\":\"{}\"", content_hash(session)).into_bytes();
    for (name, value) in parsed.members().filter(|(name, _)| !name.is_string(MODEL_IO_HASH)) {
        text.push(b',');
        text.extend_from_slice(name.text());
        text.push(b':');
        text.extend_from_slice(value.text());
    }
    text.push(b'}');
    Ok(canonical::to_vec(Value::parse(&text, limits)?, ModelIoForm)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_names_its_session_once() {
        let digest = Digest::of(b"");
        let bound = |run: &str| {
            let bound = bind(run.as_bytes(), &digest, &Limits::default());
            bound.map(|bytes| String::from_utf8(bytes).unwrap())
        };
        let expected = format!(r#"{{"a":1,"model_io_hash":"sha256:{digest}","z":[2]}}"#);
        assert_eq!(bound(r#"{"z": [2], "a": 1.0}"#).as_deref(), Ok(expected.as_str()));
        assert_eq!(bound(r#"{"z":[2],"model_io_h\u0061sh":null,"a":1}"#).as_deref(), Ok(expected.as_str()));
        assert_eq!(bound(&expected).as_deref(), Ok(expected.as_str()));
        assert_eq!(bound("{}"), Ok(format!(r#"{{"model_io_hash":"sha256:{digest}"}}"#)));
        assert_eq!(bound("[]"), Err(BindFault::NotAnObject { found: Kind::Array }));
        assert!(matches!(bound("{"), Err(BindFault::Syntax(_))));
        assert!(matches!(bound("{\"a\":1e999}"), Err(BindFault::Canonical(_))));
    }
}
