//! Crash points: the recorder is killed, or the machine loses power, at every point of a run. Everything that
//! others had seen by then is in the record, and the record verifies.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::PathBuf;

use reenact_capture::LeftoverLog;
use reenact_keys::SecretKey;
use reenact_record::{Durability, Recorder, Recording, ResumeError, RunEnd, RunId, RunStatus, RunStore};
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{ReceivedAnswer, Script, ScriptedAnswer, ScriptedVendor, VendorRequest};
use support::trace::{StorageSnapshot, StorageTrace, TracedOp};
use support::{LiveRun, Logs, SealedRun, chat};
use tokio::io::AsyncReadExt;

/// Returns the name that a client gave its question.
fn name(body: &[u8]) -> String {
    let text = std::str::from_utf8(body).unwrap();
    text.split("question ").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// Returns a document or a stream, as the request asks, each with a body of its own.
fn answer(request: &VendorRequest) -> ScriptedAnswer {
    let name = name(&request.body);
    match request.body.windows(13).any(|part| part == b"\"stream\":true") {
        false => ScriptedAnswer::json(
            200,
            format!("{{\"choices\":[],\"id\":\"{name}\",\"x\":\"{}\"}}", "y".repeat(5000)),
        ),
        true => {
            let event = |part| format!("data: {{\"choices\":[],\"id\":\"{name}-{part}\"}}\n\n");
            ScriptedAnswer::events([event(1), event(2), event(3), "data: [DONE]\n\n".to_owned()])
        }
    }
}

/// Run in which several clients ask at once, with all operations on its files.
struct TracedRun {
    ops: Vec<TracedOp>,
    dir: PathBuf,
    logs: PathBuf,
    run_id: RunId,
    key: SecretKey,
}

async fn record_traced_run(durability: Durability) -> Option<TracedRun> {
    let trace = StorageTrace::default();
    let at_vendor = trace.clone();
    let script = Script::answering(move |request| {
        at_vendor.record(TracedOp::VendorGotRequest(name(&request.body)));
        answer(request)
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start_traced(&vendor, durability, &trace)?;
    let (place, logs) = (run.dir.path().to_owned(), run.logs.as_ref()?.0.path().to_owned());
    let (run_id, key) = (run.run_id(), SecretKey::from_jwk(run.key().to_jwk().as_bytes()).unwrap());
    let client = run.openai();
    let asking = ["a", "b"].map(|thread| {
        let (client, trace) = (client.clone(), trace.clone());
        tokio::spawn(async move {
            for (turn, is_stream) in [false, true, true].into_iter().enumerate() {
                let name = format!("{thread}{turn}");
                let body = chat(&format!("question {name}"), is_stream);
                let mut connection = client.connect().await;
                let headers = [("Connection", "close")];
                connection
                    .write(&client.request("POST", "/chat/completions", &headers, body.as_bytes()))
                    .await;
                let mut buffer = [0; 4096];
                loop {
                    let length = connection.socket.read(&mut buffer).await.unwrap();
                    if length == 0 {
                        break;
                    }
                    trace.record(TracedOp::ClientGotBytes(name.clone(), buffer[..length].to_vec()));
                }
            }
        })
    });
    for task in asking {
        task.await.unwrap();
    }
    let sealed = run.seal().await;
    assert_eq!(sealed.payloads("rer.model.returned").len(), 6);
    Some(TracedRun { ops: trace.ops(), dir: place, logs, run_id, key })
}

impl TracedRun {
    /// Writes the run's files at one point into folders of their own.
    fn restore(&self, moment: &StorageSnapshot) -> (TestDir, Logs) {
        let (place, logs) = (TestDir::in_memory(), Logs::new().unwrap());
        fs::create_dir_all(place.join(".reenact/runs").join(self.run_id.to_string())).unwrap();
        for (path, bytes) in &moment.files {
            let path = match path.strip_prefix(&self.dir) {
                Ok(rest) => place.join(rest),
                Err(_) => logs.0.join(path.strip_prefix(&self.logs).unwrap()),
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        (place, logs)
    }

    /// Resumes the run, and writes what the log has.
    fn resume(&self, place: &TestDir, logs: &Logs) -> Result<Recorder<Recording>, ResumeError> {
        let folder = RunStore::new(place.join(RunStore::NAME));
        let mut remains = None;
        let recorder = Recorder::builder(&folder, &self.key).resume(self.run_id, || {
            remains = LeftoverLog::read(&logs.place(), self.run_id).unwrap();
            Some(remains.as_ref()?.journal())
        })?;
        if let Some(remains) = remains {
            remains.recover_into(&recorder.event_writer(), []).unwrap();
        }
        Ok(recorder)
    }

    /// Recovers the run from its files at one point, and checks that nothing others had seen is missing.
    fn check_recovery(&self, moment: &StorageSnapshot, at: &str, only_whole: bool) {
        let (place, logs) = self.restore(moment);
        let path = match self.resume(&place, &logs) {
            Ok(recorder) => {
                let end = RunEnd::new(RunStatus::Crashed, "killed");
                recorder.end(&end).unwrap().seal(&self.key).unwrap().path
            }
            Err(ResumeError::Ended) => {
                let folder = RunStore::new(place.join(RunStore::NAME));
                Recorder::builder(&folder, &self.key)
                    .resume_ended(self.run_id)
                    .unwrap()
                    .seal(&self.key)
                    .unwrap()
                    .path
            }
            Err(error) => {
                let nothing = moment.asked.is_empty() && moment.received.is_empty();
                assert!(nothing, "{at}: {error}");
                return;
            }
        };
        let sealed = SealedRun::open(place, &path, &self.key);
        assert_recovered_before_end(&sealed, at);
        Self::check_sealed(&sealed, moment, at, only_whole);
    }

    /// Recovers the run from its files with a journal of `length` bytes, after a recovery that was killed. Returns the number
    /// of events that are lost; if there are none, nothing others had seen is missing.
    fn check_short_recovery(&self, moment: &StorageSnapshot, length: usize, at: &str) -> Option<u64> {
        let mut short = moment.clone();
        let journal = short.files.iter_mut().find(|(path, _)| path.ends_with("journal.jsonl"));
        journal.unwrap().1.truncate(length);
        let (place, logs) = self.restore(&short);
        // The first recovery is killed before it ends the run; the second one finds what that one left.
        let first =
            self.resume(&place, &logs).map(|recorder| (recorder.lost_events(), recorder.counts().events));
        let (lost, events) = first.unwrap_or_else(|error| panic!("{at}: {error}"));
        let recorder = self.resume(&place, &logs).unwrap_or_else(|error| panic!("{at}, again: {error}"));
        assert_eq!(
            (recorder.lost_events(), recorder.counts().events),
            (lost, events),
            "{at}: the same again"
        );
        let end = RunEnd::new(RunStatus::Crashed, "killed");
        let path = recorder.end(&end).unwrap().seal(&self.key).unwrap().path;
        let sealed = SealedRun::open(place, &path, &self.key);
        assert_recovered_before_end(&sealed, at);
        let recovered = sealed.only_payload("rer.run.recovered");
        assert_eq!(recovered["lost"].as_u64(), lost, "{at}");
        let gap = sealed
            .payloads("rer.capture.gap")
            .into_iter()
            .find(|gap| gap["what"].as_str().is_some_and(|what| what.ends_with("of the journal")));
        assert_eq!(gap.is_some(), lost.is_some(), "{at}");
        if lost.is_none() {
            Self::check_sealed(&sealed, moment, at, false);
        }
        lost
    }

    /// Checks that nothing others had seen is missing in a record.
    fn check_sealed(sealed: &SealedRun, moment: &StorageSnapshot, at: &str, only_whole: bool) {
        let called: Vec<String> = sealed
            .payloads("rer.model.called")
            .iter()
            .map(|called| name(called["http"]["body"]["text"].as_str().unwrap().as_bytes()))
            .collect();
        let returned = sealed.payloads("rer.model.returned");
        let answer = |name: &str| {
            let mut steps =
                sealed.payloads("rer.model.called").into_iter().zip(&called).filter(|(_, it)| *it == name);
            let step = steps.next().map(|(called, _)| &called["step_id"]);
            assert!(steps.next().is_none(), "{at}: {name} is there twice");
            returned.iter().find(|returned| Some(&returned["step_id"]) == step)
        };
        for name in &moment.asked {
            assert!(called.contains(name), "{at}: the vendor has {name}, the record has {called:?}");
        }
        for (name, received) in &moment.received {
            let ReceivedAnswer { body, is_whole } = ReceivedAnswer::parse(received);
            let answer = answer(name);
            if is_whole {
                assert_eq!(answer.map(|answer| &answer["complete"]), Some(&true.into()), "{at}: {name}");
            } else if only_whole {
                continue;
            }
            let recorded =
                answer.and_then(|answer| answer["http"]["body"]["text"].as_str()).unwrap_or_default();
            assert!(recorded.as_bytes().starts_with(&body), "{at}: {name}: {recorded:?}");
        }
        let cut = returned.iter().filter(|returned| returned["complete"] == false).count();
        let gaps = sealed.payloads("rer.capture.gap");
        assert!(
            gaps.iter().filter(|gap| gap["what"] == "answer").count() >= cut,
            "{at}: a gap for each that broke off"
        );
    }
}

/// Every recovered run says so, right before it ends.
fn assert_recovered_before_end(sealed: &SealedRun, at: &str) {
    let types = sealed.types();
    let recovered = types.iter().position(|kind| *kind == "rer.run.recovered");
    assert_eq!(types.iter().filter(|kind| **kind == "rer.run.recovered").count(), 1, "{at}");
    let behind = types.iter().skip(recovered.unwrap() + 1);
    // A gap for each open step may stand between.
    let behind: Vec<&str> = behind.filter(|kind| **kind != "rer.capture.gap").copied().collect();
    assert_eq!(behind, ["rer.run.ended"], "{at}");
}

/// Returns the distance between two cuts in a write. `REENACT_EVERY_BYTE=1` cuts each write at each byte.
fn stride() -> usize {
    if std::env::var_os("REENACT_EVERY_BYTE").is_some() { 1 } else { 53 }
}

/// A kill leaves everything that was written before, and a part of the last write.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_moment_leaves_what_others_have_seen() {
    let Some(run) = record_traced_run(Durability::Process).await else { return };
    let (mut moment, mut judged) = (StorageSnapshot::default(), 0);
    for (number, act) in run.ops.iter().enumerate() {
        if let TracedOp::Append(path, bytes) = act {
            let cuts = (1..bytes.len()).step_by(stride()).chain([bytes.len() - 1]);
            for cut in cuts {
                let mut torn = moment.clone();
                torn.append(path, &bytes[..cut]);
                run.check_recovery(&torn, &format!("{number}, after {cut} bytes"), false);
                judged += 1;
            }
        }
        moment.apply(act);
        run.check_recovery(&moment, &format!("after {number}: {act:?}"), false);
        judged += 1;
    }
    assert!(moment.received.len() == 6 && moment.asked.len() == 6 && judged > 200, "{judged}");
}

/// A journal that someone cut off is recovered from what the log has; what is in neither is counted.
#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_is_shorter_than_its_log_is_recovered() {
    let Some(run) = record_traced_run(Durability::Process).await else { return };
    let (mut moment, mut judged, mut healed) = (StorageSnapshot::default(), 0, 0);
    for (number, act) in run.ops.iter().enumerate() {
        moment.apply(act);
        let files = || moment.files.iter();
        // A log that is being removed is none any more.
        let is_log = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "wal")
                && path.parent().is_some_and(|log| log.extension().is_none())
        };
        let Some((_, journal)) = files().find(|(path, _)| path.ends_with("journal.jsonl")) else { continue };
        if !files().any(|(path, bytes)| is_log(path) && !bytes.is_empty()) {
            continue;
        }
        // Where the lines end, and in the middle of the last line.
        let ends: Vec<usize> =
            journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let cuts = ends.iter().rev().skip(1).step_by(2).copied().chain([journal.len().saturating_sub(9)]);
        for cut in cuts.filter(|cut| ends.first().is_some_and(|head| cut >= head)).collect::<Vec<_>>() {
            let lost = run.check_short_recovery(&moment, cut, &format!("after {number}, cut to {cut}"));
            judged += 1;
            healed += usize::from(lost.is_none());
        }
    }
    assert!(judged > 100 && healed > 10 && healed < judged, "{healed} of {judged}");
}

/// A power loss leaves what was synced, and any pages of the rest; the log is gone with the memory.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_machine_leaves_what_was_acknowledged() {
    let Some(run) = record_traced_run(Durability::Machine).await else { return };
    let mut moment = StorageSnapshot::default();
    let mut chance = 1_u64;
    for (number, act) in run.ops.iter().enumerate() {
        moment.apply(act);
        let nothing = moment.after_power_loss(&run.dir, || false);
        run.check_recovery(&nothing, &format!("after {number}, nothing more"), true);
        let some = moment.after_power_loss(&run.dir, || {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            chance >> 63 == 1
        });
        run.check_recovery(&some, &format!("after {number}, some pages"), true);
    }
    assert!(moment.received.len() == 6 && moment.asked.len() == 6);
}
