//! Capture: makes events of what a front end observes, and recovers them from the log of a killed recorder.
//!
//! A front end (today the gateway's HTTP) tells a [`Capture`] of each request before the request goes out, and
//! an [`ExchangeRecorder`] of each part of the answer before that part is handed on. Both become
//! [`Observation`]s. They are in the write-ahead log when the call returns, and a thread makes masked, chained
//! events of them. Under an envelope the [`PolicyGate`] decides first. Nothing here knows sockets or the types
//! of an HTTP library; an exchange has a status, headers and a body, whatever brought them.
//!
//! An observation takes this way:
//!
//! 1. [`Capture`] or [`ExchangeRecorder`] makes it, in the front end's task.
//! 2. It is written to the log and put into the queue, under one lock, so that both have the same order.
//! 3. The recorder thread takes it off the queue, and the event builder decodes, parses, masks and writes it.
//! 4. The log is told how far the journal has come, and drops what is no longer needed.
//!
//! | module | contents |
//! |---|---|
//! | `capture` | entry point for front ends |
//! | `exchange`, `stream_end` | one exchange while it runs |
//! | `policy_gate` | decisions on requests and tools, approvals; the same decisions on a run that is over |
//! | `queue`, `recorder_thread` | path from front ends to the journal, in order |
//! | `event_builder`, `body`, `body_decoder` | events made of observations |
//! | `parsed_body` | bodies that were parsed once and are handed on |
//! | `decode` | removal of content codings |
//! | `recovery` | the log of a killed recorder |
//!
//! Start reading at [`Capture`], then `event_builder`.

mod body;
mod body_decoder;
mod capture;
mod charge;
pub mod decode;
mod error;
mod event_builder;
mod exchange;
mod parsed_body;
mod policy_gate;
mod queue;
mod recorder_thread;
mod recovery;
mod stream_end;

pub use reenact_record::agent_report::{self, AgentReportFault};
pub use reenact_record::observation::{self, Observation};
pub use reenact_record::policy_engine::PolicyRefusal;
pub use reenact_record::wal::Wal;
pub use reenact_record::{Durability, EndedBy, EventWriter, PolicyMode};

pub use self::capture::Capture;
pub use self::error::Unrecorded;
pub use self::exchange::{ExchangeHandle, ExchangeRecorder, RecordingGuard, SharedExchange};
pub use self::parsed_body::{is_scanned, is_stream};
pub use self::policy_gate::{
    EnforcedPolicy, PolicyGate, PolicyTrial, RequestNeeds, TrialAnswer, TrialDecision, TrialTotals,
};
pub use self::queue::JobWritten;
pub use self::recovery::{LeftoverLog, Recovered};

/// Default for the longest body that is kept, in bytes: 256 MiB. The limit holds for the body as it came, and
/// again for the decoded body.
pub const DEFAULT_MAX_BODY_BYTES: usize = 256 << 20;
