//! `reenact canon`: the canonical bytes of a JSON document.
//!
//! Meant for checking another implementation: the output is exactly the byte string that a format hashes.

use std::path::PathBuf;

use reenact_formats::Profile;
use reenact_json::{Limits, Value, canonical};

use super::{document_refused, read_document};
use crate::output::{self, CommandError};

/// Write the canonical form of a JSON document, to the byte and without a line feed
///
/// Input that is not strict JSON, or that has no canonical form, is refused: nothing is written, the reason goes to
/// standard error, and the exit code is 1.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact canon --profile jcs run.rer.json > canonical.json\n  curl … | reenact canon --profile jcs"
)]
pub(super) struct CanonArgs {
    /// The canonical form: jcs (RFC 8785), rpk, rpk-step, model-io, replay-jsonl
    #[arg(long, value_parser = super::profile)]
    profile: Profile,

    /// A file, or - for standard input
    #[arg(default_value = "-", hide_default_value = true, value_name = "FILE")]
    file: PathBuf,
}

impl CanonArgs {
    /// Writes the canonical form to standard output, without a line feed. A document without one is refused.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let bytes = read_document(&self.file)?;
        let value = Value::parse(&bytes, &Limits::default())
            .map_err(|error| document_refused(&self.file, error.describe(&bytes)))?;
        let canonical =
            canonical::to_vec(value, self.profile).map_err(|fault| document_refused(&self.file, fault))?;
        output::print_bytes(&canonical)?;
        Ok(0)
    }
}
