//! Debian's compiler, unpacked beside the build and never installed: it would replace the machine's
//! own one.
//!
//! By hand, the route is this (`rustc-web` is the compiler that Debian keeps current for its
//! browsers):
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
//! Debian has no built standard library for WebAssembly of this compiler, hence `-Zbuild-std` from
//! `rust-web-src`, which unpacks to where cargo looks for it; `RUSTC_BOOTSTRAP` lets a stable
//! compiler take that flag. The crates that the library needs come from the registry, as ours do.
//! The cargo is the one that started us: it may be older than the compiler.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::toolchain::WasmToolchain;
use crate::command;
use crate::failure::TaskFailure;

/// Returns true if the system has the package tools of Debian.
pub(super) fn is_possible() -> bool {
    ["apt-get", "apt-cache", "dpkg"].into_iter().all(command::is_installed)
}

/// Returns the compiler that an earlier run has fetched. The folder gets its final name when it is
/// complete, so that half a compiler does not count.
pub(super) fn cached(cache: &Path) -> Option<WasmToolchain> {
    let unpacked = cache.join("debian");
    let rustc = unpacked.join("usr/bin/rustc");
    let libraries = find_folder(&unpacked.join("usr/lib"), |folder| {
        has_file(folder, |name| name.starts_with("librustc_driver-"))
    })?;
    let linker = find_folder(&unpacked.join("usr/lib"), |folder| folder.join("bin/wasm-ld").exists())?;
    rustc.exists().then(|| WasmToolchain {
        variables: vec![
            ("RUSTC", rustc.into()),
            ("LD_LIBRARY_PATH", libraries.into()),
            ("RUSTC_BOOTSTRAP", "1".into()),
            ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker.join("bin/wasm-ld").into()),
        ],
        // No features: there is no terminal to show a backtrace on.
        arguments: vec!["-Zbuild-std=std,panic_abort", "-Zbuild-std-features="],
        // A folder of its own: cargo would rebuild everything at each change of the compiler.
        target_folder: cache.join("build"),
    })
}

/// Downloads and unpacks the compiler.
///
/// # Errors
/// If a package cannot be downloaded or unpacked, or if there is no compiler in the packages.
pub(super) fn fetch(cache: &Path, root: &Path) -> Result<WasmToolchain, TaskFailure> {
    let archives = cache.join("archives");
    let partial = cache.join("debian.partial");
    let unpacked = cache.join("debian");
    // Leftovers of an earlier run may be of another version, or incomplete.
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
    // 140 MB, no longer needed.
    remove(&archives).map_err(|error| failed(&archives, error))?;
    cached(cache).ok_or_else(|| {
        failed(&unpacked, io::Error::new(io::ErrorKind::NotFound, "there is no compiler in it"))
    })
}

/// Downloads the packages without installing them.
fn download(archives: &Path, root: &Path) -> Result<(), TaskFailure> {
    // With old package lists a compiler may be gone, or too old. Only root can update the lists.
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

/// Wraps an error of the file system.
fn failed(path: &Path, error: io::Error) -> TaskFailure {
    let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    TaskFailure::NotStarted { line: "the compiler of Debian".into(), error }
}

/// Returns the package of the linker for the compiler's LLVM, such as `lld-22`.
fn linker_package(root: &Path) -> String {
    let names = command::stdout_of(
        Command::new("apt-cache").args(["depends", "--recurse", "--important", "rustc-web"]),
        root,
    );
    lld_beside(&names.unwrap_or_default()).unwrap_or_else(|| "lld".into())
}

/// Returns the linker that belongs to the LLVM in a list of packages.
fn lld_beside(names: &str) -> Option<String> {
    let version = names.lines().find_map(|name| {
        let version = name.strip_prefix("libllvm")?;
        version.bytes().all(|byte| byte.is_ascii_digit()).then_some(version)
    })?;
    Some(format!("lld-{version}"))
}

/// Removes a folder, if it exists.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the `.deb` files of a folder, sorted.
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

/// Returns a folder directly in `within` that fits.
fn find_folder(within: &Path, is_it: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    fs::read_dir(within).ok()?.flatten().map(|entry| entry.path()).find(|path| is_it(path))
}

/// Returns true if a file directly in the folder has a name that fits.
fn has_file(folder: &Path, is_it: impl Fn(&str) -> bool) -> bool {
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
