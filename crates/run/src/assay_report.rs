//! `run.json`, `summary.json`, `junit.xml` and `sarif.json`: the outcome of a run, as the tool that reads Replay Bundles (`assay`)
//! writes it.
//!
//! That tool runs test suites. Each step that called a model stands for one test, which passes if the model
//! answered. Prompts and answers are in the trace of the bundle and are not repeated here. `bundled_outcome` reads such files. Start
//! reading at [`AssayReport`].

mod junit;
mod sarif;

use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Digest, Value};

use crate::bundled_outcome::{OUTCOME_UNKNOWN, RUN_FAILED, RUN_KILLED};
use crate::exit::Exit;
use crate::run::Run;

pub use junit::is_junit_of_replay;
pub use sarif::is_sarif_of_replay;

/// Name of the test suite in reports on a run that was recorded.
pub const SUITE: &str = "reenact";

/// Outcome of a run or of its replay, as `assay` reports one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssayReport {
    /// Id of the run, if it has one. Untrusted text.
    pub run_id: Option<String>,
    /// Name of the test suite. Untrusted text.
    pub suite: String,
    /// Results, one for each step that called a model.
    pub results: Vec<AssayTestResult>,
    /// Exit code of the run, or of its replay.
    pub exit_code: i64,
    /// Error code for programs, such as `E_RUN_FAILED`; empty on success.
    pub reason_code: &'static str,
    /// Error message.
    pub message: Option<String>,
    /// Command to type next, if there is one.
    pub next_step: Option<String>,
    /// Program that writes the report: `reenact/<version>`.
    pub producer: String,
    /// Digest of the run's envelope.
    pub policy_digest: Option<Digest>,
    /// Digest of the bundle's trace.
    pub trace_digest: Option<Digest>,
    /// Seeds of random numbers.
    pub seeds: AssaySeeds,
    /// Bundle that was replayed, if this is the report of a replay.
    pub replay: Option<ReplayedBundle>,
}

/// Seeds of random numbers, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssaySeeds {
    /// Version of the way in which seeds are used.
    pub version: u32,
    /// Seed of the order of tests. Untrusted text.
    pub order: Option<String>,
    /// Seed of the judge. Untrusted text.
    pub judge: Option<String>,
}

impl Default for AssaySeeds {
    fn default() -> Self {
        Self { version: 1, order: None, judge: None }
    }
}

/// Result of one step, which stands for a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssayTestResult {
    /// Id of the step. Untrusted text.
    pub id: String,
    /// Status of the step.
    pub status: AssayTestStatus,
    /// Error message, or what is to be said of a step that passed; empty if there is nothing.
    pub message: String,
    /// Duration of the step in milliseconds, if known.
    pub milliseconds: Option<u64>,
}

/// Status of a test, or of a step that stands for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssayTestStatus {
    /// The model answered completely, with a status below 400.
    Pass,
    /// The answer was not the expected one.
    Fail,
    /// The answer is missing, incomplete or an error.
    Error,
    /// The test was not run.
    Skipped,
    /// The test passed with a warning.
    Warn,
    /// The test passed at last, after it had failed.
    Flaky,
    /// The test passes and fails by chance.
    Unstable,
    /// The test could not be run, and its policy lets it pass.
    AllowedOnError,
}

impl AssayTestStatus {
    /// All statuses, each with the word that `run.json` has for it.
    const WORDS: [(Self, &'static str); 8] = [
        (Self::Pass, "pass"),
        (Self::Fail, "fail"),
        (Self::Error, "error"),
        (Self::Skipped, "skipped"),
        (Self::Warn, "warn"),
        (Self::Flaky, "flaky"),
        (Self::Unstable, "unstable"),
        (Self::AllowedOnError, "allowed_on_error"),
    ];

    /// Returns the word that `run.json` has for the status.
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(status, _)| *status == self).map_or("error", |(_, word)| word)
    }

    /// Returns the status that a word of `run.json` means; `None` for an unknown word.
    pub fn of_name(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(status, _)| *status)
    }

    /// Returns true for a test that passed, but not as it should.
    fn is_warning(self) -> bool {
        matches!(self, Self::Warn | Self::Flaky | Self::AllowedOnError)
    }
}

/// Bundle that a replay was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedBundle {
    /// SHA-256 of the bundle's file; `None` for a folder.
    pub bundle_digest: Option<Digest>,
    /// Id of the run in the bundle, if the bundle names one. Untrusted text.
    pub source_run_id: Option<String>,
    /// True if requests could go to their vendors.
    pub is_live: bool,
    /// True if the kernel cut off the network, false if nothing did; `None` if nothing was run.
    pub is_hermetic: Option<bool>,
    /// Seeds that were given in place of those in the bundle, by the names that the manifest has for them.
    pub seed_overrides: Vec<(&'static str, String)>,
}

impl AssayReport {
    /// Makes the report of a recorded run. `version` is that of this program.
    ///
    /// A run without an exit code is a success only if its record says so.
    pub fn of(run: &Run, version: &str) -> Self {
        let exit_code = run.ended().and_then(|ended| integer(ended.member("exit_code")?));
        let said = run.ended().and_then(|ended| ended.member("status")?.string());
        // A run that crashed has no exit code, and is no success.
        let (exit_code, reason_code, message) = match (exit_code, said.as_deref()) {
            (Some(exit_code), _) => (exit_code, "", None),
            (None, Some("completed" | "Success" | "success")) => (0, "", None),
            (None, Some(_)) => match run.summary().exit {
                // As shells have it; the message says which signal, so that an exit code of that number is another end.
                Some(ended @ Exit::Signal(signal)) => {
                    (i64::from(signal) + 128, RUN_KILLED, Some(ended.to_string()))
                }
                _ => (1, RUN_FAILED, Some("the run failed, and no exit code is recorded".to_owned())),
            },
            (None, None) => {
                (1, OUTCOME_UNKNOWN, Some("the record does not tell how the run ended".to_owned()))
            }
        };
        let envelope = run.started().and_then(|started| started.member("envelope_hash")?.string());
        let mut results = Vec::new();
        for exchange in run.exchanges().filter(|exchange| exchange.kind == crate::ExchangeKind::Model) {
            let own = exchange.step_id();
            let index = exchange.called.index();
            let id = if own.is_empty() { format!("request-{index}") } else { own.into_owned() };
            let (is_answered, message, milliseconds) = match exchange.answer() {
                Ok(answer) => {
                    let is_good = answer.complete && answer.status.is_none_or(|status| status < 400);
                    let message = match (is_good, answer.status) {
                        (true, _) => String::new(),
                        (false, Some(status)) if answer.complete => format!("answered with status {status}"),
                        (false, _) => "the answer is not complete".to_owned(),
                    };
                    let latency =
                        answer.latency.map(|latency| u64::try_from(latency.as_millis()).unwrap_or(u64::MAX));
                    (is_good, message, latency)
                }
                Err(why) => (false, why.to_string(), None),
            };
            let status = if is_answered { AssayTestStatus::Pass } else { AssayTestStatus::Error };
            results.push(AssayTestResult { id, status, message, milliseconds });
        }
        Self {
            run_id: Some(run.id().to_owned()),
            suite: SUITE.to_owned(),
            results,
            exit_code,
            reason_code,
            message,
            producer: format!("reenact/{version}"),
            policy_digest: envelope.and_then(|hash| Digest::from_hex(&hash)),
            ..Self::default()
        }
    }

    /// Returns the text of `run.json`, with a line feed at its end.
    pub fn run_json(&self) -> String {
        let mut text = String::new();
        let mut object = PrintObjectWriter::open(&mut text);
        object.string("run_id", self.run_id.as_deref());
        object.string("suite", self.suite.as_str());
        print::write_list(&self.results, object.name("results"), |result, out| {
            let mut object = PrintObjectWriter::open(out);
            object.string("test_id", result.id.as_str());
            object.string("status", result.status.name());
            object.name("score").push_str(if result.status == AssayTestStatus::Pass { "1.0" } else { "0.0" });
            object.boolean("cached", false);
            object.string("message", result.message.as_str());
            let time = result.milliseconds.map_or("null".to_owned(), |time| time.to_string());
            object.name("duration_ms").push_str(&time);
            object.close();
        });
        self.write_exit(&mut object);
        object.name("reason_code_version").push('1');
        self.seeds.write(&mut object);
        let mut resolution = PrintObjectWriter::open(object.name("resolution"));
        self.write_exit(&mut resolution);
        if let Some(message) = &self.message {
            resolution.string("message", message.as_str());
        }
        if let Some(next_step) = &self.next_step {
            resolution.string("next_step", next_step.as_str());
        }
        resolution.close();
        if let Some(replay) = &self.replay {
            let mut provenance = PrintObjectWriter::open(object.name("provenance"));
            replay.write(&mut provenance);
            provenance.close();
        }
        object.close();
        text + "\n"
    }

    /// Returns the text of `summary.json`, with a line feed at its end.
    pub fn summary_json(&self) -> String {
        let mut text = String::new();
        let mut object = PrintObjectWriter::open(&mut text);
        object.name("schema_version").push('1');
        object.name("reason_code_version").push('1');
        self.write_exit(&mut object);
        if let Some(message) = &self.message {
            object.string("message", message.as_str());
        }
        if let Some(next_step) = &self.next_step {
            object.string("next_step", next_step.as_str());
        }
        let mut provenance = PrintObjectWriter::open(object.name("provenance"));
        provenance.string("assay_version", self.producer.as_str());
        provenance.string("verify_mode", "enabled");
        for (name, digest) in
            [("policy_pack_digest", self.policy_digest), ("trace_digest", self.trace_digest)]
        {
            if let Some(digest) = digest {
                provenance.string(name, format!("sha256:{digest}").as_str());
            }
        }
        if let Some(replay) = &self.replay {
            replay.write(&mut provenance);
        }
        provenance.close();
        let count =
            |is: fn(AssayTestStatus) -> bool| self.results.iter().filter(|result| is(result.status)).count();
        let passed = count(|status| status == AssayTestStatus::Pass);
        let skipped = count(|status| status == AssayTestStatus::Skipped);
        let warned = count(AssayTestStatus::is_warning);
        let mut results = PrintObjectWriter::open(object.name("results"));
        results.name("passed").push_str(&passed.to_string());
        results.name("failed").push_str(&(self.results.len() - passed - warned - skipped).to_string());
        for (name, number) in [("warned", warned), ("skipped", skipped)] {
            if number > 0 {
                results.name(name).push_str(&number.to_string());
            }
        }
        results.name("total").push_str(&self.results.len().to_string());
        results.close();
        let mut seeds = PrintObjectWriter::open(object.name("seeds"));
        self.seeds.write(&mut seeds);
        seeds.close();
        object.string("schema", "assay.run_summary.v1");
        object.close();
        text + "\n"
    }

    /// Writes the members `exit_code` and `reason_code`.
    fn write_exit(&self, object: &mut PrintObjectWriter<'_>) {
        object.name("exit_code").push_str(&self.exit_code.to_string());
        object.string("reason_code", self.reason_code);
    }
}

impl AssaySeeds {
    /// Writes the members of seeds; both files have them.
    fn write(&self, object: &mut PrintObjectWriter<'_>) {
        object.name("seed_version").push_str(&self.version.to_string());
        object.string("order_seed", self.order.as_deref());
        object.string("judge_seed", self.judge.as_deref());
    }
}

impl ReplayedBundle {
    /// Writes the members that say where a replay came from.
    fn write(&self, provenance: &mut PrintObjectWriter<'_>) {
        provenance.boolean("replay", true);
        let digest = self.bundle_digest.map_or("unknown".to_owned(), |digest| digest.to_string());
        provenance.string("bundle_digest", format!("sha256:{digest}").as_str());
        provenance.string("replay_mode", if self.is_live { "live" } else { "offline" });
        provenance.string("source_run_id", self.source_run_id.as_deref());
        if let Some(is_hermetic) = self.is_hermetic {
            provenance.boolean("hermetic", is_hermetic);
        }
        if !self.seed_overrides.is_empty() {
            let mut overrides = PrintObjectWriter::open(provenance.name("seed_overrides"));
            for (name, seed) in &self.seed_overrides {
                overrides.string(name, seed.as_str());
            }
            overrides.close();
        }
    }
}

/// Returns an integer, which may be negative.
fn integer(value: Value<'_>) -> Option<i64> {
    core::str::from_utf8(value.text()).ok()?.parse().ok()
}
