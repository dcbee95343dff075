//! A fresh folder to run commands in, removed when it is dropped.

use std::fs;
use std::path::{Path, PathBuf};

use reenact_testkit::fixture::TestDir;

/// Temporary folder with `work`, in which commands run, and `home`, in which they find no configuration.
pub(crate) struct Folder {
    root: TestDir,
}

impl Folder {
    /// Creates an empty folder.
    pub(crate) fn empty() -> Self {
        // Not below `/tmp`: commands run with a folder for temporary files of their own.
        Self::inside(TestDir::within(env!("CARGO_TARGET_TMPDIR")))
    }

    /// Creates an empty folder that lies in no repository, for agents that look for one above them.
    pub(crate) fn outside_of_the_repository() -> Self {
        Self::inside(TestDir::new())
    }

    fn inside(root: TestDir) -> Self {
        let folder = Self { root };
        fs::create_dir_all(folder.path()).unwrap();
        fs::create_dir_all(folder.home()).unwrap();
        folder
    }

    /// Returns the folder above all others of this value.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Creates a folder with links to `vectors` and `examples` of the repository, as a reader of the README has them.
    pub(crate) fn with_repository() -> Self {
        let folder = Self::empty();
        for name in ["vectors", "examples"] {
            let original = super::root().join(name);
            if original.exists() {
                link(&original, &folder.path().join(name));
            }
        }
        folder
    }

    /// Returns the folder in which commands run.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Returns a home folder without any configuration.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the state folder, in which runs are kept. It does not exist until one is recorded.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Writes a file, and creates the folders above it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[cfg(unix)]
fn link(original: &Path, link: &Path) {
    std::os::unix::fs::symlink(original, link).unwrap();
}

#[cfg(not(unix))]
fn link(original: &Path, link: &Path) {
    copy(original, link);
}

/// Copies a folder with all its content. Links are copied as links.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (kind, target) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target);
        } else if kind.is_symlink() {
            link(&fs::read_link(entry.path()).unwrap(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
