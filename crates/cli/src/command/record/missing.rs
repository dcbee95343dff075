//! What a record does not hold, in one line: gaps by their kind, calls without answers, tools whose results were never seen,
//! addresses that the agent was connected to past the recorder.
//!
//! Start reading at [`missing_line`].

use std::collections::BTreeMap;

use reenact_formats::rer::payload::CaptureGapView;
use reenact_json::{Jcs, Limits, Shown, Value, canonical};
use reenact_run::{EventType, Run, Summary};

use crate::command::show::addresses_text;
use crate::quantity;
use crate::work_folder::NotSeen;

/// Most kinds of gaps that are named.
const MAX_KINDS: usize = 4;

/// Kind of gap: the beginning of its `what`, and the words for one gap and for several.
const GAP_KINDS: [(&str, &str, &str); 3] = [
    ("WebSocket to ", "WebSocket upgrade refused", "WebSocket upgrades refused"),
    ("request to ", "request refused", "requests refused"),
    ("return", "call unanswered at the end", "calls unanswered at the end"),
];

/// Returns everything that is not in the record, joined by semicolons; `None` if nothing is known to be missing.
pub(super) fn missing_line(run: &Run, summary: &Summary, unseen_files: Option<NotSeen>) -> Option<String> {
    let mut parts = gap_parts(run);
    parts.extend(unanswered_part(run));
    parts.extend(unseen_results_part(run, summary));
    if summary.withheld > 0 {
        let count = quantity::count(summary.withheld as u64, "payload");
        parts.push(format!(
            "{count} withheld (what a withheld tool got and gave is still in the requests to its model)"
        ));
    }
    parts.extend(unseen_files.map(|why| format!("which files changed ({why})")));
    let addresses = run.seen_addresses();
    if !addresses.is_empty() {
        parts.push(format!("also connected to {} (a sample)", addresses_text(&addresses)));
    }
    (!parts.is_empty()).then(|| format!("not recorded: {}", parts.join("; ")))
}

/// Returns the gaps, those of one kind together.
pub(super) fn gap_parts(run: &Run) -> Vec<String> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let gaps = run.events().filter(|event| event.kind() == Some(EventType::CaptureGap));
    for gap in gaps {
        let gap = gap.payload().value().map(CaptureGapView::read);
        let what = gap.and_then(|gap| gap.what.value()?.string()).unwrap_or_default();
        let kind = GAP_KINDS.iter().find(|(beginning, ..)| what.starts_with(beginning));
        *kinds
            .entry(kind.map_or(what.into_owned(), |(beginning, ..)| (*beginning).to_owned()))
            .or_default() += 1;
    }
    let named = |(what, count): (&String, &u64)| {
        let kind = GAP_KINDS.iter().find(|(beginning, ..)| what == beginning);
        match (kind, *count) {
            (Some((_, one, _)), 1) => format!("1 {one}"),
            (Some((_, _, several)), count) => format!("{} {several}", quantity::grouped(count)),
            (None, 1) => Shown::new(what).to_string(),
            (None, count) => format!("{} ({} times)", Shown::new(what), quantity::grouped(count)),
        }
    };
    let mut parts: Vec<String> = kinds.iter().take(MAX_KINDS).map(named).collect();
    if let more @ 1.. = kinds.len().saturating_sub(MAX_KINDS) {
        let what = if more == 1 { "kind" } else { "kinds" };
        parts.push(format!("{more} more {what} of gaps"));
    }
    parts
}

/// Returns how many requests got no answer and how many answers broke off, with the first error of the run. The agent's result
/// may be worthless then.
fn unanswered_part(run: &Run) -> Option<String> {
    let (mut unanswered, mut cut) = (0, 0);
    for answer in run.exchanges().filter_map(|exchange| exchange.answer().ok()) {
        match answer.status {
            None => unanswered += 1,
            Some(_) if !answer.complete => cut += 1,
            Some(_) => {}
        }
    }
    let mut problems = Vec::new();
    if unanswered > 0 {
        problems.push(format!("{} got no answer", quantity::count(unanswered, "request")));
    }
    if cut > 0 {
        problems.push(format!("{} broke off", quantity::count(cut, "answer")));
    }
    if problems.is_empty() {
        return None;
    }
    let error = run.events().find(|event| event.kind() == Some(EventType::ErrorRaised));
    let why = error.and_then(|error| error.payload().value()?.member("message")?.string());
    let why = why.map(|why| format!(": {}", Shown::whole(&why))).unwrap_or_default();
    Some(format!("{}{why}", problems.join(", ")))
}

/// Name of a tool, and the input of a call in canonical form.
type CallForm = (String, Vec<u8>);

/// Returns JSON in canonical form; as it is if it is none.
fn canonical_text(text: &[u8]) -> Vec<u8> {
    let parsed = Value::parse(text, &Limits::default()).ok();
    parsed.and_then(|value| canonical::to_vec(value, Jcs).ok()).unwrap_or_else(|| text.to_vec())
}

/// Returns how many tools the models asked for, and no result of which came by: an agent that tells results in words of its own,
/// or ends before, leaves no tool call in the record. `None` where a tool was denied, or a payload withheld: which calls those were,
/// no event says.
fn unseen_results_part(run: &Run, summary: &Summary) -> Option<String> {
    if summary.withheld > 0 || summary.kinds.contains_key(&Some(EventType::StepBlocked)) {
        return None;
    }
    let mut seen: BTreeMap<String, CallForm> = BTreeMap::new();
    for tool in run.tool_calls().filter(|tool| tool.returned.is_some()) {
        let Ok(call) = tool.call() else { continue };
        let input = call.input.as_ref().map(|input| canonical_text(input.text())).unwrap_or_default();
        let id = call.tool_call_id.unwrap_or_default().into_owned();
        seen.insert(id, (call.tool.into_owned(), input));
    }
    // An answer may be read twice, such as by a client that asks again.
    let mut asked: BTreeMap<String, CallForm> = BTreeMap::new();
    for exchange in run.exchanges() {
        let Some(message) = exchange.facts().message else { continue };
        for call in message.tool_calls {
            asked.insert(call.id, (call.name, canonical_text(call.input.as_bytes())));
        }
    }
    let mut unseen = asked;
    unseen.retain(|id, _| seen.remove(id).is_none());
    // Where a vendor gives calls no ids, as Gemini does, a client may make ids of its own: such a call is known by what it says.
    let mut renamed: Vec<CallForm> = seen.into_values().collect();
    unseen.retain(|_, form| match renamed.iter().position(|seen| seen == form) {
        Some(at) => {
            renamed.swap_remove(at);
            false
        }
        None => true,
    });
    match unseen.len() as u64 {
        0 => None,
        1 => Some("1 tool was asked for whose result was never seen".to_owned()),
        count => {
            Some(format!("{} tools were asked for whose results were never seen", quantity::grouped(count)))
        }
    }
}
