//! `--as rpk|model-io|replay-jsonl`: the run in another format, and what of it has no place there.

use std::path::Path;

use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Shown};

use super::ShareArgs;
use crate::command::convert::{Conversion, ConversionReport, OpenedSource, SourceRecord, model_io_options};
use crate::output::{self, CommandError};
use crate::runs;
use crate::sealed_record::require_verified;

impl ShareArgs {
    /// Converts the run as `reenact convert` does, and prints what is lost.
    ///
    /// # Errors
    ///
    /// If the record does not verify, or has no answers that the format needs.
    pub(super) fn share_converted(&self) -> Result<u8, CommandError> {
        let runs::OpenedRun { path, run, report } = runs::open(&self.run, &self.keys)?;
        require_verified(&path, &report)?;
        let (to, _) = self.form.target();
        let model_io = model_io_options(to, self.out.as_deref(), self.prompt)?;
        let out = self.destination(&run)?;
        let source = OpenedSource {
            name: Shown::whole(&path.to_string_lossy()).to_string(),
            digest: Digest::of(run.bytes()),
            record: SourceRecord::Run(Box::new(run), Box::new(report)),
            source_bytes: None,
        };
        let conversion =
            Conversion { to, out: &out, deny_loss: false, force: false, replaces: false, model_io };
        // Only an RER artifact is signed, and none is made here.
        let unsigned = || Err(CommandError::impossible("this format is not signed"));
        let report = conversion.write(source, runs::load_keys(&self.keys)?, unsigned)?;
        output::print(&if self.json { as_json(&report, &out) } else { as_text(&report, &out) })?;
        Ok(0)
    }
}

/// Returns the report of the conversion, with the next command.
fn as_text(report: &ConversionReport, out: &Path) -> String {
    format!("{}next: reenact verify {}\n", report.text(), Shown::whole(&out.to_string_lossy()))
}

/// Returns the result as one line of JSON; `losses` is that of `reenact convert --json`.
fn as_json(report: &ConversionReport, out: &Path) -> String {
    let files = &report.converted.files;
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("out", out.to_string_lossy().as_ref());
    object.string("format", report.target.0);
    let digest = report.digest.map(|digest| format!("sha256:{digest}"));
    object.string("digest", digest.as_deref());
    let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
    object.name("bytes").push_str(&bytes.to_string());
    object.name("files").push_str(&files.len().to_string());
    report.write_losses(object.name("losses"));
    object.close();
    line + "\n"
}
