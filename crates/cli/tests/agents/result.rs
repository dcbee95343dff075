//! [`AgentResult`]: a row of the table that `cargo xtask test agents` prints, as a line of JSON.

use std::fs;
use std::io::Write;

use reenact_json::print::PrintObjectWriter;

use crate::replays::ReplayLevels;
use crate::row::TestedAgent;
use crate::row_run::installed;

/// Variable with the file to which each result is appended; set by `cargo xtask test agents`.
const RESULTS: &str = "REENACT_TEST_AGENTS_RAN";

/// Result of an agent.
#[derive(Default)]
pub(crate) struct AgentResult {
    /// Name of the test.
    pub(crate) test: String,
    pub(crate) agent: String,
    pub(crate) version: String,
    /// Model calls that the vendor received, and those that are recorded.
    pub(crate) calls: (usize, usize),
    /// Tools that the model called, and those that the record shows with a result.
    pub(crate) tools: (usize, usize),
    pub(crate) is_verified: bool,
    /// True if output, exit code and files are those of the direct run.
    pub(crate) is_same: bool,
    pub(crate) seconds: f64,
    /// Levels at which the requests of its replays were found.
    pub(crate) replays: ReplayLevels,
    /// Reasons why the row does not hold; empty if it does.
    pub(crate) faults: Vec<String>,
}

impl AgentResult {
    /// Appends the result to the file of results.
    pub(crate) fn note(&self) {
        let Some(file) = std::env::var_os(RESULTS) else { return };
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("test", self.test.as_str());
        object.string("agent", self.agent.as_str());
        object.string("version", self.version.as_str());
        for (name, number) in [
            ("calls_made", self.calls.0),
            ("calls_recorded", self.calls.1),
            ("tools_called", self.tools.0),
            ("tools_seen", self.tools.1),
        ] {
            object.name(name).push_str(&number.to_string());
        }
        object.boolean("verified", self.is_verified);
        object.boolean("same_output", self.is_same);
        object.name("seconds").push_str(&format!("{:.1}", self.seconds));
        object.string("replay_at_once", self.replays.at_once.as_str());
        object.string("replay_later", self.replays.later.as_str());
        object.string("replay_other_output", self.replays.other_output.as_str());
        object.strings("faults", &self.faults);
        object.close();
        line.push('\n');
        // One write, because other tests append to the file as well.
        let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

/// Returns the version of an agent as its package says it.
pub(crate) fn version(row: &TestedAgent) -> String {
    let (installation, package) = &row.installed;
    let folder = installed().join(installation);
    if installation == "npm" {
        let file = folder.join("node_modules").join(package).join("package.json");
        let package: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        return package["version"].as_str().unwrap().to_owned();
    }
    let beginning = format!("{}-", package.replace('-', "_"));
    let packages = folder.join("lib").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut entries = packages.flat_map(|python| python.join("site-packages").read_dir().unwrap());
    let found = entries.find_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        Some(name.strip_prefix(&beginning)?.strip_suffix(".dist-info")?.to_owned())
    });
    found.unwrap_or_else(|| panic!("{package} is not installed in {}", folder.display()))
}
