//! Report of a sandbox: the ways out that are closed and those that stayed open, as data that can be printed and recorded.
//!
//! Every entry is a fact that the trampoline established, never a hope: an entry of `closed` is written after the call
//! that closed it came back without an error.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// Mechanism that isolates the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// The child has its own user, network, mount, IPC and process namespaces, and a seccomp filter.
    Netns,
    /// The kernel gives no namespaces: Landlock and a seccomp filter let the child connect to the gateway's port and to no other.
    Landlock,
    /// Nothing is enforced.
    None,
}

impl Isolation {
    /// Returns the stable name for records and the command line.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Netns => "netns",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Defines an enum of facts. Each fact has a stable code for records, an optional name, and a sentence for people.
macro_rules! facts {
    ($(#[$doc:meta])* $name:ident { $($(#[$bare_doc:meta])* $bare:ident = $bare_code:literal : $bare_text:literal,)* ;
      $($(#[$named_doc:meta])* $named:ident = $named_code:literal : $named_text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$bare_doc])* $bare,)*
            $($(#[$named_doc])* $named(OsString),)*
        }

        impl $name {
            /// Returns the stable code for records.
            #[must_use]
            pub fn code(&self) -> &'static str {
                match self {
                    $(Self::$bare => $bare_code,)*
                    $(Self::$named(_) => $named_code,)*
                }
            }

            /// Returns the path or the variable that the fact is about, if it is about one.
            #[must_use]
            pub fn name(&self) -> Option<&OsString> {
                match self {
                    $(Self::$bare => None,)*
                    $(Self::$named(name) => Some(name),)*
                }
            }

            /// Returns the fact with that code, as the trampoline sent it; `None` for an unknown code.
            #[cfg(target_os = "linux")]
            pub(crate) fn from_code(code: &[u8], name: OsString) -> Option<Self> {
                $(if code == $bare_code.as_bytes() { return Some(Self::$bare); })*
                $(if code == $named_code.as_bytes() { return Some(Self::$named(name)); })*
                None
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$bare => f.write_str($bare_text),)*
                    // Debug escapes control characters: a path of another user must not reach a terminal raw.
                    $(Self::$named(name) => write!(f, concat!($named_text, " {:?}"), name),)*
                }
            }
        }
    };
}

facts! {
    /// One way out that the kernel now refuses.
    ClosedRoute {
        /// A network namespace with nothing but its own loopback.
        Network = "network": "network: no interface but a loopback of its own",
        /// Landlock refuses every other port, and listening.
        TcpPorts = "tcp_ports": "TCP to any port but the gateway's, and listening for TCP",
        /// No datagrams, no raw and no multipath sockets can be made.
        Datagrams = "datagrams": "sockets other than of TCP: UDP, raw, MPTCP",
        /// No Unix socket can be made that connects by a name; pairs of them still can.
        UnixSockets = "unix_sockets": "Unix sockets, by path and abstract",
        /// Abstract Unix sockets belong to a network namespace.
        AbstractSockets = "abstract_sockets": "abstract Unix sockets of the host",
        /// System V shared memory, semaphores and queues.
        Ipc = "sysv_ipc": "System V IPC and message queues of the host",
        /// Other socket families: vsock, packet, bluetooth, alg, …
        SocketFamilies = "socket_families": "socket families other than unix, inet, inet6, netlink",
        /// `io_uring`, which would reach sockets around the filter.
        IoUring = "io_uring": "io_uring",
        /// `request_key` makes the kernel run a program outside, which can ask a name server.
        Keyrings = "keyrings": "kernel keyrings and their upcalls",
        /// `bpf`, `userfaultfd`, `setns`, `pidfd_getfd`; a 32-bit call on a 64-bit machine ends the process (SIGSYS).
        Calls = "calls": "bpf, userfaultfd, setns, pidfd_getfd, calls of a foreign architecture",
        /// `TIOCSTI` and `TIOCLINUX`: typing into the terminal that the caller's shell reads.
        TerminalInput = "terminal_input": "typing into the caller's terminal",
        /// No capabilities, and none through set-user-ID programs.
        Privileges = "privileges": "privileges: none held, none to be gained",
        /// A process of another user namespace cannot be traced, read, or entered through `/proc`.
        Processes = "processes": "memory, descriptors and namespaces of processes outside",
        /// Processes outside are not seen by the command, so that no signal can name one.
        Signals = "signals": "signals to processes outside",
        /// A process that outlives the command is killed by the kernel with the process namespace.
        LeftProcesses = "left_processes": "processes left behind: they end with the command",
        /// Every descriptor but the three standard ones.
        Descriptors = "descriptors": "inherited descriptors other than 0, 1, 2",
        /// For root only: `/proc/sys` and `/sys` are read-only.
        KernelControls = "kernel_controls": "kernel controls under /proc/sys and /sys, cgroups (read-only)",
        ;
        /// A directory or device under which nothing of the host is seen.
        Masked = "masked": "masked",
        /// One listening Unix socket, covered.
        Socket = "socket": "Unix socket",
        /// An environment variable that names a way out, removed.
        Variable = "variable": "variable",
    }
}

facts! {
    /// One way out that stayed open.
    OpenRoute {
        /// Nothing is enforced.
        Everything = "everything": "everything: nothing is enforced",
        /// Files are shared; a program outside that acts on files acts on files of the child, too.
        Files = "files": "files: read and written as the user may",
        /// Signals go by user where the kernel gives no process namespace.
        Signals = "signals": "signals to processes of the same user, those of its process group at least",
        /// A daemon outlives the command where the kernel gives no process namespace.
        LeftProcesses = "left_processes": "processes left behind: they outlive the command",
        /// A container masks parts of `/proc`, and the kernel then allows no new one: it lists the processes outside.
        ProcessList = "process_list": "the list of processes outside: /proc cannot be mounted anew here",
        /// Only sockets that were listening at the start, under a name that this namespace lists, are covered.
        LaterSockets = "later_sockets": "Unix sockets outside /run bound after the start, by another container, or under a second name",
        /// The kernel's tables could not be read, so no socket outside the masked directories was covered.
        UnlistedSockets = "unlisted_sockets": "Unix sockets outside /run: the kernel's list could not be read",
        /// Kernel without System V IPC namespaces.
        Ipc = "sysv_ipc": "System V IPC and message queues of the host",
        /// Run as root: files and devices that belong to root, such as cron tables and disks.
        Root = "root": "run as root: root's files and devices (cron, disks) can be written; use another user",
        /// Run as root, and the kernel's own controls could not be made read-only.
        KernelControls = "kernel_controls": "kernel controls under /proc/sys and /sys, cgroups: as far as the user may write them",
        ;
        /// A socket that could not be covered, or that was bound under a relative name.
        Socket = "socket": "Unix socket",
        /// The kernel fetches these files over the host's network.
        NetworkFiles = "network_files": "network file system",
        /// Landlock knows ports and no addresses.
        Port = "port": "TCP to this port of any host:",
        /// A standard stream that is a network socket.
        Stream = "stream": "standard stream that is a network socket:",
    }
}

/// Facts about the isolation of one child: how it is isolated, the ways that are closed and open, and the reason if it is not
/// isolated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxReport {
    /// Mechanism that isolates the child.
    pub isolation: Isolation,
    /// Ways out that the kernel now refuses.
    pub closed: Vec<ClosedRoute>,
    /// Ways out that stayed open.
    pub open: Vec<OpenRoute>,
    /// Reason why the child is not isolated; `None` if it is.
    pub reason: Option<String>,
}

impl SandboxReport {
    /// Returns the report of a child that is not isolated, with the reason.
    #[must_use]
    pub fn not_enforced(reason: impl Into<String>) -> Self {
        Self {
            isolation: Isolation::None,
            closed: Vec::new(),
            open: vec![OpenRoute::Everything],
            reason: Some(reason.into()),
        }
    }

    /// Iterates over the paths that are masked, directories as well as sockets.
    pub fn masked_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.closed.iter().filter_map(|fact| match fact {
            ClosedRoute::Masked(path) | ClosedRoute::Socket(path) => Some(PathBuf::from(path)),
            _ => None,
        })
    }
}

impl fmt::Display for SandboxReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.isolation {
            Isolation::None => write!(f, "hermetic: not enforced")?,
            isolation => write!(f, "hermetic: enforced by the kernel ({isolation})")?,
        }
        if let Some(reason) = &self.reason {
            write!(f, "\n  why     {reason}")?;
        }
        for fact in &self.closed {
            write!(f, "\n  closed  {fact}")?;
        }
        for fact in &self.open {
            write!(f, "\n  open    {fact}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_enforced_says_so_and_why() {
        let printed = SandboxReport::not_enforced("this is not Linux").to_string();
        assert_eq!(
            printed,
            "hermetic: not enforced\n  why     this is not Linux\n  open    everything: nothing is enforced"
        );
    }

    #[test]
    fn a_path_is_never_printed_raw() {
        let printed = ClosedRoute::Socket("/tmp/\u{1b}[2J".into()).to_string();
        assert_eq!(printed, "Unix socket \"/tmp/\\u{1b}[2J\"");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_code_names_its_fact() {
        for fact in [ClosedRoute::Network, ClosedRoute::Variable("DISPLAY".into())] {
            let name = fact.name().cloned().unwrap_or_default();
            assert_eq!(ClosedRoute::from_code(fact.code().as_bytes(), name), Some(fact));
        }
        assert_eq!(OpenRoute::from_code(b"no such thing", OsString::new()), None);
    }
}
