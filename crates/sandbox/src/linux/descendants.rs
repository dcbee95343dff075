//! Descendants of this process, killed to the last where there is no process namespace.
//!
//! Orphans become children of the process that is marked as their reaper, so that one without children has no descendants.

use rustix::process::{Pid, Signal, WaitOptions};
use std::io;
use std::time::{Duration, Instant};

/// Marks this process as the parent of all descendants whose parent ends.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Time after which [`kill_all`] gives up on processes that cannot be seen, such as behind `hidepid`, or that multiply.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two looks at the children.
const KILL_INTERVAL: Duration = Duration::from_millis(2);

/// Kills all children, then those that were their children, until there are none.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] if some are left after [`KILL_TIMEOUT`].
pub(super) fn kill_all() -> io::Result<()> {
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        for child in children()? {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break,
                Err(rustix::io::Errno::CHILD) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(KILL_INTERVAL);
    }
}

/// Returns the processes whose parent is this one.
fn children() -> io::Result<Vec<Pid>> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(process) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        // A process that ended meanwhile is none to kill.
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
        if parent_of(&stat) == Some(own) {
            found.extend(Pid::from_raw(process));
        }
    }
    Ok(found)
}

/// Returns the parent's id in the text of `/proc/PID/stat` (proc(5)): the second field behind the name, which may hold anything.
fn parent_of(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_forge_the_parent() {
        assert_eq!(parent_of("7 (sh) S 42 7 7 0"), Some(42));
        assert_eq!(parent_of("7 (a) S 1 (b) R 42 7 7"), Some(42));
        assert_eq!(parent_of("7 sh"), None);
    }
}
