//! Model of a recorded run, the same for every format that a run is read from.
//!
//! A [`Run`] is opened together with its verification report, so that the verdict is always at hand. A run
//! keeps the bytes that were verified and 32 bytes for each event. Payloads are parsed in place when they are
//! asked for; exchanges, messages, tool calls and totals are derived then, and stored nowhere.
//!
//! A valid signature does not make a payload well-formed. A payload that does not hold what its event type
//! promises is an [`UnreadablePayload`] with a reason; reading it never panics.
//!
//! | module | content |
//! |---|---|
//! | [`mod@open`] | bytes to a run and its verification report |
//! | [`run`] | [`Run`]: identity, times, envelope, files, and the events |
//! | [`event`] | [`Event`]: one event, its [`EventType`] and its payload |
//! | `event_index` | where the parts of each event lie, and which event is the other end of an action |
//! | [`reader`] | one reader for each format: documents to runs, items to requests, answers and tool calls |
//! | [`exchange`], [`body`] | a request over HTTP and its answer |
//! | [`exit`] | exit of a command: code or signal |
//! | [`tool`] | a tool call and its result |
//! | `step_utility` | utilities that an agent reports of its steps, and the calls they belong to |
//! | [`timeline`] | the steps of a run and their facts, for every output |
//! | [`summary`] | counts, models, tokens, costs, time |
//! | [`surroundings`] | agent, folders, repository, input, output, changed files, connections |
//! | [`assay_report`] | `run.json`, `summary.json`, `junit.xml` and `sarif.json`, as the tool that reads Replay Bundles writes them |
//! | [`bundled_outcome`] | what these files say in a bundle: exit code and tests, and how two of them differ |
//! | [`convert`] | records of other formats as RER, and RER as others, with a list of losses |
//! | [`redact`] | withholding of payloads after they were recorded |
//! | [`text_rule`] | any JSON of a format's profile as JSON that RFC 8785 can carry, and back |
//! | [`unreadable`] | reasons why a payload cannot be read |
//!
//! Start reading at [`open()`] and [`Run`]; then [`Exchange`].

pub mod assay_report;
pub mod body;
pub mod bundled_outcome;
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
mod step_utility;
pub mod summary;
pub mod surroundings;
pub mod text_rule;
pub mod timeline;
pub mod tool;
pub mod unreadable;

pub use bundled_outcome::BundledOutcome;
pub use event::{Event, EventPayload};
pub use exchange::{
    AnswerDetail, Exchange, ExchangeAnswer, ExchangeKind, ExchangeRequest, ExchangeRequestBody,
};
pub use exit::Exit;
pub use open::{NamedFiles, NotARun, OpenedRecord, open, open_artifact, open_files, open_with};
pub use reader::foreign_payload::ForeignPayload;
pub use reenact_formats::FormatId;
pub use reenact_formats::rer::EventType;
pub use reenact_formats::rer::payload::{Chunk, EndedBy, EventSource};
pub use run::Run;
pub use summary::Summary;
pub use surroundings::{ParentFacts, StandardInput, Surroundings};
pub use timeline::Timeline;
pub use tool::{JsonText, ToolUse};
pub use unreadable::UnreadablePayload;
