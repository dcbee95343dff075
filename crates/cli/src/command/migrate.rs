//! `reenact migrate`: an old `.rpk` document in a version that is read today.

use std::fmt::Write as _;
use std::path::PathBuf;

use reenact_formats::rpk::ReadError;
use reenact_formats::rpk::migrate::{MigrateError, Migrated, migrate};
use reenact_json::Shown;
use reenact_json::print::{self, Object};
use reenact_keys::durable::{self, Readers};

use super::{document, refused};
use crate::output::{self, Ending};

/// Write an .rpk artifact of version 0.9 or 1.x as one of version 1.x
///
/// The checksum of the source must hold. Members that the format does not know are kept, step hashes are computed anew, and what
/// has to go is named: a signature over the old document, and names in the environment that say whose machine it was. Without
/// --out the document goes to standard output and the report to standard error.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  reenact migrate old.rpk --out run.rpk")]
pub(super) struct Migrate {
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

impl Migrate {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let bytes = document(&self.file)?;
        let migrated = migrate(&bytes, &self.target_version).map_err(|error| match error {
            MigrateError::Unreadable(ReadError::Syntax(error)) => refused(&self.file, error.describe(&bytes)),
            other => refused(&self.file, other),
        })?;
        let Some(out) = &self.out else {
            output::print_bytes(&migrated.bytes)?;
            report(&migrated).lines().for_each(output::complain);
            return Ok(0);
        };
        durable::create(out, &migrated.bytes, Readers::Owner)
            .map_err(|error| Ending::unwritable(out, &error))?;
        output::print(&if self.json { self.as_json(&migrated) } else { report(&migrated) })?;
        Ok(0)
    }

    fn as_json(&self, migrated: &Migrated) -> String {
        let mut line = String::new();
        let mut object = Object::open(&mut line);
        object.string("source_version", migrated.source_version.as_str());
        object.string("target_version", migrated.target_version.as_str());
        object.name("preserved_step_hashes").push_str(&migrated.preserved.to_string());
        object.name("recomputed_step_hashes").push_str(&migrated.recomputed.to_string());
        print::list(&migrated.removed, object.name("removed"), |removed, out| {
            let mut object = Object::open(out);
            object.string("path", removed.path.as_str());
            object.string("why", removed.why);
            object.close();
        });
        object.close();
        line + "\n"
    }
}

/// What was done, in words.
fn report(migrated: &Migrated) -> String {
    let Migrated { source_version, target_version, preserved, recomputed, removed, .. } = migrated;
    let mut text = format!(
        "migrated from {} to {target_version}; step hashes: {preserved} held, {recomputed} computed anew\n",
        Shown::new(source_version)
    );
    for gone in removed {
        let _ = writeln!(text, "removed {}: {}", gone.path, gone.why);
    }
    text
}
