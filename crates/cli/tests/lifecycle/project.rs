//! A project folder with a scripted model, in which the tests run `reenact`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reenact_record::wal::WalDir;
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{Script, ScriptedVendor, Vendor};

use crate::support::folder::Folder;
use crate::support::{self, text};

pub(crate) const REENACT: &str = env!("CARGO_BIN_EXE_reenact");

/// API key of the agent, which no rule can recognise by its shape. It must never be found in a file.
pub(crate) const API_KEY: &str = "an-api-key-of-no-shape-4711";

/// A project folder, and the vendor that the agent's requests go to.
pub(crate) struct TestProject {
    pub(crate) folder: Folder,
    pub(crate) vendor: ScriptedVendor,
    /// Folder in memory for logs, apart from those of other tests: any recorder removes logs that nobody needs.
    runtime: TestDir,
}

/// Exit code and output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestProject {
    pub(crate) fn new(script: Script) -> Self {
        let runtime = TestDir::in_memory();
        Self { folder: Folder::empty(), vendor: ScriptedVendor::start(script).unwrap(), runtime }
    }

    /// Returns the folder of logs. There must be memory-backed storage for it.
    pub(crate) fn logs(&self) -> WalDir {
        WalDir::open(&self.runtime.join("reenact")).unwrap()
    }

    /// Returns `reenact` with arguments, in an environment whose variables lead to the scripted model.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = support::command(Path::new(REENACT), &self.folder);
        command
            .args(arguments)
            .env("OPENAI_BASE_URL", self.vendor.base_url(Vendor::OPENAI))
            .env("ANTHROPIC_BASE_URL", self.vendor.base_url(Vendor::ANTHROPIC))
            .env("GOOGLE_GEMINI_BASE_URL", self.vendor.base_url(Vendor::GEMINI))
            .env("XDG_RUNTIME_DIR", self.runtime.path())
            .env("OPENAI_API_KEY", API_KEY)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        let output = self.command(arguments).output().unwrap();
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        CommandOutput { code: output.status.code(), stdout: utf8(output.stdout), stderr: utf8(output.stderr) }
    }

    /// Runs the agent without recording it.
    pub(crate) fn run_agent_directly(&self, agent: &[&str]) -> CommandOutput {
        assert_eq!(agent[0], REENACT);
        self.run(&agent[1..])
    }

    /// Returns every file in the state folder.
    pub(crate) fn recorded_files(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { walk(&path, found) } else { found.push(path) }
            }
        }
        let mut found = Vec::new();
        walk(&self.folder.state(), &mut found);
        found.sort();
        found
    }

    /// Returns the artifact of the only run.
    pub(crate) fn artifact(&self) -> PathBuf {
        let kept = self.recorded_files();
        let mut artifacts = kept.iter().filter(|path| path.ends_with("artifact.rer.json"));
        let artifact = artifacts.next().expect("no run was sealed").clone();
        assert_eq!(artifacts.next(), None, "there is more than one run");
        artifact
    }
}

impl CommandOutput {
    /// Compares with the expected output; `[..]` and `...` match anything.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, stdout: &str, stderr: &str) {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        for (expected, came) in [(stdout, &self.stdout), (stderr, &self.stderr)] {
            assert!(text::matches(expected, came), "{}", text::difference(expected, came));
        }
    }
}
