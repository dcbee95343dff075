//! `reenact canon`: the canonical bytes of a JSON document.

use std::path::PathBuf;

use reenact_formats::Profile;
use reenact_json::{Limits, Value, canonical};

use super::{document, refused};
use crate::output::{self, Ending};

/// Write the canonical form of a JSON document, to the byte and without a line feed
///
/// Input that is not strict JSON, or that has no canonical form, is refused: nothing is written, the reason goes to
/// standard error, and the exit code is 1.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact canon --profile jcs run.rer.json > canonical.json\n  curl … | reenact canon --profile jcs"
)]
pub(super) struct Canon {
    /// The canonical form: jcs (RFC 8785), rpk, rpk-step, model-io, replay-jsonl
    #[arg(long, value_parser = super::profile)]
    profile: Profile,

    /// A file, or - for standard input
    #[arg(default_value = "-", hide_default_value = true, value_name = "FILE")]
    file: PathBuf,
}

impl Canon {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let bytes = document(&self.file)?;
        let value = Value::parse(&bytes, &Limits::default())
            .map_err(|error| refused(&self.file, error.describe(&bytes)))?;
        let canonical = canonical::to_vec(value, self.profile).map_err(|fault| refused(&self.file, fault))?;
        output::print_bytes(&canonical)?;
        Ok(0)
    }
}
