//! `reenact policy show`: the permissions of a recorded run, or those that a file would give.
//!
//! A file with an envelope is shown as such; any other argument is opened as a run, whose sealed envelope is shown.

use std::ffi::OsString;
use std::path::Path;

use reenact_formats::rer::envelope::permission::Envelope;
use reenact_json::{Jcs, Limits, Shown, Value, canonical};
use reenact_verify::disk;

use super::{now, permissions_text, printable_json};
use crate::output::{self, CommandError};
use crate::runs::KeyFileArgs;
use crate::{envelope, runs};

/// Show what a run was permitted
///
/// RUN is a record, a run id, the beginning of one, or `last`; or a file with an envelope. Whether a run kept to its envelope is the
/// audit of `reenact verify`. The exit code is 1 if the record does not verify.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact policy show\n  reenact policy show run.rer.json --json")]
pub(super) struct PolicyShowArgs {
    /// A record, a run id, the beginning of one, or `last`; or a file with an envelope
    #[arg(value_name = "RUN", default_value = "last")]
    run: OsString,

    #[command(flatten)]
    keys: KeyFileArgs,

    /// The envelope as canonical JSON, as it is signed
    #[arg(long)]
    json: bool,
}

impl PolicyShowArgs {
    /// Prints the envelope of a file or of a run. The exit code is 1 if the record of the run does not verify.
    ///
    /// # Errors
    ///
    /// If the record's format has no envelopes; only RER has them.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let path = Path::new(&self.run);
        let written = path
            .is_file()
            .then(|| disk::read(path).ok())
            .flatten()
            .and_then(|bytes| envelope::parse(&bytes).ok());
        if let Some(loaded) = written {
            let value = Value::parse(&loaded.json, &Limits::default())
                .map_err(|error| CommandError::refused(error.to_string()))?;
            let name = path.to_string_lossy();
            let title = format!("{}: an envelope that no run has sealed\n", Shown::whole(&name));
            output::print(&if self.json {
                envelope_json(value)?
            } else {
                title + &permissions_text(&loaded.envelope, value, now())
            })?;
            return Ok(0);
        }
        let found = runs::open(&self.run, &self.keys)?;
        let Some(value) = found.run.envelope() else {
            let format = Shown::new(found.run.format());
            return Err(CommandError::impossible(format!(
                "a record of the format {format} carries no envelope"
            )));
        };
        let code = u8::from(!found.report.pass());
        if self.json {
            output::print(&envelope_json(value)?)?;
            return Ok(code);
        }
        let envelope = Envelope::read(value).map_err(|fault| CommandError::refused(fault.to_string()))?;
        let verdict = if code == 0 { "signed with it" } else { "it does not verify" };
        let title = format!("run {}: {verdict}\n", Shown::new(found.run.id()));
        output::print(&(title + &permissions_text(&envelope, value, None)))?;
        Ok(code)
    }
}

/// Returns an envelope as canonical JSON that is safe to print.
fn envelope_json(value: Value<'_>) -> Result<String, CommandError> {
    let bytes = canonical::to_vec(value, Jcs).map_err(|fault| CommandError::refused(fault.to_string()))?;
    Ok(printable_json(&bytes) + "\n")
}
