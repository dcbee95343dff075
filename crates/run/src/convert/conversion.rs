//! Any format to any other: which way it takes.

use reenact_formats::FormatId;
use reenact_formats::format::Support;
use reenact_formats::replay_bundle::MANIFEST;
use reenact_json::{Digest, Limits};
use reenact_verify::{Keys, Options};

use super::export::account::document;
use super::export::{Exporting, export};
use super::fault::ConvertError;
use super::foreign;
use super::import::import;
use super::loss::Losses;
use super::restore::{Restored, restore};
use super::sealing::Sealing;
use super::source::{File, Source};
use crate::open::{Files, open, open_files};
use crate::run::Run;

/// What is to be converted.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// A run of a format that is read everywhere.
    Run(&'a Run),
    /// A record that only conversion knows.
    Other(FormatId, &'a [u8]),
}

/// What a conversion gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The files, the main one first.
    pub files: Vec<File>,
    /// Whether they belong into a folder of their own, even if it is one.
    pub is_folder: bool,
    /// Whether they are what the source was once imported from, as it was.
    pub restored: bool,
    /// What of the source is not in them.
    pub losses: Losses,
    /// Why the record that the source was once imported from may not be what was recorded. Safe to print.
    pub doubts: Vec<String>,
}

impl Converted {
    fn one(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            files: vec![File { name: name.into(), bytes }],
            is_folder: false,
            restored: false,
            losses: Losses::new(),
            doubts: Vec::new(),
        }
    }
}

/// How a source is told apart from others, and whether its bytes are to be kept.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// SHA-256 of the file as it was found; of a folder, of its main file.
    pub digest: Digest,
    /// The bytes of that file, if they are to be kept in RER.
    pub kept: Option<&'a [u8]>,
    /// Whether it verifies; `None` of what no verifier knows.
    pub verified: Option<bool>,
    /// Keys for what it was imported from.
    pub keys: &'a Keys,
}

impl Input<'_> {
    /// What it is, in the words of commands and imports.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Run(run) if run.is_imported() => FormatId::Rer.name(),
            Self::Run(run) => run.dialect().name(),
            Self::Other(origin, _) => origin.name(),
        }
    }
}

/// Converts a record to another format. `sealing` seals, where the target is RER.
pub fn convert(
    input: Input<'_>,
    found: Found<'_>,
    target: FormatId,
    sealing: &mut Sealing<'_>,
) -> Result<Converted, ConvertError> {
    if input.format() == target.name() {
        return Err(ConvertError::SameFormat { format: target.name() });
    }
    let exporting =
        Exporting { version: sealing.version, now: sealing.now, source: (input.format(), found.digest) };
    match input {
        Input::Other(origin, main) if target == FormatId::Rer => {
            // No verifier knows these, whatever is said of them.
            let source = Source { digest: found.digest, kept: found.kept, ..Source::of(origin, main) };
            Ok(Converted::one("artifact.rer.json", import(&source, sealing)?))
        }
        Input::Other(origin, main) => other(origin, main, target, &exporting),
        Input::Run(run) if target == FormatId::Rer => {
            let (origin, main, beside) = parts(run)?;
            let Found { digest, kept, verified, .. } = found;
            let source = Source { origin, main, beside: &beside, digest, kept, verified };
            Ok(Converted::one("artifact.rer.json", import(&source, sealing)?))
        }
        Input::Run(run) => {
            if (run.dialect() == FormatId::Rer || run.is_imported())
                && let Some(restored) = restore(document(run), &Limits::default())?
            {
                return back(&restored, target, &exporting, found.keys);
            }
            exported(run, target, &exporting)
        }
    }
}

/// A run as what it is imported from: its origin, its main file, and the other files.
fn parts(run: &Run) -> Result<(FormatId, &[u8], Vec<File>), ConvertError> {
    let file = |(name, bytes): (&str, &[u8])| File { name: name.into(), bytes: bytes.to_vec() };
    let origin = run.dialect();
    if origin == FormatId::ReplayBundle {
        let manifest = run.file(MANIFEST).unwrap_or_default();
        let files = run.files().filter(|(name, _)| *name != MANIFEST).map(file).collect();
        return Ok((origin, manifest, files));
    }
    Ok((origin, document(run), run.files().map(file).collect()))
}

fn exported(run: &Run, target: FormatId, exporting: &Exporting<'_>) -> Result<Converted, ConvertError> {
    let exported = export(run, target, exporting)?;
    let is_folder = target == FormatId::ReplayJsonl;
    let (files, losses) = (exported.files, exported.losses);
    Ok(Converted { files, is_folder, restored: false, losses, doubts: Vec::new() })
}

fn other(
    origin: FormatId,
    main: &[u8],
    target: FormatId,
    exporting: &Exporting<'_>,
) -> Result<Converted, ConvertError> {
    let mut losses = Losses::new();
    let view = foreign::view(origin, main, target, &mut losses)?;
    if view.dialect() == target && target == FormatId::ModelIo {
        let mut converted = Converted::one(FormatId::ModelIo.row().main_file, view.bytes().to_vec());
        converted.losses = losses;
        return Ok(converted);
    }
    let mut converted = exported(&view, target, exporting)?;
    losses.extend(foreign::relocated(&converted.losses, origin));
    converted.losses = losses;
    Ok(converted)
}

/// A record that was imported: given back as what it was, or converted from that.
fn back(
    restored: &Restored,
    target: FormatId,
    exporting: &Exporting<'_>,
    keys: &Keys,
) -> Result<Converted, ConvertError> {
    let origin = restored.origin;
    let mut doubts = Vec::new();
    if restored.verified == Some(false) {
        doubts.push("it did not verify when it was imported".to_owned());
    }
    if origin.name() == target.name() {
        let main = File { name: origin.row().main_file.into(), bytes: restored.file()?.into_owned() };
        let mut files = vec![main];
        if origin != FormatId::ReplayBundle {
            files.extend(restored.beside.iter().cloned());
        }
        let is_folder = files.len() > 1 || origin == FormatId::ReplayJsonl;
        return Ok(Converted { files, is_folder, restored: true, losses: Losses::new(), doubts });
    }
    if origin.row().support == Support::ImportOnly {
        let converted = other(origin, &restored.main, target, exporting)?;
        return Ok(Converted { doubts, ..converted });
    }
    let options = Options::default();
    let opened = if restored.beside.is_empty() && origin != FormatId::ReplayBundle {
        open(restored.main.clone(), keys, &options)
    } else {
        let main = (origin.row().main_file.to_owned(), restored.main.clone());
        let beside = restored.beside.iter().map(|file| (file.name.clone(), file.bytes.clone()));
        open_files(Files::from_iter(std::iter::once(main).chain(beside)), keys, &options)
    };
    let run = opened.run.map_err(|error| ConvertError::Unreadable(error.to_string()))?;
    if !opened.report.pass() {
        doubts.extend(opened.report.reasons);
    }
    Ok(Converted { doubts, ..exported(&run, target, exporting)? })
}
