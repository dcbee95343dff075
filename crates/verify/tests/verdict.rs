//! The verdict in one word, and what the keys that a caller gives demand of the signer.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod audit_fixture;
mod support;

use std::path::Path;

use audit_fixture::{RUNTIME, Run, both_keys};
use reenact_formats::rer::seal::Signer as _;
use reenact_formats::rpk::HmacKey;
use reenact_formats::trust::KeyRole;
use reenact_testkit::fixture::TestKey;
use reenact_verify::{Demands, Keys, Options, Report, TargetOutcome, Trust, Verdict, render, verify};
use serde_json::json;
use support::{KeyRing as _, report_of};

fn last_line(report: &Report) -> String {
    last_line_under(report, &Demands::default())
}

fn last_line_under(report: &Report, demands: &Demands) -> String {
    let text = render::outcome_text("x", &TargetOutcome::Report(report.clone()), demands, &render::plain);
    text.lines().last().unwrap().to_owned()
}

fn json_of(report: &Report) -> String {
    TargetOutcome::Report(report.clone()).to_json("x")
}

fn exit_code(report: &Report) -> u8 {
    TargetOutcome::Report(report.clone()).exit_code()
}

/// Returns a run whose recorder came to the end.
fn run() -> Run {
    Run::new(json!({})).tool("s1", "t")
}

#[test]
fn an_artifact_by_the_keys_at_hand() {
    let artifact = run().seal();
    let intact = report_of(&artifact, &both_keys());
    assert_eq!((intact.verdict(), exit_code(&intact)), (Verdict::Intact, 0));
    assert_eq!(last_line(&intact), "  PASS  intact, and signed by the key that you supplied (5 events)");
    assert!(
        json_of(&intact).contains(r#""reasons":[],"verdict":"intact","notes":["#),
        "{}",
        json_of(&intact)
    );

    let key_id = TestKey::of(RUNTIME).public_key().id();
    for (keys, why) in [
        (Keys::default(), "no key was given"),
        (TestKey::of(9).keys(), "none of the keys at hand is the one that the record names"),
    ] {
        let unproven = report_of(&artifact, &keys);
        assert_eq!((unproven.verdict(), exit_code(&unproven)), (Verdict::Unproven, 1));
        assert_eq!(
            last_line(&unproven),
            format!(
                "  UNPROVEN  the hashes hold, but no signature was checked, because {why}: ask the sender for the \
                 public key {key_id}, and give it with --key"
            )
        );
        assert!(json_of(&unproven).contains(r#"],"verdict":"unproven","notes":["#));
    }

    // One check that needs no key fails, too: nothing is only unproven.
    let text = String::from_utf8(artifact).unwrap();
    let forged = text.replacen(r#""step_id":"s1""#, r#""step_id":"s2""#, 1);
    assert_ne!(forged, text);
    let failed = report_of(forged.as_bytes(), &Keys::default());
    assert_eq!((failed.verdict(), exit_code(&failed)), (Verdict::Failed, 1));
    assert_eq!(
        last_line(&failed),
        "  FAIL  3 of 7 checks do not hold: envelope_signature, runtime_signature, payload_hashes"
    );
    assert!(json_of(&failed).contains(r#"],"verdict":"failed","notes":["#));
}

#[test]
fn a_run_whose_end_the_recorder_did_not_vouch_for() {
    let end = |status: &str, reason: &str| json!({"status": status, "reason": reason});
    let withheld_end = |run: Run| run.event("rer.run.ended", json!({})).withheld().unended();
    let newer = |mut run: Run| {
        run.events[0].payload = Some(json!({"payloads": 2}).to_string());
        run
    };
    let table: [(&str, Run, Option<&str>); 9] = [
        ("vouched for", run(), None),
        (
            "recovered",
            run().event("rer.run.recovered", json!({"from": "log"})),
            Some("event 4: the run was recovered: it was sealed after its recorder had stopped"),
        ),
        (
            "recovered, and that is withheld",
            run().event("rer.run.recovered", json!({"from": "log"})).withheld(),
            Some("event 4: the run was recovered: it was sealed after its recorder had stopped"),
        ),
        (
            "journal changed",
            newer(run()).event("rer.journal.changed", json!({"at": 3, "kept": 3})),
            Some(
                "event 4: the journal was changed while the run was recorded; the recorder kept what it could vouch for",
            ),
        ),
        (
            "0.1.0, recovered",
            run().ending(end("crashed", "its recorder did not come to the end")),
            Some("event 4: the run ended as crashed: it was sealed after its recorder had stopped"),
        ),
        ("0.1.0, the agent was killed", run().ending(end("crashed", "signal 9")), None),
        (
            "0.1.0, its end withheld",
            withheld_end(run()),
            Some("event 4: the end of the run is withheld: it may have been recovered"),
        ),
        ("newer, crashed", newer(run()).ending(end("crashed", "anything")), None),
        ("newer, its end withheld", withheld_end(newer(run())), None),
    ];
    for (what, run, note) in table {
        let report = report_of(&run.seal(), &both_keys());
        assert_eq!((report.pass(), exit_code(&report)), (true, 0), "{what}: {:?}", report.reasons);
        match note {
            None => {
                assert_eq!(report.verdict(), Verdict::Intact, "{what}");
                assert!(last_line(&report).starts_with("  PASS  intact, and signed by"), "{what}");
            }
            Some(note) => {
                assert_eq!(report.verdict(), Verdict::Recovered, "{what}");
                assert!(report.notes.iter().any(|found| found == note), "{what}: {:?}", report.notes);
                let line = last_line(&report);
                let begin = "  RECOVERED  the recorder did not vouch for the end of this run; the record is intact, and \
                             signed by the key that you supplied (";
                assert!(line.starts_with(begin), "{what}: {line}");
                assert!(
                    json_of(&report).contains(r#""reasons":[],"verdict":"recovered","notes":["#),
                    "{what}"
                );
                // What is not proven is not said to be recovered.
                let unproven = report_of(&run.seal(), &Keys::default());
                assert_eq!(unproven.verdict(), Verdict::Unproven, "{what}");
            }
        }
    }
}

fn example(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/runs").join(name)).unwrap()
}

fn shared_key() -> Keys {
    let mut keys = Keys::default();
    keys.set_hmac_key(HmacKey::from_text(&example("shared.key")).unwrap());
    keys
}

#[test]
fn a_shared_key_that_is_missing() {
    let signed = example("invoice.bundle");
    let report = verify(&signed, &Keys::default(), &Options::default());
    assert_eq!((report.verdict(), exit_code(&report)), (Verdict::Unproven, 1));
    let line = last_line(&report);
    let begin = "  UNPROVEN  the hashes hold, but the signature was not checked, because no key was given: ask the \
                 sender for the shared key";
    assert!(line.starts_with(begin) && line.ends_with(", and give it with --hmac-key-file"), "{line}");
    assert_eq!(verify(&signed, &shared_key(), &Options::default()).verdict(), Verdict::Intact);
}

/// A key that was given demands that it signed: everything else is answered with no, and says so.
#[test]
fn keys_that_are_given_demand_their_signature() {
    let demands = Demands { supplied: true, ..Demands::default() };
    let unmet = |report: &Report| demands.unmet(report).join("\n");
    let outcome = |report: Report| demands.exit_code(&TargetOutcome::Report(report));

    let own = report_of(&run().seal(), &both_keys());
    assert_eq!((unmet(&own).as_str(), outcome(own)), ("", 0));

    let mut trusted = Keys::default();
    trusted.add(TestKey::of(RUNTIME).public_key(), Trust::Trusted, KeyRole::Runtime.into(), None);
    let trusted = report_of(&run().seal(), &trusted);
    assert_eq!(
        unmet(&trusted),
        "--key: the signer is trusted, so it is not signed by a key that was given (--any-signer takes any)"
    );
    assert_eq!((exit_code(&trusted), outcome(trusted)), (0, 1));

    for unsigned in ["minimal.rpk", "invoice.model_io.json", "invoice.replay/REPLAY.jsonl", "invoice.tar.gz"]
    {
        let report = verify(&example(unsigned), &both_keys(), &Options::default());
        assert!(report.pass(), "{unsigned}: {:?}", report.reasons);
        let said =
            "--key: nothing is signed, so it is not signed by a key that was given (--any-signer takes any)";
        assert_eq!(unmet(&report), said, "{unsigned}");
        assert!(last_line(&report).starts_with("  PASS  "), "{unsigned}");
        assert!(last_line_under(&report, &demands).starts_with("  INTACT  "), "{unsigned}");
        assert_eq!(outcome(report), 1, "{unsigned}");
    }

    // The shared key counts as a key that was given.
    let signed = verify(&example("invoice.bundle"), &shared_key(), &Options::default());
    assert_eq!((unmet(&signed).as_str(), outcome(signed)), ("", 0));
    // And demands its signature in turn: whoever strips one is noticed.
    let shared = Demands { shared_key: true, ..Demands::default() };
    let stripped = verify(&example("minimal.rpk"), &shared_key(), &Options::default());
    assert_eq!(
        shared.unmet(&stripped),
        [
            "--hmac-key-file: nothing is signed, so it is not signed by a key that was given (--any-signer takes any)"
        ]
    );
    assert_eq!(shared.unmet(&report_of(&run().seal(), &Keys::default())), [""; 0]);
}
