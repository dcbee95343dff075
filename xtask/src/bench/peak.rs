//! The most memory that a child process ever held.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The verifier alone, without all that this program brings with it.
pub(super) const VERIFIER: &str = "reenact-verify";

/// More than a pipe holds, and no record of anything.
const BLANKS: usize = 1 << 20;

/// Peak resident memory, in MB, of the verifier when it reads and verifies one file.
///
/// Its second target is a pipe. When it has read from there, it is done with the first, and it still lives: only then can it be
/// asked.
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
    let peak = after_the_first(&mut child);
    // Its end of the pipe is closed by now.
    let mut said = String::new();
    let read = child.stdout.take().map(|mut out| out.read_to_string(&mut said));
    child.wait().map_err(|error| error.to_string())?;
    match read {
        Some(Ok(_)) if said.lines().next().is_some_and(|line| line.contains("\"pass\":true")) => peak,
        _ => Err(format!("{VERIFIER} said: {said}")),
    }
}

fn after_the_first(child: &mut Child) -> Result<f64, String> {
    let mut input = child.stdin.take().ok_or("no pipe to the verifier")?;
    input.write_all(&vec![b' '; BLANKS]).map_err(|error| format!("{VERIFIER} did not read: {error}"))?;
    high_water_mark(&format!("/proc/{}/status", child.id()))
}

/// The most that a process ever held, in MB.
fn high_water_mark(status: &str) -> Result<f64, String> {
    let text = fs::read_to_string(status).map_err(|error| format!("{status}: {error}"))?;
    let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM on this system")?;
    let kilobytes: f64 =
        mark.trim().trim_end_matches(" kB").parse().map_err(|_| format!("VmHWM is {mark}"))?;
    Ok(kilobytes / 1024.0)
}

/// Peak resident memory, in MB, of this program when it only records and seals a run in a folder.
#[cfg(feature = "flight")]
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

/// The child of [`peak_memory_of_recording`]: prints its own high-water mark in MB.
#[cfg(feature = "flight")]
pub(crate) fn record(arguments: &[String]) -> Result<(), String> {
    let [folder] = arguments else { return Err("bench-memory FOLDER".into()) };
    super::flight::write_run(Path::new(folder))?;
    println!("{}", high_water_mark("/proc/self/status")?);
    Ok(())
}
