//! `reenact convert`: a record of one format as one of another, with what is lost.

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
use reenact_run::convert::{Found, Input, Sealing, convert};
use reenact_verify::Keys;

use crate::config::Config;
use crate::output::{self, Ending};
use crate::runs;
use crate::runs::KeyFiles;

use report::Told;
use source::{Opening, Record};

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
pub(super) struct Convert {
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

fn target_format(name: &str) -> Result<FormatId, String> {
    if name == FormatId::RerBundle.name() {
        return Err("bundles are made by: reenact bundle create --as rer".into());
    }
    FormatId::targets().find(|id| id.name() == name).ok_or_else(|| {
        let known: Vec<&str> = FormatId::targets().map(FormatId::name).collect();
        format!("no such format; there is: {}", known.join(", "))
    })
}

impl Convert {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let to_rer = self.to == FormatId::Rer;
        if self.keep_source && !to_rer {
            return Err(Ending::impossible(
                "--keep-source goes with --to rer: other formats have no place for it",
            ));
        }
        target::must_be_free(&self.out)?;
        let key = if to_rer { Vec::new() } else { self.key.iter().map(PathBuf::from).collect() };
        let files = KeyFiles { key, hmac_key_file: self.hmac_key_file.clone() };
        let mut keys = runs::keys(&files)?;
        let Opening { name, record, digest, kept } = source::open(&self.input, &keys, self.keep_source)?;
        let input = match &record {
            Record::Run(run, _) => Input::Run(run),
            Record::Other(origin, bytes) => Input::Other(*origin, bytes),
        };
        if input.format() == self.to.name() {
            return Err(Ending::impossible(format!("{name}: it is {} already", self.to.name())));
        }
        self.must_hold(&name, &record)?;
        if to_rer {
            must_have_a_way_back(&name, &record)?;
        }
        let signing = if to_rer { Some(self.signing()?) } else { None };
        let verifies = match &record {
            Record::Run(_, report) => Some(report.pass()),
            Record::Other(..) => None,
        };
        let found = Found { digest, kept: kept.as_deref(), verified: verifies, keys: &keys };
        let converted = sealed(signing.as_ref(), |sealing| convert(input, found, self.to, sealing))?
            .map_err(|error| Ending::impossible(format!("{name}: {}", Shown::whole(&error.to_string()))))?;
        let mut told = Told {
            source: (&name, input.format(), digest),
            target: (self.to.name(), &self.out),
            verifies,
            converted: &converted,
            signed_by: signing.as_ref().map(|(name, _)| name.as_str()),
            digest: None,
        };
        if self.deny_loss && !converted.losses.is_empty() {
            output::print(&if self.json { told.json() } else { told.text() })?;
            return Err(Ending::refused("nothing was written: --deny-loss"));
        }
        self.must_have_held(&name, &converted.doubts)?;
        if let Some((_, key)) = &signing {
            keys.supply(key.public_key());
        }
        self.check(&converted, &keys)?;
        told.digest = Some(target::write(&self.out, &converted)?);
        output::print(&if self.json { told.json() } else { told.text() })?;
        Ok(0)
    }

    /// What does not verify may not be what was recorded.
    fn must_hold(&self, name: &str, record: &Record) -> Result<(), Ending> {
        let Record::Run(_, report) = record else { return Ok(()) };
        if report.pass() {
            return Ok(());
        }
        if self.force {
            output::complain(&format!(
                "{name}: this record does not verify; it is converted because of --force"
            ));
            return Ok(());
        }
        Err(Ending::impossible(format!(
            "{name}: this record does not verify, so what it holds may not be what was recorded (E_NOT_VERIFIED)\n  {}\nconvert it all the same with --force",
            report.reasons.join("\n  ")
        )))
    }

    /// The seal of an import says nothing of what was imported.
    fn must_have_held(&self, name: &str, doubts: &[String]) -> Result<(), Ending> {
        if doubts.is_empty() {
            return Ok(());
        }
        if self.force {
            output::complain(&format!(
                "{name}: the record that this was imported from does not verify; it is converted because of --force"
            ));
            return Ok(());
        }
        Err(Ending::impossible(format!(
            "{name}: the record that this was imported from does not verify, so what it holds may not be what was recorded (E_NOT_VERIFIED)\n  {}\nconvert it all the same with --force",
            doubts.join("\n  ")
        )))
    }

    /// What was made must be what it says. The original of a record that did not verify does not either.
    fn check(&self, converted: &reenact_run::convert::Converted, keys: &Keys) -> Result<(), Ending> {
        let report = target::judge(converted, keys);
        if report.pass() {
            return Ok(());
        }
        let reasons = report.reasons.join("\n  ");
        if converted.restored && self.force {
            output::complain(&format!(
                "what comes back does not verify, as the original did not:\n  {reasons}"
            ));
            return Ok(());
        }
        let advice = if converted.restored { "\nwrite it all the same with --force" } else { "" };
        Err(Ending::impossible(format!(
            "nothing was written, since it would not verify (E_NOT_VERIFIED):\n  {reasons}{advice}"
        )))
    }

    /// The key that signs, with its name.
    fn signing(&self) -> Result<(KeyName, SecretKey), Ending> {
        let store = Config::require()?.key_store();
        let failed = |error: reenact_keys::KeyStoreError| Ending::impossible(error.to_string());
        let name = match self.key.as_slice() {
            [] => KeyName::default(),
            [name] => {
                let name = name.to_string_lossy();
                name.parse::<KeyName>()
                    .map_err(|error| Ending::impossible(format!("--key {}: {error}", Shown::whole(&name))))?
            }
            _ => return Err(Ending::impossible("one key signs: give --key once")),
        };
        if self.key.is_empty() {
            let default = store.default_key().map_err(failed)?;
            if default.is_new {
                let path = store.path(&name);
                let path = path.to_string_lossy();
                output::complain(&format!("a key was made for you: {}", Shown::whole(&path)));
            }
            return Ok((name, default.key));
        }
        let key = store.load(&name).map_err(failed)?;
        Ok((name, key))
    }
}

/// A file that the way back could not write is not taken in.
fn must_have_a_way_back(name: &str, record: &Record) -> Result<(), Ending> {
    let Record::Run(run, _) = record else { return Ok(()) };
    let is_bundle = run.dialect() == FormatId::ReplayBundle;
    match run.files().find(|(file, _)| !is_bundle && !target::is_plain(file)) {
        Some((file, _)) => Err(Ending::impossible(format!(
            "{name}: \"{}\" could not be written on the way back, which makes no folders inside a record and no hidden files; take it out first",
            Shown::new(file)
        ))),
        None => Ok(()),
    }
}

/// Calls with what it takes to seal: the time, fresh salts and a run's id. Where nothing is sealed the key is nobody's.
fn sealed<T>(
    signing: Option<&(KeyName, SecretKey)>,
    work: impl FnOnce(&mut Sealing<'_>) -> T,
) -> Result<T, Ending> {
    let failed = |error: String| Ending::impossible(error);
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
    let nobody;
    let signer: &dyn Signer = match signing {
        Some((_, key)) => key,
        None => {
            nobody = SecretKey::generate().map_err(|error| failed(error.to_string()))?;
            &nobody
        }
    };
    let mut sealing =
        Sealing { run_id: &run_id, version: env!("CARGO_PKG_VERSION"), now: &now, salts: &mut salts, signer };
    Ok(work(&mut sealing))
}
