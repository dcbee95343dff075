//! Dropping of all capabilities that the new user namespace granted, for good.
//!
//! With one of them the command could unmount the masks. For a command that runs as root this matters most: it would get all of
//! them back on execution, if the bounding set were not empty.

use rustix::thread::{self, CapabilitySet, CapabilitySets};
use std::io;

/// Empties the bounding, ambient, effective, permitted and inheritable sets, and sets `no_new_privs`.
pub(super) fn drop_all() -> io::Result<()> {
    // Beyond the last capability that it knows, the kernel returns EINVAL.
    for capability in (0..64).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        match thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    // A kernel before 4.3 has no ambient set.
    match thread::clear_ambient_capability_set() {
        Ok(()) | Err(rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    let none = CapabilitySet::empty();
    thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    thread::set_no_new_privs(true)?;
    Ok(())
}
