//! Conversion of any format to any other: by import, by restoring an imported record, or by export.
//!
//! | source | target RER | other target |
//! |---|---|---|
//! | run of another format | import | export |
//! | record of an import-only format | import | export of its view |
//! | RER artifact | error | export |
//! | RER artifact that was imported | error | the original, or its export |

use reenact_formats::FormatId;
use reenact_formats::format::Support;
use reenact_formats::replay_bundle::MANIFEST;
use reenact_json::{Digest, Limits};
use reenact_verify::{Keys, Options};

use super::artifact_builder::ImportContext;
use super::error::ConvertError;
use super::export::loss_notes::document;
use super::export::model_io_pack::{PackRunFacts, run_file};
use super::export::{ExportContext, ModelIoOptions, export};
use super::foreign;
use super::import::import;
use super::loss::Losses;
use super::restore::{RestoredRecord, restore};
use super::source::{ImportSource, RecordFile};
use crate::open::{NamedFiles, open, open_files};
use crate::run::Run;

/// Record to convert.
#[derive(Debug, Clone, Copy)]
pub enum ConversionInput<'a> {
    /// Run of a format that has a reader.
    Run(&'a Run),
    /// Record of an import-only format: the format, and the bytes of its main file.
    Foreign(FormatId, &'a [u8]),
}

/// Result of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Files that were made, the main file first.
    pub files: Vec<RecordFile>,
    /// True if the files belong into a folder of their own, even if there is only one.
    pub is_folder: bool,
    /// True if the files are the record that the source was once imported from.
    pub is_restored: bool,
    /// Parts of the source that are not in the files.
    pub losses: Losses,
    /// Reasons why the record that the source was once imported from may be forged or damaged. Safe to print.
    pub doubts: Vec<String>,
}

impl Converted {
    /// Makes the result of a conversion to one file, without losses.
    pub fn single_file(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            files: vec![RecordFile { name: name.into(), bytes }],
            is_folder: false,
            is_restored: false,
            losses: Losses::new(),
            doubts: Vec::new(),
        }
    }
}

/// Format to convert to, with the choices that it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversionTarget {
    /// Format to write.
    pub format: FormatId,
    /// Choices of a Model IO session; of no meaning for other formats.
    pub model_io: ModelIoOptions,
}

impl From<FormatId> for ConversionTarget {
    fn from(format: FormatId) -> Self {
        Self { format, model_io: ModelIoOptions::default() }
    }
}

/// Facts about the source of a conversion, which the record itself does not hold.
#[derive(Debug, Clone, Copy)]
pub struct SourceInfo<'a> {
    /// SHA-256 of the record's file as it was found; of a folder, that of its main file.
    pub digest: Digest,
    /// Bytes of that file, if an RER artifact is to keep them.
    pub original_bytes: Option<&'a [u8]>,
    /// True if the record verified, false if it failed; `None` if no verifier knows its format.
    pub verified: Option<bool>,
    /// Keys to verify the record that an artifact was imported from.
    pub keys: &'a Keys,
}

impl ConversionInput<'_> {
    /// Returns the name of the record's format, as commands and imports write it.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Run(run) if run.is_imported() => FormatId::Rer.name(),
            Self::Run(run) => run.payload_format().name(),
            Self::Foreign(origin, _) => origin.name(),
        }
    }
}

/// Converts a record to another format. `context` seals the artifact if the target is RER.
///
/// An imported artifact is not exported itself: its original is restored, and returned or exported.
///
/// # Errors
/// [`ConvertError::SameFormat`] if there is nothing to convert; else if the source cannot be read, or the
/// target cannot hold it.
pub fn convert(
    input: ConversionInput<'_>,
    info: SourceInfo<'_>,
    target: impl Into<ConversionTarget>,
    context: &mut ImportContext<'_>,
) -> Result<Converted, ConvertError> {
    let target = target.into();
    let converted = convert_files(input, info, target, context)?;
    match target.format == FormatId::ModelIo && target.model_io.is_pack {
        true => into_pack(converted, input),
        false => Ok(converted),
    }
}

/// Adds `run.json` to a session, unless it comes from a pack and has one.
fn into_pack(mut converted: Converted, input: ConversionInput<'_>) -> Result<Converted, ConvertError> {
    converted.is_folder = true;
    let Some(session) = converted.files.first().filter(|_| converted.files.len() == 1) else {
        return Ok(converted);
    };
    let facts = match input {
        // An imported artifact has an id and times of its own, which are not those of the run.
        ConversionInput::Run(run) if !run.is_imported() => PackRunFacts {
            run_id: run.id().to_owned(),
            started_at: run.started_at(),
            ended_at: run.ended_at(),
        },
        _ => PackRunFacts::of_session(&session.bytes),
    };
    converted.files.push(run_file(&session.bytes, &facts)?);
    Ok(converted)
}

/// Converts a record to the files of another format, without `run.json` of a pack.
fn convert_files(
    input: ConversionInput<'_>,
    info: SourceInfo<'_>,
    target: ConversionTarget,
    context: &mut ImportContext<'_>,
) -> Result<Converted, ConvertError> {
    let ConversionTarget { format: target, model_io } = target;
    if input.format() == target.name() {
        return Err(ConvertError::SameFormat { format: target.name() });
    }
    let exporting = ExportContext {
        version: context.version,
        now: context.now,
        source: (input.format(), info.digest),
        model_io,
    };
    match input {
        ConversionInput::Foreign(origin, main) if target == FormatId::Rer => {
            // No verifier knows import-only formats, so `info.verified` is ignored.
            let source = ImportSource {
                digest: info.digest,
                original_bytes: info.original_bytes,
                ..ImportSource::of(origin, main)
            };
            Ok(Converted::single_file("artifact.rer.json", import(&source, context)?))
        }
        ConversionInput::Foreign(origin, main) => convert_foreign(origin, main, target, &exporting),
        ConversionInput::Run(run) if target == FormatId::Rer => {
            let (origin, main, beside) = import_parts(run)?;
            let SourceInfo { digest, original_bytes: kept, verified, .. } = info;
            let source = ImportSource {
                format: origin,
                main_file: main,
                other_files: &beside,
                digest,
                original_bytes: kept,
                verified,
            };
            Ok(Converted::single_file("artifact.rer.json", import(&source, context)?))
        }
        ConversionInput::Run(run) => {
            if (run.payload_format() == FormatId::Rer || run.is_imported())
                && let Some(restored) = restore(document(run), &Limits::default())?
            {
                return convert_restored(&restored, target, &exporting, info.keys);
            }
            export_run(run, target, &exporting)
        }
    }
}

/// Splits a run into the parts of an import: its format, its main file, and the other files.
fn import_parts(run: &Run) -> Result<(FormatId, &[u8], Vec<RecordFile>), ConvertError> {
    let file = |(name, bytes): (&str, &[u8])| RecordFile { name: name.into(), bytes: bytes.to_vec() };
    let origin = run.payload_format();
    if origin == FormatId::ReplayBundle {
        let manifest = run.file(MANIFEST).unwrap_or_default();
        let files = run.files().filter(|(name, _)| *name != MANIFEST).map(file).collect();
        return Ok((origin, manifest, files));
    }
    Ok((origin, document(run), run.files().map(file).collect()))
}

/// Exports a run. Only a REPLAY.jsonl belongs into a folder.
fn export_run(run: &Run, target: FormatId, exporting: &ExportContext<'_>) -> Result<Converted, ConvertError> {
    let exported = export(run, target, exporting)?;
    let is_folder = target == FormatId::ReplayJsonl;
    let (files, losses) = (exported.files, exported.losses);
    Ok(Converted { files, is_folder, is_restored: false, losses, doubts: Vec::new() })
}

/// Converts a record of an import-only format to any format but RER, by way of a view. Losses of the export are
/// reported at their paths in the record.
fn convert_foreign(
    origin: FormatId,
    main: &[u8],
    target: FormatId,
    exporting: &ExportContext<'_>,
) -> Result<Converted, ConvertError> {
    let mut losses = Losses::new();
    let view = foreign::view(origin, main, target, &mut losses)?;
    if view.payload_format() == target && target == FormatId::ModelIo {
        let mut converted = Converted::single_file(FormatId::ModelIo.row().main_file, view.bytes().to_vec());
        converted.losses = losses;
        return Ok(converted);
    }
    let mut converted = export_run(&view, target, exporting)?;
    losses.extend(foreign::relocated(&converted.losses, origin));
    converted.losses = losses;
    Ok(converted)
}

/// Converts the original of an imported artifact: returns it as it was if it has the target's format, else
/// converts it.
///
/// The seal of the artifact says nothing about the original, so the original is verified again; faults are
/// doubts, not errors.
fn convert_restored(
    restored: &RestoredRecord,
    target: FormatId,
    exporting: &ExportContext<'_>,
    keys: &Keys,
) -> Result<Converted, ConvertError> {
    let origin = restored.format;
    let mut doubts = Vec::new();
    if restored.verified == Some(false) {
        doubts.push("it did not verify when it was imported".to_owned());
    }
    if origin.name() == target.name() {
        let main =
            RecordFile { name: origin.row().main_file.into(), bytes: restored.original_file()?.into_owned() };
        let mut files = vec![main];
        if origin != FormatId::ReplayBundle {
            files.extend(restored.other_files.iter().cloned());
        }
        let is_folder = files.len() > 1 || origin == FormatId::ReplayJsonl;
        return Ok(Converted { files, is_folder, is_restored: true, losses: Losses::new(), doubts });
    }
    if origin.row().support == Support::ImportOnly {
        let converted = convert_foreign(origin, &restored.main_file, target, exporting)?;
        return Ok(Converted { doubts, ..converted });
    }
    let options = Options::default();
    let opened = if restored.other_files.is_empty() && origin != FormatId::ReplayBundle {
        open(restored.main_file.clone(), keys, &options)
    } else {
        let main = (origin.row().main_file.to_owned(), restored.main_file.clone());
        let beside = restored.other_files.iter().map(|file| (file.name.clone(), file.bytes.clone()));
        open_files(NamedFiles::from_iter(std::iter::once(main).chain(beside)), keys, &options)
    };
    let run = opened.run.map_err(|error| ConvertError::Unreadable(error.to_string()))?;
    if !opened.report.pass() {
        doubts.extend(opened.report.reasons);
    }
    Ok(Converted { doubts, ..export_run(&run, target, exporting)? })
}
