//! A recorded run, served back without sockets.
//!
//! A [`Player`] takes requests as an agent makes them and gives the answers that were recorded: each to its own request, each
//! once, in recorded order. A request that was never recorded is a [`Miss`], which says what was recorded instead and where
//! the two part. In the end an [`Outcome`] tells whether the run was reproduced.
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
mod closest;
mod denial;
pub mod difference;
mod incoming;
mod library;
pub mod miss;
pub mod outcome;
pub mod player;
pub mod record;
pub mod rung;
mod told;

pub use answer::{End, NotServed, RecordedAnswer};
pub use difference::Difference;
pub use incoming::Incoming;
pub use library::{LoadError, Note};
pub use miss::{Cause, Closest, Miss};
pub use outcome::{Outcome, Unused, Verdict};
pub use player::{Player, Reply};
pub use record::ReplayRecord;
pub use reenact_run::Chunk;
pub use rung::Rung;
