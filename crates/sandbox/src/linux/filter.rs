//! The seccomp filters: calls that the namespaces do not cover.
//!
//! Left alone on purpose: `ptrace` and `process_vm_*` (programs debug their own children; the user namespace already
//! refuses processes outside) and `unshare` (browsers use it; a nested namespace gains nothing that was lost here).

use super::inner::{During, Failure};
use crate::enforcement::Closed;
use crate::plan::Step;
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;
use std::io;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The families that a program may ask for. Within the network namespace they lead nowhere but to its own loopback.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Refused with EPERM whatever the arguments.
const CALLS: [i64; 10] = [
    // Sockets made by a ring never pass a filter.
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

/// `asm-generic/ioctls.h`: push a byte into a terminal's input; paste on the console.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;

/// The x32 ABI reports itself as x86-64 and sets this bit in the number: without rules of its own it would be a way around.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const X32_IOCTL: i64 = X32 | 514;

pub(super) fn install(closed: &mut Vec<Closed>) -> Result<(), Failure> {
    let programs = programs().map_err(io::Error::other).during(Step::Filter, "compile the filter")?;
    for program in &programs {
        seccompiler::apply_filter(program)
            .map_err(|error| match error {
                seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
                other => io::Error::other(other.to_string()),
            })
            .during(Step::Filter, "install the filter")?;
    }
    closed.extend([
        Closed::SocketFamilies,
        Closed::IoUring,
        Closed::Keyrings,
        Closed::Calls,
        Closed::TerminalInput,
    ]);
    Ok(())
}

/// Two programs, since each has one answer to give. A foreign architecture (32-bit calls) ends the process.
fn programs() -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let compile = |rules: Rules, errno: i32| -> Result<BpfProgram, seccompiler::BackendError> {
        let refuse = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
    };
    Ok([compile(socket_rules()?, libc::EAFNOSUPPORT)?, compile(call_rules()?, libc::EPERM)?])
}

fn socket_rules() -> Result<Rules, seccompiler::BackendError> {
    let not_ours = FAMILIES
        .iter()
        .map(|family| argument(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
        .collect::<Result<Vec<_>, _>>()?;
    let rule = SeccompRule::new(not_ours)?;
    Ok(on_every_abi([libc::SYS_socket, libc::SYS_socketpair].map(|call| (call, vec![rule.clone()]))))
}

fn call_rules() -> Result<Rules, seccompiler::BackendError> {
    let typing = [TIOCSTI, TIOCLINUX]
        .into_iter()
        .map(|request| SeccompRule::new(vec![argument(1, SeccompCmpOp::Eq, request)?]))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rules = on_every_abi(CALLS.map(|call| (call, Vec::new())));
    #[cfg(target_arch = "x86_64")]
    rules.insert(X32_IOCTL, typing.clone());
    rules.insert(libc::SYS_ioctl, typing);
    Ok(rules)
}

/// The kernel looks at the lower half of these arguments only, and so must the filter.
fn argument(at: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(at, SeccompCmpArgLen::Dword, op, value)
}

fn on_every_abi(rules: impl IntoIterator<Item = (i64, Vec<SeccompRule>)>) -> Rules {
    let rules: Rules = rules.into_iter().collect();
    #[cfg(target_arch = "x86_64")]
    let rules = rules.iter().map(|(call, rule)| (call | X32, rule.clone())).chain(rules.clone()).collect();
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
        for call in CALLS {
            assert!(rules.contains_key(&(call | X32)), "{call}");
        }
        assert!(rules.contains_key(&X32_IOCTL));
    }
}
