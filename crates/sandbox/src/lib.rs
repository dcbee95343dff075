//! Runs a child process without network access: the kernel enforces it, and a report lists exactly which ways are closed.
//!
//! The host program executes itself again as a small single-threaded *trampoline*, which enters new namespaces, sends a
//! listening socket from inside back to the host, closes every other way out that it knows, and starts the command under
//! a first process inside. The child can then reach the host through that socket only, and no process of it outlives it. No
//! root is needed, and there is no unsafe code.
//!
//! ```no_run
//! // First call in the host's `main`:
//! reenact_sandbox::trampoline::run_if_trampoline();
//! let command = reenact_sandbox::SandboxCommand::new("python3").arg("agent.py");
//! let mut sandboxed = command.spawn()?;
//! println!("{}", sandboxed.report);
//! // The child sees 127.0.0.1:PORT; the host serves it through `sandboxed.listener`.
//! let status = sandboxed.child.wait()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`command`] | the command to run, and the steps up to a running child |
//! | [`report`] | the ways out that are closed and those that stayed open, as data |
//! | [`mod@probe`] | a trial run: what this machine allows, and advice if it does not |
//! | [`trampoline`] | the hook for the host's `main` |
//! | `linux` | the trampoline itself, one module for each step |
//!
//! Start reading at [`SandboxCommand::spawn`], then at `linux/trampoline.rs`.

pub mod command;
pub mod probe;
pub mod report;
pub mod trampoline;

#[cfg(target_os = "linux")]
mod linux;

pub use command::{
    ReadySandbox, SandboxCommand, SandboxError, SandboxedChild, SetupStep, TrampolineHandshake,
};
pub use probe::{SandboxProbe, probe};
pub use report::{ClosedRoute, Isolation, OpenRoute, SandboxReport};
