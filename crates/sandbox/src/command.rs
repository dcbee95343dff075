//! Command to run in a sandbox, and the steps up to the running child.
//!
//! [`SandboxCommand::spawn`] does all of them. A caller that wants to look at the report before the command starts, or that
//! spawns with another runtime, takes the steps itself: [`SandboxCommand::prepare`], spawn the command and drop it,
//! [`TrampolineHandshake::wait`], [`ReadySandbox::start`].

use crate::report::SandboxReport;
use std::ffi::OsString;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command};

/// Command to run in a sandbox, like [`std::process::Command`]. Standard output and error are the caller's own; standard input
/// too, unless given here.
#[derive(Debug)]
#[non_exhaustive]
pub struct SandboxCommand {
    /// Program, searched along `PATH`.
    pub program: OsString,
    /// Arguments of the program.
    pub args: Vec<OsString>,
    /// Whole environment of the program; `None` for the caller's own. Variables that name agent sockets are removed from it.
    pub env: Option<Vec<(OsString, OsString)>>,
    /// Working directory; `None` for the caller's own.
    pub directory: Option<PathBuf>,
    /// TCP port on 127.0.0.1 inside of the sandbox; 0 lets the kernel choose. Not used with `outside_listener`.
    pub listen_port: u16,
    /// Listener of the host, for a kernel that gives no namespaces: the command is put behind Landlock, and can connect to its
    /// port and to no other. `None` for namespaces.
    pub outside_listener: Option<TcpListener>,
    /// Standard input of the program; `None` for the caller's own.
    #[cfg(unix)]
    pub stdin: Option<std::os::fd::OwnedFd>,
}

/// Running child of [`SandboxCommand::spawn`], and the report of its sandbox.
#[derive(Debug)]
pub struct SandboxedChild {
    /// Process that stands for the command outside: it passes signals on to the command and ends as the command ends, by the
    /// same exit code or signal. If it is killed, every process inside is.
    pub child: Child,
    /// Listener on 127.0.0.1 *inside* of the sandbox, to which only the child and its descendants can connect; behind Landlock the
    /// host's own.
    pub listener: TcpListener,
    /// Ways out that are closed and those that stayed open.
    pub report: SandboxReport,
}

/// Host's end of the channel to a trampoline that was just spawned.
#[derive(Debug)]
pub struct TrampolineHandshake {
    #[cfg(target_os = "linux")]
    pub(crate) channel: crate::linux::channel::TrampolineChannel,
    #[cfg(target_os = "linux")]
    pub(crate) request: crate::linux::channel::SetupRequest,
}

/// Sandbox that is complete, with a command that has not started. If this is dropped, the command never starts: the trampoline
/// exits with 125.
#[derive(Debug)]
pub struct ReadySandbox {
    /// Listener on 127.0.0.1 *inside* of the sandbox, to which only the child and its descendants can connect; behind Landlock the
    /// host's own.
    pub listener: TcpListener,
    /// Ways out that are closed and those that stayed open.
    pub report: SandboxReport,
    #[cfg(target_os = "linux")]
    pub(crate) channel: crate::linux::channel::TrampolineChannel,
    #[cfg(target_os = "linux")]
    pub(crate) program: OsString,
}

/// Step of the trampoline, named in the error if the kernel refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SetupStep {
    /// Reading the request of the host.
    Request,
    /// Entering new user, network and mount namespaces.
    Namespaces,
    /// Writing the user and group maps.
    Maps,
    /// Bringing up the loopback interface.
    Loopback,
    /// Binding the port inside of the sandbox.
    Listen,
    /// Mounting the masks over directories and sockets.
    Masks,
    /// Changing back to the working directory, which may lie under a mask.
    Directory,
    /// Starting the first process inside, which is the command's parent.
    Processes,
    /// Closing inherited descriptors.
    Descriptors,
    /// Dropping all capabilities.
    Privileges,
    /// Restricting TCP by Landlock, where there are no namespaces.
    Landlock,
    /// Installing the seccomp filters.
    Filter,
    /// Sending the report to the host.
    Report,
}

impl SetupStep {
    /// All steps, in the order of the trampoline.
    pub const ALL: [Self; 13] = [
        Self::Request,
        Self::Namespaces,
        Self::Maps,
        Self::Loopback,
        Self::Listen,
        Self::Masks,
        Self::Directory,
        Self::Processes,
        Self::Descriptors,
        Self::Privileges,
        Self::Landlock,
        Self::Filter,
        Self::Report,
    ];

    /// Returns the stable name for records.
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
            Self::Processes => "processes",
            Self::Descriptors => "descriptors",
            Self::Privileges => "privileges",
            Self::Landlock => "landlock",
            Self::Filter => "filter",
            Self::Report => "report",
        }
    }
}

impl std::fmt::Display for SetupStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

/// Reason why there is no sandboxed child.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// There is no sandbox for this operating system.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The trampoline could not be spawned, or the socket to it could not be made.
    #[error("cannot start the sandbox: {0}")]
    Spawn(#[source] std::io::Error),
    /// The kernel refused a step.
    #[error("the sandbox was refused at step {step}: {detail}")]
    Refused {
        /// Step that failed.
        step: SetupStep,
        /// Error number of the kernel (errno), if there was one.
        errno: Option<i32>,
        /// Action that failed, and the message of the kernel.
        detail: String,
    },
    /// The trampoline ended, or sent a message that is not of the protocol. Does the host's `main` call
    /// [`crate::trampoline::run_if_trampoline`]?
    #[error("the sandbox's trampoline went away: {0}")]
    Lost(String),
    /// The sandbox was complete, but the command could not be executed: 127 if it was not found, 126 if it is not executable.
    #[error("cannot run {program:?}: {reason}")]
    Exec {
        /// Program that could not be executed.
        program: OsString,
        /// Message of the kernel.
        reason: String,
        /// Exit code of the trampoline, as of env(1).
        exit_code: i32,
    },
}

impl SandboxCommand {
    /// Creates a command with the caller's environment, working directory and standard streams.
    #[must_use]
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: None,
            directory: None,
            listen_port: 0,
            outside_listener: None,
            #[cfg(unix)]
            stdin: None,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the port on 127.0.0.1 inside of the sandbox. It is free there, whatever runs outside.
    #[must_use]
    pub fn listen_port(mut self, port: u16) -> Self {
        self.listen_port = port;
        self
    }

    /// Puts the command behind Landlock instead of into namespaces, with this listener of the host as the only port.
    #[must_use]
    pub fn behind_landlock(mut self, listener: TcpListener) -> Self {
        self.outside_listener = Some(listener);
        self
    }

    /// Returns the command that runs the trampoline, and the host's end of the channel to it. Standard output and error may still
    /// be set on the command; standard input is the channel and must be left alone. **Drop the command once it is spawned**: while
    /// it lives, it holds the child's end of the channel open, and the death of the trampoline is noticed only by the timeout.
    ///
    /// # Errors
    /// [`SandboxError::Unsupported`] on other systems than Linux; [`SandboxError::Spawn`] if no socket could be made.
    pub fn prepare(self) -> Result<(Command, TrampolineHandshake), SandboxError> {
        #[cfg(target_os = "linux")]
        return crate::linux::host::prepare(self);
        #[cfg(not(target_os = "linux"))]
        return Err(SandboxError::Unsupported(crate::probe::NOT_LINUX));
    }

    /// Takes all steps: the child is running when this returns. Blocks for some milliseconds.
    ///
    /// # Errors
    /// Any [`SandboxError`]; no process is left behind.
    pub fn spawn(self) -> Result<SandboxedChild, SandboxError> {
        let (mut command, handshake) = self.prepare()?;
        let mut child = command.spawn().map_err(SandboxError::Spawn)?;
        drop(command);
        let started = handshake.wait().and_then(|ready| {
            let ReadySandbox { listener, report, .. } = ready.start()?;
            Ok((listener, report))
        });
        match started {
            Ok((listener, report)) => Ok(SandboxedChild { child, listener, report }),
            Err(error) => {
                // The trampoline exits by itself, unless it hangs; either way it must not stay as a zombie.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }
}

impl TrampolineHandshake {
    /// Waits until the sandbox is complete. The command has not started yet.
    ///
    /// # Errors
    /// [`SandboxError::Refused`] with the step that failed, or [`SandboxError::Lost`].
    pub fn wait(self) -> Result<ReadySandbox, SandboxError> {
        #[cfg(target_os = "linux")]
        return crate::linux::host::wait(self);
        #[cfg(not(target_os = "linux"))]
        return Err(SandboxError::Unsupported(crate::probe::NOT_LINUX));
    }
}

impl ReadySandbox {
    /// Lets the command start, and waits until it has. Returns the same value, for its listener and report.
    ///
    /// # Errors
    /// [`SandboxError::Exec`] if the command could not be executed; [`SandboxError::Lost`] if the trampoline is gone.
    pub fn start(self) -> Result<Self, SandboxError> {
        #[cfg(target_os = "linux")]
        return crate::linux::host::start(self);
        #[cfg(not(target_os = "linux"))]
        return Ok(self);
    }
}
