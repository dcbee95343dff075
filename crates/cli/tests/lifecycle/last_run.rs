//! The short forms of commands: no `--` before the agent, and no RUN for the last one.

use std::fs;

use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Words after the agent's name are the agent's, even where reenact has an option of that name.
#[test]
fn the_agents_options_are_its_own() {
    let project = TestProject::new(Script::travel());
    let recorded = project.run(&[
        "record",
        "--quiet",
        "sh",
        "-c",
        "echo \"$0 $*\"; exit 3",
        "--quiet",
        "--out",
        "--",
        "x",
    ]);
    recorded.expect(3, "--quiet --out -- x\n", "");
    project.run(&["show"]).expect(0, "...\n", "");
}

#[test]
fn without_a_name_it_is_the_last_run() {
    let project = TestProject::new(Script::travel());
    let recorded = project.run(&["record", REENACT, "demo-agent"]);
    recorded.expect(0, "...\nmodel: Booked: [..]\n", "...\n");
    for (command, expected) in [
        (&["show"][..], "PASS  intact, [..]\n...\n"),
        (&["verify"], "...\n  PASS  intact, [..]\n"),
        (&["policy", "show"], "...\n"),
        (&["policy", "init"], "...\n"),
        (&["policy", "try", "envelope.toml"], "...\n"),
        (&["redact", "--event", "3", "--out", "shared.rer.json"], "...\n"),
    ] {
        project.run(command).expect(0, expected, "");
    }
    let replayed = project.run(&["replay", "--", REENACT, "demo-agent"]);
    replayed.expect(0, &recorded.stdout, "...\nreenact: reproduced: 4 exchanges, exit 0, as recorded\n...\n");
}

/// Without a command there is the last run, and what to do next.
#[test]
fn reenact_alone_tells_the_last_run() {
    let project = TestProject::new(Script::travel());
    project.run(&[]).expect(
        0,
        "no run is recorded yet\n\
         next      reenact record python agent.py  [..]\n          reenact demo                    [..]\n",
        "",
    );
    project.run(&["--json"]).expect(0, "{\"run_id\":null}\n", "");
    project
        .run(&["record", "-q", "--", "sh", "-c", "\"$0\" demo-agent > /dev/null", REENACT])
        .expect(0, "", "");
    let shown = project.run(&["show", "--json"]);
    let id = shown.stdout.split('"').nth(3).unwrap();
    let short = &id[id.len() - 6..];
    project.run(&[]).expect(
        0,
        &format!(
            "last run  {short}  sh -c \"$0\" demo-agent > /dev/null [..]\n          \
             [..] ago, completed (exit 0), 4 model calls and 3 tool calls, about 0.003444 USD\n\
             next      reenact show[..]\n          reenact verify[..]\n          reenact replay -- [..]\n          \
             reenact share --as rer  [..]\n"
        ),
        "",
    );
    // The members are those of `show --json`, but for the steps.
    let json = project.run(&["--json"]);
    let (facts, _) = shown.stdout.split_once(",\"steps\":").unwrap();
    json.expect(0, &format!("{facts}}}\n"), "");
    // A run that is being recorded, or whose recorder was killed, is said to be unsealed.
    let runs = project.folder.state().join("runs");
    let run_file = fs::read_to_string(runs.join(id).join("run.json")).unwrap();
    let sealed_id = id;
    let id = "ffffffff-ffff-7fff-bfff-ffffffffffff";
    fs::create_dir(runs.join(id)).unwrap();
    fs::write(runs.join(id).join("run.json"), run_file.replace(sealed_id, id)).unwrap();
    fs::write(runs.join(id).join("journal.jsonl"), "").unwrap();
    project.run(&[]).expect(0, &format!("last run  run {id} was not sealed; seal it with: [..]\n"), "");
    project.run(&["--json"]).expect(0, &format!("{{\"run_id\":\"{id}\",\"unreadable\":\"run [..]\"}}\n"), "");
}

/// A record that was changed is told as such.
#[test]
fn reenact_alone_tells_a_changed_record() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", REENACT, "demo-agent"]).expect(0, "...\n", "");
    let artifact = project.artifact();
    let text = fs::read_to_string(&artifact).unwrap();
    fs::write(&artifact, text.replace("R7K2QD", "R7K2QX")).unwrap();
    project.run(&[]).expect(0, "last run  [..]\n          [..]\n          FAIL  [..]\nnext [..]\n...\n", "");
}
