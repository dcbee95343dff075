//! `reenact policy check`: checks an envelope, and says what it permits.

use std::fmt::Write as _;
use std::path::PathBuf;

use reenact_json::{Limits, Shown, Value};

use super::{now, permissions_text, printable_json};
use crate::envelope;
use crate::output::{self, CommandError};

/// Check an envelope and say what it permits
///
/// FILE is TOML with a table [envelope], or an envelope in JSON. What is wrong is named with its line, its field and what is allowed
/// there. The exit code is 0 if it is good, 1 if it is not, 2 if it could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact policy check\n  reenact policy check envelope.toml --json > envelope.json"
)]
pub(super) struct PolicyCheckArgs {
    /// A file, or - for standard input
    #[arg(value_name = "FILE", default_value = "reenact.toml")]
    file: PathBuf,

    /// The envelope as a run carries it: canonical JSON, without the signature that comes with the seal
    #[arg(long)]
    json: bool,
}

impl PolicyCheckArgs {
    /// Prints the permissions and the notes for the author, or the envelope as canonical JSON.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let loaded = envelope::load(&self.file)?;
        if self.json {
            output::print(&(printable_json(&loaded.json) + "\n"))?;
            return Ok(0);
        }
        let value = Value::parse(&loaded.json, &Limits::default())
            .map_err(|error| CommandError::refused(error.to_string()))?;
        let name = self.file.to_string_lossy();
        let mut text = format!(
            "{}: a good envelope\n{}",
            Shown::whole(&name),
            permissions_text(&loaded.envelope, value, now())
        );
        for note in &loaded.notes {
            let _ = writeln!(text, "  note: {note}");
        }
        output::print(&text)?;
        Ok(0)
    }
}
