//! Record of a replay as JSON, for the command line to write.

use reenact_json::Digest;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_run::Exit;

use crate::bundle_comparison::BundleComparison;
use crate::difference::RequestDifference;
use crate::differing::DifferingExchange;
use crate::match_level::MatchLevel;
use crate::miss::{self, MissCause, RepeatedMiss};
use crate::outcome::{ReplayOutcome, ReplayVerdict, UnusedExchange};
use crate::request_key::FoundBy;

/// Result of a replay: the replayed run, the outcome, and the conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRecord {
    /// Id of the run that was replayed. Untrusted text.
    pub run_id: String,
    /// Format of the run's record, with its version.
    pub format: String,
    /// Digest of the signed content of the record, if it has one.
    pub digest: Option<String>,
    /// Exit of the command in the replay.
    pub child_exit: Exit,
    /// Exit of the command when it was recorded, if the record says so.
    pub recorded_exit: Option<Exit>,
    /// Standard output of the command, if it was piped in the record and in the replay.
    pub output: Option<OutputComparison>,
    /// True if another output makes a replay differ. Agents print times and durations, so that the default is to tell it only.
    pub needs_same_output: bool,
    /// Hits, misses and unused answers.
    pub outcome: ReplayOutcome,
    /// Outcome in the bundle and its comparison, if a Replay Bundle was replayed.
    pub bundle: Option<BundleComparison>,
    /// Sandbox that the command ran in.
    pub sandbox: ReplaySandbox,
    /// Start of the replay, RFC 3339.
    pub started_at: String,
    /// End of the replay, RFC 3339.
    pub ended_at: String,
}

/// Digests of what a command wrote to its standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputComparison {
    /// SHA-256 in the record.
    pub recorded: Digest,
    /// SHA-256 in the replay.
    pub now: Digest,
}

impl OutputComparison {
    /// Returns true if the command wrote the same.
    pub fn is_same(self) -> bool {
        self.recorded == self.now
    }
}

/// Sandbox that a replayed command ran in, as texts for the record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplaySandbox {
    /// Isolation mechanism: `netns`, `landlock` or `none`.
    pub isolation: String,
    /// Resources that the command could not reach.
    pub closed: Vec<String>,
    /// Resources that the command could reach.
    pub open: Vec<String>,
    /// Reason why no stronger isolation was available.
    pub why: Option<String>,
}

impl ReplayRecord {
    /// Returns the verdict on the replay: that of the outcome, unless the command wrote something else and may not, or an output of a
    /// bundle is another.
    pub fn verdict(&self) -> ReplayVerdict {
        match self.outcome.verdict(self.child_exit, self.recorded_exit) {
            ReplayVerdict::Reproduced if self.bundle.as_ref().is_some_and(|bundle| !bundle.is_same()) => {
                ReplayVerdict::Differed
            }
            ReplayVerdict::Reproduced if self.needs_same_output && self.has_other_output() => {
                ReplayVerdict::Differed
            }
            verdict => verdict,
        }
    }

    /// Returns true if the command wrote something else than in the record.
    pub fn has_other_output(&self) -> bool {
        self.output.is_some_and(|output| !output.is_same())
    }

    /// Returns the record as one JSON object, without a line feed. Control characters that act on a terminal
    /// are escaped.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let mut object = PrintObjectWriter::open(&mut text);
        let mut origin = PrintObjectWriter::open(object.name("replay_of"));
        origin.string("run_id", self.run_id.as_str());
        origin.string("format", self.format.as_str());
        origin.string("digest", self.digest.as_deref());
        origin.close();
        object.string("verdict", self.verdict().name());
        write_number(&mut object, "child_exit", self.child_exit.code());
        write_number(&mut object, "child_signal", self.child_exit.signal());
        write_number(&mut object, "recorded_exit", self.recorded_exit.and_then(Exit::code));
        write_number(&mut object, "recorded_signal", self.recorded_exit.and_then(Exit::signal));
        let mut levels = PrintObjectWriter::open(object.name("levels"));
        for level in MatchLevel::ALL {
            write_number(&mut levels, level.name(), Some(self.outcome.levels.of(level)));
        }
        levels.close();
        object.string("found_by", self.outcome.found_by.map(FoundBy::name));
        write_number(&mut object, "hits", Some(self.outcome.hits()));
        print::write_list(&self.outcome.differing, object.name("differing"), write_differing);
        write_number(&mut object, "missed", Some(self.outcome.missed));
        print::write_list(&self.outcome.misses, object.name("misses"), write_miss);
        print::write_list(&self.outcome.unused, object.name("unused"), write_unused);
        write_number(&mut object, "ambiguous", Some(self.outcome.ambiguous));
        write_number(&mut object, "rebuilt", Some(self.outcome.rebuilt));
        match self.output {
            Some(output) => output.write(object.name("output")),
            None => object.name("output").push_str("null"),
        }
        match &self.bundle {
            Some(bundle) => bundle.write_json(object.name("bundle")),
            None => object.string("bundle", None),
        }
        self.sandbox.write(object.name("sandbox"));
        object.string("started_at", self.started_at.as_str());
        object.string("ended_at", self.ended_at.as_str());
        object.close();
        text
    }
}

impl OutputComparison {
    fn write(self, out: &mut String) {
        let mut object = PrintObjectWriter::open(out);
        object.string("recorded", self.recorded.to_string().as_str());
        object.string("now", self.now.to_string().as_str());
        object.boolean("same", self.is_same());
        object.close();
    }
}

impl ReplaySandbox {
    fn write(&self, out: &mut String) {
        let mut object = PrintObjectWriter::open(out);
        object.string("rung", self.isolation.as_str());
        object.strings("closed", &self.closed);
        object.strings("open", &self.open);
        object.string("why", self.why.as_deref());
        object.close();
    }
}

/// Writes a member that is a number, or `null`.
fn write_number(object: &mut PrintObjectWriter<'_>, name: &str, number: Option<impl ToString>) {
    let text = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
    object.name(name).push_str(&text);
}

fn write_miss(RepeatedMiss { miss, times }: &RepeatedMiss, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    object.string("code", miss::CODE);
    object.string("provider", miss.provider.as_str());
    object.string("method", miss.method.as_str());
    object.string("path", miss.path.as_str());
    object.string("model", miss.model.as_deref());
    object.string("match_key", miss.key.as_str());
    write_number(&mut object, "asked", Some(times));
    object.string("cause", miss.cause.name());
    match &miss.cause {
        MissCause::NothingRecorded | MissCause::NotCompared => {}
        MissCause::AskedMoreOften { recorded } | MissCause::OnlyHashes { recorded } => {
            write_number(&mut object, "recorded", Some(recorded))
        }
        MissCause::Several { step_ids, level } => {
            object.strings("step_ids", step_ids);
            object.string("level", level.name());
        }
        MissCause::NoAnswer { step_id, why } => {
            object.string("step_id", step_id.as_str());
            object.string("why", why.to_string().as_str());
        }
        MissCause::Unknown(found) => {
            let mut closest = PrintObjectWriter::open(object.name("closest"));
            closest.string("step_id", found.step_id.as_str());
            closest.boolean("served", found.is_served);
            write_number(&mut closest, "distance", Some(found.distance));
            print::write_list(&found.differences, closest.name("differences"), write_difference);
            let hints: Vec<&str> = found.hints.iter().map(|hint| hint.name).collect();
            closest.strings("hints", &hints);
            closest.close();
        }
    }
    object.close();
}

fn write_difference(difference: &RequestDifference, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    object.string("at", difference.location.as_str());
    object.string("recorded", difference.recorded.as_deref());
    object.string("asked", difference.requested.as_deref());
    if let Some(whole) = &difference.whole {
        object.string("recorded_whole", whole.recorded.as_deref());
        object.string("asked_whole", whole.requested.as_deref());
    }
    object.close();
}

fn write_differing(exchange: &DifferingExchange, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    object.string("step_id", exchange.step_id.as_str());
    object.string("level", exchange.level.name());
    write_number(&mut object, "distance", Some(exchange.distance));
    print::write_list(&exchange.differences, object.name("differences"), write_difference);
    object.close();
}

fn write_unused(unused: &UnusedExchange, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    object.string("step_id", unused.step_id.as_str());
    object.string("model", unused.model.as_deref());
    object.string("label", unused.label.as_str());
    object.boolean("side_call", unused.is_side_call);
    object.close();
}
