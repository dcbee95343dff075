//! `reenact convert`: writes a record of one format in another one, and reports what is lost.
//!
//! The conversion is `reenact_run::convert`. This command adds what surrounds it: `source` opens the input,
//! `target` verifies and writes the output, `report` tells the losses, and `write` is the whole of it.
//!
//! Two rules keep conversion honest. A record that does not verify is converted only with `--force`, and an
//! RER artifact made of it says so, so that it never becomes a good one. Nothing is written that does not
//! verify itself. Start reading at `ConvertArgs::run`.

mod model_io;
mod report;
mod source;
mod target;
mod write;

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_formats::FormatId;
use reenact_json::Shown;
use reenact_keys::{KeyName, SecretKey};

use super::out_destination::OutDestination;
use crate::config::UserConfig;
use crate::output::{self, CommandError};
use crate::runs;
use crate::runs::KeyFileArgs;

pub(super) use model_io::{PromptPartArg, options as model_io_options};
pub(super) use report::ConversionReport;
pub(super) use source::{OpenedSource, SourceRecord};
pub(super) use write::Conversion;

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
    after_help = "Examples:\n  reenact convert run.rpk --to rer --out run.rer.json\n  reenact convert run.rer.json --key signer.jwk --to replay-jsonl --out session/\n  reenact convert last --to model-io --out model_io.json --deny-loss\n  reenact convert last --to model-io --out pack/\n  reenact convert session/ --to rer --keep-source --out run.rer.json --json"
)]
pub(super) struct ConvertArgs {
    /// A file, a folder, a run recorded here, or - for standard input
    #[arg(value_name = "IN")]
    input: OsString,

    /// The format to write: rer, rpk, model-io, replay-jsonl (a folder of three files), replay-bundle
    #[arg(long, value_name = "FORMAT", value_parser = target_format)]
    to: FormatId,

    /// Where to write it; what is there already is left alone. A folder (`NAME/`) is a pack of Model IO, with run.json. With -
    /// the file goes to standard output, and the report to standard error
    #[arg(long, value_name = "PATH")]
    out: PathBuf,

    /// Model IO: the part of a request whose hash is its prompt_hash, the user's last text (default) or the whole body
    #[arg(long, value_name = "PART", value_enum)]
    prompt: Option<PromptPartArg>,

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
        return Err("bundles are made by: reenact share --as rer".into());
    }
    FormatId::targets().find(|id| id.name() == name).ok_or_else(|| {
        let known: Vec<&str> = FormatId::targets().map(FormatId::name).collect();
        format!("no such format; there is: {}", known.join(", "))
    })
}

impl ConvertArgs {
    /// Converts the record, and prints the report.
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
        let place = OutDestination::of(&self.out);
        place.require_fitting(self.to)?;
        let model_io = model_io::options(self.to, Some(&self.out), self.prompt)?;
        target::require_absent(&self.out)?;
        let key = if to_rer { Vec::new() } else { self.key.iter().map(PathBuf::from).collect() };
        let files = KeyFileArgs { key, hmac_key_file: self.hmac_key_file.clone() };
        let keys = runs::load_keys(&files)?;
        let source = source::open(&self.input, &keys, self.keep_source)?;
        let conversion = Conversion {
            to: self.to,
            out: &self.out,
            deny_loss: self.deny_loss,
            force: self.force,
            replaces: false,
            model_io,
        };
        let report = conversion.write(source, keys, || self.signing_key())?;
        place.print_report(&if self.json { report.json() } else { report.text() })?;
        match report.digest {
            Some(_) => Ok(0),
            None => Err(CommandError::refused("nothing was written: --deny-loss")),
        }
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
