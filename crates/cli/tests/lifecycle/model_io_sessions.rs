//! Model IO sessions that are made of a run: their prompts are those that were asked, and packs name them.

use std::fs;

use reenact_json::{Digest, Limits, Value};
use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Task of the demo's agent by default.
const TASK: &str = "Book me a flight from Vienna to Lisbon on 2026-05-12, for at most 200 euros.";

/// Returns a project in which the demo's agent was recorded.
fn recorded_project() -> TestProject {
    let mut project = TestProject::new(Script::travel());
    let recorded = project.run(&["record", "-q", "--", REENACT, "demo-agent"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    project.vendor.stop();
    project
}

fn read(project: &TestProject, name: &str) -> Vec<u8> {
    fs::read(project.folder.path().join(name)).unwrap()
}

/// Returns the prompt hashes of a session.
fn prompt_hashes(project: &TestProject, name: &str) -> Vec<String> {
    let session = read(project, name);
    let session = Value::parse(&session, &Limits::default()).unwrap();
    let hash =
        |interaction: Value<'_>| interaction.member("prompt_hash").unwrap().string().unwrap().into_owned();
    session.member("interactions").unwrap().elements().map(hash).collect()
}

#[test]
fn a_prompt_is_the_users_last_text_and_not_the_body() {
    let project = recorded_project();
    let asked = format!("sha256:{}", Digest::of(TASK.as_bytes()));
    assert_eq!(project.run(&["convert", "last", "--to", "model-io", "--out", "c.json"]).code, Some(0));
    assert_eq!(project.run(&["share", "--as", "model-io", "--out", "s.json"]).code, Some(0));
    for name in ["c.json", "s.json"] {
        assert_eq!(
            prompt_hashes(&project, name),
            vec![asked.clone(); 4],
            "{name}: tools do not end the question"
        );
    }
    let bodies = project.run(&["share", "--as", "model-io", "--prompt", "body", "--out", "b.json"]);
    assert_eq!(bodies.code, Some(0), "{}", bodies.stderr);
    let hashes = prompt_hashes(&project, "b.json");
    assert_eq!(hashes.len(), 4);
    assert!(!hashes.contains(&asked) && hashes[0] != hashes[1], "{hashes:?}");
    project.run(&["convert", "last", "--to", "rpk", "--prompt", "body", "--out", "x.rpk"]).expect(
        2,
        "",
        "reenact: --prompt goes with model-io: no other format has a hash of the prompt in place of the prompt\n",
    );
}

#[test]
fn a_session_that_is_recorded_hashes_the_prompt_and_is_replayed_by_it() {
    let mut project = TestProject::new(Script::travel());
    let out = "run.model_io.json";
    let recorded = project.run(&["record", "-q", "--out", out, "--", REENACT, "demo-agent"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    project.vendor.stop();
    assert_eq!(prompt_hashes(&project, out)[0], format!("sha256:{}", Digest::of(TASK.as_bytes())));
    // A session holds no calls of tools, so that the agent ends with the first answer.
    project.run(&["replay", out, "--sandbox", "off", "--", REENACT, "demo-agent"]).expect(
        1,
        "task: [..]\nmodel: [..]\n",
        "...\nreenact: differed: 3 exchanges not asked for\n...\n",
    );
}

#[test]
fn a_pack_is_a_folder_whose_run_names_the_session() {
    let project = recorded_project();
    for (command, folder) in [("convert", "c/"), ("share", "s/")] {
        let arguments: &[&str] = match command {
            "convert" => &["convert", "last", "--to", "model-io", "--out", folder],
            _ => &["share", "last", "--as", "model-io", "--out", folder],
        };
        let made = project.run(arguments);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let verified = project.run(&["verify", "--json", folder]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
        assert!(verified.stdout.contains(r#""model_io_binding":true"#), "{}", verified.stdout);
        let run = read(&project, &format!("{folder}run.json"));
        let run = Value::parse(&run, &Limits::default()).unwrap();
        let names: Vec<String> =
            run.members().filter_map(|(name, _)| Some(name.string()?.into_owned())).collect();
        assert_eq!(names, ["completed_at", "model_io_hash", "model_mode", "run_id", "started_at"]);
        assert!(run.member("model_mode").unwrap().is_string("record"));
        let hash = run.member("model_io_hash").unwrap().string().unwrap().into_owned();
        assert!(verified.stdout.contains(&hash), "{}", verified.stdout);
        let mut files: Vec<String> = fs::read_dir(project.folder.path().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, ["model_io.json", "run.json"]);
    }
}

#[test]
fn a_pack_replaces_nothing_and_leaves_nothing_half_made() {
    let project = recorded_project();
    let folder = project.folder.path();
    fs::create_dir(folder.join("there")).unwrap();
    fs::write(folder.join("file"), "mine").unwrap();
    for name in ["there/", "file/"] {
        project.run(&["convert", "last", "--to", "model-io", "--out", name]).expect(
            2,
            "",
            &format!("reenact: {name}: there is something of that name already; give another name\n"),
        );
    }
    project.run(&["convert", "last", "--to", "model-io", "--out", "no/pack/"]).expect(
        2,
        "",
        "reenact: no/pack/: there is no such folder; make it first\n",
    );
    project.run(&["convert", "last", "--to", "rpk", "--out", "pack/"]).expect(
        2,
        "",
        "reenact: pack/: rpk is one file; give its name without the slash\n",
    );
    let mut left: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(
        left.iter().filter(|name| name.contains("tmp") || name.starts_with("pack")).count(),
        0,
        "{left:?}"
    );
    assert_eq!(fs::read(folder.join("file")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(folder.join("there")).unwrap().count(), 0);
}

#[test]
fn a_replay_writes_the_session_of_what_it_answered() {
    let project = recorded_project();
    let out = "again.model_io.json";
    project.run(&["replay", "last", "--sandbox", "off", "--out", out, "--", REENACT, "demo-agent"]).expect(
        0,
        "...\n",
        "...\nreenact: session of this replay: again.model_io.json (4 interactions)\n...\nreenact: reproduced[..]: 4 exchanges, exit 0, as recorded\n...\n",
    );
    assert_eq!(project.run(&["verify", out]).code, Some(0));
    assert_eq!(project.run(&["share", "last", "--as", "model-io", "--out", "recorded.json"]).code, Some(0));
    let core = |name: &str| {
        let session = read(&project, name);
        let session = Value::parse(&session, &Limits::default()).unwrap();
        let text = |value: Value<'_>, name: &str| value.member(name).unwrap().string().unwrap().into_owned();
        let said: Vec<(String, String)> = session
            .member("interactions")
            .unwrap()
            .elements()
            .map(|interaction| (text(interaction, "prompt_hash"), text(interaction, "response_content")))
            .collect();
        (text(session, "mode"), text(session, "adapter_id"), text(session, "model_id"), said)
    };
    let (mode, adapter, model, said) = core(out);
    assert_eq!(mode, "replay");
    assert_eq!(("record".to_owned(), adapter, model, said), core("recorded.json"));
}

#[test]
fn a_session_of_hashes_is_replayed_to_a_session_of_the_same_hashes() {
    let mut project = TestProject::new(Script::travel());
    project.vendor.stop();
    let (said, hash) = ("There are no flights.", Digest::of(TASK.as_bytes()));
    let session = format!(
        r#"{{"adapter_id":"other/openai","interactions":[{{"i":0,"prompt_hash":"sha256:{hash}","response_content":"{said}","response_hash":"sha256:{}"}}],"mode":"record","model_id":"gpt-5","model_io_schema_version":"1.0.0"}}"#,
        Digest::of(said.as_bytes())
    );
    fs::write(project.folder.path().join("first.model_io.json"), session).unwrap();
    let replay = |out: &str| {
        project.run(&[
            "replay",
            "first.model_io.json",
            "--sandbox",
            "off",
            "--out",
            out,
            "--",
            REENACT,
            "demo-agent",
        ])
    };
    assert_eq!(replay("model_io.json").code, Some(0));
    assert_eq!(prompt_hashes(&project, "model_io.json"), [format!("sha256:{hash}")]);
    let taken = replay("model_io.json");
    taken.expect(2, "", "reenact: model_io.json: there is such a file already; give another name\n");
    replay("no/model_io.json").expect(
        2,
        "",
        "reenact: no/model_io.json: there is no such folder; make it first\n",
    );
    replay("again.rpk").expect(
        2,
        "",
        "reenact: --out *.rpk is for an .rpk that is played without a command; a replay of a command writes *model_io.json\n",
    );
    let other = replay("again.json");
    assert_eq!(other.code, Some(2));
    assert!(
        other.stderr.contains("the end of the name says what is written: *model_io.json"),
        "{}",
        other.stderr
    );
    assert!(!project.folder.path().join("again.rpk").exists());
}

#[test]
fn a_replay_that_misses_writes_what_it_answered() {
    let project = recorded_project();
    let missed = project.run(&[
        "replay",
        "last",
        "--sandbox",
        "off",
        "--out",
        "model_io.json",
        "--",
        REENACT,
        "demo-agent",
        "Another task.",
    ]);
    assert_eq!(missed.code, Some(2), "{}", missed.stderr);
    assert!(
        missed.stderr.contains("session of this replay: model_io.json (0 interactions)"),
        "{}",
        missed.stderr
    );
    assert_eq!(prompt_hashes(&project, "model_io.json"), Vec::<String>::new());
}
