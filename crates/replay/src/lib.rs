//! A recorded run, served back without sockets.
//!
//! A [`Player`] takes requests as an agent makes them and gives the answers that were recorded: each to its own request, each
//! once, in recorded order. A request that was never recorded is a [`Miss`], which says what was recorded instead and where
//! the two part. In the end an [`ReplayOutcome`] tells whether the run was reproduced.
//!
//! | module | what it holds |
//! |---|---|
//! | [`rung`] | when two requests are the same, where all of them is held and where less is |
//! | [`player`] | requests in, answers out |
//! | [`answer`] | what was recorded, ready to be served |
//! | [`miss`], [`difference`] | what is not recorded, the closest that is, and where they part |
//! | [`outcome`] | hits, misses, what was never asked for, the verdict |
//! | [`record`] | all of that as JSON |

pub mod answer;
mod answer_comparison;
mod closest;
mod denied_call;
pub mod difference;
pub mod match_level;
pub mod miss;
pub mod outcome;
pub mod player;
mod recorded_exchanges;
pub mod replay_record;
mod request;

pub use answer::{AnswerEnd, NotServed, RecordedAnswer};
pub use difference::RequestDifference;
pub use match_level::MatchLevel;
pub use miss::{Closest, Miss, MissCause};
pub use outcome::{ReplayOutcome, ReplayVerdict, UnusedExchange};
pub use player::{Player, PlayerReply};
pub use recorded_exchanges::{LoadError, LoadNote};
pub use reenact_run::Chunk;
pub use replay_record::ReplayRecord;
pub use request::PlayerRequest;
