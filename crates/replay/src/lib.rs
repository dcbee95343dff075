//! Replay of a recorded run: recorded answers for the requests of an agent, without sockets.
//!
//! A [`Player`] takes [`PlayerRequest`]s as an agent makes them and returns the answers that were recorded:
//! each to its own request, each once, in recorded order. A request that was never recorded is a [`Miss`],
//! which names the closest recorded request and the differences between the two. At the end a [`ReplayOutcome`]
//! counts hits, misses and unused answers, and gives the verdict. The HTTP server around a player is the
//! gateway; this crate does no I/O.
//!
//! | module | content |
//! |---|---|
//! | [`player`] | [`Player`]: requests in, answers out |
//! | `request` | [`PlayerRequest`], and the same request masked as the recorder masks |
//! | [`match_level`] | how much of a request may differ for a recorded answer to be served |
//! | [`request_key`] | keys by which an equal request is found, for records that hold all of a request and for those that hold less |
//! | `form` | forms of requests: what is equal in every run, and the words that may differ |
//! | [`options`] | the last level, rules of agents and users, clocks |
//! | `recorded_exchanges` | index of the recorded exchanges by their keys |
//! | `served` | exchanges that were served so far |
//! | `served_prompt` | prompts that were answered, for a session of the replay |
//! | [`differing`] | exchanges whose requests differed in what their level excuses |
//! | [`edit`], `signed_part` | replaced answers, and the parts that their vendor wants back unchanged |
//! | `answer_comparison` | comparison of several records of one answer |
//! | [`answer`] | recorded answers, ready to be served |
//! | `denied_call` | calls that policy denied in the recorded run, denied again |
//! | [`miss`], `miss_list` | requests without an answer, equal ones once |
//! | `closest`, `likeness`, [`difference`] | the recorded request that is most like one without an answer, and the differences |
//! | [`hint`] | guesses at the cause of a difference |
//! | [`outcome`] | hits, misses, unused answers, the verdict |
//! | [`bundle_comparison`] | the outcome in a Replay Bundle, beside that of its replay |
//! | [`replay_record`] | all of that as JSON |
//!
//! Start reading at [`Player::answer`].

pub mod answer;
mod answer_comparison;
pub mod bundle_comparison;
mod closest;
mod denied_call;
pub mod difference;
pub mod differing;
pub mod edit;
mod form;
pub mod hint;
mod likeness;
pub mod match_level;
pub mod miss;
mod miss_list;
pub mod options;
pub mod outcome;
pub mod player;
mod recorded_exchanges;
pub mod replay_record;
mod request;
pub mod request_key;
mod served;
mod served_prompt;
mod signed_part;

pub use answer::{AnswerEnd, NotServed, RecordedAnswer};
pub use bundle_comparison::BundleComparison;
pub use difference::{RequestDifference, WholeValues};
pub use differing::DifferingExchange;
pub use edit::EditError;
pub use form::rules::MatchRules;
pub use hint::MissHint;
pub use match_level::{LevelCounts, MatchLevel};
pub use miss::{Closest, Miss, MissCause, RepeatedMiss};
pub use options::{MatchOptions, ReplayClock};
pub use outcome::{ReplayOutcome, ReplayVerdict, UnusedExchange};
pub use player::{ForkError, Player, PlayerReply};
pub use recorded_exchanges::{LoadError, LoadNote};
pub use reenact_run::Chunk;
pub use replay_record::ReplayRecord;
pub use request::PlayerRequest;
pub use request_key::FoundBy;
pub use served_prompt::ServedPrompt;

/// Runs the examples of the README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
