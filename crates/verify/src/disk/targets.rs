//! Arguments of a command to outcomes and an exit code.
//!
//! Both `reenact verify` and `reenact-verify` do this and nothing else: they parse their words, look up the targets, have them
//! judged, and print.

use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicU64, Ordering};

use reenact_formats::FormatId;
use reenact_json::Shown;

use super::content::{self, digest_of};
use super::place::{Argument, Place, empty_folder, is_passed_over, passed_over};
use crate::demand::note_twins;
use crate::replay_jsonl::Beside;
use crate::workers::{Workers, cores, in_order};
use crate::{Demands, Keys, Options, Outcome};

/// How targets are judged.
#[derive(Debug, Clone, Copy)]
pub struct VerifyRequest<'a> {
    /// The keys at hand.
    pub keys: &'a Keys,
    /// How to verify.
    pub options: Options,
    /// The RECEIPT.json to hold a REPLAY.jsonl against.
    pub receipt: Option<&'a [u8]>,
    /// True if the SHA-256 of each file is wanted.
    pub digest: bool,
    /// True if all cores may be used.
    pub on_all_cores: bool,
}

/// The targets of one command, in the order given and, within a folder, of their names.
pub struct Targets {
    arguments: Vec<(String, Argument)>,
    targets: Vec<Target>,
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

/// Standard input was given more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("standard input (-) can be read only once")]
pub struct RepeatedInput;

/// What was found of all targets.
pub struct Judged {
    /// Each target by its name, with what was found.
    pub outcomes: Vec<(String, Outcome)>,
    /// What a person should hear beside the outcomes; safe to print.
    pub complaints: Vec<String>,
}

impl Targets {
    /// Looks at each argument; `look_up` says what one stands for.
    pub fn look_up(
        arguments: &[OsString],
        look_up: impl Fn(&OsStr) -> Argument,
    ) -> Result<Self, RepeatedInput> {
        if arguments.iter().filter(|argument| *argument == "-").count() > 1 {
            return Err(RepeatedInput);
        }
        let name = |argument: &OsString| argument.to_string_lossy().into_owned();
        let arguments: Vec<(String, Argument)> =
            arguments.iter().map(|argument| (name(argument), look_up(argument))).collect();
        let mut targets = Vec::new();
        for (argument, (_, given)) in arguments.iter().enumerate() {
            match given {
                Argument::StandardInput => {
                    targets.push(Target { argument, source: Source::StandardInput, bytes: 0 });
                }
                Argument::Place(place) => {
                    let (source, bytes) = (Source::Named(place.clone()), place.size());
                    targets.push(Target { argument, source, bytes });
                }
                Argument::Folder { places, .. } => targets.extend(places.iter().map(|place| Target {
                    argument,
                    source: Source::InFolder(place.clone()),
                    bytes: place.size(),
                })),
                Argument::Unreadable(_) => {}
            }
        }
        Ok(Self { arguments, targets })
    }

    /// How many bytes there are to judge, as far as that is known.
    pub fn bytes(&self) -> u64 {
        self.targets.iter().map(|target| target.bytes).sum()
    }

    /// Judges all of them; `seen` is told how many more bytes are done.
    pub fn judge(&self, request: &VerifyRequest<'_>, seen: &(dyn Fn(u64) + Sync)) -> Judged {
        let threads = if request.on_all_cores { cores() } else { 1 };
        let inner = (threads / self.targets.len().max(1)).max(1);
        let mut collected =
            Collected { arguments: &self.arguments, due: 0, seen: 0, judged: Judged::empty() };
        in_order(
            &self.targets,
            threads,
            |target| target.judge(request, inner, seen),
            |at, outcome| collected.take(&self.targets[at], outcome),
        );
        collected.close(self.arguments.len());
        let mut judged = collected.judged;
        note_twins(&mut judged.outcomes);
        let is_of_replay = |outcome: &Outcome| matches!(outcome, Outcome::Judged(report) if report.id() == Some(FormatId::ReplayJsonl));
        if request.receipt.is_some() && !judged.outcomes.iter().any(|(_, outcome)| is_of_replay(outcome)) {
            judged.complaints.push("--receipt was not used: no target is a REPLAY.jsonl".into());
        }
        judged
    }
}

impl Judged {
    fn empty() -> Self {
        Self { outcomes: Vec::new(), complaints: Vec::new() }
    }

    /// How many targets pass, fail, and could not be read, under these demands.
    pub fn counts(&self, demands: &Demands) -> [usize; 3] {
        let mut counts = [0; 3];
        for (_, outcome) in &self.outcomes {
            counts[usize::from(demands.exit_code(outcome))] += 1;
        }
        counts
    }

    /// The exit code: that of the worst target.
    pub fn exit_code(&self, demands: &Demands) -> u8 {
        self.outcomes.iter().map(|(_, outcome)| demands.exit_code(outcome)).max().unwrap_or(0)
    }
}

impl Target {
    /// Reads and judges it; `None` if it is none of our business.
    fn judge(
        &self,
        request: &VerifyRequest<'_>,
        threads: usize,
        seen: &(dyn Fn(u64) + Sync),
    ) -> Option<Outcome> {
        let VerifyRequest { keys, options, receipt, digest, .. } = request;
        let beside = Beside { receipt: *receipt, digest: *digest };
        let (read, place) = match &self.source {
            Source::StandardInput => (content::open_standard_input(options, &beside), None),
            Source::Named(place) | Source::InFolder(place) => {
                (content::open_with(place, options, &beside), Some(place))
            }
        };
        let content = match read {
            Ok(content) => content,
            Err(error) => return Some(Outcome::Unreadable(error)),
        };
        let counted = AtomicU64::new(0);
        let count = |more: usize| {
            let more = u64::try_from(more).unwrap_or(0);
            counted.fetch_add(more, Ordering::Relaxed);
            seen(more);
        };
        let mut report = content.judge_with(keys, options, &Workers::new(threads, &count));
        // What was not counted on the way is done now.
        seen(self.bytes.saturating_sub(counted.load(Ordering::Relaxed)));
        if let Source::InFolder(place) = &self.source
            && is_passed_over(place.path(), &report)
        {
            return None;
        }
        if *digest {
            match digest_of(&content, place) {
                Ok(digest) => report.digests.extend(digest),
                Err(error) => return Some(Outcome::Unreadable(error)),
            }
        }
        Some(Outcome::Judged(report))
    }
}

/// Outcomes in the order of the arguments, each argument closed before the next one begins.
struct Collected<'a> {
    arguments: &'a [(String, Argument)],
    judged: Judged,
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
        self.judged.outcomes.push((name.into_owned(), outcome));
    }

    /// Says what is left to say of the arguments before `next`.
    fn close(&mut self, next: usize) {
        while let Some((name, argument)) = self.arguments.get(self.due).filter(|_| self.due < next) {
            match argument {
                Argument::Unreadable(error) => {
                    self.judged.outcomes.push((name.clone(), Outcome::Unreadable(error.clone())));
                }
                Argument::Folder { places, links } if self.seen == 0 => {
                    let report = empty_folder(places.len(), *links);
                    self.judged.outcomes.push((name.clone(), Outcome::Judged(report)));
                }
                Argument::Folder { places, links } => {
                    if let Some(others) = passed_over(places.len() - self.seen, *links) {
                        self.judged.complaints.push(format!("{}: {others}", Shown::whole(name)));
                    }
                }
                _ => {}
            }
            self.due += 1;
            self.seen = 0;
        }
    }
}
