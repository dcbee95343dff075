//! Gives up every capability that the new user namespace lent, for good.
//!
//! With one of them the command could take the masks off again. For a command that runs as root this matters most: it would
//! get them all back on execution, if the bounding set were not empty.

use rustix::thread::{self, CapabilitySet, CapabilitySets};
use std::io;

pub(super) fn give_up() -> io::Result<()> {
    // Beyond the last capability that the kernel knows it says EINVAL.
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
