//! The one-file timeline of a session → RER: each entry is an event.

use std::collections::{HashMap, VecDeque};

use reenact_formats::FormatId;
use reenact_formats::rer::time::instant;
use reenact_formats::rer::{Callee, EventType};

use super::{Items, callee, encode_document, list, origin, parse, without_items, word};
use crate::convert::fault::ConvertError;
use crate::convert::moment;
use crate::convert::sealing::{Sealing, Tape, Words};
use crate::convert::source::Source;

pub(in crate::convert) fn import(
    source: &Source<'_>,
    sealing: &mut Sealing<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let session = parse(source.main)?;
    let timeline = list(session, "timeline");
    let document = encode_document(&without_items(source.main, timeline), source.origin)?;
    let created_at = word(session, "created_at");
    let start = created_at.as_deref().and_then(instant);
    let mut tape = Tape::begin(sealing, created_at.as_deref(), &origin(source, &document))?;
    let mut items = Items::new(FormatId::SessionTimeline, "entry");
    let mut calls = Calls::default();
    for (index, entry) in timeline.into_iter().flat_map(|list| list.elements()).enumerate() {
        let elapsed = entry.member("t").and_then(|t| t.whole()).map(|t| i128::from(t) * 1_000_000);
        let time = start.zip(elapsed).and_then(|(start, elapsed)| moment::of_nanoseconds(start + elapsed));
        let tool = word(entry, "tool").unwrap_or_default();
        let (event_type, step_id) = match word(entry, "type").unwrap_or_default().as_ref() {
            "tool_call" => (EventType::ToolCalled.name(), Some(calls.open(&tool))),
            "tool_result" => (EventType::ToolReturned.name(), calls.close(&tool)),
            _ => ("reenact.session_timeline.entry", None),
        };
        let words = Words {
            model: None,
            step_id: step_id.as_deref(),
            tool: Some(tool.as_ref())
                .filter(|tool| !tool.is_empty() && callee(event_type) == Some(Callee::Tool)),
        };
        tape.item(event_type, time.as_deref(), items.encode(index, entry)?, words)?;
    }
    tape.end(None)
}

/// Calls have no ids here: a result belongs to the oldest open call of its tool.
#[derive(Default)]
pub(crate) struct Calls {
    count: usize,
    open: HashMap<String, VecDeque<String>>,
}

impl Calls {
    /// The id of one more call.
    pub(crate) fn open(&mut self, tool: &str) -> String {
        self.count += 1;
        let id = format!("tc_{:03}", self.count);
        self.open.entry(tool.to_owned()).or_default().push_back(id.clone());
        id
    }

    /// The id of the call that a result belongs to.
    pub(crate) fn close(&mut self, tool: &str) -> Option<String> {
        self.open.get_mut(tool)?.pop_front()
    }
}
