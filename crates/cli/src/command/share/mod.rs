//! `reenact share`: makes one file of a run for others, which is verified before it gets its name.
//!
//! `rer` makes RER bundles, `replay`, `rebundle` and `run_folder` make Replay Bundles, `converted` the other formats; [`mod@format`] is their table.
//! Start reading at `ShareArgs::run`.

mod bundle_extras;
mod converted;
mod format;
mod rebundle;
mod replay;
mod rer;
mod rpk;
mod run_folder;
mod withhold;

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_formats::FormatId;
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_record::RunId;
use reenact_run::Run;
use reenact_verify::replay_bundle::SECRET_NOTE;
use reenact_verify::{Keys, Options, verify};

use super::out_destination::OutDestination;
use crate::command::convert::PromptPartArg;
use crate::output::{self, CommandError};
use crate::runs;
use crate::runs::KeyFileArgs;
use bundle_extras::BundleExtraArgs;
use format::{ShareFormat, ShareFormatParser};
use rpk::RpkShareArgs;

pub(super) use bundle_extras::BundleExtras;
pub(super) use replay::{ReplayBundle, reproduce_command};

/// Make one file of a run for others: as proof, to replay, or in another format
///
/// Signed: an RER bundle (`--as rer`) holds the proof, which is the artifact, its manifest, the public key, and the files that its
/// events speak of. The artifact is bound to the manifest and signed again, which takes the key that signed it. An .rpk
/// (`--as rpk`) can be signed with --sign, by a key that you share with its readers.
///
/// Not signed: a Replay Bundle (`--as replay`) holds what a replay needs, which is the trace of prompts and responses, a cassette for
/// each exchange, the config that is named, and what came out. Any record that holds answers can be made one, and one that is made of
/// a Replay Bundle keeps all of it. The same run gives the same bytes: no clock, no path of this machine. The other formats hold what
/// has a place in them, and what is lost is told. `reenact convert` does the same for any record, and has more options.
///
/// Whatever is made is verified before it gets its name; what does not verify is not written, and nothing that is there is replaced.
/// Prompts and answers are in it as they were recorded: --withhold leaves the payloads of some events out, and `reenact redact`
/// chooses them in more ways.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact share --as rer\n  reenact share last --as rer --withhold 'tool.*'\n  reenact share last --as replay --config eval.yaml\n  reenact share run.rer.json --as rpk --mask --sign --hmac-key-file shared.key --out run.bundle\n  reenact share 0198c2 --as replay-jsonl --out session --json"
)]
pub(crate) struct ShareArgs {
    /// A file, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    run: OsString,

    /// What to make of it
    #[arg(long = "as", value_name = format::NAMES, value_parser = ShareFormatParser)]
    form: ShareFormat,

    /// Where to write it (default: `bundles/` in the state folder, under the run's id). With - the file goes to standard output,
    /// and the report to standard error
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Model IO: the part of a request whose hash is its prompt_hash, the user's last text (default) or the whole body
    #[arg(long, value_name = "PART", value_enum)]
    prompt: Option<PromptPartArg>,

    /// Withhold the payloads of events of this type, such as `model.called` or `tool.*`, from what is made; may be given more
    /// than once
    #[arg(long, value_name = "KIND")]
    withhold: Vec<String>,

    #[command(flatten)]
    rpk: RpkShareArgs,

    #[command(flatten)]
    extras: BundleExtraArgs,

    /// A file that an event of the run says was written, for an RER bundle; may be given more than once
    #[arg(long, value_name = "FILE")]
    blob: Vec<PathBuf>,

    #[command(flatten)]
    keys: KeyFileArgs,

    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

impl ShareArgs {
    /// Makes what `--as` names. Options of another format are refused.
    pub(crate) fn run(&self) -> Result<u8, CommandError> {
        self.require_fitting_options()?;
        if let Some(out) = &self.out {
            OutDestination::of(out).require_fitting(self.form.target().0)?;
        }
        match self.form {
            ShareFormat::Rer => self.share_rer_bundle(),
            ShareFormat::Replay => self.share_replay_bundle(),
            ShareFormat::Rpk | ShareFormat::ModelIo | ShareFormat::ReplayJsonl => self.share_converted(),
        }
    }

    /// Refuses an option that the format has no use for.
    fn require_fitting_options(&self) -> Result<(), CommandError> {
        let blob = (!self.blob.is_empty()).then_some("--blob");
        let prompt = self.prompt.map(|_| "--prompt");
        let given = [
            (self.rpk.first_given(), ShareFormat::Rpk, ".rpk (--as rpk)"),
            (self.extras.first_given(), ShareFormat::Replay, "Replay Bundles (--as replay)"),
            (blob, ShareFormat::Rer, "RER bundles (--as rer)"),
            (prompt, ShareFormat::ModelIo, "Model IO sessions (--as model-io)"),
        ];
        for (option, of, what) in given {
            if let Some(option) = option.filter(|_| of != self.form) {
                return Err(CommandError::impossible(format!("{option} is for {what}")));
            }
        }
        Ok(())
    }

    /// Returns the format that is written, and the suffix of its default name.
    fn target(&self) -> (FormatId, &'static str) {
        // A masked .rpk has a name of its own among the format's programs.
        if self.rpk.mask { (FormatId::Rpk, ".bundle") } else { self.form.target() }
    }

    /// Verifies the bytes of a bundle, and writes them to their file.
    ///
    /// # Errors
    ///
    /// If the bundle does not verify, or the file exists.
    fn write_bundle(&self, run: &Run, bytes: &[u8]) -> Result<WrittenBundle, CommandError> {
        require_intact(bytes, &runs::load_keys(&self.keys)?)?;
        let path = self.destination(run)?;
        let place = OutDestination::of(&path);
        if place.is_standard_output() {
            output::print_bytes(bytes)?;
        } else {
            durable::create(&path, bytes, Readers::Owner)
                .map_err(|error| CommandError::unwritable(&path, &error))?;
        }
        Ok(WrittenBundle { path, place, digest: Digest::of(bytes), size: bytes.len() as u64 })
    }

    /// Returns the path to write to: `--out`, or `bundles/<run id>` with the suffix of the format in the state folder.
    ///
    /// A run id that is no [`RunId`] is refused, because it must never become a path.
    fn destination(&self, run: &Run) -> Result<PathBuf, CommandError> {
        if let Some(out) = &self.out {
            return Ok(out.clone());
        }
        if run.id().is_empty() {
            return Err(CommandError::impossible("the record does not name its run: name a file with --out"));
        }
        let id: RunId = run.id().parse().map_err(|_| {
            let id = Shown::new(run.id());
            CommandError::impossible(format!(
                "the run's id is not one that reenact gives ({id}): name a file with --out"
            ))
        })?;
        let (_, suffix) = self.target();
        runs::writable_run_store()?
            .create_bundle_path(id, suffix)
            .map_err(|error| CommandError::impossible(error.to_string()))
    }
}

/// Refuses a bundle that does not verify. What its maker should know before it is shared, such as a secret among the results of
/// a run, is a notice.
pub(super) fn require_intact(bytes: &[u8], keys: &Keys) -> Result<(), CommandError> {
    let report = verify(bytes, keys, &Options::default());
    if report.pass() {
        let warnings = report.notes.iter().filter(|note| note.starts_with(SECRET_NOTE));
        warnings.for_each(|note| output::print_notice(&Shown::whole(note).to_string()));
        return Ok(());
    }
    let why = report.reasons.first().map_or("", String::as_str);
    Err(CommandError::refused(format!(
        "what was made does not verify, and was not written: {}",
        Shown::whole(why)
    )))
}

/// A bundle that was written.
struct WrittenBundle {
    /// Path of the file, as it was given or made up; `-` for standard output.
    path: PathBuf,
    /// The same as a place.
    place: OutDestination,
    /// SHA-256 of the file.
    digest: Digest,
    /// Size of the file in bytes.
    size: u64,
}

impl WrittenBundle {
    /// Writes the members that describe the file: name, format, digest and size.
    fn write_facts(&self, format: &str, object: &mut PrintObjectWriter<'_>) {
        object.string("out", self.path.to_string_lossy().as_ref());
        object.string("format", format);
        object.string("digest", format!("sha256:{}", self.digest).as_str());
        object.name("bytes").push_str(&self.size.to_string());
    }
}
