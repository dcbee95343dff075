//! `reenact record -- CMD`: watches an agent, and seals what it saw.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use reenact_formats::rer::rewrite;
use reenact_gateway::{Environment, Gateway, Limits, Policy, Recording, Token, Work};
use reenact_json::Shown;
use reenact_keys::durable::{self, Readers};
use reenact_keys::{KeyName, SecretKey};
use reenact_record::approval::Desk;
use reenact_record::wal::{self, Place};
use reenact_record::{Counts, Durability, End, Out, Recorder, RunId, RunStart, RunStatus, Sealed};
use reenact_run::{EventType, Exit, Opened, Run};
use reenact_verify::audit::{Audit, Verdict};
use reenact_verify::{Keys, Options};
use reenact_wire::price::Table;

use crate::child::{self, Signals};
use crate::config::Config;
use crate::output::{self, Ending};
use crate::{envelope, prices, quantity, runs, runtime, settings, vendors};

/// Record a run: watch an agent's calls to its models, and seal them into a file that anyone can verify and replay
///
/// The command runs as it would without us: it has the terminal, its signals and its exit code. Its clients are sent through a
/// gateway on this machine by the variables that they read anyway (OPENAI_BASE_URL and the like); no code changes. Credentials
/// are masked before anything is written. The exit code is the command's own; 125 if recording failed, 126 or 127 if the command
/// could not be started.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact record -- python agent.py\n  reenact record --out run.rer.json -- node agent.js --fast\n  reenact record --upstream openai=http://localhost:8080/v1 -- ./agent"
)]
pub(crate) struct Record {
    /// Put the artifact here, instead of into .reenact/runs/; a name that ends in .rer.tar.gz gets a bundle of it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Overwrite the file that --out names
    #[arg(long, requires = "out")]
    force: bool,

    /// Where a vendor's requests go, such as openai=URL; may be given more than once
    #[arg(long, value_name = "NAME=URL", value_parser = vendors::upstream)]
    upstream: Vec<vendors::Upstream>,

    /// Sign with this key of yours
    #[arg(long, value_name = "NAME", value_parser = super::keys::key_name)]
    key: Option<KeyName>,

    /// Enforce this envelope instead of the one in reenact.toml: what the run may call, how often, until when and for how much;
    /// TOML, or JSON that was signed with `reenact envelope sign`
    #[arg(long, value_name = "FILE")]
    envelope: Option<PathBuf>,

    /// What models cost, in place of the list prices (see `reenact prices`)
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,

    /// How long an action waits that needs an approval (`reenact approve` gives it): 90s, 10m, 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = super::approve::duration)]
    approval_timeout: Duration,

    /// What the record survives: the sudden end of the recorder, or also that of the machine, at the price of a flush to the disk
    /// before each request and at the end of each answer
    #[arg(long, value_name = "WHAT", value_enum, default_value = "process")]
    durability: Survives,

    /// Say nothing at the end, unless something went wrong
    #[arg(long, short)]
    quiet: bool,

    /// The agent, and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What the record survives.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Survives {
    /// The recorder's end
    Process,
    /// The machine's end
    Machine,
}

impl From<Survives> for Durability {
    fn from(survives: Survives) -> Self {
        match survives {
            Survives::Process => Self::Process,
            Survives::Machine => Self::Machine,
        }
    }
}

/// What recording ends with when it fails: no exit code of an agent's own means the same.
pub(crate) const FAILED: u8 = 125;

/// A key, and whether it was just made.
struct Signing {
    name: KeyName,
    key: SecretKey,
    made_at: Option<PathBuf>,
}

/// A command that ran, and what there is to seal.
struct Flown {
    exit: Exit,
    took: Duration,
    /// What could not be recorded.
    unrecorded: Option<String>,
    notes: Vec<String>,
}

impl Record {
    pub(crate) fn run(&self) -> Result<u8, Ending> {
        self.fly().map_err(|ending| match ending {
            Ending::Failed { code: 2, message } => Ending::Failed { code: FAILED, message },
            other => other,
        })
    }

    fn fly(&self) -> Result<u8, Ending> {
        let routes = vendors::routes(&self.upstream, |name| std::env::var_os(name))?;
        if let Some(bundle) = self.bundle() {
            // Nobody wants to hear of it only when the run is over.
            durable::check(bundle, self.force).map_err(|error| Ending::unwritable(bundle, &error))?;
        }
        let settings = settings::here()?;
        // What is named by hand counts; else what the project asks for.
        let (envelope, from) = match &self.envelope {
            Some(file) => (Some(envelope::read(file)?), Some(file.clone())),
            None => (settings.envelope, settings.file),
        };
        let enforced = from.filter(|_| envelope.is_some());
        let table = self.prices.as_deref().map_or_else(|| Ok(Table::standard()), prices::read)?;
        let signing = self.signing()?;
        let before: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let upstreams: Vec<(String, String)> =
            routes.iter().map(|route| (route.name.clone(), route.upstream.to_string())).collect();
        let upstreams: Vec<(&str, &str)> =
            upstreams.iter().map(|(name, url)| (name.as_str(), url.as_str())).collect();
        let start = RunStart {
            command: &self.command,
            environment: &before,
            upstreams: &upstreams,
            envelope: envelope.as_ref().map(|ready| ready.json.as_slice()),
            redaction: settings.redaction,
            out: self
                .out
                .clone()
                .filter(|_| self.bundle().is_none())
                .map(|path| Out { path, replace: self.force }),
            ..RunStart::new(RunId::generate().map_err(impossible)?)
        };
        let recorder = Recorder::begin(&runs::folder(), &start, &signing.key).map_err(impossible)?;
        // Without a place for it, requests and the ends of answers wait until they are in the journal.
        let log = Place::find().and_then(|place| recorder.pen().log(&place, recorder.run_id()).ok());
        let approvers = Config::require()?.approvers()?.into_iter().map(|(_, approver)| approver).collect();
        let desk = Desk::new(recorder.folder(), recorder.run_id(), approvers, self.approval_timeout);
        let policy = recorder.warden().map(|warden| Policy { warden, prices: table, desk });
        let recording = Recording {
            pen: recorder.pen(),
            log,
            policy,
            durability: self.durability.into(),
            routes,
            environment: Environment::from_process(),
            limits: Limits::default(),
        };
        let flown = runtime::new()?.block_on(self.watch(recording, before));
        let flown = match flown {
            Ok(flown) => flown,
            Err(ending) => {
                // Nothing ran, so there is nothing to keep.
                let (folder, run_id) = (recorder.folder().to_owned(), recorder.run_id());
                drop(recorder);
                let _ = std::fs::remove_dir_all(folder);
                if let Some(place) = Place::holding(run_id) {
                    let _ = wal::forget(&place, run_id);
                }
                return Err(ending);
            }
        };
        let (status, reason) = told(flown.exit);
        let counts = recorder.counts();
        let journal = recorder.folder().to_owned();
        let sealed = recorder
            .end(&End { status, reason: &reason, exit_code: flown.exit.code() })
            .and_then(|ended| ended.seal(&signing.key))
            .map_err(|error| {
                let journal = journal.to_string_lossy();
                Ending::impossible(format!(
                    "the run is over, but could not be sealed: {error}; its journal is in {}; when that is mended: reenact recover",
                    Shown::whole(&journal)
                ))
            })?;
        let sealed = match self.bundle() {
            Some(bundle) => self.pack(sealed, &signing, bundle)?,
            None => sealed,
        };
        self.tell(&signing, &flown, counts, &sealed, enforced.as_deref())
    }

    /// Where a bundle is wanted.
    fn bundle(&self) -> Option<&Path> {
        self.out.as_deref().filter(|out| out.to_string_lossy().ends_with(".rer.tar.gz"))
    }

    /// Makes a bundle of what was sealed. The artifact stays where it is.
    fn pack(&self, sealed: Sealed, signing: &Signing, bundle: &Path) -> Result<Sealed, Ending> {
        let artifact = reenact_verify::disk::read(&sealed.path).map_err(impossible)?;
        let bound = rewrite::bind(&artifact, &[], &reenact_json::Limits::default(), &signing.key);
        let bytes = bound.map_err(impossible)?.pack(&[], |_| None, Vec::new()).map_err(impossible)?;
        let write = if self.force { durable::replace } else { durable::create };
        write(bundle, &bytes, Readers::Owner).map_err(|error| {
            let path = sealed.path.to_string_lossy();
            output::complain(&format!("the run is sealed all the same: {}", Shown::whole(&path)));
            Ending::unwritable(bundle, &error)
        })?;
        Ok(Sealed { path: bundle.to_owned(), size: bytes.len() as u64, ..sealed })
    }

    /// Runs the command behind a gateway, to its end.
    async fn watch(&self, recording: Recording, before: Vec<(OsString, OsString)>) -> Result<Flown, Ending> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| Ending::impossible(format!("no port on 127.0.0.1 to listen on: {error}")))?;
        let token = Token::generate().map_err(impossible)?;
        let gateway =
            Gateway::start(listener, token, Work::Record(Box::new(recording))).map_err(impossible)?;
        let signals = Signals::listen().map_err(impossible)?;
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err(Ending::impossible("there is no command to run"));
        };
        let started = Instant::now();
        let child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(vendors::environment(before, vendors::base_of(&gateway)))
            .env(vendors::REPORT_URL, gateway.report_url())
            .spawn()
            .map_err(|error| {
                let name = program.to_string_lossy();
                let message = format!("{}: cannot be started: {error}", Shown::whole(&name));
                Ending::Failed { code: child::not_started(&error), message }
            })?;
        let mut notes: Vec<String> = gateway.notes().iter().map(ToString::to_string).collect();
        let exit = signals.wait(child).await.unwrap_or_else(|error| {
            // It ran, and what it did is recorded.
            notes.push(format!("how the command ended could not be seen: {error}"));
            Exit::Code(FAILED.into())
        });
        let took = started.elapsed();
        if gateway.has_lost_its_log() {
            notes.push(
                "there was no more room for the log in memory: calls waited for the journal".to_owned(),
            );
        }
        let unrecorded = gateway.stop().await.err().map(|unrecorded| unrecorded.to_string());
        Ok(Flown { exit, took, unrecorded, notes })
    }

    fn signing(&self) -> Result<Signing, Ending> {
        let store = Config::require()?.key_store();
        if let Some(name) = &self.key {
            let key = store.load(name).map_err(impossible)?;
            return Ok(Signing { name: name.clone(), key, made_at: None });
        }
        let name = KeyName::default();
        let default = store.default_key().map_err(impossible)?;
        let made_at = default.is_new.then(|| store.path(&name));
        Ok(Signing { name, key: default.key, made_at })
    }

    /// The end of it: verifies what was written, and says so.
    fn tell(
        &self,
        signing: &Signing,
        flown: &Flown,
        counts: Counts,
        sealed: &Sealed,
        enforced: Option<&Path>,
    ) -> Result<u8, Ending> {
        let path = sealed.path.to_string_lossy();
        let path = Shown::whole(&path);
        let bytes = reenact_verify::disk::read(&sealed.path).map_err(impossible)?;
        let mut keys = Keys::default();
        keys.supply(reenact_formats::rer::seal::Signer::public_key(&signing.key));
        let Opened { run, report } = reenact_run::open(bytes, &keys, &Options::default());
        if !report.pass() {
            return Err(Ending::impossible(format!(
                "{path}: what was written does not verify: {}",
                report.reasons.join("; ")
            )));
        }
        for note in &flown.notes {
            output::complain(note);
        }
        if let Some(unrecorded) = &flown.unrecorded {
            output::complain(&format!("{unrecorded}; the record in {path} says so"));
        }
        if !self.quiet {
            let summary = run.as_ref().map(reenact_run::Run::summary).unwrap_or_default();
            let mut calls = vec![quantity::count(counts.model_calls, "model call")];
            if counts.http_calls > 0 {
                calls.push(quantity::count(counts.http_calls, "other request"));
            }
            let calls =
                format!("{} and {}", calls.join(", "), quantity::count(counts.tool_calls, "tool call"));
            let tokens = match (summary.input_tokens(), summary.output_tokens()) {
                (0, 0) => String::new(),
                (input, output) => {
                    format!(", {} tokens in, {} out", quantity::grouped(input), quantity::grouped(output))
                }
            };
            let cost = summary.cost().map(|cost| format!(", about {}", quantity::dollars(cost)));
            output::complain(&format!(
                "recorded {calls}{tokens}{}, {} ({})",
                cost.unwrap_or_default(),
                quantity::duration(flown.took),
                flown.exit
            ));
            if let Some(trouble) = run.as_ref().ok().and_then(trouble) {
                output::complain(&trouble);
            }
            if summary.withheld > 0 {
                let count = quantity::count(summary.withheld as u64, "payload");
                output::complain(&format!(
                    "{count} withheld; what a withheld tool got and gave is still in the requests to its model"
                ));
            }
            let size = quantity::size(sealed.size);
            output::complain(&format!("sealed and verified: {path} ({size}, key \"{}\")", signing.name));
            if let Some(made_at) = &signing.made_at {
                let made_at = made_at.to_string_lossy();
                output::complain(&format!("this key was made for you just now: {}", Shown::whole(&made_at)));
                output::complain(&format!(
                    "whoever checks your runs needs its public half: reenact keys export {}",
                    signing.name
                ));
            }
            let is_denied =
                |run: &Run| run.events().any(|event| event.kind() == Some(EventType::StepBlocked));
            if counts.model_calls + counts.http_calls == 0 && !run.as_ref().is_ok_and(is_denied) {
                let variables = vendors::base_variables();
                output::complain(&format!("no request came through: does the agent read {variables}?"));
            } else if enforced.is_none() {
                output::complain("no policy was set: every call was let through (observe-only)");
            }
            if let Some(file) = enforced {
                output::complain(&kept(file, run.as_ref().ok(), report.audit.as_ref()));
            }
            // Those that others are recording are not among them.
            if let Some(advice) = never_sealed(&runs::folder().unsealed().unwrap_or_default()) {
                output::complain(&advice);
            }
            let (name, command) = (self.run_name(), typed(&summary.command));
            output::complain(&format!("next: reenact show {name}"));
            output::complain(&format!("      reenact replay {name} -- {command}"));
        }
        Ok(if flown.unrecorded.is_some() { FAILED } else { child::shell_code(flown.exit) })
    }

    /// What to call this run in the next command.
    fn run_name(&self) -> String {
        match &self.out {
            Some(path) => word(&path.to_string_lossy()),
            None => "last".into(),
        }
    }
}

/// That there are runs that were never sealed, and what to do; oldest first.
fn never_sealed(runs: &[RunId]) -> Option<String> {
    match runs {
        [] => None,
        [run] => Some(format!("run {run} was never sealed; seal it with: reenact recover {run}")),
        [oldest, .., newest] => Some(format!(
            "{} were never sealed, from {oldest} to {newest}; seal them all with: reenact recover",
            quantity::count(runs.len() as u64, "run")
        )),
    }
}

/// What became of the envelope, in one line.
fn kept(file: &Path, run: Option<&Run>, audit: Option<&Audit>) -> String {
    let blocked =
        |run: &Run| run.events().filter(|event| event.kind() == Some(EventType::StepBlocked)).count();
    let denied = match run.map_or(0, blocked) {
        0 => "nothing was denied".to_owned(),
        count => format!("{} denied", quantity::count(count as u64, "action")),
    };
    let rules = audit.map(|audit| audit.rules.as_slice()).unwrap_or_default();
    let named = |verdict: Verdict| {
        let rules = rules.iter().filter(|rule| rule.verdict == verdict).map(|rule| rule.rule);
        rules.collect::<Vec<_>>()
    };
    let (broken, open) = (named(Verdict::Fail), named(Verdict::Inconclusive));
    let verdict = match (broken.as_slice(), open.as_slice()) {
        ([], []) => "the audit finds every rule kept".to_owned(),
        // Most runs have nobody else to sign for them.
        ([], ["authorization"]) => {
            "the audit finds every rule kept; nobody but this run's own key signed for it".to_owned()
        }
        ([], open) => format!("the audit cannot tell: {}", open.join(", ")),
        (broken, _) => format!("the audit finds broken: {}", broken.join(", ")),
    };
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    format!("{} enforced: {denied}; {verdict}", Shown::whole(&name))
}

/// What an agent's user should know before anything else: that calls were not answered, or not to the end.
fn trouble(run: &Run) -> Option<String> {
    let (mut unanswered, mut cut) = (0, 0);
    for answer in run.exchanges().filter_map(|exchange| exchange.answer().ok()) {
        match answer.status {
            None => unanswered += 1,
            Some(_) if !answer.complete => cut += 1,
            Some(_) => {}
        }
    }
    let mut told = Vec::new();
    if unanswered > 0 {
        told.push(format!("{} got no answer", quantity::count(unanswered, "request")));
    }
    if cut > 0 {
        told.push(format!("{} broke off", quantity::count(cut, "answer")));
    }
    if told.is_empty() {
        return None;
    }
    let error = run.events().find(|event| event.kind() == Some(EventType::ErrorRaised));
    let why = error.and_then(|error| error.payload().value()?.member("message")?.string());
    let why = why.map(|why| format!(": {}", Shown::whole(&why))).unwrap_or_default();
    Some(format!("{}{why}", told.join(", ")))
}

/// How a run ended, and why.
fn told(exit: Exit) -> (RunStatus, String) {
    // Someone who sends these wants it to stop; other signals come from faults.
    const ASKED_TO_STOP: [i32; 4] = [1, 2, 3, 15];
    let status = match exit {
        Exit::Code(0) => RunStatus::Completed,
        Exit::Code(_) => RunStatus::Failed,
        Exit::Signal(signal) if ASKED_TO_STOP.contains(&signal) => RunStatus::Aborted,
        Exit::Signal(_) => RunStatus::Crashed,
    };
    (status, exit.to_string())
}

/// A command as one would type it, if it is short.
pub(super) fn typed(command: &[String]) -> String {
    let line = command.iter().map(|argument| word(argument)).collect::<Vec<_>>().join(" ");
    if command.is_empty() || line.chars().count() > 60 { "CMD".into() } else { line }
}

/// A word of a shell's line.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", Shown::whole(text).to_string().replace('\'', "'\\''"))
}

fn impossible(error: impl std::fmt::Display) -> Ending {
    Ending::impossible(error.to_string())
}
