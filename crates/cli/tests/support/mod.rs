//! Support for tests of commands: folders to run in, command lines split into words, outputs compared line by line.
//!
//! `crates/verify/tests/cli.rs` includes this module by path, so that both commands are tested with the same cases.

#![allow(dead_code, reason = "each test takes the part that it needs")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

pub(crate) mod case;
pub(crate) mod credentials;
pub(crate) mod folder;
pub(crate) mod text;
pub(crate) mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap().to_path_buf()
}

/// Returns a command in a folder, with an environment that is the same everywhere: no colour, no width, and
/// neither configuration nor runs of the user who runs the tests.
pub(crate) fn command(program: &Path, folder: &folder::Folder) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder.path()).env_clear().env("TERM", "dumb");
    command.env("HOME", folder.home()).env("XDG_CONFIG_HOME", folder.home()).env("TMPDIR", folder.home());
    command.env("REENACT_HOME", folder.state());
    // Documents use `reenact` as a command that is in `PATH`.
    let beside = program.parent().map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = beside.into_iter().chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(path.collect::<Vec<_>>()).unwrap());
    // Windows programs do not start without it.
    if let Some(system) = std::env::var_os("SystemRoot") {
        command.env("SystemRoot", system);
    }
    command
}
