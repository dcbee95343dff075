//! Giving a run to others: withheld payloads, bundles, and what is refused.

use std::fs;

use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

fn recorded() -> TestProject {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", REENACT, "demo-agent"]).expect(0, "...\n", "");
    project
}

#[test]
fn what_is_withheld_is_gone_and_the_rest_verifies() {
    let project = recorded();
    project.run(&["redact", "last", "--where", "Lisbon", "--out", "shared.rer.json"]).expect(
        0,
        "withheld [..] payloads of 16 events in shared.rer.json\n...\n\
         it proves still: these events happened in this order, [..]\n\
         it proves no longer: what was in them. [..]\n\
         next: reenact verify shared.rer.json\n",
        "",
    );
    let shared = fs::read_to_string(project.folder.path().join("shared.rer.json")).unwrap();
    assert!(!shared.contains("Lisbon"));
    assert!(fs::read_to_string(project.artifact()).unwrap().contains("Lisbon"));
    project.run(&["verify", "--json", "shared.rer.json"]).expect(
        0,
        "{\"target\":\"shared.rer.json\",\"format\":\"rer-artifact/0.2\",\"pass\":true,[..]\n",
        "",
    );
    project.run(&["verify", "--deny-redacted", "shared.rer.json"]).expect(1, "...\n", "...");

    // An existing file is not replaced, and a redaction that withholds nothing writes nothing.
    project.run(&["redact", "last", "--event", "1", "--out", "shared.rer.json"]).expect(
        2,
        "",
        "reenact: shared.rer.json: there is such a file already; give another name\n",
    );
    project.run(&["redact", "last", "--where", "Atlantis", "--out", "other.rer.json"]).expect(
        1,
        "",
        "reenact: no payload was chosen, so nothing was written\n",
    );
    project.run(&["redact", "last", "--event", "16", "--out", "other.rer.json"]).expect(
        2,
        "",
        "reenact: there is no event 16; they are numbered 0 to 15\n",
    );
    assert!(!project.folder.path().join("other.rer.json").exists());
}

#[test]
fn a_policy_tells_everything_but_the_text() {
    let project = recorded();
    let policy = project.run(&["redact", "last", "--where", "Vienna", "--kind", "run.*", "--print-policy"]);
    policy.expect(
        0,
        "Redaction of run [..]\n\n[..] payloads of 16 events withheld; 0 before.\n...\n     0  rer.run.started[..] kind   [..]\n...\n",
        "",
    );
    assert!(!policy.stdout.contains("Vienna"));
    let json = project.run(&["redact", "last", "--event", "3", "--print-policy", "--json"]);
    json.expect(
        0,
        "{\"source\":\"[..]\",\"events\":16,\"withheld_before\":0,\"withheld\":[{\"event\":3,\"event_type\":\"rer.tool.called\",\"payload_hash\":\"[..]\",\"by\":\"event\"}]}
",
        "",
    );
}

#[test]
fn a_bundle_is_made_and_withheld_from() {
    let project = recorded();
    project.run(&["share", "--as", "rer"]).expect(
        0,
        "[..]/state/bundles/[..].rer.tar.gz ([..]): 16 events, 0 files, 0 payloads withheld; bound, signed again and verified\nnext: [..]\n",
        "",
    );
    project.run(&["share", "last", "--as", "rer", "--out", "run.rer.tar.gz"]).expect(0, "...\n", "");
    project.run(&["verify", "--json", "run.rer.tar.gz"]).expect(
        0,
        "{\"target\":\"run.rer.tar.gz\",\"format\":\"rer-bundle\",\"pass\":true,[..]
",
        "",
    );
    project.run(&["redact", "run.rer.tar.gz", "--kind", "tool.*", "--out", "less.rer.tar.gz"]).expect(
        0,
        "withheld 6 payloads of 16 events in less.rer.tar.gz\n...\nbound and signed again; 0 files left out[..]\n...\n",
        "",
    );
    project.run(&["verify", "--json", "less.rer.tar.gz"]).expect(
        0,
        "{\"target\":\"less.rer.tar.gz\",\"format\":\"rer-bundle\",\"pass\":true,[..]\"redacted_count\":true,[..]
",
        "",
    );
    // The same bytes every time.
    project
        .run(&["share", "run.rer.tar.gz", "--as", "rer", "--out", "again.rer.tar.gz"])
        .expect(0, "...\n", "");
    let read = |name: &str| fs::read(project.folder.path().join(name)).unwrap();
    assert_eq!(read("run.rer.tar.gz"), read("again.rer.tar.gz"));
}

/// Each format is made of the last run, lies among the bundles, and verifies there.
#[test]
fn every_format_is_made_of_a_run() {
    let project = recorded();
    for (format, first, suffix, verified) in [
        ("replay", "[..]: 4 answers, 4 cassettes; verified", ".tar.gz", "replay-bundle/1"),
        ("rpk", "converted [..] (rer) to [..] (rpk)", ".rpk", "rpk/1.0"),
        ("model-io", "converted [..] (rer) to [..] (model-io)", ".model_io.json", "model-io/1.0.0"),
        ("replay-jsonl", "converted [..] (rer) to [..] (replay-jsonl)", ".replay", "replay-jsonl/1"),
    ] {
        project.run(&["share", "--as", format]).expect(0, &format!("{first}\n...\n"), "");
        let json = project.run(&["share", "--as", format, "--out", &format!("given{suffix}"), "--json"]);
        json.expect(
            0,
            &format!(
                "{{\"out\":\"given{suffix}\",\"format\":\"[..]\",\"digest\":\"sha256:[..]\",\"bytes\":[..]\n"
            ),
            "",
        );
        let target = format!("given{suffix}");
        project.run(&["verify", "--json", &target]).expect(
            0,
            &format!("{{\"target\":\"{target}[..]\",\"format\":\"{verified}\",\"pass\":true,[..]\n"),
            // A folder has a summary for people beside the record.
            if suffix == ".replay" { "reenact: given.replay: 1 other file passed over\n" } else { "" },
        );
    }
    let bundles = project.folder.state().join("bundles");
    let mut suffixes: Vec<String> = fs::read_dir(bundles)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().split_once('.').unwrap().1.to_owned())
        .collect();
    suffixes.sort();
    assert_eq!(suffixes, ["model_io.json", "replay", "rpk", "tar.gz"]);
}

#[test]
fn an_envelope_is_authorised() {
    let project = TestProject::new(Script::travel());
    project.folder.write(
        "reenact.toml",
        "[envelope.permissions]\nallowed_models = [\"gpt-5\"]\nallowed_tools = []\n[envelope.metadata]\na = 1\n",
    );
    project.run(&["keys", "generate", "platform"]).expect(0, "...\n", "...");
    let sign = ["policy", "sign", "--key", "platform", "--any-runtime"];
    project.run(&[&sign[..], &["--out", "envelope.json"]].concat()).expect(
        0,
        "envelope.json: authorised by platform (key [..]) for any runtime\nwhoever is to believe it needs that key: reenact keys export platform\n",
        "",
    );
    let signed = fs::read_to_string(project.folder.path().join("envelope.json")).unwrap();
    assert_eq!(project.run(&sign).stdout, signed, "the same every time");
    assert!(signed.contains(r#""metadata":{"a":1,"authorization":{"key_id":""#), "{signed}");
    project.run(&["policy", "show", "envelope.json"]).expect(
        0,
        "envelope.json: an envelope that no run has sealed\n  models    gpt-5\n  tools     none\n  authority key [..] for any runtime\n",
        "",
    );
    project.run(&[&sign[..], &["--out", "told.json", "--json"]].concat()).expect(
        0,
        "{\"out\":\"told.json\",\"key\":\"platform\",\"key_id\":\"[..]\",\"runtime\":\"*\",\"not_after\":null}\n",
        "",
    );
    let again = ["envelope.json", "--not-after", "2999-01-01T00:00:00Z", "--out", "again.json"];
    project.run(&[&sign[..], &again].concat()).expect(
        0,
        "again.json: authorised by platform (key [..]) for any runtime, until 2999-01-01T00:00:00Z, in place of the authorisation by [..]\n[..]\n",
        "",
    );
    project.run(&[&sign[..], &["--not-after", "2001-01-01T00:00:00Z"]].concat()).expect(
        2,
        "",
        "reenact: --not-after: that time is over already\n",
    );
}

#[test]
fn a_forged_record_is_not_made_good() {
    let project = recorded();
    let artifact = fs::read_to_string(project.artifact()).unwrap();
    fs::write(project.folder.path().join("forged.rer.json"), artifact.replace("R7K2QD", "R7K2QX")).unwrap();
    for arguments in [
        &["redact", "forged.rer.json", "--event", "1", "--out", "out.rer.json"][..],
        &["share", "forged.rer.json", "--as", "rer", "--out", "out.rer.json"],
    ] {
        project.run(arguments).expect(
            1,
            "",
            "reenact: forged.rer.json: it does not verify, so nothing was made of it: payload_hashes: [..]\n",
        );
    }
    assert!(!project.folder.path().join("out.rer.json").exists());
    // And one that someone else signed cannot be signed again.
    let theirs = "examples/runs/invoice.rer.json";
    let root = crate::support::root();
    let (theirs, key) = (root.join(theirs), root.join("examples/runs/signer.jwk"));
    project
        .run(&["share", theirs.to_str().unwrap(), "--as", "rer", "--key", key.to_str().unwrap()])
        .expect(2, "", "reenact: a bundle is signed again by the key that signed its artifact ([..]), and none of your keys is that one; [..]\n");
}
