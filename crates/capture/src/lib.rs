//! Capture: observations of a run made into events, once; and recovered from logs.
//!
//! A front end (the gateway's HTTP today) tells a [`Capture`] of each request before it goes out, and an [`ExchangeRecorder`]
//! of each part of the answer before it is handed on. Both are [`Observation`]s: they are in the write-ahead log when the call
//! returns, and a thread makes masked, chained events of them. Under an envelope the [`PolicyGate`] decides first. Nothing here
//! knows HTTP or sockets. Start with [`Capture`].
//!
//! | module | what it holds |
//! |---|---|
//! | `capture` | the face for front ends |
//! | `exchange`, `stream_end` | one exchange while it runs |
//! | `policy_gate` | decisions on requests and tools, approvals |
//! | `queue`, `recorder_thread` | from front ends to the journal, in order |
//! | `event_builder`, `body`, `unpacking` | events of observations |
//! | `reading` | bodies that are parsed once and handed on |
//! | `decode` | content codings removed |
//! | `recovery` | the log of a killed recorder |

mod body;
mod capture;
pub mod decode;
mod error;
mod event_builder;
mod exchange;
mod match_key;
mod policy_gate;
mod queue;
mod reading;
mod recorder_thread;
mod recovery;
mod stream_end;
mod unpacking;

pub use reenact_record::observation::{self, Observation};
pub use reenact_record::reported::{self, ReportFault};
pub use reenact_record::wal::Wal;
pub use reenact_record::warden::Refused;
pub use reenact_record::{Durability, EndedBy, Pen};

pub use self::capture::Capture;
pub use self::error::Unrecorded;
pub use self::exchange::{ExchangeHandle, ExchangeRecorder, Running, SharedExchange};
pub use self::policy_gate::{Policy, PolicyGate};
pub use self::queue::Written;
pub use self::reading::is_stream;
pub use self::recovery::{LeftoverLog, Recovered};

/// Longest body that is kept by default, in bytes, as it came and decoded.
pub const DEFAULT_MAX_BODY_BYTES: usize = 256 << 20;
