//! [`RunStoreError`]: reasons why runs cannot be kept or found.

use std::io;
use std::path::Path;

use reenact_json::Shown;

use crate::run_id::RunId;

/// Reason why runs cannot be kept or found. Each message says what to do, if something can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunStoreError {
    /// A link is in the way; it could lead anywhere.
    #[error("{}: is a link; runs are kept only in a folder of your own: remove the link", Shown::whole(.path))]
    Link {
        /// Path of the link.
        path: String,
    },
    /// A file, a pipe or a device is in the way.
    #[error("{}: is not a folder; move it away", Shown::whole(.path))]
    NotAFolder {
        /// Path of the thing.
        path: String,
    },
    /// The folder belongs to another user, who could put other runs there.
    #[error("{}: belongs to another user; record in a folder of your own", Shown::whole(.path))]
    Foreign {
        /// Path of the folder.
        path: String,
    },
    /// Other users can write to the folder, and could put their runs there.
    #[error("{path}: others can write to it (mode {mode:04o}); close it with: chmod 700 {path}", path = Shown::whole(.path))]
    OpenToOthers {
        /// Path of the folder.
        path: String,
        /// Permission bits of the folder.
        mode: u32,
    },
    /// There is a run of that id already.
    #[error("{}: is there already", Shown::whole(.path))]
    Exists {
        /// Path of the run's folder.
        path: String,
    },
    /// There is no folder of that run.
    #[error("there is no run {run_id}")]
    NotFound {
        /// Id that was looked for.
        run_id: RunId,
    },
    /// The run was not sealed: its recorder was killed, or could not write the artifact.
    #[error("run {run_id} was not sealed; seal it with: reenact runs recover {run_id}")]
    NotSealed {
        /// Id of the run.
        run_id: RunId,
    },
    /// A recorder or a recovery has the run at this moment.
    #[error("run {run_id} is being recorded at this moment")]
    BeingRecorded {
        /// Id of the run.
        run_id: RunId,
    },
    /// The artifact was written elsewhere, and is not there any more.
    #[error(
        "run {run_id} was written to {}, and is not there any more: if it was moved, give its path",
        Shown::whole(.path)
    )]
    Moved {
        /// Id of the run.
        run_id: RunId,
        /// Path that the artifact was written to.
        path: String,
    },
    /// The folder of the run holds neither an artifact nor a journal.
    #[error("run {run_id} has no artifact: it was removed, or nothing was recorded")]
    Empty {
        /// Id of the run.
        run_id: RunId,
    },
    /// The recorder of the run refused it for good.
    #[error(
        "run {run_id} is refused for good: someone changed its journal while it was recorded, and nothing of it will be signed"
    )]
    Refused {
        /// Id of the run.
        run_id: RunId,
    },
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

impl RunStoreError {
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        Self::Io { path: path_text(path), kind: error.kind(), text: error.to_string() }
    }
}

/// Returns a path as text for a message.
pub(super) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
