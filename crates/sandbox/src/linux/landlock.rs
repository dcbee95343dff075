//! Landlock, for a kernel that gives no namespaces: TCP to one port, and no listening.
//!
//! It restricts this process and all that it starts, for good. It knows ports and no addresses, so that the gateway's port
//! stays open on every host; what it does not know (datagrams, Unix sockets) the seccomp filter refuses.

use crate::report::{ClosedRoute, OpenRoute};
use landlock::{
    ABI, Access, AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope,
};
use std::io;

/// Restricts this process to connections to `port`, and adds each way out to `closed` or `open`.
///
/// # Errors
/// If the kernel has no Landlock, or one before its fourth version, which knows no ports.
pub(super) fn restrict_to_port(
    port: u16,
    closed: &mut Vec<ClosedRoute>,
    open: &mut Vec<OpenRoute>,
) -> io::Result<()> {
    // Signals are known since the sixth version.
    match restrict(port, true) {
        Ok(()) => closed.push(ClosedRoute::Signals),
        Err(_) => {
            restrict(port, false).map_err(|error| io::Error::other(error.to_string()))?;
            open.push(OpenRoute::Signals);
        }
    }
    closed.push(ClosedRoute::TcpPorts);
    open.push(OpenRoute::Port(port.to_string().into()));
    Ok(())
}

/// Restricts the signals of this process to those that it starts, where the kernel has namespaces, too: a process group reaches
/// over the border of a process namespace.
///
/// # Errors
/// If the kernel has no Landlock, or one before its sixth version.
pub(super) fn restrict_signals() -> io::Result<()> {
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal);
    let restricted = rules.and_then(|rules| rules.create()).and_then(|rules| rules.restrict_self());
    restricted.map(drop).map_err(|error| io::Error::other(error.to_string()))
}

/// Restricts this process, with its signals or without.
fn restrict(port: u16, with_signals: bool) -> Result<(), RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::from_all(ABI::V4))?;
    if with_signals {
        rules = rules.scope(Scope::from_all(ABI::V6))?;
    }
    rules.create()?.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?.restrict_self()?;
    Ok(())
}
