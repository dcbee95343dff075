//! The mark that a recorder leaves in the folder of a run that it refused, because someone had changed its journal.
//!
//! A later process cannot tell a changed journal from the journal of a killed recorder, if the chain was made anew. So
//! the recorder, which can tell, leaves this file, and a run that has it is never resumed or sealed.

use std::path::Path;

use reenact_json::Shown;

use crate::durable::{self, Readers};
use crate::journal::Journal;
use crate::run_id::RunId;

/// Name of the mark in the folder of a run.
pub(crate) const FILE_NAME: &str = "refused.json";

/// Writes the mark: the run, and the number of events and the hash of the last one that its recorder wrote.
pub(crate) fn write(folder: &Path, run_id: RunId, journal: &Journal) {
    let head = journal.links().head().map(|head| head.to_string()).unwrap_or_default();
    let events = journal.events();
    let text = format!(
        "{{\"events\":{events},\"head\":\"{}\",\"refused\":\"reenact-refused/1\",\"run_id\":\"{run_id}\"}}\n",
        Shown::new(&head)
    );
    let path = folder.join(FILE_NAME);
    // A mark that is there already says the same. Without room for one, the journal is moved from its place, where
    // a recovery would look for it.
    if durable::create(&path, text.as_bytes(), Readers::Owner).is_err() && path.symlink_metadata().is_err() {
        let _ = journal.storage().rename(journal.path(), &journal.path().with_extension("changed"));
    }
}
