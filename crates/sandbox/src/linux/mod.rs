//! Linux: the trampoline with one module for each of its steps, and the host's side of the channel to it.
//!
//! ```text
//! host ── channel ── trampoline ── control ── init (PID 1 inside) ── command
//! ```
//!
//! The trampoline enters the namespaces and stays outside of the one for processes, as the child that the host knows: it
//! forwards signals and ends as the command did. `init` is the first process inside, and the command's parent; when it
//! ends, the kernel kills every process that is left inside.
//!
//! Where the kernel refuses namespaces, the same processes stand in those of the host, and `landlock` takes their place.
//!
//! Start reading at `trampoline`, then at `init`: each lists its steps in order.

pub(crate) mod advice;
pub(crate) mod channel;
pub(crate) mod host;
pub(crate) mod trampoline;

mod capabilities;
mod descendants;
mod descriptors;
mod environment;
mod host_tables;
mod init;
mod kernel_controls;
mod landlock;
mod loopback;
mod masks;
mod namespaces;
mod proc_mount;
mod seccomp;
mod signals;
