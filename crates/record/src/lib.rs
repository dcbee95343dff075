//! Recording: what happens in a run, masked, chained, written down and sealed; and the private keys that seal it.
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
//! | [`secret`] | private keys: made, read, written, wiped |
//! | [`protected`] | private keys under a passphrase: those of approvers |
//! | [`keystore`] | the folder in which they are kept, closed to others |
//! | [`warden`] | what may happen next |
//! | [`observation`] | the raw facts of a run |
//! | [`wal`] | what passes, before it passes on |
//! | [`redaction`] | what a project adds to the masks |
//! | [`withhold`] | what is sealed without its payload |
//! | [`durable`] | files that are there whole or not at all |

pub mod actor;
pub mod approval;
pub mod artifact;
pub mod clock;
pub mod durable;
pub mod error;
mod event;
pub mod exchange;
pub mod folder;
mod journal;
pub mod keystore;
pub mod ledger;
mod mask;
pub mod observation;
mod payload;
pub mod pen;
pub mod policy;
pub mod protected;
pub mod randomness;
pub mod recorder;
pub mod redaction;
pub mod reported;
mod resume;
pub mod run_id;
pub mod secret;
pub mod spool;
pub mod start;
pub mod storage;
pub mod surroundings;
pub mod tool;
pub mod wal;
pub mod warden;
pub mod withhold;

pub use actor::Actor;
pub use artifact::Sealed;
pub use durable::Durability;
pub use error::{RecordError, ResumeError};
pub use exchange::{Chunk, EndedBy, Exchange, Headers, MaskedRequest, RawAnswer, RawRequest, StepId};
pub use folder::{Folder, FolderError};
pub use keystore::{DefaultKey, KeyName, KeyStore, KeyStoreError};
pub use ledger::Counts;
pub use observation::Observation;
pub use pen::Pen;
pub use policy::{ApprovalRequest, Denial, Evaluation, Spent};
pub use protected::{Passphrase, ProtectedFault};
pub use randomness::NoRandomness;
pub use recorder::{End, Ended, Recorder, Recording, Status};
pub use redaction::Redaction;
pub use reenact_secrets::renumbered;
pub use reported::Report;
pub use run_id::RunId;
pub use secret::{SecretKey, SecretKeyError};
pub use spool::Spool;
pub use start::{Out, RunStart};
pub use surroundings::Surroundings;
pub use tool::{RawToolCall, RawToolResult, Source, Via};
pub use warden::Warden;
pub use withhold::Withhold;
