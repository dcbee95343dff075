//! The step `wasm`: the judge as a WebAssembly module gives the same reports as the native one, byte for byte.
//!
//! A browser has another word size, another standard library and no operating system: that the judge does not notice is
//! shown by running the published vectors through the module in Node. `wasm/` is a workspace of its own, so its format
//! and lints are checked here too.

mod debian;
mod native;
mod node;
mod toolchain;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::context::Context;
use crate::failure::Failure;

/// What rustc calls WebAssembly without an operating system.
const TARGET: &str = "wasm32-unknown-unknown";

pub(crate) fn run(context: &Context) -> Result<(), Failure> {
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

/// On the machine's own platform: clippy would need the standard library of the other in a form that not every route has.
fn lint(root: &Path, target: &Path) -> Result<(), Failure> {
    let mut clippy = cargo();
    clippy
        .args(["clippy", "--quiet", "--no-deps", "--manifest-path", "wasm/Cargo.toml", "--target-dir"])
        .arg(target);
    command::run(clippy.args(["--", "-D", "warnings"]), root)
}

/// The cargo that started us.
fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Where the workspace builds. Named in every command, because `wasm/` would otherwise get a folder of its own.
fn target_folder(root: &Path) -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").and_then(|folder| std::path::absolute(folder).ok());
    named.unwrap_or_else(|| root.join("target"))
}
