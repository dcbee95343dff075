//! Linux: the trampoline, step by step, and the host's side of the talk with it.

pub(crate) mod advice;
pub(crate) mod channel;
pub(crate) mod host;
pub(crate) mod inner;

mod descriptors;
mod environment;
mod filter;
mod loopback;
mod masks;
mod namespaces;
mod privileges;
mod tables;
