//! `reenact record -- CMD`: runs an agent behind the gateway, and seals the events that were recorded.
//!
//! The agent keeps its terminal, its signals and its exit code. One recording goes through these steps:
//!
//! 1. Settings, envelope, prices and key are loaded; nothing has been written yet.
//! 2. A run is begun in `.reenact/runs`, with a journal and a write-ahead log in memory.
//! 3. The gateway listens on 127.0.0.1, and the agent is started with its clients pointed at the gateway.
//! 4. When the agent has ended, the journal is closed and sealed into an artifact, or packed into a bundle.
//! 5. The file is verified once more from the disk, and a summary is printed to standard error.
//!
//! Start reading at `RecordArgs::run_recorded`.

mod approvers;
mod authority;
mod bundle_out;

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use reenact_formats::rer::payload::{PolicyDecision, PolicyEvaluatedView};
use reenact_formats::rer::seal::Signer as _;
use reenact_gateway::{
    EnforcedPolicy, Gateway, GatewayLimits, GatewayMode, GatewayToken, NetworkEnvironment, RecordingConfig,
};
use reenact_json::Shown;
use reenact_keys::durable;
use reenact_keys::{KeyName, SecretKey};
use reenact_record::approval::ApprovalQueue;
use reenact_record::wal::{self, WalDir};
use reenact_record::{
    ArtifactTarget, Durability, LateSecrets, PolicyMode, RecordError, Recorder, RunCounts, RunEnd, RunId,
    RunStart, RunStatus, SealedArtifact,
};
use reenact_run::{EventType, Exit, OpenedRecord, Run};
use reenact_verify::audit::{Audit, AuditVerdict};
use reenact_verify::{Keys, Options};
use reenact_wire::price::PriceTable;

use crate::child::{self, SignalForwarder};
use crate::config::UserConfig;
use crate::output::{self, CommandError};
use crate::{envelope, hardening, prices, quantity, runs, runtime, settings, vendors};

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
pub(crate) struct RecordArgs {
    /// Put the artifact here, instead of into .reenact/runs/; a name that ends in .rer.tar.gz gets a bundle of it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Overwrite the file that --out names
    #[arg(long, requires = "out")]
    force: bool,

    /// Where a vendor's requests go, such as openai=URL; may be given more than once
    #[arg(long, value_name = "NAME=URL", value_parser = vendors::upstream)]
    upstream: Vec<vendors::UpstreamArg>,

    /// Sign with this key of yours
    #[arg(long, value_name = "NAME", value_parser = super::keys::key_name)]
    key: Option<KeyName>,

    /// Enforce this envelope instead of the one in reenact.toml: what the run may call, how often, until when and for how much;
    /// TOML, or JSON that was signed with `reenact policy sign`
    #[arg(long, value_name = "FILE")]
    envelope: Option<PathBuf>,

    /// What happens to an action that the envelope denies: it is blocked, or only recorded as one that would have been
    #[arg(long, value_name = "MODE", value_enum, default_value = "enforce")]
    policy_mode: PolicyModeArg,

    /// What models cost, in place of the list prices (see `reenact prices`)
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,

    /// How long an action waits that needs an approval (`reenact policy approve` gives it): 90s, 10m, 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = super::policy::approve::duration)]
    approval_timeout: Duration,

    /// What the record survives: the sudden end of the recorder, or also that of the machine, at the price of a flush to the disk
    /// before each request and at the end of each answer
    #[arg(long, value_name = "WHAT", value_enum, default_value = "process")]
    durability: DurabilityArg,

    /// Say nothing at the end, unless something went wrong; new approvers are named at the start all the same
    #[arg(long, short)]
    quiet: bool,

    /// The agent, and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Values of `--durability`; the library's [`Durability`].
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DurabilityArg {
    /// The recorder's end
    Process,
    /// The machine's end
    Machine,
}

impl From<DurabilityArg> for Durability {
    fn from(survives: DurabilityArg) -> Self {
        match survives {
            DurabilityArg::Process => Self::Process,
            DurabilityArg::Machine => Self::Machine,
        }
    }
}

/// Values of `--policy-mode`; the library's [`PolicyMode`].
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PolicyModeArg {
    /// Nothing that is denied happens
    Enforce,
    /// Nothing is denied, held back or asked for
    Warn,
}

impl From<PolicyModeArg> for PolicyMode {
    fn from(mode: PolicyModeArg) -> Self {
        match mode {
            PolicyModeArg::Enforce => Self::Enforce,
            PolicyModeArg::Warn => Self::Warn,
        }
    }
}

/// Exit code of a recording that failed. env(1) ends with the same code when env itself fails; all other
/// codes are the agent's.
pub(crate) const EXIT_RECORDING_FAILED: u8 = 125;

/// Audit rule on who authorised the run.
const AUTHORIZATION: &str = "authorization";

/// Key that signs the run.
struct RecordingKey {
    /// Name in the key store, for the summary.
    name: KeyName,
    key: SecretKey,
    /// Path of the key file if this recording created it, for the note to the user.
    created_at_path: Option<PathBuf>,
    /// Keys by which the run is judged: this one, and for an authorization or approvals all that the user has or trusts.
    known: Keys,
}

impl RecordingKey {
    fn new(name: KeyName, key: SecretKey, created_at_path: Option<PathBuf>) -> Self {
        let mut known = Keys::default();
        known.add_supplied(key.public_key());
        Self { name, key, created_at_path, known }
    }
}

/// An agent that has ended, and what must be said about its recording.
struct FinishedAgent {
    /// Exit code or signal of the agent.
    exit: Exit,
    /// Time from the start of the agent to its end.
    duration: Duration,
    /// Error of the recorder, if not everything could be recorded. Such a run ends with exit code 125.
    recording_error: Option<String>,
    /// Notes of the gateway for the user.
    notes: Vec<String>,
}

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
    /// sealing fails, the journal stays, and `reenact recover` seals it later.
    fn run_recorded(&self) -> Result<u8, CommandError> {
        let routes = vendors::routes(&self.upstream, |name| std::env::var_os(name))?;
        if let Some(bundle) = self.bundle_path() {
            // A name that is taken is reported before the agent runs, not after.
            durable::check_writable(bundle, self.force)
                .map_err(|error| CommandError::unwritable(bundle, &error))?;
        }
        let settings = settings::load_current()?;
        // The option beats the project's settings.
        let (envelope, from) = match &self.envelope {
            Some(file) => (Some(envelope::load(file)?), Some(file.clone())),
            None => (settings.envelope, settings.file),
        };
        let envelope_file = from.filter(|_| envelope.is_some());
        if envelope_file.is_none() && self.policy_mode == PolicyModeArg::Warn {
            return Err(CommandError::impossible(
                "there is no envelope to warn by; give one with --envelope FILE",
            ));
        }
        let table = self.prices.as_deref().map_or_else(|| Ok(PriceTable::list_prices()), prices::load)?;
        let mut signing = self.load_key()?;
        authority::add_keys(envelope.as_ref(), &mut signing.known)?;
        if let (Some(envelope), Some(file)) = (&envelope, &envelope_file) {
            authority::check(envelope, file, &signing, super::policy::now())?;
        }
        // Whatever can fail does so before the run begins: a run that has begun would stay behind unsealed.
        let known_approvers = UserConfig::require()?.approvers()?;
        let runtime = runtime::new()?;
        if let (Some(envelope), Some(file)) = (&envelope, &envelope_file) {
            approvers::check(envelope, file, self.policy_mode, &known_approvers)?;
            if self.policy_mode == PolicyModeArg::Enforce {
                approvers::announce(&envelope.envelope, &UserConfig::require()?, &known_approvers);
            }
        }
        let inherited_env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let upstreams: Vec<(String, String)> =
            routes.iter().map(|route| (route.name.clone(), route.upstream.to_string())).collect();
        let upstreams: Vec<(&str, &str)> =
            upstreams.iter().map(|(name, url)| (name.as_str(), url.as_str())).collect();
        let start = RunStart {
            command: &self.command,
            environment: &inherited_env,
            upstreams: &upstreams,
            envelope: envelope.as_ref().map(|loaded| loaded.json.as_slice()),
            policy_mode: self.policy_mode.into(),
            redaction: settings.redaction,
            target: self
                .out
                .clone()
                .filter(|_| self.bundle_path().is_none())
                .map(|path| ArtifactTarget { path, replace: self.force }),
            ..RunStart::new(RunId::generate().map_err(impossible)?)
        };
        let recorder =
            Recorder::builder(&runs::run_store(), &signing.key).begin(&start).map_err(impossible)?;
        // Logs hold secrets: those that a killed recorder or recovery left behind do not stay.
        wal::remove_orphans(&runs::run_store());
        // Without memory-backed storage for the log, requests and the ends of answers wait until the journal has them.
        let log =
            WalDir::find().and_then(|dir| recorder.event_writer().create_wal(&dir, recorder.run_id()).ok());
        let approvers = known_approvers.into_iter().map(|(_, approver)| approver).collect();
        let approvals =
            ApprovalQueue::new(recorder.folder(), recorder.run_id(), approvers, self.approval_timeout);
        let policy = recorder.policy_engine().map(|engine| EnforcedPolicy {
            engine,
            prices: table.clone(),
            approvals,
        });
        let recording = RecordingConfig {
            writer: recorder.event_writer(),
            log,
            policy,
            durability: self.durability.into(),
            routes,
            environment: NetworkEnvironment::from_process(),
            limits: GatewayLimits::default(),
        };
        let finished = runtime.block_on(self.run_agent(recording, inherited_env));
        let finished = match finished {
            Ok(finished) => finished,
            Err(error) => {
                // The agent was not started, so the empty run and its log are removed.
                let (folder, run_id) = (recorder.folder().to_owned(), recorder.run_id());
                drop(recorder);
                let _ = std::fs::remove_dir_all(folder);
                if let Some(dir) = WalDir::containing(run_id) {
                    let _ = wal::remove_run(&dir, run_id);
                }
                return Err(error);
            }
        };
        let (status, reason) = run_status(finished.exit);
        let counts = recorder.counts();
        let journal = recorder.folder().to_owned();
        let mut late_secrets = Ok(LateSecrets::default());
        let sealed = recorder
            .end(&RunEnd { status, reason: &reason, exit_code: finished.exit.code() })
            .and_then(|ended| {
                late_secrets = ended.late_secrets();
                ended.seal(&signing.key)
            })
            .map_err(|error| {
                let journal = journal.to_string_lossy();
                if matches!(error, RecordError::JournalChanged { .. }) {
                    return CommandError::impossible(format!(
                        "{error}; what is left of it is in {}",
                        Shown::whole(&journal)
                    ));
                }
                CommandError::impossible(format!(
                    "the run is over, but could not be sealed: {error}; its journal is in {}; when that is mended: reenact recover",
                    Shown::whole(&journal)
                ))
            })?;
        let sealed = match self.bundle_path() {
            Some(bundle) => bundle_out::write(sealed, &signing.key, bundle, self.force)?,
            None => sealed,
        };
        let code =
            self.print_summary(&signing, &finished, counts, &sealed, envelope_file.as_deref(), &table)?;
        let is_bundle = self.bundle_path().is_some_and(|bundle| *bundle == sealed.path);
        if let Some(notice) = late_secrets_notice(&late_secrets, &self.run_name(&sealed.path), is_bundle) {
            output::print_notice(&notice);
        }
        Ok(code)
    }

    /// Returns the path of `--out` if it asks for a bundle.
    fn bundle_path(&self) -> Option<&Path> {
        bundle_out::requested(self.out.as_deref())
    }

    /// Starts the gateway on a free port of 127.0.0.1, runs the agent behind it until it ends, and stops the gateway.
    ///
    /// # Errors
    ///
    /// Only before the agent runs: if the gateway or the agent cannot be started.
    async fn run_agent(
        &self,
        recording: RecordingConfig,
        inherited_env: Vec<(OsString, OsString)>,
    ) -> Result<FinishedAgent, CommandError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| {
            CommandError::impossible(format!("no port on 127.0.0.1 to listen on: {error}"))
        })?;
        let token = GatewayToken::generate().map_err(impossible)?;
        let gateway =
            Gateway::start(listener, token, GatewayMode::Record(Box::new(recording))).map_err(impossible)?;
        let signals = SignalForwarder::listen().map_err(impossible)?;
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err(CommandError::impossible("there is no command to run"));
        };
        let started = Instant::now();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(vendors::agent_environment(inherited_env, vendors::base_urls(&gateway)))
            .env(vendors::REPORT_URL_VARIABLE, gateway.report_url());
        let child = hardening::with_inherited_limits(|| command.spawn()).map_err(|error| {
            let name = program.to_string_lossy();
            let message = format!("{}: cannot be started: {error}", Shown::whole(&name));
            CommandError::Failed { code: child::spawn_error_code(&error), message }
        })?;
        let mut notes: Vec<String> = gateway.warnings().iter().map(ToString::to_string).collect();
        let exit = signals.wait(child).await.unwrap_or_else(|error| {
            // The agent did run, and its calls are recorded, so that this is only a note.
            notes.push(format!("how the command ended could not be seen: {error}"));
            Exit::Code(EXIT_RECORDING_FAILED.into())
        });
        let took = started.elapsed();
        if gateway.has_lost_its_log() {
            notes.push(
                "there was no more room for the log in memory: calls waited for the journal".to_owned(),
            );
        }
        let unrecorded = gateway.stop().await.err().map(|unrecorded| unrecorded.to_string());
        Ok(FinishedAgent { exit, duration: took, recording_error: unrecorded, notes })
    }

    /// Loads the key of `--key`, or the default key, which is created if there is none yet.
    fn load_key(&self) -> Result<RecordingKey, CommandError> {
        let store = UserConfig::require()?.key_store();
        if let Some(name) = &self.key {
            let key = store.load(name).map_err(impossible)?;
            return Ok(RecordingKey::new(name.clone(), key, None));
        }
        let name = KeyName::default();
        let default = store.default_key().map_err(impossible)?;
        let made_at = default.is_new.then(|| store.path(&name));
        Ok(RecordingKey::new(name, default.key, made_at))
    }

    /// Verifies the sealed file as a reader would, prints the summary to standard error, and returns the exit code.
    ///
    /// With `--quiet` only notes and failures are printed. The exit code is the agent's, or 125 if not
    /// everything was recorded.
    ///
    /// # Errors
    ///
    /// If the file that was just written does not verify.
    fn print_summary(
        &self,
        signing: &RecordingKey,
        finished: &FinishedAgent,
        counts: RunCounts,
        sealed: &SealedArtifact,
        envelope_file: Option<&Path>,
        prices: &PriceTable,
    ) -> Result<u8, CommandError> {
        let path = sealed.path.to_string_lossy();
        let path = Shown::whole(&path);
        let bytes = reenact_verify::disk::read(&sealed.path).map_err(impossible)?;
        let OpenedRecord { run, report } = reenact_run::open(bytes, &signing.known, &Options::default());
        if !report.pass() {
            return Err(CommandError::impossible(format!(
                "{path}: what was written does not verify: {}",
                report.reasons.join("; ")
            )));
        }
        for note in &finished.notes {
            output::print_notice(note);
        }
        if let Some(unrecorded) = &finished.recording_error {
            output::print_notice(&format!("{unrecorded}; the record in {path} says so"));
        }
        if !self.quiet {
            let summary = run.as_ref().map(|run| run.summary_at(prices)).unwrap_or_default();
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
            let cost = summary.cost().map(|cost| format!(", {}", quantity::cost(cost)));
            output::print_notice(&format!(
                "recorded {calls}{tokens}{}, {} ({})",
                cost.unwrap_or_default(),
                quantity::duration(finished.duration),
                finished.exit
            ));
            if let Some(trouble) = run.as_ref().ok().and_then(unanswered_summary) {
                output::print_notice(&trouble);
            }
            if summary.withheld > 0 {
                let count = quantity::count(summary.withheld as u64, "payload");
                output::print_notice(&format!(
                    "{count} withheld; what a withheld tool got and gave is still in the requests to its model"
                ));
            }
            let size = quantity::size(sealed.size);
            output::print_notice(&format!("sealed and verified: {path} ({size}, key \"{}\")", signing.name));
            if let Some(made_at) = &signing.created_at_path {
                let made_at = made_at.to_string_lossy();
                output::print_notice(&format!(
                    "this key was made for you just now: {}",
                    Shown::whole(&made_at)
                ));
                output::print_notice(&format!(
                    "whoever checks your runs needs its public half: reenact keys export {}",
                    signing.name
                ));
            }
            let is_denied =
                |run: &Run| run.events().any(|event| event.kind() == Some(EventType::StepBlocked));
            if counts.model_calls + counts.http_calls == 0 && !run.as_ref().is_ok_and(is_denied) {
                let variables = vendors::base_variables();
                output::print_notice(&format!("no request came through: does the agent read {variables}?"));
            } else if envelope_file.is_none() {
                output::print_notice("no policy was set: every call was let through (observe-only)");
            }
            if let Some(file) = envelope_file {
                let (run, audit) = (run.as_ref().ok(), report.audit.as_ref());
                output::print_notice(&enforcement_summary(file, self.policy_mode, run, audit));
            }
            // Runs that another process is recording at the moment are not among them.
            if let Some(advice) = unsealed_notice(&runs::run_store().unsealed_runs().unwrap_or_default()) {
                output::print_notice(&advice);
            }
            let (name, command) = (self.run_name(&sealed.path), command_line(&summary.command));
            output::print_notice(&format!("next: reenact show {name}"));
            output::print_notice(&format!("      reenact replay {name} -- {command}"));
        }
        Ok(if finished.recording_error.is_some() {
            EXIT_RECORDING_FAILED
        } else {
            child::shell_exit_code(finished.exit)
        })
    }

    /// Returns the name of this run for the commands that the summary suggests: the path that was written for `--out`,
    /// or `last`.
    fn run_name(&self, written: &Path) -> String {
        match &self.out {
            Some(_) => shell_quoted(&written.to_string_lossy()),
            None => "last".into(),
        }
    }
}

/// Returns a notice on the events that hold a value which was used as a credential later, with the command that withholds
/// them; `None` if there are none. The value itself is not named. `run` is the run as a word of that command.
pub(super) fn late_secrets_notice(
    found: &Result<LateSecrets, RecordError>,
    run: &str,
    is_bundle: bool,
) -> Option<String> {
    let found = match found {
        Ok(found) if found.events.is_empty() => return None,
        Ok(found) => found,
        Err(error) => {
            return Some(format!(
                "the events were not looked through for credentials that were used later: {error}"
            ));
        }
    };
    let numbers: Vec<String> = found.events.iter().map(u64::to_string).collect();
    let listed = match numbers.as_slice() {
        [one] => format!("event {one}"),
        [others @ .., last] if found.more == 0 => format!("events {} and {last}", others.join(", ")),
        all => format!("events {} and {} more", all.join(", "), found.more),
    };
    let chosen: Vec<String> = numbers.iter().map(|number| format!("--event {number}")).collect();
    let out = if is_bundle { "shared.rer.tar.gz" } else { "shared.rer.json" };
    Some(format!(
        "a credential that was used later stands in {listed}, written before it was known; withhold that before you share the run:\n  reenact redact {run} {} --out {out}",
        chosen.join(" ")
    ))
}

/// Returns a notice on earlier runs that were never sealed; `runs` is sorted, oldest first.
fn unsealed_notice(runs: &[RunId]) -> Option<String> {
    match runs {
        [] => None,
        [run] => Some(format!("run {run} was never sealed; seal it with: reenact recover {run}")),
        [oldest, .., newest] => Some(format!(
            "{} were never sealed, from {oldest} to {newest}; seal them all with: reenact recover",
            quantity::count(runs.len() as u64, "run")
        )),
    }
}

/// Returns a line on the envelope: how many actions it denied, and the audit's verdict on the run.
///
/// The audit reads the sealed record as any verifier would. Who authorised the run is said apart: most envelopes carry no
/// authorisation by another key, which is worth a remark and no warning.
fn enforcement_summary(file: &Path, mode: PolicyModeArg, run: Option<&Run>, audit: Option<&Audit>) -> String {
    let blocked =
        |run: &Run| run.events().filter(|event| event.kind() == Some(EventType::StepBlocked)).count();
    let denied = match run.map_or(0, blocked) {
        _ if mode == PolicyModeArg::Warn => {
            format!("nothing was denied; {}", run.map_or_else(String::new, would_be_denied))
        }
        0 => "nothing was denied".to_owned(),
        count => format!("{} denied", quantity::count(count as u64, "action")),
    };
    let rules = audit.map(|audit| audit.rules.as_slice()).unwrap_or_default();
    let named = |verdict: AuditVerdict| {
        let rules = rules.iter().filter(|rule| rule.verdict == verdict).map(|rule| rule.rule);
        rules.filter(|rule| *rule != AUTHORIZATION || verdict == AuditVerdict::Fail).collect::<Vec<_>>()
    };
    let (broken, open) = (named(AuditVerdict::Fail), named(AuditVerdict::Inconclusive));
    let verdict = match (broken.as_slice(), open.as_slice()) {
        ([], []) => "the audit finds every rule kept".to_owned(),
        ([], open) => format!("the audit cannot tell: {}", open.join(", ")),
        (broken, _) => format!("the audit finds broken: {}", broken.join(", ")),
    };
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let applied = if mode == PolicyModeArg::Warn { "only warned" } else { "enforced" };
    let authority =
        rules.iter().find(|rule| rule.rule == AUTHORIZATION).map_or("", |rule| rule.reason.as_str());
    format!("{} {applied}: {denied}; {verdict}; {authority}", Shown::whole(&name))
}

/// Returns how many actions of a run that only warned would have been denied, and by which rules.
fn would_be_denied(run: &Run) -> String {
    let mut rules: Vec<(String, u64)> = Vec::new();
    for event in run.events().filter(|event| event.kind() == Some(EventType::PolicyEvaluated)) {
        let Some(decision) = event.payload().value().map(PolicyEvaluatedView::read) else { continue };
        if decision.decision.word() != Some(PolicyDecision::Deny) {
            continue;
        }
        let rule = decision.rule.text().ok().flatten().unwrap_or_default().into_owned();
        match rules.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, count)) => *count += 1,
            None => rules.push((rule, 1)),
        }
    }
    if rules.is_empty() {
        return "nothing would have been".to_owned();
    }
    let total = quantity::count(rules.iter().map(|(_, count)| count).sum(), "action");
    let by: Vec<String> = rules
        .iter()
        .map(|(rule, count)| format!("{} {}", Shown::new(rule), quantity::grouped(*count)))
        .collect();
    format!("{total} would have been, by {}", by.join(", "))
}

/// Returns a line on requests without an answer and answers that broke off, with the first error of the run;
/// `None` if there are neither. The agent's result may be worthless then.
fn unanswered_summary(run: &Run) -> Option<String> {
    let (mut unanswered, mut cut) = (0, 0);
    for answer in run.exchanges().filter_map(|exchange| exchange.answer().ok()) {
        match answer.status {
            None => unanswered += 1,
            Some(_) if !answer.complete => cut += 1,
            Some(_) => {}
        }
    }
    let mut problems = Vec::new();
    if unanswered > 0 {
        problems.push(format!("{} got no answer", quantity::count(unanswered, "request")));
    }
    if cut > 0 {
        problems.push(format!("{} broke off", quantity::count(cut, "answer")));
    }
    if problems.is_empty() {
        return None;
    }
    let error = run.events().find(|event| event.kind() == Some(EventType::ErrorRaised));
    let why = error.and_then(|error| error.payload().value()?.member("message")?.string());
    let why = why.map(|why| format!(": {}", Shown::whole(&why))).unwrap_or_default();
    Some(format!("{}{why}", problems.join(", ")))
}

/// Returns the status and the reason of a run whose agent ended so.
fn run_status(exit: Exit) -> (RunStatus, String) {
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

/// Returns a command as one would type it into a shell; `CMD` if it is empty or longer than 60 characters.
pub(super) fn command_line(command: &[String]) -> String {
    let line = command.iter().map(|argument| shell_quoted(argument)).collect::<Vec<_>>().join(" ");
    if command.is_empty() || line.chars().count() > 60 { "CMD".into() } else { line }
}

/// Returns a word for a shell's command line, in single quotes if it needs them.
pub(super) fn shell_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", Shown::whole(text).to_string().replace('\'', "'\\''"))
}

/// Converts an error into a message with exit code 2.
fn impossible(error: impl std::fmt::Display) -> CommandError {
    CommandError::impossible(error.to_string())
}
