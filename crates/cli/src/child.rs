//! The agent as a child process: its exit status, and the signals that are forwarded to it.
//!
//! The agent keeps the terminal and its own exit code, so that scripts see no difference between `agent` and
//! `reenact record -- agent`. Start reading at [`SignalForwarder`].

use std::io;
use std::process::{Child, ExitStatus};

use reenact_run::Exit;

/// Converts the status of a child into an [`Exit`]. A child without a code or a signal counts as exit code 1.
fn exit_from_status(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Exit::Signal(signal);
    }
    Exit::Code(status.code().unwrap_or(1))
}

/// Returns the exit code by which shells report an exit: the code itself, or 128 plus the number of the signal.
pub(crate) fn shell_exit_code(exit: Exit) -> u8 {
    match exit {
        Exit::Code(code) => u8::try_from(code).unwrap_or(1),
        Exit::Signal(signal) => u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128)),
    }
}

/// Returns the exit code for a command that could not be started, as env(1) has it: 127 if there is no such
/// command, else 126.
pub(crate) fn spawn_error_code(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    }
}

/// Signal handlers that are active while a child lives. Created before the child is spawned, so that no signal is missed.
pub(crate) struct SignalForwarder {
    #[cfg(unix)]
    inner: unix::UnixSignals,
}

impl SignalForwarder {
    /// Installs the signal handlers. Must be called inside a tokio runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            inner: unix::UnixSignals::listen()?,
        })
    }

    /// Waits until the child ends, and forwards signals to it meanwhile.
    ///
    /// # Errors
    ///
    /// If the child's status cannot be read.
    pub(crate) async fn wait(self, mut child: Child) -> io::Result<Exit> {
        let id = child.id();
        let mut waiting = tokio::task::spawn_blocking(move || child.wait());
        #[cfg(unix)]
        let mut inner = self.inner;
        loop {
            #[cfg(unix)]
            let signal = inner.next();
            #[cfg(not(unix))]
            let signal = std::future::pending::<()>();
            tokio::select! {
                ended = &mut waiting => {
                    return ended.map_err(io::Error::other)?.map(exit_from_status);
                }
                _signal = signal => {
                    #[cfg(unix)]
                    unix::forward(id, _signal);
                    #[cfg(not(unix))]
                    let _ = id;
                }
            }
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::io::{self, IsTerminal};

    use rustix::process::{Pid, Signal, kill_process};
    use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

    /// Streams of the four signals that ask a program to stop.
    pub(super) struct UnixSignals {
        interrupt: Stream,
        quit: Stream,
        terminate: Stream,
        hang_up: Stream,
        /// True if the process has a terminal. Ctrl-C and Ctrl-\ then reach the child by themselves, since
        /// the terminal sends them to the whole process group; a forwarded one would be the second.
        has_terminal: bool,
    }

    impl UnixSignals {
        /// Installs the handlers, and looks once whether the process has a terminal.
        pub(super) fn listen() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                quit: signal(SignalKind::quit())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
                has_terminal: io::stdin().is_terminal() || io::stderr().is_terminal(),
            })
        }

        /// Waits for the next signal that must be forwarded to the child.
        pub(super) async fn next(&mut self) -> Signal {
            loop {
                tokio::select! {
                    Some(()) = self.interrupt.recv() => if !self.has_terminal { return Signal::INT },
                    Some(()) = self.quit.recv() => if !self.has_terminal { return Signal::QUIT },
                    Some(()) = self.terminate.recv() => return Signal::TERM,
                    Some(()) = self.hang_up.recv() => return Signal::HUP,
                    else => return std::future::pending().await,
                }
            }
        }
    }

    /// Sends a signal to the child. An error is ignored: the child may have ended already.
    pub(super) fn forward(id: u32, signal: Signal) {
        if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            let _ = kill_process(id, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_add_128() {
        assert_eq!(shell_exit_code(Exit::Code(3)), 3);
        assert_eq!(shell_exit_code(Exit::Code(-1)), 1);
        assert_eq!(shell_exit_code(Exit::Signal(9)), 137);
    }
}
