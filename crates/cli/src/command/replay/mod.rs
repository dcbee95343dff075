//! `reenact replay RUN -- CMD`: runs an agent again on what was recorded, with no network.

mod answers;
mod bundle;

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use reenact_gateway::{Gateway, Limits, Pace, Replaying, Route, Token, Work};
use reenact_json::{Shown, Value};
use reenact_keys::durable::{self, Readers};
use reenact_record::RunId;
use reenact_record::clock::{Clock, SystemClock, timestamp};
use reenact_replay::record::Sandbox as SandboxRecord;
use reenact_replay::{self as replay, Outcome, Player, ReplayRecord, Unused, Verdict, player};
use reenact_run::{Exit, Run, Unreadable};
use reenact_sandbox::{Enforcement, Plan, Probe, Rung, SandboxError};
use reenact_wire::Vendor;

use self::answers::RecordedRun;
use crate::child::{self, Signals};
use crate::output::{self, Ending};
use crate::runs::KeyFiles;
use crate::{quantity, runs, runtime, settings, vendors};

/// Replay a run: the same agent on the recorded answers, with no network, no API key and no bill
///
/// RUN is a file or a folder of any format that holds answers, a run id, the beginning of one, or `last`. The command runs inside a sandbox of the kernel in which there is
/// nothing but a gateway that gives the recorded answers; what it asks for that was not recorded is refused, and shown with the
/// closest that was. No command from a record is ever run: give it after --. The exit code is 0 if the run was reproduced (same
/// answers, same exit code), 1 if it differed, 2 if it could not be.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact replay last -- python agent.py\n  reenact replay run.rer.json --key signer.jwk --json -- node agent.js\n  reenact replay 0197 --pace recorded --sandbox require -- ./agent\n  reenact replay --bundle failure.tar.gz -- python agent.py"
)]
pub(crate) struct Replay {
    /// A file or a folder, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN", required_unless_present = "bundle")]
    run: Option<OsString>,

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
    sandbox: Sandbox,

    /// When the pieces of an answer come: at once, or as they came when they were recorded
    #[arg(long, value_name = "PACE", default_value = "instant", value_enum)]
    pace: PaceName,

    #[command(flatten)]
    keys: KeyFiles,

    /// Replay a record that does not verify
    #[arg(long)]
    force: bool,

    /// End with the command's own exit code, instead of 0 or 1
    #[arg(long)]
    pass_exit: bool,

    /// Write the result to standard output as one JSON object; what the command writes there goes to standard error
    #[arg(long)]
    json: bool,

    /// The agent, and its arguments
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sandbox {
    Auto,
    Require,
    Off,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum PaceName {
    Instant,
    Recorded,
}

/// Inside the sandbox every port is free, so it may as well be the same each time: what an agent prints then is, too.
const PORT_INSIDE: u16 = 8377;

/// A command that runs, and what serves it.
struct Running {
    child: Child,
    gateway: Gateway,
    enforcement: Enforcement,
}

/// What an agent is given, before it is known where.
struct Staged {
    player: Arc<Player>,
    routes: Vec<Route>,
    token: Token,
    /// Variables that the project has masked.
    known_env: Vec<String>,
}

impl Replay {
    pub(crate) fn run(&self) -> Result<u8, Ending> {
        if let Some(path) = &self.bundle {
            return self.run_bundle(path);
        }
        let given = self.run.clone().unwrap_or_default();
        let found = runs::open(&given, &self.keys)?;
        let name = found.path.to_string_lossy();
        let name = Shown::whole(&name).to_string();
        if self.command.is_empty() {
            let command = found.run.summary().command;
            return Err(Ending::impossible(format!(
                "no command from a record is ever run; give it yourself: reenact replay {} -- {}",
                Shown::whole(&given.to_string_lossy()),
                super::record::typed(&command)
            )));
        }
        if !found.report.pass() && !self.force {
            return Err(Ending::impossible(format!(
                "{name}: this record does not verify, so what it holds may not be what was recorded (E_NOT_VERIFIED)\n  {}\nreplay it all the same with --force",
                found.report.reasons.join("\n  ")
            )));
        }
        if !found.report.pass() {
            output::complain(&format!(
                "{name}: this record does not verify; it is replayed because of --force"
            ));
        }
        let (record, enforcement) = self.replayed(&found.run, &name)?;
        self.tell(&record, &enforcement)
    }

    /// Runs the command on what a run holds.
    fn replayed(&self, run: &Run, name: &str) -> Result<(ReplayRecord, Enforcement), Ending> {
        let redaction = settings::here()?.redaction;
        let withheld = withheld(run);
        let player = Player::load_with(run, redaction.pack()).map_err(|error| {
            let withheld = withheld.as_deref().map_or(String::new(), |withheld| format!("\n{withheld}"));
            Ending::impossible(format!("{name}: {error}{withheld}"))
        })?;
        if let Some(withheld) = &withheld {
            output::complain(withheld);
        }
        for note in player.notes() {
            output::complain(&note.to_string());
        }
        let staged = Staged {
            routes: routes(run)?,
            token: Token::generate().map_err(|error| Ending::impossible(error.to_string()))?,
            player: Arc::new(player),
            known_env: redaction.known_env,
        };
        let clock = SystemClock::start();
        let started_at = timestamp(clock.now());
        let player = Arc::clone(&staged.player);
        let (child_exit, enforcement) = runtime::new()?.block_on(self.play(staged))?;
        let record = ReplayRecord {
            run_id: run.id().to_owned(),
            format: run.format().to_owned(),
            digest: run.digest().map(|digest| digest.to_string()),
            child_exit,
            recorded_exit: run.summary().exit,
            outcome: player.conclude(),
            sandbox: told(&enforcement),
            started_at,
            ended_at: timestamp(clock.now()),
        };
        Ok((record, enforcement))
    }

    async fn play(&self, staged: Staged) -> Result<(Exit, Enforcement), Ending> {
        let signals = Signals::listen().map_err(|error| Ending::impossible(error.to_string()))?;
        // The kernel's part blocks for some milliseconds, in which nothing else is there to be done.
        let Running { child, gateway, enforcement } = self.start(&staged)?;
        let exit = signals.wait(child).await.map_err(|error| Ending::impossible(error.to_string()))?;
        // Nothing is recorded here, so nothing can have been lost.
        let _ = gateway.stop().await;
        Ok((exit, enforcement))
    }

    fn start(&self, staged: &Staged) -> Result<Running, Ending> {
        let why = match self.sandbox {
            Sandbox::Off => "the sandbox was switched off (--sandbox off)".to_owned(),
            Sandbox::Auto | Sandbox::Require => match self.start_inside(staged) {
                Ok(running) => return Ok(running),
                Err(Refused::Ending(ending)) => return Err(ending),
                Err(Refused::Kernel(error)) => {
                    let probe = Probe::from_error(&error);
                    let advice: String = probe.advice.iter().map(|line| format!("\n  {line}")).collect();
                    if self.sandbox == Sandbox::Require {
                        return Err(Ending::impossible(format!("{error} (E_SANDBOX_REFUSED){advice}")));
                    }
                    output::complain(&format!("{error}; the network is not cut off{advice}"));
                    error.to_string()
                }
            },
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| Ending::impossible(format!("no port on 127.0.0.1 to listen on: {error}")))?;
        let address = listener.local_addr().map_err(|error| Ending::impossible(error.to_string()))?;
        let gateway = self.serve(listener, staged)?;
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err(Ending::impossible("there is no command to run"));
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.environment(staged, address));
        self.redirect(&mut command)?;
        let child = command
            .spawn()
            .map_err(|error| self.not_started(&error.to_string(), child::not_started(&error)))?;
        Ok(Running { child, gateway, enforcement: Enforcement::none(why) })
    }

    fn start_inside(&self, staged: &Staged) -> Result<Running, Refused> {
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err(Ending::impossible("there is no command to run").into());
        };
        let mut plan = Plan::new(program.clone()).args(arguments.iter().cloned()).listen_port(PORT_INSIDE);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT_INSIDE));
        plan.env = Some(self.environment(staged, address));
        let (mut command, handshake) = plan.prepare()?;
        self.redirect(&mut command)?;
        let mut child = command.spawn().map_err(SandboxError::Spawn)?;
        // While it lives it holds the child's end of the talk open.
        drop(command);
        let started = (|| {
            let ready = handshake.wait()?;
            // Served before the command starts: its first request is answered.
            let listener = ready.listener.try_clone().map_err(SandboxError::Spawn)?;
            let gateway = self.serve(listener, staged)?;
            Ok((gateway, ready.start()?.enforcement))
        })();
        match started {
            Ok((gateway, enforcement)) => Ok(Running { child, gateway, enforcement }),
            Err(refused) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(match refused {
                    Refused::Kernel(SandboxError::Exec { reason, exit_code, .. }) => {
                        self.not_started(&reason, u8::try_from(exit_code).unwrap_or(126)).into()
                    }
                    refused => refused,
                })
            }
        }
    }

    fn serve(&self, listener: TcpListener, staged: &Staged) -> Result<Gateway, Ending> {
        let pace = match self.pace {
            PaceName::Instant => Pace::Instant,
            PaceName::Recorded => Pace::Recorded,
        };
        let answers = Arc::new(RecordedRun(Arc::clone(&staged.player)));
        let replaying = Replaying { answers, pace, routes: staged.routes.clone(), limits: Limits::default() };
        Gateway::start(listener, staged.token.clone(), Work::Replay(replaying))
            .map_err(|error| Ending::impossible(error.to_string()))
    }

    fn environment(&self, staged: &Staged, address: SocketAddr) -> Vec<(OsString, OsString)> {
        let base = |name: &str| {
            let route = staged.routes.iter().find(|route| route.name == name)?;
            Some(route.base_url(address, &staged.token))
        };
        let mut environment = vendors::environment(std::env::vars_os(), base);
        let report = reenact_gateway::report_url(address, &staged.token);
        environment.retain(|(name, _)| name != vendors::REPORT_URL);
        environment.push((vendors::REPORT_URL.into(), report.into()));
        for dummy in vendors::take_out_credentials(&mut environment) {
            staged.player.know(player::rule::ENVIRONMENT, dummy.as_bytes());
        }
        let named = |name: &OsString| staged.known_env.iter().any(|named| *name == **named);
        for (_, value) in environment.iter().filter(|(name, _)| named(name)) {
            staged.player.know(player::rule::ENVIRONMENT, value.as_encoded_bytes());
        }
        environment
    }

    /// With `--json`, standard output is ours.
    fn redirect(&self, command: &mut Command) -> Result<(), Ending> {
        if self.json {
            let error = |error: std::io::Error| Ending::impossible(error.to_string());
            command.stdout(output::standard_error().map(Stdio::from).map_err(error)?);
        }
        Ok(())
    }

    fn not_started(&self, reason: &str, code: u8) -> Ending {
        let name = self.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let message = format!("{}: cannot be started: {reason}", Shown::whole(&name));
        // Without --pass-exit these codes would be read as an answer.
        Ending::Failed { code: if self.pass_exit { code } else { 2 }, message }
    }

    /// Writes the record of the replay, prints the result, gives the exit code.
    fn tell(&self, record: &ReplayRecord, enforcement: &Enforcement) -> Result<u8, Ending> {
        let kept = keep(record);
        if self.json {
            output::print(&(record.to_json() + "\n"))?;
        } else {
            self.explain(record, enforcement);
        }
        match kept {
            Ok(path) if !self.json => {
                output::complain(&format!(
                    "report of this replay: {}",
                    Shown::whole(&path.to_string_lossy())
                ));
            }
            Ok(_) => {}
            Err(error) => output::complain(&format!("the record of this replay could not be kept: {error}")),
        }
        let verdict = record.verdict();
        Ok(match verdict {
            Verdict::Reproduced | Verdict::Differed if self.pass_exit => child::shell_code(record.child_exit),
            verdict => verdict.exit_code(),
        })
    }

    fn explain(&self, record: &ReplayRecord, enforcement: &Enforcement) {
        let Outcome { hits, misses, missed, unused, ambiguous, rebuilt, rung } = &record.outcome;
        for miss in misses {
            output::complain(&format!("{miss:#}"));
        }
        if let Some(unused) = never_asked_for(unused) {
            output::complain(&unused);
        }
        if *ambiguous > 0 {
            output::complain(&format!(
                "{} had several recorded answers, and they differ; which one was given, their order decided or how much of them is held",
                quantity::count(*ambiguous as u64, "request")
            ));
        }
        if let Some(note) = anew(*rebuilt, *rung) {
            output::complain(&note);
        }
        let (hits, exit) = (quantity::count(*hits as u64, "exchange"), record.child_exit);
        let line = match record.verdict() {
            Verdict::Reproduced => {
                reproduced(&hits, *rung, &exit.to_string(), record.recorded_exit.is_some())
            }
            Verdict::Differed => {
                let mut why = Vec::new();
                if !unused.is_empty() {
                    why.push(format!("{} not asked for", quantity::count(unused.len() as u64, "exchange")));
                }
                if let Some(recorded) = record.recorded_exit.filter(|recorded| *recorded != exit) {
                    why.push(format!("{exit}, recorded was {recorded}"));
                }
                format!("differed: {}", why.join("; "))
            }
            Verdict::MissingDependency => format!(
                "could not be reproduced: {} with no recorded answer (E_REPLAY_MISSING_DEPENDENCY), {hits} as recorded",
                quantity::count(*missed as u64, "request")
            ),
        };
        output::complain(&line);
        output::complain(&match enforcement.rung {
            Rung::None => "hermetic: not enforced".to_owned(),
            rung => format!("hermetic: the kernel cut off the network ({rung})"),
        });
    }
}

/// That a run was reproduced, and what that means here: by how much of them its requests were known, and whether the exit code was.
fn reproduced(hits: &str, rung: Option<replay::Rung>, exit: &str, is_exit_recorded: bool) -> String {
    match (found_by(rung), is_exit_recorded) {
        (None, true) => format!("reproduced: {hits}, {exit}, as recorded"),
        (None, false) => format!("reproduced: {hits} as recorded, {exit} (the record holds none)"),
        (Some(found), true) => format!("reproduced: {hits} found by {found}, {exit} as recorded"),
        (Some(found), false) => {
            format!("reproduced: {hits} found by {found}, {exit} (the record holds none)")
        }
    }
}

/// By what requests were found, where it was not all of them.
fn found_by(rung: Option<replay::Rung>) -> Option<&'static str> {
    match rung? {
        replay::Rung::Exact => None,
        replay::Rung::BodyHash => Some("the hash of the body or of the prompt"),
        replay::Rung::JsonBody => Some("the JSON of the body"),
        replay::Rung::Prompt => Some("the prompt"),
        replay::Rung::Conversation => Some("the model and the messages"),
    }
}

/// What a record that holds less than all meant for its replay, in one line.
fn anew(rebuilt: usize, rung: Option<replay::Rung>) -> Option<String> {
    let found = found_by(rung).map(|found| format!("requests were found by {found}"));
    let written = (rebuilt > 0).then(|| {
        let answers = quantity::count(rebuilt as u64, "answer");
        let were = if rebuilt == 1 { "was" } else { "were" };
        format!("{answers} {were} written anew in the vendor's shape")
    });
    let told: Vec<String> = found.into_iter().chain(written).collect();
    (!told.is_empty()).then(|| format!("the record holds no bytes of HTTP: {}", told.join(", ")))
}

/// What was recorded and never asked for, in one line.
fn never_asked_for(unused: &[Unused]) -> Option<String> {
    /// More are only counted.
    const NAMED: usize = 5;
    if let [Unused { step_id, label, model, .. }] = unused {
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

/// Why there is no child inside.
enum Refused {
    /// The kernel said no.
    Kernel(SandboxError),
    /// Something else went wrong.
    Ending(Ending),
}

impl From<SandboxError> for Refused {
    fn from(error: SandboxError) -> Self {
        Self::Kernel(error)
    }
}

impl From<Ending> for Refused {
    fn from(ending: Ending) -> Self {
        Self::Ending(ending)
    }
}

/// The routes under which a run was recorded: their paths are part of its requests. A record that does not tell has each
/// vendor's own.
fn routes(run: &Run) -> Result<Vec<Route>, Ending> {
    let recorded = run.metadata().and_then(|metadata| metadata.member("reenact")?.member("upstreams"));
    let url = |vendor: Vendor, upstreams: Value<'_>| upstreams.member(vendor.name())?.string()?.parse().ok();
    let defaults = vendors::routes(&[], |_| None)?;
    let route = |default: Route| match recorded.and_then(|upstreams| url(default.vendor, upstreams)) {
        Some(upstream) => Route::to(default.vendor, upstream),
        None => default,
    };
    Ok(defaults.into_iter().map(route).collect())
}

/// What held the command, for the record.
fn told(enforcement: &Enforcement) -> SandboxRecord {
    SandboxRecord {
        rung: enforcement.rung.code().to_owned(),
        closed: enforcement.closed.iter().map(ToString::to_string).collect(),
        open: enforcement.open.iter().map(ToString::to_string).collect(),
        why: enforcement.why.clone(),
    }
}

/// Keeps the record of a replay beside the runs.
fn keep(record: &ReplayRecord) -> Result<PathBuf, String> {
    let folder = runs::folder();
    let id = RunId::generate().map_err(|error| error.to_string())?;
    let path = folder.create_replay(id).map_err(|error| error.to_string())?;
    durable::create(&path, (record.to_json() + "\n").as_bytes(), Readers::Owner)
        .map_err(|error| error.to_string())?;
    Ok(path)
}

/// What a record holds back that a replay would need.
fn withheld(run: &Run) -> Option<String> {
    let is_withheld = |exchange: &reenact_run::Exchange<'_>| {
        exchange.request().err() == Some(Unreadable::Withheld)
            || exchange.answer().err() == Some(Unreadable::Withheld)
    };
    let count = run.exchanges().filter(is_withheld).count();
    let exchanges = quantity::count(count as u64, "exchange");
    (count > 0).then(|| {
        format!("{exchanges} of this run cannot be replayed: what was asked or answered is withheld from its record")
    })
}
