//! The agent as a process: it has the terminal, and the signals that are meant for it.

use std::io;
use std::process::{Child, ExitStatus};

use reenact_run::Exit;

/// How a child ended.
fn exit_of(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Exit::Signal(signal);
    }
    Exit::Code(status.code().unwrap_or(1))
}

/// The code by which shells pass it on.
pub(crate) fn shell_code(exit: Exit) -> u8 {
    match exit {
        Exit::Code(code) => u8::try_from(code).unwrap_or(1),
        Exit::Signal(signal) => u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128)),
    }
}

/// The exit code of a command that could not be started, as env(1) gives it.
pub(crate) fn not_started(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    }
}

/// What to do about signals while a child lives. Made before the child is, so that none is missed.
pub(crate) struct Signals {
    #[cfg(unix)]
    inner: unix::Signals,
}

impl Signals {
    /// Begins to listen. Needs a tokio runtime around it.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            inner: unix::Signals::listen()?,
        })
    }

    /// Waits for the child's end.
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
                    return ended.map_err(io::Error::other)?.map(exit_of);
                }
                _signal = signal => {
                    #[cfg(unix)]
                    unix::pass_on(id, _signal);
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

    pub(super) struct Signals {
        interrupt: Stream,
        quit: Stream,
        terminate: Stream,
        hang_up: Stream,
        /// Ctrl-C on a terminal reaches the child by itself: it would get it twice.
        on_terminal: bool,
    }

    impl Signals {
        pub(super) fn listen() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                quit: signal(SignalKind::quit())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
                on_terminal: io::stdin().is_terminal() || io::stderr().is_terminal(),
            })
        }

        /// The next signal that the child must be told of.
        pub(super) async fn next(&mut self) -> Signal {
            loop {
                tokio::select! {
                    Some(()) = self.interrupt.recv() => if !self.on_terminal { return Signal::INT },
                    Some(()) = self.quit.recv() => if !self.on_terminal { return Signal::QUIT },
                    Some(()) = self.terminate.recv() => return Signal::TERM,
                    Some(()) = self.hang_up.recv() => return Signal::HUP,
                    else => return std::future::pending().await,
                }
            }
        }
    }

    /// If it is gone already, nobody is left to be told.
    pub(super) fn pass_on(id: u32, signal: Signal) {
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
        assert_eq!(shell_code(Exit::Code(3)), 3);
        assert_eq!(shell_code(Exit::Code(-1)), 1);
        assert_eq!(shell_code(Exit::Signal(9)), 137);
    }
}
