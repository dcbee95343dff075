//! `reenact convert`: writes a record of one format in another one, and reports what is lost.
//!
//! The conversion is `reenact_run::convert`. This command adds what surrounds it: `source` opens the input,
//! `target` verifies and writes the output, `report` tells the losses.
//!
//! Two rules keep conversion honest. A record that does not verify is converted only with `--force`, and an
//! RER artifact made of it says so, so that it never becomes a good one. Nothing is written that does not
//! verify itself. Start reading at `ConvertArgs::run`.

mod report;
mod source;
mod target;

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_formats::FormatId;
use reenact_formats::rer::seal::Signer;
use reenact_json::Shown;
use reenact_keys::randomness::{Randomness, SystemRandomness};
use reenact_keys::{KeyName, SecretKey};
use reenact_record::RunId;
use reenact_record::clock::{Clock, SystemClock, timestamp};
use reenact_run::convert::{ConversionInput, ImportContext, SourceInfo, convert};
use reenact_verify::Keys;

use crate::config::UserConfig;
use crate::output::{self, CommandError};
use crate::runs;
use crate::runs::KeyFileArgs;

use report::ConversionReport;
use source::{OpenedSource, SourceRecord};

/// Write a record of one format as one of another, and say what is lost
///
/// IN is a file, a folder that is one record, a run recorded here (`last`, its id or the beginning of it), or - for standard
/// input; what it is, its content decides. To RER nothing is lost, and from there the way back gives the original in its canonical
/// form. To any other format what has no place there is told, by its path and with the reason. An RER artifact is
/// sealed with your key as `imported`, under no permissions: the signature says who converted, not who ran. Nothing that is
/// there already is replaced, and nothing is written that does not verify. The exit code is 0 if it was converted, 1 if
/// --deny-loss kept it from being, 2 if it could not be.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact convert run.rpk --to rer --out run.rer.json\n  reenact convert run.rer.json --key signer.jwk --to replay-jsonl --out session/\n  reenact convert last --to model-io --out model_io.json --deny-loss\n  reenact convert session/ --to rer --keep-source --out run.rer.json --json"
)]
pub(super) struct ConvertArgs {
    /// A file, a folder, a run recorded here, or - for standard input
    #[arg(value_name = "IN")]
    input: OsString,

    /// The format to write: rer, rpk, model-io, replay-jsonl (a folder of three files), replay-bundle
    #[arg(long, value_name = "FORMAT", value_parser = target_format)]
    to: FormatId,

    /// Where to write it; what is there already is left alone
    #[arg(long, value_name = "PATH")]
    out: PathBuf,

    /// Of an RER record, a file with its public key; to RER, the name of your key that signs
    #[arg(long, value_name = "K")]
    key: Vec<OsString>,

    /// The shared key of a signed .rpk
    #[arg(long, value_name = "FILE")]
    hmac_key_file: Option<PathBuf>,

    /// Write nothing if anything would be lost
    #[arg(long)]
    deny_loss: bool,

    /// Convert a record that does not verify
    #[arg(long)]
    force: bool,

    /// Keep the file's own bytes too, so that the way back gives them, and not the canonical form (to RER only)
    #[arg(long)]
    keep_source: bool,

    /// The report as one JSON object, with every path
    #[arg(long)]
    json: bool,
}

/// Parses the name of a format that can be written, for clap.
fn target_format(name: &str) -> Result<FormatId, String> {
    if name == FormatId::RerBundle.name() {
        return Err("bundles are made by: reenact bundle create --as rer".into());
    }
    FormatId::targets().find(|id| id.name() == name).ok_or_else(|| {
        let known: Vec<&str> = FormatId::targets().map(FormatId::name).collect();
        format!("no such format; there is: {}", known.join(", "))
    })
}

impl ConvertArgs {
    /// Converts the record: opens, checks, converts, verifies the output, and writes it.
    ///
    /// # Errors
    ///
    /// Exit code 1 if `--deny-loss` forbids the conversion; 2 if the output exists, the record does not
    /// verify, or the formats do not fit.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let to_rer = self.to == FormatId::Rer;
        if self.keep_source && !to_rer {
            return Err(CommandError::impossible(
                "--keep-source goes with --to rer: other formats have no place for it",
            ));
        }
        target::require_absent(&self.out)?;
        let key = if to_rer { Vec::new() } else { self.key.iter().map(PathBuf::from).collect() };
        let files = KeyFileArgs { key, hmac_key_file: self.hmac_key_file.clone() };
        let mut keys = runs::load_keys(&files)?;
        let OpenedSource { name, record, digest, source_bytes } =
            source::open(&self.input, &keys, self.keep_source)?;
        let input = match &record {
            SourceRecord::Run(run, _) => ConversionInput::Run(run),
            SourceRecord::Other(origin, bytes) => ConversionInput::Foreign(*origin, bytes),
        };
        if input.format() == self.to.name() {
            return Err(CommandError::impossible(format!("{name}: it is {} already", self.to.name())));
        }
        self.require_verified(&name, &record)?;
        if to_rer {
            require_restorable_names(&name, &record)?;
        }
        let signing = if to_rer { Some(self.signing_key()?) } else { None };
        let verifies = match &record {
            SourceRecord::Run(_, report) => Some(report.pass()),
            SourceRecord::Other(..) => None,
        };
        let found =
            SourceInfo { digest, original_bytes: source_bytes.as_deref(), verified: verifies, keys: &keys };
        let converted = with_sealing(signing.as_ref(), |sealing| convert(input, found, self.to, sealing))?
            .map_err(|error| {
                CommandError::impossible(format!("{name}: {}", Shown::whole(&error.to_string())))
            })?;
        let mut report = ConversionReport {
            source: (&name, input.format(), digest),
            target: (self.to.name(), &self.out),
            verifies,
            converted: &converted,
            signed_by: signing.as_ref().map(|(name, _)| name.as_str()),
            digest: None,
        };
        if self.deny_loss && !converted.losses.is_empty() {
            output::print(&if self.json { report.json() } else { report.text() })?;
            return Err(CommandError::refused("nothing was written: --deny-loss"));
        }
        self.require_verified_import(&name, &converted.doubts)?;
        if let Some((_, key)) = &signing {
            keys.add_supplied(key.public_key());
        }
        self.check_output(&converted, &keys)?;
        report.digest = Some(target::write(&self.out, &converted)?);
        output::print(&if self.json { report.json() } else { report.text() })?;
        Ok(0)
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

    /// Returns the key that signs an RER artifact: that of `--key`, or the default key, which is created if
    /// there is none yet.
    fn signing_key(&self) -> Result<(KeyName, SecretKey), CommandError> {
        let store = UserConfig::require()?.key_store();
        let failed = |error: reenact_keys::KeyStoreError| CommandError::impossible(error.to_string());
        let name = match self.key.as_slice() {
            [] => KeyName::default(),
            [name] => {
                let name = name.to_string_lossy();
                name.parse::<KeyName>().map_err(|error| {
                    CommandError::impossible(format!("--key {}: {error}", Shown::whole(&name)))
                })?
            }
            _ => return Err(CommandError::impossible("one key signs: give --key once")),
        };
        if self.key.is_empty() {
            let default = store.default_key().map_err(failed)?;
            if default.is_new {
                let path = store.path(&name);
                let path = path.to_string_lossy();
                output::print_notice(&format!("a key was made for you: {}", Shown::whole(&path)));
            }
            return Ok((name, default.key));
        }
        let key = store.load(&name).map_err(failed)?;
        Ok((name, key))
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
