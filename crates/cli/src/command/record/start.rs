//! The start of a recording: what it needs is loaded and checked, and then the run is begun.
//!
//! Whatever can fail does so in [`Preparation::load`]: a run that has begun would stay behind unsealed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use reenact_formats::rer::approval::Approver;
use reenact_gateway::{EnforcedPolicy, GatewayLimits, NetworkEnvironment, RecordingConfig};
use reenact_keys::KeyName;
use reenact_record::approval::ApprovalQueue;
use reenact_record::recorder::Recording;
use reenact_record::wal::{self, Wal, WalDir};
use reenact_record::{
    AgentSetting, ArtifactTarget, PolicyMode, RecordedParent, Recorder, Redaction, RepositoryState, RunId,
    RunPlaces, RunStart,
};
use reenact_wire::price::PriceTable;

use super::options::{PolicyModeArg, RecordArgs};
use super::out_path::OutPath;
use super::signing::RecordingKey;
use super::{approvers, authority, impossible};
use crate::agent::{PlannedAgent, overlay};
use crate::config::UserConfig;
use crate::envelope::{self, UnsignedEnvelope};
use crate::output::CommandError;
use crate::work_folder::{self, FolderSnapshot, NotSeen};
use crate::{prices, runs, settings};

/// Everything that a recording needs, loaded and checked.
pub(super) struct Preparation {
    /// Key that signs the run.
    pub(super) signing: RecordingKey,
    /// What models cost.
    pub(super) prices: PriceTable,
    /// File of the envelope; `None` if none is enforced.
    pub(super) envelope_file: Option<PathBuf>,
    envelope: Option<UnsignedEnvelope>,
    /// Agent that the command starts, and the routes of its requests.
    pub(super) agent: PlannedAgent,
    redaction: Redaction,
    approvers: Vec<(KeyName, Approver)>,
}

impl Preparation {
    /// Loads settings, envelope, prices and keys, and names approvers who are new. Nothing has been written yet.
    pub(super) fn load(options: &RecordArgs) -> Result<Self, CommandError> {
        let agent = PlannedAgent::new(&options.agent, &options.command, &options.upstream)?;
        if let Some(out) = &options.out {
            out.require_writable(options.force)?;
        }
        options.replay_bundle.require_writable(options.out.as_ref())?;
        if let Some(emit) = &options.emit {
            emit.require_free()?;
            if options.out.as_ref().is_some_and(|out| out.path == emit.folder) {
                return Err(CommandError::impossible("--out and --emit name the same folder; give two"));
            }
        }
        let settings = settings::load_current()?;
        // The option beats the project's settings.
        let (envelope, from) = match &options.envelope {
            Some(file) => (Some(envelope::load(file)?), Some(file.clone())),
            None => (settings.envelope, settings.file),
        };
        let envelope_file = from.filter(|_| envelope.is_some());
        if envelope_file.is_none() && options.policy_mode == PolicyModeArg::Warn {
            return Err(CommandError::impossible(
                "there is no envelope to warn by; give one with --envelope FILE",
            ));
        }
        let prices = options.prices.as_deref().map_or_else(|| Ok(PriceTable::list_prices()), prices::load)?;
        // Where there is no home at all there is no place for a key either; the place for runs is the one to be named.
        runs::run_store()?;
        let mut signing = RecordingKey::load(options.key.as_ref())?;
        authority::add_keys(envelope.as_ref(), &mut signing.known)?;
        let config = UserConfig::require()?;
        let approvers = config.approvers()?;
        if let (Some(envelope), Some(file)) = (&envelope, &envelope_file) {
            authority::check(envelope, file, &signing, crate::command::policy::now())?;
            approvers::check(envelope, file, options.policy_mode, &approvers)?;
            if options.policy_mode == PolicyModeArg::Enforce {
                approvers::announce(&envelope.envelope, &config, &approvers);
            }
        }
        let redaction = settings.redaction;
        Ok(Self { signing, prices, envelope_file, envelope, agent, redaction, approvers })
    }

    /// Begins the run: its folder, its journal, and its log in memory. Returns the recorder, and what the gateway needs to
    /// record.
    pub(super) fn begin(
        &self,
        options: &RecordArgs,
        environment: &[(OsString, OsString)],
    ) -> Result<(Recorder<Recording>, RecordingConfig), CommandError> {
        let (recorder, log) = RunBeginning {
            agent: &self.agent,
            command: &options.command,
            environment,
            envelope: self.envelope.as_ref().map(|loaded| loaded.json.as_slice()),
            policy_mode: options.policy_mode.into(),
            redaction: &self.redaction,
            target: options
                .out
                .as_ref()
                .and_then(OutPath::artifact)
                .map(|path| ArtifactTarget { path: path.to_owned(), replace: options.force }),
            signing: &self.signing,
            parent: None,
        }
        .begin()?;
        let approvers = self.approvers.iter().map(|(_, approver)| *approver).collect();
        let approvals =
            ApprovalQueue::new(recorder.folder(), recorder.run_id(), approvers, options.approval_timeout);
        let policy = recorder.policy_engine().map(|engine| EnforcedPolicy {
            engine,
            prices: self.prices.clone(),
            approvals,
        });
        let recording = RecordingConfig {
            fork: None,
            writer: recorder.event_writer(),
            log,
            policy,
            durability: options.durability.into(),
            routes: self.agent.routes().to_vec(),
            environment: NetworkEnvironment::from_process(),
            limits: GatewayLimits::default(),
        };
        Ok((recorder, recording))
    }
}

/// Parameters of a run that begins, whoever answers its requests.
pub(in crate::command) struct RunBeginning<'b> {
    /// Agent of the command, with the routes of its requests.
    pub(in crate::command) agent: &'b PlannedAgent,
    pub(in crate::command) command: &'b [OsString],
    /// Environment whose secrets are masked.
    pub(in crate::command) environment: &'b [(OsString, OsString)],
    /// Envelope as JSON; `None` to record without restrictions.
    pub(in crate::command) envelope: Option<&'b [u8]>,
    pub(in crate::command) policy_mode: PolicyMode,
    pub(in crate::command) redaction: &'b Redaction,
    /// Place of the artifact; `None` for the state folder.
    pub(in crate::command) target: Option<ArtifactTarget>,
    pub(in crate::command) signing: &'b RecordingKey,
    /// Run that this one goes on from.
    pub(in crate::command) parent: Option<RecordedParent<'b>>,
}

impl RunBeginning<'_> {
    /// Begins the run: its folder, its journal, and its log in memory.
    pub(in crate::command) fn begin(self) -> Result<(Recorder<Recording>, Option<Wal>), CommandError> {
        let upstreams: Vec<(String, String)> = self
            .agent
            .routes()
            .iter()
            .map(|route| (route.name.clone(), route.upstream.to_string()))
            .collect();
        let upstreams: Vec<(&str, &str)> =
            upstreams.iter().map(|(name, url)| (name.as_str(), url.as_str())).collect();
        let folder = std::env::current_dir().ok();
        let repository = folder.as_deref().and_then(work_folder::repository);
        let variable =
            |name: &str| self.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let home = variable("HOME").filter(|home| !home.is_empty()).map(Path::new);
        let temp = std::env::temp_dir();
        let observer = self.agent.observer();
        let settings: Vec<AgentSetting<'_>> =
            observer.iter().map(|note| AgentSetting { set: &note.set, why: &note.why }).collect();
        let start = RunStart {
            agent: self.agent.recorded(),
            settings: &settings,
            repository: repository
                .as_ref()
                .map(|found| RepositoryState { commit: found.commit.as_deref(), is_clean: found.is_clean }),
            places: RunPlaces { folder: folder.as_deref(), home, temp: Some(&temp) },
            command: self.command,
            environment: self.environment,
            upstreams: &upstreams,
            envelope: self.envelope,
            policy_mode: self.policy_mode,
            redaction: self.redaction.clone(),
            target: self.target,
            parent: self.parent,
            ..RunStart::new(RunId::generate().map_err(impossible)?)
        };
        let store = runs::writable_run_store()?;
        let recorder = Recorder::builder(&store, &self.signing.key).begin(&start).map_err(impossible)?;
        // Logs and overlay files hold secrets: those that a killed recorder or recovery left behind do not stay.
        wal::remove_orphans(&store);
        overlay::remove_leftovers(&store);
        // Without memory-backed storage for the log, requests and the ends of answers wait until the journal has them.
        let log =
            WalDir::find().and_then(|dir| recorder.event_writer().create_wal(&dir, recorder.run_id()).ok());
        Ok((recorder, log))
    }
}

/// Looks through the working folder, so that the files which change during the run can be told. `emitted` is a file that we write
/// meanwhile.
///
/// # Errors
///
/// If the folder is not to be looked through, such as a home.
pub(in crate::command) fn folder_snapshot(
    environment: &[(OsString, OsString)],
    emitted: Option<&Path>,
) -> Result<FolderSnapshot, NotSeen> {
    let folder = std::env::current_dir().map_err(|_| NotSeen::Unreadable)?;
    let home = environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
    let own = runs::run_store().map_err(|_| NotSeen::Unreadable)?;
    let own: Vec<&Path> = std::iter::once(own.path()).chain(emitted).collect();
    FolderSnapshot::take(&folder, home.filter(|home| !home.as_os_str().is_empty()), &own)
}

/// Removes a run whose agent was not started, and its log.
pub(in crate::command) fn discard(recorder: Recorder<Recording>) {
    let (folder, run_id) = (recorder.folder().to_owned(), recorder.run_id());
    drop(recorder);
    let _ = std::fs::remove_dir_all(folder);
    if let Some(dir) = WalDir::containing(run_id) {
        let _ = wal::remove_run(&dir, run_id);
    }
}
