//! A run → a format that it did not come from: what has a home there, and a list of what has none.

pub(crate) mod account;
mod ids;
pub(super) mod json;
pub(super) mod model_io;
pub mod replay_bundle;
pub(super) mod replay_jsonl;
pub(super) mod rpk;
mod summary;

use reenact_formats::FormatId;
use reenact_json::Digest;

use super::fault::ConvertError;
use super::loss::Losses;
use super::route::route;
use super::source::File;
use crate::run::Run;

/// What a run is written as, and when and by which version.
#[derive(Debug, Clone, Copy)]
pub struct Exporting<'a> {
    /// The version of the program that converts.
    pub version: &'a str,
    /// When: RFC 3339. It stands for times that the source does not tell.
    pub now: &'a str,
    /// What the source is, and its digest: where the target has a place for it, it says where it came from.
    pub source: (&'a str, Digest),
}

/// What was written, and what was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The files: one, but for a REPLAY.jsonl, which has its receipt and its summary beside it.
    pub files: Vec<File>,
    /// What has no place there.
    pub losses: Losses,
}

/// Writes a run as a record of another format. RER is not among them: that is [`super::import()`].
pub fn export(run: &Run, target: FormatId, how: &Exporting<'_>) -> Result<Exported, ConvertError> {
    let mut losses = Losses::new();
    account::around(run, target, &mut losses);
    let write = route(target)?.export.ok_or(ConvertError::NotATarget)?;
    let files = write(run, how, &mut losses)?;
    Ok(Exported { files, losses })
}
