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
            "last run  {short}  sh -c '\"$0\" demo-agent > /dev/null' [..]\n          \
             [..], completed (exit 0), 4 model calls and 3 tool calls, about 0.003444 USD\n\
             next      reenact show[..]\n          reenact verify[..]\n          reenact replay   [..]\n          \
             reenact share --as rer  [..]\n"
        ),
        "",
    );
    // The members are those of `show --json`, but for the steps.
    let json = project.run(&["--json"]);
    let (facts, _) = shown.stdout.split_once(",\"steps\":").unwrap();
    json.expect(0, &format!("{facts}}}\n"), "");
    // A run whose recorder was killed, and nothing was recorded of it.
    let id = "ffffffff-ffff-7fff-bfff-ffffffffffff";
    fs::create_dir(project.folder.state().join("runs").join(id)).unwrap();
    project.run(&["--json"]).expect(0, &format!("{facts}}}\n"), "");
}

/// An agent whose calls did not come here is not to be replayed.
#[test]
fn reenact_alone_tells_what_to_do_about_nothing() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "sh", "-c", "true"]).expect(0, "", "");
    project.run(&[]).expect(
        0,
        "last run  [..]  sh -c true\n          [..], completed (exit 0), 0 model calls and 0 tool calls\nnext [..]\n[..]\n          \
         reenact record --dry-run sh -c true  [..]\n[..]\n",
        "",
    );
}

/// A run that is not over is not told as the last one with a result.
#[test]
fn reenact_alone_tells_a_run_that_goes_on() {
    let project = TestProject::new(Script::travel());
    let inside = project.run(&["record", "-q", REENACT]);
    inside.expect(0, "last run  [..]  is being recorded now\nnext      reenact runs list  every run, and what became of it\n", "");
    let inside = project.run(&["record", "-q", REENACT, "--json"]);
    inside.expect(0, "{\"run_id\":\"[..]\",\"unreadable\":\"is being recorded now\"}\n", "");
}

/// The summary for programs is what `show --json` says, with the place of the record.
#[test]
fn a_recording_is_summed_up_for_programs() {
    let project = TestProject::new(Script::travel());
    let recorded = project.run(&["record", "--json", REENACT, "demo-agent"]);
    let shown = project.run(&["show", "--json"]).stdout;
    let (facts, _) = shown.split_once(",\"steps\":").unwrap();
    // The recorder judges by its own key, and `show` by those that the user trusts.
    let facts = facts.strip_prefix('{').unwrap().replace("a key that you trust", "the key that you supplied");
    let artifact = project.artifact();
    let size = fs::metadata(&artifact).unwrap().len();
    let expected = format!("{{\"out\":\"{}\",\"bytes\":{size},{facts}}}\n", artifact.display());
    recorded.expect(0, "...\nmodel: Booked: [..]\n", &expected);
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
