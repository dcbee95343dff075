//! Parser for requests: the model in the path, the tools, and the conversation.
//!
//! The vendor accepts members in both spellings, such as `functionCall` and `function_call`.

use reenact_json::{Jcs, Value, ValueKind, canonical};

use super::read;
use super::vendor::model_and_verb;
use crate::call_ids::CallIds;
use crate::exchange::{ParsedRequest, string_text};
use crate::message::{ToolCall, ToolResult};
use crate::output_bound::OutputBound;
use crate::protocol::Delivery;
use crate::vendor::path_without_query;

/// Returns a member by either of its spellings.
fn member_in_either_case<'a>(value: Value<'a>, camel: &str, snake: &str) -> Option<Value<'a>> {
    let [camel, snake] = value.select_members([camel, snake]);
    camel.or(snake)
}

/// Parses a request: the model of its path, and from its contents the earlier calls and their results. Calls
/// without ids get some.
pub(super) fn parse(path: &str, document: Value<'_>) -> ParsedRequest {
    let named = model_and_verb(path_without_query(path));
    let delivery = match &named {
        Some((_, "streamGenerateContent")) if asks_for_events(path) => Delivery::Events,
        Some((_, "streamGenerateContent")) => Delivery::List,
        _ => Delivery::Document,
    };
    let contents = document.member("contents");
    let mut request =
        ParsedRequest { model: named.map(|(model, _)| model), delivery, ..ParsedRequest::default() };
    // Some clients send one content instead of a list.
    let one = contents.filter(|contents| contents.kind() == ValueKind::Object);
    let contents = contents.into_iter().flat_map(|contents| contents.elements()).chain(one);
    let mut call_ids = None;
    // Calls without a result so far.
    let mut open: Vec<ToolCall> = Vec::new();
    for content in contents {
        let ids = call_ids.get_or_insert_with(|| CallIds::of(&first_content(content)));
        let parts = || content.member("parts").into_iter().flat_map(|parts| parts.elements());
        let mut calls: Vec<ToolCall> = parts()
            .filter_map(|part| member_in_either_case(part, "functionCall", "function_call"))
            .map(read::tool_call)
            .filter(|call| !call.name.is_empty())
            .collect();
        ids.fill(&mut calls);
        open.extend(calls.iter().cloned());
        request.earlier_calls.append(&mut calls);
        for response in
            parts().filter_map(|part| member_in_either_case(part, "functionResponse", "function_response"))
        {
            request.tool_results.extend(tool_result(response, &mut open));
        }
    }
    request.call_ids = Some(call_ids.unwrap_or_default());
    request
}

/// Returns the largest output that a request asks for. If a member comes in both spellings, the larger value counts.
pub(super) fn output_bound(document: Value<'_>) -> OutputBound {
    let configs = document.select_members(["generationConfig", "generation_config"]);
    let values = |camel: &str, snake: &str| {
        configs.map(|config| config.map(|config| config.select_members([camel, snake])).unwrap_or_default())
    };
    let counts = values("candidateCount", "candidate_count");
    let answers = counts.into_iter().flatten().flatten().filter(|count| !count.is_null());
    let answers = answers.max_by_key(|count| count.unsigned_integer().unwrap_or(u64::MAX));
    OutputBound::of(
        "generationConfig.maxOutputTokens",
        values("maxOutputTokens", "max_output_tokens").into_iter().flatten(),
        answers,
    )
}

/// Returns true if the query asks for server-sent events.
fn asks_for_events(path: &str) -> bool {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| pair.eq_ignore_ascii_case("alt=sse"))
}

/// Returns the canonical form of a conversation's first content, from which call ids are derived. All requests
/// of one conversation begin with it.
fn first_content(content: Value<'_>) -> Vec<u8> {
    canonical::to_vec(content, Jcs).unwrap_or_else(|_| content.text().to_vec())
}

/// Returns a result with the id of its call: the id that it names, or that of the first call of the same tool
/// without a result. If the conversation has no such call, the name of the tool serves as id.
fn tool_result(response: Value<'_>, open: &mut Vec<ToolCall>) -> Option<ToolResult> {
    let [id, name, output] = response.select_members(["id", "name", "response"]);
    let name = string_text(name)?;
    let id = string_text(id).filter(|id| !id.is_empty());
    let found = open.iter().position(|call| match &id {
        Some(id) => call.id == *id,
        None => call.name == name,
    });
    let call = found.map(|at| open.remove(at).id);
    let is_error = output.is_some_and(|output| output.member("error").is_some_and(|error| !error.is_null()));
    Some(ToolResult {
        id: id.or(call).unwrap_or(name),
        output: output.map(result_text).unwrap_or_default(),
        is_error,
    })
}

/// Returns the text of a response: the value of a lone `result` or `output` string, which is how clients hand
/// over a text, or else the JSON.
fn result_text(output: Value<'_>) -> String {
    if output.members().count() == 1
        && let [Some(word), None] | [None, Some(word)] = output.select_members(["result", "output"])
        && let Some(word) = string_text(Some(word))
    {
        return word;
    }
    String::from_utf8_lossy(output.text()).into_owned()
}
