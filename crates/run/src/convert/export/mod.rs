//! A run → a format that it did not come from: what has a home there, and a list of what has none.

pub(crate) mod loss_notes;
pub(super) mod model_io;
pub(super) mod object_builder;
mod pr_summary;
pub mod replay_bundle;
pub(super) mod replay_jsonl;
pub(super) mod rpk;
mod unique_ids;

use reenact_formats::FormatId;
use reenact_json::Digest;

use super::error::ConvertError;
use super::loss::Losses;
use super::route::route;
use super::source::RecordFile;
use crate::run::Run;

/// What a run is written as, and when and by which version.
#[derive(Debug, Clone, Copy)]
pub struct ExportContext<'a> {
    /// The version of the program that converts.
    pub version: &'a str,
    /// When: RFC 3339. It stands for times that the source does not tell.
    pub now: &'a str,
    /// What the source is, and its digest: where the target has a place for it, it says where it came from.
    pub source: (&'a str, Digest),
}

/// What was written, and what was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedRecord {
    /// The files: one, but for a REPLAY.jsonl, which has its receipt and its summary beside it.
    pub files: Vec<RecordFile>,
    /// What has no place there.
    pub losses: Losses,
}

/// Writes a run as a record of another format. RER is not among them: that is [`super::import()`].
pub fn export(
    run: &Run,
    target: FormatId,
    context: &ExportContext<'_>,
) -> Result<ExportedRecord, ConvertError> {
    let mut losses = Losses::new();
    loss_notes::note_document_losses(run, target, &mut losses);
    let write = route(target)?.export.ok_or(ConvertError::NotATarget)?;
    let files = write(run, context, &mut losses)?;
    Ok(ExportedRecord { files, losses })
}
