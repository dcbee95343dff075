//! `reenact redact`: withholds whole payloads of an RER record after the fact, under the existing signature.
//!
//! The format signs hashes of payloads, so that a payload can go while the seven checks still pass. Order,
//! type, time and hash of the event stay. A bundle also counts its withheld payloads, and is bound and signed
//! again. Start reading at `RedactArgs::run`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reenact_formats::rer::rewrite;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Digest, Limits, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_run::redact::{NewlyWithheld, RedactedArtifact, RedactionChoice, redact};
use reenact_verify::{Options, verify};

use crate::output::{self, CommandError};
use crate::runs::KeyFileArgs;
use crate::sealed_record::SealedRecord;
use crate::{quantity, runs};

/// Withhold whole payloads of an RER record; the seven checks still pass
///
/// An event that is chosen keeps its place, its type, its time and the hash of its payload; the payload itself goes. What
/// is left proves that the event happened there, and no longer what was in it. Anyone can withhold, with or without a key, and an
/// artifact alone does not tell who did. A bundle says how many payloads it withholds, so it is bound and signed again, which
/// takes the key that signed it; files of which only withheld events speak are left out of it.
///
/// Secrets are better masked while recording: what was recorded may have been read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact redact last --kind 'model.*' --out shared.rer.json\n  reenact redact run.rer.json --where alice@example.com --out shared.rer.json\n  reenact redact last --event 3 --event 4 --print-policy"
)]
#[command(group = clap::ArgGroup::new("chosen").required(true).multiple(true))]
pub(super) struct RedactArgs {
    /// A file, a bundle, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    run: OsString,

    /// The event at this place, from 0, as `verify` numbers them; may be given more than once
    #[arg(long, value_name = "N", group = "chosen")]
    event: Vec<usize>,

    /// Events of this type, such as `model.called` or `tool.*`; may be given more than once
    #[arg(long, value_name = "K", group = "chosen")]
    kind: Vec<String>,

    /// Events whose payload, or a file that it speaks of, holds this text; may be given more than once
    #[arg(long = "where", value_name = "TEXT", group = "chosen")]
    text: Vec<String>,

    /// Where to write the record; a file that is there already is left alone
    #[arg(long, value_name = "FILE", required_unless_present = "print_policy")]
    out: Option<PathBuf>,

    /// Print what is withheld, and by which rule, for those who will read the record; the texts of --where are not in it
    #[arg(long)]
    print_policy: bool,

    #[command(flatten)]
    keys: KeyFileArgs,

    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

impl RedactArgs {
    /// Withholds the chosen payloads, writes the record, and prints the result or the policy.
    ///
    /// # Errors
    ///
    /// If the record does not verify, nothing was chosen, or a remaining event holds the files from which the
    /// record was imported: the withheld text would still be in them.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        if self.text.iter().any(String::is_empty) {
            return Err(CommandError::impossible("--where needs a text: every payload holds the empty one"));
        }
        let sealed = SealedRecord::open(&self.run, &self.keys)?;
        sealed.require_verified()?;
        if let Some(far) = self.event.iter().find(|event| **event >= sealed.run.len()) {
            let last = sealed.run.len().saturating_sub(1);
            return Err(CommandError::impossible(format!(
                "there is no event {far}; they are numbered 0 to {last}"
            )));
        }
        let choice = RedactionChoice {
            events: self.event.clone(),
            kinds: self.kind.clone(),
            texts: self.text.clone(),
        };
        let redacted = withheld_artifact(&sealed, &choice)?;
        if redacted.newly_withheld.is_empty() {
            return Err(CommandError::refused("no payload was chosen, so nothing was written"));
        }
        let written = match &self.out {
            Some(out) => Some(self.write(&sealed, &redacted, out)?),
            None => None,
        };
        output::print(&match (self.json, self.print_policy) {
            (true, _) => self.as_json(&sealed, &redacted, written),
            (false, true) => policy_text(&sealed, &redacted),
            (false, false) => summary_text(&sealed, &redacted, self.out.as_deref().unwrap_or(Path::new(""))),
        })?;
        Ok(0)
    }

    /// Writes the record if it verifies, and returns the SHA-256 of the file.
    ///
    /// A bundle is bound and signed again, without the files of which only withheld events speak.
    fn write(
        &self,
        sealed: &SealedRecord,
        redacted: &RedactedArtifact,
        out: &Path,
    ) -> Result<Digest, CommandError> {
        let bytes = if sealed.is_bundle() {
            let signer = sealed.signing_key()?;
            let gone: Vec<usize> = redacted.newly_withheld.iter().map(|gone| gone.event).collect();
            let blobs: Vec<_> = sealed
                .named_blobs(&gone)
                .into_iter()
                .filter(|blob| !redacted.orphaned_files.contains(&blob.hash))
                .collect();
            let bound = rewrite::bind(&redacted.artifact, &blobs, &Limits::default(), &signer)
                .map_err(|error| CommandError::refused(error.to_string()))?;
            let content = |hash: Digest| sealed.blobs.get(&hash.to_string()).map(Vec::as_slice);
            bound
                .pack(&blobs, content, Vec::new())
                .map_err(|error| CommandError::impossible(error.to_string()))?
        } else {
            redacted.artifact.clone()
        };
        let report = verify(&bytes, &runs::load_keys(&self.keys)?, &Options::default());
        if !report.pass() {
            let why = report.reasons.first().map_or("", String::as_str);
            return Err(CommandError::refused(format!(
                "what was made does not verify, and was not written: {}",
                Shown::whole(why)
            )));
        }
        durable::create(out, &bytes, Readers::Owner)
            .map_err(|error| CommandError::unwritable(out, &error))?;
        Ok(Digest::of(&bytes))
    }

    /// Returns the result as one line of JSON: every withheld event with its type, the hash of its payload,
    /// and the rule that chose it.
    fn as_json(&self, sealed: &SealedRecord, redacted: &RedactedArtifact, written: Option<Digest>) -> String {
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("source", sealed.path.to_string_lossy().as_ref());
        if let (Some(out), Some(digest)) = (&self.out, written) {
            object.string("out", out.to_string_lossy().as_ref());
            object.string("digest", format!("sha256:{digest}").as_str());
        }
        object.name("events").push_str(&redacted.events.to_string());
        object.name("withheld_before").push_str(&redacted.withheld_before.to_string());
        print::write_list(&redacted.newly_withheld, object.name("withheld"), |gone, out| {
            let mut object = PrintObjectWriter::open(out);
            object.name("event").push_str(&gone.event.to_string());
            object.string("event_type", gone.event_type.as_str());
            object.string("payload_hash", gone.payload_hash.as_str());
            object.string("by", gone.reason.name());
            object.close();
        });
        object.close();
        line + "\n"
    }
}

/// Withholds the chosen payloads of a record in memory.
///
/// # Errors
///
/// If the artifact cannot be rewritten, or an event that stays holds the files from which the record was imported: the
/// withheld text would still be in them.
pub(super) fn withheld_artifact(
    sealed: &SealedRecord,
    choice: &RedactionChoice,
) -> Result<RedactedArtifact, CommandError> {
    let content = |file: Digest| sealed.blobs.get(&file.to_string()).map(Vec::as_slice);
    let redacted = redact(&sealed.artifact, choice, &Limits::default(), content)
        .map_err(|error| CommandError::refused(error.to_string()))?;
    match redacted.source_event.filter(|_| !redacted.newly_withheld.is_empty()) {
        None => Ok(redacted),
        Some(event) => Err(CommandError::refused(format!(
            "event {event} holds files that this record was imported from, with all that is in them: withhold it too (--event {event})"
        ))),
    }
}

/// Returns the number of withheld payloads for each event type.
pub(super) fn counts_by_type(withheld: &[NewlyWithheld]) -> BTreeMap<&str, usize> {
    let mut types = BTreeMap::new();
    withheld.iter().for_each(|gone| *types.entry(gone.event_type.as_str()).or_insert(0) += 1);
    types
}

/// Returns the result as text, with what the record still proves and what it does not.
fn summary_text(sealed: &SealedRecord, redacted: &RedactedArtifact, out: &Path) -> String {
    let (name, gone) = (out.to_string_lossy(), redacted.newly_withheld.len());
    let mut text = format!(
        "withheld {} of {} in {}\n",
        quantity::count(gone as u64, "payload"),
        quantity::count(redacted.events as u64, "event"),
        Shown::whole(&name)
    );
    for (event_type, count) in counts_by_type(&redacted.newly_withheld) {
        let _ = writeln!(text, "  {count:>5}  {}", Shown::new(event_type));
    }
    if redacted.withheld_before > 0 {
        let _ = writeln!(
            text,
            "{} withheld before",
            quantity::count(redacted.withheld_before as u64, "payload was")
        );
    }
    if sealed.is_bundle() {
        let is_here = |file: &&Digest| sealed.blobs.contains_key(&file.to_string());
        let files = quantity::count(redacted.orphaned_files.iter().filter(is_here).count() as u64, "file");
        let _ =
            writeln!(text, "bound and signed again; {files} left out, of which only withheld events spoke");
    }
    text.push_str(
        "it proves still: these events happened in this order, and each withheld payload had the hash that is there\n\
         it proves no longer: what was in them. An artifact alone does not tell who withheld them\n",
    );
    let _ = writeln!(text, "next: reenact verify {}", Shown::whole(&name));
    text
}

/// Returns the redaction policy for the readers of the record, which the draft asks of those who withhold (RER §11.4).
///
/// The texts of `--where` are not in it: they are what should stay unknown.
fn policy_text(sealed: &SealedRecord, redacted: &RedactedArtifact) -> String {
    let mut text = format!(
        "Redaction of run {}\n\n{} of {} withheld; {} before.\n",
        Shown::new(sealed.run.id()),
        quantity::count(redacted.newly_withheld.len() as u64, "payload"),
        quantity::count(redacted.events as u64, "event"),
        redacted.withheld_before
    );
    text.push_str(
        "Withheld is the whole payload of an event; its place, type, time and hash are as recorded.\n\
         Chosen by: event (its number), kind (its type), where (a text in it, which is not repeated here).\n\n",
    );
    let _ = writeln!(text, "{:>6}  {:<24} {:<6} payload_hash", "event", "type", "by");
    for gone in &redacted.newly_withheld {
        let _ = writeln!(
            text,
            "{:>6}  {:<24} {:<6} {}",
            gone.event,
            Shown::new(&gone.event_type).to_string(),
            gone.reason.name(),
            Shown::new(&gone.payload_hash)
        );
    }
    text
}
