//! `reenact replay RUN -- CMD`: runs an agent again on the recorded answers, without network.
//!
//! The agent runs in a sandbox of the kernel in which only the gateway can be reached. The gateway takes its answers from
//! a [`Player`], which matches each request with a recorded one. A record of the replay is saved beside the runs.
//!
//! | verdict | exit code | meaning |
//! |---|---|---|
//! | reproduced | 0 | every recorded exchange was asked for, side calls aside, and the exit code is the recorded one |
//! | differed | 1 | exchanges were not asked for, results of tools or the exit code are others |
//! | missing dependency | 2 | a request had no recorded answer |
//!
//! The command comes from the command line; that of a record is run unasked only if the run is our own (`recorded_command`).
//! Start reading at `ReplayArgs::run`. The agent is started in `launch`, the result told in `report`; `fork` goes on from a record, `bundle`
//! adds what Replay Bundles need, and `stub` plays the steps of an `.rpk` without an agent.

mod answers;
mod bundle;
mod fork;
#[cfg(unix)]
mod input;
mod launch;
mod matching;
mod recorded_command;
mod refusal;
mod report;
mod session_out;
mod stub;
mod surroundings;
mod trust;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

use clap::ValueHint;
use clap::builder::{OsStringValueParser, TypedValueParser};
use reenact_gateway::{GatewayToken, VendorRoute};
use reenact_json::{Digest, Shown};
use reenact_record::clock::{Clock, SystemClock, timestamp};
use reenact_replay::replay_record::{OutputComparison, ReplaySandbox};
use reenact_replay::{Player, ReplayRecord};
use reenact_run::{EventType, Exit, FormatId, Run, UnreadablePayload};
use reenact_sandbox::{Isolation, SandboxReport};
use reenact_secrets::RulePack;

use self::bundle::{ReplayBundleArgs, ReplaySeeds};
use self::fork::{ForkArgs, ForkSetup};
use self::launch::RunningAgent;
use self::matching::MatchArgs;
use self::refusal::ReplayRefusal;
use self::session_out::{ReplayOut, replay_out};
use crate::agent::PlannedAgent;
use crate::child::SignalForwarder;
use crate::net_seen::NetSampler;
use crate::output::{self, CommandError};
use crate::runs::KeyFileArgs;
use crate::{quantity, runs, runtime, settings, upstreams};

/// Run the agent again on the recorded answers: no network, no API key, no bill
///
/// RUN is a file or a folder of any format that holds answers, a run id, the beginning of one, or `last`. The command runs inside a sandbox of the kernel in which there is
/// nothing but a gateway that gives the recorded answers; what it asks for that was not recorded is refused, and shown with the
/// closest that was. Without a command your own runs are replayed with the recorded one, which is printed first; the command of a record
/// from elsewhere is run only with --recorded-command. Of an .rpk the recorded steps are then played, and their hashes checked: nothing is run. The exit code is 0 if the run was reproduced (same
/// answers, same exit code), 1 if it differed, 2 if it could not be. With --live, --from or --edit it is the command's own, as that of
/// `record`: what happens is then recorded as a new run.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact replay\n  reenact replay -- python agent.py\n  reenact replay run.rer.json --key signer.jwk --json -- node agent.js\n  reenact replay 0197 --pace recorded -- ./agent\n  reenact replay --diff -- ./agent\n  reenact replay last --live -- ./agent\n  reenact replay last --from s3 -- ./agent\n  reenact replay last --edit s3=answer.txt --live -- ./agent\n  reenact replay --bundle failure.tar.gz -- python agent.py\n  reenact replay run.rpk\n  reenact replay last --out again.model_io.json"
)]
pub(crate) struct ReplayArgs {
    /// A file or a folder, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    pub(super) run: OsString,

    #[command(flatten)]
    bundle: ReplayBundleArgs,

    /// What to do where the kernel gives no sandbox: require (ask at a terminal, else stop), auto (say so and go on with the whole
    /// network), off (use none)
    #[arg(long, value_name = "WHEN", default_value = "require", value_enum)]
    sandbox: SandboxModeArg,

    /// When the pieces of an answer come: at once, or as they came when they were recorded
    #[arg(long, value_name = "PACE", default_value = "instant", value_enum)]
    pace: PaceArg,

    /// Write what the replay answered, in the order in which it did, as a Model IO session of the mode `replay` (*model_io.json); or
    /// the steps of an .rpk that is played without a command, as an artifact of their own (*.rpk)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["live", "from", "edit"],
        value_parser = OsStringValueParser::new().try_map(|value| replay_out(&value)))]
    out: Option<ReplayOut>,

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

    /// Count a run as different if its output, where it is piped, is not the recorded one. Without it, that is only told
    #[arg(long)]
    same_output: bool,

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
    Require,
    Auto,
    Off,
}

/// Values of `--pace`.
#[derive(Clone, Copy, clap::ValueEnum)]
enum PaceArg {
    Instant,
    Recorded,
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
    /// Seeds of a Replay Bundle, which the command is given.
    seeds: ReplaySeeds,
    /// True if what the agent pipes out is hashed: the record has a digest to compare with, or a new run is recorded.
    hashes_output: bool,
    /// Recorded standard input of the agent.
    #[cfg(unix)]
    input: Option<input::ReplayedInput>,
    /// Parts that only a run needs that goes on from its record; `None` for a replay.
    fork: Option<ForkSetup>,
}

impl ReplayArgs {
    /// Replays the run or the bundle that is named.
    pub(crate) fn run(&self) -> Result<u8, CommandError> {
        self.fork.check()?;
        if self.names_bundle() {
            return self.run_bundle();
        }
        let found = runs::open(&self.run, &self.keys)?;
        let name = found.path.to_string_lossy();
        let name = Shown::whole(&name).to_string();
        if self.plays_steps(&found) {
            self.require_no_bundle_options()?;
            return self.play_steps(&found, &name);
        }
        self.check_record(&name, &found.report)?;
        if found.run.payload_format() == FormatId::ReplayBundle && !self.fork.is_asked() {
            return self.run_unreported_bundle(&found, &name);
        }
        self.require_no_bundle_options()?;
        self.require_exchanges(&found.run, &name)?;
        let command = self.chosen_command(&found, &name)?;
        if self.fork.is_asked() {
            return self.run_fork(&found, &name, command).map(|end| end.code);
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
        let session = self.out.as_ref().map(ReplayOut::session).transpose()?;
        let settings::ProjectSettings { redaction, replay: project, .. } = settings::load_current()?;
        let recorded_agent = run.surroundings().agent.map(|agent| agent.name.into_owned());
        let options = self.matching.options(project, recorded_agent.as_deref(), &command, None)?;
        let mut player = self.load_player(run, name, redaction.pack())?;
        if session.is_some() {
            player = player.keeping_prompts();
        }
        let routes = recorded_routes(run)?;
        let recorded_stdout = run.surroundings().stdout_sha256.and_then(|hex| Digest::from_hex(&hex));
        let agent = run.surroundings().agent;
        let models = run.summary().models.into_keys().collect();
        let setup = ReplaySetup {
            agent: PlannedAgent::of_record(agent.as_ref(), models, &command, &routes)?,
            command,
            routes,
            called: called_routes(run),
            token: GatewayToken::generate().map_err(|error| CommandError::impossible(error.to_string()))?,
            player: Arc::new(player.with_options(options)),
            known_env: redaction.known_env,
            seeds: self.seeds(run),
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
            needs_same_output: self.same_output,
            outcome: player.outcome(),
            bundle: None,
            sandbox: sandbox_record(&enforcement),
            started_at,
            ended_at: timestamp(clock.now()),
        };
        if let Some(out) = session
            && let Err(error) = out.write(&player, &record.started_at, &record.ended_at)
        {
            // Whoever asked for a file and got none must not read a code that says that all is well.
            self.report_result(&record, &enforcement)?;
            return Err(error);
        }
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
            ReplayRefusal::not_loaded(name, &error, withheld.as_deref()).into_error(self.json)
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
