//! `--as rer`: an RER bundle, in which the artifact is bound to a manifest of itself, its key and its files.
//!
//! Binding adds the hash of the manifest to the artifact, so that the artifact must be signed again by the
//! key that signed it.

use reenact_formats::FormatId;
use reenact_formats::rer::rewrite;
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Limits, Shown};
use reenact_verify::disk;

use super::ShareArgs;
use super::withhold::{WithheldRun, withheld_lines, write_withheld};
use crate::output::CommandError;
use crate::sealed_record::SealedRecord;
use crate::{quantity, runs};

impl ShareArgs {
    /// Binds the artifact to the bundle, signs it again, and packs it with the files that its events speak of.
    ///
    /// # Errors
    ///
    /// If the record does not verify, the user does not have its key, or a file is missing.
    pub(super) fn share_rer_bundle(&self) -> Result<u8, CommandError> {
        let WithheldRun { opened: runs::OpenedRun { path, run, report }, newly_withheld } =
            WithheldRun::open(self)?;
        let mut sealed = SealedRecord::new(path, run, report)?;
        for path in &self.blob {
            let bytes = disk::read(path).map_err(|error| CommandError::impossible(error.to_string()))?;
            sealed.blobs.insert(Digest::of(&bytes).to_string(), bytes);
        }
        add_recorded_blobs(&mut sealed)?;
        if let Some((name, hash)) = sealed.missing_files().first() {
            return Err(CommandError::impossible(format!(
                "the run wrote {} (sha256 {}), and it is not here: give it with --blob FILE",
                Shown::new(name),
                Shown::new(hash)
            )));
        }
        let (signer, blobs) = (sealed.signing_key()?, sealed.named_blobs(&[]));
        let bound = rewrite::bind(&sealed.artifact, &blobs, &Limits::default(), &signer)
            .map_err(|error| CommandError::refused(error.to_string()))?;
        let content = |hash: Digest| sealed.blobs.get(&hash.to_string()).map(Vec::as_slice);
        let bytes = bound
            .pack(&blobs, content, Vec::new())
            .map_err(|error| CommandError::impossible(error.to_string()))?;
        let written = self.write_bundle(&sealed.run, &bytes)?;
        written.place.print_report(&if self.json {
            let mut line = String::new();
            let mut object = PrintObjectWriter::open(&mut line);
            written.write_facts(FormatId::RerBundle.name(), &mut object);
            object.name("events").push_str(&bound.event_count.to_string());
            object.name("withheld").push_str(&bound.redacted_count.to_string());
            object.name("blobs").push_str(&blobs.len().to_string());
            write_withheld(&newly_withheld, &mut object);
            object.close();
            line + "\n"
        } else {
            format!(
                "{} ({}): {}, {}, {} withheld; bound, signed again and verified\n{}next: reenact verify {}\n",
                written.place.shown(),
                quantity::size(written.size),
                quantity::count(bound.event_count as u64, "event"),
                quantity::count(blobs.len() as u64, "file"),
                quantity::count(bound.redacted_count as u64, "payload"),
                withheld_lines(&newly_withheld),
                written.place.word(),
            )
        })?;
        Ok(0)
    }
}

/// Adds the missing files that were recorded beside the run, in `blobs/<SHA-256>.bin`. A file whose content
/// has another digest is added under that one, and so does not fill the gap.
fn add_recorded_blobs(sealed: &mut SealedRecord) -> Result<(), CommandError> {
    let Some(folder) = sealed.path.parent().map(|folder| folder.join("blobs")) else { return Ok(()) };
    for (_, hash) in sealed.missing_files() {
        // The file name is made of a parsed digest, and of no text of the record.
        let Some(digest) = Digest::from_hex(&hash) else { continue };
        let path = folder.join(format!("{digest}.bin"));
        if path.is_file() {
            let bytes = disk::read(&path).map_err(|error| CommandError::impossible(error.to_string()))?;
            sealed.blobs.insert(Digest::of(&bytes).to_string(), bytes);
        }
    }
    Ok(())
}
