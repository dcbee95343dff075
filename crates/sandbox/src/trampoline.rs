//! Entry point of the trampoline: the host binary, executed again, to build the sandbox and to stand for the command outside of it.
//!
//! The trampoline grants no new rights: it only drops its own before it executes a command that its caller could have executed
//! directly, and it refuses to run with borrowed rights (set-user-ID).

/// Private first argument by which the host binary recognises that it was started as the trampoline.
pub const TRAMPOLINE_ARGUMENT: &str = "__sandbox";

/// Runs the trampoline if the process was started as one, and returns at once otherwise. Must be the first call in `main`,
/// before any thread is started.
///
/// In the trampoline this never returns: the process ends as the command does, or exits with 125, 126 or 127 as env(1) does. Does
/// nothing on systems other than Linux.
pub fn run_if_trampoline() {
    #[cfg(target_os = "linux")]
    crate::linux::trampoline::run_if_trampoline();
}
