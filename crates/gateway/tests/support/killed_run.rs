//! Files that a kill leaves of a run, and their recovery.

use std::fs;
use std::path::{Path, PathBuf};

use reenact_capture::{LeftoverLog, Observation, Recovered};
use reenact_keys::SecretKey;
use reenact_record::wal;
use reenact_record::{Recorder, RunEnd, RunId, RunStatus, RunStore};

use super::{LiveRun, Logs, SealedRun};
use reenact_testkit::fixture::TestDir;

/// Copy of a run's files, as a kill at this moment would leave them.
pub(crate) struct KilledRun {
    pub(crate) dir: TestDir,
    pub(crate) logs: Logs,
    run_id: RunId,
}

impl KilledRun {
    pub(crate) fn copy_of(run: &LiveRun) -> Self {
        let (dir, logs, run_id) = (TestDir::new(), Logs::new().unwrap(), run.run_id());
        copy(run.dir.path(), dir.path());
        copy(run.logs.as_ref().unwrap().0.path(), logs.0.path());
        Self { dir, logs, run_id }
    }

    pub(crate) fn segment(&self) -> PathBuf {
        self.logs.0.join(self.run_id.to_string()).join("00000000.wal")
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        let mut entries = Vec::new();
        let is_there = wal::read(&self.logs.place(), self.run_id, |id, entry| {
            entries.push(match entry {
                Observation::Request(request) => format!("{id} {} {}", request.method, request.path),
                Observation::AnswerHead { status, .. } => format!("{id} head {status}"),
                Observation::Piece { bytes, .. } => {
                    format!("{id} {}", String::from_utf8_lossy(&bytes).trim())
                }
                Observation::Journaled { job, step, .. } => {
                    format!("{id} journaled {job} {}", step.map(|step| step.to_string()).unwrap_or_default())
                }
                other => format!("{id} {other:?}"),
            });
        });
        assert!(is_there.unwrap());
        entries
    }

    /// Recovers, seals and verifies the run.
    pub(crate) fn recover(self, key: &SecretKey) -> (Recovered, SealedRun) {
        let leftover = LeftoverLog::read(&self.logs.place(), self.run_id).unwrap().unwrap();
        let folder = RunStore::new(self.dir.join(RunStore::NAME));
        let recorder =
            Recorder::builder(&folder, key).resume(self.run_id, || Some(leftover.journal())).unwrap();
        let recovered = leftover.recover_into(&recorder.event_writer(), []).unwrap();
        let end = RunEnd::new(RunStatus::Crashed, "killed");
        let sealed = recorder.end(&end).unwrap().seal(key).unwrap();
        (recovered, SealedRun::open(self.dir, &sealed.path, key))
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
