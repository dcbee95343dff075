//! `--as rpk|model-io|replay-jsonl`: the run in another format, and what of it has no place there.

use std::path::PathBuf;

use reenact_formats::FormatId;
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_run::convert::Converted;
use reenact_run::redact::NewlyWithheld;

use super::ShareArgs;
use super::rpk::FinishedRpk;
use super::withhold::{WithheldRun, withheld_lines, write_withheld};
use crate::command::convert::{Conversion, ConversionReport, OpenedSource, SourceRecord, model_io_options};
use crate::command::out_destination::OutDestination;
use crate::command::record::shell_quoted;
use crate::output::CommandError;
use crate::runs;

impl ShareArgs {
    /// Converts the run as `reenact convert` does, and prints what is lost.
    ///
    /// # Errors
    ///
    /// If the record does not verify, or has no answers that the format needs.
    pub(super) fn share_converted(&self) -> Result<u8, CommandError> {
        let WithheldRun { opened, newly_withheld } = WithheldRun::open(self)?;
        let runs::OpenedRun { path, run, report } = opened;
        let (to, _) = self.target();
        let model_io = model_io_options(to, self.out.as_deref(), self.prompt)?;
        let finish = self.rpk.finish(&self.keys)?;
        let out = self.destination(&run)?;
        let keys = runs::load_keys(&self.keys)?;
        let conversion =
            Conversion { to, out: &out, deny_loss: false, force: false, replaces: false, model_io };
        let name = Shown::whole(&path.to_string_lossy()).to_string();
        let digest = Digest::of(run.bytes());
        // An .rpk is masked and signed as it is.
        let is_itself = finish.is_some() && run.payload_format() == FormatId::Rpk && !run.is_imported();
        let (mut made, keys) = if is_itself {
            let converted = Converted::single_file(FormatId::Rpk.row().main_file, run.document().to_vec());
            let made = ConversionReport {
                source: (name, FormatId::Rpk.name(), digest),
                target: (FormatId::Rpk.name(), out.clone()),
                verifies: Some(report.pass()),
                converted,
                signed_by: None,
                digest: None,
            };
            (made, keys)
        } else {
            let record = SourceRecord::Run(Box::new(run), Box::new(report));
            let source = OpenedSource { name, digest, record, source_bytes: None };
            // Only an RER artifact is signed by a key of its own, and none is made here.
            let unsigned = || Err(CommandError::impossible("this format is not signed"));
            conversion.convert(source, keys, unsigned)?
        };
        if to == FormatId::ModelIo {
            require_interactions(&made.converted, &newly_withheld)?;
        }
        let mut finished = None;
        if let (Some(finish), Some(file)) = (&finish, made.converted.files.first_mut()) {
            let document = finish.apply(&file.bytes)?;
            file.bytes.clone_from(&document.bytes);
            finished = Some(document);
        }
        let key_file = finish.and_then(|finish| finish.key_file);
        let made = conversion.finish(made, &keys)?;
        let place = OutDestination::of(&out);
        let shared = SharedConversion { made, finished, key_file, place };
        shared.place.print_report(&match self.json {
            true => shared.as_json(|object| write_withheld(&newly_withheld, object)),
            false => shared.as_text(&withheld_lines(&newly_withheld)),
        })?;
        Ok(0)
    }
}

/// Refuses a Model IO session that payloads were withheld from until no interaction was left.
///
/// # Errors
///
/// If it has none, and what was withheld is of model calls.
fn require_interactions(session: &Converted, withheld: &[NewlyWithheld]) -> Result<(), CommandError> {
    let has_some = |document: &[u8]| {
        let document = Value::parse(document, &Limits::default()).ok();
        document.and_then(|document| document.member("interactions")?.elements().next()).is_some()
    };
    let is_of_model = |gone: &NewlyWithheld| gone.event_type.starts_with("rer.model.");
    let is_emptied = withheld.iter().any(is_of_model)
        && session.files.first().is_some_and(|session| !has_some(&session.bytes));
    if !is_emptied {
        return Ok(());
    }
    Err(CommandError::impossible(
        "with these payloads withheld no interaction is left, so there is nothing to replay (E_NOTHING_RECORDED)",
    ))
}

/// A run that was written in another format.
struct SharedConversion {
    made: ConversionReport,
    /// The document, if it was masked or signed.
    finished: Option<FinishedRpk>,
    /// File of the key that signed it.
    key_file: Option<PathBuf>,
    place: OutDestination,
}

impl SharedConversion {
    /// Returns the report of the conversion, with the next command. `withheld` is whole lines.
    fn as_text(&self, withheld: &str) -> String {
        let finished = self.finished.as_ref().map(FinishedRpk::lines).unwrap_or_default();
        let key = self.key_file.as_ref().map(|file| {
            let file = file.to_string_lossy();
            format!(" --hmac-key-file {}", shell_quoted(&file))
        });
        format!(
            "{}{withheld}{finished}next: reenact verify{} {}\n",
            self.made.text(),
            key.unwrap_or_default(),
            self.place.word()
        )
    }

    /// Returns the result as one line of JSON; `losses` is that of `reenact convert --json`.
    fn as_json(&self, write_withheld: impl FnOnce(&mut PrintObjectWriter<'_>)) -> String {
        let files = &self.made.converted.files;
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("out", self.made.target.1.to_string_lossy().as_ref());
        object.string("format", self.made.target.0);
        let digest = self.made.digest.map(|digest| format!("sha256:{digest}"));
        object.string("digest", digest.as_deref());
        let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
        object.name("bytes").push_str(&bytes.to_string());
        object.name("files").push_str(&files.len().to_string());
        self.made.write_losses(object.name("losses"));
        write_withheld(&mut object);
        if let Some(finished) = &self.finished {
            finished.write(&mut object);
        }
        object.close();
        line + "\n"
    }
}
