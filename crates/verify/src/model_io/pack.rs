//! Packs: a run and its session in one folder or archive (§7). The run may name the session by its
//! hash.

use reenact_formats::model_io::{content_hash, pack, read_content_hash};
use reenact_json::digest::constant_time_eq;
use reenact_json::{Value, ValueKind};

use super::{ModelIoFindings, ModelIoJob, SCHEMA, run_in_order, verify_with as verify_session_with};
use crate::check::{Check, CheckId};
use crate::report::shown_carried;
use crate::{BundleMembers, Options, Report};

/// Check that a pack adds: `run.json` names this session.
pub const MODEL_IO_BINDING: CheckId =
    CheckId::new("model_io_binding", "run.json names this session by its hash");

/// Verifies a pack on the caller's thread.
pub fn verify(members: &BundleMembers, options: &Options) -> Report {
    verify_with(members, options, run_in_order)
}

/// Verifies a pack. `run` runs the jobs of its session, in any way that returns their findings in the
/// order of the jobs.
pub fn verify_with(
    members: &BundleMembers,
    options: &Options,
    run: impl FnOnce(&[ModelIoJob<'_, '_>]) -> Vec<ModelIoFindings>,
) -> Report {
    let session = members.document(pack::SESSION_FILE).unwrap_or_default();
    let mut report = verify_session_with(session, options, run);
    report.checks.push(Check::holding(MODEL_IO_BINDING));
    let passed = report.pass();
    match check_binding(members.document(pack::RUN_FILE).unwrap_or_default(), &report, options) {
        Ok(SessionBinding::Named) => {}
        Ok(SessionBinding::Absent) => {
            report.mark_void(MODEL_IO_BINDING);
            report.notes.push("run.json names no session: nothing binds the two".into());
        }
        Err(reason) => {
            report.fail(MODEL_IO_BINDING, reason);
            if passed {
                report.summary = "the session is intact, but run.json does not name it".into();
            } else if report.check(SCHEMA) == Some(true) {
                report.summary = report.failure_summary().unwrap_or_default();
            }
        }
    }
    report
}

/// Relation of a run to its session.
enum SessionBinding {
    /// The run names the session by its true hash.
    Named,
    /// The run names no session.
    Absent,
}

/// Compares the hash in `run.json` with that of the session.
///
/// # Errors
/// Returns the reason if `run.json` cannot be read or names another session.
fn check_binding(run: &[u8], report: &Report, options: &Options) -> Result<SessionBinding, String> {
    let run = Value::parse(run, &options.limits)
        .map_err(|error| format!("run.json is not JSON that can be trusted: {}", error.describe(run)))?;
    if run.kind() != ValueKind::Object {
        return Err(format!("run.json is {}, not an object", run.kind().name()));
    }
    let named = match run.member(pack::MODEL_IO_HASH) {
        None => return Ok(SessionBinding::Absent),
        Some(named) if named.is_null() => return Ok(SessionBinding::Absent),
        Some(named) => named,
    };
    let Some(digest) = read_content_hash(Some(named)) else {
        let found =
            named.string().map_or_else(|| named.kind().name().to_owned(), |text| shown_carried(&text));
        return Err(format!("model_io_hash in run.json is not sha256:<64 hex chars>, but {found}"));
    };
    let named = content_hash(&digest);
    let computed = report.digests.iter().find(|(name, _)| *name == "model_io_hash").map(|(_, hash)| hash);
    match computed {
        None => Err(format!("run.json names {named}, but the session does not hold, so that it has no hash")),
        Some(computed) if constant_time_eq(computed.as_bytes(), named.as_bytes()) => {
            Ok(SessionBinding::Named)
        }
        Some(computed) => Err(format!("run.json names {named}, recomputed {computed}")),
    }
}
