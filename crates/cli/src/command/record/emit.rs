//! `record --emit FORMAT=PATH`: the run in another format, written while it is recorded.
//!
//! A thread follows the journal, which holds masked events only, and writes a line of REPLAY.jsonl for each event that has a
//! place there. The agent and the journal never wait for it: what it cannot write is told at the end. The session ends,
//! and gets its receipt and its summary, only when the run is sealed.
//!
//! Start reading at [`Emission::start`].

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::lines::MAX_LINE_BYTES;
use reenact_formats::replay_jsonl::{RECEIPT, REPLAY, SUMMARY};
use reenact_json::Shown;
use reenact_keys::durable::{self, Readers};
use reenact_record::recorder::Recording;
use reenact_record::{FollowerStop, JournalFollower, Recorder};
use reenact_run::convert::{ConvertError, LiveReplay, ReplayCompanions};
use reenact_verify::Options;
use reenact_verify::replay_jsonl::{self, ReplayJsonlOptions};

use super::impossible;
use crate::output::{self, CommandError};

/// Formats that are written while a run is recorded.
const FORMATS: [FormatId; 1] = [FormatId::ReplayJsonl];

/// Value of `--emit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EmitPath {
    /// Folder that the files are written into.
    pub(super) folder: PathBuf,
}

/// Parses the value of `--emit`, for clap.
///
/// # Errors
///
/// If it is not `FORMAT=PATH` with a format that can be written while recording.
pub(super) fn emit_path(value: &OsStr) -> Result<EmitPath, String> {
    let text = value.to_str().ok_or("the path must be UTF-8")?;
    let known = FORMATS.map(FormatId::name).join(", ");
    let (format, path) =
        text.split_once('=').ok_or_else(|| format!("FORMAT=PATH is wanted, such as {known}=session"))?;
    if !FORMATS.iter().any(|id| id.name() == format) {
        return Err(format!(
            "only {known} can be written while a run is recorded; --out writes other formats at its end"
        ));
    }
    let folder: PathBuf = Path::new(path).components().collect();
    if path.is_empty() { Err("a folder is wanted after the =".into()) } else { Ok(EmitPath { folder }) }
}

impl EmitPath {
    /// Returns the path of the replay.
    pub(super) fn replay(&self) -> PathBuf {
        self.folder.join(REPLAY)
    }

    /// Refuses a folder that holds such a session already or cannot be written to, before the agent runs.
    ///
    /// # Errors
    ///
    /// If one of the three files is there, or none can be.
    pub(super) fn require_free(&self) -> Result<(), CommandError> {
        for name in [REPLAY, RECEIPT, SUMMARY] {
            let path = self.folder.join(name);
            if path.symlink_metadata().is_ok() {
                return Err(CommandError::unwritable(&path, &io::ErrorKind::AlreadyExists.into()));
            }
        }
        let checked = match fs::metadata(&self.folder) {
            Ok(found) if !found.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
            Ok(_) => durable::check_writable(&self.replay(), false),
            // The folder is made when the run begins.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                durable::check_writable(&self.folder, false)
            }
            Err(error) => Err(error),
        };
        checked.map_err(|error| CommandError::unwritable(&self.folder, &error))
    }
}

/// Session that is being written.
pub(super) struct Emission {
    path: EmitPath,
    /// True if the folder was made for it.
    has_made_folder: bool,
    /// Ends the thread once it has read all that the journal has.
    stop: FollowerStop,
    thread: JoinHandle<Result<LiveReplay<File>, EmitFault>>,
}

/// Reason why a session is not written to its end.
#[derive(Debug, thiserror::Error)]
enum EmitFault {
    #[error("the journal could not be read: {0}")]
    Journal(io::Error),
    #[error(transparent)]
    Replay(#[from] ConvertError),
    #[error("{name}: {error}")]
    Companion { name: &'static str, error: io::Error },
    #[error("what was written does not verify: {0}")]
    Unverified(String),
    #[error("the thread that wrote it ended early")]
    Thread,
}

impl Emission {
    /// Creates the replay, and begins to write the events of a run that has just begun.
    ///
    /// # Errors
    ///
    /// If the folder or the replay cannot be created. The folder is removed again then if it was made.
    pub(super) fn start(path: &EmitPath, recorder: &Recorder<Recording>) -> Result<Self, CommandError> {
        let has_made_folder = match durable::create_new_private_folder(&path.folder) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(CommandError::unwritable(&path.folder, &error)),
        };
        let spawned =
            new_file(&path.replay()).map_err(|error| CommandError::unwritable(&path.replay(), &error));
        let spawned = spawned.and_then(|file| {
            let follower = recorder.event_writer().follow_journal(MAX_LINE_BYTES).map_err(impossible)?;
            let live = LiveReplay::new(file, recorder.run_id().to_string(), env!("CARGO_PKG_VERSION"));
            let stop = follower.stop_handle();
            let thread = thread::Builder::new().name("emit".into());
            Ok((stop, thread.spawn(move || follow(follower, live)).map_err(impossible)?))
        });
        match spawned {
            Ok((stop, thread)) => Ok(Self { path: path.clone(), has_made_folder, stop, thread }),
            Err(error) => {
                if has_made_folder {
                    let _ = fs::remove_dir(&path.folder);
                }
                Err(error)
            }
        }
    }

    /// Ends the session of a run that is sealed, and verifies what was written. Returns false if it could not be written; a
    /// notice says why.
    pub(super) fn finish(self) -> bool {
        let Self { path, stop, thread, .. } = self;
        stop.stop();
        let live = thread.join().unwrap_or(Err(EmitFault::Thread));
        match live.and_then(|live| complete(&path, live)) {
            Ok(()) => true,
            Err(fault) => {
                let replay = path.replay();
                let replay = replay.to_string_lossy();
                output::print_notice(&format!(
                    "{}: not written to its end: {fault}; the run itself is recorded",
                    Shown::whole(&replay)
                ));
                false
            }
        }
    }

    /// Leaves the session of a run that could not be sealed without an end.
    pub(super) fn abandon(self) {
        self.stop.stop();
        let _ = self.thread.join();
        let replay = self.path.replay();
        let replay = replay.to_string_lossy();
        output::print_notice(&format!(
            "{}: it has no end, because the run could not be sealed",
            Shown::whole(&replay)
        ));
    }

    /// Removes the session of a run whose agent was not started, and whose recorder is gone.
    pub(super) fn discard(self) {
        self.stop.stop();
        let _ = self.thread.join();
        let _ = fs::remove_file(self.path.replay());
        if self.has_made_folder {
            let _ = fs::remove_dir(&self.path.folder);
        }
    }
}

/// Creates a new file for its owner alone. Links are not followed.
fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, Readers::Owner.mode());
    options.open(path)
}

/// Writes the events of a journal until the one that ends the run.
fn follow(mut journal: JournalFollower, mut live: LiveReplay<File>) -> Result<LiveReplay<File>, EmitFault> {
    while !live.has_ended() {
        // A line that is cut has no place in the format, which has the same limit.
        let Some(line) = journal.next_line().map_err(EmitFault::Journal)? else { break };
        live.take_line(line.text)?;
    }
    Ok(live)
}

/// Writes the last line, then the receipt and the summary, and verifies the session as a reader would.
fn complete(path: &EmitPath, live: LiveReplay<File>) -> Result<(), EmitFault> {
    let ReplayCompanions { receipt, summary } = live.end()?;
    for (name, content) in [(RECEIPT, receipt.as_slice()), (SUMMARY, summary.as_bytes())] {
        durable::create(&path.folder.join(name), content, Readers::Owner)
            .map_err(|error| EmitFault::Companion { name, error })?;
    }
    let read = |error| EmitFault::Companion { name: REPLAY, error };
    let replay = BufReader::new(File::open(path.replay()).map_err(read)?);
    let beside = ReplayJsonlOptions { receipt: Some(&receipt), ..ReplayJsonlOptions::default() };
    let report = replay_jsonl::verify(replay, &beside, &Options::default()).map_err(read)?;
    if report.pass() { Ok(()) } else { Err(EmitFault::Unverified(report.reasons.join("; "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_formats_that_are_written_line_by_line() {
        let folder = |text: &str| emit_path(OsStr::new(text)).map(|path| path.folder);
        assert_eq!(folder("replay-jsonl=a/session/"), Ok(PathBuf::from("a/session")));
        assert_eq!(folder("replay-jsonl=."), Ok(PathBuf::from(".")));
        assert_eq!(folder("replay-jsonl=a=b"), Ok(PathBuf::from("a=b")));
        assert_eq!(folder("replay-jsonl="), Err("a folder is wanted after the =".into()));
        for none in ["session", ""] {
            assert_eq!(
                folder(none),
                Err("FORMAT=PATH is wanted, such as replay-jsonl=session".into()),
                "{none}"
            );
        }
        for other in ["rpk=a.rpk", "rer=a", "REPLAY.jsonl=a", "=a"] {
            assert!(folder(other).unwrap_err().starts_with("only replay-jsonl can be written"), "{other}");
        }
    }
}
