//! The inner program: the host binary, executed again, for the short time until it becomes the command.
//!
//! It gives nobody a power that they had not: it only takes rights away from itself before it executes a command that
//! its caller could have executed directly, and it refuses to run with borrowed rights (set-user-ID).

/// The private first argument by which the host binary knows that it is the trampoline.
pub const MARK: &str = "__sandbox";

/// Call this first in `main`, before any thread is started. Returns at once unless the process was started as the
/// trampoline; then it never returns: the process becomes the command, or leaves with 125, 126 or 127 as env(1) does.
pub fn main_if_asked() {
    #[cfg(target_os = "linux")]
    crate::linux::inner::main_if_asked();
}
