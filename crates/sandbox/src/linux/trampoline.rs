//! The trampoline: takes each step in order, reports to the host, and becomes the command.

use super::channel::{TrampolineChannel, TrampolineMessage};
use super::{capabilities, descriptors, environment, host_tables, loopback, masks, namespaces, seccomp};
use crate::command::SetupStep;
use crate::report::{ClosedRoute, OpenRoute};
use crate::trampoline::TRAMPOLINE_ARGUMENT;
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Exit code if the sandbox could not be built; env(1) uses it for its own failures.
const EXIT_SETUP_FAILED: i32 = 125;

/// Error of one step.
pub(super) struct SetupFailure {
    step: SetupStep,
    errno: Option<i32>,
    detail: String,
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

/// Runs the trampoline and exits, if the first argument says so.
pub(crate) fn run_if_trampoline() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == TRAMPOLINE_ARGUMENT) {
        std::process::exit(run_trampoline(args.next(), args.collect()));
    }
}

/// Builds the sandbox and executes the command. Returns only after a failure, with the exit code.
fn run_trampoline(program: Option<OsString>, args: Vec<OsString>) -> i32 {
    let borrowed = rustix::process::getuid() != rustix::process::geteuid()
        || rustix::process::getgid() != rustix::process::getegid();
    let channel = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(io::Error::from);
    let (Some(program), Ok(mut channel), false) =
        (program, channel.and_then(TrampolineChannel::from_fd), borrowed)
    else {
        print_error(&format!(
            "{TRAMPOLINE_ARGUMENT} is the sandbox's own inner command; it cannot be called by hand"
        ));
        return EXIT_SETUP_FAILED;
    };
    match build_sandbox(&mut channel) {
        Ok((listener, report)) => {
            if channel.send(&report.to_bytes(), Some(listener.as_fd())).is_err() {
                return EXIT_SETUP_FAILED;
            }
        }
        Err(SetupFailure { step, errno, detail }) => {
            let _ = channel.send(&TrampolineMessage::Failed { step, errno, detail }.to_bytes(), None);
            return EXIT_SETUP_FAILED;
        }
    }
    // Only the host has the listener now. Without its message, the command never runs.
    if !matches!(channel.receive(), Ok((body, None)) if body == b"go") {
        return EXIT_SETUP_FAILED;
    }
    let mut command = Command::new(&program);
    command.args(args);
    for name in environment::escape_variables() {
        command.env_remove(name);
    }
    let error = command.exec();
    let exit_code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    let _ = channel
        .send(&TrampolineMessage::NotExecuted { exit_code, reason: error.to_string() }.to_bytes(), None);
    exit_code
}

/// Takes every step before the command; returns the listener and the report of the steps that are done.
fn build_sandbox(channel: &mut TrampolineChannel) -> Result<(TcpListener, TrampolineMessage), SetupFailure> {
    let (port, stdin) = channel.receive().at_step(SetupStep::Request, "read the request")?;
    let port = <[u8; 2]>::try_from(port).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
    let port = u16::from_le_bytes(port.at_step(SetupStep::Request, "read the port")?);
    let stdin = stdin
        .ok_or(io::Error::from(io::ErrorKind::InvalidData))
        .at_step(SetupStep::Request, "take over stdin")?;
    rustix::stdio::dup2_stdin(&stdin).at_step(SetupStep::Request, "take over stdin")?;
    drop(stdin);

    let directory = std::env::current_dir().at_step(SetupStep::Directory, "find the working directory")?;
    // The tables are read before the new namespaces hide them.
    let tables = host_tables::HostTables::read();
    let (mut closed, mut open) =
        (Vec::new(), vec![OpenRoute::Files, OpenRoute::Signals, OpenRoute::LaterSockets]);

    namespaces::enter(&mut closed, &mut open)?;
    loopback::bring_up().at_step(SetupStep::Loopback, "raise the loopback interface")?;
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).at_step(SetupStep::Listen, "listen inside")?;
    masks::apply(&tables, &directory, &mut closed, &mut open)?;
    std::env::set_current_dir(&directory).at_step(
        SetupStep::Directory,
        &format!("go back to {directory:?}, which lies under a directory that the sandbox masks"),
    )?;

    descriptors::close_inherited(&[&channel.as_fd(), &listener.as_fd()])
        .at_step(SetupStep::Descriptors, "close inherited descriptors")?;
    closed.push(ClosedRoute::Descriptors);
    open.extend(descriptors::network_streams());
    closed.extend(environment::escape_variables().map(ClosedRoute::Variable));
    capabilities::drop_all().at_step(SetupStep::Privileges, "give up capabilities")?;
    closed.extend([ClosedRoute::Privileges, ClosedRoute::Processes]);
    seccomp::install(&mut closed)?;
    Ok((listener, TrampolineMessage::Ready { closed, open }))
}

/// Prints an error for a person who typed the private argument. The host gets its errors through the channel.
fn print_error(text: &str) {
    let _ = writeln!(io::stderr(), "reenact: {text}");
}
