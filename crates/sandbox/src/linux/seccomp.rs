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

/// Compiles and installs the filters, and adds to `closed` the ways that they close.
pub(super) fn install(closed: &mut Vec<ClosedRoute>) -> Result<(), SetupFailure> {
    let programs = programs().map_err(io::Error::other).at_step(SetupStep::Filter, "compile the filter")?;
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
    Ok(())
}

/// Compiles two programs, since each has one error number for all refusals. A call of a foreign architecture (32-bit) kills the
/// process.
fn programs() -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let compile = |rules: SeccompRules, errno: i32| -> Result<BpfProgram, seccompiler::BackendError> {
        let refuse = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
    };
    Ok([compile(socket_rules()?, libc::EAFNOSUPPORT)?, compile(call_rules()?, libc::EPERM)?])
}

/// Returns the rules that refuse all socket families but [`ALLOWED_FAMILIES`].
fn socket_rules() -> Result<SeccompRules, seccompiler::BackendError> {
    let not_ours = ALLOWED_FAMILIES
        .iter()
        .map(|family| argument_condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
        .collect::<Result<Vec<_>, _>>()?;
    let rule = SeccompRule::new(not_ours)?;
    Ok(for_every_abi([libc::SYS_socket, libc::SYS_socketpair].map(|call| (call, vec![rule.clone()]))))
}

/// Returns the rules that refuse [`REFUSED_CALLS`] and typing into a terminal.
fn call_rules() -> Result<SeccompRules, seccompiler::BackendError> {
    let typing = [TIOCSTI, TIOCLINUX]
        .into_iter()
        .map(|request| SeccompRule::new(vec![argument_condition(1, SeccompCmpOp::Eq, request)?]))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rules = for_every_abi(REFUSED_CALLS.map(|call| (call, Vec::new())));
    #[cfg(target_arch = "x86_64")]
    rules.insert(X32_IOCTL, typing.clone());
    rules.insert(libc::SYS_ioctl, typing);
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
        let [sockets, calls] = programs().unwrap();
        assert!(!sockets.is_empty() && !calls.is_empty());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn x32_has_the_same_rules() {
        let rules = call_rules().unwrap();
        for call in REFUSED_CALLS {
            assert!(rules.contains_key(&(call | X32_CALL_BIT)), "{call}");
        }
        assert!(rules.contains_key(&X32_IOCTL));
    }
}
