//! Whole runs: an agent is recorded, its record is verified and shown, and the run is replayed while the model is gone.
//!
//! The agent is that of the demo, which is this program again, or `sh` where any process will do.
//! `lifecycle/project.rs` has the support code; `lifecycle/records.rs` is a good start.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod lifecycle {
    mod agents;
    mod approvals;
    mod bundle_outputs;
    mod bundles;
    mod disks;
    mod emits;
    mod enforced;
    mod exits;
    mod forks;
    mod formats;
    mod killed;
    mod kills;
    mod last_run;
    mod memory;
    mod model_io_sessions;
    mod other_runtimes;
    mod planted;
    mod policies;
    pub(crate) mod project;
    mod recordings;
    mod records;
    mod replay_bundles;
    mod replays;
    mod run_index;
    mod run_names;
    mod runs;
    mod secrets;
    mod share_forms;
    mod shares;
    mod show_steps;
    mod shows;
    mod state_folder;
    mod streams;
    mod stub_replays;
    mod terminal;
    mod work_folder;
}
mod support;
#[path = "support/terminal.rs"]
mod terminal;
