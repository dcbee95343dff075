//! The command that is replayed: the one given, or the recorded one.
//!
//! A record may come from anyone, and so may its command. It is run unasked only if the run is our own: kept in our state
//! folder, signed with a key of ours, and not imported from another record. Start reading at `ReplayArgs::chosen_command`.

use std::ffi::OsString;
use std::path::Path;

use reenact_formats::FormatId;
use reenact_json::Shown;
use reenact_record::RunId;
use reenact_run::Run;
use reenact_verify::Trust;

use super::ReplayArgs;
use super::refusal::{self, ReplayRefusal};
use crate::command::record::command_fault;
use crate::command::shell_quoted;
use crate::config::UserConfig;
use crate::output::{self, CommandError};
use crate::runs::run_name::RunName;
use crate::runs::{self, OpenedRun};

/// Largest number of characters that are shown of a command: prompts are arguments.
const MAX_SHOWN_CHARS: usize = 2_000;

impl ReplayArgs {
    /// Returns the command to run, and prints it if it is the recorded one. `name` is printable.
    ///
    /// # Errors
    ///
    /// If none is given and the recorded one may not be run unasked, or is not in the record as it was typed.
    pub(super) fn chosen_command(
        &self,
        found: &OpenedRun,
        name: &str,
    ) -> Result<Vec<OsString>, CommandError> {
        if !self.command.is_empty() {
            return Ok(self.command.clone());
        }
        let command = found.run.summary().command;
        let line = shown_command(&command);
        let run = Shown::whole(&self.run.to_string_lossy()).to_string();
        let give_it = format!("reenact replay {run} -- CMD");
        let refused = |reason: String, advice: Vec<String>| {
            let code = refusal::COMMAND_NEEDED;
            Err(ReplayRefusal { code, reason, advice }.into_error(self.json))
        };
        if command.is_empty() {
            let reason = format!("{name}: the record holds no command");
            return refused(reason, vec![format!("give it: {give_it}")]);
        }
        if let Some(why) = command_fault(&command) {
            let reason = format!("{name}: the recorded command cannot be run, because {why}");
            return refused(reason, vec![format!("it is: {line}"), format!("give it: {give_it}")]);
        }
        if !self.recorded_command && !is_own(found)? {
            let reason =
                format!("{name}: this is not one of your own runs, so its command is not run unasked");
            let advice = format!("run that with --recorded-command, or give one: {give_it}");
            return refused(reason, vec![format!("it is: {line}"), advice]);
        }
        if !self.recorded_command && self.is_last_of_elsewhere(&found.run) {
            let reason = format!(
                "{name}: no run was recorded in this folder, so the command of the newest of all is not run here unasked"
            );
            let id = Shown::new(found.run.id()).to_string();
            let advice = format!("go to the folder of the run, or name it: reenact replay {id}");
            return refused(reason, vec![format!("it is: {line}"), advice]);
        }
        output::print_notice(&format!("replaying: {line}"));
        Ok(command.into_iter().map(OsString::from).collect())
    }
}

impl ReplayArgs {
    /// Returns true if `last` was asked for and the run was recorded in no folder at or below this one. Its command may name files,
    /// such as `agent.py`, and whatever has that name here is not what was recorded.
    fn is_last_of_elsewhere(&self, run: &Run) -> bool {
        let is_last = matches!(self.run.to_str().and_then(RunName::parse), Some(RunName::Last { .. }));
        let here = std::env::current_dir().unwrap_or_default();
        let recorded_in = run.surroundings().folder;
        is_last && !recorded_in.is_some_and(|folder| Path::new(&*folder).starts_with(&here))
    }
}

/// Returns a command as one would type it, cut if it is long.
fn shown_command(command: &[String]) -> String {
    let line = command.iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((cut, _)) => format!("{}… ({} bytes)", line.get(..cut).unwrap_or_default(), line.len()),
        None => line,
    }
}

/// Returns true for a run that was recorded by us: its artifact is the one that our state folder has, its key is one of ours, and
/// its events were not imported from a record of others.
pub(super) fn is_own(found: &OpenedRun) -> Result<bool, CommandError> {
    let OpenedRun { path, run, report } = found;
    // Whoever imports a record signs it, and its command stays that of others.
    let is_recorded = matches!(report.format_id(), Some(FormatId::Rer | FormatId::RerBundle))
        && report.pass()
        && !run.is_imported();
    if !is_recorded || !is_in_state_folder(path, run) {
        return Ok(false);
    }
    let Some(signer) = report.signer.as_ref().filter(|signer| signer.trust != Trust::Compromised) else {
        return Ok(false);
    };
    let Some(config) = UserConfig::find() else { return Ok(false) };
    let (own, _) = config.own_keys()?;
    Ok(own.iter().any(|own| signer.key_id.as_deref() == Some(own.key.id().to_string().as_str())))
}

/// Returns true if a file is the artifact that our state folder has of this run, or names for it.
fn is_in_state_folder(path: &Path, run: &Run) -> bool {
    let Ok(id) = run.id().parse::<RunId>() else { return false };
    let Ok(store) = runs::run_store() else { return false };
    let Ok(own) = store.sealed_artifact(id) else { return false };
    let resolved = |path: &Path| path.canonicalize().ok();
    resolved(&own).is_some_and(|own| resolved(path) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        assert_eq!(shown_command(&words(&["claude", "-p", "it's\u{1b}"])), "claude -p 'it'\\''s\\u{1b}'");
        let long = shown_command(&words(&["claude", &"x".repeat(3_000)]));
        assert_eq!(long, format!("claude {}… (3007 bytes)", "x".repeat(1_993)));
    }
}
