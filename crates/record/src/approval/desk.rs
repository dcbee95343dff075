//! Where a recorder asks.

use core::time::Duration;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reenact_formats::rer::approval::{Approver, input_hash};
use reenact_formats::rer::envelope::decide::Action;
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_json::{Digest, Shown};

use super::file::LARGEST;
use super::request::Request;
use super::waiting::Waiting;
use super::{ApprovalId, FOLDER};
use crate::clock::{Clock, timestamp};
use crate::durable::{self, Readers};
use crate::folder::{self, FolderError};
use crate::randomness::{NoRandomness, SystemRandomness};
use crate::run_id::RunId;

/// What is to be approved.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What is to happen.
    pub action: Action,
    /// Of which model or tool, by its exact name.
    pub name: &'a str,
    /// With what, masked: all of it, or its beginning. A person reads it, and it reaches the disk.
    pub input: &'a str,
    /// Whether `input` is all of it.
    pub is_whole: bool,
    /// How long all of it is, in bytes.
    pub input_size: u64,
    /// [`input_hash`] of all of it, masked as it is recorded: so that whoever reads the record can compute it, too.
    pub input_hash: Digest,
    /// The rule of the envelope that asks for an approval, in words.
    pub rule: &'a str,
    /// Who may approve; `None` any approver.
    pub signer_types: Option<&'a [SignerType]>,
}

impl<'a> Question<'a> {
    /// A question about an input that is at hand, masked, as a whole.
    pub fn new(action: Action, name: &'a str, input: &'a str, rule: &'a str) -> Self {
        let (input_size, input_hash) = (input.len() as u64, input_hash(input.as_bytes()));
        Self { action, name, input, is_whole: true, input_size, input_hash, rule, signer_types: None }
    }
}

/// Why nothing was asked: what needs the approval cannot happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeskError {
    /// Nobody could answer.
    #[error(
        "nobody can approve this: there is no approver's key{}; make one with: reenact keys generate NAME --approver",
        of_types(.signer_types.as_deref())
    )]
    Nobody {
        /// Who may approve; `None` any approver.
        signer_types: Option<Vec<SignerType>>,
    },
    /// A name or a rule that no question has room for.
    #[error("{what} is too long to be approved: {bytes} bytes")]
    TooLong {
        /// Which.
        what: &'static str,
        /// How long it is.
        bytes: usize,
    },
    /// A model or tool without a name.
    #[error("what has no name cannot be approved")]
    NoName,
    /// A hash that is not that of the input which it comes with.
    #[error("the hash of the input is not that of what would be shown")]
    InputHash,
    /// The folder of questions, or those above it.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// No id, no question.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// The operating system refused.
    #[error("{}: {text}", Shown::whole(.path))]
    Io {
        /// What it was about.
        path: String,
        /// The kind of refusal.
        kind: io::ErrorKind,
        /// The system's own words.
        text: String,
    },
}

impl DeskError {
    fn io(path: &Path, error: &io::Error) -> Self {
        let path = path.to_string_lossy().into_owned();
        Self::Io { path, kind: error.kind(), text: error.to_string() }
    }
}

fn of_types(types: Option<&[SignerType]>) -> String {
    match types {
        None | Some([]) => String::new(),
        Some(types) => {
            let names: Vec<&str> = types.iter().map(|kind| kind.name()).collect();
            format!(" of type {}", names.join(" or "))
        }
    }
}

/// No name of a tool and no rule needs more room, in bytes.
const LONGEST: usize = 4 * 1024;

/// As much of an input is shown as has this length in JSON: with all else in it, a question is shorter than [`LARGEST`].
const SHOWN: usize = 32 * 1024;

/// Where a run asks for approvals. It can be shared between threads, and many questions may wait at once.
///
/// ```
/// use core::time::Duration;
/// use reenact_formats::rer::envelope::decide::Action;
/// use reenact_record::approval::{Desk, DeskError, Question};
/// use reenact_record::RunId;
///
/// let desk = Desk::new("/nowhere", RunId::generate()?, Vec::new(), Duration::from_secs(600));
/// let question = Question::new(Action::Tool, "pay_invoice", r#"{"amount":12.5}"#, "tool.call pay_*");
/// // Without any approver, nothing waits for an answer that cannot come.
/// assert_eq!(desk.ask(&question, Duration::ZERO).err(), Some(DeskError::Nobody { signer_types: None }));
/// # Ok::<(), reenact_record::randomness::NoRandomness>(())
/// ```
#[derive(Debug, Clone)]
pub struct Desk {
    folder: PathBuf,
    run_id: RunId,
    approvers: Arc<[Approver]>,
    timeout: Duration,
}

struct At(Duration);

impl Clock for At {
    fn now(&self) -> Duration {
        self.0
    }
}

impl Desk {
    /// The desk of a run, whose folder is there. Its own folder is made with the first question.
    pub fn new(
        run_folder: impl Into<PathBuf>,
        run_id: RunId,
        approvers: Vec<Approver>,
        timeout: Duration,
    ) -> Self {
        Self { folder: run_folder.into().join(FOLDER), run_id, approvers: approvers.into(), timeout }
    }

    /// Asks a question. `now` is the time since 1970; the answer is waited for as long as the desk was told.
    pub fn ask(&self, question: &Question<'_>, now: Duration) -> Result<Waiting, DeskError> {
        let may = |approver: &Approver| {
            question.signer_types.is_none_or(|types| types.contains(&approver.signer_type))
        };
        if !self.approvers.iter().any(may) {
            return Err(DeskError::Nobody { signer_types: question.signer_types.map(<[_]>::to_vec) });
        }
        if question.name.is_empty() {
            return Err(DeskError::NoName);
        }
        for (what, text) in [("the name", question.name), ("the rule", question.rule)] {
            if text.len() > LONGEST {
                return Err(DeskError::TooLong { what, bytes: text.len() });
            }
        }
        if question.is_whole && input_hash(question.input.as_bytes()) != question.input_hash {
            return Err(DeskError::InputHash);
        }
        let approval_id = ApprovalId::new(&At(now), &SystemRandomness)?;
        let input = shown(question.input);
        let deadline = now.saturating_add(self.timeout);
        let request = Request {
            approval_id,
            run_id: self.run_id,
            action: question.action,
            name: question.name.to_owned(),
            input: input.to_owned(),
            is_whole: question.is_whole && input.len() == question.input.len(),
            input_size: question.input_size,
            input_hash: question.input_hash,
            rule: question.rule.to_owned(),
            signer_types: question.signer_types.map(<[_]>::to_vec),
            asked_at: timestamp(now),
            expires_at: timestamp(deadline),
        };
        let text = request.to_json();
        if text.len() > LARGEST {
            return Err(DeskError::TooLong { what: "the question", bytes: text.len() });
        }
        self.make_folder()?;
        let path = self.folder.join(format!("{approval_id}.request.json"));
        durable::create(&path, &text, Readers::Owner).map_err(|error| DeskError::io(&path, &error))?;
        Ok(Waiting::new(self.folder.clone(), request, Arc::clone(&self.approvers), deadline))
    }

    fn make_folder(&self) -> Result<(), DeskError> {
        if folder::check(&self.folder)? {
            return Ok(());
        }
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&self.folder) {
            // Another question was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(|error| DeskError::io(&self.folder, &error))?,
        }
        folder::check(&self.folder)?;
        Ok(())
    }
}

/// The beginning of a text that fits into a question, however much longer its characters get when they are written as JSON.
fn shown(input: &str) -> &str {
    let mut written = 0;
    for (at, character) in input.char_indices() {
        written += match character {
            '"' | '\\' => 2,
            '\0'..='\u{1F}' => 6,
            _ => character.len_utf8(),
        };
        if written > SHOWN {
            return input.get(..at).unwrap_or_default();
        }
    }
    input
}
