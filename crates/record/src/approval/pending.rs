//! The approver's side of approvals: lists the questions that wait, over all runs of a folder, and answers one.

use core::time::Duration;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reenact_json::Shown;

use super::file::{self, ApprovalFileFault};
use super::question_file::{QuestionFile, QuestionFileFault};
use super::{ApprovalId, FOLDER, nanoseconds};
use crate::durable::{self, Readers};
use crate::run_id::RunId;
use crate::run_store::{self, RunStore, RunStoreError};

/// Question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingQuestion {
    /// Contents of the question.
    pub file: QuestionFile,
    folder: PathBuf,
}

impl PendingQuestion {
    /// Returns the path of the question's file.
    pub fn path(&self) -> PathBuf {
        self.sibling_path("request")
    }

    /// Returns the path of a file of this question, such as its `answer`.
    fn sibling_path(&self, word: &str) -> PathBuf {
        self.folder.join(format!("{}.{word}.json", self.file.approval_id))
    }
}

/// File that is in the place of a question, and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {fault}", Shown::whole(.path))]
pub struct BrokenQuestion {
    /// Path of the file.
    pub path: String,
    /// Reason why it is no question.
    pub fault: BrokenQuestionFault,
}

/// Reason why a file is no question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrokenQuestionFault {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] ApprovalFileFault),
    /// The file's contents are no question.
    #[error(transparent)]
    Request(#[from] QuestionFileFault),
    /// The question's id is not that of its file name, or its run is not that of its folder.
    #[error("is the question of another run, or another question")]
    OutOfPlace,
    /// The folder of questions cannot be used.
    #[error(transparent)]
    Folder(#[from] RunStoreError),
}

/// Questions that wait, over all runs of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingQuestions {
    /// Questions, oldest first.
    pub questions: Vec<PendingQuestion>,
    /// Files among them that are no questions, by path.
    pub broken: Vec<BrokenQuestion>,
    /// True if there are more files than were read.
    pub is_truncated: bool,
}

/// Number of files that are read at most: no person answers more questions, and a folder may hold anything.
const MAX_FILES: usize = 10_000;

/// Lists the questions that wait in a folder of runs at `now`, the time since 1970. Questions that have timed out or
/// have an answer are left out.
pub fn pending_questions(store: &RunStore, now: Duration) -> Result<PendingQuestions, RunStoreError> {
    let (now, mut queue) = (nanoseconds(now), PendingQuestions::default());
    let mut left = MAX_FILES;
    // Newest runs first, in case there are more than [`MAX_FILES`].
    for run_id in store.run_ids()?.into_iter().rev() {
        let approvals_folder = store.run_path(run_id).join(FOLDER);
        match run_store::check_folder(&approvals_folder) {
            Ok(false) => {}
            Ok(true) => collect_questions(&approvals_folder, run_id, now, &mut left, &mut queue),
            Err(error) => queue.broken.push(broken_question(&approvals_folder, error.into())),
        }
    }
    queue.questions.sort_by_key(|question| (question.file.asked_at_nanoseconds(), question.file.approval_id));
    queue.broken.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(queue)
}

/// Adds the questions in one run's folder to `queue`. `left` is the number of files that may still be read.
fn collect_questions(
    approvals_folder: &Path,
    run_id: RunId,
    now: i128,
    left: &mut usize,
    queue: &mut PendingQuestions,
) {
    let failed =
        |error: io::Error| broken_question(approvals_folder, ApprovalFileFault::Io(error.kind()).into());
    let entries = match fs::read_dir(approvals_folder) {
        Ok(entries) => entries,
        Err(error) => return queue.broken.push(failed(error)),
    };
    for entry in entries {
        if *left == 0 {
            queue.is_truncated = true;
            return;
        }
        *left -= 1;
        let name = match entry {
            Ok(entry) => entry.file_name(),
            Err(error) => return queue.broken.push(failed(error)),
        };
        let id = name.to_str().and_then(|name| name.strip_suffix(".request.json"));
        let Some(approval_id) = id.and_then(|id| id.parse::<ApprovalId>().ok()) else { continue };
        match read_question(approvals_folder, run_id, approval_id) {
            Ok(Some(question)) if now < question.file.expires_at_nanoseconds() => {
                queue.questions.push(question)
            }
            Ok(_) => {}
            Err(fault) => queue.broken.push(broken_question(&approvals_folder.join(name), fault)),
        }
    }
}

fn broken_question(path: &Path, fault: BrokenQuestionFault) -> BrokenQuestion {
    BrokenQuestion { path: path.to_string_lossy().into_owned(), fault }
}

/// Reads the question of that id; `None` if it has an answer, or was closed meanwhile.
fn read_question(
    approvals_folder: &Path,
    run_id: RunId,
    approval_id: ApprovalId,
) -> Result<Option<PendingQuestion>, BrokenQuestionFault> {
    let text = match file::read(&approvals_folder.join(format!("{approval_id}.request.json"))) {
        Err(ApprovalFileFault::Missing) => return Ok(None),
        text => text?,
    };
    let request = QuestionFile::read(&text)?;
    if (request.run_id, request.approval_id) != (run_id, approval_id) {
        return Err(BrokenQuestionFault::OutOfPlace);
    }
    let question = PendingQuestion { file: request, folder: approvals_folder.to_owned() };
    let is_there = |word| question.sibling_path(word).symlink_metadata().is_ok();
    Ok((!is_there("answer") && !is_there("taken")).then_some(question))
}

/// Reason why an answer was not delivered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The question does not wait any more.
    #[error("nobody waits for this approval any more: it was answered, withdrawn, or timed out")]
    Gone,
    /// Another approver answered first.
    #[error("somebody else has answered this just now")]
    Answered,
    /// The operating system returned an error.
    #[error("{}: {text}", Shown::whole(.path))]
    Io {
        /// Path of the file.
        path: String,
        /// Kind of the error.
        kind: io::ErrorKind,
        /// Message of the operating system.
        text: String,
    },
}

/// Delivers a signed token as the answer to a question.
///
/// # Errors
/// [`AnswerError::Gone`] if the question was closed, [`AnswerError::Answered`] if it has an answer already.
pub fn answer_question(question: &PendingQuestion, token: &[u8]) -> Result<(), AnswerError> {
    let is_there = |word| question.sibling_path(word).symlink_metadata().is_ok();
    if !is_there("request") {
        return Err(AnswerError::Gone);
    }
    let path = question.sibling_path("answer");
    durable::create(&path, token, Readers::Owner).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => AnswerError::Answered,
        kind => AnswerError::Io { path: path.to_string_lossy().into_owned(), kind, text: error.to_string() },
    })?;
    // The question may have been closed just before the answer was written. Then the recorder will not take the answer.
    if !is_there("request") && is_there("answer") {
        let _ = fs::remove_file(path);
        return Err(AnswerError::Gone);
    }
    Ok(())
}
