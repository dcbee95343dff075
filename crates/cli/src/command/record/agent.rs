//! The agent behind the gateway: started with its clients pointed there, and waited for.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use reenact_gateway::{Gateway, GatewayMode, GatewayToken, RecordingConfig};
use reenact_json::{Digest, Shown};
use reenact_record::RunStatus;
use reenact_run::Exit;

use super::{EXIT_RECORDING_FAILED, impossible};
use crate::agent::{PlannedAgent, overlay};
use crate::child::{self, SignalForwarder};
use crate::net_seen::NetSampler;
use crate::output::CommandError;
use crate::stdio::StdioCapture;
use crate::{hardening, vendors};

/// An agent that has ended, and what must be said about its recording.
pub(in crate::command) struct FinishedAgent {
    /// Exit code or signal of the agent.
    pub(in crate::command) exit: Exit,
    /// Time from the start of the agent to its end.
    pub(in crate::command) duration: Duration,
    /// Error of the recorder, if not everything could be recorded. Such a run ends with exit code 125.
    pub(in crate::command) recording_error: Option<String>,
    /// Notes of the gateway for the user.
    pub(in crate::command) notes: Vec<String>,
    /// SHA-256 of what the agent wrote to its standard output, where that is known.
    pub(in crate::command) stdout_sha256: Option<Digest>,
}

/// Starts the gateway on a free port of 127.0.0.1, runs the agent behind it until it ends, and stops the gateway.
///
/// # Errors
///
/// Only before the agent runs: if the gateway or the agent cannot be started.
pub(super) async fn run(
    planned: &PlannedAgent,
    command: &[OsString],
    recording: RecordingConfig,
    folder: &Path,
    inherited_env: Vec<(OsString, OsString)>,
) -> Result<FinishedAgent, CommandError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .map_err(|error| CommandError::impossible(format!("no port on 127.0.0.1 to listen on: {error}")))?;
    let token = GatewayToken::generate().map_err(impossible)?;
    let writer = recording.writer.clone();
    // An agent may quote its gateway's address, which is good for as long as the agent runs.
    writer.add_secret(token.as_str().as_bytes());
    let gateway =
        Gateway::start(listener, token, GatewayMode::Record(Box::new(recording))).map_err(impossible)?;
    let signals = SignalForwarder::listen().map_err(impossible)?;
    let overlay_folder = overlay::folder_of_run(folder);
    let launch = planned.launch(command, inherited_env, &gateway.base_urls(), &overlay_folder)?;
    // Removed when the agent has ended.
    let _overlay = launch.write_overlay(&overlay_folder)?;
    let [program, arguments @ ..] = launch.command.as_slice() else {
        return Err(CommandError::impossible("there is no command to run"));
    };
    let started = Instant::now();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(launch.environment)
        .env(vendors::REPORT_URL_VARIABLE, gateway.report_url());
    let streams = StdioCapture::prepare(&mut command);
    let child = hardening::with_inherited_limits(|| command.spawn()).map_err(|error| {
        let name = program.to_string_lossy();
        let message = format!("{}: cannot be started: {error}", Shown::whole(&name));
        CommandError::Failed { code: child::spawn_error_code(&error), message }
    })?;
    // The command holds the agent's ends of the pipes.
    drop(command);
    let connections = NetSampler::start(child.id(), gateway.address());
    let streams = streams.start(writer.clone());
    let mut notes: Vec<String> = gateway.warnings().iter().map(ToString::to_string).collect();
    let exit = signals.wait(child).await.unwrap_or_else(|error| {
        // The agent did run, and its calls are recorded, so that this is only a note.
        notes.push(format!("how the command ended could not be seen: {error}"));
        Exit::Code(EXIT_RECORDING_FAILED.into())
    });
    let took = started.elapsed();
    // The gateway goes on meanwhile, for processes that the agent left behind.
    let over = tokio::task::spawn_blocking(|| (streams.finish(), connections.finish())).await;
    let (streams, addresses) = over.unwrap_or_default();
    notes.extend(streams.notes);
    if !addresses.is_empty()
        && let Err(error) = writer.record_net_seen(addresses)
    {
        notes.push(format!("connections past the gateway could not be recorded: {error}"));
    }
    if gateway.has_lost_its_log() {
        notes.push("there was no more room for the log in memory: calls waited for the journal".to_owned());
    }
    let unrecorded = gateway.stop().await.err().map(|unrecorded| unrecorded.to_string());
    let stdout_sha256 = streams.stdout_sha256;
    Ok(FinishedAgent { exit, duration: took, recording_error: unrecorded, notes, stdout_sha256 })
}

/// Returns the status and the reason of a run whose agent ended so.
pub(super) fn run_status(exit: Exit) -> (RunStatus, String) {
    // SIGHUP, SIGINT, SIGQUIT and SIGTERM are requests to stop; other signals come from faults.
    const ASKED_TO_STOP: [i32; 4] = [1, 2, 3, 15];
    let status = match exit {
        Exit::Code(0) => RunStatus::Completed,
        Exit::Code(_) => RunStatus::Failed,
        Exit::Signal(signal) if ASKED_TO_STOP.contains(&signal) => RunStatus::Aborted,
        Exit::Signal(_) => RunStatus::Crashed,
    };
    (status, exit.to_string())
}
