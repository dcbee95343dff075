//! Replays of Replay Bundles: the recorded outcome, what is not known, seeds, where bundles and results lie.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use reenact_json::{Digest, Limits, Value};
use reenact_testkit::{Script, ScriptedVendor, Vendor};

use super::project::{CommandOutput, REENACT, TestProject};

/// Task of the demo's agent by default.
const TASK: &str = "Book me a flight from Vienna to Lisbon on 2026-05-12, for at most 200 euros.";

/// Manifest members of a bundle whose trace, run and summary are where the format's own tool has them.
const USUAL: &str = r#""trace_path":"files/trace.jsonl","outputs":{"run":"outputs/run.json","summary":"outputs/summary.json"}"#;

/// A `run.json` of another tool, in which one of two tests failed.
pub(crate) const FAILED_RUN: &str = r#"{"run_id":7,"suite":"flights","results":[{"test_id":"t1","status":"pass"},{"test_id":"t2","status":"fail"}],"exit_code":1,"reason_code":"E_TEST_FAILED"}"#;
/// The `summary.json` beside it.
pub(crate) const FAILED_SUMMARY: &str = r#"{"exit_code":1,"reason_code":"E_TEST_FAILED","results":{"passed":1,"failed":1,"total":2},"provenance":{"assay_version":"6.21.0"}}"#;
/// The line that tells that outcome.
const FAILED: &str = "recorded: exit 1, E_TEST_FAILED, 1 of 2 tests failed: t2";

pub(crate) fn offline_project() -> TestProject {
    let mut project = TestProject::new(Script::travel());
    project.vendor.stop();
    project
}

/// Returns a line of a trace with the agent's task as its prompt.
pub(crate) fn trace() -> String {
    format!(
        "{{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r1\",\"prompt\":\"{TASK}\",\"response\":\"There are no flights to Lisbon.\",\"meta\":{{}}}}\n"
    )
}

/// Writes a folder laid out like a bundle, and returns its name. `members` are those of the manifest beside the list of files.
pub(crate) fn write_bundle(project: &TestProject, members: &str, files: &[(&str, &str)]) -> String {
    let folder = project.folder.path().join("bundle");
    let mut listed = Vec::new();
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let digest = Digest::of(content.as_bytes());
        listed.push(format!(r#""{name}":{{"sha256":"sha256:{digest}","size":{}}}"#, content.len()));
    }
    let members = if members.is_empty() { String::new() } else { format!("{members},") };
    let manifest = format!(
        r#"{{"schema_version":1,"assay_version":"6.21.0",{members}"files":{{{}}}}}"#,
        listed.join(",")
    );
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("manifest.json"), manifest).unwrap();
    "bundle".to_owned()
}

/// Writes the bundle of a run of another tool in which one of two tests failed.
pub(crate) fn failed_bundle(project: &TestProject) -> String {
    let trace = trace();
    let files = [
        ("files/trace.jsonl", trace.as_str()),
        ("outputs/run.json", FAILED_RUN),
        ("outputs/summary.json", FAILED_SUMMARY),
    ];
    write_bundle(project, USUAL, &files)
}

/// Returns a command that asks the model once, runs a line of a shell, and ends with a code.
pub(crate) fn agent(line: &str, code: i32) -> Vec<String> {
    let line = format!("\"$0\" demo-agent; {line} exit {code}");
    ["sh", "-c", &line, REENACT].map(str::to_owned).to_vec()
}

/// Runs `reenact replay` with options and a command.
pub(crate) fn replay(project: &TestProject, options: &[&str], command: &[String]) -> CommandOutput {
    let mut arguments = vec!["replay"];
    arguments.extend(options);
    arguments.push("--");
    arguments.extend(command.iter().map(String::as_str));
    project.run(&arguments)
}

/// Reads a JSON file of the project, and passes it on.
pub(crate) fn with_json<T>(project: &TestProject, name: &str, read: impl FnOnce(Value<'_>) -> T) -> T {
    let bytes = fs::read(project.folder.path().join(name)).unwrap();
    read(Value::parse(&bytes, &Limits::default()).unwrap())
}

/// Returns the members of an object at a path, such as `results`, as one text.
fn text_at(value: Value<'_>, path: &[&str]) -> String {
    let found =
        path.iter().fold(value, |value, name| value.member(name).unwrap_or_else(|| panic!("no {name}")));
    String::from_utf8(found.text().to_vec()).unwrap()
}

#[test]
fn a_run_that_failed_is_reproduced_only_by_failing_the_same_way() {
    let project = offline_project();
    let bundle = failed_bundle(&project);
    for options in [&["--bundle", &bundle][..], &[&bundle]] {
        let passed = replay(&project, options, &agent("", 0));
        let differed =
            format!("reenact: {FAILED}\n...\nreenact: differed: exit 0, recorded was exit 1\n...\n");
        passed.expect(1, "[..]\n...\n", &differed);
        let failed = replay(&project, options, &agent("", 1));
        let reproduced = format!(
            "reenact: {FAILED}\n...\nreenact: reproduced: 1 exchange found by the prompt, exit 1 as recorded\n...\n"
        );
        failed.expect(0, "[..]\n...\n", &reproduced);
        // The tests of the other tool were not run, and nothing says that they passed.
        assert!(failed.stderr.contains("reenact: 2 recorded tests were not run again here, and nothing is known of them: --outputs DIR"), "{}", failed.stderr);
    }
    with_json(&project, "run.json", |run| {
        let results: Vec<_> = run
            .member("results")
            .unwrap()
            .elements()
            .map(|result| ["test_id", "status"].map(|name| result.member(name).unwrap().string().unwrap()))
            .collect();
        assert_eq!(results, [["answer r1", "pass"], ["t1", "skipped"], ["t2", "skipped"]]);
        assert_eq!(text_at(run, &["exit_code"]), "0");
    });
    with_json(&project, "summary.json", |summary| {
        assert_eq!(text_at(summary, &["results"]), r#"{"passed":1,"failed":0,"skipped":2,"total":3}"#);
    });
}

#[test]
fn the_outcome_is_shown_wherever_a_bundle_is() {
    let project = offline_project();
    let bundle = failed_bundle(&project);
    project.run(&["show", &bundle]).expect(0, &format!("...\nended   {FAILED}\n...\n"), "");
    project.run(&["bundle", "inspect", &bundle]).expect(
        0,
        "...\n  recorded      exit 1, E_TEST_FAILED, 1 of 2 tests failed: t2\n...\n",
        "",
    );
    let outcome = r#"{"exit_code":1,"failed":true,"reason_code":"E_TEST_FAILED","message":null,"results":{"passed":1,"failed":1,"total":2},"tests":[{"id":"t1","status":"pass"},{"id":"t2","status":"fail"}]}"#;
    for arguments in [["show", "--json", &bundle].as_slice(), &["bundle", "inspect", "--json", &bundle]] {
        let shown = project.run(arguments).stdout;
        let shown = Value::parse(shown.trim_end().as_bytes(), &Limits::default()).unwrap();
        assert_eq!(text_at(shown, &["outcome"]), outcome);
    }
}

#[test]
fn without_a_command_nothing_passes() {
    let project = offline_project();
    let bundle = failed_bundle(&project);
    let refused = |named: &str| {
        format!(
            "reenact: bundle: nothing was run: a bundle names no command (E_REPLAY_MISSING_DEPENDENCY)\n{FAILED}\nto run it again: reenact replay {named} -- CMD\n"
        )
    };
    project.run(&["replay", &bundle]).expect(2, "", &refused("bundle"));
    assert!(!project.folder.path().join("summary.json").exists(), "only --bundle writes results");
    project.run(&["replay", "--bundle", &bundle]).expect(2, "", &refused("--bundle bundle"));
    with_json(&project, "summary.json", |summary| {
        assert_eq!(text_at(summary, &["exit_code"]), "2");
        assert_eq!(text_at(summary, &["reason_code"]), r#""E_REPLAY_MISSING_DEPENDENCY""#);
        assert_eq!(text_at(summary, &["results"]), r#"{"passed":0,"failed":0,"skipped":2,"total":2}"#);
        assert_eq!(text_at(summary, &["next_step"]), r#""reenact replay --bundle bundle -- CMD""#);
        assert!(text_at(summary, &["message"]).contains(FAILED));
    });
    let json = project.run(&["replay", "--json", "--bundle", &bundle]).stdout;
    let json = Value::parse(json.trim_end().as_bytes(), &Limits::default()).unwrap();
    assert_eq!(text_at(json, &["code"]), r#""E_REPLAY_MISSING_DEPENDENCY""#);
    assert_eq!(text_at(json, &["recorded", "exit_code"]), "1");
}

#[test]
fn a_bundle_of_ours_is_compared_answer_by_answer() {
    let mut project = TestProject::new(Script::travel());
    let recorded = agent("", 3);
    let mut arguments = vec!["record", "-q", "--"];
    arguments.extend(recorded.iter().map(String::as_str));
    assert_eq!(project.run(&arguments).code, Some(3));
    project.vendor.stop();
    assert_eq!(project.run(&["share", "last", "--as", "replay", "--out", "b.tar.gz"]).code, Some(0));
    let same = replay(&project, &["--bundle", "b.tar.gz"], &recorded);
    same.expect(0, "[..]\n...\n", "reenact: recorded: exit 3, 4 answers given\n...\nreenact: reproduced: 4 exchanges [..] exit 3 as recorded\n...\n");
    with_json(&project, "run.json", |run| {
        let statuses: Vec<_> = run
            .member("results")
            .unwrap()
            .elements()
            .map(|result| result.member("status").unwrap().string().unwrap().into_owned())
            .collect();
        assert_eq!(statuses, ["pass"; 4]);
    });
    replay(&project, &["--bundle", "b.tar.gz"], &agent("", 0)).expect(
        1,
        "[..]\n...\n",
        "...\nreenact: differed: exit 0, recorded was exit 3\n...\n",
    );
    // Readers of the reports see it without our verdict.
    with_json(&project, "summary.json", |summary| {
        assert_eq!(text_at(summary, &["results"]), r#"{"passed":4,"failed":1,"total":5}"#);
        assert!(
            text_at(summary, &["message"]).starts_with("\"the replay differed: exit 0, recorded was exit 3;")
        );
    });
    let junit = fs::read_to_string(project.folder.path().join("junit.xml")).unwrap();
    let failure = r#"<testcase name="replay"><failure message="the replay differed: exit 0, recorded was exit 3"/></testcase>"#;
    assert!(junit.contains(failure), "{junit}");
    // An answer that is not asked for is a result that differs, and no second line of text.
    let nothing = replay(&project, &["--json", "b.tar.gz"], &["sh", "-c", "exit 3"].map(str::to_owned));
    assert_eq!(nothing.code, Some(1), "{}", nothing.stderr);
    let json = Value::parse(nothing.stdout.trim_end().as_bytes(), &Limits::default()).unwrap();
    let differences = json.member("bundle").unwrap().member("differences").unwrap();
    assert_eq!(differences.elements().count(), 4);
    let first = differences.elements().next().unwrap();
    assert_eq!(text_at(first, &["recorded"]), r#""pass""#);
    assert_eq!(text_at(first, &["now"]), r#""fail""#);
    let told = replay(&project, &["b.tar.gz"], &["sh", "-c", "exit 3"].map(str::to_owned)).stderr;
    assert!(told.contains("reenact: differed: 8 exchanges not asked for\n"), "{told}");
    assert!(!told.contains("not as in the bundle"), "{told}");
}

/// Records a line of a shell, whose `$0` is the program, and makes a bundle `b.tar.gz` of the run.
fn bundle_of(line: &str) -> TestProject {
    let mut project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", "sh", "-c", line, REENACT]);
    project.vendor.stop();
    let shared = project.run(&["share", "last", "--as", "replay", "--out", "b.tar.gz"]);
    assert_eq!(shared.code, Some(0), "{}", shared.stderr);
    project
}

fn shell(line: &str) -> Vec<String> {
    ["sh", "-c", line, REENACT].map(str::to_owned).to_vec()
}

/// A bundle keeps one answer to a prompt, and gives it as often as it is asked for.
#[test]
fn answers_that_the_bundle_lacks_are_not_reproduced() {
    let twice = "\"$0\" demo-agent; \"$0\" demo-agent";
    let project = bundle_of(twice);
    let told = "...\nreenact: not as in the bundle:\n  answers: recorded 8, now 4 not in the bundle\n...\nreenact: differed: 1 result differs from the bundle\n...\n";
    replay(&project, &["b.tar.gz"], &shell(twice)).expect(1, "[..]\n...\n", told);
}

#[test]
fn a_run_that_asks_more_often_is_not_reproduced() {
    let project = bundle_of("\"$0\" demo-agent");
    replay(&project, &["b.tar.gz"], &shell("\"$0\" demo-agent")).expect(0, "[..]\n...\n", "...\n");
    let told = "...\nreenact: not as in the bundle:\n  requests: recorded 4, now 8\n...\nreenact: differed: 1 result differs from the bundle\n...\n";
    replay(&project, &["b.tar.gz"], &shell("\"$0\" demo-agent; \"$0\" demo-agent")).expect(
        1,
        "[..]\n...\n",
        told,
    );
}

#[test]
fn a_run_that_a_signal_ended_is_reproduced_only_by_the_signal() {
    let project = bundle_of("\"$0\" demo-agent; kill -TERM $$");
    let same = replay(&project, &["b.tar.gz"], &shell("\"$0\" demo-agent; kill -TERM $$"));
    same.expect(0, "[..]\n...\n", "reenact: recorded: signal 15, E_RUN_KILLED, 4 answers given\n...\nreenact: reproduced: [..]signal 15 as recorded\n...\n");
    for code in [1, 143] {
        let line = format!("\"$0\" demo-agent; exit {code}");
        let told = format!("...\nreenact: differed: exit {code}, recorded was signal 15\n...\n");
        replay(&project, &["b.tar.gz"], &shell(&line)).expect(1, "[..]\n...\n", &told);
    }
}

#[test]
fn an_outcome_that_is_not_known_claims_no_exit_code() {
    let project = offline_project();
    let trace = trace();
    let summary = r#"{"exit_code":1,"reason_code":"E_OUTCOME_UNKNOWN","message":"the record does not tell","results":{"passed":1,"failed":0,"total":1},"provenance":{"assay_version":"reenact/0.1.0"}}"#;
    let bundle = write_bundle(
        &project,
        USUAL,
        &[("files/trace.jsonl", &trace), ("outputs/summary.json", summary), ("outputs/run.json", "{}")],
    );
    replay(&project, &[&bundle], &agent("", 0)).expect(
        0,
        "[..]\n...\n",
        "reenact: recorded: how it ended is not known, 1 answer given\n...\nreenact: reproduced: 1 exchange found by the prompt, exit 0 (how the recorded run ended is not in the record)\n...\n",
    );
    let failed = summary.replace("E_OUTCOME_UNKNOWN", "E_RUN_FAILED");
    let bundle = write_bundle(
        &project,
        USUAL,
        &[("files/trace.jsonl", &trace), ("outputs/summary.json", &failed), ("outputs/run.json", "{}")],
    );
    replay(&project, &[&bundle], &agent("", 0)).expect(
        1,
        "[..]\n...\n",
        "...\nreenact: differed: exit 0, recorded was a failure without an exit code\n...\n",
    );
    assert_eq!(replay(&project, &[&bundle], &agent("", 9)).code, Some(0));
}

#[test]
fn the_example_of_the_specification_is_replayed_without_its_config() {
    let project = offline_project();
    let trace = trace();
    let config = Digest::of(b"tests: []\n");
    let digest = Digest::of(trace.as_bytes());
    let members = format!(
        r#""config_digest":"sha256:{config}","trace_digest":"sha256:{digest}","trace_path":"traces/run.jsonl","outputs":{{"junit":"reports/junit.xml","summary":"reports/summary.json"}}"#
    );
    let files = [
        ("traces/run.jsonl", trace.as_str()),
        ("reports/junit.xml", "<testsuite/>"),
        ("reports/summary.json", r#"{"exit_code":0,"results":{"passed":1,"failed":0,"total":1}}"#),
    ];
    let bundle = write_bundle(&project, &members, &files);
    let options = ["--bundle", bundle.as_str()];
    let reproduced = "reenact: recorded: exit 0, 1 test passed\n...\nreenact: reproduced: [..]\n...\n";
    replay(&project, &options, &agent("", 0)).expect(0, "[..]\n...\n", reproduced);
    for (name, content) in [("eval.yaml", "tests: []\n"), ("other.yaml", "tests: [1]\n")] {
        fs::write(project.folder.path().join(name), content).unwrap();
    }
    let with = |config| replay(&project, &["--bundle", &bundle, "--config", config], &agent("", 0));
    with("eval.yaml").expect(0, "[..]\n...\n", reproduced);
    with("other.yaml").expect(
        2,
        "",
        "reenact: bundle: other.yaml is not the config of this bundle: [..]\n...\n",
    );
}

#[test]
fn a_trace_that_only_its_digest_names_is_found_in_the_bundle() {
    let project = offline_project();
    let trace = trace();
    let members = format!(r#""trace_digest":"sha256:{}""#, Digest::of(trace.as_bytes()));
    let bundle = write_bundle(&project, &members, &[("files/any.jsonl", &trace)]);
    let replayed = replay(&project, &["--bundle", &bundle], &agent("", 0));
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
}

#[test]
fn tests_that_cannot_be_replayed_are_named_with_a_command_too() {
    let project = offline_project();
    let trace = trace();
    let members = r#""trace_path":"files/trace.jsonl","replay_coverage":{"complete_tests":["a"],"incomplete_tests":["b","c"],"reason":{"c":"no judge\nwas there"}}"#;
    let bundle = write_bundle(&project, members, &[("files/trace.jsonl", &trace)]);
    let told = "2 of 3 tests cannot be replayed from this bundle: b, c (no judge …)";
    replay(&project, &[&bundle], &agent("", 0)).expect(0, "[..]\n...\n", &format!("reenact: {told}\n...\n"));
    project.run(&["replay", &bundle]).expect(2, "", &format!("...\n{told}\n...\n"));
    let json = replay(&project, &["--json", "--bundle", &bundle], &agent("", 0)).stdout;
    let json = Value::parse(json.trim_end().as_bytes(), &Limits::default()).unwrap();
    assert_eq!(
        text_at(json, &["bundle", "coverage"]),
        r#"{"complete":1,"incomplete":[{"test":"b","reason":null},{"test":"c","reason":"no judge\nwas there"}]}"#
    );
}

#[test]
fn seeds_are_given_to_the_command_and_nothing_else_is_claimed() {
    let project = offline_project();
    let trace = trace();
    let members =
        r#""trace_path":"files/trace.jsonl","seeds":{"seed_version":2,"order_seed":"42","judge_seed":"99"}"#;
    let bundle = write_bundle(&project, members, &[("files/trace.jsonl", &trace)]);
    let command = agent("echo \"seeds ${REENACT_ORDER_SEED-none} ${REENACT_JUDGE_SEED-none}\";", 0);
    let seeds = |options: &[&str]| {
        let output = replay(&project, options, &command);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.stdout.lines().last().unwrap().to_owned()
    };
    assert_eq!(seeds(&[&bundle]), "seeds 42 99");
    assert_eq!(seeds(&["--bundle", &bundle]), "seeds 42 99");
    with_json(&project, "summary.json", |summary| {
        assert_eq!(text_at(summary, &["seeds"]), r#"{"seed_version":2,"order_seed":"42","judge_seed":"99"}"#);
        assert!(summary.member("provenance").unwrap().member("seed_overrides").is_none());
        assert_eq!(text_at(summary, &["provenance", "replay_mode"]), r#""offline""#);
    });
    assert_eq!(seeds(&["--bundle", &bundle, "--seed", "5", "--seed", "judge=6", "--seed", "7"]), "seeds 7 6");
    for name in ["run.json", "summary.json"] {
        with_json(&project, name, |report| {
            let overrides = text_at(report, &["provenance", "seed_overrides"]);
            assert_eq!(overrides, r#"{"order_seed":"7","judge_seed":"6"}"#, "{name}");
        });
    }
    // Where nothing was run, no seed was used.
    assert_eq!(project.run(&["replay", "--bundle", &bundle]).code, Some(2));
    with_json(&project, "summary.json", |summary| {
        assert_eq!(text_at(summary, &["seeds"]), r#"{"seed_version":2,"order_seed":null,"judge_seed":null}"#);
    });
    project.run(&["replay", "--bundle", &bundle, "--seed", "x", "--", "true"]).expect(
        2,
        "",
        "error: invalid value 'x' for '--seed <[WHICH=]N>': a seed is a whole number from 0 to 18446744073709551615\n...\n",
    );
}

#[test]
fn a_seed_that_is_no_number_is_not_given() {
    let project = offline_project();
    let trace = trace();
    let members = r#""trace_path":"files/trace.jsonl","seeds":{"order_seed":"$(reboot)"}"#;
    let bundle = write_bundle(&project, members, &[("files/trace.jsonl", &trace)]);
    let command = agent("echo \"seed ${REENACT_ORDER_SEED-none}\";", 0);
    replay(&project, &[&bundle], &command).expect(
        0,
        "...\nseed none\n",
        "reenact: the order_seed of the bundle is no whole number, and the command is not given it\n...\n",
    );
}

#[test]
fn options_of_bundles_are_refused_for_other_records() {
    let project = offline_project();
    let minimal = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/runs/minimal.rpk");
    let minimal = minimal.to_str().unwrap();
    for (options, named) in [(["--seed", "1"], "--seed"), (["--outputs", "x"], "--outputs")] {
        project.run(&["replay", minimal, options[0], options[1], "--", "true"]).expect(
            2,
            "",
            &format!("...\nreenact: {named} has a meaning only with a Replay Bundle: no other record holds outputs or seeds\n"),
        );
    }
}

#[test]
fn a_bundle_that_is_not_named_is_the_newest_of_this_folder() {
    let mut project = TestProject::new(Script::travel());
    let none = "reenact: --bundle names no bundle, none was made of a run of this folder, and there is none in .assay/bundles (E_NOT_FOUND)\n...\n";
    project.run(&["replay", "--bundle"]).expect(2, "", none);

    // The last place is that of earlier versions of the format's own tool.
    let trace = trace();
    write_bundle(&project, r#""trace_path":"files/trace.jsonl""#, &[("files/trace.jsonl", &trace)]);
    let folder = project.folder.path().to_owned();
    fs::create_dir_all(folder.join(".assay/bundles")).unwrap();
    fs::rename(folder.join("bundle"), folder.join(".assay/replay.bundle")).unwrap();
    project.run(&["replay", "--bundle"]).expect(2, "", "reenact: the bundle is .assay/replay.bundle\n...\n");

    assert_eq!(project.run(&["record", "-q", "--", REENACT, "demo-agent"]).code, Some(0));
    project.vendor.stop();
    assert_eq!(project.run(&["share", "last", "--as", "replay", "--out", "b.tar.gz"]).code, Some(0));
    let minutes = |minutes: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + 60 * minutes);
    for (name, age) in [("1.tar.gz", 2), ("2.tar.gz", 1), ("3.rer.tar.gz", 3), ("4.txt", 4)] {
        let path = folder.join(".assay/bundles").join(name);
        fs::copy(folder.join("b.tar.gz"), &path).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(minutes(age)).unwrap();
    }
    project.run(&["replay", "--bundle"]).expect(
        2,
        "",
        "reenact: the bundle is .assay/bundles/1.tar.gz\n...\n",
    );

    // A bundle of a run of this folder comes first, however old it is.
    assert_eq!(project.run(&["share", "last", "--as", "replay"]).code, Some(0));
    let replayed = project.run(&["replay", "--bundle", "--", REENACT, "demo-agent"]);
    replayed.expect(0, "[..]\n...\n", "reenact: the bundle is [..]/bundles/[..].tar.gz\n...\n");
    assert!(!replayed.stderr.contains(".assay"), "{}", replayed.stderr);
}

#[test]
fn a_bundle_that_goes_live_says_so() {
    let mut project = TestProject::new(Script::travel());
    assert_eq!(project.run(&["record", "-q", "--", REENACT, "demo-agent"]).code, Some(0));
    assert_eq!(project.run(&["share", "last", "--as", "replay", "--out", "b.tar.gz"]).code, Some(0));
    project.vendor.stop();
    project.vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let command =
        ["sh", "-c", "reenact demo-agent; reenact demo-agent 'Another question.'"].map(str::to_owned);
    // What is not in the bundle goes nowhere, but with --live.
    let offline = replay(&project, &["--bundle", "b.tar.gz"], &command);
    assert_eq!((offline.code, project.vendor.requests().len()), (Some(2), 0), "{}", offline.stderr);
    let upstream = format!("openai={}", project.vendor.base_url(Vendor::OPENAI));
    let options = ["--bundle", "b.tar.gz", "--live", "--upstream", &upstream, "--seed", "3"];
    let live = replay(&project, &options, &command);
    assert_eq!((live.code, project.vendor.requests().len()), (Some(0), 1), "{}", live.stderr);
    for name in ["run.json", "summary.json"] {
        with_json(&project, name, |report| {
            assert_eq!(text_at(report, &["provenance", "replay_mode"]), r#""live""#, "{name}");
            assert_eq!(text_at(report, &["provenance", "seed_overrides"]), r#"{"order_seed":"3"}"#);
            assert_eq!(text_at(report, &["exit_code"]), "0");
        });
    }
    project.run(&["replay", "--bundle", "b.tar.gz", "--live"]).expect(
        2,
        "",
        "reenact: b.tar.gz: nothing was run: [..]\n...\n",
    );
}

#[test]
fn a_bundle_without_answers_runs_nothing() {
    let project = offline_project();
    let members = r#""outputs":{"summary":"outputs/summary.json"}"#;
    let bundle = write_bundle(&project, members, &[("outputs/summary.json", FAILED_SUMMARY)]);
    let marked = ["sh", "-c", "echo ran > ran; exit 1"].map(str::to_owned);
    for options in [&["--bundle", bundle.as_str()][..], &[&bundle]] {
        replay(&project, options, &marked).expect(
            2,
            "",
            "reenact: bundle: the bundle holds neither a trace with answers nor a cassette (E_REPLAY_MISSING_DEPENDENCY)\nrecorded: exit 1, E_TEST_FAILED, 1 of 2 tests failed\n",
        );
    }
    assert!(!project.folder.path().join("ran").exists());
}

#[test]
fn reports_that_cannot_be_read_are_no_outcome() {
    let project = offline_project();
    let trace = trace();
    let files =
        [("files/trace.jsonl", trace.as_str()), ("outputs/run.json", "{"), ("outputs/summary.json", "[]")];
    let bundle = write_bundle(&project, USUAL, &files);
    replay(&project, &[&bundle], &agent("", 0)).expect(
        2,
        "",
        "reenact: bundle: its run.json and summary.json cannot be read, so that a replay cannot be compared with them; replay it all the same with --force (E_REPLAY_MISSING_DEPENDENCY)\n",
    );
    replay(&project, &[&bundle, "--force"], &agent("", 0)).expect(
        0,
        "[..]\n...\n",
        "reenact: recorded: the reports in the bundle cannot be read, so that nothing tells how its run ended\n...\n",
    );
}

#[test]
fn a_bundle_that_was_imported_keeps_its_outcome() {
    let project = offline_project();
    let bundle = failed_bundle(&project);
    let imported = project.run(&["convert", &bundle, "--to", "rer", "--out", "run.rer.json"]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    project.run(&["show", "run.rer.json"]).expect(0, &format!("...\nended   {FAILED}\n...\n"), "");
    replay(&project, &["run.rer.json"], &agent("", 0)).expect(
        1,
        "[..]\n...\n",
        "...\nreenact: differed: exit 0, recorded was exit 1\n...\n",
    );
    assert_eq!(project.run(&["replay", "run.rer.json"]).code, Some(2));
}
