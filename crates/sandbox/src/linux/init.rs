//! The first process inside: mounts `/proc`, gives up its rights, starts the command, and reaps what the command leaves behind.
//!
//! Where the kernel gives a process namespace this is its PID 1, and every process inside ends with it; elsewhere it kills them. It talks to the
//! trampoline alone, over its standard input. Start reading at [`run`].

use super::channel::{RequestedIsolation, TrampolineChannel, TrampolineMessage};
use super::seccomp::SocketRules;
use super::signals::{ReceivedSignal, SignalReceiver};
use super::trampoline::{EXIT_SETUP_FAILED, SetupContext, SetupFailure};
use super::{
    capabilities, descendants, descriptors, environment, host_tables, kernel_controls, landlock, masks,
    proc_mount, seccomp,
};
use crate::command::SetupStep;
use crate::report::{ClosedRoute, OpenRoute};
use rustix::process::{Pid, WaitOptions, WaitStatus};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::Command;

/// Private first argument by which the trampoline starts this process.
pub(super) const INIT_ARGUMENT: &str = "__sandbox-init";

/// Takes the steps that belong inside, starts the command and waits for its end. Returns the exit code, which says only if
/// that was possible: how the command ended is told by a message.
pub(super) fn run(mut control: TrampolineChannel, program: &OsString, args: Vec<OsString>) -> i32 {
    let report = enter(&mut control).unwrap_or_else(SetupFailure::into_message);
    if control.send(&report.to_bytes(), None).is_err() {
        return EXIT_SETUP_FAILED;
    }
    // After a failure the trampoline says nothing and closes its end.
    if !matches!(control.receive(), Ok((body, None)) if body == b"go") {
        return EXIT_SETUP_FAILED;
    }
    let mut command = Command::new(program);
    command.args(args);
    for name in environment::escape_variables() {
        command.env_remove(name);
    }
    let child = match command.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            let exit_code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
            let refused = TrampolineMessage::NotExecuted { exit_code, reason: error.to_string() };
            let _ = control.send(&refused.to_bytes(), None);
            return EXIT_SETUP_FAILED;
        }
    };
    drop(command);
    // Not earlier, since blocked signals are inherited. Nobody but the trampoline can signal this process, and it waits for
    // the message.
    let Ok(signals) = SignalReceiver::new() else { return EXIT_SETUP_FAILED };
    let _ = control.send(&TrampolineMessage::Started.to_bytes(), None);
    // The command alone holds the standard streams, so that their other ends see when it closes one.
    let _ = release_standard_streams();
    match wait(&signals, child) {
        Ok(status) => {
            // The kernel does this for the first process of a namespace.
            if !rustix::process::getpid().is_init() {
                let _ = descendants::kill_all();
            }
            let ended =
                TrampolineMessage::Ended { code: status.exit_status(), signal: status.terminating_signal() };
            i32::from(control.send(&ended.to_bytes(), None).is_err()) * EXIT_SETUP_FAILED
        }
        Err(_) => EXIT_SETUP_FAILED,
    }
}

/// Takes every step before the command; returns the report.
fn enter(control: &mut TrampolineChannel) -> Result<TrampolineMessage, SetupFailure> {
    let (request, stdin) = control.receive().at_step(SetupStep::Request, "read the request")?;
    let request = RequestedIsolation::from_bytes(&request).ok_or(io::Error::from(io::ErrorKind::InvalidData));
    let request = request.at_step(SetupStep::Request, "read the request")?;
    let stdin = stdin.ok_or(io::Error::from(io::ErrorKind::InvalidData));
    let stdin = stdin.at_step(SetupStep::Request, "take over stdin")?;
    rustix::stdio::dup2_stdin(&stdin).at_step(SetupStep::Request, "take over stdin")?;
    drop(stdin);
    let (mut closed, mut open) = (Vec::new(), Vec::new());

    match request {
        RequestedIsolation::Namespaces { .. } => enter_namespaces(&mut closed, &mut open),
        RequestedIsolation::Landlock { .. } => {
            descendants::adopt_orphans().at_step(SetupStep::Processes, "adopt orphans")?;
            closed.push(ClosedRoute::LeftProcesses);
            open.extend([OpenRoute::Ipc, OpenRoute::ProcessList, OpenRoute::KernelControls]);
            open.extend(masks::network_files(&host_tables::HostTables::read()));
            if rustix::process::getuid().is_root() {
                open.push(OpenRoute::Root);
            }
        }
    }
    descriptors::close_inherited(&[&control.as_fd()])
        .at_step(SetupStep::Descriptors, "close inherited descriptors")?;
    closed.push(ClosedRoute::Descriptors);
    open.extend(descriptors::network_streams());
    closed.extend(environment::escape_variables().map(ClosedRoute::Variable));
    match request {
        RequestedIsolation::Namespaces { .. } => {
            capabilities::drop_all().at_step(SetupStep::Privileges, "give up capabilities")?;
            match landlock::restrict_signals() {
                Ok(()) if rustix::process::getpid().is_init() => closed.push(ClosedRoute::Signals),
                _ => open.push(OpenRoute::Signals),
            }
            seccomp::install(SocketRules::OfNamespace, &mut closed)?;
        }
        RequestedIsolation::Landlock { gateway_port } => {
            capabilities::drop_in_host_namespace().at_step(SetupStep::Privileges, "give up capabilities")?;
            landlock::restrict_to_port(gateway_port, &mut closed, &mut open)
                .at_step(SetupStep::Landlock, "restrict TCP to the gateway's port")?;
            seccomp::install(SocketRules::OnlyTcp, &mut closed)?;
        }
    }
    closed.extend([ClosedRoute::Privileges, ClosedRoute::Processes]);
    // The command has the same user, and must not write into this process.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .at_step(SetupStep::Processes, "refuse to be traced")?;
    // After the privileges, since the kernel forgets this when they change. If the trampoline is gone already, the next
    // message does not come.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .at_step(SetupStep::Processes, "end with the trampoline")?;
    Ok(TrampolineMessage::Ready { closed, open })
}

/// Takes the steps that need the first process of the process namespace, or the mounts as they are by now.
fn enter_namespaces(closed: &mut Vec<ClosedRoute>, open: &mut Vec<OpenRoute>) {
    if rustix::process::getpid().is_init() {
        closed.push(ClosedRoute::LeftProcesses);
        if proc_mount::mount().is_err() {
            open.push(OpenRoute::ProcessList);
        }
    }
    // Also for other users than root: a part of the tree of cgroups may be theirs.
    match kernel_controls::make_read_only(&host_tables::HostTables::read().mounts) {
        Ok(()) => closed.push(ClosedRoute::KernelControls),
        Err(_) => open.push(OpenRoute::KernelControls),
    }
}

/// Waits until the command ends, passes signals on to it, and reaps every other process that ends meanwhile.
fn wait(signals: &SignalReceiver, command: Pid) -> io::Result<WaitStatus> {
    loop {
        // A child that ended before the signals were received is reaped by the first round, too.
        while let Some((ended, status)) =
            rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::NOHANG))?
        {
            if ended == command {
                return Ok(status);
            }
        }
        if let ReceivedSignal::Forward(signal) = signals.next()? {
            let _ = rustix::process::kill_process(command, signal);
        }
    }
}

/// Opens the null device as standard input, output and error of this process.
pub(super) fn release_standard_streams() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
