//! Protection of this process: its memory, which holds API keys as they pass and the private key of the run, and its
//! descriptors, which idle clients must not use up.
//!
//! An agent runs as the same user as its recorder. The kernel lets processes of one user read each other's memory, and writes
//! the memory of a crashed process into a core file, unless a process asks for neither. Start reading at [`protect_process`].

use std::io;

/// Forbids core files of this process and raises its limit on descriptors; on Linux, also forbids all access to its memory by
/// other processes of the same user.
///
/// Must be called before any secret is read. On Linux, the files of this process below `/proc` then belong to root; a program
/// that this process executes is as open as any other.
///
/// # Errors
///
/// If the kernel refuses, which no kernel is known to do.
pub(crate) fn protect_process() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    #[cfg(unix)]
    limits::set_own()?;
    Ok(())
}

/// Calls `spawn` with the limits that this process was started with: a child inherits those of its parent.
///
/// This process itself leaves no core file meanwhile where it is protected as [`protect_process`] does on Linux.
pub(crate) fn with_inherited_limits<T>(spawn: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    return limits::inherited_during(spawn);
    #[cfg(not(unix))]
    spawn()
}

#[cfg(unix)]
mod limits {
    use std::io;
    use std::sync::OnceLock;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// Limits before [`set_own`]. A global, because the limits themselves belong to the whole process.
    static INHERITED: OnceLock<[(Resource, Rlimit); 2]> = OnceLock::new();

    /// Sets the soft limits of this process. The hard ones stay, so that children can get the inherited soft ones.
    pub(super) fn set_own() -> io::Result<()> {
        let [core, descriptors] =
            *INHERITED.get_or_init(|| [Resource::Core, Resource::Nofile].map(|of| (of, getrlimit(of))));
        setrlimit(core.0, Rlimit { current: Some(0), ..core.1 })?;
        // macOS refuses more descriptors than its own maximum; the inherited limit is fine there.
        let _ = setrlimit(descriptors.0, Rlimit { current: descriptors.1.maximum, ..descriptors.1 });
        Ok(())
    }

    pub(super) fn inherited_during<T>(spawn: impl FnOnce() -> T) -> T {
        let Some(inherited) = INHERITED.get() else { return spawn() };
        // A soft limit below the hard one may be changed at any time, so none of these calls fails.
        for (of, limit) in inherited {
            let _ = setrlimit(*of, *limit);
        }
        let spawned = spawn();
        let _ = set_own();
        spawned
    }
}
