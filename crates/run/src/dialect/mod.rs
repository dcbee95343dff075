//! Whose words a payload is in: one module for each format, and what they have in common.
//!
//! An item means the same wherever it lies: a step of an `.rpk` file is read by the same code when it lies in an RER artifact
//! that was imported from one. There each event's item is the member `import` of its payload, and the first event names the
//! format (`import.format`) and holds the document around the items (`import.document`). Values that RFC 8785 cannot carry
//! are `$text`s there; they are decoded before an item is read.
//!
//! | dialect | item | both ends of an exchange |
//! |---|---|---|
//! | [`Dialect::Rer`] | a payload as we write it | `…called`, `…returned` of one `step_id` |
//! | [`Dialect::Rpk`] | a step | `….request`, `….response` by their ids, else in order |
//! | [`Dialect::ModelIo`] | an interaction, or its half | two events for each interaction |
//! | [`Dialect::ReplayJsonl`] | a line | `ToolCall`, `ToolResult` of one `id` |
//! | [`Dialect::ReplayBundle`] | a line of the trace, a cassette | one event, or two of one `episode_id` |

pub(crate) mod model_io;
pub(crate) mod replay_bundle;
pub(crate) mod replay_jsonl;
pub(crate) mod rer;
pub(crate) mod rpk;

use std::borrow::Cow;

use reenact_formats::Profile;
use reenact_json::{Limits, Value};
use reenact_wire::Endpoint;

use crate::event::Event;
use crate::exchange::{Answer, Request};
use crate::index::{Hidden, Tie};
use crate::kind::{Action, Kind};
use crate::run::Inner;
use crate::text_rule::TextRule;
use crate::tool::{ToolCall, ToolResult};
use crate::unreadable::{Unreadable, object};

/// Whose words the payloads of a run are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// RER, and what we write ourselves.
    #[default]
    Rer,
    /// `.rpk`
    Rpk,
    /// Model IO.
    ModelIo,
    /// REPLAY.jsonl
    ReplayJsonl,
    /// A Replay Bundle.
    ReplayBundle,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Rer, Self::Rpk, Self::ModelIo, Self::ReplayJsonl, Self::ReplayBundle];

    /// The name that commands and imported runs use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rer => "rer",
            Self::Rpk => "rpk",
            Self::ModelIo => "model-io",
            Self::ReplayJsonl => "replay-jsonl",
            Self::ReplayBundle => "replay-bundle",
        }
    }

    /// The dialect of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// The dialect of a record that was imported from a format of that name: some formats are read and never written.
    pub(crate) fn of_import(name: &str) -> Option<Self> {
        match name {
            "recording-session" => Some(Self::ModelIo),
            "replay-jsonl-typed" | "session-timeline" => Some(Self::ReplayJsonl),
            _ => Self::of_name(name).filter(|dialect| *dialect != Self::Rer),
        }
    }

    /// The profile under which its values have their canonical text.
    pub fn profile(self) -> Profile {
        match self {
            Self::Rer | Self::ReplayBundle => Profile::Jcs,
            Self::Rpk => Profile::Rpk,
            Self::ModelIo => Profile::ModelIo,
            Self::ReplayJsonl => Profile::ReplayJsonl,
        }
    }

    /// What an item of this dialect says has happened, and how it finds its other end. `named` is what the record around it
    /// calls that.
    pub(crate) fn mark(self, named: Kind, item: Value<'_>) -> (Kind, Tie) {
        match self {
            Self::Rer => (named, Tie::last(item.member("step_id"))),
            Self::Rpk => rpk::mark(item),
            Self::ModelIo => (named, Tie::InOrder(Vec::new())),
            Self::ReplayJsonl => replay_jsonl::mark(item),
            Self::ReplayBundle => replay_bundle::mark(named, item),
        }
    }

    /// How a withheld event that was imported finds its other end: only what the record around it calls it is known.
    /// Events of a timeline have the names of their tools, all others of the dialect ids, which need no order.
    pub(crate) fn mark_withheld(self, named: Kind, is_timeline: bool) -> Tie {
        let (actions, names_repeat): (&'static [Action], bool) = match (self, named.action()) {
            (Self::ModelIo | Self::Rpk, Some((Action::Model, _))) => (&[Action::Model], false),
            // A wrapped HTTP client calls its requests tools.
            (Self::Rpk, Some((Action::Tool, _))) => (&[Action::Tool, Action::Http, Action::Model], false),
            (Self::ReplayJsonl, Some((Action::Tool, _))) if is_timeline => (&[Action::Tool], true),
            _ => return Tie::None,
        };
        Tie::Hidden(Hidden { actions, names_repeat })
    }
}

/// What the items of a format leave to the document around them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Context {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
}

impl Context {
    /// What the document around the items of a dialect says.
    pub(crate) fn of(dialect: Dialect, document: Option<Value<'_>>) -> Self {
        match (dialect, document) {
            (Dialect::ModelIo, Some(document)) => model_io::context(document),
            _ => Self::default(),
        }
    }
}

/// The step that an event belongs to, by its payload.
pub(crate) fn step_id<'r>(event: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
    match event.dialect() {
        Dialect::Rer => payload.member("step_id")?.string(),
        Dialect::Rpk => payload.member("id")?.string(),
        Dialect::ModelIo => model_io::step_id(event, payload),
        Dialect::ReplayJsonl => replay_jsonl::step_id(payload),
        Dialect::ReplayBundle => replay_bundle::step_id(payload),
    }
}

/// What the event that holds it says was asked.
pub(crate) fn request<'r>(called: &Event<'r>) -> Result<Request<'r>, Unreadable> {
    let item = object(called)?;
    match decoded(called, item)? {
        None => read_request(called.dialect(), item, called.run),
        Some(text) => Ok(read_request(called.dialect(), parse(&text)?, called.run)?.into_owned()),
    }
}

fn read_request<'v>(dialect: Dialect, item: Value<'v>, run: &'v Inner) -> Result<Request<'v>, Unreadable> {
    match dialect {
        Dialect::Rer => rer::request(item, run),
        Dialect::Rpk => rpk::request(item, run),
        Dialect::ModelIo => model_io::request(item, &run.parts.context),
        Dialect::ReplayJsonl => Err(Unreadable::NoExchange),
        Dialect::ReplayBundle => replay_bundle::request(item),
    }
}

/// What the event that holds it says was answered; `endpoint` is that of the request, if it is known.
pub(crate) fn answer<'r>(returned: &Event<'r>, endpoint: Option<Endpoint>) -> Result<Answer<'r>, Unreadable> {
    let item = object(returned)?;
    match decoded(returned, item)? {
        None => read_answer(returned.dialect(), item, returned.run, endpoint),
        Some(text) => {
            Ok(read_answer(returned.dialect(), parse(&text)?, returned.run, endpoint)?.into_owned())
        }
    }
}

fn read_answer<'v>(
    dialect: Dialect,
    item: Value<'v>,
    run: &'v Inner,
    endpoint: Option<Endpoint>,
) -> Result<Answer<'v>, Unreadable> {
    match dialect {
        Dialect::Rer => rer::answer(item, run),
        Dialect::Rpk => rpk::answer(item, run, endpoint),
        Dialect::ModelIo => model_io::answer(item, &run.parts.context),
        Dialect::ReplayJsonl => Err(Unreadable::NoExchange),
        Dialect::ReplayBundle => replay_bundle::answer(item),
    }
}

/// What the event that holds it says was asked of a tool.
pub(crate) fn tool_call<'r>(called: &Event<'r>) -> Result<ToolCall<'r>, Unreadable> {
    let item = object(called)?;
    match decoded(called, item)? {
        None => read_tool_call(called.dialect(), item),
        Some(text) => Ok(read_tool_call(called.dialect(), parse(&text)?)?.into_owned()),
    }
}

fn read_tool_call(dialect: Dialect, item: Value<'_>) -> Result<ToolCall<'_>, Unreadable> {
    match dialect {
        Dialect::Rer => rer::tool_call(item),
        Dialect::Rpk => rpk::tool_call(item),
        Dialect::ModelIo => Err(Unreadable::NoTool),
        Dialect::ReplayJsonl => replay_jsonl::tool_call(item),
        Dialect::ReplayBundle => replay_bundle::tool_call(item),
    }
}

/// What the event that holds it says a tool gave.
pub(crate) fn tool_result<'r>(returned: &Event<'r>) -> Result<ToolResult<'r>, Unreadable> {
    let item = object(returned)?;
    match decoded(returned, item)? {
        None => read_tool_result(returned.dialect(), item),
        Some(text) => Ok(read_tool_result(returned.dialect(), parse(&text)?)?.into_owned()),
    }
}

fn read_tool_result(dialect: Dialect, item: Value<'_>) -> Result<ToolResult<'_>, Unreadable> {
    match dialect {
        Dialect::Rer => rer::tool_result(item),
        Dialect::Rpk => rpk::tool_result(item),
        Dialect::ModelIo => Err(Unreadable::NoTool),
        Dialect::ReplayJsonl => replay_jsonl::tool_result(item),
        Dialect::ReplayBundle => replay_bundle::tool_result(item),
    }
}

/// The item of an imported event as its own format has it, where that is not how it lies.
fn decoded(event: &Event<'_>, item: Value<'_>) -> Result<Option<Vec<u8>>, Unreadable> {
    let has_text = || item.text().windows(MARK.len()).any(|window| window == MARK);
    // A bundle's files lie as they were.
    if !event.is_imported() || event.dialect() == Dialect::ReplayBundle || !has_text() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let decoded = TextRule::new(event.dialect().profile()).decode(item, &mut text);
    decoded.map_err(|_| Unreadable::Text)?;
    Ok(Some(text))
}

/// The name of a `$text`, as canonical JSON writes it.
const MARK: &[u8] = b"\"$text\"";

/// A text that was decoded.
fn parse(text: &[u8]) -> Result<Value<'_>, Unreadable> {
    let limits = Limits { depth: Limits::DEEPEST, bytes: Limits::LARGEST };
    Value::parse(text, &limits).map_err(|_| Unreadable::Text)
}
