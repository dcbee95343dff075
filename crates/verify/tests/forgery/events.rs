//! Events that are removed, repeated, moved or changed.

use serde_json::json;

use crate::{
    CHAIN, HEAD, PAYLOADS, RUNTIME_SIG, SCHEMA, assert_noticed, base, event_hash, events, hash, rehash,
    remove, renumber,
};

#[test]
fn events_removed_repeated_moved() {
    assert_noticed(&[
        ("first removed", |a| drop(events(a).remove(0)), &[CHAIN]),
        ("middle removed", |a| drop(events(a).remove(1)), &[CHAIN]),
        ("last removed", |a| drop(events(a).pop()), &[HEAD, RUNTIME_SIG]),
        ("all removed", |a| events(a).clear(), &[HEAD, RUNTIME_SIG]),
        ("all but the last removed", |a| drop(events(a).drain(..3)), &[CHAIN]),
        ("first repeated", |a| a["events"][1] = a["events"][0].clone(), &[CHAIN]),
        ("first twice", |a| events(a).insert(0, base()["events"][0].clone()), &[CHAIN]),
        ("last twice", |a| events(a).push(base()["events"][3].clone()), &[CHAIN]),
        ("middle swapped", |a| events(a).swap(1, 2), &[CHAIN]),
        ("last two swapped", |a| events(a).swap(2, 3), &[CHAIN, HEAD, RUNTIME_SIG]),
        ("reversed", |a| events(a).reverse(), &[CHAIN, HEAD, RUNTIME_SIG]),
        (
            "the whole log twice",
            |a| {
                let again = events(a).clone();
                events(a).extend(again);
            },
            &[CHAIN],
        ),
    ]);
}

#[test]
fn events_removed_repeated_moved_and_rehashed() {
    assert_noticed(&[
        ("first removed", |a| (drop(events(a).remove(0)), rehash(a)).1, &[RUNTIME_SIG]),
        ("middle removed", |a| (drop(events(a).remove(2)), rehash(a)).1, &[RUNTIME_SIG]),
        ("last removed", |a| (drop(events(a).pop()), rehash(a)).1, &[RUNTIME_SIG]),
        (
            "last removed, head fixed",
            |a| (drop(events(a).pop()), a["log_head_hash"] = a["events"][2]["event_hash"].clone()).1,
            &[RUNTIME_SIG],
        ),
        ("swapped", |a| (events(a).swap(1, 2), rehash(a)).1, &[CHAIN, RUNTIME_SIG]),
        ("swapped and renumbered", |a| (events(a).swap(1, 2), renumber(a), rehash(a)).2, &[RUNTIME_SIG]),
        ("reversed and renumbered", |a| (events(a).reverse(), renumber(a), rehash(a)).2, &[RUNTIME_SIG]),
        (
            "first twice",
            |a| (events(a).insert(0, base()["events"][0].clone()), rehash(a)).1,
            &[CHAIN, RUNTIME_SIG],
        ),
        (
            "first twice, renumbered",
            |a| (events(a).insert(0, base()["events"][0].clone()), renumber(a), rehash(a)).2,
            &[RUNTIME_SIG],
        ),
        (
            "one appended, chained",
            |a| {
                let mut forged = base()["events"][3].clone();
                forged["step_index"] = json!(4);
                forged["parent_event_hash"] = forged["event_hash"].clone();
                forged["event_hash"] = event_hash(&forged);
                events(a).push(forged);
            },
            &[HEAD, RUNTIME_SIG],
        ),
        ("a gap in the steps", |a| (a["events"][3]["step_index"] = json!(9), rehash(a)).1, &[RUNTIME_SIG]),
    ]);
}

#[test]
fn members_of_events() {
    assert_noticed(&[
        ("payload", |a| a["events"][0]["payload"]["n"] = json!(1), &[PAYLOADS]),
        (
            "payload and its hash",
            |a| {
                a["events"][0]["payload"] = json!(1);
                a["events"][0]["payload_hash"] = hash(&json!(1));
            },
            &[CHAIN],
        ),
        (
            "payload and its hash, last event",
            |a| {
                a["events"][3]["payload"] = json!(1);
                a["events"][3]["payload_hash"] = hash(&json!(1));
            },
            &[CHAIN, RUNTIME_SIG],
        ),
        ("payload, rehashed", |a| (a["events"][0]["payload"] = json!(1), rehash(a)).1, &[RUNTIME_SIG]),
        ("payload where there was none", |a| a["events"][2]["payload"] = json!(false), &[PAYLOADS]),
        ("payload taken out", |a| remove(&mut a["events"][0], "payload"), &[PAYLOADS]),
        (
            "payloads swapped",
            |a| {
                let first = a["events"][0]["payload"].take();
                a["events"][0]["payload"] = a["events"][3]["payload"].take();
                a["events"][3]["payload"] = first;
            },
            &[PAYLOADS],
        ),
        ("timestamp", |a| a["events"][0]["timestamp"] = json!("2026-05-13T12:34:56.70Z"), &[CHAIN]),
        (
            "timestamp of the last event",
            |a| a["events"][3]["timestamp"] = json!("2026-05-13T12:34:56.70Z"),
            &[CHAIN, RUNTIME_SIG],
        ),
        (
            "timestamp, rehashed",
            |a| (a["events"][0]["timestamp"] = json!("2026-05-13T12:34:56.70Z"), rehash(a)).1,
            &[RUNTIME_SIG],
        ),
        ("event_type", |a| a["events"][0]["event_type"] = json!("rer.run.ended"), &[CHAIN]),
        ("event_type, no type at all", |a| a["events"][0]["event_type"] = json!("Rer.Run"), &[SCHEMA, CHAIN]),
        ("event_version", |a| a["events"][0]["event_version"] = json!("rer-event/0.1"), &[SCHEMA, CHAIN]),
        ("step_index", |a| a["events"][1]["step_index"] = json!(2), &[CHAIN]),
        ("step_index as text", |a| a["events"][1]["step_index"] = json!("1"), &[SCHEMA, CHAIN]),
        (
            "step_index negative, rehashed",
            |a| (a["events"][0]["step_index"] = json!(-1), rehash(a)).1,
            &[SCHEMA, RUNTIME_SIG],
        ),
        (
            "step_index 2^53, rehashed",
            |a| (a["events"][3]["step_index"] = json!(1_u64 << 53), rehash(a)).1,
            &[SCHEMA, RUNTIME_SIG],
        ),
        ("payload_hash", |a| a["events"][0]["payload_hash"] = hash(&json!(0)), &[CHAIN, PAYLOADS]),
        ("payload_hash of a withheld one", |a| a["events"][1]["payload_hash"] = hash(&json!(0)), &[CHAIN]),
        (
            "payload_hash of a withheld one, rehashed",
            |a| (a["events"][1]["payload_hash"] = hash(&json!(0)), rehash(a)).1,
            &[RUNTIME_SIG],
        ),
        ("event_hash", |a| a["events"][0]["event_hash"] = hash(&json!(0)), &[CHAIN]),
        ("event_hash of the last event", |a| a["events"][3]["event_hash"] = hash(&json!(0)), &[CHAIN, HEAD]),
        (
            "event_hash of the last event and the head",
            |a| {
                a["events"][3]["event_hash"] = hash(&json!(0));
                a["log_head_hash"] = hash(&json!(0));
            },
            &[CHAIN],
        ),
        (
            "event_hash and the link to it",
            |a| {
                a["events"][0]["event_hash"] = hash(&json!(0));
                a["events"][1]["parent_event_hash"] = hash(&json!(0));
            },
            &[CHAIN],
        ),
        ("first parent zeros", |a| a["events"][0]["parent_event_hash"] = json!("0".repeat(64)), &[CHAIN]),
        ("first parent empty", |a| a["events"][0]["parent_event_hash"] = json!(""), &[SCHEMA, CHAIN]),
        ("parent null in the middle", |a| a["events"][2]["parent_event_hash"] = json!(null), &[CHAIN]),
        ("parent absent", |a| remove(&mut a["events"][2], "parent_event_hash"), &[SCHEMA, CHAIN]),
        (
            "last event without its hash",
            |a| remove(&mut a["events"][3], "event_hash"),
            &[SCHEMA, CHAIN, HEAD],
        ),
        (
            "last event without a timestamp",
            |a| remove(&mut a["events"][3], "timestamp"),
            &[SCHEMA, CHAIN, RUNTIME_SIG],
        ),
        ("null for an event", |a| a["events"][1] = json!(null), &[SCHEMA, CHAIN, PAYLOADS]),
        (
            "null for the last event",
            |a| a["events"][3] = json!(null),
            &[SCHEMA, CHAIN, HEAD, RUNTIME_SIG, PAYLOADS],
        ),
        (
            "null for the last event and for the head",
            |a| {
                a["events"][3] = json!(null);
                a["log_head_hash"] = json!(null);
            },
            &[SCHEMA, CHAIN, HEAD, RUNTIME_SIG, PAYLOADS],
        ),
        (
            "an object for events",
            |a| a["events"] = json!({"0": a["events"][0]}),
            &[SCHEMA, CHAIN, HEAD, RUNTIME_SIG, PAYLOADS],
        ),
        ("no events member", |a| remove(a, "events"), &[SCHEMA, CHAIN, HEAD, RUNTIME_SIG, PAYLOADS]),
    ]);
}
