//! `reenact verify`: is this record of a run what it says it is?

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use reenact_formats::key::KeyFile;
use reenact_json::Shown;
use reenact_verify::disk::{self, Argument, Content, Place};
use reenact_verify::{Format, Keys, Options, Outcome, Report, detect, render, rer};

use crate::output::{self, Ending};
use crate::parallel;
use crate::progress::Progress;

/// Verify records of runs: every hash recomputed, every check reported, offline
///
/// A target is a file, a bundle, a folder (every record in it), or - for standard input. What it is, its content decides. The exit
/// code is 0 if everything holds, 1 if something does not, 2 if something could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact verify --key signer.jwk run.rer.json\n  reenact verify --keys trusted/ runs/\n  reenact verify --json --key signer.pem - < run.rer.json"
)]
pub(super) struct Verify {
    /// Files, folders, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    targets: Vec<OsString>,

    /// A public key: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM; may be given more than once
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,

    /// Every key in a folder, or in a JWKS file
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,

    /// Judge by this format's checks, whatever the content looks like: rer, rer-bundle
    #[arg(long, value_name = "NAME", value_parser = format)]
    format: Option<Format>,

    /// Add the SHA-256 of each file to its report
    #[arg(long)]
    digest: bool,

    /// One JSON object a line, one line a target
    #[arg(long)]
    json: bool,
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
        let keys = self.load_keys()?;
        let arguments: Vec<Argument> = self.targets.iter().map(|target| disk::look_up(target)).collect();
        let targets = flatten(&arguments);
        let progress = Progress::new(targets.iter().map(|target| target.bytes).sum(), false);
        let threads = parallel::cores();
        let inner = (threads / targets.len().max(1)).max(1);
        let mut printer = Printer {
            command: self,
            arguments: &arguments,
            progress: &progress,
            worst: 0,
            counts: [0; 3],
            due: 0,
            seen: 0,
        };
        let result = parallel::in_order(
            &targets,
            threads,
            |target| self.judge(target, &keys, inner, &progress),
            |at, outcome| printer.take(&targets[at], outcome),
        );
        result?;
        printer.close(arguments.len())?;
        progress.finish();
        printer.summary()?;
        Ok(printer.worst)
    }

    fn load_keys(&self) -> Result<Keys, Ending> {
        let mut keys = Keys::default();
        let mut add = |file: KeyFile, path: &Path| {
            if file.holds_private {
                let path = path.to_string_lossy();
                output::complain(&format!(
                    "{}: this file holds a private key; only its public part is used, and it should not lie around",
                    Shown::whole(&path)
                ));
            }
            keys.extend(file.keys);
        };
        for path in &self.key {
            add(disk::key_file(path).map_err(|error| Ending::impossible(error.to_string()))?, path);
        }
        if let Some(path) = &self.keys {
            let (files, others) =
                disk::key_folder(path).map_err(|error| Ending::impossible(error.to_string()))?;
            files.into_iter().for_each(|file| add(file, path));
            for other in others {
                let other = other.to_string_lossy();
                output::complain(&format!("{}: not a key, passed over", Shown::whole(&other)));
            }
        }
        Ok(keys)
    }

    /// Reads and judges one target; `None` if it is none of our business.
    fn judge(&self, target: &Target, keys: &Keys, threads: usize, progress: &Progress) -> Option<Outcome> {
        let (read, place) = match &target.source {
            Source::StandardInput => (disk::open_standard_input(), None),
            Source::Named(place) | Source::InFolder(place) => (disk::open(place), Some(place)),
        };
        let content = match read {
            Ok(content) => content,
            Err(error) => return Some(Outcome::Unreadable(error)),
        };
        let mut report = self.report(&content, keys, threads, progress);
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

    fn report(&self, content: &Content, keys: &Keys, threads: usize, progress: &Progress) -> Report {
        let options = Options { format: self.format, ..Options::default() };
        let seen = |more| progress.add(u64::try_from(more).unwrap_or(0));
        match content {
            Content::Bytes(bytes) if threads > 1 && bytes.len() >= WORTH_THREADS => {
                match self.format.map_or_else(|| detect::detect(bytes, &options.limits), Ok) {
                    Ok(Format::Rer) => {
                        let run = |survey: &mut _| parallel::jobs(survey, threads, seen);
                        rer::verify_with(bytes, keys, &options, run)
                    }
                    _ => content.judge(keys, &options),
                }
            }
            Content::Members(members)
                if threads > 1 && (members.is_rer_bundle() || self.format.is_some()) =>
            {
                rer::bundle::verify_with(members, keys, &options, |survey| {
                    parallel::jobs(survey, threads, seen)
                })
            }
            _ => content.judge(keys, &options),
        }
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

/// Prints outcomes in order, each argument closed before the next one begins.
struct Printer<'a> {
    command: &'a Verify,
    arguments: &'a [Argument],
    progress: &'a Progress,
    worst: u8,
    /// How many targets ended with each exit code.
    counts: [usize; 3],
    /// The first argument that is not closed yet.
    due: usize,
    /// How many files of it were judged.
    seen: usize,
}

impl Printer<'_> {
    fn take(&mut self, target: &Target, outcome: Option<Outcome>) -> Result<(), Ending> {
        self.close(target.argument)?;
        let Some(outcome) = outcome else { return Ok(()) };
        self.seen += 1;
        let name = match &target.source {
            Source::StandardInput => "-".into(),
            Source::Named(place) | Source::InFolder(place) => place.path().to_string_lossy(),
        };
        self.print(&name, &outcome)
    }

    /// Says what is left to say of the arguments before `next`.
    fn close(&mut self, next: usize) -> Result<(), Ending> {
        while self.due < next {
            let name = self.command.targets[self.due].to_string_lossy();
            match &self.arguments[self.due] {
                Argument::Unreadable(error) => self.print(&name, &Outcome::Unreadable(error.clone()))?,
                Argument::Folder { places, links } if self.seen == 0 => {
                    self.print(&name, &Outcome::Judged(disk::empty_folder(places.len(), *links)))?;
                }
                Argument::Folder { places, links } => {
                    if let Some(others) = disk::passed_over(places.len() - self.seen, *links) {
                        let message = format!("{}: {others}", Shown::whole(&name));
                        self.progress.suspend(|| output::complain(&message));
                    }
                }
                _ => {}
            }
            self.due += 1;
            self.seen = 0;
        }
        Ok(())
    }

    fn print(&mut self, name: &str, outcome: &Outcome) -> Result<(), Ending> {
        let code = outcome.exit_code();
        self.worst = self.worst.max(code);
        let text = match (self.command.json, self.counts.iter().sum::<usize>()) {
            (true, _) => outcome.to_json(name) + "\n",
            (false, 0) => render::outcome(name, outcome, &output::paint),
            (false, _) => format!("\n{}", render::outcome(name, outcome, &output::paint)),
        };
        self.counts[usize::from(code)] += 1;
        self.progress.suspend(|| output::print(&text))
    }

    /// A last line over all targets, for people.
    fn summary(&self) -> Result<(), Ending> {
        let [good, bad, unreadable] = self.counts;
        let total = good + bad + unreadable;
        if self.command.json || total < 2 {
            return Ok(());
        }
        let unreadable =
            if unreadable == 0 { String::new() } else { format!(", {unreadable} could not be read") };
        output::print(&format!("\n{total} targets: {good} pass, {bad} fail{unreadable}\n"))
    }
}
