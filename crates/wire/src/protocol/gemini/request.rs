//! Parser for requests: the model in the path, the tools, and the conversation.
//!
//! The vendor accepts members in both spellings, such as `functionCall` and `function_call`.

use reenact_json::{Value, ValueKind};

use super::read;
use super::vendor::model_and_verb;
use crate::call_ids::CallIds;
use crate::exchange::{ParsedRequest, string_text};
use crate::message::{ToolCall, ToolResult};
use crate::output_bound::{OTHER_MODALITY, OutputBound, has_other_modality};
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
    let system = member_in_either_case(document, "systemInstruction", "system_instruction");
    let mut request =
        ParsedRequest { model: named.map(|(model, _)| model), delivery, ..ParsedRequest::default() };
    let mut call_ids = None;
    // Calls without a result so far.
    let mut open: Vec<ToolCall> = Vec::new();
    // An instruction should have no results in it, and is looked through all the same.
    for content in objects(contents).chain(objects(system)) {
        let ids = call_ids.get_or_insert_with(|| CallIds::of_message(content));
        let parts = || objects(content.member("parts"));
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
            request.tool_results.push(tool_result(response, &mut open));
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
    let mut tiers = document.select_members(["serviceTier", "service_tier"]).into_iter().flatten();
    let modalities = values("responseModalities", "response_modalities").into_iter().flatten();
    OutputBound::of(
        "generationConfig.maxOutputTokens",
        values("maxOutputTokens", "max_output_tokens").into_iter().flatten(),
        answers,
    )
    .uncountable_if(
        tiers.any(|tier| !is_listed_tier(tier)),
        "its `serviceTier` has prices of its own, which are not in the table",
    )
    .uncountable_if(modalities.flatten().any(|list| has_other_modality(Some(list))), OTHER_MODALITY)
}

/// Returns true if a `serviceTier` is one of those that cost the list price, or less. Google reads their names in either case.
fn is_listed_tier(tier: Value<'_>) -> bool {
    let listed = ["unspecified", "standard", "flex"];
    tier.is_null()
        || tier.string().is_some_and(|tier| listed.iter().any(|name| tier.eq_ignore_ascii_case(name)))
}

/// Returns true if the query asks for server-sent events.
fn asks_for_events(path: &str) -> bool {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| pair.eq_ignore_ascii_case("alt=sse"))
}

/// Returns the elements of a list. Some clients send one content or part instead of a list, which then is the only element.
fn objects(list: Option<Value<'_>>) -> impl Iterator<Item = Value<'_>> {
    let one = list.filter(|list| list.kind() == ValueKind::Object);
    list.into_iter().flat_map(|list| list.elements()).chain(one)
}

/// Returns a result with the id of its call: the id that it names, or that of the first call of the same tool
/// without a result. If the conversation has no such call, the name of the tool serves as id.
fn tool_result(response: Value<'_>, open: &mut Vec<ToolCall>) -> ToolResult {
    let [id, name, output] = response.select_members(["id", "name", "response"]);
    let name = string_text(name).unwrap_or_default();
    let id = string_text(id).filter(|id| !id.is_empty());
    let found = open.iter().position(|call| match &id {
        Some(id) => call.id == *id,
        None => call.name == name,
    });
    let call = found.map(|at| open.remove(at).id);
    let is_error = output.is_some_and(|output| output.member("error").is_some_and(|error| !error.is_null()));
    ToolResult {
        id: id.or(call).unwrap_or(name),
        output: output.map(result_text).unwrap_or_default(),
        is_error,
    }
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
