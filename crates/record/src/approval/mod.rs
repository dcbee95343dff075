//! Questions to approvers, and their answers.
//!
//! A recorder that needs an approval asks at its [`Desk`]: the folder `approvals` of the run, closed to others. Each question
//! is a file there, `<id>.request.json`, with everything that an approver must see. An approver, in another terminal, signs an
//! answer for exactly that question, which becomes `<id>.answer.json`; the recorder takes it, judges it, and uses it once.
//!
//! | file | what it is |
//! |---|---|
//! | `<id>.request.json` | a question that waits |
//! | `<id>.answer.json` | an answer that nobody has looked at yet |
//! | `<id>.granted.json`, `<id>.denied.json` | the answer that counted |
//! | `<id>.refused-<n>.json` | an answer that does not hold |
//! | `<id>.closed.json` | a question that was answered, withdrawn, or nobody answered in time |
//!
//! No name comes from outside: an id is one that we made.

mod desk;
mod file;
mod queue;
mod request;
mod waiting;

use core::fmt;
use core::str::FromStr;

pub use desk::{Desk, DeskError, Question};
pub use file::{LARGEST, Unreadable};
pub use queue::{AnswerError, Broken, BrokenFault, PendingQuestion, Queue, answer, pending};
pub use request::{Request, RequestFault};
pub use waiting::{Look, MOST_REFUSED, Rejection, Waiting};

use crate::clock::Clock;
use crate::randomness::{NoRandomness, Randomness};
use crate::run_id::{NotARunId, RunId};

/// The id of a question: made like a run's, of the time and 74 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApprovalId(RunId);

impl ApprovalId {
    /// A new id.
    pub fn new(clock: &dyn Clock, randomness: &dyn Randomness) -> Result<Self, NoRandomness> {
        RunId::new(clock, randomness).map(Self)
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ApprovalId {
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<Self, NotARunId> {
        text.parse().map(Self)
    }
}

/// The name of the folder in a run's own.
const FOLDER: &str = "approvals";

/// A moment in nanoseconds since 1970, as tokens are judged.
fn nanoseconds(moment: core::time::Duration) -> i128 {
    i128::try_from(moment.as_nanos()).unwrap_or(i128::MAX)
}
