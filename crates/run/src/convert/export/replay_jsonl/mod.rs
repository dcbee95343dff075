//! Export to REPLAY.jsonl, with RECEIPT.json and PR_SUMMARY.md: tool calls, plans, steps and verifications. The
//! replay keeps the hashes of outputs.
//!
//! | module | what it does |
//! |---|---|
//! | `exporter` | writes the line of each event, one after the other |
//! | `live` | gives the exporter the events of a run that is being recorded |
//! | `pr_summary` | writes the summary for people |
//!
//! The format requires values that few sources tell, such as utilities and a confidence. They are written with
//! a placeholder, and each is listed as a loss, so that a reader does not take it for a fact. Start reading at
//! [`write`].

mod exporter;
pub(in crate::convert) mod live;
mod pr_summary;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::writer::SessionStatus;
use reenact_formats::replay_jsonl::{RECEIPT, REPLAY, SUMMARY};
use reenact_json::Value;

use self::exporter::{ReplayJsonlExporter, SessionFacts, WrittenReplay};
use super::ExportContext;
use super::loss_notes::widest_limits;
use crate::convert::error::ConvertError;
use crate::convert::event_time;
use crate::convert::loss::{Losses, SourcePath};
use crate::convert::source::RecordFile;
use crate::reader::replay_jsonl::finite_f32;
use crate::run::Run;

/// Reason of a default `status`, if the source has none.
const NO_STATUS: &str = "the source does not tell how it ended; Failed is written";
/// Reason of a default `status`, if the source has another word.
const OTHER_STATUS: &str = "the format does not know the word for how it ended; Failed is written";
/// Reason of a session id that the format refuses.
const SESSION_ID: &str = "the id cannot name a folder; another is written";
/// Reason of a made-up session id.
const NO_ID: &str = "the source names no session; one is made up";

/// Writes a run as a replay, with its receipt and summary. Values that the format requires and the source does
/// not tell are made up, and listed as losses.
///
/// # Errors
/// If the writer of the format refuses a value.
pub(in crate::convert) fn write(
    run: &Run,
    context: &ExportContext<'_>,
    losses: &mut Losses,
) -> Result<Vec<RecordFile>, ConvertError> {
    let now = event_time::event_timestamp(context.now).unwrap_or_default();
    let started_at = run.started_at().as_deref().and_then(event_time::event_timestamp).unwrap_or(now);
    // Only a typed replay, which is shown as a REPLAY.jsonl, has these members.
    let own = |value: Option<Value<'_>>, names: &[&str]| {
        let value = value.filter(|_| run.payload_format() == FormatId::ReplayJsonl)?;
        names.iter().find_map(|name| value.member(name)).map(|value| value.text().to_vec())
    };
    let policy = own(run.started(), &["policy_bundle_id", "policy_version"]);
    let policy =
        policy.and_then(|text| Some(Value::parse(&text, &widest_limits()).ok()?.string()?.into_owned()));
    let confidence = own(run.ended(), &["confidence"]);
    let confidence = confidence.and_then(|text| finite_f32(Value::parse(&text, &widest_limits()).ok()?));
    let confidence = confidence.filter(|confidence| (0.0..=1.0).contains(confidence));
    let mut own_losses = std::mem::take(losses);
    let session_id = session_id(run, context, &mut own_losses);
    let session = SessionFacts { session_id, policy, confidence, started_at, version: context.version };
    let mut exporter = ReplayJsonlExporter::start(Vec::new(), &session, own_losses)?;
    for event in run.events() {
        exporter.write_event(run, &event, None)?;
    }
    let status = session_status(run.ended(), exporter.losses());
    let ended_at = run.ended_at().as_deref().and_then(event_time::event_timestamp);
    let written = exporter.end(ended_at, status, run.ended())?;
    let WrittenReplay { out, receipt, summary, losses: all_losses } = written;
    *losses = all_losses;
    Ok(vec![
        RecordFile { name: REPLAY.into(), bytes: out },
        RecordFile { name: RECEIPT.into(), bytes: receipt },
        RecordFile { name: SUMMARY.into(), bytes: summary.into_bytes() },
    ])
}

/// Returns the id of the run, or one made of the source's digest where that cannot name a folder.
fn session_id(run: &Run, context: &ExportContext<'_>, losses: &mut Losses) -> String {
    if reenact_formats::replay_jsonl::field::is_folder_name(run.id()) {
        return run.id().to_owned();
    }
    let why = if run.id().is_empty() { NO_ID } else { SESSION_ID };
    losses.add(SourcePath::At("session_id".into()), why);
    let (_, digest) = context.source;
    digest.to_string().chars().take(16).collect()
}

/// Returns the status of a run in the words of this format; `ended` is the payload of its last event. An unknown status is no
/// success.
fn session_status(ended: Option<Value<'_>>, losses: &mut Losses) -> SessionStatus {
    let said = ended.and_then(|ended| ended.member("status")?.string());
    match said.as_deref() {
        Some("completed" | "Success" | "success") => SessionStatus::Success,
        Some("failed" | "crashed" | "Failed" | "failure") => SessionStatus::Failed,
        Some("aborted" | "Cancelled" | "cancelled") => SessionStatus::Cancelled,
        Some("Timeout") => SessionStatus::Timeout,
        said => {
            let why = if said.is_some() { OTHER_STATUS } else { NO_STATUS };
            losses.add(SourcePath::At("status".into()), why);
            SessionStatus::Failed
        }
    }
}
