//! What a run began with, beside its command and its envelope: machine, folders, agent and repository.
//!
//! All of that goes into the first event, `rer.run.started`. Start reading at `RunStartedEvent`.

use std::path::Path;

use reenact_formats::rer::envelope::permission::EnvelopeEnforcement;
use reenact_formats::rer::payload::{
    Agent, AgentLogin, CaptureMode, Environment, EventSource, ForkMode, ObserverEffect, PAYLOADS_VERSION,
    ParentRun, RedactionPack, RunStarted, WorkTree,
};
use reenact_json::Digest;

use crate::mask::{MaskedText, Masks};
use crate::payload::MaskedPayloadWriter;
use crate::policy_engine::PolicyMode;
use crate::start::{RunStart, SealableEnvelope};

/// Folders that the command of a run finds; each is recorded, masked. `None` for one that is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunPlaces<'a> {
    /// Working folder of the command.
    pub folder: Option<&'a Path>,
    /// Home folder of the user.
    pub home: Option<&'a Path>,
    /// Folder for temporary files.
    pub temp: Option<&'a Path>,
}

/// Agent that a command is known to be. Secrets in the texts are masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedAgent<'a> {
    /// Name of the agent, such as `claude`.
    pub name: &'a str,
    /// Version of the agent, if it is known.
    pub version: Option<&'a str>,
    /// Way in which the agent proves who its user is.
    pub login: AgentLogin,
}

/// Setting that was given to an agent, and the reason: one entry of `observer` in the first event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentSetting<'a> {
    /// Variable, argument or setting, without the address of the gateway, which differs from run to run.
    pub set: &'a str,
    /// Reason for it, and what it changes in the agent.
    pub why: &'a str,
}

/// State of the repository that the working folder is in, when the run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepositoryState<'a> {
    /// Commit that is checked out, in hexadecimal; `None` before the first one.
    pub commit: Option<&'a str>,
    /// True if nothing differs from the commit; `None` if that could not be seen.
    pub is_clean: Option<bool>,
}

/// Run that another one goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedParent<'a> {
    /// Id of the run.
    pub run_id: &'a str,
    /// Digest of the signed content of its record, if the format has one.
    pub digest: Option<Digest>,
    /// Step of the run behind which it need not be followed.
    pub step_id: &'a str,
    /// Way in which the new run goes on.
    pub mode: ForkMode,
}

/// Values of a run's first event, `rer.run.started`, masked.
pub(crate) struct RunStartedEvent {
    command: Vec<MaskedText>,
    enforcement: &'static str,
    envelope_hash: Digest,
    pack: MaskedText,
    pack_digest: Digest,
    folder: Option<MaskedText>,
    home: Option<MaskedText>,
    temp: Option<MaskedText>,
    agent: Option<MaskedAgent>,
    settings: Vec<(MaskedText, MaskedText)>,
    capture: CaptureMode,
    repository: Option<(Option<MaskedText>, Option<bool>)>,
    parent: Option<MaskedParent>,
}

/// Agent of a run, masked.
struct MaskedAgent {
    name: MaskedText,
    version: Option<MaskedText>,
    login: AgentLogin,
}

/// Parent of a run, masked.
struct MaskedParent {
    run_id: MaskedText,
    digest: Option<Digest>,
    step_id: MaskedText,
    mode: ForkMode,
}

impl RunStartedEvent {
    /// Masks the parameters of a run. Its command is masked first: secrets in it are known from then on.
    pub(crate) fn new(start: &RunStart<'_>, envelope: &SealableEnvelope, masks: &Masks) -> Self {
        let command = masks.command(start.command);
        let place = |path: Option<&Path>| path.map(|path| masks.os_text(path.as_os_str()));
        let RunPlaces { folder, home, temp } = start.places;
        Self {
            command,
            folder: place(folder),
            home: place(home),
            temp: place(temp),
            agent: start.agent.map(|agent| MaskedAgent {
                name: masks.text(agent.name),
                version: agent.version.map(|version| masks.text(version)),
                login: agent.login,
            }),
            settings: start
                .settings
                .iter()
                .map(|setting| (masks.text(setting.set), masks.text(setting.why)))
                .collect(),
            capture: start.capture,
            repository: start
                .repository
                .map(|found| (found.commit.map(|commit| masks.text(commit)), found.is_clean)),
            parent: start.parent.map(|parent| MaskedParent {
                run_id: masks.text(parent.run_id),
                digest: parent.digest,
                step_id: masks.text(parent.step_id),
                mode: parent.mode,
            }),
            ..Self::recovered(envelope, start.policy_mode, masks)
        }
    }

    /// Returns the first event of a run whose journal has none: what the journal's first line holds.
    pub(crate) fn recovered(envelope: &SealableEnvelope, mode: PolicyMode, masks: &Masks) -> Self {
        Self {
            command: Vec::new(),
            enforcement: match envelope.permissions.enforcement {
                EnvelopeEnforcement::Enforced => mode.name(),
                EnvelopeEnforcement::Observed => "observe",
                EnvelopeEnforcement::Imported => "imported",
            },
            envelope_hash: envelope.hash,
            pack: masks.text(masks.pack().name()),
            pack_digest: Digest::of(masks.pack().rules_text().as_bytes()),
            folder: None,
            home: None,
            temp: None,
            agent: None,
            settings: Vec::new(),
            capture: CaptureMode::Cooperative,
            repository: None,
            parent: None,
        }
    }

    /// Writes the payload.
    pub(crate) fn write(&self, payload: &mut MaskedPayloadWriter<'_>) {
        let environment = Environment {
            arch: std::env::consts::ARCH,
            folder: self.folder.as_ref(),
            home: self.home.as_ref(),
            os: std::env::consts::OS,
            reenact: env!("CARGO_PKG_VERSION"),
            runtimes: Vec::new(),
            temp: self.temp.as_ref(),
        };
        let observer: Vec<_> = self.settings.iter().map(|(set, why)| ObserverEffect { set, why }).collect();
        let agent = self.agent.as_ref().map(|agent| Agent {
            login: agent.login,
            name: &agent.name,
            version: agent.version.as_ref(),
        });
        let files = self
            .repository
            .as_ref()
            .map(|(commit, clean)| WorkTree { clean: *clean, commit: commit.as_ref() });
        let parent = self.parent.as_ref().map(|parent| ParentRun {
            digest: parent.digest,
            mode: parent.mode,
            run_id: &parent.run_id,
            step_id: &parent.step_id,
        });
        let started = RunStarted {
            agent,
            capture: Some(self.capture),
            command: Some(self.command.iter().collect()).filter(|command: &Vec<_>| !command.is_empty()),
            enforcement: self.enforcement,
            envelope_hash: self.envelope_hash,
            environment,
            files,
            import: None,
            observer: Some(observer).filter(|observer| !observer.is_empty()),
            parent,
            payloads: Some(PAYLOADS_VERSION),
            redaction: RedactionPack { digest: self.pack_digest, pack: &self.pack },
            runtime_version: env!("CARGO_PKG_VERSION"),
            source: EventSource::Observed,
        };
        started.write(payload);
    }
}
