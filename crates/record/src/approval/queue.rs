//! The recorder's side of approvals: writes a question into the run's `approvals` folder and waits for its answer.

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reenact_formats::key::KeyId;
use reenact_formats::rer::approval::{Approver, input_hash};
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::envelope::policy::Action;
use reenact_json::{Digest, Shown};

use super::file::MAX_APPROVAL_FILE_BYTES;
use super::open_question::OpenQuestion;
use super::question_file::QuestionFile;
use super::{ApprovalId, FOLDER};
use crate::clock::{Clock, timestamp};
use crate::durable::{self, Readers};
use crate::randomness::{RandomnessError, SystemRandomness};
use crate::run_id::RunId;
use crate::run_store::{self, RunStoreError};

/// Action that is to be approved.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Kind of the action.
    pub action: Action,
    /// Exact name of the model or tool.
    pub name: &'a str,
    /// Masked input of the action: all of it, or its beginning. A person reads it, and it is written to the disk.
    pub input: &'a str,
    /// True if `input` is the whole input.
    pub is_input_whole: bool,
    /// Length of the whole input, in bytes.
    pub input_size: u64,
    /// [`input_hash`] of the whole input, masked as it is recorded, so that a reader of the record can compute the hash
    /// too.
    pub input_hash: Digest,
    /// Rule of the envelope that requires the approval, in words.
    pub rule: &'a str,
    /// Types of signers who may approve; `None` for any approver.
    pub signer_types: Option<&'a [SignerType]>,
    /// Keys that may approve: those that the envelope pins for the action.
    pub pinned: &'a BTreeSet<KeyId>,
}

impl<'a> Question<'a> {
    /// Returns a question about an input that is at hand as a whole, masked. Approvers of any type may answer it with a
    /// pinned key.
    pub fn new(
        action: Action,
        name: &'a str,
        input: &'a str,
        rule: &'a str,
        pinned: &'a BTreeSet<KeyId>,
    ) -> Self {
        let (input_size, input_hash) = (input.len() as u64, input_hash(input.as_bytes()));
        let (is_input_whole, signer_types) = (true, None);
        Self { action, name, input, is_input_whole, input_size, input_hash, rule, signer_types, pinned }
    }
}

/// Reason why a question was not asked. The action must not happen then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The envelope pins no key for this action.
    #[error("nobody can approve this: the envelope pins no approver for it (metadata.approvers)")]
    NotPinned,
    /// There is no approver who could answer.
    #[error(
        "nobody can approve this: no approver's key{} that the envelope pins for it is here; see: reenact keys list",
        signer_types_suffix(.signer_types.as_deref())
    )]
    NoApprover {
        /// Types of signers who may approve; `None` for any approver.
        signer_types: Option<Vec<SignerType>>,
    },
    /// The name, the rule or the whole question is too long.
    #[error("{what} is too long to be approved: {bytes} bytes")]
    TooLong {
        /// Part that is too long.
        what: &'static str,
        /// Length of that part in bytes.
        bytes: usize,
    },
    /// The model or tool has no name.
    #[error("what has no name cannot be approved")]
    NoName,
    /// The hash is not that of the input.
    #[error("the hash of the input is not that of what would be shown")]
    InputHash,
    /// The `approvals` folder, or one above it, cannot be used.
    #[error(transparent)]
    Folder(#[from] RunStoreError),
    /// There is no randomness for the question's id.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    /// The operating system returned an error.
    #[error("{}: {text}", Shown::whole(.path))]
    Io {
        /// Path of the file or folder.
        path: String,
        /// Kind of the error.
        kind: io::ErrorKind,
        /// Message of the operating system.
        text: String,
    },
}

impl AskError {
    fn io(path: &Path, error: &io::Error) -> Self {
        let path = path.to_string_lossy().into_owned();
        Self::Io { path, kind: error.kind(), text: error.to_string() }
    }
}

fn signer_types_suffix(types: Option<&[SignerType]>) -> String {
    match types {
        None | Some([]) => String::new(),
        Some(types) => {
            let names: Vec<&str> = types.iter().map(|kind| kind.name()).collect();
            format!(" of type {}", names.join(" or "))
        }
    }
}

/// Longest name of a tool and longest rule, in bytes.
const MAX_NAME_BYTES: usize = 4 * 1024;

/// Longest input that is shown, in bytes of JSON. With all other members a question stays shorter than [`MAX_APPROVAL_FILE_BYTES`].
const MAX_SHOWN_BYTES: usize = 32 * 1024;

/// Approval queue of one run: the folder in which its questions wait for signed answers. Clones share the folder, and many
/// questions may wait at once.
///
/// ```
/// use core::time::Duration;
/// use std::collections::BTreeSet;
///
/// use reenact_formats::rer::envelope::policy::Action;
/// use reenact_record::approval::{ApprovalQueue, AskError, Question};
/// use reenact_record::RunId;
///
/// let queue = ApprovalQueue::new("/nowhere", RunId::generate()?, Vec::new(), Duration::from_secs(600));
/// let pinned = BTreeSet::new();
/// let question = Question::new(Action::Tool, "pay_invoice", r#"{"amount":12.5}"#, "tool.call pay_*", &pinned);
/// // Without any approver, nothing waits for an answer that cannot come.
/// assert_eq!(queue.ask(&question, Duration::ZERO).err(), Some(AskError::NotPinned));
/// # Ok::<(), reenact_record::randomness::RandomnessError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ApprovalQueue {
    folder: PathBuf,
    run_id: RunId,
    approvers: Arc<[Approver]>,
    timeout: Duration,
}

/// Clock that stands still at the time of a question, for its id.
struct QuestionClock(Duration);

impl Clock for QuestionClock {
    fn now(&self) -> Duration {
        self.0
    }
}

impl ApprovalQueue {
    /// Returns the queue of a run whose folder exists. The folder `approvals` is created with the first question.
    /// `timeout` is how long each question waits for its answer.
    pub fn new(
        run_folder: impl Into<PathBuf>,
        run_id: RunId,
        approvers: Vec<Approver>,
        timeout: Duration,
    ) -> Self {
        Self { folder: run_folder.into().join(FOLDER), run_id, approvers: approvers.into(), timeout }
    }

    /// Writes a question for approvers, and returns a handle to poll for the answer. `now` is the time since 1970.
    ///
    /// # Errors
    /// [`AskError::NotPinned`] and [`AskError::NoApprover`] if no pinned approver of the required types is known, so that
    /// no action waits for an answer that cannot come.
    pub fn ask(&self, question: &Question<'_>, now: Duration) -> Result<OpenQuestion, AskError> {
        if question.pinned.is_empty() {
            return Err(AskError::NotPinned);
        }
        let known = self.approvers.iter().filter(|approver| question.pinned.contains(&approver.key.id()));
        let may = |approver: &Approver| {
            question.signer_types.is_none_or(|types| types.contains(&approver.signer_type))
        };
        if !known.clone().any(may) {
            return Err(AskError::NoApprover { signer_types: question.signer_types.map(<[_]>::to_vec) });
        }
        let pinned: BTreeSet<KeyId> = known.map(|approver| approver.key.id()).collect();
        if question.name.is_empty() {
            return Err(AskError::NoName);
        }
        for (what, text) in [("the name", question.name), ("the rule", question.rule)] {
            if text.len() > MAX_NAME_BYTES {
                return Err(AskError::TooLong { what, bytes: text.len() });
            }
        }
        if question.is_input_whole && input_hash(question.input.as_bytes()) != question.input_hash {
            return Err(AskError::InputHash);
        }
        let approval_id = ApprovalId::new(&QuestionClock(now), &SystemRandomness)?;
        let input = shown_prefix(question.input);
        let deadline = now.saturating_add(self.timeout);
        let request = QuestionFile {
            approval_id,
            run_id: self.run_id,
            action: question.action,
            name: question.name.to_owned(),
            input: input.to_owned(),
            is_input_whole: question.is_input_whole && input.len() == question.input.len(),
            input_size: question.input_size,
            input_hash: question.input_hash,
            rule: question.rule.to_owned(),
            signer_types: question.signer_types.map(<[_]>::to_vec),
            pinned,
            asked_at: timestamp(now),
            expires_at: timestamp(deadline),
        };
        let text = request.to_json();
        if text.len() > MAX_APPROVAL_FILE_BYTES {
            return Err(AskError::TooLong { what: "the question", bytes: text.len() });
        }
        self.create_folder()?;
        let path = self.folder.join(format!("{approval_id}.request.json"));
        durable::create(&path, &text, Readers::Owner).map_err(|error| AskError::io(&path, &error))?;
        Ok(OpenQuestion::new(self.folder.clone(), request, Arc::clone(&self.approvers), deadline))
    }

    /// Creates the folder `approvals`, unless it exists, and checks that only this user can write to it.
    fn create_folder(&self) -> Result<(), AskError> {
        if run_store::check_folder(&self.folder)? {
            return Ok(());
        }
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&self.folder) {
            // Another thread created the folder first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(|error| AskError::io(&self.folder, &error))?,
        }
        run_store::check_folder(&self.folder)?;
        Ok(())
    }
}

/// Returns the longest beginning of a text that fits into a question, counted as JSON with escapes.
fn shown_prefix(input: &str) -> &str {
    let mut written = 0;
    for (at, character) in input.char_indices() {
        written += match character {
            '"' | '\\' => 2,
            '\0'..='\u{1F}' => 6,
            _ => character.len_utf8(),
        };
        if written > MAX_SHOWN_BYTES {
            return input.get(..at).unwrap_or_default();
        }
    }
    input
}
