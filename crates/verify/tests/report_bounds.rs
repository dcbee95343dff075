//! Every list and every text of a report has an upper bound, whatever the file holds: thousands of faults of every kind, and
//! long texts wherever a text may stand, in each format.
#![allow(clippy::unwrap_used)]

mod replay_bundle_fixture;
mod support;

use reenact_testkit::fixture::TestKey;
use reenact_verify::report::{MAX_LIST_ITEMS, MAX_TEXT_BYTES};
use reenact_verify::{
    BundleMembers, Demands, FormatId, Keys, Options, Report, TargetOutcome, render, verify, verify_members,
};
use replay_bundle_fixture::BundleDraft;
use serde_json::{Map, Value as Json, json};
use support::{KeyRing as _, tricky_artifact};

/// Number of items that hostile lists have.
const MANY: usize = 3_000;

/// Returns a text of 20 KB that differs by number.
fn long(number: usize) -> String {
    format!("{number}{}", "𝔛\u{202e}".repeat(2_900))
}

/// Makes every list of a document long. An item that is added stays as it was, becomes empty, changes its kind, or has its texts
/// made long.
fn lengthen(value: &Json) -> Json {
    match value {
        Json::Array(items) => {
            let mut all: Vec<Json> = items.iter().map(lengthen).collect();
            for (number, item) in items.iter().cycle().enumerate().take(MANY * usize::from(!items.is_empty()))
            {
                all.push(match number % 4 {
                    0 => item.clone(),
                    1 => json!({}),
                    2 => json!(number),
                    _ if number < 200 => long_texts(item, number),
                    _ => mistyped(item),
                });
            }
            Json::Array(all)
        }
        Json::Object(members) => {
            let mut all: Map<String, Json> =
                members.iter().map(|(name, value)| (name.clone(), lengthen(value))).collect();
            all.extend((0..50).map(|number| (long(number), json!(number))));
            Json::Object(all)
        }
        other => other.clone(),
    }
}

fn long_texts(value: &Json, number: usize) -> Json {
    match value {
        Json::String(_) => json!(long(number)),
        Json::Array(items) => items.iter().map(|item| long_texts(item, number)).collect(),
        Json::Object(members) => Json::Object(
            members.iter().map(|(name, value)| (name.clone(), long_texts(value, number))).collect(),
        ),
        other => other.clone(),
    }
}

/// Returns an object whose members all have another kind.
fn mistyped(value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            Json::Object(members.iter().map(|(name, value)| (name.clone(), mistyped(value))).collect())
        }
        Json::String(_) => json!(-1.5),
        _ => json!("a text"),
    }
}

/// Asserts the bounds of every list and text in the JSON of a report, and that the text for people has no more lines.
fn assert_bounded(report: &Report, what: &str) {
    assert!(!report.pass(), "{what} is not hostile");
    let outcome = TargetOutcome::Report(report.clone());
    let json = outcome.to_json("x");
    let members: Json = serde_json::from_str(&json).unwrap();
    walk(&members, what);
    assert!(json.len() < 1 << 20, "{what}: {} bytes of report", json.len());
    assert!(
        render::outcome_text("x", &outcome, &Demands::default(), &render::plain).lines().count()
            <= 2 * MAX_LIST_ITEMS
    );
    for failed in report.failed() {
        let own = format!("{failed}: ");
        assert!(
            report.reasons.iter().any(|reason| reason.starts_with(&own)),
            "{what}: {failed} has no reason"
        );
    }
}

fn walk(value: &Json, what: &str) {
    match value {
        Json::String(text) => assert!(text.len() <= MAX_TEXT_BYTES, "{what}: {} bytes: {text}", text.len()),
        Json::Array(items) => {
            assert!(items.len() <= MAX_LIST_ITEMS, "{what}: {} items", items.len());
            items.iter().for_each(|item| walk(item, what));
        }
        Json::Object(members) => {
            assert!(members.len() <= MAX_LIST_ITEMS, "{what}: {} members", members.len());
            for (name, value) in members {
                assert!(name.len() <= MAX_TEXT_BYTES, "{what}: {name}");
                walk(value, what);
            }
        }
        _ => {}
    }
}

fn read(path: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn report_as(format: FormatId, bytes: &[u8], keys: &Keys) -> Report {
    verify(bytes, keys, &Options { format: Some(format), ..Options::default() })
}

/// Returns a sound document of a format.
fn sound(format: FormatId) -> Json {
    let text = match format {
        FormatId::Rer => tricky_artifact(&TestKey::of(1)),
        FormatId::Rpk => read("crates/cli/tests/cases/holds/rpk_respelled/files/run.rpk"),
        _ => read("vectors/model_io/files/valid_basic_replay.json"),
    };
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn documents() {
    let keys = TestKey::of(1).keys();
    for format in [FormatId::Rer, FormatId::Rpk, FormatId::ModelIo] {
        let sound = sound(format);
        assert_bounded(&report_as(format, lengthen(&sound).to_string().as_bytes(), &keys), format.name());
        assert_bounded(
            &report_as(format, long_texts(&sound, 1).to_string().as_bytes(), &keys),
            format.name(),
        );
        assert_bounded(&report_as(format, mistyped(&sound).to_string().as_bytes(), &keys), format.name());
    }
    assert_bounded(&verify(long(1).as_bytes(), &keys, &Options::default()), "junk");
}

/// Of 36,000 violations the list has the first, those of rules that are rarely broken among them, and a note has the number of
/// the others.
#[test]
fn violations_of_model_io() {
    let mut session = sound(FormatId::ModelIo);
    let broken =
        json!({"i": "x", "prompt_hash": "y".repeat(2_000), "response_hash": 7, "response_content": "a"});
    session["interactions"] = Json::Array(vec![broken; 9_000]);
    session["adapter_id"] = json!("");
    let report = report_as(FormatId::ModelIo, session.to_string().as_bytes(), &Keys::default());
    assert_bounded(&report, "interactions");
    let violations = report.violations().unwrap();
    assert!(violations.iter().any(|violation| violation.rule_id == "MI2"), "a rule that is broken once");
    let count = violations.len();
    let listed = |rule: &str| violations.iter().filter(|violation| violation.rule_id == rule).count();
    assert!(listed("MI5") >= 20 && listed("MI6") >= 20 && listed("MI7") >= 20, "{count}");
    let note = report.notes.iter().find(|note| note.contains("violations")).unwrap();
    let more: usize = note.split(' ').next().unwrap().parse().unwrap();
    // MI5 to MI7 by each interaction, MI8 by each but the first, MI2 once.
    assert_eq!(more + count, 3 * 9_000 + 8_999 + 1, "{note}");
}

#[test]
fn replays() {
    let sound = String::from_utf8(read("vectors/replay_jsonl/valid/r02_document_example_shape/REPLAY.jsonl"))
        .unwrap();
    let mut lines: Vec<String> = sound.lines().map(str::to_owned).collect();
    for (number, line) in sound.lines().cycle().enumerate().take(MANY) {
        let event: Json = serde_json::from_str(line).unwrap();
        let event = match number % 4 {
            0 => event,
            1 if number < 200 => long_texts(&event, number),
            1 => json!({"event": event["event"]}),
            2 => mistyped(&event),
            _ => json!({"event": event["event"], long(number % 50): number}),
        };
        lines.push(event.to_string());
        lines.push("no JSON".into());
    }
    let report = report_as(FormatId::ReplayJsonl, lines.join("\n").as_bytes(), &Keys::default());
    assert_bounded(&report, "replay");
}

#[test]
fn rer_bundles() {
    let listed: Vec<Json> = (0..MANY)
        .map(|number| match number % 3 {
            0 => json!({"hash": "00".repeat(32), "size_bytes": number}),
            1 => json!({"hash": long(number % 50), "size_bytes": "much"}),
            _ => json!({}),
        })
        .collect();
    let manifest = json!({
        "manifest_version": "rer-manifest/0.2", "artifact_hash": "00".repeat(32), "blobs": listed,
        "total_event_count": 9, "redacted_event_count": "x", long(1): 1, long(2): 2,
    });
    let mut members = BundleMembers::default();
    let artifact = lengthen(&sound(FormatId::Rer)).to_string();
    members.add("artifact.json", &mut artifact.as_bytes()).unwrap();
    members.add("manifest.json", &mut manifest.to_string().as_bytes()).unwrap();
    for number in 0..MANY {
        members.add(&format!("blobs/{number:064x}.bin"), &mut &b"other"[..]).unwrap();
        members.add(&format!("stray/{number}/{}", long(0)), &mut &b"other"[..]).unwrap();
    }
    let report = verify_members(&members, &TestKey::of(1).keys(), &Options::default());
    assert_eq!(report.format, "rer-bundle");
    assert_bounded(&report, "bundle");
}

#[test]
fn replay_bundles() {
    let secret = replay_bundle_fixture::SECRET.as_bytes();
    let mut draft = BundleDraft::sound();
    for number in 0..900 {
        draft.add(&format!("cassettes/{number}-{}.json", "x".repeat(60)), secret);
        draft.files.push((format!("outputs/unlisted-{number}"), secret.to_vec()));
        draft.files.push((format!("elsewhere/{number}"), b"x".to_vec()));
        draft.manifest["files"][format!("files/missing-{number}-{}", long(number % 9))] =
            json!({"sha256": 1, "size": -1});
    }
    assert_bounded(&verify(&draft.pack(), &Keys::default(), &Options::default()), "listed and unlisted");
    let draft = BundleDraft::with(|manifest| *manifest = lengthen(&long_texts(manifest, 3)));
    assert_bounded(&verify(&draft.pack(), &Keys::default(), &Options::default()), "manifest");
}
