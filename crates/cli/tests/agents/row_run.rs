//! One run of an agent: in a folder and a home of its own, against a vendor of its own.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reenact_testkit::{Script, ScriptedVendor, Vendor, VendorRequest};

use crate::row::TestedAgent;
use crate::support::credentials::credentials;
use crate::support::{self, folder::Folder};

/// Prompt of every agent. The product is not in it, so that only a tool can have brought it.
const PROMPT: &str = "Write the product of 123 and 456 to answer.txt.";
/// Seconds after which an agent is killed: only one that hangs takes so long.
const LIMIT: &str = "150";
/// Variable with the folder of the installations; set by `cargo xtask test agents`.
const FOLDER: &str = "REENACT_TEST_AGENTS";
/// Variable by which `crates/cli/tests/agents/clock.c` moves the clock, in seconds.
const CLOCK: &str = "REENACT_TEST_CLOCK_SECONDS";

/// Finished run of an agent.
pub(crate) struct RowRun {
    /// Folder of the run.
    pub(crate) folder: Folder,
    /// Exit code, `None` if a signal ended the agent.
    pub(crate) exit_code: Option<i32>,
    /// Standard output, with what every run has of its own replaced.
    pub(crate) stdout: String,
    /// Standard error, as it came.
    pub(crate) stderr: String,
    /// Requests that the vendor received.
    pub(crate) requests: Vec<VendorRequest>,
    /// Time from start to exit.
    pub(crate) took: Duration,
}

/// Returns the folder of the installations.
pub(crate) fn installed() -> PathBuf {
    let folder = std::env::var_os(FOLDER)
        .unwrap_or_else(|| panic!("not run: {FOLDER} is not set; `cargo xtask test agents` does it all"));
    PathBuf::from(folder)
}

/// Runs an agent without us.
pub(crate) fn run_directly(name: &str, row: &TestedAgent) -> RowRun {
    run(name, row, &row.direct_variables, |_| row.direct_command.clone())
}

/// Runs an agent under `reenact record`, which is told where the vendor is. The agent is not.
pub(crate) fn record(name: &str, row: &TestedAgent) -> RowRun {
    run(name, row, &[], |vendor| {
        let kind = Vendor::of_name(&row.upstream).expect("the upstream is a vendor");
        let upstream = format!("{}={}", row.upstream, vendor.base_url(kind));
        let ours = [env!("CARGO_BIN_EXE_reenact"), "record", "--upstream", &upstream];
        ours.into_iter().map(str::to_owned).chain(row.command.iter().cloned()).collect()
    })
}

fn run(
    name: &str,
    row: &TestedAgent,
    variables: &[(String, String)],
    line: impl FnOnce(&ScriptedVendor) -> Vec<String>,
) -> RowRun {
    let folder = Folder::outside_of_the_repository();
    symlink(installed().join("npm/node_modules"), folder.root().join("node_modules")).unwrap();
    fill(&folder, name, row);
    let mut vendor = ScriptedVendor::start(Script::task(row.task.clone())).unwrap();
    let filled = |text: &str| filled(text, &vendor.root_url());
    let mut command = command(&folder);
    command.args(line(&vendor).iter().map(|word| filled(word)));
    command.envs(row.variables.iter().chain(variables).map(|(name, value)| (name, filled(value))));
    let ended = Ended::of(command, &folder);
    let url = vendor.root_url();
    vendor.stop();
    let varies = |line: &&str| row.varying_lines.iter().any(|beginning| line.starts_with(beginning));
    let said = ended.stdout.replace(&*folder.root().to_string_lossy(), "{folder}").replace(&url, "{url}");
    let said = said.lines().filter(|line| !varies(line)).map(|line| format!("{line}\n")).collect();
    let requests = vendor.requests();
    let Ended { exit_code, stderr, took, .. } = ended;
    RowRun { exit_code, stdout: said, stderr, requests, took, folder }
}

/// Ended command, with what it printed.
pub(crate) struct Ended {
    /// Exit code, `None` if a signal ended it.
    pub(crate) exit_code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Time from start to exit.
    took: Duration,
}

impl Ended {
    /// Runs a command. Its output goes to files, because a process that an agent leaves behind would hold a pipe open.
    fn of(mut command: Command, folder: &Folder) -> Self {
        let [stdout, stderr] = ["stdout.txt", "stderr.txt"].map(|name| folder.root().join(name));
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        let start = Instant::now();
        let status = command.stdin(Stdio::null()).status().unwrap();
        let took = start.elapsed();
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Self { exit_code: status.code(), stdout: text(&stdout), stderr: text(&stderr), took }
    }
}

/// Puts the files of the row into the folder, and its settings into the home.
fn fill(folder: &Folder, name: &str, row: &TestedAgent) {
    for file in TestedAgent::work_files(name) {
        fs::copy(&file, folder.path().join(file.file_name().unwrap())).unwrap();
    }
    for (path, content) in &row.home {
        let path = folder.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Replays a recorded run where it was recorded: in the same folder and home, both as they were before the run. There is no vendor.
/// `files` are written over those of the row, and `seconds` is how far the clock is moved, for us and for the agent.
pub(crate) fn replay(
    name: &str,
    row: &TestedAgent,
    recorded: &RowRun,
    files: &[(String, String)],
    seconds: u32,
    options: &[&str],
) -> Ended {
    let folder = &recorded.folder;
    remove_entries(&folder.path(), &[]);
    // Our own settings lie there as well, with the key of the record.
    remove_entries(&folder.home(), &["reenact"]);
    fill(folder, name, row);
    for (path, content) in files {
        fs::write(folder.path().join(path), content).unwrap();
    }
    let mut command = command(folder);
    command.args([env!("CARGO_BIN_EXE_reenact"), "replay", "--json", "--sandbox", "require"]);
    command.args(options).args(["last", "--"]);
    // No vendor is there, so there is no address that could be filled in.
    command.args(row.command.iter().map(|word| filled(word, "")));
    command.envs(row.variables.iter().map(|(name, value)| (name, filled(value, ""))));
    if seconds > 0 {
        command.env("LD_PRELOAD", installed().join("clock.so")).env(CLOCK, seconds.to_string());
    }
    Ended::of(command, folder)
}

/// Removes what is in a folder, but for entries of these names.
fn remove_entries(folder: &Path, kept: &[&str]) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if kept.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        // A process that the agent left behind may add a file meanwhile; the second attempt then removes it.
        let remove = || if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        remove().or_else(|_| remove()).unwrap();
    }
}

/// Returns a command that ends in time, with the agents in its `PATH`.
fn command(folder: &Folder) -> Command {
    let mut command = support::command(Path::new("timeout"), folder);
    let before = std::env::var_os("PATH").unwrap_or_default();
    let ours = ["npm/node_modules/.bin", "stacks/bin", "aider/bin"].map(|path| installed().join(path));
    let path = std::env::join_paths(ours.into_iter().chain(std::env::split_paths(&before))).unwrap();
    command.env("PATH", path).args(["--kill-after=5", LIMIT]);
    command
}

/// Returns a text of a row with its placeholders filled.
fn filled(text: &str, url: &str) -> String {
    let credentials = credentials();
    let key = |variable: &str| &credentials.iter().find(|(name, _)| *name == variable).unwrap().1;
    text.replace("{prompt}", PROMPT)
        .replace("{url}", url)
        .replace("{openai_key}", key("OPENAI_API_KEY"))
        .replace("{anthropic_key}", key("ANTHROPIC_API_KEY"))
        .replace("{gemini_key}", key("GEMINI_API_KEY"))
}

impl RowRun {
    /// Returns the files below the folder in which the agent worked: path and content, sorted. Links are not followed.
    pub(crate) fn work_files(&self, row: &TestedAgent) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        visit(&self.folder.path(), "", &mut files);
        for (name, content) in &mut files {
            if row.varying_files.contains(name) {
                content.clear();
            }
        }
        files.sort();
        files
    }
}

fn visit(folder: &Path, before: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            visit(&entry.path(), &format!("{name}/"), files);
        } else if kind.is_file() {
            files.push((name, fs::read(entry.path()).unwrap()));
        }
    }
}
