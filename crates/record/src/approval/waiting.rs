//! A question that waits for its answer.

use core::time::Duration;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reenact_formats::rer::approval::{Approver, Expected, Refusal, Verdict, judge};
use reenact_formats::rer::envelope::permission::SignerType;

use super::file::{self, Unreadable};
use super::request::Request;
use super::{ApprovalId, nanoseconds};

/// What came of a question so far.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Look {
    /// Nobody has answered. Look again later.
    Pending,
    /// It may happen, once.
    Granted {
        /// The token: canonical JSON, to be recorded as it is.
        token: Vec<u8>,
        /// What the approver is.
        signer_type: SignerType,
    },
    /// It may not happen.
    Denied {
        /// What the approver is.
        signer_type: SignerType,
        /// Why, in the approver's words; nobody has masked them yet.
        reason: Option<String>,
    },
    /// An answer came that does not hold. It was set aside; look again later.
    Refused {
        /// What is wrong with it.
        why: Rejection,
    },
    /// Nobody answered in time: it may not happen.
    TimedOut,
    /// The question was answered, or timed out, at an earlier look.
    Over,
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The token does not hold.
    #[error(transparent)]
    Token(#[from] Refusal),
    /// It could not be read.
    #[error("the answer {0}")]
    File(#[from] Unreadable),
}

impl Rejection {
    /// A word that a program may branch on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Token(refusal) => refusal.code(),
            Self::File(_) => "unreadable",
        }
    }
}

/// How many answers that do not hold are set aside and told. Those after them are thrown away.
pub const MOST_REFUSED: usize = 16;

/// A question that waits for its answer. Dropped, it is withdrawn.
#[derive(Debug)]
pub struct Waiting {
    folder: PathBuf,
    request: Request,
    approvers: Arc<[Approver]>,
    deadline: Duration,
    /// The latest time that was seen: no look is earlier than the one before.
    latest: Duration,
    refused: usize,
    is_over: bool,
}

impl Waiting {
    pub(super) fn new(
        folder: PathBuf,
        request: Request,
        approvers: Arc<[Approver]>,
        deadline: Duration,
    ) -> Self {
        Self { folder, request, approvers, deadline, latest: Duration::ZERO, refused: 0, is_over: false }
    }

    /// The question's id.
    pub fn approval_id(&self) -> ApprovalId {
        self.request.approval_id
    }

    /// The question as approvers see it.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The time, since 1970, from which on no answer counts.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Looks whether somebody has answered, without waiting. `now` is the time since 1970.
    pub fn look(&mut self, now: Duration) -> Look {
        if self.is_over {
            return Look::Over;
        }
        self.latest = self.latest.max(now);
        if self.latest >= self.deadline {
            self.close();
            return Look::TimedOut;
        }
        // Taken before it is read: what is judged is what is set aside or used, whatever comes under its name meanwhile.
        let taken = self.path("taken");
        match fs::rename(self.path("answer"), &taken) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Look::Pending,
            Err(error) => return self.refuse(None, Unreadable::Io(error.kind()).into()),
        }
        let token = match file::read(&taken) {
            Ok(token) => token,
            Err(why) => return self.refuse(Some(&taken), why.into()),
        };
        match self.judge(&token) {
            Ok(Verdict::Granted { signer_type }) => {
                self.end(&taken, "granted");
                Look::Granted { token, signer_type }
            }
            Ok(Verdict::Denied { signer_type, reason }) => {
                self.end(&taken, "denied");
                Look::Denied { signer_type, reason }
            }
            Err(refusal) => self.refuse(Some(&taken), refusal.into()),
        }
    }

    fn judge(&self, token: &[u8]) -> Result<Verdict, Refusal> {
        let Request { run_id, approval_id, action, name, input_hash, signer_types, .. } = &self.request;
        let (run_id, approval_id) = (run_id.to_string(), approval_id.to_string());
        let expected = Expected {
            run_id: &run_id,
            approval_id: &approval_id,
            action: *action,
            name,
            input_hash: *input_hash,
            signer_types: signer_types.as_deref(),
        };
        judge(token, &expected, &self.approvers, nanoseconds(self.latest))
    }

    /// Sets an answer aside, if it was taken.
    fn refuse(&mut self, taken: Option<&Path>, why: Rejection) -> Look {
        self.refused = self.refused.saturating_add(1);
        if self.refused > MOST_REFUSED {
            // Whoever floods us is not told each time. A folder of that name stays, and nobody can answer.
            let _ = taken.map(fs::remove_file);
            return Look::Pending;
        }
        if let Some(taken) = taken {
            let aside = self.path(&format!("refused-{}", self.refused));
            let _ = fs::rename(taken, aside);
        }
        Look::Refused { why }
    }

    /// The answer counts, and no other will. An answer is used once because this question ends with it; the names only
    /// tell people so.
    fn end(&mut self, taken: &Path, word: &str) {
        let _ = fs::rename(taken, self.path(word));
        self.close();
    }

    fn close(&mut self) {
        if !self.is_over {
            self.is_over = true;
            let _ = fs::rename(self.path("request"), self.path("closed"));
        }
    }

    fn path(&self, word: &str) -> PathBuf {
        self.folder.join(format!("{}.{word}.json", self.request.approval_id))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.close();
    }
}
