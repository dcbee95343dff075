//! `reenact envelope show`: what a run was permitted, or what a file would permit.

use std::ffi::OsString;
use std::path::Path;

use reenact_formats::rer::envelope::permission::Envelope;
use reenact_json::{Jcs, Limits, Shown, Value, canonical};
use reenact_verify::disk;

use super::{now, page, safe_json};
use crate::output::{self, Ending};
use crate::runs::KeyFiles;
use crate::{envelope, runs};

/// Show what a run was permitted
///
/// RUN is a record, a run id, the beginning of one, or `last`; or a file with an envelope. Whether a run kept to its envelope is the
/// audit of `reenact verify`. The exit code is 1 if the record does not verify.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact envelope show last\n  reenact envelope show run.rer.json --json"
)]
pub(super) struct Show {
    /// A record, a run id, the beginning of one, or `last`; or a file with an envelope
    #[arg(value_name = "RUN")]
    run: OsString,

    #[command(flatten)]
    keys: KeyFiles,

    /// The envelope as canonical JSON, as it is signed
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let path = Path::new(&self.run);
        let written = path
            .is_file()
            .then(|| disk::read(path).ok())
            .flatten()
            .and_then(|bytes| envelope::of(&bytes).ok());
        if let Some(ready) = written {
            let value = Value::parse(&ready.json, &Limits::default())
                .map_err(|error| Ending::refused(error.to_string()))?;
            let name = path.to_string_lossy();
            let title = format!("{}: an envelope that no run has sealed\n", Shown::whole(&name));
            output::print(&if self.json {
                json(value)?
            } else {
                title + &page(&ready.envelope, value, now())
            })?;
            return Ok(0);
        }
        let found = runs::open(&self.run, &self.keys)?;
        let Some(value) = found.run.envelope() else {
            let format = Shown::new(found.run.format());
            return Err(Ending::impossible(format!("a record of the format {format} carries no envelope")));
        };
        let code = u8::from(!found.report.pass());
        if self.json {
            output::print(&json(value)?)?;
            return Ok(code);
        }
        let envelope = Envelope::read(value).map_err(|fault| Ending::refused(fault.to_string()))?;
        let verdict = if code == 0 { "signed with it" } else { "it does not verify" };
        let title = format!("run {}: {verdict}\n", Shown::new(found.run.id()));
        output::print(&(title + &page(&envelope, value, None)))?;
        Ok(code)
    }
}

fn json(value: Value<'_>) -> Result<String, Ending> {
    let bytes = canonical::to_vec(value, Jcs).map_err(|fault| Ending::refused(fault.to_string()))?;
    Ok(safe_json(&bytes) + "\n")
}
