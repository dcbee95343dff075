//! Whose words a payload is in: one module for each format, and what they have in common.
//!
//! An item means the same wherever it lies: a step of an `.rpk` file is read by the same code when it lies in an RER artifact
//! that was imported from one. There each event's item is the member `import` of its payload, and the first event names the
//! format (`import.format`) and holds the document around the items (`import.document`). Values that RFC 8785 cannot carry
//! are `$text`s there; they are decoded before an item is read.
//!
//! | dialect | item | both ends of an exchange |
//! |---|---|---|
//! | [`FormatId::Rer`] | a payload as we write it | `…called`, `…returned` of one `step_id` |
//! | [`FormatId::Rpk`] | a step | `….request`, `….response` by their ids, else in order |
//! | [`FormatId::ModelIo`] | an interaction, or its half | two events for each interaction |
//! | [`FormatId::ReplayJsonl`] | a line | `ToolCall`, `ToolResult` of one `id` |
//! | [`FormatId::ReplayBundle`] | a line of the trace, a cassette | one event, or two of one `episode_id` |

pub(crate) mod model_io;
pub(crate) mod replay_bundle;
pub(crate) mod replay_jsonl;
pub(crate) mod rer;
pub(crate) mod rpk;

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::rer::{Callee, EventType};
use reenact_json::{Limits, Value};
use reenact_wire::Endpoint;

use crate::convert::loss::{Losses, Place};
use crate::event::Event;
use crate::exchange::{Answer, Request};
use crate::index::{Hidden, Tie};
use crate::open::NotARun;
use crate::outcome::ReportedOutcome;
use crate::run::{Inner, Parts, Run};
use crate::text_rule::TextRule;
use crate::tool::{ToolCall, ToolResult};
use crate::unreadable::{Unreadable, object};

/// How the items of a format are read. A format without exchanges or without tools leaves those out.
pub(crate) trait Dialect: Sync {
    /// Reads what a run keeps of a document.
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun>;

    /// What an item says has happened, and how it finds its other end. `named` is what the record around it calls that.
    fn mark(&self, named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Tie);

    /// How a withheld event that was imported finds its other end, by what the record around it calls its action. Events of a
    /// timeline have the names of their tools, all others of the dialect ids, which need no order.
    fn mark_withheld(&self, callee: Callee, is_timeline: bool) -> Option<Hidden> {
        let _ = (callee, is_timeline);
        None
    }

    /// What the items leave to the document around them.
    fn context(&self, document: Value<'_>) -> Context {
        let _ = document;
        Context::default()
    }

    /// The step that an event belongs to, by its payload.
    fn step_id<'r>(&self, event: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>>;

    /// What an item says was asked.
    fn request<'v>(&self, item: Value<'v>, run: &'v Inner) -> Result<Request<'v>, Unreadable> {
        let _ = (item, run);
        Err(Unreadable::NoExchange)
    }

    /// What an item says was answered; `endpoint` is that of the request, if it is known.
    fn answer<'v>(
        &self,
        item: Value<'v>,
        run: &'v Inner,
        endpoint: Option<Endpoint>,
    ) -> Result<Answer<'v>, Unreadable> {
        let _ = (item, run, endpoint);
        Err(Unreadable::NoExchange)
    }

    /// What an item says was asked of a tool.
    fn tool_call<'v>(&self, item: Value<'v>) -> Result<ToolCall<'v>, Unreadable> {
        let _ = item;
        Err(Unreadable::NoTool)
    }

    /// What an item says a tool gave.
    fn tool_result<'v>(&self, item: Value<'v>) -> Result<ToolResult<'v>, Unreadable> {
        let _ = item;
        Err(Unreadable::NoTool)
    }

    /// Returns true if an item is part of the format and not of the run, so that it is no step.
    fn is_frame(&self, item: Value<'_>) -> bool {
        let _ = item;
        false
    }

    /// Returns the part of a payload that tells what happened.
    fn telling_part<'v>(&self, payload: Value<'v>) -> Value<'v> {
        payload
    }

    /// Returns true for members of a payload that belong to the format, and not to what happened.
    fn is_format_member(&self, name: &str) -> bool {
        matches!(name, "salt" | "source")
    }

    /// Returns true if every event has a step of its own.
    fn has_step_ids(&self) -> bool {
        false
    }

    /// Where an event lies in its source, for the list of what a conversion loses.
    fn place(&self, event: &Event<'_>) -> Place;

    /// Notes what lies around the events and has no place in a target.
    fn around(&self, run: &Run, target: FormatId, losses: &mut Losses) {
        let _ = (run, target, losses);
    }

    /// What the record says of how its run was started and ended.
    fn outcome(&self, run: &Run) -> ReportedOutcome {
        let _ = run;
        ReportedOutcome::default()
    }
}

/// Every dialect, by the row whose words it reads.
static DIALECTS: [(FormatId, &dyn Dialect); 5] = [
    (FormatId::Rer, &rer::Rer),
    (FormatId::Rpk, &rpk::Rpk),
    (FormatId::ModelIo, &model_io::ModelIo),
    (FormatId::ReplayJsonl, &replay_jsonl::ReplayJsonl),
    (FormatId::ReplayBundle, &replay_bundle::ReplayBundle),
];

/// The dialect of a format's payloads.
pub(crate) fn of(id: FormatId) -> &'static dyn Dialect {
    let id = id.row().dialect;
    // A test holds the table against that of the formats.
    DIALECTS.iter().find(|(known, _)| *known == id).map_or(&rer::Rer, |(_, dialect)| *dialect)
}

/// The dialect of a record that was imported from a format of that name, and the format.
pub(crate) fn of_import(name: &str) -> Option<FormatId> {
    FormatId::of_name(name).filter(|id| id.row().dialect != FormatId::Rer)
}

/// How a withheld event that was imported finds its other end.
pub(crate) fn mark_withheld(id: FormatId, named: Option<EventType>) -> Tie {
    let callee = named.and_then(|named| named.role().callee());
    let hidden = callee.and_then(|callee| of(id).mark_withheld(callee, id == FormatId::SessionTimeline));
    hidden.map_or(Tie::None, Tie::Hidden)
}

/// What the items of a format leave to the document around them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Context {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
}

/// What the event that holds it says was asked.
pub(crate) fn request<'r>(called: &Event<'r>) -> Result<Request<'r>, Unreadable> {
    let item = object(called)?;
    match decoded(called, item)? {
        None => of(called.dialect()).request(item, called.run),
        Some(text) => Ok(of(called.dialect()).request(parse(&text)?, called.run)?.into_owned()),
    }
}

/// What the event that holds it says was answered; `endpoint` is that of the request, if it is known.
pub(crate) fn answer<'r>(returned: &Event<'r>, endpoint: Option<Endpoint>) -> Result<Answer<'r>, Unreadable> {
    let item = object(returned)?;
    match decoded(returned, item)? {
        None => of(returned.dialect()).answer(item, returned.run, endpoint),
        Some(text) => Ok(of(returned.dialect()).answer(parse(&text)?, returned.run, endpoint)?.into_owned()),
    }
}

/// What the event that holds it says was asked of a tool.
pub(crate) fn tool_call<'r>(called: &Event<'r>) -> Result<ToolCall<'r>, Unreadable> {
    let item = object(called)?;
    match decoded(called, item)? {
        None => of(called.dialect()).tool_call(item),
        Some(text) => Ok(of(called.dialect()).tool_call(parse(&text)?)?.into_owned()),
    }
}

/// What the event that holds it says a tool gave.
pub(crate) fn tool_result<'r>(returned: &Event<'r>) -> Result<ToolResult<'r>, Unreadable> {
    let item = object(returned)?;
    match decoded(returned, item)? {
        None => of(returned.dialect()).tool_result(item),
        Some(text) => Ok(of(returned.dialect()).tool_result(parse(&text)?)?.into_owned()),
    }
}

/// The item of an imported event as its own format has it, where that is not how it lies.
fn decoded(event: &Event<'_>, item: Value<'_>) -> Result<Option<Vec<u8>>, Unreadable> {
    let has_text = || item.text().windows(MARK.len()).any(|window| window == MARK);
    // A bundle's files lie as they were.
    if !event.is_imported() || event.dialect() == FormatId::ReplayBundle || !has_text() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let decoded = TextRule::new(event.dialect().row().profile).decode(item, &mut text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_dialect() {
        for id in FormatId::targets() {
            assert!(DIALECTS.iter().any(|(known, _)| *known == id), "{}", id.name());
        }
        assert_eq!(DIALECTS.len(), FormatId::targets().count());
        assert_eq!(of_import("recording-session"), Some(FormatId::RecordingSession));
        assert_eq!((of_import("rer"), of_import("rer-bundle"), of_import("x")), (None, None, None));
    }
}
