//! Reasons for which a run is not replayed, before its command starts.
//!
//! Programs branch on the code, which is in the text and, with `--json`, in an object on standard output.

use reenact_json::print::PrintObjectWriter;
use reenact_replay::{LoadError, miss};
use reenact_sandbox::{SandboxError, SandboxProbe};

use crate::output::{self, CommandError};

/// Code for a record that does not verify.
pub(super) const NOT_VERIFIED: &str = "E_NOT_VERIFIED";
/// Code for a record that is not signed as it must be.
pub(super) const NOT_TRUSTED: &str = "E_NOT_TRUSTED";
/// Code for a replay for which a command must be given.
pub(super) const COMMAND_NEEDED: &str = "E_COMMAND_NEEDED";
/// Code for a record without any exchange.
pub(super) const NOTHING_RECORDED: &str = "E_NOTHING_RECORDED";
/// Code for a sandbox that is required and that the kernel refuses.
const SANDBOX_REFUSED: &str = "E_SANDBOX_REFUSED";

/// Code for a project whose envelope would not be enforced.
pub(super) const NOT_ENFORCED: &str = "E_ENVELOPE_NOT_ENFORCED";
/// Code for a request to a vendor that the recorded run did not call.
pub(super) const UPSTREAM_NOT_RECORDED: &str = "E_UPSTREAM_NOT_RECORDED";

/// Reason for which a run is not replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplayRefusal {
    /// Code for programs, such as `E_NOTHING_RECORDED`.
    pub(super) code: &'static str,
    /// First line: the reason. Safe to print.
    pub(super) reason: String,
    /// Further lines: details, and what to do. Safe to print.
    pub(super) advice: Vec<String>,
}

impl ReplayRefusal {
    /// Makes the refusal of a record without any exchange. `name` is printable.
    pub(super) fn nothing_recorded(name: &str) -> Self {
        Self {
            code: NOTHING_RECORDED,
            reason: format!("{name}: no request and no answer were recorded, so there is nothing to reproduce"),
            advice: vec![
                "the calls of the agent did not come through reenact: `reenact record --dry-run CMD` shows what is set for it, `reenact doctor agents` which agents are known".to_owned(),
                "record it again when its calls are counted in the summary".to_owned(),
            ],
        }
    }

    /// Makes the refusal of a replay for which the kernel gives no sandbox, with what would change that.
    pub(super) fn no_sandbox(error: &SandboxError, probe: &SandboxProbe) -> Self {
        let mut advice: Vec<String> = probe.advice.iter().map(|line| format!("  {line}")).collect();
        advice.push(
            "without a sandbox the agent has the whole network: --sandbox off runs it all the same"
                .to_owned(),
        );
        Self { code: SANDBOX_REFUSED, reason: error.to_string(), advice }
    }

    /// Makes the refusal of a record that cannot be played. `name` and `withheld`, a notice, are printable.
    pub(super) fn not_loaded(name: &str, error: &LoadError, withheld: Option<&str>) -> Self {
        let text = error.to_string();
        let mut lines = text.lines().map(str::to_owned).chain(withheld.map(str::to_owned));
        let first = lines.next().unwrap_or_default();
        // The words of some errors have the code already.
        let reason = first.strip_suffix(&format!(" ({})", miss::CODE)).unwrap_or(&first);
        Self { code: miss::CODE, reason: format!("{name}: {reason}"), advice: lines.collect() }
    }

    /// Returns the error, with exit code 2. With `is_json` the refusal is also printed as an object.
    ///
    /// # Errors
    ///
    /// If standard output cannot be written; the error is then that one.
    pub(super) fn into_error(self, is_json: bool) -> CommandError {
        if is_json && let Err(error) = output::print(&(self.to_json() + "\n")) {
            return error;
        }
        let advice: String = self.advice.iter().map(|line| format!("\n{line}")).collect();
        CommandError::impossible(format!("{} ({}){advice}", self.reason, self.code))
    }

    /// Returns the refusal as one JSON object, without a line feed.
    fn to_json(&self) -> String {
        let mut text = String::new();
        let mut object = PrintObjectWriter::open(&mut text);
        object.string("code", self.code);
        object.string("message", self.reason.as_str());
        object.strings("advice", &self.advice);
        object.close();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_cannot_be_played() {
        let error = LoadError::Rules { recorded: "a".into(), ours: "b".into() };
        let refusal = ReplayRefusal::not_loaded("x", &error, Some("1 exchange is withheld"));
        assert_eq!(refusal.code, "E_REPLAY_MISSING_DEPENDENCY");
        assert!(refusal.reason.ends_with("requests with secrets would not be found"), "{}", refusal.reason);
        assert_eq!(
            refusal.advice,
            [
                "replay it where reenact.toml has the [redaction] rules that it was recorded with",
                "1 exchange is withheld"
            ]
        );
    }

    #[test]
    fn the_object_for_programs() {
        assert_eq!(
            ReplayRefusal { code: NOT_VERIFIED, reason: "no".into(), advice: vec!["a: b".into()] }.to_json(),
            r#"{"code":"E_NOT_VERIFIED","message":"no","advice":["a: b"]}"#
        );
    }
}
