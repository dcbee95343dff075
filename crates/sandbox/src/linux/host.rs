//! The host's side: spawn the trampoline, receive the listener, give the word to start.

use super::channel::{Channel, Request, Word};
use crate::enforcement::{Enforcement, Rung};
use crate::plan::{Handshake, Plan, Ready, SandboxError};
use crate::trampoline::MARK;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

pub(crate) fn prepare(plan: Plan) -> Result<(Command, Handshake), SandboxError> {
    let (channel, theirs) = Channel::pair().map_err(SandboxError::Spawn)?;
    channel.be_impatient().map_err(SandboxError::Spawn)?;
    // Not `current_exe`: this stays the same program when the file was replaced meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("reenact-sandbox").arg(MARK).arg(&plan.program).args(&plan.args).stdin(Stdio::from(theirs));
    if let Some(env) = plan.env {
        command.env_clear().envs(env);
    }
    if let Some(directory) = &plan.directory {
        command.current_dir(directory);
    }
    let request = Request { port: plan.listen_port, stdin: plan.stdin, program: plan.program };
    Ok((command, Handshake { channel, request }))
}

pub(crate) fn wait(handshake: Handshake) -> Result<Ready, SandboxError> {
    let Handshake { mut channel, request } = handshake;
    let own = rustix::stdio::stdin();
    let stdin = request.stdin.as_ref().map_or(own, |fd| fd.as_fd());
    // A trampoline that is already gone shows in `receive`, with better words.
    let _ = channel.send(&request.port.to_le_bytes(), Some(stdin));
    let (body, fd) = channel.receive().map_err(lost)?;
    match (Word::from_bytes(&body), fd) {
        (Some(Word::Standing { closed, open }), Some(fd)) => {
            let enforcement = Enforcement { rung: Rung::Netns, closed, open, why: None };
            let program = request.program;
            Ok(Ready { listener: TcpListener::from(fd), enforcement, channel, program })
        }
        (Some(Word::Failed { step, errno, detail }), _) => Err(SandboxError::Refused { step, errno, detail }),
        _ => Err(SandboxError::Lost("it said something else".into())),
    }
}

pub(crate) fn start(mut ready: Ready) -> Result<Ready, SandboxError> {
    ready.channel.send(b"go", None).map_err(lost)?;
    match ready.channel.receive() {
        // Its end is closed on execution: silence is success.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(ready),
        Err(error) => Err(lost(error)),
        Ok((body, _)) => match Word::from_bytes(&body) {
            Some(Word::NotExecuted { exit_code, reason }) => {
                Err(SandboxError::Exec { program: ready.program, reason, exit_code })
            }
            _ => Err(SandboxError::Lost("it said something else".into())),
        },
    }
}

fn lost(error: io::Error) -> SandboxError {
    SandboxError::Lost(match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ended before the sandbox stood".into(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it did not answer in time".into(),
        _ => error.to_string(),
    })
}
