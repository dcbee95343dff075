//! Whole flights: an agent is recorded, its record verified and shown, and the run replayed with its model gone.
//!
//! The agent is the demo's, which is this program again, and `sh` where only a process is needed.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod flight {
    pub(crate) mod airport;
    mod disks;
    mod enforced;
    mod exits;
    mod formats;
    mod killed;
    mod kills;
    mod planted;
    mod records;
    mod replays;
    mod secrets;
    mod shares;
    mod shows;
    mod terminal;
}
mod support;
#[path = "support/terminal.rs"]
mod terminal;
