//! A compiler with a standard library for WebAssembly, wherever the machine has one to give.
//!
//! The routes, in the order in which they are tried:
//!
//! 1. `installed`: the active toolchain has the library.
//! 2. `rustup`: `rustup target add` fetches it.
//! 3. `debian`: Debian's compiler and the source of its library, for machines that reach Debian but not rustup's server.
//!
//! `REENACT_WASM_ROUTE=debian cargo xtask test wasm` takes that route and no other; so with the other names.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{TARGET, cargo, debian};
use crate::command;
use crate::failure::Failure;

/// Forces a route.
const ROUTE: &str = "REENACT_WASM_ROUTE";

/// A machine that is cut off should learn so before the step's budget is spent.
const RUSTUP_LIMIT: Duration = Duration::from_secs(60);

/// How to call cargo so that it builds for WebAssembly.
pub(super) struct Toolchain {
    pub(super) variables: Vec<(&'static str, OsString)>,
    pub(super) arguments: Vec<&'static str>,
    pub(super) target_folder: PathBuf,
}

impl Toolchain {
    /// Builds the module and gives its path.
    pub(super) fn build(&self, root: &Path) -> Result<PathBuf, Failure> {
        let mut build = cargo();
        build.args(["build", "--release", "--manifest-path", "wasm/Cargo.toml", "--target", TARGET]);
        build.arg("--target-dir").arg(&self.target_folder);
        build.args(&self.arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command::run(&mut build, root)?;
        Ok(self.target_folder.join(TARGET).join("release/reenact_verify_wasm.wasm"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Installed,
    Rustup,
    Debian,
}

impl Route {
    const ALL: [(&'static str, Route); 3] =
        [("installed", Route::Installed), ("rustup", Route::Rustup), ("debian", Route::Debian)];

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find_map(|&(known, route)| (known == name).then_some(route))
    }
}

/// The toolchain of the first route that leads to one.
pub(super) fn find(root: &Path, target: &Path) -> Result<Toolchain, Failure> {
    let forced = forced()?;
    let may = |route| forced.is_none_or(|forced| forced == route);
    let own =
        || Toolchain { variables: Vec::new(), arguments: Vec::new(), target_folder: target.to_path_buf() };
    let cache = target.join("wasm-toolchain");

    if may(Route::Installed) && has_library(root) {
        return Ok(own());
    }
    // Fetched by an earlier run: sooner there than the server that could not be reached then.
    if may(Route::Debian)
        && let Some(toolchain) = debian::cached(&cache)
    {
        return Ok(toolchain);
    }
    if may(Route::Rustup) && command::is_there("rustup") {
        let added =
            command::run_within(RUSTUP_LIMIT, Command::new("rustup").args(["target", "add", TARGET]), root);
        match added {
            Ok(()) if has_library(root) => return Ok(own()),
            Ok(()) => println!("rustup added {TARGET}, but not to the active toolchain"),
            Err(failure) => println!("{failure}"),
        }
    }
    if may(Route::Debian) && debian::is_possible() {
        match debian::fetch(&cache, root) {
            Ok(toolchain) => return Ok(toolchain),
            Err(failure) => println!("{failure}"),
        }
    }
    Err(Failure::Missing {
        tool: "the standard library for wasm32-unknown-unknown",
        install: "rustup target add wasm32-unknown-unknown",
    })
}

fn forced() -> Result<Option<Route>, Failure> {
    let Some(name) = env::var_os(ROUTE) else { return Ok(None) };
    let name = name.to_string_lossy();
    Route::of_name(&name).map(Some).ok_or_else(|| Failure::NotStarted {
        line: format!("{ROUTE}={name}"),
        error: io::Error::new(io::ErrorKind::InvalidInput, "the routes are: installed, rustup, debian"),
    })
}

/// Whether the active toolchain has the library of the target. rustc prints the folder of a target that it has not.
fn has_library(root: &Path) -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder =
        command::answer(Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]), root);
    let Some(entries) = folder.and_then(|folder| fs::read_dir(folder).ok()) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_have_names() {
        assert_eq!(Route::of_name("debian"), Some(Route::Debian));
        assert_eq!(Route::of_name("Debian"), None);
    }
}
