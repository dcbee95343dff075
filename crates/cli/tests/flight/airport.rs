//! Where flights start: a folder, a scripted model, and the program.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reenact_testkit::{Kind, Script, Vendor};

use crate::support::folder::Folder;
use crate::support::{self, text};

pub(crate) const REENACT: &str = env!("CARGO_BIN_EXE_reenact");

/// A key that nobody has. It must never be found in a file.
pub(crate) const API_KEY: &str = "an-api-key-of-no-shape-4711";

pub(crate) struct Airport {
    pub(crate) folder: Folder,
    pub(crate) vendor: Vendor,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Landed {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Airport {
    pub(crate) fn new(script: Script) -> Self {
        Self { folder: Folder::empty(), vendor: Vendor::start(script).unwrap() }
    }

    /// `reenact` with arguments, where the variables lead to the scripted model.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = support::command(Path::new(REENACT), &self.folder);
        command
            .args(arguments)
            .env("OPENAI_BASE_URL", self.vendor.base_url(Kind::OPENAI))
            .env("ANTHROPIC_BASE_URL", self.vendor.base_url(Kind::ANTHROPIC))
            .env("GOOGLE_GEMINI_BASE_URL", self.vendor.base_url(Kind::GEMINI))
            .env("OPENAI_API_KEY", API_KEY)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn fly(&self, arguments: &[&str]) -> Landed {
        let output = self.command(arguments).output().unwrap();
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        Landed { code: output.status.code(), stdout: utf8(output.stdout), stderr: utf8(output.stderr) }
    }

    /// The agent's own words, without anyone watching.
    pub(crate) fn unwatched(&self, agent: &[&str]) -> Landed {
        assert_eq!(agent[0], REENACT);
        self.fly(&agent[1..])
    }

    /// Every file below `.reenact`.
    pub(crate) fn kept(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { walk(&path, found) } else { found.push(path) }
            }
        }
        let mut found = Vec::new();
        walk(&self.folder.path().join(".reenact"), &mut found);
        found.sort();
        found
    }

    /// The artifact of the only run.
    pub(crate) fn artifact(&self) -> PathBuf {
        let kept = self.kept();
        let mut artifacts = kept.iter().filter(|path| path.ends_with("artifact.rer.json"));
        let artifact = artifacts.next().expect("no run was sealed").clone();
        assert_eq!(artifacts.next(), None, "there is more than one run");
        artifact
    }
}

impl Landed {
    /// Compares with what is expected; `[..]` and `...` match anything.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, stdout: &str, stderr: &str) {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        for (expected, came) in [(stdout, &self.stdout), (stderr, &self.stderr)] {
            assert!(text::matches(expected, came), "{}", text::difference(expected, came));
        }
    }
}
