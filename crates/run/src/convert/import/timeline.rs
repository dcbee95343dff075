//! Import of the one-file timeline of a session: each entry is an event.
//!
//! Calls of a timeline have no ids. They are numbered `tc_001` and so on, and results take the number of their
//! call.

use std::collections::{HashMap, VecDeque};

use reenact_formats::FormatId;
use reenact_formats::rer::time::instant;
use reenact_formats::rer::{Callee, EventType};

use super::{
    ItemEncoder, array_member, callee, encode_document, import_member, parse, string_member, without_items,
};
use crate::convert::artifact_builder::{CommonMembers, ImportContext, ImportedArtifactBuilder};
use crate::convert::error::ConvertError;
use crate::convert::event_time;
use crate::convert::source::ImportSource;

/// Imports the entries of a timeline. Times of entries count in milliseconds from the beginning of the session.
pub(in crate::convert) fn import(
    source: &ImportSource<'_>,
    context: &mut ImportContext<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let session = parse(source.main_file)?;
    let timeline = array_member(session, "timeline");
    let document = encode_document(&without_items(source.main_file, timeline), source.format)?;
    let created_at = string_member(session, "created_at");
    let start = created_at.as_deref().and_then(instant);
    let mut builder =
        ImportedArtifactBuilder::begin(context, created_at.as_deref(), &import_member(source, &document))?;
    let mut items = ItemEncoder::new(FormatId::SessionTimeline, "entry");
    let mut calls = OpenToolCalls::default();
    for (index, entry) in timeline.into_iter().flat_map(|list| list.elements()).enumerate() {
        let elapsed = entry.member("t").and_then(|t| t.unsigned_integer()).map(|t| i128::from(t) * 1_000_000);
        let time = start
            .zip(elapsed)
            .and_then(|(start, elapsed)| event_time::timestamp_of_nanoseconds(start + elapsed));
        let tool = string_member(entry, "tool").unwrap_or_default();
        let (event_type, step_id) = match string_member(entry, "type").unwrap_or_default().as_ref() {
            "tool_call" => (EventType::ToolCalled.name(), Some(calls.open(&tool))),
            "tool_result" => (EventType::ToolReturned.name(), calls.close(&tool)),
            _ => ("reenact.session_timeline.entry", None),
        };
        let members = CommonMembers {
            model: None,
            step_id: step_id.as_deref(),
            tool: Some(tool.as_ref())
                .filter(|tool| !tool.is_empty() && callee(event_type) == Some(Callee::Tool)),
        };
        builder.append_item(event_type, time.as_deref(), items.encode(index, entry)?, members)?;
    }
    builder.seal(None)
}

/// Tool calls whose results are due. A timeline has no ids: a result belongs to the oldest open call of its
/// tool.
#[derive(Default)]
pub(crate) struct OpenToolCalls {
    count: usize,
    open: HashMap<String, VecDeque<String>>,
}

impl OpenToolCalls {
    /// Opens a call, and returns the id that it gets.
    pub(crate) fn open(&mut self, tool: &str) -> String {
        self.count += 1;
        let id = format!("tc_{:03}", self.count);
        self.open.entry(tool.to_owned()).or_default().push_back(id.clone());
        id
    }

    /// Closes the call that a result belongs to, and returns its id.
    pub(crate) fn close(&mut self, tool: &str) -> Option<String> {
        self.open.get_mut(tool)?.pop_front()
    }
}
