//! Reports of a replayed command beside those of its bundle, and the reports of the replay itself.

use std::fs;

use reenact_json::{Limits, Value};

use super::bundles::{
    FAILED_RUN, FAILED_SUMMARY, agent, failed_bundle, offline_project, replay, trace, with_json, write_bundle,
};

/// JUnit and SARIF of a run in which one of two tests failed.
const FAILED_JUNIT: &str = r#"<testsuite name="s"><testcase name="t1"/><testcase name="t2"><failure message="m"/></testcase></testsuite>"#;
const FAILED_SARIF: &str = r#"{"version":"2.1.0","runs":[{"results":[{"ruleId":"assay","level":"error","message":{"text":"t2: m"}}]}]}"#;

#[test]
fn the_reports_of_the_command_are_compared_test_by_test() {
    let project = offline_project();
    let bundle = failed_bundle(&project);
    let write = |run: &str, summary: &str, code: i32| {
        fs::write(project.folder.path().join("run.txt"), run).unwrap();
        fs::write(project.folder.path().join("summary.txt"), summary).unwrap();
        let line = "mkdir -p out; cp run.txt out/run.json; cp summary.txt out/summary.json;";
        replay(&project, &["--bundle", &bundle, "--outputs", "out"], &agent(line, code))
    };
    let same = write(FAILED_RUN, FAILED_SUMMARY, 1);
    same.expect(0, "[..]\n...\n", "...\nreenact: reproduced: [..] exit 1 as recorded\n...\n");
    assert!(!same.stderr.contains("not run again"), "{}", same.stderr);
    with_json(&project, "run.json", |run| {
        let told: Vec<_> = run
            .member("results")
            .unwrap()
            .elements()
            .map(|result| {
                ["test_id", "status", "message"].map(|name| result.member(name).unwrap().string().unwrap())
            })
            .collect();
        assert_eq!(told[1..], [["t1", "pass", "recorded: pass"], ["t2", "fail", "recorded: fail"]]);
    });
    // The command ends as recorded, and says that another test failed.
    let other = FAILED_RUN.replace(r#""t1","status":"pass""#, r#""t1","status":"fail""#);
    let other = other.replace(r#""t2","status":"fail""#, r#""t2","status":"pass""#);
    write(&other, FAILED_SUMMARY, 1).expect(
        1,
        "[..]\n...\n",
        "...\nreenact: not as in the bundle:\n  test t1: recorded pass, now fail\n  test t2: recorded fail, now pass\n...\nreenact: differed: 2 results differ from the bundle\n...\n",
    );
    with_json(&project, "summary.json", |summary| {
        assert!(summary.member("reason_code").unwrap().is_string("E_TEST_FAILED"));
    });
    let odd = write("[]", "no report", 1);
    odd.expect(
        1,
        "[..]\n...\n",
        "...\n  run.json and summary.json: recorded there, now no report that can be read\n...\n",
    );
}

#[test]
fn reports_that_were_there_before_are_none_of_the_command() {
    let project = offline_project();
    let bundle = failed_bundle(&project);
    let out = project.folder.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("run.json"), FAILED_RUN).unwrap();
    fs::write(out.join("summary.json"), FAILED_SUMMARY).unwrap();
    replay(&project, &[&bundle, "--outputs", "out"], &agent("", 1)).expect(
        1,
        "[..]\n...\n",
        "...\n  run.json and summary.json: recorded there, now not written by the command\nreenact: 2 recorded tests were not run again here, and nothing is known of them\n...\n",
    );
}

#[test]
fn junit_and_sarif_are_compared_by_case_and_rule() {
    let project = offline_project();
    let trace = trace();
    let members = r#""trace_path":"files/trace.jsonl","outputs":{"junit":"outputs/junit.xml","sarif":"outputs/sarif.json"}"#;
    let files = [
        ("files/trace.jsonl", trace.as_str()),
        ("outputs/junit.xml", FAILED_JUNIT),
        ("outputs/sarif.json", FAILED_SARIF),
    ];
    let bundle = write_bundle(&project, members, &files);
    let line = "mkdir out; cp junit.txt out/junit.xml; cp sarif.txt out/sarif.json;";
    let write = |junit: &str, sarif: &str| {
        let _ = fs::remove_dir_all(project.folder.path().join("out"));
        fs::write(project.folder.path().join("junit.txt"), junit).unwrap();
        fs::write(project.folder.path().join("sarif.txt"), sarif).unwrap();
        replay(&project, &["--json", &bundle, "--outputs", "out"], &agent(line, 0))
    };
    let same = write(FAILED_JUNIT, FAILED_SARIF);
    assert_eq!(same.code, Some(0), "{}", same.stderr);
    let json = Value::parse(same.stdout.trim_end().as_bytes(), &Limits::default()).unwrap();
    assert_eq!(json.member("bundle").unwrap().member("compared").unwrap().text(), br#"["junit","sarif"]"#);
    let other =
        write("<testsuite><testcase name=\"t1\"/></testsuite>", &FAILED_SARIF.replace("error", "note"));
    assert_eq!(other.code, Some(1), "{}", other.stderr);
    let json = Value::parse(other.stdout.trim_end().as_bytes(), &Limits::default()).unwrap();
    assert_eq!(
        json.member("bundle").unwrap().member("differences").unwrap().text(),
        br#"[{"at":"junit t2","recorded":"fail","now":null},{"at":"sarif assay: t2: m","recorded":"error","now":"note"}]"#
    );
}

#[test]
fn a_report_of_the_command_is_never_replaced() {
    let project = offline_project();
    let bundle = failed_bundle(&project);
    // A report that says that it is of a replay is the command's all the same.
    let own = r#"{"reason_code_version":1,"provenance":{"replay":true}}"#;
    fs::write(project.folder.path().join("own.txt"), own).unwrap();
    let command = agent("cp own.txt run.json;", 1);
    replay(&project, &["--bundle", &bundle], &command).expect(
        0,
        "[..]\n...\n",
        "...\nreenact: run.json: the command wrote a file of this name, which stays: the results of the replay are not written here (--reports DIR names a folder for them)\n...\n",
    );
    assert_eq!(fs::read_to_string(project.folder.path().join("run.json")).unwrap(), own);
    assert!(!project.folder.path().join("summary.json").exists());

    let outputs = ["--bundle", &bundle, "--outputs", "."];
    replay(&project, &outputs, &command).expect(
        2,
        "",
        "reenact: --outputs .: the results of the replay go to the same folder: name another one with --reports DIR\n",
    );
    let elsewhere = ["--bundle", &bundle, "--reports", "results/of"];
    assert_eq!(replay(&project, &elsewhere, &command).code, Some(0));
    for name in ["run.json", "summary.json", "junit.xml", "sarif.json"] {
        assert!(project.folder.path().join("results/of").join(name).is_file(), "{name}");
    }
    let junit = fs::read_to_string(project.folder.path().join("results/of/junit.xml")).unwrap();
    assert!(
        junit.contains(
            "<testcase name=\"t2\"><skipped message=\"recorded: fail; not run again here\"/></testcase>"
        ),
        "{junit}"
    );
    // Those of a replay are replaced by the next one.
    assert_eq!(replay(&project, &elsewhere, &command).code, Some(0));
    fs::write(project.folder.path().join("results/of/sarif.json"), FAILED_SARIF).unwrap();
    replay(&project, &elsewhere, &command).expect(
        2,
        "",
        "reenact: results/of/sarif.json: what is here under this name was not written by a replay, and is not replaced: [..]\n",
    );
}

#[test]
fn reports_of_an_earlier_replay_never_stand_for_this_one() {
    let project = offline_project();
    let bundle = failed_bundle(&project);
    let codes = |options: &[&str], command: &[String]| {
        assert_eq!(replay(&project, &["--bundle", &bundle], &agent("", 1)).code, Some(0));
        let failed = replay(&project, options, command);
        assert_eq!(failed.code, Some(2), "{}", failed.stderr);
        with_json(&project, "summary.json", |summary| {
            let member =
                |name: &str| String::from_utf8(summary.member(name).unwrap().text().to_vec()).unwrap();
            (member("exit_code"), member("reason_code"))
        })
    };
    let said = |code: &str| ("2".to_owned(), format!("\"{code}\""));
    let missing = codes(&["--bundle", &bundle], &["/nowhere/agent".to_owned()]);
    assert_eq!(missing, said("E_REPLAY_FAILED"));
    assert_eq!(codes(&["--bundle", "not-there.tar.gz"], &agent("", 1)), said("E_CFG_PARSE"));
}
