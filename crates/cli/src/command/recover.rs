//! `reenact recover`: seals runs whose recorder was killed, with all that had passed through it.

use std::path::{Path, PathBuf};

use reenact_capture::{LeftoverLog, Recovered};
use reenact_json::Shown;
use reenact_keys::{KeyStore, SecretKey};
use reenact_record::wal::{self, Place};
use reenact_record::{End, Ended, Folder, Recorder, ResumeError, RunId, RunStatus, Sealed};
use reenact_verify::{Keys, Options};

use crate::config::Config;
use crate::output::{self, Ending};
use crate::{quantity, runs};

/// Seal a run whose recorder was killed, with all that had passed through it
///
/// What passes through a recorder is written to memory that outlives it before it is passed on, and from there into the
/// journal. After a kill, this command writes what is missing, notes what broke off, and seals the run with the key that it
/// began under. After the machine itself went down the journal alone is left, and is sealed as far as it goes. Without a name,
/// all runs of this folder are looked after; one that is being recorded is left alone.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact recover\n  reenact recover 0190f3")]
pub(super) struct Recover {
    /// A run id, the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

impl Recover {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let folder = runs::folder();
        let found = match &self.run {
            Some(given) => folder.resolve(given).map(|id| vec![id]),
            None => folder.unsealed(),
        };
        let found = found.map_err(impossible)?;
        if found.is_empty() {
            output::print("nothing to recover: every run of this folder is sealed\n")?;
        }
        let store = Config::require()?.key_store();
        let mut code = 0;
        for id in found {
            let outcome = match folder.sealed(id) {
                Ok(path) => Ok(Outcome::Sealed(path)),
                Err(_) => recover(&folder, id, &store),
            };
            match outcome {
                Ok(Outcome::Recovered(found, sealed)) => output::print(&told(id, &found, &sealed))?,
                Ok(Outcome::Sealed(path)) => {
                    let path = path.to_string_lossy();
                    output::print(&format!("{id} is sealed: {}\n", Shown::whole(&path)))?;
                }
                Err(why) => {
                    output::complain(&format!("{id}: {why}"));
                    code = 2;
                }
            }
        }
        Ok(code)
    }
}

/// What became of a run.
enum Outcome {
    Recovered(Found, Box<Sealed>),
    /// It was sealed before, there.
    Sealed(PathBuf),
}

/// What was found of a run beside its journal's whole events.
#[derive(Default)]
struct Found {
    from_log: Recovered,
    /// Bytes at the journal's end that are no whole event, and that no log has.
    torn: u64,
}

fn recover(folder: &Folder, id: RunId, store: &KeyStore) -> Result<Outcome, String> {
    let key = key(folder, id, store)?;
    let place = Place::holding(id);
    let mut leftover = Ok(None);
    // The log is read when nobody else can write to either.
    let resumed = Recorder::resume(folder, id, &key, || {
        leftover = place.as_ref().map_or(Ok(None), |place| LeftoverLog::read(place, id));
        leftover.as_ref().ok()?.as_ref()?.journal_bytes()
    });
    let leftover = leftover.map_err(|error| format!("its log cannot be read: {error}"))?;
    let (found, ended) = match resumed {
        Ok(recorder) => {
            let mut found = Found::default();
            if leftover.as_ref().and_then(LeftoverLog::journal_bytes).is_none() && recorder.cut() > 0 {
                found.torn = recorder.cut();
                let why = format!("its last {} bytes were no whole event, and were cut off", found.torn);
                recorder.pen().gap("end of the journal", &why).map_err(text)?;
            }
            if let Some(leftover) = leftover {
                let told = recorder.resumed_tool_calls();
                let told = told.iter().map(String::as_str);
                found.from_log = leftover.write(&recorder.pen(), told).map_err(text)?;
            }
            let reason = "its recorder did not come to the end";
            let end = End { status: RunStatus::Crashed, reason, exit_code: None };
            (found, recorder.end(&end).map_err(text)?)
        }
        Err(ResumeError::Ended) => {
            (Found::default(), Recorder::<Ended>::resume_ended(folder, id, &key).map_err(text)?)
        }
        Err(ResumeError::Busy { .. }) => return Err("another reenact is recording it at this moment".into()),
        Err(error) => return Err(error.to_string()),
    };
    let mut out = ended.out().clone();
    // Whatever is there now is not thrown away: it may be another run's.
    out.replace = false;
    if out.path.symlink_metadata().is_ok() {
        if is_of(&out.path, id) {
            return Ok(Outcome::Sealed(out.path));
        }
        out.path = folder.artifact(id);
    }
    let sealed = ended.seal_to(&key, &out).map_err(text)?;
    if let Some(place) = &place {
        // It lies in memory, and everything in it is sealed.
        let _ = wal::forget(place, id);
    }
    Ok(Outcome::Recovered(found, Box::new(sealed)))
}

/// Whether a file is the artifact of a run.
fn is_of(path: &Path, id: RunId) -> bool {
    let Ok(bytes) = reenact_verify::disk::read(path) else { return false };
    let opened = reenact_run::open(bytes, &Keys::default(), &Options::default());
    opened.run.is_ok_and(|run| run.id() == id.to_string())
}

/// The key that a run began under.
fn key(folder: &Folder, id: RunId, store: &KeyStore) -> Result<SecretKey, String> {
    let key_id = folder.key_id(id).map_err(|error| format!("its journal cannot be read: {error}"))?;
    let key_id = key_id.ok_or_else(|| {
        let run = folder.run(id);
        let run = run.to_string_lossy();
        format!(
            "its journal breaks off in its first line: nothing was recorded; remove {}",
            Shown::whole(&run)
        )
    })?;
    let names = store.list().map_err(text)?;
    names
        .iter()
        .filter_map(|name| store.load(name).ok())
        .find(|key| reenact_formats::rer::seal::Signer::public_key(key).id().to_string() == key_id)
        .ok_or_else(|| format!("none of your keys is the one that it began under ({})", Shown::new(&key_id)))
}

fn told(id: RunId, found: &Found, sealed: &Sealed) -> String {
    let path = sealed.path.to_string_lossy();
    let counts = sealed.counts;
    let mut calls = vec![quantity::count(counts.model_calls, "model call")];
    if counts.http_calls > 0 {
        calls.push(quantity::count(counts.http_calls, "other request"));
    }
    let mut said =
        vec![format!("{} and {}", calls.join(", "), quantity::count(counts.tool_calls, "tool call"))];
    let Recovered { requests, answers, cut } = found.from_log;
    let counted = |(count, what)| (count > 0).then(|| quantity::count(count as u64, what));
    let from_log: Vec<String> =
        [(requests, "request"), (answers, "answer")].into_iter().filter_map(counted).collect();
    if !from_log.is_empty() {
        said.push(format!("{} only from its log", from_log.join(" and ")));
    }
    if let Some(cut) = counted((cut, "answer")) {
        said.push(format!("{cut} broke off"));
    }
    if found.torn > 0 {
        said.push(format!("the last {} of its journal were torn", quantity::count(found.torn, "byte")));
    }
    let (said, size) = (said.join("; "), quantity::size(sealed.size));
    format!("recovered {id}: {said}\nsealed: {} ({size})\n", Shown::whole(&path))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn impossible(error: impl std::fmt::Display) -> Ending {
    Ending::impossible(error.to_string())
}
