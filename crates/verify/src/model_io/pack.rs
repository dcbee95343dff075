//! Packs: a run and its session in one folder or archive (§7). The run may name the session by its hash.

use reenact_formats::model_io::{content_hash, pack, read_content_hash};
use reenact_json::{Kind, Value};

use super::judge::failed;
use super::{Finding, Job, SCHEMA, in_order, verify_with as verify_session_with};
use crate::report::{Check, carried};
use crate::{Members, Options, Report};

/// The check that a pack adds.
pub const MODEL_IO_BINDING: &str = "model_io_binding";

/// Judges a pack, on one thread.
pub fn verify(members: &Members, options: &Options) -> Report {
    verify_with(members, options, in_order)
}

/// Judges a pack; `run` runs the jobs of its session, in any way that gives their findings in order.
pub fn verify_with(
    members: &Members,
    options: &Options,
    run: impl FnOnce(&[Job<'_, '_>]) -> Vec<Finding>,
) -> Report {
    let session = members.document(pack::SESSION).unwrap_or_default();
    let mut report = verify_session_with(session, options, run);
    let asks = "run.json names this session by its hash";
    report.checks.push(Check { name: MODEL_IO_BINDING, asks, holds: Some(true) });
    let held = report.pass();
    match binding(members.document(pack::RUN).unwrap_or_default(), &report, options) {
        Ok(Binding::Named) => {}
        Ok(Binding::Absent) => {
            report
                .checks
                .iter_mut()
                .filter(|check| check.name == MODEL_IO_BINDING)
                .for_each(|check| check.holds = None);
            report.notes.push("run.json names no session: nothing binds the two".into());
        }
        Err(reason) => {
            report.fail(MODEL_IO_BINDING, reason);
            if held {
                report.verdict = "the session is intact, but run.json does not name it".into();
            } else if report.check(SCHEMA) == Some(true) {
                report.verdict = failed(&report);
            }
        }
    }
    report
}

enum Binding {
    Named,
    Absent,
}

fn binding(run: &[u8], report: &Report, options: &Options) -> Result<Binding, String> {
    let run = Value::parse(run, &options.limits)
        .map_err(|error| format!("run.json is not JSON that can be trusted: {}", error.describe(run)))?;
    if run.kind() != Kind::Object {
        return Err(format!("run.json is {}, not an object", run.kind().name()));
    }
    let named = match run.member(pack::MODEL_IO_HASH) {
        None => return Ok(Binding::Absent),
        Some(named) if named.is_null() => return Ok(Binding::Absent),
        Some(named) => named,
    };
    let Some(digest) = read_content_hash(Some(named)) else {
        let found = named.string().map_or_else(|| named.kind().name().to_owned(), |text| carried(&text));
        return Err(format!("model_io_hash in run.json is not sha256:<64 hex chars>, but {found}"));
    };
    let named = content_hash(&digest);
    let computed = report.digests.iter().find(|(name, _)| *name == "model_io_hash").map(|(_, hash)| hash);
    match computed {
        None => Err(format!("run.json names {named}, but the session does not hold, so that it has no hash")),
        Some(computed) if *computed == named => Ok(Binding::Named),
        Some(computed) => Err(format!("run.json names {named}, recomputed {computed}")),
    }
}
