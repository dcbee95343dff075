//! Entering of new user, network, mount, System V IPC and process namespaces. The child keeps its user and group ids.

use super::trampoline::{SetupContext, SetupFailure};
use crate::command::SetupStep;
use crate::report::{ClosedRoute, OpenRoute};
use nix::sched::{CloneFlags, unshare};

/// Enters the namespaces, maps the user and the group to themselves, and adds each way out to `closed` or `open`.
pub(super) fn enter(closed: &mut Vec<ClosedRoute>, open: &mut Vec<OpenRoute>) -> Result<(), SetupFailure> {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    // In one call, so that the network namespace belongs to the new user namespace.
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)
        .at_step(SetupStep::Namespaces, "unshare user, network and mount namespaces")?;
    // An unprivileged process may write its group map only after `deny`.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
    write("/proc/self/gid_map", &format!("{gid} {gid} 1"))?;
    closed.extend([ClosedRoute::Network, ClosedRoute::AbstractSockets]);
    // A kernel may be built without IPC namespaces; the network does not depend on them.
    match unshare(CloneFlags::CLONE_NEWIPC) {
        Ok(()) => closed.push(ClosedRoute::Ipc),
        Err(_) => open.push(OpenRoute::Ipc),
    }
    // This process stays outside of it; its first child is in it, and reports it as closed.
    if unshare(CloneFlags::CLONE_NEWPID).is_err() {
        open.push(OpenRoute::LeftProcesses);
    }
    if uid == 0 {
        open.push(OpenRoute::Root);
    }
    Ok(())
}

fn write(path: &str, text: &str) -> Result<(), SetupFailure> {
    std::fs::write(path, text).at_step(SetupStep::Maps, &format!("write {path}"))
}
