//! What a kill leaves of a run, and what is recovered from it.

use std::fs;
use std::path::{Path, PathBuf};

use reenact_capture::{LeftoverLog, Observation, Recovered};
use reenact_keys::SecretKey;
use reenact_record::wal;
use reenact_record::{End, Folder, Recorder, RunId, RunStatus};

use super::{Flight, Landed, Logs};
use reenact_testkit::fixture::TestDir;

/// What a kill leaves at a moment in which nothing moves: the files, elsewhere.
pub(crate) struct Wreck {
    pub(crate) place: TestDir,
    pub(crate) logs: Logs,
    run_id: RunId,
}

impl Wreck {
    pub(crate) fn of(flight: &Flight) -> Self {
        let (place, logs, run_id) = (TestDir::new(), Logs::new().unwrap(), flight.run_id());
        copy(flight.place.path(), place.path());
        copy(flight.logs.as_ref().unwrap().0.path(), logs.0.path());
        Self { place, logs, run_id }
    }

    pub(crate) fn segment(&self) -> PathBuf {
        self.logs.0.join(self.run_id.to_string()).join("00000000.wal")
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        let mut entries = Vec::new();
        let is_there = wal::read(&self.logs.place(), self.run_id, |id, entry| {
            entries.push(match entry {
                Observation::Request(request) => format!("{id} {} {}", request.method, request.path),
                Observation::Head { status, .. } => format!("{id} head {status}"),
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

    /// Recovers the run, seals it, and judges it.
    pub(crate) fn recover(self, key: &SecretKey) -> (Recovered, Landed) {
        let remains = LeftoverLog::read(&self.logs.place(), self.run_id).unwrap().unwrap();
        let folder = Folder::new(self.place.join(Folder::NAME));
        let recorder = Recorder::resume(&folder, self.run_id, key, || remains.journal_bytes()).unwrap();
        let recovered = remains.write(&recorder.pen(), []).unwrap();
        let end = End { status: RunStatus::Crashed, reason: "killed", exit_code: None };
        let sealed = recorder.end(&end).unwrap().seal(key).unwrap();
        (recovered, Landed::of(self.place, &sealed.path, key))
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
