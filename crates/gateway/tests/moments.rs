//! Every moment of a run: the recorder is killed there, or the machine goes down. What others had seen by then is in the
//! record, and the record holds.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::PathBuf;

use reenact_capture::LeftoverLog;
use reenact_keys::SecretKey;
use reenact_record::{Durability, End, Folder, Recorder, ResumeError, RunId, RunStatus};
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{Answer, Received, Request, Script, Vendor};
use support::trace::{Act, Moment, Trace};
use support::{Flight, Landed, Logs, chat};
use tokio::io::AsyncReadExt;

/// The name that a client gave its question.
fn name(body: &[u8]) -> String {
    let text = std::str::from_utf8(body).unwrap();
    text.split("question ").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// A plain answer or a stream, as is asked for, each with a body of its own.
fn answer(request: &Request) -> Answer {
    let name = name(&request.body);
    match request.body.windows(13).any(|part| part == b"\"stream\":true") {
        false => {
            Answer::json(200, format!("{{\"choices\":[],\"id\":\"{name}\",\"x\":\"{}\"}}", "y".repeat(5000)))
        }
        true => {
            let event = |part| format!("data: {{\"choices\":[],\"id\":\"{name}-{part}\"}}\n\n");
            Answer::events([event(1), event(2), event(3), "data: [DONE]\n\n".to_owned()])
        }
    }
}

/// A run in which several clients ask at once, and all that happened in it.
struct Flown {
    acts: Vec<Act>,
    place: PathBuf,
    logs: PathBuf,
    run_id: RunId,
    key: SecretKey,
}

async fn fly(durability: Durability) -> Option<Flown> {
    let trace = Trace::default();
    let at_vendor = trace.clone();
    let script = Script::answering(move |request| {
        at_vendor.saw(Act::Asked(name(&request.body)));
        answer(request)
    });
    let vendor = Vendor::start(script).unwrap();
    let flight = Flight::traced(&vendor, durability, &trace)?;
    let (place, logs) = (flight.place.path().to_owned(), flight.logs.as_ref()?.0.path().to_owned());
    let (run_id, key) = (flight.run_id(), SecretKey::from_jwk(flight.key().to_jwk().as_bytes()).unwrap());
    let client = flight.openai();
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
                    trace.saw(Act::Received(name.clone(), buffer[..length].to_vec()));
                }
            }
        })
    });
    for task in asking {
        task.await.unwrap();
    }
    let landed = flight.land().await;
    assert_eq!(landed.all("rer.model.returned").len(), 6);
    Some(Flown { acts: trace.acts(), place, logs, run_id, key })
}

impl Flown {
    /// Has the run recovered from what lay there at a moment, and compares.
    fn judge(&self, moment: &Moment, at: &str, only_whole: bool) {
        let (place, logs) = (TestDir::in_memory(), Logs::new().unwrap());
        let log_place = logs.place();
        fs::create_dir_all(place.join(".reenact/runs").join(self.run_id.to_string())).unwrap();
        for (path, bytes) in &moment.files {
            let path = match path.strip_prefix(&self.place) {
                Ok(rest) => place.join(rest),
                Err(_) => logs.0.join(path.strip_prefix(&self.logs).unwrap()),
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let folder = Folder::new(place.join(Folder::NAME));
        let mut remains = None;
        let resumed = Recorder::resume(&folder, self.run_id, &self.key, || {
            remains = LeftoverLog::read(&log_place, self.run_id).unwrap();
            remains.as_ref()?.journal_bytes()
        });
        let path = match resumed {
            Ok(recorder) => {
                if let Some(remains) = remains {
                    remains.write(&recorder.pen(), []).unwrap();
                }
                let end = End { status: RunStatus::Crashed, reason: "killed", exit_code: None };
                recorder.end(&end).unwrap().seal(&self.key).unwrap().path
            }
            Err(ResumeError::Ended) => {
                Recorder::resume_ended(&folder, self.run_id, &self.key).unwrap().seal(&self.key).unwrap().path
            }
            Err(error) => {
                let nothing = moment.asked.is_empty() && moment.received.is_empty();
                assert!(nothing, "{at}: {error}");
                return;
            }
        };
        let landed = Landed::of(place, &path, &self.key);
        let called: Vec<String> = landed
            .all("rer.model.called")
            .iter()
            .map(|called| name(called["http"]["body"]["text"].as_str().unwrap().as_bytes()))
            .collect();
        let returned = landed.all("rer.model.returned");
        let answer = |name: &str| {
            let mut steps =
                landed.all("rer.model.called").into_iter().zip(&called).filter(|(_, it)| *it == name);
            let step = steps.next().map(|(called, _)| &called["step_id"]);
            assert!(steps.next().is_none(), "{at}: {name} is there twice");
            returned.iter().find(|returned| Some(&returned["step_id"]) == step)
        };
        for name in &moment.asked {
            assert!(called.contains(name), "{at}: the vendor has {name}, the record has {called:?}");
        }
        for (name, received) in &moment.received {
            let Received { body, is_whole } = Received::read(received);
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
        let gaps = landed.all("rer.capture.gap");
        assert!(
            gaps.iter().filter(|gap| gap["what"] == "answer").count() >= cut,
            "{at}: a gap for each that broke off"
        );
    }
}

/// `REENACT_EVERY_BYTE=1` cuts each write at each of its bytes; here some of them will do.
fn stride() -> usize {
    if std::env::var_os("REENACT_EVERY_BYTE").is_some() { 1 } else { 53 }
}

/// A kill leaves what was given to the system: all that was written up to it, and of the last write a part.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_moment_leaves_what_others_have_seen() {
    let Some(flown) = fly(Durability::Process).await else { return };
    let (mut moment, mut judged) = (Moment::default(), 0);
    for (number, act) in flown.acts.iter().enumerate() {
        if let Act::Append(path, bytes) = act {
            let cuts = (1..bytes.len()).step_by(stride()).chain([bytes.len() - 1]);
            for cut in cuts {
                let mut torn = moment.clone();
                torn.append(path, &bytes[..cut]);
                flown.judge(&torn, &format!("{number}, after {cut} bytes"), false);
                judged += 1;
            }
        }
        moment.act(act);
        flown.judge(&moment, &format!("after {number}: {act:?}"), false);
        judged += 1;
    }
    assert!(moment.received.len() == 6 && moment.asked.len() == 6 && judged > 200, "{judged}");
}

/// The end of the machine leaves what was synced, and of the rest any pages; the log is gone with the memory.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_machine_leaves_what_was_acknowledged() {
    let Some(flown) = fly(Durability::Machine).await else { return };
    let mut moment = Moment::default();
    let mut chance = 1_u64;
    for (number, act) in flown.acts.iter().enumerate() {
        moment.act(act);
        let nothing = moment.after_the_machine(&flown.place, || false);
        flown.judge(&nothing, &format!("after {number}, nothing more"), true);
        let some = moment.after_the_machine(&flown.place, || {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            chance >> 63 == 1
        });
        flown.judge(&some, &format!("after {number}, some pages"), true);
    }
    assert!(moment.received.len() == 6 && moment.asked.len() == 6);
}
