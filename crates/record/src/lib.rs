//! Recording: the events of a run, masked, chained, journaled and sealed.
//!
//! A [`Recorder`] owns one run and hands out any number of [`EventWriter`]s, which write its journal. Each event is
//! bound to the one before by its hash, and the operating system has it when the call that recorded it returns. Input
//! from outside is masked before it is written: the payload writer takes no text that did not come out of the masks. To
//! seal the run, the journal is read back, compared with a running hash that only the recorder has, and framed as an
//! artifact that anyone can verify. Once the artifact was read back and verified, the journal goes. The journal of a recorder that was killed can be resumed: its first line names its
//! run, and a file lock admits one recorder at a time.
//!
//! | module | contents |
//! |---|---|
//! | [`recorder`], [`recorder_builder`] | one run, from its first event to its seal |
//! | [`event_writer`] | the handle that writes events |
//! | [`journal_follower`] | the events of a run, read while they are written |
//! | [`exchange`], [`tool`], [`agent_report`] | the input of those events |
//! | [`policy`] | the events of an enforced envelope: decisions, costs, approvals |
//! | [`policy_engine`] | the decision whether an action may happen |
//! | [`actor`] | acting under an envelope, for programs that record themselves |
//! | [`approval`] | questions to approvers, and their signed answers |
//! | [`start`], [`surroundings`] | the parameters of a run, the first line of its journal, and its first event |
//! | [`outcome`] | the end of a run |
//! | [`run_state`] | open steps and counts of a run |
//! | [`artifact`] | the seal |
//! | [`run_store`], [`run_id`] | the folder of runs, and their names |
//! | [`observation`], [`wal`] | raw facts of a run, and the write-ahead log that holds them until they are journaled |
//! | [`spool`] | bodies that are too long for memory |
//! | [`redaction`], [`withhold`] | a project's own masks, and the payloads that it withholds |
//! | [`record_env`], [`clock`], [`randomness`], [`storage`] | time, randomness and the disk, as values |
//! | [`late_secrets`] | events that hold a value which became known as a secret later |
//! | `refusal` | the mark of a run whose journal was changed, and that nobody may seal |
//! | [`durability`], [`error`] | guarantees, and the reasons why something was not recorded |
//!
//! Start reading at [`recorder`], then [`event_writer`] and [`run_state`]; the private module `journal` writes the
//! file.

pub mod actor;
pub mod agent_report;
pub mod approval;
pub mod artifact;
pub mod clock;
mod context_events;
pub mod durability;
pub mod error;
pub mod event_writer;
pub mod exchange;
mod journal;
mod journal_ends;
pub mod journal_follower;
mod journal_removal;
pub mod late_secrets;
mod lock;
mod mask;
pub mod observation;
pub mod outcome;
mod payload;
pub mod policy;
pub mod policy_engine;
pub mod record_env;
pub mod recorder;
pub mod recorder_builder;
pub mod redaction;
mod refusal;
mod resume;
pub mod run_id;
pub mod run_state;
pub mod run_store;
mod salt;
pub mod spool;
pub mod start;
pub mod surroundings;
pub mod tool;
pub mod wal;
pub mod withhold;

pub use actor::Actor;
pub use agent_report::AgentReport;
pub use artifact::SealedArtifact;
pub use durability::Durability;
pub use error::{RecordError, ResumeError};
pub use event_writer::EventWriter;
pub use exchange::{
    CallKind, Chunk, EndedBy, ExchangeCall, MaskedRequest, RawAnswer, RawHeaders, RawRequest, StepId,
};
pub use journal_follower::{FollowedLine, FollowerStop, JournalFollower};
pub use late_secrets::LateSecrets;
pub use observation::Observation;
pub use outcome::{ChangedFiles, RunEnd};
pub use policy::{ApprovalRequest, CallCost, Evaluation, RecordedDenial};
pub use policy_engine::{PolicyEngine, PolicyMode};
pub use record_env::RecordEnv;
pub use recorder::{Ended, Recorder, Recording, RunStatus};
pub use recorder_builder::RecorderBuilder;
pub use redaction::Redaction;
pub use reenact_formats::rer::payload::ForkMode;
/// Durable files, randomness and storage as values. A [`RecordEnv`] is made of them.
pub use reenact_keys::{durable, randomness, storage};
pub use run_id::RunId;
pub use run_state::RunCounts;
pub use run_store::{RunFile, RunFileFault, RunStore, RunStoreError, StoredRun};
pub use spool::Spool;
pub use start::{ArtifactTarget, RunStart};
pub use surroundings::{AgentSetting, RecordedAgent, RecordedParent, RepositoryState, RunPlaces};
pub use tool::{EventSource, RawToolCall, RawToolResult, ToolChannel};
pub use withhold::Withhold;

/// Runs the examples of the README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
