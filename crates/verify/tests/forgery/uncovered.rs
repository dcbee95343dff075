//! Changes that pass because no hash covers the changed part.

use serde_json::json;

use crate::support::{KeyRing as _, report_of};
use crate::{PAYLOADS, SCHEMA, assert_noticed, base, remove};
use reenact_testkit::fixture::TestKey;
use reenact_verify::Verdict;

/// Anyone may withhold a payload, since no hash covers that. The report always names it, and the end of a run of 0.1.0
/// that is withheld may hide a recovery.
#[test]
fn anyone_may_withhold_a_payload() {
    for at in 0..4 {
        let mut artifact = base();
        artifact["events"][at]["payload_redacted"] = json!(true);
        artifact["events"][at].as_object_mut().unwrap().remove("payload");
        let report = report_of(artifact.to_string().as_bytes(), &TestKey::of(1).keys());
        assert_eq!(report.reasons, [""; 0]);
        let mut withheld = vec![1, at];
        withheld.sort_unstable();
        withheld.dedup();
        let mut notes: Vec<String> = withheld
            .iter()
            .map(|at| format!("event {at}: payload withheld; its content cannot be checked"))
            .collect();
        if at == 3 {
            notes.push("event 3: the end of the run is withheld: it may have been recovered".into());
        }
        notes.push(
            "whether the producer or someone else withheld it cannot be told from an artifact alone".into(),
        );
        assert_eq!(report.notes, notes);
        let verdict = if at == 3 { Verdict::Recovered } else { Verdict::Intact };
        assert_eq!(report.verdict(), verdict);
    }
}

#[test]
fn what_no_hash_covers() {
    assert_noticed(&[
        ("null for no payload", |a| a["events"][2]["payload"] = json!(null), &[]),
        (
            "a withheld payload put back",
            |a| {
                a["events"][1]["payload_redacted"] = json!(false);
                a["events"][1]["payload"] = json!("secret");
            },
            &[],
        ),
        ("whole numbers with a point", |a| a["events"][1]["step_index"] = json!(1.0), &[]),
        // Changes that only look similar.
        (
            "another payload put back",
            |a| {
                a["events"][1]["payload_redacted"] = json!(false);
                a["events"][1]["payload"] = json!("Secret");
            },
            &[PAYLOADS],
        ),
        ("the flag cleared", |a| a["events"][1]["payload_redacted"] = json!(false), &[PAYLOADS]),
        ("the flag absent", |a| remove(&mut a["events"][1], "payload_redacted"), &[SCHEMA, PAYLOADS]),
        ("the flag a text", |a| a["events"][1]["payload_redacted"] = json!("true"), &[SCHEMA, PAYLOADS]),
        ("the flag 1", |a| a["events"][0]["payload_redacted"] = json!(1), &[SCHEMA]),
        ("the flag null", |a| a["events"][0]["payload_redacted"] = json!(null), &[SCHEMA]),
        ("a payload beside the flag", |a| a["events"][1]["payload"] = json!("secret"), &[SCHEMA]),
        (
            "a forged payload beside the flag",
            |a| {
                a["events"][0]["payload_redacted"] = json!(true);
                a["events"][0]["payload"] = json!("forged");
            },
            &[SCHEMA],
        ),
        ("null beside the flag", |a| a["events"][1]["payload"] = json!(null), &[SCHEMA]),
    ]);
}
