//! A question that waits for its answer, as the recorder polls it.

use core::time::Duration;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reenact_formats::rer::approval::{
    ApprovalQuestion, ApprovalVerdict, Approver, TokenRefusal, verify_token,
};
use reenact_formats::rer::envelope::permission::SignerType;

use super::file::{self, ApprovalFileFault};
use super::question_file::QuestionFile;
use super::{ApprovalId, nanoseconds};

/// Result of polling for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum AnswerPoll {
    /// There is no answer yet. Poll again later.
    Pending,
    /// The action may happen, once.
    Granted {
        /// The token: canonical JSON, to be recorded unchanged.
        token: Vec<u8>,
        /// Type of the approver who signed.
        signer_type: SignerType,
    },
    /// The action must not happen.
    Denied {
        /// Type of the approver who signed.
        signer_type: SignerType,
        /// Reason in the approver's words, not masked yet.
        reason: Option<String>,
    },
    /// An invalid answer came. It was renamed, and the question still waits; poll again later.
    Refused {
        /// Reason why the answer is invalid.
        why: Rejection,
    },
    /// No valid answer came in time: the action must not happen.
    TimedOut,
    /// The question was answered, or timed out, at an earlier poll.
    Closed,
}

/// Reason why an answer is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The token is invalid.
    #[error(transparent)]
    Token(#[from] TokenRefusal),
    /// The file could not be read.
    #[error("the answer {0}")]
    File(#[from] ApprovalFileFault),
}

impl Rejection {
    /// Returns a short name of the fault, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Token(refusal) => refusal.code(),
            Self::File(_) => "unreadable",
        }
    }
}

/// Number of invalid answers that are kept and reported. Later ones are removed.
pub const MAX_REFUSED_ANSWERS: usize = 16;

/// Question that waits for its answer. If it is dropped, it is withdrawn.
#[derive(Debug)]
pub struct OpenQuestion {
    folder: PathBuf,
    file: QuestionFile,
    approvers: Arc<[Approver]>,
    deadline: Duration,
    /// Latest time of a poll: a clock that goes back does not extend the deadline.
    latest_time: Duration,
    refused_answers: usize,
    is_closed: bool,
}

impl OpenQuestion {
    pub(super) fn new(
        folder: PathBuf,
        file: QuestionFile,
        approvers: Arc<[Approver]>,
        deadline: Duration,
    ) -> Self {
        Self {
            folder,
            file,
            approvers,
            deadline,
            latest_time: Duration::ZERO,
            refused_answers: 0,
            is_closed: false,
        }
    }

    /// Returns the id of the approval.
    pub fn approval_id(&self) -> ApprovalId {
        self.file.approval_id
    }

    /// Returns the question as approvers see it.
    pub fn file(&self) -> &QuestionFile {
        &self.file
    }

    /// Returns the time, since 1970, from which on no answer counts.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Looks for an answer without waiting, and verifies it. `now` is the time since 1970.
    pub fn poll(&mut self, now: Duration) -> AnswerPoll {
        if self.is_closed {
            return AnswerPoll::Closed;
        }
        self.latest_time = self.latest_time.max(now);
        if self.latest_time >= self.deadline {
            self.close();
            return AnswerPoll::TimedOut;
        }
        // Renamed before it is read: the file that is verified is the one that is used or kept, even if another answer
        // comes meanwhile.
        let taken = self.path("taken");
        match fs::rename(self.path("answer"), &taken) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return AnswerPoll::Pending,
            Err(error) => return self.set_aside(None, ApprovalFileFault::Io(error.kind()).into()),
        }
        let token = match file::read(&taken) {
            Ok(token) => token,
            Err(why) => return self.set_aside(Some(&taken), why.into()),
        };
        match self.check_token(&token) {
            Ok(ApprovalVerdict::Granted { signer_type }) => {
                self.accept(&taken, "granted");
                AnswerPoll::Granted { token, signer_type }
            }
            Ok(ApprovalVerdict::Denied { signer_type, reason }) => {
                self.accept(&taken, "denied");
                AnswerPoll::Denied { signer_type, reason }
            }
            Err(refusal) => self.set_aside(Some(&taken), refusal.into()),
        }
    }

    /// Verifies a token against the question, the known approvers and the pinned keys.
    fn check_token(&self, token: &[u8]) -> Result<ApprovalVerdict, TokenRefusal> {
        let QuestionFile { run_id, approval_id, action, name, input_hash, signer_types, pinned, .. } =
            &self.file;
        let (run_id, approval_id) = (run_id.to_string(), approval_id.to_string());
        let expected = ApprovalQuestion {
            run_id: &run_id,
            approval_id: &approval_id,
            action: *action,
            name,
            input_hash: *input_hash,
            signer_types: signer_types.as_deref(),
            pinned,
        };
        verify_token(token, &expected, &self.approvers, nanoseconds(self.latest_time))
    }

    /// Counts an invalid answer, and keeps it under another name if its file was taken.
    fn set_aside(&mut self, taken: Option<&Path>, why: Rejection) -> AnswerPoll {
        self.refused_answers = self.refused_answers.saturating_add(1);
        if self.refused_answers > MAX_REFUSED_ANSWERS {
            // A flood of answers is not reported one by one. If a folder has the name it stays, and no answer can come:
            // the question times out.
            let _ = taken.map(fs::remove_file);
            return AnswerPoll::Pending;
        }
        if let Some(taken) = taken {
            let aside = self.path(&format!("refused-{}", self.refused_answers));
            let _ = fs::rename(taken, aside);
        }
        AnswerPoll::Refused { why }
    }

    /// Accepts the answer, and closes the question. The question's end is what makes an answer count only once; the
    /// file's new name only informs people.
    fn accept(&mut self, taken: &Path, word: &str) {
        let _ = fs::rename(taken, self.path(word));
        self.close();
    }

    /// Closes the question, once: it is no longer listed, and takes no answer.
    fn close(&mut self) {
        if !self.is_closed {
            self.is_closed = true;
            let _ = fs::rename(self.path("request"), self.path("closed"));
        }
    }

    fn path(&self, word: &str) -> PathBuf {
        self.folder.join(format!("{}.{word}.json", self.file.approval_id))
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.close();
    }
}
