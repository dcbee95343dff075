//! Disks that fail while an agent runs: the agent notices nothing, and what is not recorded is said.

use std::fs;

use reenact_testkit::Script;

use super::airport::{Airport, REENACT};

/// A run in a shell that lets no file become longer than so many blocks, as a full disk would.
fn record_within(airport: &Airport, blocks: usize, agent: &str) -> super::airport::Landed {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" record -- {agent}");
    let reenact = airport.command::<&str>(&[]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &script, REENACT]).current_dir(airport.folder.path()).env_clear();
    limited.envs(reenact.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().unwrap();
    let utf8 = |bytes| String::from_utf8(bytes).unwrap();
    super::airport::Landed {
        code: output.status.code(),
        stdout: utf8(output.stdout),
        stderr: utf8(output.stderr),
    }
}

#[test]
fn a_journal_that_cannot_be_written_stops_no_agent_and_ends_with_125() {
    let airport = Airport::new(Script::travel());
    let direct = airport.unwatched(&[REENACT, "demo-agent"]);
    let landed = record_within(&airport, 12, "\"$0\" demo-agent");
    landed.expect(
        125,
        &direct.stdout,
        "...\nreenact: the run is over, but could not be sealed: .reenact/runs/[..]/journal.jsonl: the journal cannot be written: [..]; its journal is in .reenact/runs/[..]; when that is mended: reenact recover\n",
    );
    // What is there is sealed, and says that it is not all.
    airport.fly(&["recover"]).expect(0, "recovered [..]\nsealed: [..]\n", "");
    airport.fly(&["verify", "last"]).expect(0, "...\n", "");
    let artifact = fs::read_to_string(airport.artifact()).unwrap();
    assert!(artifact.contains("\"rer.capture.gap\"") && artifact.contains("\"crashed\""), "{artifact}");
}

/// As by an agent that cleans up its project.
#[test]
fn a_folder_that_the_agent_removes_is_written_anew() {
    let airport = Airport::new(Script::travel());
    let agent = "rm -rf .reenact; \"$0\" demo-agent && rm -rf .reenact";
    let recorded = airport.fly(&["record", "--", "sh", "-c", agent, REENACT]);
    recorded.expect(0, "...\n", "reenact: recorded 4 model calls and 3 tool calls, [..]\n...\n");
    airport.fly(&["verify", "last"]).expect(0, "...\n", "");
}
