//! `--withhold KIND`: payloads that are left out of what is shared. The record itself stays as it is.
//!
//! The record is redacted in memory, as `reenact redact` does it, and everything else is made of the result: a bundle is
//! signed again, and another format never sees the payloads. Start reading at [`WithheldRun::open`].

use std::fmt::Write as _;

use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Digest, Shown};
use reenact_run::redact::{NewlyWithheld, RedactionChoice, kind_matches};
use reenact_run::{NamedFiles, OpenedRecord, open_artifact};
use reenact_verify::Options;

use super::ShareArgs;
use crate::command::redact::{counts_by_type, withheld_artifact};
use crate::output::CommandError;
use crate::sealed_record::{SealedRecord, require_verified};
use crate::{quantity, runs};

/// A run whose chosen payloads are withheld.
pub(super) struct WithheldRun {
    /// The run, as everything is made of it.
    pub(super) opened: runs::OpenedRun,
    /// Payloads that are withheld now, and were not before.
    pub(super) newly_withheld: Vec<NewlyWithheld>,
}

impl WithheldRun {
    /// Opens the run that the arguments name, which must verify, and withholds the payloads that they choose.
    ///
    /// # Errors
    ///
    /// If the record does not verify; if payloads are chosen and it is no RER record, or has no event of a type.
    pub(super) fn open(arguments: &ShareArgs) -> Result<Self, CommandError> {
        let runs::OpenedRun { path, run, report } = runs::open(&arguments.run, &arguments.keys)?;
        require_verified(&path, &report)?;
        if arguments.withhold.is_empty() {
            return Ok(Self { opened: runs::OpenedRun { path, run, report }, newly_withheld: Vec::new() });
        }
        for kind in &arguments.withhold {
            if !run.events().any(|event| kind_matches(kind, &event.name())) {
                return Err(CommandError::refused(format!(
                    "--withhold {}: the run has no event of that type, so nothing was made; `reenact show` names them",
                    Shown::whole(kind)
                )));
            }
        }
        let sealed = SealedRecord::new(path, run, report)?;
        let choice = RedactionChoice { kinds: arguments.withhold.clone(), ..RedactionChoice::default() };
        let redacted = withheld_artifact(&sealed, &choice)?;
        // Files of which only withheld events speak are left out.
        let is_kept = |name: &str, bytes: &[u8]| {
            name.starts_with("blobs/") && !redacted.orphaned_files.contains(&Digest::of(bytes))
        };
        let files: NamedFiles = sealed
            .run
            .files()
            .filter(|(name, bytes)| is_kept(name, bytes))
            .map(|(name, bytes)| (name.to_owned(), bytes.to_vec()))
            .collect();
        let keys = runs::load_keys(&arguments.keys)?;
        let OpenedRecord { run, report } =
            open_artifact(redacted.artifact, files, &keys, &Options::default());
        require_verified(&sealed.path, &report)?;
        let run = run.map_err(|error| CommandError::refused(error.to_string()))?;
        let path = sealed.path;
        Ok(Self { opened: runs::OpenedRun { path, run, report }, newly_withheld: redacted.newly_withheld })
    }
}

/// Returns the lines of a report on what was withheld; nothing if that is nothing.
pub(super) fn withheld_lines(withheld: &[NewlyWithheld]) -> String {
    if withheld.is_empty() {
        return String::new();
    }
    let mut text = format!("withheld {}:\n", quantity::count(withheld.len() as u64, "payload"));
    for (event_type, count) in counts_by_type(withheld) {
        let _ = writeln!(text, "  {count:>5}  {}", Shown::new(event_type));
    }
    text
}

/// Writes the member that lists what was withheld; none if that is nothing.
pub(super) fn write_withheld(withheld: &[NewlyWithheld], object: &mut PrintObjectWriter<'_>) {
    if withheld.is_empty() {
        return;
    }
    print::write_list(withheld, object.name("newly_withheld"), |gone, out| {
        let mut object = PrintObjectWriter::open(out);
        object.name("event").push_str(&gone.event.to_string());
        object.string("event_type", gone.event_type.as_str());
        object.string("payload_hash", gone.payload_hash.as_str());
        object.close();
    });
}
