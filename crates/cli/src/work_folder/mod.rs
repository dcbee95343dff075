//! The folder that a run works in: the files that change during the run, and the commit that it began at.
//!
//! Files that git ignores, `.git` itself, links and other file systems are left out. A file counts as changed when its size, its
//! time of change or its identity differ; only then is it read. Limits are numbers of files and bytes, never time. Start reading
//! at [`FolderSnapshot::take`].

mod repository;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use reenact_json::Digest;
use reenact_json::canonical::ByteSink as _;
use reenact_json::digest::Hasher;
use reenact_record::ChangedFiles;

pub(crate) use repository::repository;

/// Most files that a folder may have to be looked through.
const MAX_FILES: usize = 20_000;

/// Most bytes of changed files that are read. Changes beyond are counted and not listed.
const MAX_HASHED_BYTES: u64 = 256 << 20;

/// Files of a folder at one moment.
pub(crate) struct FolderSnapshot {
    folder: PathBuf,
    /// Paths that we write ourselves, which are not the agent's.
    own: Vec<PathBuf>,
    files: BTreeMap<OsString, FileMark>,
}

/// What tells a file that was written from one that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileMark {
    size: u64,
    modified: Option<std::time::SystemTime>,
    /// Number of the file, and its time of change, which a program cannot set.
    #[cfg(unix)]
    identity: (u64, i64, i64),
}

/// Reason for which a folder is not looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotSeen {
    /// The folder is the user's home, or holds it.
    #[error("the working folder is your home, or above it")]
    Home,
    /// The folder has too many files.
    #[error("the working folder has more than {MAX_FILES} files")]
    TooMany,
    /// The folder cannot be read.
    #[error("the working folder cannot be read")]
    Unreadable,
}

impl FolderSnapshot {
    /// Looks through a folder. `own` are files and folders that we write ourselves, such as those of our runs; they are left
    /// out.
    ///
    /// # Errors
    ///
    /// If it is not to be looked through: a home, a folder above it, or one with more than [`MAX_FILES`] files.
    pub(crate) fn take(folder: &Path, home: Option<&Path>, own: &[&Path]) -> Result<Self, NotSeen> {
        let folder = folder.canonicalize().map_err(|_| NotSeen::Unreadable)?;
        let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        if folder.parent().is_none() || home.is_some_and(|home| home.starts_with(&folder)) {
            return Err(NotSeen::Home);
        }
        let own: Vec<PathBuf> =
            own.iter().map(|own| own.canonicalize().unwrap_or_else(|_| (*own).to_owned())).collect();
        let files = marks(&folder, &own)?;
        Ok(Self { folder, own, files })
    }

    /// Looks through the folder again, and returns what is different.
    ///
    /// # Errors
    ///
    /// If the folder has too many files by now, or cannot be read any more.
    pub(crate) fn changes(&self) -> Result<ChangedFiles, NotSeen> {
        let now = marks(&self.folder, &self.own)?;
        let mut changes = ChangedFiles::default();
        let mut left = MAX_HASHED_BYTES;
        for (path, mark) in &now {
            let before = self.files.get(path);
            if before == Some(mark) {
                continue;
            }
            let list = if before.is_some() { &mut changes.changed } else { &mut changes.added };
            match file_digest(&self.folder.join(path), &mut left) {
                Ok(digest) => list.push((path.clone(), digest)),
                Err(_) => changes.more += 1,
            }
        }
        changes.removed = self.files.keys().filter(|path| !now.contains_key(*path)).cloned().collect();
        Ok(changes)
    }
}

/// Returns all files below a folder that git does not ignore, by their paths in it.
fn marks(folder: &Path, own: &[PathBuf]) -> Result<BTreeMap<OsString, FileMark>, NotSeen> {
    let own = own.to_vec();
    let walk = WalkBuilder::new(folder)
        .hidden(false)
        .ignore(false)
        .follow_links(false)
        .same_file_system(true)
        .filter_entry(move |entry| entry.file_name() != ".git" && !own.iter().any(|own| entry.path() == own))
        .build();
    let mut files = BTreeMap::new();
    // What cannot be read is not seen; a folder may also vanish while it is walked.
    for entry in walk.filter_map(Result::ok) {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let (Ok(path), Ok(metadata)) = (entry.path().strip_prefix(folder), entry.metadata()) else {
            continue;
        };
        if files.len() >= MAX_FILES {
            return Err(NotSeen::TooMany);
        }
        files.insert(path.as_os_str().to_owned(), FileMark::of(&metadata));
    }
    Ok(files)
}

impl FileMark {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            identity: (metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Hashes a regular file, and takes its length from `left`.
fn file_digest(path: &Path, left: &mut u64) -> io::Result<Digest> {
    let mut file = open_regular(path)?;
    let (mut hasher, mut buffer) = (Hasher::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(length) => {
                *left = left.checked_sub(length as u64).ok_or(io::ErrorKind::FileTooLarge)?;
                hasher.put(buffer.get(..length).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Opens a file that is still a regular one: a process of the agent may have put a link or a pipe in its place.
fn open_regular(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    let file = {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        File::from(rustix::fs::open(path, flags, Mode::empty())?)
    };
    #[cfg(not(unix))]
    let file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use reenact_testkit::fixture::TestDir;

    use super::*;

    fn names(files: &[(OsString, Digest)]) -> Vec<String> {
        files.iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_changes_is_listed_and_what_is_ignored_is_not() {
        let dir = TestDir::new();
        let (folder, own) = (dir.join("work"), dir.join("work/state"));
        for name in ["work/.git", "work/sub", "work/state", "work/target"] {
            fs::create_dir_all(dir.join(name)).unwrap();
        }
        fs::write(folder.join(".gitignore"), "target/\n*.log\n").unwrap();
        for (name, text) in [("kept", "1"), ("changed", "1"), ("gone", "1"), ("sub/kept", "1")] {
            fs::write(folder.join(name), text).unwrap();
        }
        let before = FolderSnapshot::take(&folder, Some(Path::new("/home/nobody")), &[&own]).unwrap();
        assert_eq!(before.changes().unwrap(), ChangedFiles::default());
        fs::write(folder.join("changed"), "12").unwrap();
        fs::remove_file(folder.join("gone")).unwrap();
        for name in ["sub/.new", "target/out", "a.log", ".git/index", "state/run"] {
            fs::write(folder.join(name), "new").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
        let changes = before.changes().unwrap();
        assert_eq!(changes.added, [(OsString::from("sub/.new"), Digest::of(b"new"))]);
        assert_eq!(changes.changed, [(OsString::from("changed"), Digest::of(b"12"))]);
        assert_eq!((changes.removed, changes.more), (vec![OsString::from("gone")], 0));
    }

    #[test]
    fn the_same_size_and_the_same_time_of_writing_are_no_disguise() {
        let dir = TestDir::new();
        let file = dir.join("a");
        fs::write(&file, "one").unwrap();
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        let before = FolderSnapshot::take(dir.path(), None, &[Path::new("/nowhere")]).unwrap();
        fs::remove_file(&file).unwrap();
        fs::write(dir.join("b"), "").unwrap();
        fs::write(&file, "two").unwrap();
        File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        let changes = before.changes().unwrap();
        assert_eq!(
            (names(&changes.changed), names(&changes.added)),
            (vec!["a".to_owned()], vec!["b".to_owned()])
        );
    }

    #[test]
    fn homes_are_left_alone() {
        let dir = TestDir::new();
        let home = dir.join("home/me");
        fs::create_dir_all(home.join("project")).unwrap();
        let take =
            |folder: &Path| FolderSnapshot::take(folder, Some(&home), &[Path::new("/nowhere")]).map(|_| ());
        assert_eq!(take(&home), Err(NotSeen::Home));
        assert_eq!(take(&dir.join("home")), Err(NotSeen::Home));
        assert_eq!(take(Path::new("/")), Err(NotSeen::Home));
        assert_eq!(take(&home.join("project")), Ok(()));
    }

    #[test]
    #[cfg(unix)]
    fn names_that_are_no_text_are_listed() {
        let dir = TestDir::new();
        let before = FolderSnapshot::take(dir.path(), None, &[Path::new("/nowhere")]).unwrap();
        let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"a\xff\n");
        fs::write(dir.path().join(odd), "").unwrap();
        assert_eq!(before.changes().unwrap().added, [(odd.to_owned(), Digest::of(b""))]);
    }
}
