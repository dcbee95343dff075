//! The short forms of commands: no `--` before the agent, and no RUN for the last one.

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
