//! The step `wasm`: the verifier as a WebAssembly module gives the same reports as the native one,
//! byte for byte.
//!
//! A browser has another word size, another standard library and no operating system. Running the
//! published vectors through the module in Node shows that this makes no difference. `wasm/` is a
//! workspace of its own, so its format and lints are checked here too.
//!
//! | module | purpose |
//! |---|---|
//! | [`toolchain`], [`debian`] | a compiler with a standard library for WebAssembly |
//! | [`node`] | the program that runs the module |
//! | [`native`] | the reports of the native library |

mod debian;
mod native;
mod node;
mod toolchain;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::context::TaskContext;
use crate::failure::TaskFailure;

/// rustc's name of WebAssembly without an operating system.
const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the module, and compares its reports with those of the native library.
///
/// Also runs the tests of `wasm/verify.mjs`, through which a web page uses the module.
///
/// # Errors
/// If a tool is missing and cannot be installed, or if a command fails. `wasm/vectors.mjs` fails if
/// a report differs.
pub(crate) fn run(context: &TaskContext) -> Result<(), TaskFailure> {
    let root = context.root();
    let target = target_folder(root);
    context.cargo("fmt --manifest-path wasm/Cargo.toml --check")?;
    lint(root, &target)?;
    let node = node::find(root)?;
    let module = toolchain::find(root, &target)?.build(root)?;
    let native = native::write(root, &target.join("wasm-native.jsonl"))?;
    command::run(Command::new(node).arg("wasm/vectors.mjs").arg(&module).arg(native), root)?;
    command::run(
        Command::new(node)
            .args(["--test", "--test-reporter=spec", "wasm/verify.test.mjs"])
            .env("MODULE", &module),
        root,
    )
}

/// Runs clippy on the machine's own platform: for WebAssembly it would need a standard library that
/// not every route provides.
fn lint(root: &Path, target: &Path) -> Result<(), TaskFailure> {
    let mut clippy = cargo();
    clippy
        .args(["clippy", "--quiet", "--no-deps", "--manifest-path", "wasm/Cargo.toml", "--target-dir"])
        .arg(target);
    command::run(clippy.args(["--", "-D", "warnings"]), root)
}

/// Returns the cargo that started us.
fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the target folder of the workspace. It is named in every command, because `wasm/` would
/// otherwise get a folder of its own.
fn target_folder(root: &Path) -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").and_then(|folder| std::path::absolute(folder).ok());
    named.unwrap_or_else(|| root.join("target"))
}
