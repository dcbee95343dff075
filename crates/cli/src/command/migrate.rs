//! `reenact migrate`: an old `.rpk` document in a version that is read today.
//!
//! The conversion itself is `reenact_formats::rpk::migrate`; this is its input, output and report.

use std::fmt::Write as _;
use std::path::PathBuf;

use reenact_formats::rpk::RpkReadError;
use reenact_formats::rpk::migrate::{MigratedDocument, RpkMigrateError, migrate};
use reenact_json::Shown;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_keys::durable::{self, Readers};

use super::{document_refused, read_document};
use crate::output::{self, CommandError};

/// Write an .rpk artifact of version 0.9 or 1.x as one of version 1.x
///
/// The checksum of the source must hold. Members that the format does not know are kept, step hashes are computed anew, and what
/// has to go is named: a signature over the old document, and names in the environment that say whose machine it was. Without
/// --out the document goes to standard output and the report to standard error.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  reenact migrate old.rpk --out run.rpk")]
pub(super) struct MigrateArgs {
    /// A file, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Where to write the document; a file that is there already is left alone
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// The version to write
    #[arg(long, value_name = "1.x", default_value = "1.0")]
    target_version: String,

    /// The report as one JSON object
    #[arg(long, requires = "out")]
    json: bool,
}

impl MigrateArgs {
    /// Migrates the document, writes it to `--out` or to standard output, and reports the changes beside it.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let bytes = read_document(&self.file)?;
        let migrated = migrate(&bytes, &self.target_version).map_err(|error| match error {
            RpkMigrateError::Unreadable(RpkReadError::Syntax(error)) => {
                document_refused(&self.file, error.describe(&bytes))
            }
            other => document_refused(&self.file, other),
        })?;
        let Some(out) = &self.out else {
            output::print_bytes(&migrated.bytes)?;
            report_text(&migrated).lines().for_each(output::print_notice);
            return Ok(0);
        };
        durable::create(out, &migrated.bytes, Readers::Owner)
            .map_err(|error| CommandError::unwritable(out, &error))?;
        output::print(&if self.json { self.as_json(&migrated) } else { report_text(&migrated) })?;
        Ok(0)
    }

    /// Returns the report as one line of JSON.
    fn as_json(&self, migrated: &MigratedDocument) -> String {
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("source_version", migrated.source_version.as_str());
        object.string("target_version", migrated.target_version.as_str());
        object.name("preserved_step_hashes").push_str(&migrated.preserved_hashes.to_string());
        object.name("recomputed_step_hashes").push_str(&migrated.recomputed_hashes.to_string());
        print::write_list(&migrated.removed, object.name("removed"), |removed, out| {
            let mut object = PrintObjectWriter::open(out);
            object.string("path", removed.path.as_str());
            object.string("why", removed.reason);
            object.close();
        });
        object.close();
        line + "\n"
    }
}

/// Returns the report as text: versions, step hashes, and each member that had to be removed with the reason.
fn report_text(migrated: &MigratedDocument) -> String {
    let MigratedDocument {
        source_version,
        target_version,
        preserved_hashes: preserved,
        recomputed_hashes: recomputed,
        removed,
        ..
    } = migrated;
    let mut text = format!(
        "migrated from {} to {target_version}; step hashes: {preserved} held, {recomputed} computed anew\n",
        Shown::new(source_version)
    );
    for gone in removed {
        let _ = writeln!(text, "removed {}: {}", gone.path, gone.reason);
    }
    text
}
