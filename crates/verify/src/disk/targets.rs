//! Arguments of a verify command to outcomes and an exit code.
//!
//! `reenact verify` and `reenact-verify` both parse their arguments, look up the targets, have them
//! verified here, and print. Start reading at [`VerifyTargets`].

use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicU64, Ordering};

use reenact_formats::FormatId;
use reenact_json::Shown;

use super::argument::{PathArgument, RecordPath, empty_folder_report, is_unrelated_file, skipped_summary};
use super::content::{self, file_digest_entry};
use crate::demand::note_duplicate_runs;
use crate::replay_jsonl::ReplayJsonlOptions;
use crate::workers::{Workers, available_cores, map_in_order};
use crate::{Demands, Keys, Options, TargetOutcome};

/// Parameters of the verification that all targets of a command share.
#[derive(Debug, Clone, Copy)]
pub struct VerifyRequest<'a> {
    /// Keys for signatures.
    pub keys: &'a Keys,
    /// Format, limits and time.
    pub options: Options,
    /// Content of the RECEIPT.json to compare each REPLAY.jsonl with.
    pub receipt: Option<&'a [u8]>,
    /// True to add the SHA-256 of each file to its report.
    pub digest: bool,
    /// True to use all cores; otherwise one thread.
    pub on_all_cores: bool,
}

/// Targets of one command, in the order of the arguments and, within a folder, of their names.
pub struct VerifyTargets {
    /// Arguments as given, each with what it stands for.
    arguments: Vec<(String, PathArgument)>,
    /// Records to verify, in order.
    targets: Vec<VerifyTarget>,
}

/// One record to read and verify.
struct VerifyTarget {
    /// Index of the argument that led to this target.
    argument: usize,
    /// Place to read the record from.
    source: TargetSource,
    /// Size in bytes for the progress display, 0 if unknown.
    size_bytes: u64,
}

/// Origin of a target.
enum TargetSource {
    StandardInput,
    /// Path that the user named: always reported.
    Named(RecordPath),
    /// Path found in a folder: skipped if it is not a record.
    InFolder(RecordPath),
}

/// Error: standard input was given more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("standard input (-) can be read only once")]
pub struct RepeatedStandardInput;

/// Results of all targets.
pub struct TargetOutcomes {
    /// Name and outcome of each target, in order.
    pub outcomes: Vec<(String, TargetOutcome)>,
    /// Sentences for people beside the outcomes, such as the number of skipped files; safe to print.
    pub warnings: Vec<String>,
}

impl VerifyTargets {
    /// Looks up each argument with the function `look_up`.
    ///
    /// # Errors
    /// Fails if standard input is given more than once.
    pub fn look_up(
        arguments: &[OsString],
        look_up: impl Fn(&OsStr) -> PathArgument,
    ) -> Result<Self, RepeatedStandardInput> {
        if arguments.iter().filter(|argument| *argument == "-").count() > 1 {
            return Err(RepeatedStandardInput);
        }
        let name = |argument: &OsString| argument.to_string_lossy().into_owned();
        let arguments: Vec<(String, PathArgument)> =
            arguments.iter().map(|argument| (name(argument), look_up(argument))).collect();
        let mut targets = Vec::new();
        for (argument, (_, given)) in arguments.iter().enumerate() {
            match given {
                PathArgument::StandardInput => {
                    targets.push(VerifyTarget {
                        argument,
                        source: TargetSource::StandardInput,
                        size_bytes: 0,
                    });
                }
                PathArgument::Record(record) => {
                    let (source, bytes) = (TargetSource::Named(record.clone()), record.size());
                    targets.push(VerifyTarget { argument, source, size_bytes: bytes });
                }
                PathArgument::Folder { records, .. } => {
                    targets.extend(records.iter().map(|record| VerifyTarget {
                        argument,
                        source: TargetSource::InFolder(record.clone()),
                        size_bytes: record.size(),
                    }))
                }
                PathArgument::Unreadable(_) => {}
            }
        }
        Ok(Self { arguments, targets })
    }

    /// Returns the sum of the known sizes in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.targets.iter().map(|target| target.size_bytes).sum()
    }

    /// Verifies all targets. `on_progress` is called with the number of bytes done since its last call,
    /// from any thread.
    pub fn verify(&self, request: &VerifyRequest<'_>, on_progress: &(dyn Fn(u64) + Sync)) -> TargetOutcomes {
        let threads = if request.on_all_cores { available_cores() } else { 1 };
        let inner = (threads / self.targets.len().max(1)).max(1);
        let mut collector = OutcomeCollector {
            arguments: &self.arguments,
            next_argument: 0,
            outcomes_of_argument: 0,
            collected: TargetOutcomes::empty(),
        };
        map_in_order(
            &self.targets,
            threads,
            |target| target.verify(request, inner, on_progress),
            |at, outcome| collector.add(&self.targets[at], outcome),
        );
        collector.finish_arguments(self.arguments.len());
        let mut results = collector.collected;
        note_duplicate_runs(&mut results.outcomes);
        let is_of_replay = |outcome: &TargetOutcome| matches!(outcome, TargetOutcome::Report(report) if report.format_id() == Some(FormatId::ReplayJsonl));
        if request.receipt.is_some() && !results.outcomes.iter().any(|(_, outcome)| is_of_replay(outcome)) {
            results.warnings.push("--receipt was not used: no target is a REPLAY.jsonl".into());
        }
        results
    }
}

impl TargetOutcomes {
    fn empty() -> Self {
        Self { outcomes: Vec::new(), warnings: Vec::new() }
    }

    /// Returns the number of targets that pass, fail, and could not be read, under these demands.
    pub fn counts(&self, demands: &Demands) -> [usize; 3] {
        let mut counts = [0; 3];
        for (_, outcome) in &self.outcomes {
            counts[usize::from(demands.exit_code(outcome))] += 1;
        }
        counts
    }

    /// Returns the exit code of the worst target, or 0 if there are none.
    pub fn exit_code(&self, demands: &Demands) -> u8 {
        self.outcomes.iter().map(|(_, outcome)| demands.exit_code(outcome)).max().unwrap_or(0)
    }
}

impl VerifyTarget {
    /// Reads and verifies the target; `None` if it was found in a folder and is not a record.
    fn verify(
        &self,
        request: &VerifyRequest<'_>,
        threads: usize,
        on_progress: &(dyn Fn(u64) + Sync),
    ) -> Option<TargetOutcome> {
        let VerifyRequest { keys, options, receipt, digest, .. } = request;
        let replay_options = ReplayJsonlOptions { receipt: *receipt, digest: *digest };
        let (read, record) = match &self.source {
            TargetSource::StandardInput => (content::open_standard_input(options, &replay_options), None),
            TargetSource::Named(record) | TargetSource::InFolder(record) => {
                (content::open_with(record, options, &replay_options), Some(record))
            }
        };
        let content = match read {
            Ok(content) => content,
            Err(error) => return Some(TargetOutcome::Unreadable(error)),
        };
        let counted = AtomicU64::new(0);
        let count = |more: usize| {
            let more = u64::try_from(more).unwrap_or(0);
            counted.fetch_add(more, Ordering::Relaxed);
            on_progress(more);
        };
        let mut report = content.verify_with(keys, options, &Workers::new(threads, &count));
        // Bytes that the workers did not report are done now.
        on_progress(self.size_bytes.saturating_sub(counted.load(Ordering::Relaxed)));
        if let TargetSource::InFolder(record) = &self.source
            && is_unrelated_file(record.path(), &report)
        {
            return None;
        }
        if *digest {
            match file_digest_entry(&content, record) {
                Ok(digest) => report.digests.extend(digest),
                Err(error) => return Some(TargetOutcome::Unreadable(error)),
            }
        }
        Some(TargetOutcome::Report(report))
    }
}

/// Collects outcomes in the order of the arguments. Each argument is finished before the next begins.
struct OutcomeCollector<'a> {
    /// Arguments as given, each with its meaning.
    arguments: &'a [(String, PathArgument)],
    /// Results so far.
    collected: TargetOutcomes,
    /// Index of the first unfinished argument.
    next_argument: usize,
    /// Number of outcomes of that argument so far.
    outcomes_of_argument: usize,
}

impl OutcomeCollector<'_> {
    /// Adds the outcome of a target, after finishing all earlier arguments.
    fn add(&mut self, target: &VerifyTarget, outcome: Option<TargetOutcome>) {
        self.finish_arguments(target.argument);
        let Some(outcome) = outcome else { return };
        self.outcomes_of_argument += 1;
        let name = match &target.source {
            TargetSource::StandardInput => "-".into(),
            TargetSource::Named(record) | TargetSource::InFolder(record) => record.path().to_string_lossy(),
        };
        self.collected.outcomes.push((name.into_owned(), outcome));
    }

    /// Adds what remains to be said of the arguments before `next`: an error, an empty folder, or
    /// skipped files.
    fn finish_arguments(&mut self, next: usize) {
        while let Some((name, argument)) =
            self.arguments.get(self.next_argument).filter(|_| self.next_argument < next)
        {
            match argument {
                PathArgument::Unreadable(error) => {
                    self.collected.outcomes.push((name.clone(), TargetOutcome::Unreadable(error.clone())));
                }
                PathArgument::Folder { records, links } if self.outcomes_of_argument == 0 => {
                    let report = empty_folder_report(records.len(), *links);
                    self.collected.outcomes.push((name.clone(), TargetOutcome::Report(report)));
                }
                PathArgument::Folder { records, links } => {
                    if let Some(others) = skipped_summary(records.len() - self.outcomes_of_argument, *links) {
                        self.collected.warnings.push(format!("{}: {others}", Shown::whole(name)));
                    }
                }
                _ => {}
            }
            self.next_argument += 1;
            self.outcomes_of_argument = 0;
        }
    }
}
