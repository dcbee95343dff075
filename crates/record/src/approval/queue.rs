//! What waits for an approver, over all runs of a folder; and the way back.

use core::time::Duration;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reenact_json::Shown;

use super::file::{self, Unreadable};
use super::request::{Request, RequestFault};
use super::{ApprovalId, FOLDER, nanoseconds};
use crate::durable::{self, Readers};
use crate::folder::{self, Folder, FolderError};
use crate::run_id::RunId;

/// A question that waits, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingQuestion {
    /// The question.
    pub request: Request,
    folder: PathBuf,
}

impl PendingQuestion {
    /// The file that holds it.
    pub fn path(&self) -> PathBuf {
        self.file("request")
    }

    fn file(&self, word: &str) -> PathBuf {
        self.folder.join(format!("{}.{word}.json", self.request.approval_id))
    }
}

/// Something that lies where a question should, and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {fault}", Shown::whole(.path))]
pub struct Broken {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub fault: BrokenFault,
}

/// What is wrong with something that should be a question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrokenFault {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] Unreadable),
    /// It is not a question.
    #[error(transparent)]
    Request(#[from] RequestFault),
    /// It says that it is another question than its name, or of another run than its folder.
    #[error("is the question of another run, or another question")]
    OutOfPlace,
    /// The folder that it would lie in.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// What waits, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Queue {
    /// The questions.
    pub questions: Vec<PendingQuestion>,
    /// What lies among them and is none.
    pub broken: Vec<Broken>,
    /// Whether there is more than was looked at.
    pub is_cut: bool,
}

/// No more files are looked at: nobody answers as many questions, and a folder may hold anything.
const MOST: usize = 10_000;

/// Everything that waits in a folder of runs at `now`, the time since 1970. Questions that time out or have an answer already
/// are not among it.
pub fn pending(folder: &Folder, now: Duration) -> Result<Queue, FolderError> {
    let (now, mut queue) = (nanoseconds(now), Queue::default());
    let mut left = MOST;
    // The newest runs first, in case there are too many.
    for run_id in folder.runs()?.into_iter().rev() {
        let desk = folder.run(run_id).join(FOLDER);
        match folder::check(&desk) {
            Ok(false) => {}
            Ok(true) => look_through(&desk, run_id, now, &mut left, &mut queue),
            Err(error) => queue.broken.push(broken(&desk, error.into())),
        }
    }
    queue.questions.sort_by_key(|question| (question.request.asked(), question.request.approval_id));
    queue.broken.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(queue)
}

fn look_through(desk: &Path, run_id: RunId, now: i128, left: &mut usize, queue: &mut Queue) {
    let failed = |error: io::Error| broken(desk, Unreadable::Io(error.kind()).into());
    let entries = match fs::read_dir(desk) {
        Ok(entries) => entries,
        Err(error) => return queue.broken.push(failed(error)),
    };
    for entry in entries {
        if *left == 0 {
            queue.is_cut = true;
            return;
        }
        *left -= 1;
        let name = match entry {
            Ok(entry) => entry.file_name(),
            Err(error) => return queue.broken.push(failed(error)),
        };
        let id = name.to_str().and_then(|name| name.strip_suffix(".request.json"));
        let Some(approval_id) = id.and_then(|id| id.parse::<ApprovalId>().ok()) else { continue };
        match question(desk, run_id, approval_id) {
            Ok(Some(question)) if now < question.request.expires() => queue.questions.push(question),
            Ok(_) => {}
            Err(fault) => queue.broken.push(broken(&desk.join(name), fault)),
        }
    }
}

fn broken(path: &Path, fault: BrokenFault) -> Broken {
    Broken { path: path.to_string_lossy().into_owned(), fault }
}

/// The question of that id; `None` if it has an answer, or has been closed meanwhile.
fn question(
    desk: &Path,
    run_id: RunId,
    approval_id: ApprovalId,
) -> Result<Option<PendingQuestion>, BrokenFault> {
    let text = match file::read(&desk.join(format!("{approval_id}.request.json"))) {
        Err(Unreadable::Missing) => return Ok(None),
        text => text?,
    };
    let request = Request::read(&text)?;
    if (request.run_id, request.approval_id) != (run_id, approval_id) {
        return Err(BrokenFault::OutOfPlace);
    }
    let question = PendingQuestion { request, folder: desk.to_owned() };
    let is_there = |word| question.file(word).symlink_metadata().is_ok();
    Ok((!is_there("answer") && !is_there("taken")).then_some(question))
}

/// Why an answer was not given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Nobody waits for it any more.
    #[error("nobody waits for this approval any more: it was answered, withdrawn, or timed out")]
    Gone,
    /// Somebody was faster.
    #[error("somebody else has answered this just now")]
    Answered,
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

/// Gives a token to whoever waits for it.
pub fn answer(question: &PendingQuestion, token: &[u8]) -> Result<(), AnswerError> {
    let is_there = |word| question.file(word).symlink_metadata().is_ok();
    if !is_there("request") {
        return Err(AnswerError::Gone);
    }
    let path = question.file("answer");
    durable::create(&path, token, Readers::Owner).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => AnswerError::Answered,
        kind => AnswerError::Io { path: path.to_string_lossy().into_owned(), kind, text: error.to_string() },
    })?;
    // The question may have been closed just before; then the answer still lies there, and nobody will look at it.
    if !is_there("request") && is_there("answer") {
        let _ = fs::remove_file(path);
        return Err(AnswerError::Gone);
    }
    Ok(())
}
