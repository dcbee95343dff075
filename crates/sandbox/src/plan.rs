//! What to run, and the steps from a plan to a running child.
//!
//! [`Plan::spawn`] does all of them. A caller that wants to look at the enforcement before the command starts, or that
//! spawns with another runtime, takes the steps itself: [`Plan::prepare`], spawn the command and drop it,
//! [`Handshake::wait`], [`Ready::start`].

use crate::enforcement::Enforcement;
use std::ffi::OsString;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command};

/// A command to run inside. Standard output and error are the caller's own; standard input too, unless given here.
#[derive(Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The command, found along `PATH` like any other.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment, or nothing for the caller's own. Variables that name agent sockets are dropped from it.
    pub env: Option<Vec<(OsString, OsString)>>,
    /// Where it starts, or nothing for where the caller is.
    pub directory: Option<PathBuf>,
    /// The port on 127.0.0.1 inside; 0 lets the kernel choose.
    pub listen_port: u16,
    /// Its standard input, or nothing for the caller's own.
    #[cfg(unix)]
    pub stdin: Option<std::os::fd::OwnedFd>,
}

/// A running child, and what holds for it.
#[derive(Debug)]
pub struct Inside {
    /// The command itself: the trampoline has become it, under the same process id.
    pub child: Child,
    /// Listens on 127.0.0.1 *inside*; connections to it come from the child alone.
    pub listener: TcpListener,
    /// What was closed and what stayed open.
    pub enforcement: Enforcement,
}

/// The host's end of the talk with a trampoline that was just spawned.
#[derive(Debug)]
pub struct Handshake {
    #[cfg(target_os = "linux")]
    pub(crate) channel: crate::linux::channel::Channel,
    #[cfg(target_os = "linux")]
    pub(crate) request: crate::linux::channel::Request,
}

/// The sandbox stands and the command has not started. Dropped, it never starts: the trampoline leaves with 125.
#[derive(Debug)]
pub struct Ready {
    /// Listens on 127.0.0.1 *inside*; connections to it come from the child alone.
    pub listener: TcpListener,
    /// What was closed and what stayed open.
    pub enforcement: Enforcement,
    #[cfg(target_os = "linux")]
    pub(crate) channel: crate::linux::channel::Channel,
    #[cfg(target_os = "linux")]
    pub(crate) program: OsString,
}

/// What the trampoline was doing when the kernel refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Step {
    /// Reading what the host asked for.
    Request,
    /// New user, network and mount namespaces.
    Namespaces,
    /// The user and group maps.
    Maps,
    /// Raising the loopback interface.
    Loopback,
    /// Binding the port inside.
    Listen,
    /// Masking directories.
    Masks,
    /// Going back to the working directory, which may lie under a mask.
    Directory,
    /// Closing descriptors.
    Descriptors,
    /// Giving up capabilities.
    Privileges,
    /// Installing the seccomp filters.
    Filter,
    /// Telling the host.
    Report,
}

impl Step {
    /// All steps, in order.
    pub const ALL: [Self; 11] = [
        Self::Request,
        Self::Namespaces,
        Self::Maps,
        Self::Loopback,
        Self::Listen,
        Self::Masks,
        Self::Directory,
        Self::Descriptors,
        Self::Privileges,
        Self::Filter,
        Self::Report,
    ];

    /// The stable name for records.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Namespaces => "namespaces",
            Self::Maps => "maps",
            Self::Loopback => "loopback",
            Self::Listen => "listen",
            Self::Masks => "masks",
            Self::Directory => "directory",
            Self::Descriptors => "descriptors",
            Self::Privileges => "privileges",
            Self::Filter => "filter",
            Self::Report => "report",
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

/// Why there is no sandboxed child.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// This operating system has no rung yet.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The trampoline could not be spawned, or the socket to it could not be made.
    #[error("cannot start the sandbox: {0}")]
    Spawn(#[source] std::io::Error),
    /// The kernel refused a step.
    #[error("the sandbox was refused at step {step}: {detail}")]
    Refused {
        /// Which step.
        step: Step,
        /// The kernel's error number, where there was one.
        errno: Option<i32>,
        /// What was being done, and the kernel's own words.
        detail: String,
    },
    /// The trampoline ended, or said something that it never says. Does the host's `main` call
    /// [`crate::trampoline::main_if_asked`]?
    #[error("the sandbox's trampoline went away: {0}")]
    Lost(String),
    /// The sandbox stood, and the command could not be executed: 127 not found, 126 found and not executable.
    #[error("cannot run {program:?}: {reason}")]
    Exec {
        /// The command.
        program: OsString,
        /// The kernel's words.
        reason: String,
        /// What the trampoline left with, as env(1) does.
        exit_code: i32,
    },
}

impl Plan {
    /// Run this program, with the caller's environment, directory and standard streams.
    #[must_use]
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: None,
            directory: None,
            listen_port: 0,
            #[cfg(unix)]
            stdin: None,
        }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// This port on 127.0.0.1 inside. It is free there, whatever runs outside.
    #[must_use]
    pub fn listen_port(mut self, port: u16) -> Self {
        self.listen_port = port;
        self
    }

    /// The command that runs the trampoline, and the host's end of the talk with it. Standard output and error may still
    /// be set on the command; standard input carries the talk and must be left alone. **Drop the command once it is
    /// spawned**: while it lives, it holds the child's end open, and a trampoline that died is noticed only by the time-out.
    ///
    /// # Errors
    /// [`SandboxError::Unsupported`] where there is no rung; [`SandboxError::Spawn`] when no socket could be made.
    pub fn prepare(self) -> Result<(Command, Handshake), SandboxError> {
        #[cfg(target_os = "linux")]
        return crate::linux::host::prepare(self);
        #[cfg(not(target_os = "linux"))]
        return Err(SandboxError::Unsupported(crate::probe::NOT_LINUX));
    }

    /// Every step: the child is running when this returns. Blocks for some milliseconds.
    ///
    /// # Errors
    /// Any of [`SandboxError`]; no process is left behind.
    pub fn spawn(self) -> Result<Inside, SandboxError> {
        let (mut command, handshake) = self.prepare()?;
        let mut child = command.spawn().map_err(SandboxError::Spawn)?;
        drop(command);
        let started = handshake.wait().and_then(|ready| {
            let Ready { listener, enforcement, .. } = ready.start()?;
            Ok((listener, enforcement))
        });
        match started {
            Ok((listener, enforcement)) => Ok(Inside { child, listener, enforcement }),
            Err(error) => {
                // It is leaving by itself, unless it hangs; either way it must not stay as a zombie.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }
}

impl Handshake {
    /// Wait until the sandbox stands. The command has not started yet.
    ///
    /// # Errors
    /// [`SandboxError::Refused`] with the step that failed, or [`SandboxError::Lost`].
    pub fn wait(self) -> Result<Ready, SandboxError> {
        #[cfg(target_os = "linux")]
        return crate::linux::host::wait(self);
        #[cfg(not(target_os = "linux"))]
        return Err(SandboxError::Unsupported(crate::probe::NOT_LINUX));
    }
}

impl Ready {
    /// Let the trampoline become the command, and wait until it has.
    ///
    /// # Errors
    /// [`SandboxError::Exec`] when the command could not be executed.
    pub fn start(self) -> Result<Self, SandboxError> {
        #[cfg(target_os = "linux")]
        return crate::linux::host::start(self);
        #[cfg(not(target_os = "linux"))]
        return Ok(self);
    }
}
