//! `reenact replay RUN --live`, `--from STEP` and `--edit STEP=FILE`: the agent runs again on the recorded answers, one of which may be
//! replaced, and all of it is recorded as a new signed run that names its parent. With the first two, requests that the record does not
//! answer go to their vendors.
//!
//! Real credentials reach the agent only here, and only those of the vendors that the recorded run called. The address of a vendor comes
//! from the record of one of our own runs; a record from elsewhere could name any address, so that its addresses count only where they are
//! those that would be used now, or are given. Start reading at `ReplayArgs::run_fork`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use reenact_gateway::{
    ForkReply, ForkSource, GatewayLimits, GatewayToken, NetworkEnvironment, RecordingConfig, ServedReply,
    ServedRequest, VendorRoute,
};
use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_record::{Durability, EventWriter, ForkMode, PolicyMode, RecordedParent};
use reenact_replay::{MatchLevel, Player, PlayerRequest, ReplayOutcome};
use reenact_run::timeline::StepAction;
use reenact_run::{Exit, Run, Timeline};
use reenact_wire::price::PriceTable;

use super::answers::served_reply;
use super::refusal::{self, ReplayRefusal};
use super::{ReplayArgs, ReplaySetup, called_routes, recorded_command, recorded_routes, surroundings};
use crate::agent::PlannedAgent;
use crate::command::record::{self, FinishedAgent, RecordingKey, RunBeginning, SealedRun};
use crate::command::show;
use crate::output::{self, CommandError};
use crate::runs::OpenedRun;
use crate::runs::run_name::short_id;
use crate::upstreams::{self, UpstreamArg};
use crate::vendors::KeptCredentials;
use crate::{child, quantity, runtime, settings, vendors};

/// Options by which a replay goes on from its record.
#[derive(clap::Args)]
pub(super) struct ForkArgs {
    /// Let requests that the record does not answer go to their vendors, with your keys, and record all of it as a new run
    #[arg(long, conflicts_with_all = ["from", "pass_exit", "pace", "accept"])]
    live: bool,

    /// Give recorded answers up to this step, let every later request go to its vendor, and record all of it as a new run
    #[arg(long, value_name = "STEP", conflicts_with_all = ["bundle", "pass_exit", "pace", "accept"])]
    from: Option<String>,

    /// Give the content of a file in place of the recorded answer of a step, and record all of it as a new run: a whole body in the
    /// vendor's shape, or plain text, which becomes the message. With --live or --from what then follows goes to the vendor
    #[arg(long, value_name = "STEP=FILE", conflicts_with_all = ["bundle", "pass_exit", "pace", "accept"], value_parser = step_edit)]
    edit: Vec<StepEdit>,

    /// With --live or --from: where a vendor's requests go now, such as openai=URL, if not where the record says. May be given more than
    /// once
    #[arg(long, value_name = "NAME=URL", value_parser = upstreams::upstream)]
    upstream: Vec<UpstreamArg>,
}

/// Value of `--edit STEP=FILE`.
#[derive(Debug, Clone)]
struct StepEdit {
    step: String,
    file: PathBuf,
}

/// Parses `STEP=FILE`, for clap.
fn step_edit(text: &str) -> Result<StepEdit, &'static str> {
    match text.split_once('=') {
        Some((step, file)) if !step.is_empty() && !file.is_empty() => {
            Ok(StepEdit { step: step.to_owned(), file: file.into() })
        }
        _ => Err("write it as STEP=FILE, such as s3=answer.txt"),
    }
}

/// Longest file of `--edit`, in bytes: 64 MiB.
const MAX_EDIT_BYTES: u64 = 64 << 20;

/// Way in which a run goes on from its record, with the step that its own record names.
struct ForkPoint {
    mode: ForkMode,
    /// Step of the parent: the last one that may be answered from its record, or the one whose answer is replaced. Untrusted text.
    step_id: String,
}

/// End of a run that went on from its record.
pub(super) struct ForkEnd {
    /// Exit code of this program.
    pub(super) code: u8,
    /// Exit of the command.
    pub(super) exit: Exit,
    /// Answers that were given from the record.
    pub(super) outcome: ReplayOutcome,
}

/// Everything that a run which goes on from another one needs beside the replay.
pub(super) struct ForkSetup {
    /// Settings of the recording gateway, until it starts.
    recording: Mutex<Option<RecordingConfig>>,
    /// Writer of the new run's events.
    pub(super) writer: EventWriter,
    /// Credentials that the agent keeps.
    pub(super) kept: KeptCredentials,
}

impl ForkSetup {
    /// Takes the settings of the recording gateway; `None` if a gateway was started before.
    pub(super) fn take_recording(&self) -> Option<RecordingConfig> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Adapter from the gateway's requests to a [`Player`], for a run that goes on from its record.
pub(super) struct ForkAnswers {
    player: Arc<Player>,
    /// Names of the routes whose requests may go to their vendors.
    live: BTreeSet<String>,
}

impl fmt::Debug for ForkAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForkAnswers").field("live", &self.live).finish_non_exhaustive()
    }
}

impl ForkSource for ForkAnswers {
    fn answer(&self, request: &ServedRequest<'_>) -> ForkReply {
        let ServedRequest { provider, method, path, headers, body } = *request;
        match self.player.fork_answer(&PlayerRequest { provider, method, path, headers, body }) {
            Some(reply) => ForkReply::Served(served_reply(reply)),
            None if self.live.contains(provider) => ForkReply::Vendor,
            None => ForkReply::Served(ServedReply::Missing {
                code: refusal::UPSTREAM_NOT_RECORDED,
                message: format!(
                    "the recorded run sent nothing to {provider}, so that nothing is sent there now; to allow it: --upstream {provider}=URL"
                ),
            }),
        }
    }
}

impl ForkArgs {
    /// Returns true if the replay goes on from its record.
    pub(super) fn is_asked(&self) -> bool {
        self.goes_live() || !self.edit.is_empty()
    }

    /// Returns true if requests may go to their vendors.
    fn goes_live(&self) -> bool {
        self.live || self.from.is_some()
    }

    /// Returns the point at which a run goes on from its record, and the player that serves its answers up to there.
    ///
    /// # Errors
    ///
    /// If an option names no step with a request and an answer, or the file of `--edit` cannot be given in place of its answer.
    fn apply(&self, run: &Run, player: Player) -> Result<(ForkPoint, Player), CommandError> {
        let (point, player) = match self.goes_live() {
            true => {
                let (point, player) = self.apply_live(run, player)?;
                (Some(point), player)
            }
            false => (None, player),
        };
        let Some(StepEdit { step, file }) = self.edit.first() else {
            return point
                .map(|point| (point, player))
                .ok_or_else(|| CommandError::impossible("there is nothing to go on with"));
        };
        let name = file.to_string_lossy();
        let option = format!("--edit {}={}", Shown::new(step), Shown::whole(&name));
        let step_id = step_of_exchange(run, step)?;
        if let Some(other) = self.edit.get(1) {
            let why = match step_of_exchange(run, &other.step)? == step_id {
                true => format!("step {} is edited twice", Shown::new(&step_id)),
                false => "one answer is edited at a time: go on from the new run to edit another".to_owned(),
            };
            return Err(CommandError::impossible(format!("{option}: {why}")));
        }
        let refused = |why: &dyn fmt::Display| CommandError::impossible(format!("{option}: {why}"));
        let content = read_edit(file).map_err(|error| refused(&error))?;
        let player = player.with_edit(&step_id, &content).map_err(|error| refused(&error))?;
        Ok((ForkPoint { mode: ForkMode::Edit, step_id }, player))
    }

    /// Returns the point of `--live` or `--from`, and the player that lets requests out from there.
    fn apply_live(&self, run: &Run, player: Player) -> Result<(ForkPoint, Player), CommandError> {
        let refused = |step: &str, why: &dyn fmt::Display| {
            CommandError::impossible(format!("--from {}: {why}", Shown::new(step)))
        };
        let Some(step) = &self.from else {
            let last = run.exchanges().last().map(|exchange| exchange.step_id().into_owned());
            let player =
                player.going_live(None).map_err(|error| CommandError::impossible(error.to_string()))?;
            return Ok((ForkPoint { mode: ForkMode::Live, step_id: last.unwrap_or_default() }, player));
        };
        let step_id = step_of_exchange(run, step)?;
        let player = player.going_live(Some(&step_id)).map_err(|error| refused(step, &error))?;
        Ok((ForkPoint { mode: ForkMode::From, step_id }, player))
    }

    /// Returns the last level at which requests are found: where they may go to a vendor instead, other results of tools do not count
    /// as the same request.
    fn last_level(&self) -> Option<MatchLevel> {
        self.goes_live().then_some(MatchLevel::Moved)
    }

    /// Checks that `--upstream` is given with an option that lets requests out.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub(super) fn check(&self) -> Result<(), CommandError> {
        match self.upstream.is_empty() || self.goes_live() {
            true => Ok(()),
            false => Err(CommandError::impossible(
                "--upstream has a meaning only with --live or --from: a replay sends nothing anywhere",
            )),
        }
    }

    /// Returns the routes of the new run, and the names of those whose requests may go to their vendors.
    ///
    /// # Errors
    ///
    /// If a record from elsewhere names another address than the one that would be used now.
    fn routes(
        &self,
        found: &OpenedRun,
        name: &str,
    ) -> Result<(Vec<VendorRoute>, BTreeSet<String>), CommandError> {
        let mut routes = recorded_routes(&found.run)?;
        if !self.goes_live() {
            return Ok((routes, BTreeSet::new()));
        }
        let mut live = called_routes(&found.run);
        let given: BTreeSet<String> = self.upstream.iter().map(|given| given.route_and_url().0).collect();
        if !recorded_command::is_own(found)? {
            let now = upstreams::routes(&[], |variable| std::env::var_os(variable))?;
            let is_trusted = |route: &VendorRoute| {
                given.contains(&route.name)
                    || now.iter().any(|now| now.name == route.name && now.upstream == route.upstream)
            };
            if let Some(route) = routes.iter().find(|route| live.contains(&route.name) && !is_trusted(route))
            {
                let url = route.upstream.to_string();
                return Err(CommandError::impossible(format!(
                    "{name}: this is not one of your own runs, and it names {} for {}: your key is not sent there unless you say so, with --upstream {}=URL",
                    Shown::whole(&url),
                    Shown::new(&route.name),
                    Shown::new(&route.name)
                )));
            }
            routes.retain(|route| is_trusted(route));
        }
        upstreams::redirect(&mut routes, &self.upstream);
        live.extend(given);
        // A record from elsewhere may say that it called anything: what has no route is no vendor, and has no key.
        live.retain(|name| routes.iter().any(|route| route.name == *name));
        Ok((routes, live))
    }
}

/// Returns the id of the step with a request that a name or a number means.
///
/// # Errors
///
/// If there is no such step, or it is no request to a model or another server.
fn step_of_exchange(run: &Run, name: &str) -> Result<String, CommandError> {
    let timeline = Timeline::of(run);
    let step = show::find_step(&timeline, name)?;
    match &step.action {
        StepAction::Model(exchange) | StepAction::Http(exchange) => Ok(exchange.step_id().into_owned()),
        StepAction::Tool(_) | StepAction::Other(_) => Err(CommandError::impossible(format!(
            "step {} is no request: give the step of one, as `reenact show` prints it",
            Shown::new(name)
        ))),
    }
}

impl ReplayArgs {
    /// Runs a command on the answers of a run and on, records it as a new run, and returns how that ended. `name` is printable.
    ///
    /// # Errors
    ///
    /// Before the command starts: if the project has an envelope, which would not be enforced, or as a replay. Afterwards: if the new run
    /// cannot be sealed.
    pub(super) fn run_fork(
        &self,
        found: &OpenedRun,
        name: &str,
        command: Vec<OsString>,
    ) -> Result<ForkEnd, CommandError> {
        let run = &found.run;
        let settings::ProjectSettings { redaction, replay: project, envelope, .. } =
            settings::load_current()?;
        if envelope.is_some() {
            let refusal = ReplayRefusal {
                code: refusal::NOT_ENFORCED,
                reason: "the envelope in reenact.toml is not enforced in a run that goes on from another one"
                    .to_owned(),
                advice: vec![
                    "replay without --live, --from and --edit, or record anew: reenact record CMD".to_owned(),
                ],
            };
            return Err(refusal.into_error(self.json));
        }
        if run
            .started()
            .and_then(|started| started.member("enforcement"))
            .is_some_and(|word| word.is_string("enforce"))
        {
            output::print_notice(
                "the recorded run was held to an envelope; the one that goes on from it is not",
            );
        }
        let recorded_agent = run.surroundings().agent.map(|agent| agent.name.into_owned());
        let options =
            self.matching.options(project, recorded_agent.as_deref(), &command, self.fork.last_level())?;
        let player = self.load_player(run, name, redaction.pack())?;
        let (point, player) = self.fork.apply(run, player)?;
        let (routes, live) = self.fork.routes(found, name)?;
        if self.fork.goes_live() && surroundings::has_masked_answers(run) {
            output::print_notice(
                "answers of the record have masks in place of secrets: where the agent repeats them, its vendor gets the masks",
            );
        }
        let agent = PlannedAgent::of_fork(run.surroundings().agent.as_ref(), &command, &routes)?;
        // Without a live vendor, no login is needed.
        let logins = if live.is_empty() { BTreeSet::new() } else { agent.login_variables()? };
        let kept = KeptCredentials::new(live.clone(), logins);
        let token = GatewayToken::generate().map_err(|error| CommandError::impossible(error.to_string()))?;
        let player = Arc::new(player.with_options(options));
        let signing = RecordingKey::load(None)?;
        let inherited: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let (recorder, log) = RunBeginning {
            agent: &agent,
            command: &command,
            environment: &masked_environment(&inherited, &kept),
            envelope: None,
            policy_mode: PolicyMode::Enforce,
            redaction: &redaction,
            target: None,
            signing: &signing,
            parent: Some(RecordedParent {
                run_id: run.id(),
                digest: run.digest(),
                step_id: &point.step_id,
                mode: point.mode,
            }),
        }
        .begin()?;
        let writer = recorder.event_writer();
        // An agent may quote its gateway's address, which is good for as long as the agent runs.
        writer.add_secret(token.as_str().as_bytes());
        let recording = RecordingConfig {
            writer: writer.clone(),
            log,
            policy: None,
            durability: Durability::Process,
            routes: routes.clone(),
            environment: NetworkEnvironment::from_process(),
            limits: GatewayLimits::default(),
            fork: Some(Arc::new(ForkAnswers { player: Arc::clone(&player), live: live.clone() })),
        };
        let setup = ReplaySetup {
            agent,
            command,
            routes,
            called: called_routes(run),
            token,
            player: Arc::clone(&player),
            known_env: redaction.known_env.clone(),
            seeds: self.seeds(run),
            hashes_output: true,
            #[cfg(unix)]
            input: super::input::ReplayedInput::of(run),
            fork: Some(ForkSetup { recording: Mutex::new(Some(recording)), writer, kept }),
        };
        let files = record::folder_snapshot(&inherited, None);
        let started = Instant::now();
        let ran = setup.record_input().and_then(|()| runtime::new()?.block_on(self.run_agent(setup)));
        let ended = match ran {
            Ok(ended) => ended,
            Err(error) => {
                record::discard(recorder);
                return Err(error);
            }
        };
        let finished = FinishedAgent {
            exit: ended.exit,
            duration: started.elapsed(),
            recording_error: ended.unrecorded,
            notes: Vec::new(),
            stdout_sha256: ended.stdout_sha256,
        };
        let files = files.and_then(|before| before.changes());
        let sealed = record::seal(recorder, &finished, files, &signing, None, false)?;
        // Some formats have no ids of runs.
        let parent = if run.id().is_empty() { name.to_owned() } else { Shown::new(run.id()).to_string() };
        let code = self.report_fork(&player, &point, &parent, &finished, &sealed)?;
        Ok(ForkEnd { code, exit: finished.exit, outcome: player.outcome() })
    }

    /// Prints the summary of a run that went on from another one, and returns the exit code. `parent` is printable.
    fn report_fork(
        &self,
        player: &Player,
        point: &ForkPoint,
        parent: &str,
        finished: &FinishedAgent,
        sealed: &SealedRun,
    ) -> Result<u8, CommandError> {
        let outcome = player.outcome();
        if let Some(unrecorded) = &finished.recording_error {
            output::print_notice(unrecorded);
        }
        self.print_misses(&outcome);
        let summary = sealed.opened.run.as_ref().map(Run::summary).unwrap_or_default();
        let calls = summary.model_calls + summary.http_calls;
        let live = calls.saturating_sub(summary.from_record);
        if self.json {
            let mut text = String::new();
            let mut object = PrintObjectWriter::open(&mut text);
            object.string("out", sealed.artifact.path.to_string_lossy().as_ref());
            object.name("live").push_str(&live.to_string());
            object.name("missed").push_str(&outcome.missed.to_string());
            if let Ok(run) = &sealed.opened.run {
                show::json::write_facts(run, &sealed.opened.report, &PriceTable::list_prices(), &mut object);
            }
            object.close();
            output::print(&(text + "\n"))?;
        } else {
            let cost = quantity::run_cost(&summary).map(|cost| format!(", {cost}")).unwrap_or_default();
            output::print_notice(&format!(
                "{} from the record, {} live{cost}, {} ({}); no policy was set → {}",
                quantity::count(summary.from_record as u64, "answer"),
                quantity::count(live as u64, "call"),
                quantity::duration(finished.duration),
                finished.exit,
                short_id(sealed.artifact.run_id)
            ));
            output::print_notice(&format!(
                "its parent is {parent} ({} step {}); next: reenact show last, reenact runs tree last",
                show::fork_words(Some(point.mode)),
                Shown::new(&point.step_id)
            ));
        }
        Ok(match (outcome.missed, &finished.recording_error) {
            (1.., _) => {
                output::print_notice(&format!(
                    "{} with no recorded answer (E_REPLAY_MISSING_DEPENDENCY){}",
                    quantity::count(outcome.missed as u64, "request"),
                    if self.fork.goes_live() {
                        " before the run went on"
                    } else {
                        "; with --live they go to their vendors"
                    }
                ));
                2
            }
            (0, Some(_)) => record::EXIT_RECORDING_FAILED,
            (0, None) => child::shell_exit_code(finished.exit),
        })
    }
}

/// Reads the file of `--edit`.
fn read_edit(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(file)?.take(MAX_EDIT_BYTES + 1).read_to_end(&mut content)?;
    match content.len() as u64 > MAX_EDIT_BYTES {
        true => Err(std::io::ErrorKind::FileTooLarge.into()),
        false => Ok(content),
    }
}

impl ReplaySetup {
    /// Records the input that the agent is given, and that an input of ours is not recorded.
    #[cfg(unix)]
    fn record_input(&self) -> Result<(), CommandError> {
        let Some(fork) = &self.fork else { return Ok(()) };
        let written = match &self.input {
            Some(input) => fork.writer.record_stdin(input.bytes(), true),
            None if crate::stdio::is_piped_in() => fork.writer.record_gap(
                "standard input",
                "it was passed on, and is not recorded where a run goes on from another one",
            ),
            None => Ok(()),
        };
        written.map_err(|error| CommandError::impossible(error.to_string()))
    }

    #[cfg(not(unix))]
    fn record_input(&self) -> Result<(), CommandError> {
        Ok(())
    }
}

/// Returns the environment whose secrets are masked in the new run: our own, and the dummies that the agent gets.
fn masked_environment(
    inherited: &[(OsString, OsString)],
    kept: &KeptCredentials,
) -> Vec<(OsString, OsString)> {
    let mut dummies = inherited.to_vec();
    vendors::replace_credentials(&mut dummies, |vendor| kept.is_live(vendor), kept);
    let new = dummies.into_iter().filter(|pair| !inherited.contains(pair));
    inherited.iter().cloned().chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_their_files() {
        let edit = |text: &str| step_edit(text).map(|edit| (edit.step, edit.file));
        assert_eq!(edit("s3=a=b.txt"), Ok(("s3".into(), "a=b.txt".into())));
        for text in ["s3", "=a", "s3=", ""] {
            assert_eq!(edit(text), Err("write it as STEP=FILE, such as s3=answer.txt"), "{text}");
        }
    }
}
