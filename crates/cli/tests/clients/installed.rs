//! Where the clients are, and how they are started.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::support::folder::Folder;
use crate::support::root;

/// The folder with the clients; set by `cargo xtask test clients`.
const FOLDER: &str = "REENACT_TEST_CLIENTS";
/// A file to which each test that ran to its end adds its name.
const RAN: &str = "REENACT_TEST_CLIENTS_RAN";

/// A client in a language.
pub(crate) struct Client {
    /// What runs the script; also the name of the folders.
    pub(crate) program: &'static str,
    pub(crate) script: &'static str,
}

impl Client {
    /// A folder as a user has one: the script, and the client where the language looks for it.
    pub(crate) fn project(&self) -> Folder {
        let folder = Folder::empty();
        let scripts = root().join("crates/cli/tests/clients").join(self.program);
        for entry in fs::read_dir(&scripts).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
            }
        }
        #[cfg(unix)]
        if self.program == "node" {
            let modules = installed().join("node/node_modules");
            std::os::unix::fs::symlink(modules, folder.path().join("node_modules")).unwrap();
        }
        folder
    }

    /// The command that a user types.
    pub(crate) fn line<'a>(&self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&[self.program, self.script][..], arguments].concat()
    }
}

/// The folder with the clients.
pub(crate) fn installed() -> PathBuf {
    let folder = env::var_os(FOLDER)
        .unwrap_or_else(|| panic!("not run: {FOLDER} is not set; `cargo xtask test clients` does it all"));
    PathBuf::from(folder)
}

/// Where programs are looked for: Python is that of the clients.
pub(crate) fn path() -> OsString {
    let before = env::var_os("PATH").unwrap_or_default();
    let python = installed().join("python/bin");
    env::join_paths([python].into_iter().chain(env::split_paths(&before))).unwrap()
}

/// The judge that stands alone, built beside us.
pub(crate) fn judge() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_reenact")).with_file_name("reenact-verify");
    assert!(program.exists(), "not built: cargo build --package reenact-verify --all-features");
    program
}

/// Notes that a test ran to its end, so that whoever started it sees that none was left out.
pub(crate) fn ran(test: &str, note: &str) {
    if let Some(file) = env::var_os(RAN) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        // In one piece: other tests write to it as well.
        file.write_all(format!("{test}{note}\n").as_bytes()).unwrap();
    }
}
