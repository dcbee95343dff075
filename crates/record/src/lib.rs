//! Recording: what happens in a run, masked, chained, written down and sealed.
//!
//! A [`Recorder`] writes the journal of one run, through any number of [`Pen`]s. Each event is bound to the one before by its
//! hash, and is with the operating system when the call that recorded it returns. Nothing that came from outside is written
//! before it was masked: only what the masks made can reach the journal. At the end the journal is read back, compared with a
//! running hash that only the recorder has, and sealed into an artifact that anyone can verify. A journal whose recorder was
//! killed can be taken up again: it names its run, and only one recorder at a time has it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`recorder`] | one run, from its first event to its seal |
//! | [`pen`] | what writes into it |
//! | [`exchange`], [`tool`], [`reported`] | what is written |
//! | [`policy`] | what was decided, what it cost, who approved it |
//! | [`actor`] | acting under an envelope, from a program |
//! | [`start`] | how a run begins |
//! | [`folder`], [`run_id`] | where runs are kept, and how they are named |
//! | [`clock`], [`randomness`], [`storage`], [`surroundings`] | time, chance and the disk, as values |
//! | [`approval`] | questions to approvers, and their answers |
//! | [`warden`] | what may happen next |
//! | [`observation`] | the raw facts of a run |
//! | [`wal`] | what passes, before it passes on |
//! | [`redaction`] | what a project adds to the masks |
//! | [`withhold`] | what is sealed without its payload |
//! | [`durability`] | how much a record survives |

pub mod actor;
pub mod approval;
pub mod artifact;
pub mod clock;
pub mod durability;
pub mod error;
pub mod exchange;
pub mod folder;
mod journal;
pub mod ledger;
mod lock;
mod mask;
pub mod observation;
mod payload;
pub mod pen;
pub mod policy;
pub mod recorder;
pub mod redaction;
pub mod reported;
mod resume;
pub mod run_id;
mod salt;
pub mod spool;
pub mod start;
pub mod surroundings;
pub mod tool;
pub mod wal;
pub mod warden;
pub mod withhold;

pub use actor::Actor;
pub use artifact::Sealed;
pub use durability::Durability;
pub use error::{RecordError, ResumeError};
pub use exchange::{Chunk, EndedBy, Exchange, Headers, MaskedRequest, RawAnswer, RawRequest, StepId};
pub use folder::{Folder, FolderError};
pub use ledger::Counts;
pub use observation::Observation;
pub use pen::Pen;
pub use policy::{ApprovalRequest, Denial, Evaluation, Spent};
pub use recorder::{End, Ended, Recorder, Recording, RunStatus};
pub use redaction::Redaction;
/// Files, and randomness, as values: a run is recorded with [`Surroundings`] of them.
pub use reenact_keys::{durable, randomness, storage};
pub use reenact_secrets::renumbered;
pub use reported::Report;
pub use run_id::RunId;
pub use spool::Spool;
pub use start::{Out, RunStart};
pub use surroundings::Surroundings;
pub use tool::{RawToolCall, RawToolResult, Source, Via};
pub use warden::Warden;
pub use withhold::Withhold;
