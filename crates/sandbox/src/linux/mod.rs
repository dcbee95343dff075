//! Linux: the trampoline with one module for each of its steps, and the host's side of the channel to it.
//!
//! Start reading at `trampoline`, whose `build_sandbox` lists the steps in order.

pub(crate) mod advice;
pub(crate) mod channel;
pub(crate) mod host;
pub(crate) mod trampoline;

mod capabilities;
mod descriptors;
mod environment;
mod host_tables;
mod loopback;
mod masks;
mod namespaces;
mod seccomp;
