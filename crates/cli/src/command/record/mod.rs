//! `reenact record -- CMD`: runs an agent behind the gateway, and seals the events that were recorded.
//!
//! The agent keeps its terminal, its signals and its exit code. One recording goes through these steps:
//!
//! 1. Settings, envelope, prices and key are loaded (`start`); nothing has been written yet.
//! 2. A run is begun in the state folder, with a journal and a write-ahead log in memory.
//!    With `--emit` a thread follows the journal and writes the run in another format (`emit`).
//! 3. The gateway listens on 127.0.0.1, and the agent is started with its clients pointed at the gateway (`agent`).
//! 4. When the agent has ended, the journal is closed and sealed into an artifact. The artifact is verified from the disk, the
//!    journal removed, and a bundle packed or another format written if one was asked for (`seal`).
//! 5. A Replay Bundle is made if one was asked for (`replay_bundle_out`).
//! 6. A summary is printed to standard error (`summary`).
//!
//! Start reading at [`RecordArgs::run`]; the options are in `options`.

mod agent;
mod approvers;
mod authority;
mod bundle_out;
mod command_words;
mod converted_out;
mod emit;
mod late_secrets;
mod missing;
mod options;
mod out_path;
mod policy_summary;
mod replay_bundle_out;
mod seal;
mod signing;
mod start;
mod summary;

use std::ffi::OsString;

pub(super) use agent::FinishedAgent;
pub(crate) use command_words::shell_quoted;
pub(super) use command_words::{command_fault, command_line, replay_words, whole_command_line};
pub(super) use late_secrets::late_secrets_notice;
pub(crate) use options::RecordArgs;
pub(super) use seal::{SealedRun, seal};
pub(super) use signing::RecordingKey;
pub(super) use start::{RunBeginning, discard, folder_snapshot};

use self::emit::{Emission, EmitPath};
use self::out_path::OutForm;
use self::start::Preparation;
use crate::agent::PlannedAgent;
use crate::output::{self, CommandError};
use crate::runtime;

/// Exit code of a recording that failed. env(1) ends with the same code when env itself fails; all other
/// codes are the agent's.
pub(crate) const EXIT_RECORDING_FAILED: u8 = 125;

impl RecordArgs {
    /// Records a run and returns the exit code of the agent. An error of the recorder itself has exit code
    /// 125 instead of 1 or 2.
    pub(crate) fn run(&self) -> Result<u8, CommandError> {
        self.run_recorded().map_err(|error| match error {
            // Of an agent that ran, 1 and 2 would be its own codes.
            CommandError::Failed { code: 1 | 2, message } => {
                CommandError::Failed { code: EXIT_RECORDING_FAILED, message }
            }
            other => other,
        })
    }

    /// Prepares the run, runs the agent, seals the run, and prints the summary.
    ///
    /// # Errors
    ///
    /// No agent has run if the preparation fails. A run whose agent could not be started is removed. If
    /// sealing fails, the journal stays, and `reenact runs recover` seals it later.
    fn run_recorded(&self) -> Result<u8, CommandError> {
        if self.agent.dry_run {
            let agent = PlannedAgent::new(&self.agent, &self.command, &self.upstream)?;
            agent.print_dry_run(&self.command, self.agent.json)?;
            return Ok(0);
        }
        let prepared = Preparation::load(self)?;
        if !self.quiet {
            prepared.agent.unrecorded().iter().for_each(|calls| output::print_notice(calls));
        }
        let runtime = runtime::new()?;
        let inherited_env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let (recorder, recording) = prepared.begin(self, &inherited_env)?;
        let emission = match self.emit.as_ref().map(|path| Emission::start(path, &recorder)).transpose() {
            Ok(emission) => emission,
            Err(error) => {
                drop(recording);
                start::discard(recorder);
                return Err(error);
            }
        };
        let emitted = self.emit.as_ref().map(EmitPath::replay);
        let files = start::folder_snapshot(&inherited_env, emitted.as_deref());
        let finished = match runtime.block_on(agent::run(
            &prepared.agent,
            &self.command,
            recording,
            recorder.folder(),
            inherited_env,
        )) {
            Ok(finished) => finished,
            Err(error) => {
                start::discard(recorder);
                emission.into_iter().for_each(Emission::discard);
                return Err(error);
            }
        };
        let files = files.and_then(|before| before.changes());
        let sealed =
            match seal::seal(recorder, &finished, files, &prepared.signing, self.out.as_ref(), self.force) {
                Ok(sealed) => sealed,
                Err(error) => {
                    emission.into_iter().for_each(Emission::abandon);
                    return Err(error);
                }
            };
        let is_emitted = emission.is_some_and(Emission::finish);
        let bundle = self.replay_bundle.make(&finished, &sealed);
        let code = summary::print(self, &prepared, &finished, &sealed, bundle.as_ref(), is_emitted);
        let path = &sealed.artifact.path;
        let is_bundle = self.out.as_ref().is_some_and(|out| out.form == OutForm::Bundle && out.path == *path);
        if let Some(notice) = late_secrets_notice(&sealed.late_secrets, &self.run_name(path), is_bundle) {
            output::print_notice(&notice);
            if let Some(replay) = emitted.filter(|_| is_emitted) {
                let replay = replay.to_string_lossy();
                output::print_notice(&format!(
                    "{} may hold it, too: share what `reenact convert` makes of the run without it",
                    reenact_json::Shown::whole(&replay)
                ));
            }
        }
        Ok(code)
    }
}

/// Converts an error into a message with exit code 2.
fn impossible(error: impl std::fmt::Display) -> CommandError {
    CommandError::impossible(error.to_string())
}
