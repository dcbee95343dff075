//! Disks that fail while an agent runs: the agent notices nothing, and the record says what is missing.

use std::fs;

use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Records a run in a shell whose `ulimit` lets no file grow beyond so many blocks, as a full disk would.
fn record_within(project: &TestProject, blocks: usize, agent: &str) -> super::project::CommandOutput {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" record -- {agent}");
    let reenact = project.command::<&str>(&[]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &script, REENACT]).current_dir(project.folder.path()).env_clear();
    limited.envs(reenact.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().unwrap();
    let utf8 = |bytes| String::from_utf8(bytes).unwrap();
    super::project::CommandOutput {
        code: output.status.code(),
        stdout: utf8(output.stdout),
        stderr: utf8(output.stderr),
    }
}

#[test]
fn a_journal_that_cannot_be_written_stops_no_agent_and_ends_with_125() {
    let project = TestProject::new(Script::travel());
    let direct = project.run_agent_directly(&[REENACT, "demo-agent"]);
    let output = record_within(&project, 12, "\"$0\" demo-agent");
    output.expect(
        125,
        &direct.stdout,
        "...\nreenact: the run is over, but could not be sealed: [..]/state/runs/[..]/journal.jsonl: the journal cannot be written: [..]; its journal is in [..]/state/runs/[..]; when that is mended: reenact runs recover\n",
    );
    // The events up to there are sealed, with a gap that says that they are not all.
    project.run(&["runs", "recover"]).expect(0, "recovered [..]\nsealed: [..]\n", "");
    project.run(&["verify", "last"]).expect(0, "...\n", "");
    let artifact = fs::read_to_string(project.artifact()).unwrap();
    assert!(artifact.contains("\"rer.capture.gap\"") && artifact.contains("\"crashed\""), "{artifact}");
}

/// An agent that cleans up its project may remove the folder of the runs.
#[test]
fn a_folder_that_the_agent_removes_is_written_anew() {
    let project = TestProject::new(Script::travel());
    let agent = "rm -rf \"$REENACT_HOME\"; \"$0\" demo-agent && rm -rf \"$REENACT_HOME\"";
    let recorded = project.run(&["record", "--", "sh", "-c", agent, REENACT]);
    recorded.expect(0, "...\n", "reenact: recorded 4 model calls and 3 tool calls, [..]\n...\n");
    project.run(&["verify", "last"]).expect(0, "...\n", "");
}
