//! Host's side of the channel: prepares the trampoline, receives the listener, and lets the command start.

use super::channel::{RequestedIsolation, SetupRequest, TrampolineChannel, TrampolineMessage};
use crate::command::{ReadySandbox, SandboxCommand, SandboxError, TrampolineHandshake};
use crate::report::{Isolation, SandboxReport};
use crate::trampoline::TRAMPOLINE_ARGUMENT;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Creates the channel and the command that runs the trampoline.
pub(crate) fn prepare(plan: SandboxCommand) -> Result<(Command, TrampolineHandshake), SandboxError> {
    let (channel, theirs) = TrampolineChannel::pair().map_err(SandboxError::Spawn)?;
    channel.set_receive_timeout().map_err(SandboxError::Spawn)?;
    // Not `current_exe`: this is the same program even if the file was replaced meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("reenact-sandbox")
        .arg(TRAMPOLINE_ARGUMENT)
        .arg(&plan.program)
        .args(&plan.args)
        .stdin(Stdio::from(theirs));
    if let Some(env) = plan.env {
        command.env_clear().envs(env);
    }
    if let Some(directory) = &plan.directory {
        command.current_dir(directory);
    }
    let isolation = match &plan.outside_listener {
        None => RequestedIsolation::Namespaces { listen_port: plan.listen_port },
        Some(listener) => RequestedIsolation::Landlock {
            gateway_port: listener.local_addr().map_err(SandboxError::Spawn)?.port(),
        },
    };
    let (listener, stdin, program) = (plan.outside_listener, plan.stdin, plan.program);
    let request = SetupRequest { isolation, listener, stdin, program };
    Ok((command, TrampolineHandshake { channel, request }))
}

/// Sends the request, and receives the listener and the report.
pub(crate) fn wait(handshake: TrampolineHandshake) -> Result<ReadySandbox, SandboxError> {
    let TrampolineHandshake { mut channel, request } = handshake;
    let own = rustix::stdio::stdin();
    let stdin = request.stdin.as_ref().map_or(own, |fd| fd.as_fd());
    // If the trampoline is already gone, `receive` returns the better error.
    let _ = channel.send(&request.isolation.to_bytes(), Some(stdin));
    let (body, fd) = channel.receive().map_err(channel_error)?;
    let isolation = match request.isolation {
        RequestedIsolation::Namespaces { .. } => Isolation::Netns,
        RequestedIsolation::Landlock { .. } => Isolation::Landlock,
    };
    match (TrampolineMessage::from_bytes(&body), fd.map(TcpListener::from).or(request.listener)) {
        (Some(TrampolineMessage::Ready { closed, open }), Some(listener)) => {
            let report = SandboxReport { isolation, closed, open, reason: None };
            Ok(ReadySandbox { listener, report, channel, program: request.program })
        }
        (Some(TrampolineMessage::Failed { step, errno, detail }), _) => {
            Err(SandboxError::Refused { step, errno, detail })
        }
        _ => Err(SandboxError::Lost("it said something else".into())),
    }
}

/// Sends the word to start, and waits until the command is executed.
pub(crate) fn start(mut ready: ReadySandbox) -> Result<ReadySandbox, SandboxError> {
    ready.channel.send(b"go", None).map_err(channel_error)?;
    match ready.channel.receive() {
        // The trampoline's end is closed on execution: EOF is success.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(ready),
        Err(error) => Err(channel_error(error)),
        Ok((body, _)) => match TrampolineMessage::from_bytes(&body) {
            Some(TrampolineMessage::NotExecuted { exit_code, reason }) => {
                Err(SandboxError::Exec { program: ready.program, reason, exit_code })
            }
            _ => Err(SandboxError::Lost("it said something else".into())),
        },
    }
}

/// Turns an error of the channel into a [`SandboxError`].
fn channel_error(error: io::Error) -> SandboxError {
    SandboxError::Lost(match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ended before the sandbox stood".into(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it did not answer in time".into(),
        _ => error.to_string(),
    })
}
