//! Whether the run was reproduced.

use std::sync::Arc;

use reenact_json::Shown;
use reenact_run::{Exchange, ExchangeRequestBody, Exit};

use crate::match_level::MatchLevel;
use crate::miss::Miss;

/// What became of a replay, as far as requests go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayOutcome {
    /// Requests that were given their recorded answer.
    pub hits: usize,
    /// Requests that had none, each kind of them once.
    pub misses: Vec<Arc<Miss>>,
    /// How many requests had none, repeated ones counted.
    pub missed: usize,
    /// Recorded answers that nobody asked for.
    pub unused: Vec<UnusedExchange>,
    /// Hits whose request was recorded more than once with different answers: their order alone decided which was given, and
    /// where an answer is given again and again, how much of it is held.
    pub ambiguous: usize,
    /// Hits whose answer was written anew, because the record holds only its JSON or what it said.
    pub rebuilt: usize,
    /// The weakest rung that a hit was found on; `None` if there was none.
    pub weakest_level: Option<MatchLevel>,
}

/// A recorded exchange that nobody asked for. All texts are safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedExchange {
    /// The recorded step.
    pub step_id: String,
    /// The model, if the record names one.
    pub model: Option<String>,
    /// What it was, such as `POST /v1/responses`.
    pub label: String,
}

impl UnusedExchange {
    pub(crate) fn of(exchange: &Exchange<'_>) -> Self {
        let request = exchange.request();
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
            step_id: Shown::new(&exchange.step_id()).to_string(),
            model: model.map(|model| Shown::new(&model).to_string()),
            label,
        }
    }
}

/// The verdict on a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplayVerdict {
    /// The same requests, the same answers, the same exit code.
    Reproduced,
    /// It asked for less, or ended in another way.
    Differed,
    /// It asked for what is not recorded.
    MissingDependency,
}

impl ReplayVerdict {
    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differed => "differed",
            Self::MissingDependency => "missing-dependency",
        }
    }

    /// 0 reproduced, 1 differed, 2 could not.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Reproduced => 0,
            Self::Differed => 1,
            Self::MissingDependency => 2,
        }
    }
}

impl ReplayOutcome {
    /// The verdict, given how the command ended now and then. A record that does not say how it ended is not held against it.
    pub fn verdict(&self, child_exit: Exit, recorded_exit: Option<Exit>) -> ReplayVerdict {
        if self.missed > 0 {
            ReplayVerdict::MissingDependency
        } else if !self.unused.is_empty() || recorded_exit.is_some_and(|recorded| recorded != child_exit) {
            ReplayVerdict::Differed
        } else {
            ReplayVerdict::Reproduced
        }
    }
}
