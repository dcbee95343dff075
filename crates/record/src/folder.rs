//! Where runs are kept: `.reenact/runs/<run_id>/`, closed to others and to version control.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use reenact_json::Shown;
use reenact_keys::durable::{self, Readers};
use reenact_keys::ownership;

use crate::resume;
use crate::run_id::RunId;

/// Why runs cannot be kept or found. Each text says what to do, where something can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// A link could lead anywhere.
    #[error("{}: is a link; runs are kept only in a folder of your own: remove the link", Shown::whole(.path))]
    Link {
        /// The link.
        path: String,
    },
    /// A file, a pipe, a device.
    #[error("{}: is not a folder; move it away", Shown::whole(.path))]
    NotAFolder {
        /// What is there.
        path: String,
    },
    /// Its owner could put other runs in the place of ours.
    #[error("{}: belongs to another user; record in a folder of your own", Shown::whole(.path))]
    Foreign {
        /// The folder.
        path: String,
    },
    /// Others could put their runs in the place of ours.
    #[error("{path}: others can write to it (mode {mode:04o}); close it with: chmod 700 {path}", path = Shown::whole(.path))]
    OpenToOthers {
        /// The folder.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// There is a run of that id already.
    #[error("{}: is there already", Shown::whole(.path))]
    Exists {
        /// The run's folder.
        path: String,
    },
    /// Nothing was recorded here.
    #[error("{}: there are no runs; record one with: reenact record -- COMMAND", Shown::whole(.path))]
    NoRuns {
        /// Where they would be.
        path: String,
    },
    /// Neither an id, nor the beginning of one, nor `last`.
    #[error("\"{}\" names no run: give an id, the beginning of one, or `last`", Shown::new(.given))]
    NotAnId {
        /// What was given.
        given: String,
    },
    /// No run begins so.
    #[error("no run's id begins with \"{}\"", Shown::new(.given))]
    NotFound {
        /// What was given.
        given: String,
    },
    /// Several do.
    #[error("\"{}\" begins {} ids: {}; give more of it", Shown::new(.given), .found.len(), listed(.found))]
    Ambiguous {
        /// What was given.
        given: String,
        /// The ids, oldest first.
        found: Vec<RunId>,
    },
    /// The run is there, its artifact is not.
    #[error(
        "run {run_id} has no artifact here: it was not sealed (seal it with: reenact recover), or its artifact was written elsewhere"
    )]
    NotSealed {
        /// The run.
        run_id: RunId,
    },
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

fn listed(ids: &[RunId]) -> String {
    const MOST: usize = 8;
    let mut texts: Vec<String> = ids.iter().take(MOST).map(RunId::to_string).collect();
    if ids.len() > MOST {
        texts.push("…".into());
    }
    texts.join(", ")
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl FolderError {
    fn io(path: &Path, error: &io::Error) -> Self {
        Self::Io { path: shown(path), kind: error.kind(), text: error.to_string() }
    }
}

/// A folder of runs, such as `.reenact`. It need not exist until a run is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The name that the folder has in a project.
    pub const NAME: &str = ".reenact";

    /// The runs in that folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of one run, whether or not it is there.
    pub fn run(&self, id: RunId) -> PathBuf {
        self.runs_path().join(id.to_string())
    }

    /// Where a run's journal is, or would be.
    pub fn journal(&self, id: RunId) -> PathBuf {
        self.run(id).join("journal.jsonl")
    }

    /// Where a run's artifact is, or would be.
    pub fn artifact(&self, id: RunId) -> PathBuf {
        self.run(id).join("artifact.rer.json")
    }

    /// The artifact of a run that was sealed here.
    pub fn sealed(&self, id: RunId) -> Result<PathBuf, FolderError> {
        let path = self.artifact(id);
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => Ok(path),
            Ok(found) if found.is_symlink() => Err(FolderError::Link { path: shown(&path) }),
            _ => Err(FolderError::NotSealed { run_id: id }),
        }
    }

    /// The ids of all runs, oldest first. Whatever else lies there is passed over.
    pub fn runs(&self) -> Result<Vec<RunId>, FolderError> {
        let runs = self.runs_path();
        for folder in [&self.path, &runs] {
            if !check(folder)? {
                return Ok(Vec::new());
            }
        }
        let failed = |error| FolderError::io(&runs, &error);
        let mut ids = Vec::new();
        for entry in fs::read_dir(&runs).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let id = entry.file_name().to_str().and_then(|name| name.parse::<RunId>().ok());
            let is_folder = entry.file_type().is_ok_and(|found| found.is_dir());
            ids.extend(id.filter(|_| is_folder));
        }
        ids.sort();
        Ok(ids)
    }

    /// The runs that were not sealed and that nobody is recording, oldest first: their recorders were killed, or could not
    /// write the artifact. Those that were sealed elsewhere are not among them, as long as that artifact is there.
    pub fn unsealed(&self) -> Result<Vec<RunId>, FolderError> {
        let mut ids = self.runs()?;
        ids.retain(|id| self.is_unsealed(*id));
        Ok(ids)
    }

    fn is_unsealed(&self, id: RunId) -> bool {
        let journal = self.journal(id);
        let has_journal = journal.symlink_metadata().is_ok_and(|found| found.is_file());
        if !has_journal || self.artifact(id).symlink_metadata().is_ok() {
            return false;
        }
        // What cannot be read was not sealed, as far as anyone can tell. Whoever takes it up will hear why.
        let Ok(mut file) = File::open(journal) else { return true };
        if matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return false;
        }
        let out = resume::head(&mut file).ok().flatten().and_then(|head| head.out);
        let is_there = out.is_some_and(|out| out.path.symlink_metadata().is_ok());
        !(is_there && resume::ends(&mut file).unwrap_or(false))
    }

    /// Returns the id of the key that a run began under, by the first line of its journal; `None` if that line does not say so.
    /// The line is not judged otherwise.
    pub fn key_id(&self, id: RunId) -> io::Result<Option<String>> {
        resume::key_id(&mut File::open(self.journal(id))?)
    }

    /// Judges the folders that a run lies in.
    pub(crate) fn check_run(&self, id: RunId) -> Result<(), FolderError> {
        for folder in [&self.path, &self.runs_path(), &self.run(id)] {
            if !check(folder)? {
                return Err(FolderError::NotFound { given: id.to_string() });
            }
        }
        Ok(())
    }

    /// Judges whose file a journal is.
    pub(crate) fn check_journal(path: &Path, found: &Metadata) -> Result<(), FolderError> {
        if found.is_symlink() {
            return Err(FolderError::Link { path: shown(path) });
        }
        if !ownership::is_ours(found) {
            return Err(FolderError::Foreign { path: shown(path) });
        }
        Ok(())
    }

    /// The run that a person means: `last`, an id, or the beginning of one id only.
    pub fn resolve(&self, given: &str) -> Result<RunId, FolderError> {
        let is_part = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
        let is_prefix = !given.is_empty() && given.len() <= 36 && given.bytes().all(is_part);
        if given != "last" && !is_prefix {
            return Err(FolderError::NotAnId { given: given.to_owned() });
        }
        let runs = self.runs()?;
        let Some(last) = runs.last() else {
            return Err(FolderError::NoRuns { path: shown(&self.path) });
        };
        if given == "last" {
            return Ok(*last);
        }
        let found: Vec<RunId> = runs.into_iter().filter(|id| id.to_string().starts_with(given)).collect();
        match found.as_slice() {
            [] => Err(FolderError::NotFound { given: given.to_owned() }),
            [one] => Ok(*one),
            _ => Err(FolderError::Ambiguous { given: given.to_owned(), found }),
        }
    }

    /// Makes the folder for the records of replays, and gives the path for a new one.
    pub fn create_replay(&self, id: RunId) -> Result<PathBuf, FolderError> {
        let replays = self.path.join("replays");
        self.create(&replays)?;
        Ok(replays.join(format!("{id}.json")))
    }

    /// Makes a folder in this one, and this one.
    fn create(&self, inner: &Path) -> Result<(), FolderError> {
        for folder in [self.path.as_path(), inner] {
            // One that is there is judged first: making it again would follow a link.
            if !check(folder)? {
                durable::create_private_folder(folder).map_err(|error| FolderError::io(folder, &error))?;
                check(folder)?;
            }
            close(folder).map_err(|error| FolderError::io(folder, &error))?;
        }
        self.ignore()
    }

    /// Makes the folder of a new run, and those above it.
    pub(crate) fn create_run(&self, id: RunId) -> Result<PathBuf, FolderError> {
        self.create(&self.runs_path())?;
        let path = self.run(id);
        match durable::create_new_private_folder(&path) {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(FolderError::Exists { path: shown(&path) })
            }
            Err(error) => Err(FolderError::io(&path, &error)),
        }
    }

    /// Runs do not belong into version control, whatever the project's own rules say.
    fn ignore(&self) -> Result<(), FolderError> {
        let path = self.path.join(".gitignore");
        match durable::create(&path, b"*\n", Readers::Owner) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(FolderError::io(&path, &error)),
            _ => Ok(()),
        }
    }

    fn runs_path(&self) -> PathBuf {
        self.path.join("runs")
    }
}

/// Whether there is such a folder; refused if others could have put something into it.
pub(crate) fn check(path: &Path) -> Result<bool, FolderError> {
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found.map_err(|error| FolderError::io(path, &error))?,
    };
    if found.is_symlink() {
        return Err(FolderError::Link { path: shown(path) });
    }
    if !found.is_dir() {
        return Err(FolderError::NotAFolder { path: shown(path) });
    }
    if !ownership::is_ours(&found) {
        return Err(FolderError::Foreign { path: shown(path) });
    }
    match ownership::mode_written_by_others(&found) {
        Some(mode) => Err(FolderError::OpenToOthers { path: shown(path), mode }),
        None => Ok(true),
    }
}

/// Lets nobody else look into a folder that was made by other means, such as by copying.
fn close(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if ownership::mode(&path.symlink_metadata()?) != Some(0o700) {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
