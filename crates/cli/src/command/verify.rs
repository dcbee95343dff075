//! `reenact verify`: is this record of a run what it says it is?

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use reenact_formats::rer::time;
use reenact_json::Shown;
use reenact_verify::demand::{Demands, note_twins};
use reenact_verify::disk::{self, Argument, Content, Place};
use reenact_verify::replay_jsonl::Beside;
use reenact_verify::{Format, Keys, Options, Outcome, Report, Unreadable, detect, model_io, render, rer};

use crate::output::{self, Ending};
use crate::parallel;
use crate::progress::Progress;
use crate::runs;
use crate::runs::KeyFiles;

/// Verify records of runs: every hash recomputed, every check reported, offline
///
/// A target is a file, a bundle, a folder (every record in it), a run recorded here (`last`, its id or the beginning of it), or - for
/// standard input. What it is, its content decides. The exit
/// code is 0 if everything holds, 1 if something does not, 2 if something could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact verify last\n  reenact verify --key signer.jwk run.rer.json\n  reenact verify --keys trusted/ runs/\n  reenact verify --json --key signer.pem - < run.rer.json"
)]
pub(super) struct Verify {
    /// Files, folders, runs recorded here, or - for standard input
    #[arg(required = true, value_name = "PATH|RUN")]
    targets: Vec<OsString>,

    /// A public key: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM; may be given more than once
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,

    /// Every key in a folder, or in a JWKS file
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,

    /// The shared key of an .rpk signature, as text in a file
    #[arg(long, value_name = "FILE")]
    hmac_key_file: Option<PathBuf>,

    /// Judge by this format's checks, whatever the content looks like: rer, rer-bundle, rpk, model-io, replay-jsonl,
    /// replay-bundle
    #[arg(long, value_name = "NAME", value_parser = format)]
    format: Option<Format>,

    /// The RECEIPT.json to hold a REPLAY.jsonl against; in a folder the one beside it is used
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,

    /// Add the SHA-256 of each file to its report
    #[arg(long)]
    digest: bool,

    /// Answer no unless the signer is supplied or trusted
    #[arg(long)]
    require_trusted: bool,

    /// Answer no unless every rule of the envelope is known to be kept
    #[arg(long)]
    require_audit: bool,

    /// Answer no if any payload is withheld
    #[arg(long)]
    deny_redacted: bool,

    /// Answer no if one run comes in two versions among the targets
    #[arg(long)]
    deny_duplicates: bool,

    /// Say what time it is (RFC 3339, or `now`), for the note on expired envelopes
    #[arg(long, value_name = "TIME", value_parser = moment)]
    at: Option<i128>,

    /// One JSON object a line, one line a target
    #[arg(long)]
    json: bool,
}

fn moment(text: &str) -> Result<i128, String> {
    if text == "now" {
        let since =
            SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| "the clock of this machine is wrong")?;
        return i128::try_from(since.as_nanos()).map_err(|error| error.to_string());
    }
    time::instant(text).ok_or_else(|| "not an RFC 3339 time, such as 2026-12-31T00:00:00Z".into())
}

fn format(name: &str) -> Result<Format, String> {
    Format::of_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        format!("no such format; there is: {}", known.join(", "))
    })
}

/// One thing to read and judge.
struct Target {
    /// Which argument it came from.
    argument: usize,
    source: Source,
    /// Its size, if it is known beforehand.
    bytes: u64,
}

enum Source {
    StandardInput,
    Named(Place),
    /// Something that nobody named: it may be none of our business.
    InFolder(Place),
}

/// An artifact of less than this is judged sooner than threads are started.
const WORTH_THREADS: usize = 1 << 20;

impl Verify {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        if self.targets.iter().filter(|target| *target == "-").count() > 1 {
            return Err(Ending::impossible("standard input (-) can be read only once"));
        }
        let keys = self.load_keys()?;
        let receipt = self.receipt.as_deref().map(disk::receipt).transpose();
        let receipt = receipt.map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))?;
        let beside = Beside { receipt: receipt.as_deref(), digest: self.digest };
        let arguments: Vec<Argument> = self.targets.iter().map(|target| look_up(target)).collect();
        let targets = flatten(&arguments);
        let progress = Progress::new(targets.iter().map(|target| target.bytes).sum());
        let threads = parallel::cores();
        let inner = (threads / targets.len().max(1)).max(1);
        let mut collected =
            Collected { command: self, arguments: &arguments, outcomes: Vec::new(), due: 0, seen: 0 };
        parallel::in_order(
            &targets,
            threads,
            |target| self.judge(target, &keys, &beside, inner, &progress),
            |at, outcome| {
                collected.take(&targets[at], outcome);
                Ok::<(), Ending>(())
            },
        )?;
        collected.close(arguments.len());
        progress.finish();
        let mut outcomes = collected.outcomes;
        note_twins(&mut outcomes);
        if self.receipt.is_some() && !outcomes.iter().any(|(_, outcome)| disk::is_of_replay(outcome)) {
            output::complain(disk::RECEIPT_NOT_USED);
        }
        self.print(&outcomes)
    }

    fn options(&self) -> Options {
        Options { format: self.format, at: self.at, ..Options::default() }
    }

    fn demands(&self) -> Demands {
        Demands {
            trusted: self.require_trusted,
            audit: self.require_audit,
            unredacted: self.deny_redacted,
            unique: self.deny_duplicates,
        }
    }

    /// Prints every outcome, in order; returns the exit code.
    fn print(&self, outcomes: &[(String, Outcome)]) -> Result<u8, Ending> {
        let demands = self.demands();
        let mut counts = [0; 3];
        for (at, (target, outcome)) in outcomes.iter().enumerate() {
            output::print(&match self.json {
                true => outcome.to_json(target) + "\n",
                false if at == 0 => render::outcome(target, outcome, &output::paint),
                false => format!("\n{}", render::outcome(target, outcome, &output::paint)),
            })?;
            if let Outcome::Judged(report) = outcome {
                for unmet in demands.unmet(report) {
                    output::complain(&format!("{}: {unmet}", Shown::whole(target)));
                }
            }
            counts[usize::from(demands.exit_code(outcome))] += 1;
        }
        let [good, bad, unreadable] = counts;
        if !self.json && outcomes.len() > 1 {
            let unreadable =
                if unreadable == 0 { String::new() } else { format!(", {unreadable} could not be read") };
            output::print(&format!("\n{} targets: {good} pass, {bad} fail{unreadable}\n", outcomes.len()))?;
        }
        Ok(if unreadable > 0 { 2 } else { u8::from(bad > 0) })
    }

    fn load_keys(&self) -> Result<Keys, Ending> {
        let files = KeyFiles { key: self.key.clone(), hmac_key_file: self.hmac_key_file.clone() };
        let mut keys = runs::keys(&files)?;
        if let Some(path) = &self.keys {
            let disk::KeyFolder { files, others } =
                disk::key_folder(path).map_err(|error| Ending::impossible(error.to_string()))?;
            files.into_iter().for_each(|(path, file)| runs::add(&mut keys, file, &path));
            for other in others {
                let other = other.to_string_lossy();
                output::complain(&format!("{}: not a key, passed over", Shown::whole(&other)));
            }
        }
        Ok(keys)
    }

    /// Reads and judges one target; `None` if it is none of our business.
    fn judge(
        &self,
        target: &Target,
        keys: &Keys,
        beside: &Beside<'_>,
        threads: usize,
        progress: &Progress,
    ) -> Option<Outcome> {
        let options = self.options();
        let (read, place) = match &target.source {
            Source::StandardInput => (disk::open_standard_input(&options, beside), None),
            Source::Named(place) | Source::InFolder(place) => {
                (disk::open_with(place, &options, beside), Some(place))
            }
        };
        let content = match read {
            Ok(content) => content,
            Err(error) => return Some(Outcome::Unreadable(error)),
        };
        let counted = AtomicU64::new(0);
        let seen = |more: usize| {
            let more = u64::try_from(more).unwrap_or(0);
            counted.fetch_add(more, Ordering::Relaxed);
            progress.add(more);
        };
        let mut report = self.report(&content, keys, threads, seen);
        // What was not counted on the way is done now.
        progress.add(target.bytes.saturating_sub(counted.load(Ordering::Relaxed)));
        if let Source::InFolder(place) = &target.source
            && disk::is_passed_over(place.path(), &report)
        {
            return None;
        }
        if self.digest {
            match disk::digest_of(&content, place) {
                Ok(digest) => report.digests.extend(digest),
                Err(error) => return Some(Outcome::Unreadable(error)),
            }
        }
        Some(Outcome::Judged(report))
    }

    fn report(&self, content: &Content, keys: &Keys, threads: usize, seen: impl Fn(usize) + Sync) -> Report {
        let options = self.options();
        match content {
            Content::Bytes(bytes) if threads > 1 && bytes.len() >= WORTH_THREADS => {
                match self.format.or_else(|| detect::detect(bytes, &options.limits).ok()) {
                    Some(Format::Rer) => {
                        let run = |survey: &mut _| parallel::jobs(survey, threads, seen);
                        rer::verify_with(bytes, keys, &options, run)
                    }
                    Some(Format::ModelIo) => {
                        model_io::verify_with(bytes, &options, |jobs| parallel::all(jobs, threads))
                    }
                    _ => content.judge(keys, &options),
                }
            }
            Content::Members(members)
                if threads > 1 && members.is_rer_bundle() && self.format != Some(Format::Rer) =>
            {
                rer::bundle::verify_with(members, keys, &options, |survey| {
                    parallel::jobs(survey, threads, seen)
                })
            }
            Content::Members(members)
                if threads > 1
                    && members.is_model_io_pack()
                    && matches!(self.format, None | Some(Format::ModelIo)) =>
            {
                model_io::pack::verify_with(members, &options, |jobs| parallel::all(jobs, threads))
            }
            _ => content.judge(keys, &options),
        }
    }
}

/// What an argument means: what lies at that path, or else a run that was recorded here.
fn look_up(target: &OsStr) -> Argument {
    let there = disk::look_up(target);
    if !matches!(&there, Argument::Unreadable(error) if error.code == disk::NOT_FOUND) {
        return there;
    }
    match runs::recorded(target) {
        None => there,
        Some(Ok(path)) => disk::look_up(path.as_os_str()),
        Some(Err(message)) => Argument::Unreadable(Unreadable { code: disk::NOT_FOUND, message }),
    }
}

/// The things to read, in the order of the arguments and, within a folder, of their names.
fn flatten(arguments: &[Argument]) -> Vec<Target> {
    let mut targets = Vec::new();
    for (argument, given) in arguments.iter().enumerate() {
        match given {
            Argument::StandardInput => {
                targets.push(Target { argument, source: Source::StandardInput, bytes: 0 })
            }
            Argument::Place(place) => {
                targets.push(Target { argument, source: Source::Named(place.clone()), bytes: place.size() });
            }
            Argument::Folder { places, .. } => targets.extend(places.iter().map(|place| {
                let source = Source::InFolder(place.clone());
                Target { argument, source, bytes: place.size() }
            })),
            Argument::Unreadable(_) => {}
        }
    }
    targets
}

/// Outcomes in the order of the arguments, each argument closed before the next one begins.
struct Collected<'a> {
    command: &'a Verify,
    arguments: &'a [Argument],
    outcomes: Vec<(String, Outcome)>,
    /// The first argument that is not closed yet.
    due: usize,
    /// How much of it was judged.
    seen: usize,
}

impl Collected<'_> {
    fn take(&mut self, target: &Target, outcome: Option<Outcome>) {
        self.close(target.argument);
        let Some(outcome) = outcome else { return };
        self.seen += 1;
        let name = match &target.source {
            Source::StandardInput => "-".into(),
            Source::Named(place) | Source::InFolder(place) => place.path().to_string_lossy(),
        };
        self.outcomes.push((name.into_owned(), outcome));
    }

    /// Says what is left to say of the arguments before `next`.
    fn close(&mut self, next: usize) {
        while self.due < next {
            let name = self.command.targets[self.due].to_string_lossy().into_owned();
            match &self.arguments[self.due] {
                Argument::Unreadable(error) => self.outcomes.push((name, Outcome::Unreadable(error.clone()))),
                Argument::Folder { places, links } if self.seen == 0 => {
                    let report = disk::empty_folder(places.len(), *links);
                    self.outcomes.push((name, Outcome::Judged(report)));
                }
                Argument::Folder { places, links } => {
                    if let Some(others) = disk::passed_over(places.len() - self.seen, *links) {
                        output::complain(&format!("{}: {others}", Shown::whole(&name)));
                    }
                }
                _ => {}
            }
            self.due += 1;
            self.seen = 0;
        }
    }
}
