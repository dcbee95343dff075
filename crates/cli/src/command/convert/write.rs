//! One conversion from end to end: the source is checked, converted, verified as the reader will, and written.
//!
//! `convert`, `share` and `record --out` start here, at [`Conversion::write`].

use std::path::Path;

use reenact_formats::FormatId;
use reenact_formats::rer::seal::Signer;
use reenact_json::Shown;
use reenact_keys::randomness::{Randomness, SystemRandomness};
use reenact_keys::{KeyName, SecretKey};
use reenact_record::RunId;
use reenact_record::clock::{Clock, SystemClock, timestamp};
use reenact_run::convert::{
    ConversionInput, ConversionTarget, ImportContext, ModelIoOptions, SourceInfo, convert,
};
use reenact_verify::Keys;

use crate::output::{self, CommandError};

use super::report::ConversionReport;
use super::source::{OpenedSource, SourceRecord};
use super::target;

/// Conversion of a record to a format, and the conditions under which it is written.
pub(in crate::command) struct Conversion<'a> {
    pub(in crate::command) to: FormatId,
    /// Path of the file or the folder to write.
    pub(in crate::command) out: &'a Path,
    /// Write nothing if anything would be lost.
    pub(in crate::command) deny_loss: bool,
    /// Convert a record that does not verify.
    pub(in crate::command) force: bool,
    /// Replace a file that is there; a folder never is.
    pub(in crate::command) replaces: bool,
    /// Choices of a Model IO session.
    pub(in crate::command) model_io: ModelIoOptions,
}

impl Conversion<'_> {
    /// Converts the record and writes it. The report has no digest if losses were forbidden and there are some.
    ///
    /// `signing_key` is asked for the key of an RER artifact; `keys` verify the output.
    ///
    /// # Errors
    ///
    /// Those of [`Conversion::convert`] and [`Conversion::finish`].
    pub(in crate::command) fn write(
        &self,
        source: OpenedSource,
        keys: Keys,
        signing_key: impl FnOnce() -> Result<(KeyName, SecretKey), CommandError>,
    ) -> Result<ConversionReport, CommandError> {
        let (report, keys) = self.convert(source, keys, signing_key)?;
        self.finish(report, &keys)
    }

    /// Converts the record, and writes nothing yet. The keys that are returned verify the output.
    ///
    /// # Errors
    ///
    /// If the record does not verify, or the formats do not fit.
    pub(in crate::command) fn convert(
        &self,
        source: OpenedSource,
        mut keys: Keys,
        signing_key: impl FnOnce() -> Result<(KeyName, SecretKey), CommandError>,
    ) -> Result<(ConversionReport, Keys), CommandError> {
        let OpenedSource { name, record, digest, source_bytes } = source;
        let input = match &record {
            SourceRecord::Run(run, _) => ConversionInput::Run(run),
            SourceRecord::Other(origin, bytes) => ConversionInput::Foreign(*origin, bytes),
        };
        if input.format() == self.to.name() {
            return Err(CommandError::impossible(format!("{name}: it is {} already", self.to.name())));
        }
        self.require_verified(&name, &record)?;
        let to_rer = self.to == FormatId::Rer;
        if to_rer {
            require_restorable_names(&name, &record)?;
        }
        let signing = if to_rer { Some(signing_key()?) } else { None };
        let verifies = match &record {
            SourceRecord::Run(_, report) => Some(report.pass()),
            SourceRecord::Other(..) => None,
        };
        let found =
            SourceInfo { digest, original_bytes: source_bytes.as_deref(), verified: verifies, keys: &keys };
        let source_format = input.format();
        let target = ConversionTarget { format: self.to, model_io: self.model_io };
        let converted = with_sealing(signing.as_ref(), |sealing| convert(input, found, target, sealing))?
            .map_err(|error| {
                CommandError::impossible(format!("{name}: {}", Shown::whole(&error.to_string())))
            })?;
        let report = ConversionReport {
            source: (name, source_format, digest),
            target: (self.to.name(), self.out.to_owned()),
            verifies,
            converted,
            signed_by: signing.as_ref().map(|(name, _)| name.clone()),
            digest: None,
        };
        if let Some((_, key)) = &signing {
            keys.add_supplied(key.public_key());
        }
        Ok((report, keys))
    }

    /// Verifies what was made, and writes it, unless losses were forbidden and there are some.
    ///
    /// # Errors
    ///
    /// If the output does not verify, or exists.
    pub(in crate::command) fn finish(
        &self,
        mut report: ConversionReport,
        keys: &Keys,
    ) -> Result<ConversionReport, CommandError> {
        if self.deny_loss && !report.converted.losses.is_empty() {
            return Ok(report);
        }
        self.require_verified_import(&report.source.0, &report.converted.doubts)?;
        self.check_output(&report.converted, keys)?;
        report.digest = Some(target::write(self.out, &report.converted, self.replaces)?);
        Ok(report)
    }

    /// Refuses a source that does not verify, unless `--force` is given: its content may not be what was recorded.
    fn require_verified(&self, name: &str, record: &SourceRecord) -> Result<(), CommandError> {
        let SourceRecord::Run(_, report) = record else { return Ok(()) };
        if report.pass() {
            return Ok(());
        }
        if self.force {
            output::print_notice(&format!(
                "{name}: this record does not verify; it is converted because of --force"
            ));
            return Ok(());
        }
        Err(CommandError::impossible(format!(
            "{name}: this record does not verify, so what it holds may not be what was recorded (E_NOT_VERIFIED)\n  {}\nconvert it all the same with --force",
            report.reasons.join("\n  ")
        )))
    }

    /// Refuses an RER record whose own source did not verify, unless `--force` is given.
    ///
    /// The seal of an imported record says who converted it; it proves nothing about the source.
    fn require_verified_import(&self, name: &str, doubts: &[String]) -> Result<(), CommandError> {
        if doubts.is_empty() {
            return Ok(());
        }
        if self.force {
            output::print_notice(&format!(
                "{name}: the record that this was imported from does not verify; it is converted because of --force"
            ));
            return Ok(());
        }
        Err(CommandError::impossible(format!(
            "{name}: the record that this was imported from does not verify, so what it holds may not be what was recorded (E_NOT_VERIFIED)\n  {}\nconvert it all the same with --force",
            doubts.join("\n  ")
        )))
    }

    /// Refuses to write an output that does not verify. With `--force`, an original that did not verify
    /// before comes back as it was.
    fn check_output(
        &self,
        converted: &reenact_run::convert::Converted,
        keys: &Keys,
    ) -> Result<(), CommandError> {
        let report = target::verify_output(converted, keys);
        if report.pass() {
            return Ok(());
        }
        let reasons = report.reasons.join("\n  ");
        if converted.is_restored && self.force {
            output::print_notice(&format!(
                "what comes back does not verify, as the original did not:\n  {reasons}"
            ));
            return Ok(());
        }
        let advice = if converted.is_restored { "\nwrite it all the same with --force" } else { "" };
        Err(CommandError::impossible(format!(
            "nothing was written, since it would not verify (E_NOT_VERIFIED):\n  {reasons}{advice}"
        )))
    }
}

/// Refuses an import whose file names the conversion back could not write: it creates no folders inside a
/// record and no hidden files. Replay Bundles are archives, and keep any name.
fn require_restorable_names(name: &str, record: &SourceRecord) -> Result<(), CommandError> {
    let SourceRecord::Run(run, _) = record else { return Ok(()) };
    let is_bundle = run.payload_format() == FormatId::ReplayBundle;
    match run.files().find(|(file, _)| !is_bundle && !target::is_plain_name(file)) {
        Some((file, _)) => Err(CommandError::impossible(format!(
            "{name}: \"{}\" could not be written on the way back, which makes no folders inside a record and no hidden files; take it out first",
            Shown::new(file)
        ))),
        None => Ok(()),
    }
}

/// Calls `work` with everything that sealing needs: the time, fresh salts, a run id and a signer.
///
/// Where nothing is sealed the signer is a throwaway key, since the conversion takes one in any case.
fn with_sealing<T>(
    signing: Option<&(KeyName, SecretKey)>,
    work: impl FnOnce(&mut ImportContext<'_>) -> T,
) -> Result<T, CommandError> {
    let failed = |error: String| CommandError::impossible(error);
    let run_id = RunId::generate().map_err(|error| failed(error.to_string()))?.to_string();
    let now = timestamp(SystemClock::start().now());
    let (mut pool, mut used) = (vec![0; 16 << 10], 16 << 10);
    let mut salts = || {
        if used + 16 > pool.len() {
            SystemRandomness.fill(&mut pool).ok()?;
            used = 0;
        }
        used += 16;
        pool.get(used - 16..used)?.try_into().ok()
    };
    let throwaway_key;
    let signer: &dyn Signer = match signing {
        Some((_, key)) => key,
        None => {
            throwaway_key = SecretKey::generate().map_err(|error| failed(error.to_string()))?;
            &throwaway_key
        }
    };
    let mut sealing = ImportContext {
        run_id: &run_id,
        version: env!("CARGO_PKG_VERSION"),
        now: &now,
        salts: &mut salts,
        signer,
    };
    Ok(work(&mut sealing))
}
