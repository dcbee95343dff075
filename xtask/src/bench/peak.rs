//! Peak memory of child processes.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Program that is measured: the verifier alone, without the dependencies of this program.
pub(super) const VERIFIER: &str = "reenact-verify";

/// Length of the input for the second target, in bytes: more than a pipe holds, and no record of
/// any format.
const FILLER_BYTES: usize = 1 << 20;

/// Returns the peak resident memory, in MB, of the verifier when it reads and verifies one file.
///
/// The verifier's second target is a pipe. When it has read from there, it has finished the first
/// target and is still running: only then can `/proc` be asked.
///
/// # Errors
/// If the verifier cannot be run, if the file does not verify, or if the system has no `VmHWM`.
pub(super) fn peak_memory(artifact: &Path, key: Option<&Path>) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name(VERIFIER);
    let mut command = Command::new(&program);
    command.arg("--json");
    if let Some(key) = key {
        command.arg("--key").arg(key);
    }
    let mut child =
        command.arg(artifact).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(
            |error| format!("{}: {error} (cargo build --release --package {VERIFIER})", program.display()),
        )?;
    let peak = peak_after_first_target(&mut child);
    // Our end of the pipe is closed by now.
    let mut output = String::new();
    let read = child.stdout.take().map(|mut out| out.read_to_string(&mut output));
    child.wait().map_err(|error| error.to_string())?;
    match read {
        Some(Ok(_)) if output.lines().next().is_some_and(|line| line.contains("\"pass\":true")) => peak,
        _ => Err(format!("{VERIFIER} said: {output}")),
    }
}

/// Writes to the pipe until the verifier reads its second target, then returns its peak memory.
fn peak_after_first_target(child: &mut Child) -> Result<f64, String> {
    let mut input = child.stdin.take().ok_or("no pipe to the verifier")?;
    input
        .write_all(&vec![b' '; FILLER_BYTES])
        .map_err(|error| format!("{VERIFIER} did not read: {error}"))?;
    peak_resident_mb(&format!("/proc/{}/status", child.id()))
}

/// Returns the peak resident memory of a process in MB, from its `/proc/…/status`.
fn peak_resident_mb(status: &str) -> Result<f64, String> {
    let text = fs::read_to_string(status).map_err(|error| format!("{status}: {error}"))?;
    let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM on this system")?;
    let kilobytes: f64 =
        mark.trim().trim_end_matches(" kB").parse().map_err(|_| format!("VmHWM is {mark}"))?;
    Ok(kilobytes / 1024.0)
}

/// Returns the peak resident memory, in MB, of this program when it only records and seals a run in
/// a folder.
///
/// # Errors
/// If the child process cannot be run, or prints no number.
#[cfg(feature = "gateway")]
pub(super) fn peak_memory_of_recording(folder: &Path) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .arg("bench-memory")
        .arg(folder)
        .output()
        .map_err(|error| format!("the memory child did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("the memory child said: {text}"))
}

/// Runs as the child of [`peak_memory_of_recording`]: records a run, and prints its own peak memory
/// in MB.
///
/// # Errors
/// If the arguments are not one folder, or if the run cannot be recorded.
#[cfg(feature = "gateway")]
pub(crate) fn record(arguments: &[String]) -> Result<(), String> {
    let [folder] = arguments else { return Err("bench-memory FOLDER".into()) };
    super::end_to_end::write_run(Path::new(folder))?;
    println!("{}", peak_resident_mb("/proc/self/status")?);
    Ok(())
}
