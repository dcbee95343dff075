//! The mark that a run is refused for good, because someone had changed its journal.
//!
//! A later process cannot always tell a changed journal from the journal of a killed recorder, if the chain was made anew.
//! So the process that can tell, the recorder or a recovery that has the log, leaves this file in the folder of the run,
//! and a second one beside the logs: a run that has one of them is never resumed or sealed.

use std::path::Path;

use reenact_json::Digest;

use crate::durable::{self, Readers};
use crate::run_id::RunId;
use crate::storage::Storage;
use crate::wal;

/// Name of the mark in the folder of a run.
pub(crate) const FILE_NAME: &str = "refused.json";

/// Writes the marks: the run, and the number of events and the hash of the last one that its recorder wrote.
pub(crate) fn write(journal: &Path, storage: &dyn Storage, run_id: RunId, written: Option<(u64, Digest)>) {
    let (events, head) = written.map_or((0, String::new()), |(events, head)| (events, head.to_string()));
    let text = format!(
        "{{\"events\":{events},\"head\":\"{head}\",\"refused\":\"reenact-refused/1\",\"run_id\":\"{run_id}\"}}\n"
    );
    let path = journal.with_file_name(FILE_NAME);
    // A mark that is there already says the same. Without room for one, the journal is moved from its place, where
    // a recovery would look for it.
    if durable::create(&path, text.as_bytes(), Readers::Owner).is_err() && path.symlink_metadata().is_err() {
        let _ = storage.rename(journal, &journal.with_extension("changed"));
    }
    if let Some(folder) = journal.parent() {
        wal::mark_refused(run_id, folder);
    }
}
