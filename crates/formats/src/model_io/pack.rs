//! Packs (§7): a run in `run.json`, and the session that the run may name by `model_io_hash`.

use reenact_json::{CanonicalFault, Digest, Limits, SyntaxError, Value, ValueKind, canonical};

use super::canonical::ModelIoForm;
use super::content_hash;

/// File name of the run in a pack.
pub const RUN_FILE: &str = "run.json";

/// File name of the session in a pack.
pub const SESSION_FILE: &str = "model_io.json";

/// Member of a run that names its session.
pub const MODEL_IO_HASH: &str = "model_io_hash";

/// Reason why a run cannot be bound to a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackBindFault {
    /// The run is not JSON.
    #[error("run.json is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    /// The run is not an object.
    #[error("run.json is {}, not an object", .found.name())]
    NotAnObject {
        /// Kind of the value.
        found: ValueKind,
    },
    /// The run has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
}

/// Returns the run, in canonical form, with `model_io_hash` naming a session. An older `model_io_hash` is replaced.
///
/// # Errors
///
/// [`PackBindFault`] if `run` is not a JSON object within `limits`, or has no canonical form.
pub fn bind(run: &[u8], session: &Digest, limits: &Limits) -> Result<Vec<u8>, PackBindFault> {
    let parsed = Value::parse(run, limits)?;
    if parsed.kind() != ValueKind::Object {
        return Err(PackBindFault::NotAnObject { found: parsed.kind() });
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
        assert_eq!(bound("[]"), Err(PackBindFault::NotAnObject { found: ValueKind::Array }));
        assert!(matches!(bound("{"), Err(PackBindFault::Syntax(_))));
        assert!(matches!(bound("{\"a\":1e999}"), Err(PackBindFault::Canonical(_))));
    }
}
