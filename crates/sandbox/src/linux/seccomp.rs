//! Seccomp filters, for the system calls that the namespaces do not cover.
//!
//! Left alone on purpose: `ptrace` and `process_vm_*` (programs debug their own children; the user namespace already
//! refuses processes outside) and `unshare` (browsers use it; a nested namespace gains nothing that was lost here).

use super::trampoline::{SetupContext, SetupFailure};
use crate::command::SetupStep;
use crate::report::ClosedRoute;
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;
use std::io;

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Socket families that a program may use. Within the network namespace they lead nowhere but to its own loopback.
const ALLOWED_FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// System calls that are refused with EPERM, whatever their arguments.
const REFUSED_CALLS: [i64; 10] = [
    // Sockets made through io_uring never pass a filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // `request_key` makes the kernel start /sbin/request-key outside, and that resolves names (dns_resolver).
    libc::SYS_request_key,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_setns,
    libc::SYS_pidfd_getfd,
];

/// System calls that are refused in the host's namespaces: a socket listens without being bound, which Landlock does not see.
const REFUSED_IN_HOST_NAMESPACES: [i64; 3] = [libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4];

/// ioctl that pushes a byte into the input of a terminal (`asm-generic/ioctls.h`).
const TIOCSTI: u64 = 0x5412;
/// ioctl that pastes on the console.
const TIOCLINUX: u64 = 0x541C;

/// Bit that the x32 ABI sets in call numbers. It reports itself as x86-64, so that without rules of its own it would bypass the
/// filter.
#[cfg(target_arch = "x86_64")]
const X32_CALL_BIT: i64 = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const X32_IOCTL: i64 = X32_CALL_BIT | 514;
#[cfg(target_arch = "x86_64")]
const X32_SENDMSG: i64 = X32_CALL_BIT | 518;
#[cfg(target_arch = "x86_64")]
const X32_SENDMMSG: i64 = X32_CALL_BIT | 538;

/// Sockets that a program may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketRules {
    /// Those of [`ALLOWED_FAMILIES`]: the namespace leads nowhere.
    OfNamespace,
    /// TCP, whose ports Landlock restricts; pairs of Unix sockets; and netlink for the list of interfaces. In the host's namespaces
    /// every other socket is a way out.
    OnlyTcp,
}

/// Compiles and installs the filters, and adds to `closed` the ways that they close.
pub(super) fn install(sockets: SocketRules, closed: &mut Vec<ClosedRoute>) -> Result<(), SetupFailure> {
    let programs =
        programs(sockets).map_err(io::Error::other).at_step(SetupStep::Filter, "compile the filter")?;
    for program in &programs {
        seccompiler::apply_filter(program)
            .map_err(|error| match error {
                seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
                other => io::Error::other(other.to_string()),
            })
            .at_step(SetupStep::Filter, "install the filter")?;
    }
    closed.extend([
        ClosedRoute::SocketFamilies,
        ClosedRoute::IoUring,
        ClosedRoute::Keyrings,
        ClosedRoute::Calls,
        ClosedRoute::TerminalInput,
    ]);
    if sockets == SocketRules::OnlyTcp {
        closed.extend([ClosedRoute::Datagrams, ClosedRoute::UnixSockets]);
    }
    Ok(())
}

/// Compiles two programs, since each has one error number for all refusals. A call of a foreign architecture (32-bit) kills the
/// process.
fn programs(sockets: SocketRules) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let compile = |rules: SeccompRules, errno: i32| -> Result<BpfProgram, seccompiler::BackendError> {
        let refuse = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
    };
    Ok([compile(sockets.rules()?, libc::EAFNOSUPPORT)?, compile(call_rules(sockets)?, libc::EPERM)?])
}

impl SocketRules {
    /// Returns the rules that refuse every other socket.
    fn rules(self) -> Result<SeccompRules, seccompiler::BackendError> {
        match self {
            Self::OfNamespace => namespace_socket_rules(),
            Self::OnlyTcp => only_tcp_rules(),
        }
    }
}

/// Returns the rules that refuse all socket families but [`ALLOWED_FAMILIES`].
fn namespace_socket_rules() -> Result<SeccompRules, seccompiler::BackendError> {
    let rule = SeccompRule::new(none_of(0, &ALLOWED_FAMILIES)?)?;
    Ok(for_every_abi([libc::SYS_socket, libc::SYS_socketpair].map(|call| (call, vec![rule.clone()]))))
}

/// Returns the rules of [`SocketRules::OnlyTcp`].
///
/// Landlock looks at TCP alone, so that the filter refuses MPTCP; and at `connect` alone, so that it refuses data on an opening
/// connection (`MSG_FASTOPEN`). A pair of datagram sockets could send to any named one.
fn only_tcp_rules() -> Result<SeccompRules, seccompiler::BackendError> {
    let is_internet = |family: i32| argument_condition(0, SeccompCmpOp::Eq, u64::from(family.unsigned_abs()));
    let is_netlink = || argument_condition(0, SeccompCmpOp::Eq, u64::from(libc::AF_NETLINK.unsigned_abs()));
    let mut socket = vec![
        SeccompRule::new(none_of(0, &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK])?)?,
        SeccompRule::new([vec![is_netlink()?], none_of(2, &[libc::NETLINK_ROUTE])?].concat())?,
    ];
    for family in [libc::AF_INET, libc::AF_INET6] {
        socket.push(SeccompRule::new(
            [vec![is_internet(family)?], none_of(2, &[0, libc::IPPROTO_TCP])?].concat(),
        )?);
        for kind in other_types(&[libc::SOCK_STREAM])? {
            socket.push(SeccompRule::new(vec![is_internet(family)?, kind])?);
        }
    }
    let mut pair = vec![SeccompRule::new(none_of(0, &[libc::AF_UNIX])?)?];
    for kind in other_types(&[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])? {
        pair.push(SeccompRule::new(vec![kind])?);
    }
    let fast_open = |flags_at: u8| {
        let flag = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
        SeccompRule::new(vec![argument_condition(flags_at, SeccompCmpOp::MaskedEq(flag), flag)?])
    };
    let mut rules = for_every_abi([
        (libc::SYS_socket, socket),
        (libc::SYS_socketpair, pair),
        (libc::SYS_sendto, vec![fast_open(3)?]),
    ]);
    rules.insert(libc::SYS_sendmsg, vec![fast_open(2)?]);
    rules.insert(libc::SYS_sendmmsg, vec![fast_open(3)?]);
    #[cfg(target_arch = "x86_64")]
    rules.extend([(X32_SENDMSG, vec![fast_open(2)?]), (X32_SENDMMSG, vec![fast_open(3)?])]);
    Ok(rules)
}

/// Returns the conditions of an argument that is none of the values.
fn none_of(at: u8, values: &[i32]) -> Result<Vec<SeccompCondition>, seccompiler::BackendError> {
    values
        .iter()
        .map(|value| argument_condition(at, SeccompCmpOp::Ne, u64::from(value.unsigned_abs())))
        .collect()
}

/// Returns a condition for each type of socket that is not among the given, whatever flags are set beside it.
fn other_types(allowed: &[i32]) -> Result<Vec<SeccompCondition>, seccompiler::BackendError> {
    /// Bits of the argument that are the type; `SOCK_TYPE_MASK` of the kernel.
    const TYPE_MASK: u64 = 0xF;
    let is_other = |kind: &u64| !allowed.iter().any(|allowed| u64::from(allowed.unsigned_abs()) == *kind);
    let condition = |kind| argument_condition(1, SeccompCmpOp::MaskedEq(TYPE_MASK), kind);
    (0..=TYPE_MASK).filter(is_other).map(condition).collect()
}

/// Returns the rules that refuse [`REFUSED_CALLS`] and typing into a terminal.
fn call_rules(sockets: SocketRules) -> Result<SeccompRules, seccompiler::BackendError> {
    let typing = [TIOCSTI, TIOCLINUX]
        .into_iter()
        .map(|request| SeccompRule::new(vec![argument_condition(1, SeccompCmpOp::Eq, request)?]))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rules = for_every_abi(REFUSED_CALLS.map(|call| (call, Vec::new())));
    #[cfg(target_arch = "x86_64")]
    rules.insert(X32_IOCTL, typing.clone());
    rules.insert(libc::SYS_ioctl, typing);
    if sockets == SocketRules::OnlyTcp {
        rules.extend(for_every_abi(REFUSED_IN_HOST_NAMESPACES.map(|call| (call, Vec::new()))));
        // A limit of zero kills another process of the user, whose signals are out of reach.
        let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
        let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        let rule = SeccompRule::new(vec![other, sets])?;
        rules.extend(for_every_abi([(libc::SYS_prlimit64, vec![rule])]));
    }
    Ok(rules)
}

/// Returns a condition on the lower 32 bits of an argument. The kernel reads no more of these arguments, so neither must the
/// filter.
fn argument_condition(
    at: u8,
    op: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(at, SeccompCmpArgLen::Dword, op, value)
}

/// Adds the same rules for the x32 ABI, on x86-64.
fn for_every_abi(rules: impl IntoIterator<Item = (i64, Vec<SeccompRule>)>) -> SeccompRules {
    let rules: SeccompRules = rules.into_iter().collect();
    #[cfg(target_arch = "x86_64")]
    let rules =
        rules.iter().map(|(call, rule)| (call | X32_CALL_BIT, rule.clone())).chain(rules.clone()).collect();
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_for_this_machine() {
        for rules in [SocketRules::OfNamespace, SocketRules::OnlyTcp] {
            let [sockets, calls] = programs(rules).unwrap();
            assert!(!sockets.is_empty() && !calls.is_empty());
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn x32_has_the_same_rules() {
        let rules = call_rules(SocketRules::OnlyTcp).unwrap();
        for call in REFUSED_CALLS {
            assert!(rules.contains_key(&(call | X32_CALL_BIT)), "{call}");
        }
        assert!(rules.contains_key(&X32_IOCTL));
    }
}
