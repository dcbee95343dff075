//! The one model of a run, whatever format it was read from.
//!
//! A run is opened together with its verification report: who uses one always has the verdict at hand. It keeps the bytes
//! that were judged and a few words for each event; payloads are read where they lie, when someone asks. What can be derived
//! (exchanges, messages, tool calls, totals) is derived on reading and stored nowhere.
//!
//! Anyone can sign nonsense: a payload that is not what its event promises is [`Unreadable`], with a reason, and never more
//! than that.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@open`] | bytes to a run and its report |
//! | [`run`] | who, when, what for, and the events |
//! | [`event`], [`kind`] | one event; what happened in it |
//! | [`exchange`], [`body`] | a request and its answer over HTTP |
//! | [`tool`] | a tool's call and what came of it |
//! | [`summary`] | counts, models, tokens, time |
//! | [`unreadable`] | why a payload does not say what it should |

pub mod body;
pub mod event;
pub mod exchange;
mod index;
pub mod kind;
pub mod open;
mod rer;
pub mod run;
pub mod summary;
pub mod tool;
pub mod unreadable;

pub use event::{Event, Payload, Source};
pub use exchange::{Answer, Asked, Chunk, EndedBy, Exchange, Request};
pub use kind::Kind;
pub use open::{NotARun, Opened, open, open_with};
pub use run::Run;
pub use summary::Summary;
pub use tool::ToolUse;
pub use unreadable::Unreadable;
