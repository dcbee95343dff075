//! A compiler with a standard library for WebAssembly, by the first route that the machine allows.
//!
//! The routes, in the order in which they are tried:
//!
//! 1. `installed`: the active toolchain has the library.
//! 2. `rustup`: `rustup target add` downloads it.
//! 3. `debian`: Debian's compiler and the source of its library, for machines that reach Debian but not rustup's server.
//!
//! `REENACT_WASM_ROUTE=debian cargo xtask test wasm` takes that route and no other; the other names
//! work likewise.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{TARGET, cargo, debian};
use crate::command;
use crate::failure::TaskFailure;

/// Variable that forces a route.
const ROUTE: &str = "REENACT_WASM_ROUTE";

/// Timeout of rustup: a machine without network should notice before the step's budget is spent.
const RUSTUP_LIMIT: Duration = Duration::from_secs(60);

/// Variables and arguments with which cargo builds for WebAssembly.
pub(super) struct WasmToolchain {
    /// Environment of cargo.
    pub(super) variables: Vec<(&'static str, OsString)>,
    /// Further arguments of `cargo build`.
    pub(super) arguments: Vec<&'static str>,
    /// Target folder of the build.
    pub(super) target_folder: PathBuf,
}

impl WasmToolchain {
    /// Builds the module and returns its path.
    ///
    /// # Errors
    /// If cargo fails.
    pub(super) fn build(&self, root: &Path) -> Result<PathBuf, TaskFailure> {
        let mut build = cargo();
        build.args(["build", "--release", "--manifest-path", "wasm/Cargo.toml", "--target", TARGET]);
        build.arg("--target-dir").arg(&self.target_folder);
        build.args(&self.arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command::run(&mut build, root)?;
        Ok(self.target_folder.join(TARGET).join("release/reenact_verify_wasm.wasm"))
    }
}

/// Way to a toolchain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolchainRoute {
    /// The active toolchain has the standard library.
    Installed,
    /// rustup downloads the standard library.
    Rustup,
    /// Debian's compiler builds the standard library from its source.
    Debian,
}

impl ToolchainRoute {
    /// Routes with their names.
    const ALL: [(&'static str, ToolchainRoute); 3] = [
        ("installed", ToolchainRoute::Installed),
        ("rustup", ToolchainRoute::Rustup),
        ("debian", ToolchainRoute::Debian),
    ];

    /// Returns the route of this name.
    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find_map(|&(known, route)| (known == name).then_some(route))
    }
}

/// Returns the toolchain of the first route that provides one.
///
/// # Errors
/// [`TaskFailure::Missing`] if no route leads to a toolchain; [`TaskFailure::NotStarted`] if the
/// environment forces an unknown route.
pub(super) fn find(root: &Path, target: &Path) -> Result<WasmToolchain, TaskFailure> {
    let forced = forced_route()?;
    let may = |route| forced.is_none_or(|forced| forced == route);
    let own = || WasmToolchain {
        variables: Vec::new(),
        arguments: Vec::new(),
        target_folder: target.to_path_buf(),
    };
    let cache = target.join("wasm-toolchain");

    if may(ToolchainRoute::Installed) && has_library(root) {
        return Ok(own());
    }
    // A compiler fetched by an earlier run is tried before the server that could not be reached
    // then.
    if may(ToolchainRoute::Debian)
        && let Some(toolchain) = debian::cached(&cache)
    {
        return Ok(toolchain);
    }
    if may(ToolchainRoute::Rustup) && command::is_installed("rustup") {
        let added =
            command::run_within(RUSTUP_LIMIT, Command::new("rustup").args(["target", "add", TARGET]), root);
        match added {
            Ok(()) if has_library(root) => return Ok(own()),
            Ok(()) => println!("rustup added {TARGET}, but not to the active toolchain"),
            Err(failure) => println!("{failure}"),
        }
    }
    if may(ToolchainRoute::Debian) && debian::is_possible() {
        match debian::fetch(&cache, root) {
            Ok(toolchain) => return Ok(toolchain),
            Err(failure) => println!("{failure}"),
        }
    }
    Err(TaskFailure::Missing {
        tool: "the standard library for wasm32-unknown-unknown",
        install: "rustup target add wasm32-unknown-unknown",
    })
}

/// Reads the route that the environment forces.
fn forced_route() -> Result<Option<ToolchainRoute>, TaskFailure> {
    let Some(name) = env::var_os(ROUTE) else { return Ok(None) };
    let name = name.to_string_lossy();
    ToolchainRoute::of_name(&name).map(Some).ok_or_else(|| TaskFailure::NotStarted {
        line: format!("{ROUTE}={name}"),
        error: io::Error::new(io::ErrorKind::InvalidInput, "the routes are: installed, rustup, debian"),
    })
}

/// Returns true if the active toolchain has the target's standard library. rustc also prints the
/// folder of a target that it does not have, so the folder is looked into.
fn has_library(root: &Path) -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder =
        command::stdout_of(Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]), root);
    let Some(entries) = folder.and_then(|folder| fs::read_dir(folder).ok()) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_have_names() {
        assert_eq!(ToolchainRoute::of_name("debian"), Some(ToolchainRoute::Debian));
        assert_eq!(ToolchainRoute::of_name("Debian"), None);
    }
}
