//! Protection of this process's memory, which holds API keys as they pass and the private key of the run.
//!
//! An agent runs as the same user as its recorder. The kernel lets processes of one user read each other's memory, and writes
//! the memory of a crashed process into a core file, unless a process asks for neither. Start reading at [`protect_memory`].

use std::io;

/// Forbids core files of this process, and, on Linux, all access to its memory by other processes of the same user.
///
/// Must be called before any secret is read. On Linux, the files of this process below `/proc` then belong to root; a program
/// that this process executes is as open as any other.
///
/// # Errors
///
/// If the kernel refuses, which no kernel is known to do.
pub(crate) fn protect_memory() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    #[cfg(unix)]
    core_files::forbid()?;
    Ok(())
}

/// Calls `spawn` with the limit on core files that this process was started with: a child inherits the limit of its parent.
///
/// This process itself leaves no core file meanwhile where it is protected as [`protect_memory`] does on Linux.
pub(crate) fn with_inherited_limits<T>(spawn: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    return core_files::allowed_during(spawn);
    #[cfg(not(unix))]
    spawn()
}

#[cfg(unix)]
mod core_files {
    use std::io;
    use std::sync::OnceLock;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// Limit on core files before [`forbid`]. A global, because the limit itself belongs to the whole process.
    static INHERITED: OnceLock<Rlimit> = OnceLock::new();

    /// Sets the soft limit to 0. The hard limit stays, so that children can get the inherited one.
    pub(super) fn forbid() -> io::Result<()> {
        let inherited = *INHERITED.get_or_init(|| getrlimit(Resource::Core));
        Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), ..inherited })?)
    }

    pub(super) fn allowed_during<T>(spawn: impl FnOnce() -> T) -> T {
        let Some(inherited) = INHERITED.get() else { return spawn() };
        // A soft limit below the hard one may be changed at any time, so neither call fails.
        let _ = setrlimit(Resource::Core, *inherited);
        let spawned = spawn();
        let _ = forbid();
        spawned
    }
}
