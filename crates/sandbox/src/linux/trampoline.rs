//! The trampoline: takes each step in order, reports to the host, starts the first process inside, and ends as the command ends.
//!
//! It stays outside of the process namespace, since a process cannot enter one: only its children do.

use super::channel::{RequestedIsolation, TrampolineChannel, TrampolineMessage};
use super::init::{self, INIT_ARGUMENT};
use super::signals::{self, ReceivedSignal, SignalReceiver};
use super::{capabilities, descendants, host_tables, loopback, masks, namespaces};
use crate::command::SetupStep;
use crate::report::{ClosedRoute, OpenRoute};
use crate::trampoline::TRAMPOLINE_ARGUMENT;
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Exit code if the sandbox could not be built; env(1) uses it for its own failures.
pub(super) const EXIT_SETUP_FAILED: i32 = 125;

/// Error of one step.
pub(super) struct SetupFailure {
    step: SetupStep,
    errno: Option<i32>,
    detail: String,
}

impl SetupFailure {
    /// Returns the message that tells the host.
    pub(super) fn into_message(self) -> TrampolineMessage {
        TrampolineMessage::Failed { step: self.step, errno: self.errno, detail: self.detail }
    }
}

/// Adds the step and the action to an error.
pub(super) trait SetupContext<T> {
    fn at_step(self, step: SetupStep, doing: &str) -> Result<T, SetupFailure>;
}

impl<T, E: Into<io::Error>> SetupContext<T> for Result<T, E> {
    fn at_step(self, step: SetupStep, doing: &str) -> Result<T, SetupFailure> {
        self.map_err(|error| {
            let error = error.into();
            SetupFailure { step, errno: error.raw_os_error(), detail: format!("{doing}: {error}") }
        })
    }
}

/// Runs the trampoline, or the first process inside, and exits, if the first argument says so.
pub(crate) fn run_if_trampoline() {
    let mut args = std::env::args_os().skip(1);
    let Some(first) = args.next().filter(|first| first == TRAMPOLINE_ARGUMENT || first == INIT_ARGUMENT)
    else {
        return;
    };
    let borrowed = rustix::process::getuid() != rustix::process::geteuid()
        || rustix::process::getgid() != rustix::process::getegid();
    let channel = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(io::Error::from);
    let channel = channel.and_then(TrampolineChannel::from_fd);
    let (Some(program), Ok(channel), false) = (args.next(), channel, borrowed) else {
        print_error(&format!(
            "{} is the sandbox's own inner command; it cannot be called by hand",
            if first == INIT_ARGUMENT { INIT_ARGUMENT } else { TRAMPOLINE_ARGUMENT }
        ));
        std::process::exit(EXIT_SETUP_FAILED);
    };
    std::process::exit(match first == INIT_ARGUMENT {
        true => init::run(channel, &program, args.collect()),
        false => run_trampoline(channel, program, args.collect()),
    });
}

/// Builds the sandbox, lets the command run in it, and ends as the command ended. Returns an exit code.
fn run_trampoline(mut channel: TrampolineChannel, program: OsString, args: Vec<OsString>) -> i32 {
    let (inside, listener, report) = match build_sandbox(&mut channel, program, args) {
        Ok(built) => built,
        Err(failure) => {
            let _ = channel.send(&failure.into_message().to_bytes(), None);
            return EXIT_SETUP_FAILED;
        }
    };
    if channel.send(&report.to_bytes(), listener.as_ref().map(AsFd::as_fd)).is_err() {
        return EXIT_SETUP_FAILED;
    }
    // Only the host has the listener now. Without its message, the command never runs.
    drop(listener);
    if !matches!(channel.receive(), Ok((body, None)) if body == b"go") {
        return EXIT_SETUP_FAILED;
    }
    inside.run(channel)
}

/// First process inside, with what the trampoline needs to be its parent.
struct InsideProcess {
    child: Child,
    control: TrampolineChannel,
    signals: SignalReceiver,
}

/// Takes every step before the command; returns the process inside, the listener, and the report of the steps that are done.
fn build_sandbox(
    channel: &mut TrampolineChannel,
    program: OsString,
    args: Vec<OsString>,
) -> Result<(InsideProcess, Option<TcpListener>, TrampolineMessage), SetupFailure> {
    let (request, stdin) = channel.receive().at_step(SetupStep::Request, "read the request")?;
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let request = RequestedIsolation::from_bytes(&request).ok_or_else(invalid);
    let request = request.at_step(SetupStep::Request, "read the request")?;
    let stdin = stdin.ok_or_else(invalid).at_step(SetupStep::Request, "take over stdin")?;
    let (mut closed, mut open) = (Vec::new(), vec![OpenRoute::Files]);
    let listener = match request {
        RequestedIsolation::Namespaces { listen_port } => {
            let listener = enter_namespaces(listen_port, &mut closed, &mut open)?;
            capabilities::keep_for_init().at_step(SetupStep::Processes, "keep capabilities")?;
            Some(listener)
        }
        RequestedIsolation::Landlock { .. } => {
            // Orphans come here if the command kills the first process inside, which is in its reach.
            descendants::adopt_orphans().at_step(SetupStep::Processes, "adopt orphans")?;
            None
        }
    };
    refuse_to_be_traced()?;
    let mut inside = InsideProcess::start(program, args, request, stdin)?;
    let (closed_inside, open_inside) = inside.receive_report()?;
    closed.extend(closed_inside);
    open.extend(open_inside);
    if listener.is_some() {
        capabilities::drop_all().at_step(SetupStep::Privileges, "give up capabilities")?;
        // A change of credentials may have undone it.
        refuse_to_be_traced()?;
    }
    Ok((inside, listener, TrampolineMessage::Ready { closed, open }))
}

/// Closes this process to others of its user. It has no filter, and the command is one of them: where `/proc` of the outside is
/// seen inside, the command could write into its memory.
fn refuse_to_be_traced() -> Result<(), SetupFailure> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .at_step(SetupStep::Processes, "refuse to be traced")
}

/// Enters the namespaces and masks what leads out of them; returns the listener inside.
fn enter_namespaces(
    port: u16,
    closed: &mut Vec<ClosedRoute>,
    open: &mut Vec<OpenRoute>,
) -> Result<TcpListener, SetupFailure> {
    let directory = std::env::current_dir().at_step(SetupStep::Directory, "find the working directory")?;
    // The tables are read before the new namespaces hide them.
    let tables = host_tables::HostTables::read();
    open.push(OpenRoute::LaterSockets);
    namespaces::enter(closed, open)?;
    loopback::bring_up().at_step(SetupStep::Loopback, "raise the loopback interface")?;
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).at_step(SetupStep::Listen, "listen inside")?;
    masks::apply(&tables, &directory, closed, open)?;
    std::env::set_current_dir(&directory).at_step(
        SetupStep::Directory,
        &format!("go back to {directory:?}, which lies under a directory that the sandbox masks"),
    )?;
    Ok(listener)
}

impl InsideProcess {
    /// Starts this program again as the first process inside, which gets the request and the command's standard input.
    fn start(
        program: OsString,
        args: Vec<OsString>,
        request: RequestedIsolation,
        stdin: OwnedFd,
    ) -> Result<Self, SetupFailure> {
        const AT: SetupStep = SetupStep::Processes;
        let (mut control, theirs) = TrampolineChannel::pair().at_step(AT, "make a socket pair")?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("reenact-sandbox-init").arg(INIT_ARGUMENT).arg(program).args(args);
        let child =
            command.stdin(Stdio::from(theirs)).spawn().at_step(AT, "start the first process inside")?;
        // The command holds the other end of the socket pair.
        drop(command);
        // Not earlier, since blocked signals are inherited.
        let signals = SignalReceiver::new().at_step(AT, "receive signals")?;
        control.send(&request.to_bytes(), Some(stdin.as_fd())).at_step(AT, "pass stdin on")?;
        Ok(Self { child, control, signals })
    }

    /// Receives what the process inside closed and what stayed open, or the error of its steps.
    fn receive_report(&mut self) -> Result<(Vec<ClosedRoute>, Vec<OpenRoute>), SetupFailure> {
        let received =
            self.control.receive().at_step(SetupStep::Processes, "hear from the first process inside");
        match TrampolineMessage::from_bytes(&received?.0) {
            Some(TrampolineMessage::Ready { closed, open }) => Ok((closed, open)),
            Some(TrampolineMessage::Failed { step, errno, detail }) => {
                Err(SetupFailure { step, errno, detail })
            }
            _ => Err(io::Error::from(io::ErrorKind::InvalidData))
                .at_step(SetupStep::Processes, "read the report of the first process inside"),
        }
    }

    /// Lets the command start, tells the host whether it did, and passes signals on until it ends. Returns the exit code of
    /// the command, or ends this process by the signal that ended the command.
    fn run(mut self, mut channel: TrampolineChannel) -> i32 {
        let started = self.control.send(b"go", None).and_then(|()| self.control.receive());
        match started.map(|(body, _)| TrampolineMessage::from_bytes(&body)) {
            Ok(Some(TrampolineMessage::Started)) => drop(channel),
            Ok(Some(refused @ TrampolineMessage::NotExecuted { exit_code, .. })) => {
                let _ = channel.send(&refused.to_bytes(), None);
                return exit_code;
            }
            _ => {
                // The command may have begun, and have killed its parent.
                let _ = self.child.kill();
                let _ = self.child.wait();
                let _ = descendants::kill_all();
                let reason = "the first process inside went away".to_owned();
                let lost = TrampolineMessage::NotExecuted { exit_code: EXIT_SETUP_FAILED, reason };
                let _ = channel.send(&lost.to_bytes(), None);
                return EXIT_SETUP_FAILED;
            }
        }
        // The command alone holds the standard streams, so that their other ends see when it closes one.
        let _ = init::release_standard_streams();
        let init = rustix::process::Pid::from_child(&self.child);
        while matches!(self.child.try_wait(), Ok(None)) {
            match self.signals.next() {
                Ok(ReceivedSignal::Forward(signal)) => drop(rustix::process::kill_process(init, signal)),
                Ok(ReceivedSignal::Child | ReceivedSignal::OfGroup) => {}
                Err(_) => break,
            }
        }
        // In a process namespace the kernel has done this.
        let _ = descendants::kill_all();
        match self.control.receive().map(|(body, _)| TrampolineMessage::from_bytes(&body)) {
            Ok(Some(TrampolineMessage::Ended { code: Some(code), .. })) => code,
            Ok(Some(TrampolineMessage::Ended { signal: Some(signal), .. })) => signals::end_by(signal),
            // The process inside was killed, and the command with it.
            _ => signals::end_by(nix::libc::SIGKILL),
        }
    }
}

/// Prints an error for a person who typed the private argument. The host gets its errors through the channel.
fn print_error(text: &str) {
    let _ = writeln!(io::stderr(), "reenact: {text}");
}
