//! A pseudo-terminal for programs that need a terminal.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Returns both ends of a new pseudo-terminal: the test's, and the one that programs see.
pub(crate) fn open_pty() -> (File, File) {
    let ours: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = File::options().read(true).write(true).open(name).unwrap();
    (File::from(ours), theirs)
}
