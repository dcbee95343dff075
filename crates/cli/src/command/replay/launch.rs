//! Start of a replayed agent: its sandbox, its gateway, its variables and overlay files.
//!
//! Start reading at `ReplayArgs::start_agent`.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use reenact_gateway::{Gateway, GatewayLimits, GatewayMode, ReplayConfig, ReplayPace, VendorRoute};
use reenact_json::Shown;
use reenact_record::RunId;
use reenact_replay::player;
use reenact_sandbox::{SandboxCommand, SandboxError, SandboxProbe, SandboxReport};

use super::answers::PlayerAnswers;
use super::refusal::ReplayRefusal;
use super::{PaceArg, ReplayArgs, ReplaySetup, SandboxModeArg};
use crate::agent::{AgentLaunch, Overlay, overlay};
use crate::child;
use crate::output::{self, CommandError};
use crate::stdio::{ReplayedOutput, RunningReplayedOutput};
use crate::terminal::Terminal;
use crate::{hardening, runs, vendors};

/// Port of the gateway inside the sandbox. Every port is free there, and a fixed one makes the output of
/// agents that print their base URL the same each time.
const SANDBOX_PORT: u16 = 8377;

/// An agent that runs, with the gateway that serves it.
pub(super) struct RunningAgent {
    /// Process of the agent, or of the trampoline that has become the agent.
    pub(super) child: Child,
    /// Gateway that answers the agent; it must be stopped after the agent has ended.
    pub(super) gateway: Gateway,
    /// Isolation that the kernel enforces on the agent.
    pub(super) enforcement: SandboxReport,
    /// Overlay files of the agent; removed when it has ended.
    pub(super) overlay: Overlay,
    /// Standard output of the agent, if it is compared with the recorded one.
    pub(super) output: Option<RunningReplayedOutput>,
}

impl ReplayArgs {
    /// Starts the agent inside a sandbox; without one if `--sandbox` or the person at the terminal allows it.
    ///
    /// # Errors
    ///
    /// If the kernel refuses the sandbox and nobody allows to go without, or the command cannot be started.
    pub(super) fn start_agent(&self, setup: &ReplaySetup) -> Result<RunningAgent, CommandError> {
        let why = match self.sandbox {
            SandboxModeArg::Off => "the sandbox was switched off (--sandbox off)".to_owned(),
            SandboxModeArg::Auto | SandboxModeArg::Require => match self.start_in_any_sandbox(setup) {
                Ok(running) => return Ok(running),
                Err(AgentStartError::Other(error)) => return Err(error),
                Err(AgentStartError::Sandbox(error)) => {
                    let probe = SandboxProbe::from_error(&error);
                    if self.sandbox == SandboxModeArg::Require && !self.is_allowed_without_sandbox(&error) {
                        return Err(ReplayRefusal::no_sandbox(&error, &probe).into_error(self.json));
                    }
                    let advice: String = probe.advice.iter().map(|line| format!("\n  {line}")).collect();
                    output::print_notice(&format!("{error}; the network is not cut off{advice}"));
                    error.to_string()
                }
            },
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| {
            CommandError::impossible(format!("no port on 127.0.0.1 to listen on: {error}"))
        })?;
        let address = listener.local_addr().map_err(|error| CommandError::impossible(error.to_string()))?;
        let gateway = self.start_gateway(listener, setup)?;
        let (launch, overlay) = self.launch(setup, address)?;
        let [program, arguments @ ..] = launch.command.as_slice() else {
            return Err(CommandError::impossible("there is no command to run"));
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(launch.environment);
        let output = self.redirect_stdout(setup, &mut command)?;
        #[cfg(unix)]
        if let Some(input) = &setup.input {
            command.stdin(input.open().map_err(|error| CommandError::impossible(error.to_string()))?);
        }
        let child = hardening::with_inherited_limits(|| command.spawn()).map_err(|error| {
            self.spawn_failure(setup, &error.to_string(), child::spawn_error_code(&error))
        })?;
        // The command holds the agent's end of its output.
        drop(command);
        let output = output.map(ReplayedOutput::start);
        let enforcement = SandboxReport::not_enforced(why);
        Ok(RunningAgent { child, gateway, enforcement, overlay, output })
    }

    /// Asks the person at the terminal whether the agent may run without a sandbox; false where nobody is there to be asked.
    fn is_allowed_without_sandbox(&self, error: &SandboxError) -> bool {
        if self.json {
            return false;
        }
        let Some(mut terminal) = Terminal::open() else { return false };
        output::print_notice(&format!("{error}: the agent would have the whole network"));
        terminal.confirm("Run it all the same? [y/N] ").unwrap_or(false)
    }

    /// Starts the agent in namespaces of its own; behind Landlock where the kernel gives none.
    ///
    /// The error is that of the namespaces, which close more: its advice leads to them.
    fn start_in_any_sandbox(&self, setup: &ReplaySetup) -> Result<RunningAgent, AgentStartError> {
        let refused = match self.start_in_sandbox(setup, None) {
            Err(AgentStartError::Sandbox(refused)) => refused,
            started => return started,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(SandboxError::Spawn)?;
        match self.start_in_sandbox(setup, Some(listener)) {
            Err(AgentStartError::Sandbox(_)) => Err(refused.into()),
            started => started,
        }
    }

    /// Starts the agent in a sandbox of the kernel: with the gateway's listener inside it, or behind Landlock with this one.
    ///
    /// The child first runs this program as the sandbox's trampoline, and hands the listener over. Only when the gateway
    /// serves it, the trampoline is told to execute the agent. A child that fails before is killed and reaped.
    fn start_in_sandbox(
        &self,
        setup: &ReplaySetup,
        outside_listener: Option<TcpListener>,
    ) -> Result<RunningAgent, AgentStartError> {
        let address = match &outside_listener {
            None => SocketAddr::from((Ipv4Addr::LOCALHOST, SANDBOX_PORT)),
            Some(listener) => listener.local_addr().map_err(SandboxError::Spawn)?,
        };
        let (launch, overlay) = self.launch(setup, address)?;
        let [program, arguments @ ..] = launch.command.as_slice() else {
            return Err(CommandError::impossible("there is no command to run").into());
        };
        let mut plan =
            SandboxCommand::new(program.clone()).args(arguments.iter().cloned()).listen_port(SANDBOX_PORT);
        plan.outside_listener = outside_listener;
        plan.env = Some(launch.environment);
        #[cfg(unix)]
        if let Some(input) = &setup.input {
            plan.stdin = Some(input.open().map_err(SandboxError::Spawn)?);
        }
        let (mut command, handshake) = plan.prepare()?;
        let output = self.redirect_stdout(setup, &mut command)?;
        let mut child = hardening::with_inherited_limits(|| command.spawn()).map_err(SandboxError::Spawn)?;
        // The command keeps the child's end of the handshake open, so that EOF would not be seen.
        drop(command);
        let started = (|| {
            let handshaken = handshake.wait()?;
            // The gateway serves before the agent starts, so that its first request is answered.
            let listener = handshaken.listener.try_clone().map_err(SandboxError::Spawn)?;
            let gateway = self.start_gateway(listener, setup)?;
            let report = handshaken.start().map_err(|error| match error {
                // The agent may have begun: it must not run a second time.
                SandboxError::Lost(_) => CommandError::impossible(error.to_string()).into(),
                error => AgentStartError::Sandbox(error),
            })?;
            Ok((gateway, report.report))
        })();
        match started {
            Ok((gateway, enforcement)) => {
                let output = output.map(ReplayedOutput::start);
                Ok(RunningAgent { child, gateway, enforcement, overlay, output })
            }
            Err(refused) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(match refused {
                    AgentStartError::Sandbox(SandboxError::Exec { reason, exit_code, .. }) => {
                        self.spawn_failure(setup, &reason, u8::try_from(exit_code).unwrap_or(126)).into()
                    }
                    refused => refused,
                })
            }
        }
    }

    /// Starts the gateway that answers from the record.
    fn start_gateway(&self, listener: TcpListener, setup: &ReplaySetup) -> Result<Gateway, CommandError> {
        let mode = match &setup.fork {
            Some(fork) => {
                let recording = fork.take_recording().ok_or_else(|| {
                    CommandError::impossible(
                        "the sandbox failed after the recorder had begun; try again with --sandbox off",
                    )
                })?;
                GatewayMode::Record(Box::new(recording))
            }
            None => GatewayMode::Replay(self.replay_config(setup)),
        };
        Gateway::start(listener, setup.token.clone(), mode)
            .map_err(|error| CommandError::impossible(error.to_string()))
    }

    /// Returns the settings of a gateway that answers from the record alone.
    fn replay_config(&self, setup: &ReplaySetup) -> ReplayConfig {
        let pace = match self.pace {
            PaceArg::Instant => ReplayPace::Instant,
            PaceArg::Recorded => ReplayPace::Recorded,
        };
        let answers = Arc::new(PlayerAnswers(Arc::clone(&setup.player)));
        ReplayConfig { answers, pace, routes: setup.routes.clone(), limits: GatewayLimits::default() }
    }

    /// Returns command and environment of the agent, led to the gateway at `address` as it was when it was recorded, with dummies
    /// for all credentials; and its overlay files, which are written.
    ///
    /// The player learns the dummies and the values of `known_env`, because the recorder masked the
    /// originals: a request with a dummy then matches the recorded request with the mask.
    fn launch(
        &self,
        setup: &ReplaySetup,
        address: SocketAddr,
    ) -> Result<(AgentLaunch, Overlay), CommandError> {
        let base = |route: &VendorRoute| (route.name.clone(), route.base_url(address, &setup.token));
        let bases: Vec<(String, String)> = setup.routes.iter().map(base).collect();
        let folder = overlay_folder()?;
        let mut launch =
            setup.agent.launch(&setup.command, std::env::vars_os().collect(), &bases, &folder)?;
        let environment = &mut launch.environment;
        let report = reenact_gateway::report_url(address, &setup.token);
        environment.retain(|(name, _)| name != vendors::REPORT_URL_VARIABLE);
        environment.push((vendors::REPORT_URL_VARIABLE.into(), report.into()));
        for (name, seed) in setup.seeds.variables() {
            environment.retain(|(known, _)| known != name);
            environment.push((name.into(), seed.into()));
        }
        setup.player.add_secret(player::rule::KNOWN, setup.token.as_str().as_bytes());
        let none = vendors::KeptCredentials::default();
        let kept = setup.fork.as_ref().map_or(&none, |fork| &fork.kept);
        let is_called = |vendor: &str| setup.called.contains(vendor);
        for dummy in vendors::replace_credentials(environment, is_called, kept) {
            setup.player.add_secret(player::rule::ENVIRONMENT, dummy.as_bytes());
        }
        for kept in vendors::credentials(environment).filter(|_| setup.fork.is_some()) {
            setup.player.add_secret(player::rule::ENVIRONMENT, kept);
        }
        // A vendor without a key was given one, which may be a login of another kind.
        environment.retain(|(name, _)| !launch.removed_variables.iter().any(|removed| **name == **removed));
        for secret in &launch.secrets {
            setup.player.add_secret(player::rule::CREDENTIAL, secret.as_bytes());
        }
        let named = |name: &OsString| setup.known_env.iter().any(|named| *name == **named);
        for (_, value) in environment.iter().filter(|(name, _)| named(name)) {
            setup.player.add_secret(player::rule::ENVIRONMENT, value.as_encoded_bytes());
        }
        let overlay = launch.write_overlay(&folder)?;
        Ok((launch, overlay))
    }

    /// Sends the agent's standard output to standard error with `--json`, where standard output carries the result. Returns the
    /// output if it is to be compared with the recorded one.
    fn redirect_stdout(
        &self,
        setup: &ReplaySetup,
        command: &mut Command,
    ) -> Result<Option<ReplayedOutput>, CommandError> {
        if self.json {
            let error = |error: std::io::Error| CommandError::impossible(error.to_string());
            command.stdout(output::stderr_handle().map(Stdio::from).map_err(error)?);
        }
        Ok(setup.hashes_output.then(|| ReplayedOutput::prepare(command, self.json)))
    }

    /// Returns the error for a command that could not be started. `code` (126 or 127) is used with `--pass-exit`, and
    /// for a run that goes on from its record.
    fn spawn_failure(&self, setup: &ReplaySetup, reason: &str, code: u8) -> CommandError {
        let name = setup.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let message = format!("{}: cannot be started: {reason}", Shown::whole(&name));
        // Without --pass-exit the exit code of a replay is the verdict, and 126 or 127 would be none.
        let is_own_code = self.pass_exit || setup.fork.is_some();
        CommandError::Failed { code: if is_own_code { code } else { 2 }, message }
    }
}

/// Reason for which no agent was started in a sandbox.
enum AgentStartError {
    /// The kernel refused the sandbox; the replay may go on without one.
    Sandbox(SandboxError),
    /// Another failure, which ends the replay.
    Other(CommandError),
}

impl From<SandboxError> for AgentStartError {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error)
    }
}

impl From<CommandError> for AgentStartError {
    fn from(error: CommandError) -> Self {
        Self::Other(error)
    }
}

/// Returns the path of a folder for overlay files of a replay, in the state folder, without those that killed replays have left.
/// The folder is made only if there are files.
fn overlay_folder() -> Result<PathBuf, CommandError> {
    let id = RunId::generate().map_err(|error| CommandError::impossible(error.to_string()))?;
    let Ok(store) = runs::run_store() else {
        return Ok(overlay::folder_of_replay(&std::env::temp_dir(), id));
    };
    overlay::remove_leftovers(&store);
    Ok(overlay::folder_of_replay(store.path(), id))
}
