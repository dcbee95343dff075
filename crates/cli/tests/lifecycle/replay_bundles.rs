//! Replay Bundles: made while recording, of a run, and of another bundle; and replayed elsewhere.

use std::fs;
use std::path::PathBuf;

use reenact_formats::replay_bundle::{MANIFEST, archive_rules};
use reenact_json::{Digest, Limits, Value};
use reenact_pack::{PackError, read_tar_gz};
use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Returns the agent of the demo as a command that ends with an exit code of its own.
fn agent(exit_code: u8) -> String {
    format!("{REENACT} demo-agent; exit {exit_code}")
}

/// Returns the member of a bundle, or of a file in the project folder.
fn member(project: &TestProject, bundle: &str, name: &str) -> Vec<u8> {
    let archive = fs::read(project.folder.path().join(bundle)).unwrap();
    let mut found = None;
    read_tar_gz(&archive[..], &archive_rules(), |member| {
        if member.name() == name {
            found = Some(member.read_whole(1 << 20)?);
        }
        Ok::<(), PackError>(())
    })
    .unwrap();
    found.unwrap_or_else(|| panic!("{name} is not in {bundle}"))
}

/// Returns the JSON text at a path in the manifest of a bundle, without quotes; empty if there is none.
fn manifest_value(project: &TestProject, bundle: &str, path: &[&str]) -> String {
    let text = member(project, bundle, MANIFEST);
    let mut value = Value::parse(&text, &Limits::default()).unwrap();
    for name in path {
        match value.member(name) {
            Some(inner) => value = inner,
            None => return String::new(),
        }
    }
    String::from_utf8_lossy(value.text()).trim_matches('"').to_owned()
}

/// Returns the bundles in the state folder.
fn bundles_in_state(project: &TestProject) -> Vec<PathBuf> {
    project.recorded_files().into_iter().filter(|path| path.to_string_lossy().ends_with(".tar.gz")).collect()
}

/// The specification's contract test (§6): a bundle is created after a run, and its replay completes.
#[test]
fn a_bundle_is_made_after_a_run_and_replayed() {
    let mut project = TestProject::new(Script::travel());
    let recorded = project.run(&["record", "--bundle", "--", "sh", "-c", &agent(0)]);
    recorded.expect(
        0,
        "...\n",
        "reenact: recorded 4 model calls [..]\n...\n\
         reenact: Replay Bundle [..]/state/bundles/[..].tar.gz ([..]; 4 answers, 4 cassettes); reproduce: reenact replay --bundle [..]/state/bundles/[..].tar.gz -- [..]\n",
    );
    project.vendor.stop();
    let [bundle] = bundles_in_state(&project).try_into().unwrap();
    let bundle = bundle.to_str().unwrap();
    project.run(&["verify", "--json", bundle]).expect(
        0,
        "{\"target\":\"[..]\",\"format\":\"replay-bundle/1\",\"pass\":true,[..]\n",
        "",
    );
    project.run(&["replay", "--bundle", bundle, "--", "sh", "-c", &agent(0)]).expect(
        0,
        &recorded.stdout,
        "...\nreenact: reproduced: [..]\n...\n",
    );
}

/// A bundle on failure is made of a run that failed, and only of such a one; it holds how the run ended.
#[test]
fn a_bundle_is_made_on_failure_alone() {
    let project = TestProject::new(Script::travel());
    let record = |code: u8, name: &str| {
        let option = format!("--bundle-on-failure={name}");
        project.run(&["record", "-q", &option, "--", "sh", "-c", &agent(code)])
    };
    assert_eq!(record(0, "none.tar.gz").stderr, "");
    assert!(!project.folder.path().join("none.tar.gz").exists());
    record(3, "failed.tar.gz").expect(
        3,
        "...\n",
        "reenact: Replay Bundle failed.tar.gz ([..]; 4 answers, 4 cassettes); reproduce: reenact replay --bundle failed.tar.gz -- [..]\n",
    );
    let summary = member(&project, "failed.tar.gz", "outputs/summary.json");
    let summary = Value::parse(&summary, &Limits::default()).unwrap();
    assert_eq!(summary.member("exit_code").unwrap().unsigned_integer(), Some(3));
    // A signal is a failure, too.
    let killed = format!("{REENACT} demo-agent; kill -9 $$");
    let killed = project.run(&["record", "--json", "--bundle-on-failure", "--", "sh", "-c", &killed]);
    assert_eq!(killed.code, Some(137));
    assert!(killed.stderr.contains(r#""bundle":{"out":""#), "{}", killed.stderr);
    assert_eq!(bundles_in_state(&project).len(), 1);
}

/// A bundle that cannot be made is a notice: the run is sealed, and the exit code is the command's own.
#[test]
fn a_run_without_answers_gives_no_bundle() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "--bundle", "--", "sh", "-c", "exit 5"]).expect(
        5,
        "",
        "reenact: no Replay Bundle was made: the run holds no answers, so there is nothing to replay (E_NOTHING_RECORDED); the run is sealed all the same\n...\n",
    );
    assert!(bundles_in_state(&project).is_empty());
    assert!(project.artifact().is_file());
    // Whoever asks for that file alone gets it, as of other formats: the summary says that nothing was recorded.
    project.run(&["record", "-q", "--out", "empty.tar.gz", "--", "true"]).expect(0, "", "");
    assert!(project.folder.path().join("empty.tar.gz").is_file());
    project.run(&["share", "--as", "replay"]).expect(
        2,
        "",
        "reenact: the run holds no answers, so there is nothing to replay (E_NOTHING_RECORDED)\n",
    );
}

/// The name of a bundle is checked before the agent runs.
#[test]
fn a_name_that_cannot_be_written_is_refused_first() {
    let project = TestProject::new(Script::travel());
    project.folder.write("taken.tar.gz", "mine");
    for (arguments, refused) in [
        (
            &["--bundle=taken.tar.gz"][..],
            "reenact: taken.tar.gz: there is such a file already; give another name\n",
        ),
        (&["--bundle=no/x.tar.gz"], "reenact: no/x.tar.gz: there is no such folder; make it first\n"),
        (
            &["--out", "x.tar.gz", "--bundle-on-failure=x.tar.gz"],
            "reenact: x.tar.gz: --out names this file too; give the bundle another name\n",
        ),
        (
            &["--bundle=x.rer.tar.gz"],
            "error: invalid value 'x.rer.tar.gz' for '--bundle[=<FILE>]': [..]\n...\n",
        ),
        (
            &["--bundle", "--bundle-on-failure"],
            "error: the argument '--bundle[=<FILE>]' cannot be used with '--bundle-on-failure[=<FILE>]'\n...\n",
        ),
    ] {
        let command = [&["record"], arguments, &["--", REENACT, "demo-agent"]].concat();
        project.run(&command).expect(125, "", refused);
    }
    assert!(project.vendor.requests().is_empty());
    assert_eq!(fs::read(project.folder.path().join("taken.tar.gz")).unwrap(), b"mine");
}

/// Config, baseline, reports and seeds go into the bundle, and its manifest names them.
#[test]
fn what_a_run_was_started_with_is_in_its_bundle() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", REENACT, "demo-agent"]).expect(0, "...\n", "");
    for (name, content) in
        [("e.yaml", "suite: x\n"), ("b.json", "{\"before\":1}"), ("j.xml", "<testsuite/>"), ("s.sarif", "{}")]
    {
        project.folder.write(name, content);
    }
    let files = ["--config", "e.yaml", "--baseline", "b.json", "--junit", "j.xml", "--sarif", "s.sarif"];
    let seeds = ["--seed", "order=7", "--seed", "judge=18446744073709551615"];
    let share = [&["share", "--as", "replay", "--out", "x.tar.gz"], &files[..], &seeds[..]].concat();
    project.run(&share).expect(
        0,
        "x.tar.gz ([..]): 4 answers, 4 cassettes; verified\n...\nreproduce: reenact replay --bundle x.tar.gz -- [..]\n",
        "",
    );
    project.run(&["verify", "--json", "x.tar.gz"]).expect(
        0,
        "{[..]\"pass\":true,[..]\"notes\":[\"the policy is held by its digest only, [..]\"],\"signer\"[..]\n",
        "",
    );
    let value = |path: &[&str]| manifest_value(&project, "x.tar.gz", path);
    assert_eq!(value(&["config_digest"]), format!("sha256:{}", Digest::of(b"suite: x\n")));
    assert_eq!(value(&["baseline_digest"]), format!("sha256:{}", Digest::of(b"{\"before\":1}")));
    assert_eq!(member(&project, "x.tar.gz", "files/baseline"), b"{\"before\":1}");
    assert_eq!(value(&["outputs", "junit"]), "outputs/junit.xml");
    assert_eq!(value(&["outputs", "sarif"]), "outputs/sarif.json");
    assert_eq!(value(&["seeds", "order_seed"]), "7");
    assert_eq!(value(&["seeds", "judge_seed"]), "18446744073709551615");
    assert_eq!(value(&["toolchain", "recorder"]), concat!("reenact/", env!("CARGO_PKG_VERSION")));
    assert_eq!(value(&["toolchain", "runner", "os"]), std::env::consts::OS);
    // The results name the seeds as well.
    for name in ["outputs/run.json", "outputs/summary.json"] {
        let text = String::from_utf8(member(&project, "x.tar.gz", name)).unwrap();
        assert!(text.contains(r#""order_seed":"7""#), "{text}");
    }
    for (seed, why) in [
        ("7", "a seed is order=N or judge=N"),
        ("order=-1", "\"-1\" is no number from 0 to 18446744073709551615"),
    ] {
        project.run(&["share", "--as", "replay", "--seed", seed]).expect(
            2,
            "",
            &format!("error: invalid value '{seed}' for '--seed <NAME=N>': {why}\n...\n"),
        );
    }
}

/// A bundle that is made of a bundle keeps all of it, and takes what it lacks.
#[test]
fn a_bundle_of_a_bundle_keeps_everything() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", "sh", "-c", &agent(3)]).expect(3, "...\n", "");
    project.folder.write("e.yaml", "suite: x\n");
    project.folder.write("b.json", "{}");
    let share = ["share", "--as", "replay", "--config", "e.yaml", "--junit", "b.json", "--seed", "order=7"];
    project.run(&[&share[..], &["--out", "a.tar.gz"]].concat()).expect(0, "...\n", "");

    project.run(&["share", "a.tar.gz", "--as", "replay", "--out", "b.tar.gz"]).expect(
        0,
        "b.tar.gz ([..]): made of a Replay Bundle; 9 files, verified\n  \
         kept: config, digest of the policy, trace, run, summary, junit, 4 cassettes, seeds, coverage, toolchain\n\
         reproduce: reenact replay --bundle b.tar.gz -- CMD\n",
        "",
    );
    let read = |name: &str| fs::read(project.folder.path().join(name)).unwrap();
    assert_eq!(read("a.tar.gz"), read("b.tar.gz"), "nothing was added, so it is the same bundle");

    // From a folder, and with what it lacks.
    project.run(&["bundle", "extract", "a.tar.gz", "--out", "folder"]).expect(0, "...\n", "");
    let again = [
        "share",
        "folder",
        "--as",
        "replay",
        "--baseline",
        "b.json",
        "--seed",
        "judge=8",
        "--out",
        "c.tar.gz",
    ];
    project.run(&again).expect(
        0,
        "c.tar.gz ([..]): made of a Replay Bundle; 10 files, verified\n  kept: [..]\n  added: baseline, judge seed 8\n...\n",
        "",
    );
    let value = |path: &[&str]| manifest_value(&project, "c.tar.gz", path);
    assert_eq!(value(&["seeds", "order_seed"]), "7");
    assert_eq!(value(&["seeds", "judge_seed"]), "8");
    assert_eq!(value(&["baseline_digest"]), format!("sha256:{}", Digest::of(b"{}")));
    assert_eq!(value(&["config_digest"]), format!("sha256:{}", Digest::of(b"suite: x\n")));
    assert_eq!(
        member(&project, "c.tar.gz", "outputs/summary.json"),
        member(&project, "a.tar.gz", "outputs/summary.json")
    );

    // What it says of its run is not replaced, and a secret keeps it from being written.
    project.run(&["share", "a.tar.gz", "--as", "replay", "--config", "b.json", "--out", "d.tar.gz"]).expect(
        2,
        "",
        "reenact: a.tar.gz: the bundle holds its config already, and what a bundle says of its run is not replaced\n",
    );
    project.folder.write("secret.json", format!("{{\"key\":\"sk-ant-api03-{}\"}}", "aB3".repeat(20)));
    project
        .run(&["share", "a.tar.gz", "--as", "replay", "--baseline", "secret.json", "--out", "d.tar.gz"])
        .expect(1, "", "reenact: what was made does not verify, and was not written: secrets: [..]\n");
    assert!(!project.folder.path().join("d.tar.gz").exists());
}

/// A secret in a report of the run does not keep the bundle from being written, and is told before it is shared. Of a document that
/// a bundle holds by its digest, only that is kept.
#[test]
fn a_secret_among_the_results_is_told() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", REENACT, "demo-agent"]).expect(0, "...\n", "");
    project.folder.write("j.xml", format!("<a>sk-ant-api03-{}</a>", "aB3".repeat(20)));
    project.run(&["share", "--as", "replay", "--junit", "j.xml", "--out", "a.tar.gz"]).expect(
        0,
        "a.tar.gz ([..]): 4 answers, 4 cassettes; verified\n...\n",
        "reenact: before you share it: outputs/junit.xml seems to hold a secret at byte [..]\n",
    );
    let by_digest = crate::support::root().join("vectors/replay_bundle/valid/by_digest_only.tar.gz");
    let share = ["share", by_digest.to_str().unwrap(), "--as", "replay", "--out", "b.tar.gz"];
    project.run(&share).expect(
        0,
        "b.tar.gz ([..]): made of a Replay Bundle; 1 file, verified\n  kept: digest of the config, digest of the trace, summary\n[..]\n",
        "",
    );
}

/// A folder in which the tool of the format left a run is packed as that tool packs it.
#[test]
fn a_bundle_of_a_runs_folder_holds_config_trace_and_outcome() {
    let project = TestProject::new(Script::travel());
    let run = r#"{"run_id":1,"results":[{"test_id":"t1","status":"pass"},{"test_id":"t2","status":"ERROR","message":" no answer\n"}],"exit_code":1,"seed_version":1,"order_seed":"17","judge_seed":null}"#;
    let summary = r#"{"exit_code":1,"provenance":{"assay_version":"6.21.0"},"seeds":{"judge_seed":"18"}}"#;
    let trace = "{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r1\",\"prompt\":\"2+2\",\"response\":\"4\",\"meta\":{}}\n";
    fs::create_dir_all(project.folder.path().join("run/traces")).unwrap();
    fs::create_dir_all(project.folder.path().join("run/cassettes/openai")).unwrap();
    project.folder.write("run/run.json", run);
    project.run(&["share", "run", "--as", "replay", "--out", "bare.tar.gz"]).expect(
        2,
        "",
        "reenact: run: there is a run.json and no trace beside it, so there is nothing to replay (E_NOTHING_RECORDED); looked for: trace.jsonl, [..]\n",
    );
    for (name, content) in [
        ("run/summary.json", summary),
        ("run/traces/ci.jsonl", trace),
        ("run/cassettes/openai/a.json", "{}"),
        ("run/unrelated.txt", "not for others"),
    ] {
        project.folder.write(name, content);
    }
    project.run(&["share", "run", "--as", "replay", "--out", "bare.tar.gz"]).expect(
        0,
        "bare.tar.gz ([..]): made of a run's folder; 4 files, verified\n  \
         cassettes/openai/a.json, files/ci.jsonl, outputs/run.json, outputs/summary.json\n  \
         cannot be replayed: t1: config snapshot missing from bundle\n  \
         cannot be replayed: t2: no answer\n\
         prompts and answers are in it as they were recorded\n\
         reproduce: reenact replay --bundle bare.tar.gz -- CMD\n",
        "",
    );
    project.folder.write("run/eval.yaml", "suite: x\n");
    project.run(&["share", "run", "--as", "replay", "--out", "x.tar.gz", "--json"]).expect(
        0,
        "{\"out\":\"x.tar.gz\",\"format\":\"replay-bundle/1\",[..]\"files\":5,\"cassettes\":1,\"complete\":1,\"incomplete\":1,[..]\n",
        "",
    );
    let value = |path: &[&str]| manifest_value(&project, "x.tar.gz", path);
    assert_eq!(value(&["assay_version"]), "6.21.0");
    assert_eq!(value(&["config_digest"]), format!("sha256:{}", Digest::of(b"suite: x\n")));
    assert_eq!(value(&["trace_digest"]), format!("sha256:{}", Digest::of(trace.as_bytes())));
    assert_eq!(value(&["trace_path"]), "files/ci.jsonl");
    assert_eq!(value(&["seeds", "order_seed"]), "17");
    assert_eq!(value(&["seeds", "judge_seed"]), "18");
    assert_eq!(value(&["replay_coverage", "complete_tests"]), r#"["t1"]"#);
    assert_eq!(value(&["replay_coverage", "reason", "t2"]), "no answer");
    assert_eq!(member(&project, "x.tar.gz", "outputs/run.json"), run.as_bytes());
    project.run(&["verify", "--json", "x.tar.gz"]).expect(0, "{[..]\"pass\":true,[..]\n", "");

    // Links are not followed, and a secret keeps the bundle from being written.
    project.folder.write("run/eval.yaml", format!("key: sk-ant-api03-{}\n", "aB3".repeat(20)));
    let share = ["share", "run", "--as", "replay", "--out", "y.tar.gz"];
    project.run(&share).expect(
        1,
        "",
        "reenact: what was made does not verify, and was not written: secrets: [..]\n",
    );
    fs::remove_file(project.folder.path().join("run/eval.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", project.folder.path().join("run/eval.yaml")).unwrap();
    project.run(&share).expect(
        2,
        "",
        "reenact: run/eval.yaml: this is a link, and links are not followed; nothing was read\n",
    );
    assert!(!project.folder.path().join("y.tar.gz").exists());
}
