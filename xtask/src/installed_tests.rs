//! Tests that need what only a step installs: a plain `cargo test` ignores them.
//!
//! Each test appends a line to a report when it has run to its end: a test that was skipped would
//! otherwise look like one that passed.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::context::TaskContext;
use crate::failure::TaskFailure;
use crate::install::failed;

/// Ignored tests of `crates/cli/tests/NAME.rs`.
pub(crate) struct InstalledTests {
    /// Name of the test file.
    name: &'static str,
    /// Folder of the installations, in the target folder.
    pub(crate) folder: PathBuf,
    /// File of the reports.
    pub(crate) report: PathBuf,
}

impl InstalledTests {
    /// Names the tests of a file and their folder.
    pub(crate) fn new(context: &TaskContext, name: &'static str) -> Self {
        let folder = context.target_folder().join(name);
        Self { name, report: folder.join("ran.txt"), folder }
    }

    /// Returns arguments of cargo, with the features of the step `build`, so that nothing is
    /// compiled twice.
    pub(crate) fn arguments(&self) -> String {
        format!("test --workspace --all-features --test {}", self.name)
    }

    /// Returns the variables that the tests read: the folder of the installations, and the file of
    /// reports.
    pub(crate) fn variables(&self) -> [(String, String); 2] {
        let variable = format!("REENACT_TEST_{}", self.name.to_uppercase());
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        [(variable.clone(), text(&self.folder)), (format!("{variable}_RAN"), text(&self.report))]
    }

    /// Removes the reports of an earlier run.
    ///
    /// # Errors
    /// If the file is there and cannot be removed.
    pub(crate) fn forget_reports(&self) -> Result<(), TaskFailure> {
        match fs::remove_file(&self.report) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&self.report, error)),
            _ => Ok(()),
        }
    }

    /// Returns the lines that the tests reported; none if no test came so far.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub(crate) fn reports(&self) -> Result<String, TaskFailure> {
        match fs::read_to_string(&self.report) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            read => read.map_err(|error| failed(&self.report, error)),
        }
    }

    /// Runs the tests with arguments of libtest.
    ///
    /// # Errors
    /// If a test fails.
    pub(crate) fn run(&self, context: &TaskContext, arguments: &str) -> Result<(), TaskFailure> {
        let variables = self.variables();
        let variables = variables.each_ref().map(|(name, value)| (name.as_str(), value.as_str()));
        context.cargo_with(&format!("{} -- --ignored {arguments}", self.arguments()), &variables)
    }

    /// Returns the names of the tests, as libtest lists them.
    ///
    /// # Errors
    /// If they do not compile.
    pub(crate) fn listed(&self, context: &TaskContext) -> Result<Vec<String>, TaskFailure> {
        let listed =
            context.cargo_output(&format!("{} -- --ignored --list --format terse", self.arguments()))?;
        Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Checks that every test is among those that ran to their end.
    ///
    /// # Errors
    /// If one is not.
    pub(crate) fn check_all_ran(&self, context: &TaskContext, ran: &[&str]) -> Result<(), TaskFailure> {
        let left_out = left_out(self.listed(context)?, ran);
        if left_out.is_empty() { Ok(()) } else { Err(TaskFailure::TestsNotRun { tests: left_out }) }
    }
}

/// Returns the tests that did not run to their end.
fn left_out(listed: Vec<String>, ran: &[&str]) -> Vec<String> {
    listed.into_iter().filter(|test| !ran.contains(&test.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_did_not_run_is_named() {
        let listed = || ["python_openai::plain", "node_openai::cut"].map(str::to_owned).to_vec();
        assert_eq!(left_out(listed(), &["node_openai::cut"]), ["python_openai::plain"]);
        assert!(left_out(listed(), &["node_openai::cut", "python_openai::plain"]).is_empty());
    }
}
