//! Export of a run to a format that it did not come from: what has a place there is written, the rest is
//! listed.

pub(crate) mod loss_notes;
pub mod model_io;
pub(super) mod model_io_pack;
pub(super) mod object_builder;
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

pub use model_io::{ModelIoOptions, ModelIoPromptPart};

/// Inputs of an export apart from the run: version, time and source.
#[derive(Debug, Clone, Copy)]
pub struct ExportContext<'a> {
    /// Version of the program that converts.
    pub version: &'a str,
    /// Time of the export, RFC 3339. It replaces times that the source does not tell.
    pub now: &'a str,
    /// Name of the source's format, and its digest. Targets that have a place for them name their source.
    pub source: (&'a str, Digest),
    /// Choices of a Model IO session.
    pub model_io: ModelIoOptions,
}

/// Result of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedRecord {
    /// Files that were written: one, except for a REPLAY.jsonl, which has its receipt and its summary beside
    /// it.
    pub files: Vec<RecordFile>,
    /// Parts of the run that have no place in the format.
    pub losses: Losses,
}

/// Writes a run as a record of another format.
///
/// # Errors
/// [`ConvertError::NotATarget`] for RER, which records are imported into by [`super::import()`], and for
/// formats that are never written; else if the format cannot hold the run.
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
