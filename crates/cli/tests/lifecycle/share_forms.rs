//! Forms of what is shared: masked and signed `.rpk`, withheld payloads, and standard output.

use std::fs;

use reenact_json::{Limits, Value};
use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Task with a mail address, which the policy of `.rpk` masks, and a name of JSON, which must stay.
const TASK: &str = "Write to ann@example.org about prompt_tokens_details.";

fn recorded() -> TestProject {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", REENACT, "demo-agent"]).expect(0, "...\n", "");
    project
}

fn read(project: &TestProject, name: &str) -> String {
    fs::read_to_string(project.folder.path().join(name)).unwrap()
}

/// Returns the value of a check in a line of `verify --json`.
fn check(line: &str, name: &str) -> Option<bool> {
    let report = Value::parse(line.as_bytes(), &Limits::default()).unwrap();
    report.member("checks").unwrap().member(name).unwrap().boolean()
}

#[test]
fn a_masked_rpk_holds_no_secret_and_verifies() {
    let project = TestProject::new(Script::echo());
    project.run(&["record", "-q", "--", REENACT, "demo-agent", TASK]).expect(0, "...\n", "");
    project.run(&["share", "--as", "rpk", "--out", "plain.rpk"]).expect(0, "...\n", "");
    let plain = read(&project, "plain.rpk");
    assert!(plain.contains("ann@example.org"));
    let folder = project.folder.path();
    let folder = folder.to_str().unwrap();
    assert!(plain.contains(folder), "{plain}");
    project.run(&["share", "--as", "rpk", "--mask", "--out", "x.bundle"]).expect(
        0,
        "converted [..] (rer) to x.bundle (rpk)\n...\n\
         [..] masked; look at what is left before you hand it on\n...\n\
         next: reenact verify x.bundle\n",
        "",
    );
    let masked = read(&project, "x.bundle");
    assert!(!masked.contains("ann@example.org"), "{masked}");
    // Nor a folder of the machine, which often has the name of its user in it.
    for gone in [folder, "\"folder\":", "\"home\":", "\"temp\":"] {
        assert!(!masked.contains(gone), "{gone}: {masked}");
    }
    // The names of the model's answer are still names.
    assert!(masked.contains("[REDACTED]") && masked.contains("\\\"total_tokens\\\""), "{masked}");
    let line = project.run(&["verify", "--json", "x.bundle"]).stdout;
    assert_eq!(check(&line, "checksum"), Some(true), "{line}");
    assert_eq!(check(&line, "step_hashes"), Some(true), "{line}");
    assert_eq!(check(&line, "signature"), None, "{line}");
    assert!(line.contains("profile default, policy 1.0+reenact-1"), "{line}");
    // Without a name it lies among the bundles, under the ending that its programs know. An .rpk is masked as it is.
    project.run(&["share", "plain.rpk", "--as", "rpk", "--mask", "--out", "y.bundle"]).expect(
        0,
        "converted plain.rpk (rpk) to y.bundle (rpk)\n...\n",
        "",
    );
    assert_eq!(read(&project, "y.bundle"), masked);
    let json = project.run(&["share", "--as", "rpk", "--mask", "--json"]);
    assert_eq!(json.code, Some(0), "{}", json.stderr);
    let line = Value::parse(json.stdout.as_bytes(), &Limits::default()).unwrap();
    assert!(line.member("out").unwrap().string().unwrap().ends_with(".bundle"));
    assert!(line.member("masked").unwrap().unsigned_integer().unwrap() > 0);
    assert_eq!(line.member("signed").unwrap().boolean(), Some(false));
}

#[test]
fn a_signed_rpk_is_checked_with_the_shared_key() {
    let project = recorded();
    project.folder.write("shared.key", "dev key\n");
    project.folder.write("other.key", "another key\n");
    let share = ["share", "--as", "rpk", "--sign", "--hmac-key-file", "shared.key"];
    project.run(&[&share[..], &["--out", "x.rpk"]].concat()).expect(
        0,
        "converted [..] (rer) to x.rpk (rpk)\n...\nsigned with the key that you share\nnext: reenact verify --hmac-key-file shared.key x.rpk\n",
        "",
    );
    project.run(&[&share[..], &["--mask", "--out", "x.bundle"]].concat()).expect(0, "...\n", "");
    for name in ["x.rpk", "x.bundle"] {
        for (key, code, signature) in [("shared.key", 0, Some(true)), ("other.key", 1, Some(false))] {
            let verified = project.run(&["verify", "--json", "--hmac-key-file", key, name]);
            assert_eq!(verified.code, Some(code), "{name} {key}: {}", verified.stdout);
            assert_eq!(check(&verified.stdout, "signature"), signature);
        }
        // The key itself is in neither.
        assert!(!read(&project, name).contains("dev key"));
    }
    // A signed one is signed again with the key that signed it, and the same bytes come of it.
    let again =
        ["share", "x.rpk", "--as", "rpk", "--sign", "--hmac-key-file", "shared.key", "--out", "y.rpk"];
    project.run(&again).expect(0, "converted x.rpk (rpk) to y.rpk (rpk)\nnothing is lost\n...\n", "");
    assert_eq!(read(&project, "x.rpk"), read(&project, "y.rpk"));
    project.run(&["share", "--as", "rpk", "--sign", "--out", "z.rpk"]).expect(
        2,
        "",
        "error: the following required arguments were not provided:\n  --hmac-key-file <FILE>\n...\n",
    );
    project.folder.write("empty.key", "\n");
    project
        .run(&["share", "--as", "rpk", "--sign", "--hmac-key-file", "empty.key", "--out", "z.rpk"])
        .expect(2, "", "reenact: [..]empty.key[..]\n");
    assert!(!project.folder.path().join("z.rpk").exists());
}

/// What is withheld is in no form that is shared, and the report says what it was. The record keeps it.
#[test]
fn withheld_payloads_are_in_no_form() {
    let project = recorded();
    let artifact = read(&project, project.artifact().to_str().unwrap());
    assert!(artifact.contains("search_flights"));
    for (form, name, told) in [
        ("rer", "x.rer.tar.gz", "x.rer.tar.gz ([..]): 16 events, 0 files, 6 payloads withheld; [..]"),
        ("rpk", "x.rpk", "converted [..] (rer) to x.rpk (rpk)"),
        ("replay-jsonl", "session", "converted [..] (rer) to session (replay-jsonl)"),
    ] {
        project.run(&["share", "--as", form, "--withhold", "tool.*", "--out", name]).expect(
            0,
            &format!("{told}\n...\nwithheld 6 payloads:\n      3  rer.tool.called\n      3  rer.tool.returned\nnext: [..]\n"),
            "",
        );
    }
    let session = read(&project, "session/REPLAY.jsonl");
    assert!(!session.contains("ToolCall"), "{session}");
    let verified = project.run(&["verify", "--json", "x.rer.tar.gz"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    assert!(verified.stdout.contains("\"redacted_count\":true"), "{}", verified.stdout);
    assert_eq!(read(&project, project.artifact().to_str().unwrap()), artifact);

    // Of a Replay Bundle the answers are said that are no longer in it; without any there is none.
    let share = ["share", "--as", "replay", "--withhold"];
    project.run(&[&share[..], &["run.started", "--out", "a.tar.gz"]].concat()).expect(
        0,
        "a.tar.gz ([..]): 4 answers, 4 cassettes; verified\nwithheld 1 payload:\n      1  rer.run.started\nall other prompts and answers are in it as they were recorded; [..]\n[..]\n",
        "",
    );
    project.run(&[&share[..], &["model.returned", "--out", "b.tar.gz"]].concat()).expect(
        2,
        "",
        "reenact: of no answer of the run enough is recorded (its prompt or its answer is not recorded), so there is nothing to replay (E_NOTHING_RECORDED)\n",
    );
    // Nor is there a session without interactions.
    let share = ["share", "--as", "model-io", "--withhold", "model.returned", "--out", "empty.model_io.json"];
    project.run(&share).expect(
        2,
        "",
        "reenact: with these payloads withheld no interaction is left, so there is nothing to replay (E_NOTHING_RECORDED)\n",
    );
    assert!(!project.folder.path().join("empty.model_io.json").exists());
    // A kind that is misspelled must not share what it was to withhold.
    project.run(&["share", "--as", "rer", "--withhold", "tol.*", "--out", "b.rer.tar.gz"]).expect(
        1,
        "",
        "reenact: --withhold tol.*: the run has no event of that type, so nothing was made; `reenact show` names them\n",
    );
    // Only an RER record can be withheld from.
    project.run(&["share", "x.rpk", "--as", "model-io", "--withhold", "model.*", "--out", "b.model_io.json"]).expect(
        2,
        "",
        "reenact: x.rpk: this is rpk/1.0, and only RER records can be rewritten under their signature; [..]\n",
    );
    let json = project.run(&["share", "--as", "rpk", "--withhold", "run.ended", "--out", "c.rpk", "--json"]);
    assert!(
        json.stdout
            .contains(r#""newly_withheld":[{"event":15,"event_type":"rer.run.ended","payload_hash":""#),
        "{}",
        json.stdout
    );
    assert!(!project.folder.path().join("b.tar.gz").exists());
    assert!(!project.folder.path().join("b.rer.tar.gz").exists());
}

/// `--out -` sends the file to standard output, and the report to standard error.
#[test]
fn one_file_goes_to_standard_output() {
    let project = recorded();
    let bytes = |arguments: &[&str]| {
        let output = project.command(arguments).output().unwrap();
        (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    for (form, name, report) in [
        ("rer", "a.rer.tar.gz", "standard output ("),
        ("replay", "a.tar.gz", "standard output ("),
        ("rpk", "a.rpk", "converted "),
        ("model-io", "a.model_io.json", "converted "),
    ] {
        project.run(&["share", "--as", form, "--out", name]).expect(0, "...\n", "");
        let (code, stdout, stderr) = bytes(&["share", "--as", form, "--out", "-"]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stderr.starts_with(report), "{stderr}");
        assert_eq!(stdout, fs::read(project.folder.path().join(name)).unwrap(), "{form}");
    }
    let (code, stdout, stderr) = bytes(&["convert", "last", "--to", "rpk", "--out", "-", "--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(stdout, fs::read(project.folder.path().join("a.rpk")).unwrap());
    assert!(stderr.contains(r#""target":{"format":"rpk","path":"-","digest":"sha256:"#), "{stderr}");
    assert!(!project.folder.path().join("-").exists());
    for arguments in [
        &["share", "--as", "replay-jsonl", "--out", "-"][..],
        &["convert", "last", "--to", "replay-jsonl", "--out", "-"],
    ] {
        project.run(arguments).expect(
            2,
            "",
            "reenact: --out -: replay-jsonl is a folder of several files, and standard output takes one: name a folder\n",
        );
    }
    // A report of losses that are forbidden has no file beside it.
    let (code, stdout, stderr) = bytes(&["convert", "last", "--to", "rpk", "--out", "-", "--deny-loss"]);
    assert_eq!((code, stdout.as_slice()), (Some(1), &b""[..]), "{stderr}");
}

/// Names that no file can have are refused in words.
#[test]
fn names_that_cannot_be_written_are_explained() {
    let project = recorded();
    project.folder.write("file", "x");
    let long = "a".repeat(300);
    for (name, why) in [
        ("p1/", "rpk is one file; give its name without the slash"),
        ("file/x.rpk", "a part of that path is a file, not a folder"),
        ("no/x.rpk", "there is no such folder; make it first"),
        (long.as_str(), "that name is too long"),
        (".", "there is something of that name already; give another name"),
    ] {
        for arguments in [["convert", "last", "--to"], ["share", "last", "--as"]] {
            let command = [&arguments[..], &["rpk", "--out", name]].concat();
            project.run(&command).expect(2, "", &format!("reenact: {name}: {why}\n"));
        }
    }
}
