//! Outcome of a replay, and the verdict whether the run was reproduced.

use reenact_json::Shown;
use reenact_run::{Exchange, ExchangeRequestBody, Exit};

use crate::differing::DifferingExchange;
use crate::form::rules::MatchRules;
use crate::match_level::{LevelCounts, MatchLevel};
use crate::miss::RepeatedMiss;
use crate::request_key::FoundBy;

/// Outcome of a replay, as far as requests and answers go. The exit of the command is judged by
/// [`ReplayOutcome::verdict`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayOutcome {
    /// Number of requests that were served a recorded answer, by the level at which each was found.
    pub levels: LevelCounts,
    /// Exchanges whose requests differed in what their level excuses, in the order in which they were served; at most 1,000.
    pub differing: Vec<DifferingExchange>,
    /// True if a run in which results of tools differ counts as reproduced.
    pub accepts_tools: bool,
    /// Requests without an answer. Equal requests that missed for the same cause are listed once, with their number; at
    /// most 1,000 are listed.
    pub misses: Vec<RepeatedMiss>,
    /// Number of requests without an answer, repeated ones included.
    pub missed: usize,
    /// Recorded exchanges that were never requested.
    pub unused: Vec<UnusedExchange>,
    /// Number of hits whose request was recorded more than once with different answers. Their order alone
    /// decided which answer was served; in a Replay Bundle, which answer the record holds in most detail.
    pub ambiguous: usize,
    /// Number of hits whose answer had been given before, which only a Replay Bundle allows.
    pub repeated: usize,
    /// Number of hits whose body was rebuilt, because the record holds only JSON or the message.
    pub rebuilt: usize,
    /// Smallest part of a request by which a hit was found; `None` if there was no hit.
    pub found_by: Option<FoundBy>,
}

/// Recorded exchange that was never requested. All texts are safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedExchange {
    /// Index in the run of the event that holds the request.
    pub event_index: usize,
    /// Id of the recorded step.
    pub step_id: String,
    /// Model that the record names, if any.
    pub model: Option<String>,
    /// Method and path, such as `POST /v1/responses`; else the prompt, its hash, or why the request cannot be
    /// read.
    pub label: String,
    /// True for a call that may be made in any order or not at all, such as for a title or a count of tokens.
    pub is_side_call: bool,
}

impl UnusedExchange {
    /// Describes an exchange by its request.
    pub(crate) fn of(exchange: &Exchange<'_>, rules: &MatchRules) -> Self {
        let request = exchange.request();
        let is_side_call = request.as_ref().is_ok_and(|request| rules.is_side_call(request));
        let label = match &request {
            Ok(request) => {
                let (method, path) = (Shown::new(&request.method), Shown::new(&request.path));
                match (&request.body, request.path.is_empty()) {
                    (_, false) => format!("{method} {path}"),
                    (ExchangeRequestBody::Prompt(prompt), true) => format!("\"{}\"", Shown::new(prompt)),
                    (ExchangeRequestBody::Hash(digest), true) => format!("prompt sha256:{digest}"),
                    _ => "a request".into(),
                }
            }
            Err(why) => format!("a request that cannot be read: {why}"),
        };
        let model = request.ok().and_then(|request| request.model);
        Self {
            event_index: exchange.called.index(),
            step_id: Shown::new(&exchange.step_id()).to_string(),
            model: model.map(|model| Shown::new(&model).to_string()),
            label,
            is_side_call,
        }
    }
}

/// Verdict on a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplayVerdict {
    /// Every recorded answer was requested, side calls aside, no other request was made, and the command ended as recorded.
    Reproduced,
    /// The command requested less, handed over other results of tools, or ended in another way.
    Differed,
    /// The command requested something that is not recorded.
    MissingDependency,
}

impl ReplayVerdict {
    /// Returns the verdict's name in reports, such as `reproduced`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differed => "differed",
            Self::MissingDependency => "missing-dependency",
        }
    }

    /// Returns the exit code of the replay command: 0 reproduced, 1 differed, 2 missing dependency.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Reproduced => 0,
            Self::Differed => 1,
            Self::MissingDependency => 2,
        }
    }
}

impl ReplayOutcome {
    /// Returns the number of requests that were served a recorded answer.
    pub fn hits(&self) -> usize {
        self.levels.total()
    }

    /// Returns true if nothing differed beyond what a reproduction may.
    pub fn is_reproduction(&self) -> bool {
        let last = self.levels.last().unwrap_or(MatchLevel::Exact);
        last.is_reproduction() || (self.accepts_tools && last == MatchLevel::Tools)
    }

    /// Returns the verdict, given how the command ended in the replay and in the record. A record that does not
    /// say how its command ended (`None`) makes no difference.
    pub fn verdict(&self, child_exit: Exit, recorded_exit: Option<Exit>) -> ReplayVerdict {
        if self.missed > 0 {
            ReplayVerdict::MissingDependency
        } else if self.unused.iter().any(|unused| !unused.is_side_call)
            || !self.is_reproduction()
            || recorded_exit.is_some_and(|recorded| recorded != child_exit)
        {
            ReplayVerdict::Differed
        } else {
            ReplayVerdict::Reproduced
        }
    }
}
