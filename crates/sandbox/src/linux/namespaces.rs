//! New user, network, mount and System V IPC namespaces. The child keeps its user and group ids.

use super::inner::{During, Failure};
use crate::enforcement::{Closed, Open};
use crate::plan::Step;
use nix::sched::{CloneFlags, unshare};

pub(super) fn enter(closed: &mut Vec<Closed>, open: &mut Vec<Open>) -> Result<(), Failure> {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    // One call: the network namespace then belongs to the new user namespace.
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)
        .during(Step::Namespaces, "unshare user, network and mount namespaces")?;
    // `deny` is what lets an unprivileged process write its group map.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
    write("/proc/self/gid_map", &format!("{gid} {gid} 1"))?;
    closed.extend([Closed::Network, Closed::AbstractSockets]);
    // A kernel may be built without these; the network does not depend on them.
    match unshare(CloneFlags::CLONE_NEWIPC) {
        Ok(()) => closed.push(Closed::Ipc),
        Err(_) => open.push(Open::Ipc),
    }
    if uid == 0 {
        open.push(Open::Root);
    }
    Ok(())
}

fn write(path: &str, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).during(Step::Maps, &format!("write {path}"))
}
