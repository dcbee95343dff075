//! Run a child that cannot reach out: the kernel says no, and the caller can say exactly what was closed.
//!
//! The host program re-executes itself as a small single-threaded *trampoline*, which enters new namespaces, hands a
//! listening socket from inside back to the host, closes every other way out that it knows, and becomes the command.
//! No root is needed, and nothing here is unsafe code.
//!
//! ```no_run
//! // First thing in the host's `main`:
//! reenact_sandbox::trampoline::main_if_asked();
//! let plan = reenact_sandbox::Plan::new("python3").arg("agent.py");
//! let mut inside = plan.spawn()?;
//! println!("{}", inside.enforcement);
//! // The child sees 127.0.0.1:PORT; the host serves it through `inside.listener`.
//! let status = inside.child.wait()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`plan`] | what to run, and the steps from a plan to a running child |
//! | [`enforcement`] | what was closed and what stayed open, as data |
//! | [`mod@probe`] | what this machine allows, why not, and what to do |
//! | [`trampoline`] | the inner program, for the host's `main` |

pub mod enforcement;
pub mod plan;
pub mod probe;
pub mod trampoline;

#[cfg(target_os = "linux")]
mod linux;

pub use enforcement::{Closed, Enforcement, Open, Rung};
pub use plan::{Handshake, Inside, Plan, Ready, SandboxError, Step};
pub use probe::{Probe, probe};
