//! Approvals: questions to approvers, and their signed answers.
//!
//! A recorder that needs an approval asks through its [`ApprovalQueue`]: the folder `approvals` of the run, closed to
//! other users. Each question is a file `<id>.request.json` with everything that an approver must see. An approver, in
//! another terminal, signs an answer for exactly that question, which becomes `<id>.answer.json`. The recorder takes
//! the answer, verifies it, and uses it once.
//!
//! | file | contents |
//! |---|---|
//! | `<id>.request.json` | question that waits |
//! | `<id>.answer.json` | answer that the recorder has not read yet |
//! | `<id>.granted.json`, `<id>.denied.json` | answer that was used |
//! | `<id>.refused-<n>.json` | answer that was invalid |
//! | `<id>.closed.json` | question that was answered, withdrawn, or timed out |
//!
//! File names come from ids that the recorder made, never from outside. Start reading at [`ApprovalQueue::ask`] for the
//! recorder's side, and at [`pending_questions`] and [`answer_question`] for the approver's.

mod file;
mod open_question;
mod pending;
mod question_file;
mod queue;

use core::fmt;
use core::str::FromStr;

pub use file::{ApprovalFileFault, MAX_APPROVAL_FILE_BYTES};
pub use open_question::{AnswerPoll, MAX_REFUSED_ANSWERS, OpenQuestion, Rejection};
pub use pending::{
    AnswerError, BrokenQuestion, BrokenQuestionFault, PendingQuestion, PendingQuestions, answer_question,
    pending_questions,
};
pub use question_file::{QuestionFile, QuestionFileFault};
pub use queue::{ApprovalQueue, AskError, Question};

use crate::clock::Clock;
use crate::randomness::{Randomness, RandomnessError};
use crate::run_id::{InvalidRunId, RunId};

/// Id of a question: made like a [`RunId`], of the time and 74 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApprovalId(RunId);

impl ApprovalId {
    /// Returns a new id.
    ///
    /// # Errors
    /// Fails if there is no randomness.
    pub fn new(clock: &dyn Clock, randomness: &dyn Randomness) -> Result<Self, RandomnessError> {
        RunId::new(clock, randomness).map(Self)
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ApprovalId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        text.parse().map(Self)
    }
}

/// Name of the folder of questions in a run's folder.
const FOLDER: &str = "approvals";

/// Converts a time since 1970 to nanoseconds, the unit in which tokens are judged.
fn nanoseconds(moment: core::time::Duration) -> i128 {
    i128::try_from(moment.as_nanos()).unwrap_or(i128::MAX)
}
