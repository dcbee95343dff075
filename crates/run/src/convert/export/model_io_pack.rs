//! A Model IO session as a pack (§7): a folder of the session and of `run.json`, which names the session by its hash.
//!
//! `run.json` has the members of the reference that are known of any run, and no others: `run_id`, `started_at`, `completed_at`,
//! `model_mode`, `model_io_hash`. What only the reference's own kernel knows (its version, its decision, intent and policy) is left out.
//!
//! ```json
//! {"completed_at":"…","model_io_hash":"sha256:…","model_mode":"record","run_id":"…","started_at":"…"}
//! ```

use reenact_formats::model_io::{core_hash, pack};
use reenact_json::Value;

use super::loss_notes::widest_limits;
use super::object_builder::ObjectBuilder;
use crate::convert::error::ConvertError;
use crate::convert::event_time::event_timestamp;
use crate::convert::source::RecordFile;

/// Facts about a run that its session does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::convert) struct PackRunFacts {
    /// Id of the run; empty if it has none.
    pub(in crate::convert) run_id: String,
    pub(in crate::convert) started_at: Option<String>,
    pub(in crate::convert) ended_at: Option<String>,
}

impl PackRunFacts {
    /// Returns the facts that a session holds itself: its times.
    pub(in crate::convert) fn of_session(session: &[u8]) -> Self {
        let session = Value::parse(session, &widest_limits()).ok();
        let text = |name: &str| Some(session?.member(name)?.string()?.into_owned());
        Self { run_id: String::new(), started_at: text("created_at_utc"), ended_at: text("ended_at_utc") }
    }
}

/// Returns `run.json` for a session, in canonical form.
///
/// # Errors
/// [`ConvertError::Unreadable`] if the session cannot be hashed, so that nothing could name it.
pub(in crate::convert) fn run_file(session: &[u8], facts: &PackRunFacts) -> Result<RecordFile, ConvertError> {
    let limits = widest_limits();
    let unreadable = |what: String| ConvertError::Unreadable(what);
    let hash = core_hash::hash(session, &limits).map_err(|fault| unreadable(fault.to_string()))?;
    let mode = Value::parse(session, &limits).ok();
    let mode = mode.and_then(|session| Some(session.member("mode")?.string()?.into_owned()));
    let time = |time: &Option<String>| time.as_deref().and_then(event_timestamp);
    let run = ObjectBuilder::new()
        .optional_string("completed_at", time(&facts.ended_at).as_deref())
        .optional_string("model_mode", mode.as_deref())
        .optional_string("run_id", Some(facts.run_id.as_str()).filter(|id| !id.is_empty()))
        .optional_string("started_at", time(&facts.started_at).as_deref())
        .close();
    let bytes = pack::bind(&run, &hash, &limits).map_err(|fault| unreadable(fault.to_string()))?;
    Ok(RecordFile { name: pack::RUN_FILE.into(), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    #[test]
    fn what_is_not_known_is_left_out() {
        let session = br#"{"adapter_id":"a","interactions":[],"mode":"replay","model_id":"m","model_io_schema_version":"1.0.0"}"#;
        let hash = core_hash::hash(session, &Limits::default()).unwrap();
        let file = run_file(session, &PackRunFacts::of_session(session)).unwrap();
        assert_eq!(
            String::from_utf8(file.bytes).unwrap(),
            format!(r#"{{"model_io_hash":"sha256:{hash}","model_mode":"replay"}}"#)
        );
        let facts = PackRunFacts {
            run_id: "r1".into(),
            started_at: Some("2026-11-14T10:30:00+01:00".into()),
            ended_at: Some("soon".into()),
        };
        let file = run_file(session, &facts).unwrap();
        assert_eq!(
            String::from_utf8(file.bytes).unwrap(),
            format!(
                r#"{{"model_io_hash":"sha256:{hash}","model_mode":"replay","run_id":"r1","started_at":"2026-11-14T09:30:00.000Z"}}"#
            )
        );
    }
}
