//! The one model of a run, whatever format it was read from.
//!
//! A run is opened together with its verification report: who uses one always has the verdict at hand. It keeps the bytes
//! that were judged and a few words for each event; payloads are read where they lie, when someone asks. What can be derived
//! (exchanges, messages, tool calls, totals) is derived on reading and stored nowhere.
//!
//! Anyone can sign nonsense: a payload that is not what its event promises is [`UnreadablePayload`], with a reason, and never more
//! than that.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@open`] | bytes to a run and its report |
//! | [`run`] | who, when, what for, and the events |
//! | [`event`] | one event, and what happened in it: an [`EventType`] |
//! | [`dialect`] | whose words a payload is in, and reading each |
//! | [`exchange`], [`body`] | a request and its answer over HTTP |
//! | [`exit`] | how a command ended |
//! | [`tool`] | a tool's call and what came of it |
//! | [`timeline`] | the steps of a run and their facts, for every output |
//! | [`summary`] | counts, models, tokens, time |
//! | [`gate`] | `run.json` and `summary.json`: what came out |
//! | [`convert`] | records of other formats as RER, and RER as others, with what is lost |
//! | [`redact`] | payloads withheld after the fact |
//! | [`text_rule`] | any JSON under its format's profile, as JSON that RFC 8785 can carry, and back |
//! | [`unreadable`] | why a payload does not say what it should |

pub mod assay_report;
pub mod body;
pub mod convert;
pub mod event;
mod event_index;
pub mod exchange;
pub mod exit;
pub mod open;
pub mod reader;
pub mod redact;
mod reported_outcome;
pub mod run;
pub mod summary;
pub mod text_rule;
pub mod timeline;
pub mod tool;
pub mod unreadable;

pub use event::{Event, EventPayload};
pub use exchange::{
    AnswerDetail, Exchange, ExchangeAnswer, ExchangeKind, ExchangeRequest, ExchangeRequestBody,
};
pub use exit::Exit;
pub use open::{NamedFiles, NotARun, OpenedRecord, open, open_files, open_with};
pub use reenact_formats::FormatId;
pub use reenact_formats::rer::EventType;
pub use reenact_formats::rer::payload::{Chunk, EndedBy, Source};
pub use run::Run;
pub use summary::Summary;
pub use timeline::Timeline;
pub use tool::{JsonText, ToolUse};
pub use unreadable::UnreadablePayload;
