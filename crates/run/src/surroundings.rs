//! What surrounded the calls of a run: agent, folders, repository, standard input and output, changed files, connections.
//!
//! All of it is the record's own word, and only records of RER hold it. A member that is absent or of another type is `None`,
//! as in records of 0.1.0. Start reading at [`Surroundings`].

use std::borrow::Cow;

use base64ct::{Base64, Encoding};
use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{
    AgentLogin, AgentView, CaptureMode, EnvironmentView, FileChangesView, ForkMode, NetSeenView,
    ObserverEffectView, ParentRunView, PayloadMember, RunEndedView, RunStartedView, StdinReadView,
    WorkTreeView,
};
use reenact_json::Value;

use crate::run::Run;

/// Surroundings of a run, as its first and its last event state them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings<'r> {
    /// Agent that the command was recognised as.
    pub agent: Option<AgentFacts<'r>>,
    /// Settings that the recorder gave to the agent, each with its reason.
    pub observer: Vec<(Cow<'r, str>, Cow<'r, str>)>,
    /// Way in which the calls were captured.
    pub capture: Option<CaptureMode>,
    /// Working folder of the command.
    pub folder: Option<Cow<'r, str>>,
    /// Home folder of the user.
    pub home: Option<Cow<'r, str>>,
    /// Folder for temporary files.
    pub temp: Option<Cow<'r, str>>,
    /// Commit of the repository that the working folder is in.
    pub commit: Option<Cow<'r, str>>,
    /// True if nothing differed from the commit when the run began.
    pub is_clean: Option<bool>,
    /// Files that changed during the run; `None` if the folder was not looked through.
    pub files: Option<FileChangeFacts<'r>>,
    /// Run that this one goes on from.
    pub parent: Option<ParentFacts<'r>>,
    /// SHA-256 of the command's standard output, in hexadecimal.
    pub stdout_sha256: Option<Cow<'r, str>>,
}

/// Agent of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFacts<'r> {
    /// Name of the agent.
    pub name: Cow<'r, str>,
    /// Version of the agent.
    pub version: Option<Cow<'r, str>>,
    /// Way in which the agent logged in.
    pub login: Option<AgentLogin>,
}

/// Run that another one goes on from. All texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentFacts<'r> {
    /// Id of the parent.
    pub run_id: Cow<'r, str>,
    /// Digest of the signed content of the parent's record, in hexadecimal.
    pub digest: Option<Cow<'r, str>>,
    /// Step of the parent behind which it need not be followed.
    pub step_id: Option<Cow<'r, str>>,
    /// Way in which the run goes on; `None` for a word that is not known.
    pub mode: Option<ForkMode>,
}

/// Files that changed during a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChangeFacts<'r> {
    /// Files that were new, each with its SHA-256 in hexadecimal.
    pub added: Vec<(Cow<'r, str>, Cow<'r, str>)>,
    /// Files that had other content, each with its new SHA-256 in hexadecimal.
    pub changed: Vec<(Cow<'r, str>, Cow<'r, str>)>,
    /// Files that were gone.
    pub removed: Vec<Cow<'r, str>>,
    /// Number of changes that are not listed.
    pub more: u64,
}

/// Standard input of a run's command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandardInput<'r> {
    /// Bytes, masked as they were recorded.
    pub bytes: Cow<'r, [u8]>,
    /// True if these are all.
    pub is_complete: bool,
}

impl<'r> Surroundings<'r> {
    /// Reads the surroundings of a run.
    pub(crate) fn of(run: &'r Run) -> Self {
        let mut found = Self::default();
        if let Some(started) = run.started() {
            found.read_started(&RunStartedView::read(started));
        }
        if let Some(ended) = run.ended() {
            let ended = RunEndedView::read(ended);
            found.files = ended.files.value().map(FileChangeFacts::of);
            found.stdout_sha256 = text(ended.stdout_sha256);
        }
        found
    }

    fn read_started(&mut self, started: &RunStartedView<'r>) {
        self.agent = started.agent.value().map(AgentView::read).and_then(|agent| {
            Some(AgentFacts {
                name: text(agent.name)?,
                version: text(agent.version),
                login: agent.login.word(),
            })
        });
        let effect = |effect: Value<'r>| {
            let effect = ObserverEffectView::read(effect);
            Some((text(effect.set)?, text(effect.why)?))
        };
        self.observer = started.observer.list("settings", effect).ok().flatten().unwrap_or_default();
        self.capture = started.capture.word();
        self.parent = started.parent.value().map(ParentRunView::read).and_then(|parent| {
            Some(ParentFacts {
                run_id: text(parent.run_id)?,
                digest: text(parent.digest),
                step_id: text(parent.step_id),
                mode: parent.mode.word(),
            })
        });
        if let Some(places) = started.environment.value().map(EnvironmentView::read) {
            (self.folder, self.home, self.temp) = (text(places.folder), text(places.home), text(places.temp));
        }
        if let Some(files) = started.files.value().map(WorkTreeView::read) {
            (self.commit, self.is_clean) = (text(files.commit), files.clean.flag().ok().flatten());
        }
    }
}

impl<'r> FileChangeFacts<'r> {
    fn of(files: Value<'r>) -> Self {
        let files = FileChangesView::read(files);
        let hashed = |member: PayloadMember<'r>| {
            let file = |file: Value<'r>| {
                let mut file = file.elements();
                Some((file.next()?.string()?, file.next()?.string()?))
            };
            member.list("files", file).ok().flatten().unwrap_or_default()
        };
        Self {
            added: hashed(files.added),
            changed: hashed(files.changed),
            removed: files.removed.list("paths", |path| path.string()).ok().flatten().unwrap_or_default(),
            more: files.more.value().and_then(|more| more.unsigned_integer()).unwrap_or_default(),
        }
    }

    /// Returns true if no file changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty() && self.more == 0
    }
}

impl Run {
    /// Returns what surrounded the calls of the run, by the record's own word.
    pub fn surroundings(&self) -> Surroundings<'_> {
        Surroundings::of(self)
    }

    /// Returns what was piped into the command; `None` if nothing was recorded, or its event cannot be read.
    pub fn standard_input(&self) -> Option<StandardInput<'_>> {
        let read = self.events().find(|event| event.kind() == Some(EventType::StdinRead))?;
        StandardInput::of(read.payload().value()?)
    }

    /// Returns the addresses that the command's processes were seen connected to past the recorder, each with its port.
    pub fn seen_addresses(&self) -> Vec<(Cow<'_, str>, u16)> {
        let seen = self.events().filter(|event| event.kind() == Some(EventType::NetSeen));
        seen.filter_map(|event| event.payload().value()).flat_map(seen_addresses).collect()
    }
}

impl<'r> StandardInput<'r> {
    /// Reads the payload of a `rer.stdin.read`.
    pub fn of(payload: Value<'r>) -> Option<Self> {
        let read = StdinReadView::read(payload);
        let body = read.body.value()?;
        let bytes = match body.member("text") {
            Some(text) => match text.string()? {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            None => Cow::Owned(Base64::decode_vec(&body.member("base64")?.string()?).ok()?),
        };
        Some(Self { bytes, is_complete: read.complete.flag().ok()?? })
    }
}

/// Returns the addresses of a `rer.net.seen`; entries that are none are left out.
pub fn seen_addresses(payload: Value<'_>) -> Vec<(Cow<'_, str>, u16)> {
    let addresses = NetSeenView::read(payload).addresses.value();
    addresses.into_iter().flat_map(|addresses| addresses.elements()).filter_map(seen_address).collect()
}

fn seen_address(pair: Value<'_>) -> Option<(Cow<'_, str>, u16)> {
    let mut parts = pair.elements();
    Some((parts.next()?.string()?, u16::try_from(parts.next()?.unsigned_integer()?).ok()?))
}

fn text<'r>(member: PayloadMember<'r>) -> Option<Cow<'r, str>> {
    member.value()?.string()
}
