//! Signals of the trampoline and of the first process inside: received as data and passed on, so that the command gets each
//! one once.
//!
//! The terminal sends its signals (Ctrl-C, a new size) to the whole process group, which the command is in; only a
//! signal that a process sent is passed on. Start reading at [`SignalReceiver`].

use nix::libc;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Signals that are passed on. Those that stop a process act on the whole group by themselves.
const FORWARDED: [Signal; 8] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGCONT,
    Signal::SIGWINCH,
];

/// Receiver of signals, which are blocked as long as the process lives.
#[derive(Debug)]
pub(super) struct SignalReceiver {
    file: SignalFd,
}

/// Signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReceivedSignal {
    /// A child may have ended.
    Child,
    /// A process sent this signal, to be passed on.
    Forward(rustix::process::Signal),
    /// The kernel sent it, to the whole process group: nothing is to be done.
    OfGroup,
}

impl SignalReceiver {
    /// Blocks the signals and begins to receive them. Processes that are started later inherit the block.
    pub(super) fn new() -> io::Result<Self> {
        let mut set: SigSet = FORWARDED.into_iter().collect();
        set.add(Signal::SIGCHLD);
        set.thread_block()?;
        Ok(Self { file: SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)? })
    }

    /// Waits for the next signal.
    pub(super) fn next(&self) -> io::Result<ReceivedSignal> {
        loop {
            match self.file.read_signal() {
                Ok(Some(info)) => return Ok(received(info.ssi_signo, info.ssi_code)),
                Ok(None) | Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Classifies a signal by its number and the `si_code` that says who sent it.
fn received(number: u32, code: i32) -> ReceivedSignal {
    let number = i32::try_from(number).unwrap_or_default();
    if number == libc::SIGCHLD {
        return ReceivedSignal::Child;
    }
    match rustix::process::Signal::from_named_raw(number) {
        Some(signal) if code != libc::SI_KERNEL => ReceivedSignal::Forward(signal),
        _ => ReceivedSignal::OfGroup,
    }
}

/// Ends this process by a signal, as the command ended, so that whoever waits for it sees the same. Returns only if that
/// failed, with the exit code that shells have for the signal.
pub(super) fn end_by(signal: i32) -> i32 {
    // The core of this process would be written in place of the command's.
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let _ = SigSet::all().thread_unblock();
    if let Ok(named) = Signal::try_from(signal) {
        // The handler that the standard library has for faults returns once and is gone then.
        for _ in 0..2 {
            let _ = nix::sys::signal::raise(named);
        }
    }
    // The standard library ignores SIGPIPE, and real-time signals have no name; a shell has neither trouble.
    let error: Result<Infallible, io::Error> =
        Err(Command::new("/bin/sh").args(["-c", &format!("kill -{signal} $$")]).exec());
    drop(error);
    signal.saturating_add(128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_process_sent_is_passed_on() {
        let term = rustix::process::Signal::TERM;
        let number = |signal: Signal| u32::try_from(signal as i32).unwrap();
        assert_eq!(received(number(Signal::SIGTERM), libc::SI_USER), ReceivedSignal::Forward(term));
        assert_eq!(received(number(Signal::SIGTERM), libc::SI_TKILL), ReceivedSignal::Forward(term));
        assert_eq!(received(number(Signal::SIGINT), libc::SI_KERNEL), ReceivedSignal::OfGroup);
        assert_eq!(received(number(Signal::SIGCHLD), libc::CLD_EXITED), ReceivedSignal::Child);
    }
}
