//! `reenact replay RUN -- CMD`: runs an agent again on the recorded answers, without network.
//!
//! The agent runs in a sandbox of the kernel in which only the gateway can be reached. The gateway takes its answers from
//! a [`Player`], which matches each request with a recorded one. A record of the replay is saved beside the runs.
//!
//! | verdict | exit code | meaning |
//! |---|---|---|
//! | reproduced | 0 | every recorded exchange was asked for; the exit code, and the output if it was piped, are the recorded ones |
//! | differed | 1 | exchanges were not asked for, or the exit code or the output is another one |
//! | missing dependency | 2 | a request had no recorded answer |
//!
//! The command comes from the command line; that of a record is run unasked only if the run is our own (`recorded_command`).
//! Start reading at `ReplayArgs::run`; `bundle` adds what Replay Bundles need.

mod answers;
mod bundle;
mod fork;
#[cfg(unix)]
mod input;
mod matching;
mod recorded_command;
mod refusal;
mod surroundings;
mod trust;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use clap::ValueHint;
use reenact_gateway::{
    Gateway, GatewayLimits, GatewayMode, GatewayToken, ReplayConfig, ReplayPace, VendorRoute,
};
use reenact_json::{Digest, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_record::RunId;
use reenact_record::clock::{Clock, SystemClock, timestamp};
use reenact_replay::replay_record::{OutputComparison, ReplaySandbox};
use reenact_replay::{
    self as replay, Player, ReplayOutcome, ReplayRecord, ReplayVerdict, UnusedExchange, player,
};
use reenact_run::{EventType, Exit, FormatId, Run, UnreadablePayload};
use reenact_sandbox::{Isolation, SandboxCommand, SandboxError, SandboxProbe, SandboxReport};
use reenact_secrets::RulePack;

use self::answers::PlayerAnswers;
use self::fork::{ForkArgs, ForkSetup};
use self::matching::{MatchArgs, found_by_phrase};
use self::refusal::ReplayRefusal;
use crate::agent::{AgentLaunch, Overlay, PlannedAgent, overlay};
use crate::child::{self, SignalForwarder};
use crate::net_seen::NetSampler;
use crate::output::{self, CommandError};
use crate::runs::KeyFileArgs;
use crate::stdio::{ReplayedOutput, RunningReplayedOutput};
use crate::{hardening, quantity, runs, runtime, settings, upstreams, vendors};

/// Run the agent again on the recorded answers: no network, no API key, no bill
///
/// RUN is a file or a folder of any format that holds answers, a run id, the beginning of one, or `last`. The command runs inside a sandbox of the kernel in which there is
/// nothing but a gateway that gives the recorded answers; what it asks for that was not recorded is refused, and shown with the
/// closest that was. Without a command your own runs are replayed with the recorded one, which is printed first; the command of a record
/// from elsewhere is run only with --recorded-command. The exit code is 0 if the run was reproduced (same answers, same exit code, same
/// output where it was piped), 1 if it differed, 2 if it could not be. With --live, --from or --edit it is the command's own, as that of `record`:
/// what happens is then recorded as a new run.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact replay\n  reenact replay -- python agent.py\n  reenact replay run.rer.json --key signer.jwk --json -- node agent.js\n  reenact replay 0197 --pace recorded --sandbox require -- ./agent\n  reenact replay --diff -- ./agent\n  reenact replay last --live -- ./agent\n  reenact replay last --from s3 -- ./agent\n  reenact replay last --edit s3=answer.txt --live -- ./agent\n  reenact replay --bundle failure.tar.gz -- python agent.py"
)]
pub(crate) struct ReplayArgs {
    /// A file or a folder, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    pub(super) run: OsString,

    /// A Replay Bundle: also write run.json and summary.json here, which say where they come from. Without a command the bundle is
    /// only looked through for all that a replay needs
    #[arg(long, value_name = "B", conflicts_with = "run")]
    bundle: Option<PathBuf>,

    /// The trace of a bundle that holds only its digest
    #[arg(long, value_name = "F", requires = "bundle", conflicts_with = "run")]
    trace: Option<PathBuf>,

    /// The config of a bundle that holds only its digest
    #[arg(long, value_name = "F", requires = "bundle", conflicts_with = "run")]
    config: Option<PathBuf>,

    /// What to do where the kernel gives no sandbox: auto (say so and go on), require (stop), off (do not ask for one)
    #[arg(long, value_name = "WHEN", default_value = "auto", value_enum)]
    sandbox: SandboxModeArg,

    /// When the pieces of an answer come: at once, or as they came when they were recorded
    #[arg(long, value_name = "PACE", default_value = "instant", value_enum)]
    pace: PaceArg,

    /// Run the recorded command of a record from elsewhere. Look at it first: it is anyone's
    #[arg(long, conflicts_with_all = ["bundle", "command"])]
    recorded_command: bool,

    #[command(flatten)]
    matching: MatchArgs,

    #[command(flatten)]
    keys: KeyFileArgs,

    /// Replay a record whose hashes or signatures are wrong
    #[arg(long)]
    force: bool,

    /// Refuse a record unless its key was given or is trusted. Without it, an unknown key is one warning
    #[arg(long, conflicts_with = "bundle")]
    require_trusted: bool,

    #[command(flatten)]
    fork: ForkArgs,

    /// Show the values of requests that were not recorded whole, beside those of the closest recorded request
    #[arg(long)]
    diff: bool,

    /// End with the command's own exit code, instead of 0 or 1
    #[arg(long)]
    pass_exit: bool,

    /// Write the result to standard output as one JSON object; what the command writes there goes to standard error
    #[arg(long)]
    json: bool,

    /// The agent, and its arguments
    #[arg(last = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(super) command: Vec<OsString>,
}

/// Values of `--sandbox`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SandboxModeArg {
    Auto,
    Require,
    Off,
}

/// Values of `--pace`.
#[derive(Clone, Copy, clap::ValueEnum)]
enum PaceArg {
    Instant,
    Recorded,
}

/// Port of the gateway inside the sandbox. Every port is free there, and a fixed one makes the output of
/// agents that print their base URL the same each time.
const SANDBOX_PORT: u16 = 8377;

/// Largest number of misses that are shown without `--diff`: what follows the first often follows from it.
const MAX_SHOWN_MISSES: usize = 3;

/// An agent that runs, with the gateway that serves it.
struct RunningAgent {
    /// Process of the agent, or of the trampoline that has become the agent.
    child: Child,
    /// Gateway that answers the agent; it must be stopped after the agent has ended.
    gateway: Gateway,
    /// Isolation that the kernel enforces on the agent.
    enforcement: SandboxReport,
    /// Overlay files of the agent; removed when it has ended.
    overlay: Overlay,
    /// Standard output of the agent, if it is compared with the recorded one.
    output: Option<RunningReplayedOutput>,
}

/// End of an agent, and the conditions under which it ran.
struct EndedAgent {
    exit: Exit,
    enforcement: SandboxReport,
    /// SHA-256 of what the agent wrote to its standard output, if that is hashed and was piped.
    stdout_sha256: Option<Digest>,
    /// Events that could not be recorded, in words.
    unrecorded: Option<String>,
}

/// Everything that a replay needs, before the address of the gateway is known.
struct ReplaySetup {
    /// Recorded answers, shared with the gateway.
    player: Arc<Player>,
    /// Routes of the recorded run, whose paths are part of its requests.
    routes: Vec<VendorRoute>,
    /// Command to run.
    command: Vec<OsString>,
    /// Agent that the record names, and what is set for it.
    agent: PlannedAgent,
    /// Names of the routes that the recorded run sent requests to.
    called: BTreeSet<String>,
    /// Secret part of the gateway's URLs, new for each replay.
    token: GatewayToken,
    /// Variables whose values the project has masked (`redaction.known_env`).
    known_env: Vec<String>,
    /// True if what the agent pipes out is hashed: the record has a digest to compare with, or a new run is recorded.
    hashes_output: bool,
    /// Recorded standard input of the agent.
    #[cfg(unix)]
    input: Option<input::ReplayedInput>,
    /// What a run needs that goes on from its record; `None` for a replay.
    fork: Option<ForkSetup>,
}

impl ReplayArgs {
    /// Replays the run or the bundle that is named.
    pub(crate) fn run(&self) -> Result<u8, CommandError> {
        if let Some(path) = &self.bundle {
            return self.run_bundle(path);
        }
        self.fork.check()?;
        let found = runs::open(&self.run, &self.keys)?;
        let name = found.path.to_string_lossy();
        let name = Shown::whole(&name).to_string();
        self.check_record(&name, &found.report)?;
        self.require_exchanges(&found.run, &name)?;
        let command = self.chosen_command(&found, &name)?;
        if self.fork.is_asked() {
            return self.run_fork(&found, &name, command);
        }
        let (record, enforcement) = self.replay_run(&found.run, &name, command)?;
        self.report_result(&record, &enforcement)
    }

    /// Checks that a record holds anything to reproduce. `name` is printable.
    ///
    /// # Errors
    ///
    /// If it holds no exchange, and no call that policy denied.
    fn require_exchanges(&self, run: &Run, name: &str) -> Result<(), CommandError> {
        // Tool calls alone are a record, too; why they cannot be replayed is said when they are loaded.
        let is_denied = || run.events().any(|event| event.kind() == Some(EventType::StepBlocked));
        if run.exchanges().next().is_some() || run.payload_format() == FormatId::ReplayJsonl || is_denied() {
            return Ok(());
        }
        Err(ReplayRefusal::nothing_recorded(name).into_error(self.json))
    }

    /// Runs a command on the answers of `run`, and returns the record of the replay. `name` is printable.
    ///
    /// # Errors
    ///
    /// If the record holds no answers, was masked with other rules, or the agent cannot be started.
    fn replay_run(
        &self,
        run: &Run,
        name: &str,
        command: Vec<OsString>,
    ) -> Result<(ReplayRecord, SandboxReport), CommandError> {
        let settings::ProjectSettings { redaction, replay: project, .. } = settings::load_current()?;
        let recorded_agent = run.surroundings().agent.map(|agent| agent.name.into_owned());
        let options = self.matching.options(project, recorded_agent.as_deref(), &command, None)?;
        let player = self.load_player(run, name, redaction.pack())?;
        let routes = recorded_routes(run)?;
        let recorded_stdout = run.surroundings().stdout_sha256.and_then(|hex| Digest::from_hex(&hex));
        let setup = ReplaySetup {
            agent: PlannedAgent::of_record(recorded_agent.as_deref(), &command, &routes)?,
            command,
            routes,
            called: called_routes(run),
            token: GatewayToken::generate().map_err(|error| CommandError::impossible(error.to_string()))?,
            player: Arc::new(player.with_options(options)),
            known_env: redaction.known_env,
            hashes_output: recorded_stdout.is_some(),
            #[cfg(unix)]
            input: input::ReplayedInput::of(run),
            fork: None,
        };
        let clock = SystemClock::start();
        let started_at = timestamp(clock.now());
        let player = Arc::clone(&setup.player);
        let EndedAgent { exit, enforcement, stdout_sha256, .. } =
            runtime::new()?.block_on(self.run_agent(setup))?;
        let output = recorded_stdout.zip(stdout_sha256);
        let output = output.map(|(recorded, now)| OutputComparison { recorded, now });
        if output.is_some_and(|output| !output.is_same()) && surroundings::has_masked_answers(run) {
            output::print_notice(
                "answers of the record have masks in place of secrets, so that an agent which prints them prints something else",
            );
        }
        let record = ReplayRecord {
            run_id: run.id().to_owned(),
            format: run.format().to_owned(),
            digest: run.digest().map(|digest| digest.to_string()),
            child_exit: exit,
            recorded_exit: run.summary().exit,
            output,
            outcome: player.outcome(),
            sandbox: sandbox_record(&enforcement),
            started_at,
            ended_at: timestamp(clock.now()),
        };
        Ok((record, enforcement))
    }

    /// Loads the recorded answers, and prints what is to be known of the record. `name` is printable.
    ///
    /// # Errors
    ///
    /// If the record holds no answers, or was masked with other rules.
    fn load_player(&self, run: &Run, name: &str, pack: Arc<RulePack>) -> Result<Player, CommandError> {
        let withheld = withheld_notice(run);
        let player = Player::load_with_pack(run, pack).map_err(|error| {
            let withheld = withheld.as_deref().map_or(String::new(), |withheld| format!("\n{withheld}"));
            CommandError::impossible(format!("{name}: {error}{withheld}"))
        })?;
        if let Some(withheld) = &withheld {
            output::print_notice(withheld);
        }
        for note in player.notes() {
            output::print_notice(&note.to_string());
        }
        if let Some(notice) = surroundings::folder_notice(run) {
            output::print_notice(&notice);
        }
        if let Some(notice) = surroundings::terminal_notice(run, &self.run) {
            output::print_notice(&notice);
        }
        Ok(player)
    }

    /// Starts the agent and the gateway, waits for the agent's end, and stops the gateway.
    async fn run_agent(&self, setup: ReplaySetup) -> Result<EndedAgent, CommandError> {
        let signals =
            SignalForwarder::listen().map_err(|error| CommandError::impossible(error.to_string()))?;
        // Building the sandbox blocks this thread for some milliseconds; no other task is waiting then.
        let RunningAgent { child, gateway, enforcement, overlay: _overlay, output } =
            self.start_agent(&setup)?;
        gateway.warnings().iter().for_each(|warning| output::print_notice(&warning.to_string()));
        // In the sandbox there is nothing else to be connected to.
        let is_open = enforcement.isolation == Isolation::None;
        let fork = setup.fork.as_ref().filter(|_| is_open);
        let connections = fork.map(|fork| (fork, NetSampler::start(child.id(), gateway.address())));
        let exit = signals.wait(child).await.map_err(|error| CommandError::impossible(error.to_string()))?;
        // The gateway goes on meanwhile, for processes that the agent left behind.
        let finished = tokio::task::spawn_blocking(move || {
            let mut notes = Vec::new();
            (output.and_then(|output| output.finish(&mut notes)), notes)
        });
        let (stdout_sha256, notes) = finished.await.unwrap_or_default();
        notes.iter().for_each(|note| output::print_notice(note));
        let addresses = connections.map(|(fork, connections)| (fork, connections.finish()));
        if let Some((fork, addresses)) = addresses.filter(|(_, addresses)| !addresses.is_empty())
            && let Err(error) = fork.writer.record_net_seen(addresses)
        {
            output::print_notice(&format!("connections past the gateway could not be recorded: {error}"));
        }
        let unrecorded = gateway.stop().await.err().map(|unrecorded| unrecorded.to_string());
        Ok(EndedAgent { exit, enforcement, stdout_sha256, unrecorded })
    }

    /// Starts the agent inside a sandbox; without one if `--sandbox` allows it.
    ///
    /// # Errors
    ///
    /// If the sandbox is required and refused, or the command cannot be started.
    fn start_agent(&self, setup: &ReplaySetup) -> Result<RunningAgent, CommandError> {
        let why = match self.sandbox {
            SandboxModeArg::Off => "the sandbox was switched off (--sandbox off)".to_owned(),
            SandboxModeArg::Auto | SandboxModeArg::Require => match self.start_in_sandbox(setup) {
                Ok(running) => return Ok(running),
                Err(AgentStartError::Other(error)) => return Err(error),
                Err(AgentStartError::Sandbox(error)) => {
                    let probe = SandboxProbe::from_error(&error);
                    if self.sandbox == SandboxModeArg::Require {
                        let advice = probe.advice.iter().map(|line| format!("  {line}")).collect();
                        let reason = error.to_string();
                        let refusal = ReplayRefusal { code: refusal::SANDBOX_REFUSED, reason, advice };
                        return Err(refusal.into_error(self.json));
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

    /// Starts the agent in a sandbox of the kernel, with the gateway's listener inside it.
    ///
    /// The child first runs this program as the sandbox's trampoline, and hands the listener over. Only when the gateway
    /// serves it, the trampoline is told to execute the agent. A child that fails before is killed and reaped.
    fn start_in_sandbox(&self, setup: &ReplaySetup) -> Result<RunningAgent, AgentStartError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, SANDBOX_PORT));
        let (launch, overlay) = self.launch(setup, address)?;
        let [program, arguments @ ..] = launch.command.as_slice() else {
            return Err(CommandError::impossible("there is no command to run").into());
        };
        let mut plan =
            SandboxCommand::new(program.clone()).args(arguments.iter().cloned()).listen_port(SANDBOX_PORT);
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
            Ok((gateway, handshaken.start()?.report))
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
        setup.player.add_secret(player::rule::KNOWN, setup.token.as_str().as_bytes());
        let keeps = |name: &str| setup.fork.as_ref().is_some_and(|fork| fork.keeps_variable(name));
        let is_called = |vendor: &str| setup.called.contains(vendor);
        for dummy in vendors::replace_credentials(environment, is_called, keeps) {
            setup.player.add_secret(player::rule::ENVIRONMENT, dummy.as_bytes());
        }
        for kept in vendors::credentials(environment).filter(|_| setup.fork.is_some()) {
            setup.player.add_secret(player::rule::ENVIRONMENT, kept);
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

    /// Saves the record of the replay, prints the result, and returns the exit code.
    ///
    /// With `--pass-exit` it is that of the agent, unless a request had no answer. A record that cannot be
    /// saved is only a notice.
    fn report_result(&self, record: &ReplayRecord, enforcement: &SandboxReport) -> Result<u8, CommandError> {
        let saved = save_record(record);
        if self.json {
            output::print(&(record.to_json() + "\n"))?;
        } else {
            self.print_result(record, enforcement);
        }
        match saved {
            Ok(path) if !self.json => {
                output::print_notice(&format!(
                    "report of this replay: {}",
                    Shown::whole(&path.to_string_lossy())
                ));
            }
            Ok(_) => {}
            Err(error) => {
                output::print_notice(&format!("the record of this replay could not be kept: {error}"))
            }
        }
        let verdict = record.verdict();
        Ok(match verdict {
            ReplayVerdict::Reproduced | ReplayVerdict::Differed if self.pass_exit => {
                child::shell_exit_code(record.child_exit)
            }
            verdict => verdict.exit_code(),
        })
    }

    /// Prints the requests without a recorded answer.
    fn print_misses(&self, outcome: &ReplayOutcome) {
        let misses = &outcome.misses;
        let shown = if self.diff { misses.len() } else { misses.len().min(MAX_SHOWN_MISSES) };
        for miss in misses.iter().take(shown) {
            output::print_notice(&if self.diff { format!("{miss:#}") } else { miss.to_string() });
        }
        if let Some(more) = misses.len().checked_sub(shown).filter(|more| *more > 0) {
            let requests = quantity::count(more as u64, "other request");
            output::print_notice(&format!(
                "{requests} without a recorded answer: --diff shows all, the report has them, too"
            ));
        }
    }

    /// Prints the result to standard error: misses, unused exchanges, the verdict and the isolation.
    fn print_result(&self, record: &ReplayRecord, enforcement: &SandboxReport) {
        let outcome = &record.outcome;
        let ReplayOutcome { missed, unused, ambiguous, rebuilt, found_by, .. } = outcome;
        self.print_misses(outcome);
        for notice in matching::differing_notices(outcome) {
            output::print_notice(&notice);
        }
        if let Some(unused) = unused_notice(unused) {
            output::print_notice(&unused);
        }
        if *ambiguous > 0 {
            output::print_notice(&ambiguous_notice(*ambiguous, &record.format));
        }
        if let Some(note) = rebuilt_notice(*rebuilt, *found_by) {
            output::print_notice(&note);
        }
        let (mut hits, exit) = (quantity::count(outcome.hits() as u64, "exchange"), record.child_exit);
        if let Some(levels) = matching::levels_phrase(outcome) {
            hits = format!("{hits} ({levels})");
        }
        let line = match record.verdict() {
            ReplayVerdict::Reproduced => {
                reproduced_line(&hits, *found_by, &exit.to_string(), record.recorded_exit.is_some())
            }
            ReplayVerdict::Differed => {
                let mut why = Vec::new();
                let unused = unused.iter().filter(|unused| !unused.is_side_call).count();
                if unused > 0 {
                    why.push(format!("{} not asked for", quantity::count(unused as u64, "exchange")));
                }
                if !outcome.is_reproduction() {
                    why.push(format!("results of tools are others, {hits} found"));
                }
                if let Some(recorded) = record.recorded_exit.filter(|recorded| *recorded != exit) {
                    why.push(format!("{exit}, recorded was {recorded}"));
                }
                if record.output.is_some_and(|output| !output.is_same()) {
                    why.push("the output is not the recorded one".to_owned());
                }
                format!("differed: {}", why.join("; "))
            }
            ReplayVerdict::MissingDependency => format!(
                "could not be reproduced: {} with no recorded answer (E_REPLAY_MISSING_DEPENDENCY), {hits} as recorded",
                quantity::count(*missed as u64, "request")
            ),
        };
        output::print_notice(&line);
        output::print_notice(&match enforcement.isolation {
            Isolation::None => "hermetic: not enforced".to_owned(),
            rung => format!("hermetic: the kernel cut off the network ({rung})"),
        });
    }
}

/// Returns the verdict line of a reproduced run: how its requests were matched, and whether its exit code was recorded.
fn reproduced_line(
    hits: &str,
    found_by: Option<replay::FoundBy>,
    exit: &str,
    is_exit_recorded: bool,
) -> String {
    match (found_by_phrase(found_by), is_exit_recorded) {
        (None, true) => format!("reproduced: {hits}, {exit}, as recorded"),
        (None, false) => format!("reproduced: {hits} as recorded, {exit} (the record holds none)"),
        (Some(found), true) => format!("reproduced: {hits} found by {found}, {exit} as recorded"),
        (Some(found), false) => {
            format!("reproduced: {hits} found by {found}, {exit} (the record holds none)")
        }
    }
}

/// Returns a notice for a record without HTTP bytes: requests that were matched by a part, answers that were rebuilt.
fn rebuilt_notice(rebuilt: usize, found_by: Option<replay::FoundBy>) -> Option<String> {
    let found = found_by_phrase(found_by).map(|found| format!("requests were found by {found}"));
    let written = (rebuilt > 0).then(|| {
        let answers = quantity::count(rebuilt as u64, "answer");
        let were = if rebuilt == 1 { "was" } else { "were" };
        format!("{answers} {were} written anew in the vendor's shape")
    });
    let notes: Vec<String> = found.into_iter().chain(written).collect();
    (!notes.is_empty()).then(|| format!("the record holds no bytes of HTTP: {}", notes.join(", ")))
}

/// Returns a notice on requests of which the record of a format holds several answers.
fn ambiguous_notice(ambiguous: usize, format: &str) -> String {
    let requests = quantity::count(ambiguous as u64, "request");
    if FormatId::of_report(format) == Some(FormatId::ReplayBundle) {
        return format!(
            "for {requests} the bundle holds answers that contradict each other; the one with the most detail was given"
        );
    }
    let were = if ambiguous == 1 { "was" } else { "were" };
    format!(
        "{requests} {were} recorded more than once, each time with another answer; the answers were given in their recorded order"
    )
}

/// Returns a notice on recorded exchanges that the agent never asked for; `None` if there are none.
fn unused_notice(unused: &[UnusedExchange]) -> Option<String> {
    /// Number of steps that are named; the rest is counted.
    const NAMED: usize = 5;
    if let [UnusedExchange { step_id, label, model, .. }] = unused {
        let model = model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
        return Some(format!("never asked for: step {step_id} ({label}{model})"));
    }
    let named: Vec<String> = unused.iter().take(NAMED).map(|unused| unused.step_id.clone()).collect();
    let more = match unused.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("never asked for: steps {}{more}", named.join(", ")))
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

/// Returns the routes under which a run was recorded.
fn recorded_routes(run: &Run) -> Result<Vec<VendorRoute>, CommandError> {
    let recorded = run.metadata().and_then(|metadata| metadata.member("reenact")?.member("upstreams"));
    let members = recorded.into_iter().flat_map(|upstreams| upstreams.members());
    let recorded: Vec<(String, String)> = members
        .filter_map(|(name, url)| Some((name.string()?.into_owned(), url.string()?.into_owned())))
        .collect();
    upstreams::recorded_routes(recorded.iter().map(|(name, url)| (name.as_str(), url.as_str())))
}

/// Returns the names of the routes that a run sent requests to.
fn called_routes(run: &Run) -> BTreeSet<String> {
    run.exchanges().filter_map(|exchange| Some(exchange.request().ok()?.provider.into_owned())).collect()
}

/// Returns the isolation of the agent in the form of the replay's record.
fn sandbox_record(enforcement: &SandboxReport) -> ReplaySandbox {
    ReplaySandbox {
        isolation: enforcement.isolation.code().to_owned(),
        closed: enforcement.closed.iter().map(ToString::to_string).collect(),
        open: enforcement.open.iter().map(ToString::to_string).collect(),
        why: enforcement.reason.clone(),
    }
}

/// Saves the record of a replay as `replays/<id>.json` in the state folder, and returns its path.
fn save_record(record: &ReplayRecord) -> Result<PathBuf, String> {
    let store = runs::run_store().map_err(CommandError::into_message)?;
    let id = RunId::generate().map_err(|error| error.to_string())?;
    let path = store.create_replay_path(id).map_err(|error| error.to_string())?;
    durable::create(&path, (record.to_json() + "\n").as_bytes(), Readers::Owner)
        .map_err(|error| error.to_string())?;
    Ok(path)
}

/// Returns the path of a folder for overlay files of a replay, in the state folder, without those that killed replays have left.
/// It is made only if there are files.
fn overlay_folder() -> Result<PathBuf, CommandError> {
    let id = RunId::generate().map_err(|error| CommandError::impossible(error.to_string()))?;
    let Ok(store) = runs::run_store() else {
        return Ok(overlay::folder_of_replay(&std::env::temp_dir(), id));
    };
    overlay::remove_leftovers(&store);
    Ok(overlay::folder_of_replay(store.path(), id))
}

/// Returns a notice on exchanges that cannot be replayed because a payload is withheld; `None` if there are none.
fn withheld_notice(run: &Run) -> Option<String> {
    let is_withheld = |exchange: &reenact_run::Exchange<'_>| {
        exchange.request().err() == Some(UnreadablePayload::Withheld)
            || exchange.answer().err() == Some(UnreadablePayload::Withheld)
    };
    let count = run.exchanges().filter(is_withheld).count();
    let exchanges = quantity::count(count as u64, "exchange");
    (count > 0).then(|| {
        format!("{exchanges} of this run cannot be replayed: what was asked or answered is withheld from its record")
    })
}
