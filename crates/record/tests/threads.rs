//! Many pens on many threads, one journal.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::collections::BTreeSet;
use std::thread;

use reenact_json::{Limits, Value};
use reenact_record::{Exchange, RawRequest, Recorder, RunStart, StepId};
use support::{DONE, Place, answer, events, judged, key, run_id};

#[test]
fn sixteen_threads_of_a_thousand_events_make_one_chain() {
    let place = Place::new();
    let (folder, id) = (place.folder(), run_id());
    let recorder = Recorder::begin(&folder, &RunStart::new(id), &key()).unwrap();
    let steps: Vec<Vec<StepId>> = thread::scope(|scope| {
        let work = |thread: usize| {
            let pen = recorder.pen();
            move || {
                let exchange = |at: usize| {
                    let body = format!("{{\"thread\":{thread},\"at\":{at}}}");
                    let path = "/v1/chat/completions";
                    let (provider, method) = ("openai", "POST");
                    let raw = RawRequest { provider, method, path, headers: &[], body: body.as_bytes() };
                    let masked = pen.mask_request(&raw);
                    let key = "0".repeat(64);
                    let step = pen.called(Exchange::Model, &masked, Some("m"), None, &key).unwrap();
                    pen.returned(&step, answer(body.as_bytes())).unwrap();
                    step
                };
                (0..500).map(exchange).collect()
            }
        };
        let threads: Vec<_> = (0..16).map(|thread| scope.spawn(work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let given: BTreeSet<StepId> = steps.iter().flatten().copied().collect();
    assert_eq!(given.len(), 8_000, "no two steps have the same id");
    assert!(steps.iter().all(|steps| steps.is_sorted()));

    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!((sealed.counts.events, sealed.counts.model_calls), (16_002, 8_000));
    let report = judged(&sealed.path, &key());
    assert_eq!(report.reasons, [""; 0]);
    assert_eq!(report.audit.unwrap().ok(), None);

    // Steps are numbered in the order of the journal, each returned with what it was called with, and time never goes back.
    let mut called = 0;
    for (event_type, payload) in events(&folder.journal(id)) {
        if event_type == "rer.model.called" {
            called += 1;
            let payload = Value::parse(payload.as_bytes(), &Limits::default()).unwrap();
            assert!(payload.member("step_id").unwrap().is_string(&format!("s{called}")));
        }
    }
    assert_eq!(called, 8_000);
    let journal = std::fs::read_to_string(folder.journal(id)).unwrap();
    let timestamps: Vec<&str> =
        journal.lines().skip(1).map(|line| line.rsplit("\"timestamp\":").next().unwrap()).collect();
    assert!(timestamps.is_sorted());
}
