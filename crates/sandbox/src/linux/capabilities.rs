//! Capabilities that the new user namespace granted: two are passed on to the first process inside, and all are dropped for good.
//!
//! With one of them the command could unmount the masks. For a command that runs as root this matters most: it would get all of
//! them back on execution, if the bounding set were not empty.

use rustix::thread::{self, CapabilitySet, CapabilitySets};
use std::io;

/// Lets the next program that is executed have the two capabilities that [`super::init`] needs: one to mount, one to drop
/// all. A user other than root would lose them on execution.
pub(super) fn keep_for_init() -> io::Result<()> {
    let kept = CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP;
    let held = thread::capabilities(None)?;
    thread::set_capabilities(None, CapabilitySets { inheritable: held.inheritable | kept, ..held })?;
    for capability in [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP] {
        thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Gives up all rights as [`drop_all`] does, in the user namespace of the host: a user without rights cannot empty the bounding
/// set, and needs not to, since none can be gained from it.
pub(super) fn drop_in_host_namespace() -> io::Result<()> {
    thread::set_no_new_privs(true)?;
    if thread::capabilities(None)?.effective.contains(CapabilitySet::SETPCAP) {
        return drop_all();
    }
    let none = CapabilitySet::empty();
    thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

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
