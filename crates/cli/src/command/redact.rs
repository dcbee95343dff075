//! `reenact redact`: payloads withheld after the fact, under the signature that is there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reenact_formats::rer::rewrite;
use reenact_json::print::{self, Object};
use reenact_json::{Digest, Limits, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_run::redact::{Choice, Redacted, redact};
use reenact_verify::{Options, safe};

use crate::output::{self, Ending};
use crate::runs::KeyFiles;
use crate::sealed::Sealed;
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
pub(super) struct Redact {
    /// A file, a bundle, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN")]
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
    keys: KeyFiles,

    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

impl Redact {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        if self.text.iter().any(String::is_empty) {
            return Err(Ending::impossible("--where needs a text: every payload holds the empty one"));
        }
        let sealed = Sealed::open(&self.run, &self.keys)?;
        sealed.must_hold()?;
        if let Some(far) = self.event.iter().find(|event| **event >= sealed.run.len()) {
            let last = sealed.run.len().saturating_sub(1);
            return Err(Ending::impossible(format!(
                "there is no event {far}; they are numbered 0 to {last}"
            )));
        }
        let choice =
            Choice { events: self.event.clone(), kinds: self.kind.clone(), texts: self.text.clone() };
        let content = |file: Digest| sealed.blobs.get(&file.to_string()).map(Vec::as_slice);
        let redacted = redact(&sealed.artifact, &choice, &Limits::default(), content)
            .map_err(|error| Ending::refused(error.to_string()))?;
        if redacted.gone.is_empty() {
            return Err(Ending::refused("no payload was chosen, so nothing was written"));
        }
        if let Some(event) = redacted.source_in {
            return Err(Ending::refused(format!(
                "event {event} holds files that this record was imported from, with all that is in them: withhold it too (--event {event})"
            )));
        }
        let written = match &self.out {
            Some(out) => Some(self.write(&sealed, &redacted, out)?),
            None => None,
        };
        output::print(&match (self.json, self.print_policy) {
            (true, _) => self.as_json(&sealed, &redacted, written),
            (false, true) => policy(&sealed, &redacted),
            (false, false) => told(&sealed, &redacted, self.out.as_deref().unwrap_or(Path::new(""))),
        })?;
        Ok(0)
    }

    /// Writes the record when it was found to verify; gives the digest of the file.
    fn write(&self, sealed: &Sealed, redacted: &Redacted, out: &Path) -> Result<Digest, Ending> {
        let bytes = if sealed.is_bundle() {
            let signer = sealed.signer()?;
            let gone: Vec<usize> = redacted.gone.iter().map(|gone| gone.event).collect();
            let blobs: Vec<_> = sealed
                .labels(&gone)
                .into_iter()
                .filter(|blob| !redacted.orphans.contains(&blob.hash))
                .collect();
            let bound = rewrite::bind(&redacted.artifact, &blobs, &Limits::default(), &signer)
                .map_err(|error| Ending::refused(error.to_string()))?;
            let content = |hash: Digest| sealed.blobs.get(&hash.to_string()).map(Vec::as_slice);
            bound.pack(&blobs, content, Vec::new()).map_err(|error| Ending::impossible(error.to_string()))?
        } else {
            redacted.artifact.clone()
        };
        let report = safe(&bytes, &runs::keys(&self.keys)?, &Options::default());
        if !report.pass() {
            let why = report.reasons.first().map_or("", String::as_str);
            return Err(Ending::refused(format!(
                "what was made does not verify, and was not written: {}",
                Shown::whole(why)
            )));
        }
        durable::create(out, &bytes, Readers::Owner).map_err(|error| Ending::unwritable(out, &error))?;
        Ok(Digest::of(&bytes))
    }

    fn as_json(&self, sealed: &Sealed, redacted: &Redacted, written: Option<Digest>) -> String {
        let mut line = String::new();
        let mut object = Object::open(&mut line);
        object.string("source", sealed.path.to_string_lossy().as_ref());
        if let (Some(out), Some(digest)) = (&self.out, written) {
            object.string("out", out.to_string_lossy().as_ref());
            object.string("digest", format!("sha256:{digest}").as_str());
        }
        object.name("events").push_str(&redacted.events.to_string());
        object.name("withheld_before").push_str(&redacted.before.to_string());
        print::list(&redacted.gone, object.name("withheld"), |gone, out| {
            let mut object = Object::open(out);
            object.name("event").push_str(&gone.event.to_string());
            object.string("event_type", gone.event_type.as_str());
            object.string("payload_hash", gone.payload_hash.as_str());
            object.string("by", gone.because.name());
            object.close();
        });
        object.close();
        line + "\n"
    }
}

/// How many of which type.
fn by_type(redacted: &Redacted) -> BTreeMap<&str, usize> {
    let mut types = BTreeMap::new();
    redacted.gone.iter().for_each(|gone| *types.entry(gone.event_type.as_str()).or_insert(0) += 1);
    types
}

/// What was done, and what it means.
fn told(sealed: &Sealed, redacted: &Redacted, out: &Path) -> String {
    let (name, gone) = (out.to_string_lossy(), redacted.gone.len());
    let mut text = format!(
        "withheld {} of {} events in {}\n",
        quantity::count(gone as u64, "payload"),
        redacted.events,
        Shown::whole(&name)
    );
    for (event_type, count) in by_type(redacted) {
        let _ = writeln!(text, "  {count:>5}  {}", Shown::new(event_type));
    }
    if redacted.before > 0 {
        let _ = writeln!(text, "{} withheld before", quantity::count(redacted.before as u64, "payload was"));
    }
    if sealed.is_bundle() {
        let is_here = |file: &&Digest| sealed.blobs.contains_key(&file.to_string());
        let files = quantity::count(redacted.orphans.iter().filter(is_here).count() as u64, "file");
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

/// What its readers should know, as the draft asks of those who withhold (§11.4).
fn policy(sealed: &Sealed, redacted: &Redacted) -> String {
    let mut text = format!(
        "Redaction of run {}\n\n{} of {} events withheld; {} before.\n",
        Shown::new(sealed.run.id()),
        quantity::count(redacted.gone.len() as u64, "payload"),
        redacted.events,
        redacted.before
    );
    text.push_str(
        "Withheld is the whole payload of an event; its place, type, time and hash are as recorded.\n\
         Chosen by: event (its number), kind (its type), where (a text in it, which is not repeated here).\n\n",
    );
    let _ = writeln!(text, "{:>6}  {:<24} {:<6} payload_hash", "event", "type", "by");
    for gone in &redacted.gone {
        let _ = writeln!(
            text,
            "{:>6}  {:<24} {:<6} {}",
            gone.event,
            Shown::new(&gone.event_type).to_string(),
            gone.because.name(),
            Shown::new(&gone.payload_hash)
        );
    }
    text
}
