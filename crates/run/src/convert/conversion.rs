//! Any format to any other: which way it takes.

use reenact_formats::FormatId;
use reenact_formats::format::Support;
use reenact_formats::replay_bundle::MANIFEST;
use reenact_json::{Digest, Limits};
use reenact_verify::{Keys, Options};

use super::artifact_builder::ImportContext;
use super::error::ConvertError;
use super::export::loss_notes::document;
use super::export::{ExportContext, export};
use super::foreign;
use super::import::import;
use super::loss::Losses;
use super::restore::{RestoredRecord, restore};
use super::source::{ImportSource, RecordFile};
use crate::open::{NamedFiles, open, open_files};
use crate::run::Run;

/// What is to be converted.
#[derive(Debug, Clone, Copy)]
pub enum ConversionInput<'a> {
    /// A run of a format that is read everywhere.
    Run(&'a Run),
    /// A record that only conversion knows.
    Foreign(FormatId, &'a [u8]),
}

/// What a conversion gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The files, the main one first.
    pub files: Vec<RecordFile>,
    /// Whether they belong into a folder of their own, even if it is one.
    pub is_folder: bool,
    /// Whether they are what the source was once imported from, as it was.
    pub is_restored: bool,
    /// What of the source is not in them.
    pub losses: Losses,
    /// Why the record that the source was once imported from may not be what was recorded. Safe to print.
    pub doubts: Vec<String>,
}

impl Converted {
    fn single_file(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            files: vec![RecordFile { name: name.into(), bytes }],
            is_folder: false,
            is_restored: false,
            losses: Losses::new(),
            doubts: Vec::new(),
        }
    }
}

/// How a source is told apart from others, and whether its bytes are to be kept.
#[derive(Debug, Clone, Copy)]
pub struct SourceInfo<'a> {
    /// SHA-256 of the file as it was found; of a folder, of its main file.
    pub digest: Digest,
    /// The bytes of that file, if they are to be kept in RER.
    pub original_bytes: Option<&'a [u8]>,
    /// Whether it verifies; `None` of what no verifier knows.
    pub verified: Option<bool>,
    /// Keys for what it was imported from.
    pub keys: &'a Keys,
}

impl ConversionInput<'_> {
    /// What it is, in the words of commands and imports.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Run(run) if run.is_imported() => FormatId::Rer.name(),
            Self::Run(run) => run.payload_format().name(),
            Self::Foreign(origin, _) => origin.name(),
        }
    }
}

/// Converts a record to another format. `sealing` seals, where the target is RER.
pub fn convert(
    input: ConversionInput<'_>,
    info: SourceInfo<'_>,
    target: FormatId,
    context: &mut ImportContext<'_>,
) -> Result<Converted, ConvertError> {
    if input.format() == target.name() {
        return Err(ConvertError::SameFormat { format: target.name() });
    }
    let exporting =
        ExportContext { version: context.version, now: context.now, source: (input.format(), info.digest) };
    match input {
        ConversionInput::Foreign(origin, main) if target == FormatId::Rer => {
            // No verifier knows these, whatever is said of them.
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

/// A run as what it is imported from: its origin, its main file, and the other files.
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

fn export_run(run: &Run, target: FormatId, exporting: &ExportContext<'_>) -> Result<Converted, ConvertError> {
    let exported = export(run, target, exporting)?;
    let is_folder = target == FormatId::ReplayJsonl;
    let (files, losses) = (exported.files, exported.losses);
    Ok(Converted { files, is_folder, is_restored: false, losses, doubts: Vec::new() })
}

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

/// A record that was imported: given back as what it was, or converted from that.
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
