//! Location of the vendors' clients, and how they are started.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::support::folder::Folder;
use crate::support::root;

/// Variable with the folder of the clients; set by `cargo xtask test clients`.
const FOLDER: &str = "REENACT_TEST_CLIENTS";
/// Variable with the file to which each finished test appends its name.
const RAN: &str = "REENACT_TEST_CLIENTS_RAN";

/// A client in a language.
pub(crate) struct Client {
    /// Interpreter of the script; also the name of the folder with the scripts.
    pub(crate) program: &'static str,
    pub(crate) script: &'static str,
}

impl Client {
    /// Returns a folder as a user has one: the scripts, and the client where the language looks for it.
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

    /// Returns the command that a user types.
    pub(crate) fn line<'a>(&self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&[self.program, self.script][..], arguments].concat()
    }
}

/// Returns the folder of the clients.
pub(crate) fn installed() -> PathBuf {
    let folder = env::var_os(FOLDER)
        .unwrap_or_else(|| panic!("not run: {FOLDER} is not set; `cargo xtask test clients` does it all"));
    PathBuf::from(folder)
}

/// Returns a `PATH` in which Python is that of the clients.
pub(crate) fn path() -> OsString {
    let before = env::var_os("PATH").unwrap_or_default();
    let python = installed().join("python/bin");
    env::join_paths([python].into_iter().chain(env::split_paths(&before))).unwrap()
}

/// Returns the path of `reenact-verify`, which is built beside `reenact`.
pub(crate) fn standalone_verifier() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_reenact")).with_file_name("reenact-verify");
    assert!(program.exists(), "not built: cargo build --package reenact-verify --all-features");
    program
}

/// Notes that a test finished, so that the task that started it sees that none was left out.
pub(crate) fn note_finished(test: &str, note: &str) {
    if let Some(file) = env::var_os(RAN) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        // One write, because other tests append to the file as well.
        file.write_all(format!("{test}{note}\n").as_bytes()).unwrap();
    }
}
