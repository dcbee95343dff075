//! Debian's compiler, unpacked beside the build and never installed: it would push the machine's own one aside.
//!
//! By hand, the route is this (`rustc-web` is the compiler that Debian keeps current for its browsers):
//!
//! ```console
//! # apt-get update
//! # apt-get install --download-only … rustc-web rust-web-src lld-22     into target/wasm-toolchain/archives
//! $ for package in target/wasm-toolchain/archives/*.deb; do dpkg -x $package R; done
//! $ RUSTC=R/usr/bin/rustc LD_LIBRARY_PATH=R/usr/lib/x86_64-linux-gnu RUSTC_BOOTSTRAP=1 \
//!   CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=R/usr/lib/llvm-22/bin/wasm-ld \
//!   cargo build -Zbuild-std=std,panic_abort -Zbuild-std-features= --target wasm32-unknown-unknown …
//! ```
//!
//! Debian has no built standard library for WebAssembly of this compiler, hence `-Zbuild-std` from `rust-web-src`, which
//! unpacks to where cargo looks for it; `RUSTC_BOOTSTRAP` lets a stable compiler take that flag. The crates that the
//! library needs come from the registry, as ours do. The cargo is the one that started us: it may be older than the
//! compiler.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::toolchain::Toolchain;
use crate::command;
use crate::failure::Failure;

/// Whether this is a system of Debian's kind.
pub(super) fn is_possible() -> bool {
    ["apt-get", "apt-cache", "dpkg"].into_iter().all(command::is_there)
}

/// What an earlier run has fetched. The folder gets its name when all is in it, so that half a compiler is none.
pub(super) fn cached(cache: &Path) -> Option<Toolchain> {
    let unpacked = cache.join("debian");
    let rustc = unpacked.join("usr/bin/rustc");
    let libraries = folder_with(&unpacked.join("usr/lib"), |folder| {
        holds(folder, |name| name.starts_with("librustc_driver-"))
    })?;
    let linker = folder_with(&unpacked.join("usr/lib"), |folder| folder.join("bin/wasm-ld").exists())?;
    rustc.exists().then(|| Toolchain {
        variables: vec![
            ("RUSTC", rustc.into()),
            ("LD_LIBRARY_PATH", libraries.into()),
            ("RUSTC_BOOTSTRAP", "1".into()),
            ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker.join("bin/wasm-ld").into()),
        ],
        // No features: a backtrace has nobody to show it to.
        arguments: vec!["-Zbuild-std=std,panic_abort", "-Zbuild-std-features="],
        // Of its own: cargo would build everything anew at each change of compiler.
        target_folder: cache.join("build"),
    })
}

/// Downloads and unpacks the compiler.
pub(super) fn fetch(cache: &Path, root: &Path) -> Result<Toolchain, Failure> {
    let archives = cache.join("archives");
    let partial = cache.join("debian.partial");
    let unpacked = cache.join("debian");
    // What an earlier run left may be of another version, or half of one.
    for folder in [&archives, &partial, &unpacked] {
        remove(folder).map_err(|error| failed(folder, error))?;
    }
    // apt-get downloads into a folder of this name first.
    let downloads = archives.join("partial");
    fs::create_dir_all(&downloads).map_err(|error| failed(&downloads, error))?;

    download(&archives, root)?;
    for package in packages(&archives).map_err(|error| failed(&archives, error))? {
        command::run(Command::new("dpkg").arg("-x").arg(package).arg(&partial), root)?;
    }
    fs::rename(&partial, &unpacked).map_err(|error| failed(&unpacked, error))?;
    // 140 MB, of no more use.
    remove(&archives).map_err(|error| failed(&archives, error))?;
    cached(cache).ok_or_else(|| {
        failed(&unpacked, io::Error::new(io::ErrorKind::NotFound, "there is no compiler in it"))
    })
}

fn download(archives: &Path, root: &Path) -> Result<(), Failure> {
    // A compiler of yesterday's lists may be gone, or too old for us. Who is not root has to take the lists as they are.
    if command::is_root(root)
        && let Err(failure) = command::run(Command::new("apt-get").args(["update", "-qq"]), root)
    {
        println!("{failure}; going on with the old lists");
    }
    let mut download = Command::new("apt-get");
    download.args(["install", "--download-only", "--yes", "--no-install-recommends", "-qq"]);
    // Nothing is installed, so no lock is needed. The user `_apt` may not write to our folder.
    download.args(["-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root", "-o"]);
    download.arg(format!("Dir::Cache::archives={}", archives.display()));
    download.args(["rustc-web", "rust-web-src", &linker_package(root)]);
    command::run(&mut download, root)
}

fn failed(path: &Path, error: io::Error) -> Failure {
    let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    Failure::NotStarted { line: "the compiler of Debian".into(), error }
}

/// The linker of the LLVM that the compiler uses, such as `lld-22`.
fn linker_package(root: &Path) -> String {
    let names = command::answer(
        Command::new("apt-cache").args(["depends", "--recurse", "--important", "rustc-web"]),
        root,
    );
    lld_beside(&names.unwrap_or_default()).unwrap_or_else(|| "lld".into())
}

fn lld_beside(names: &str) -> Option<String> {
    let version = names.lines().find_map(|name| {
        let version = name.strip_prefix("libllvm")?;
        version.bytes().all(|byte| byte.is_ascii_digit()).then_some(version)
    })?;
    Some(format!("lld-{version}"))
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn packages(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            packages.push(path);
        }
    }
    packages.sort();
    Ok(packages)
}

fn folder_with(within: &Path, is_it: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    fs::read_dir(within).ok()?.flatten().map(|entry| entry.path()).find(|path| is_it(path))
}

fn holds(folder: &Path, is_it: impl Fn(&str) -> bool) -> bool {
    fs::read_dir(folder)
        .is_ok_and(|entries| entries.flatten().any(|entry| is_it(&entry.file_name().to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_is_that_of_the_compiler() {
        let names = "rustc-web\n  Depends: libc6\n  Depends: libllvm22\nlibllvm-none\nlibllvm22\nlibllvm19";
        assert_eq!(lld_beside(names), Some("lld-22".to_owned()));
        assert_eq!(lld_beside("rustc-web"), None);
    }
}
