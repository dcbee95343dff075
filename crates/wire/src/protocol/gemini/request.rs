//! Requests: the model of the path, the tools, and the conversation.
//!
//! Members may be spelled `functionCall` or `function_call`: the vendor takes both.

use reenact_json::{Jcs, Kind, Value, canonical};

use super::read;
use super::vendor::model_and_verb;
use crate::call_ids::CallIds;
use crate::exchange::{Request, text};
use crate::message::{ToolCall, ToolResult};
use crate::protocol::Delivery;
use crate::vendor::route;

/// A member by either of its spellings.
fn either<'a>(value: Value<'a>, camel: &str, snake: &str) -> Option<Value<'a>> {
    let [camel, snake] = value.pick([camel, snake]);
    camel.or(snake)
}

pub(super) fn read(path: &str, document: Value<'_>) -> Request {
    let named = model_and_verb(route(path));
    let delivery = match &named {
        Some((_, "streamGenerateContent")) if asks_for_events(path) => Delivery::Events,
        Some((_, "streamGenerateContent")) => Delivery::List,
        _ => Delivery::Document,
    };
    let contents = document.member("contents");
    let mut request = Request {
        model: named.map(|(model, _)| model),
        delivery,
        vendor_tools: vendor_tools(document),
        ..Request::default()
    };
    // Some clients send one content that is no list.
    let one = contents.filter(|contents| contents.kind() == Kind::Object);
    let contents = contents.into_iter().flat_map(|contents| contents.elements()).chain(one);
    let mut call_ids = None;
    // Calls that no result has come for.
    let mut open: Vec<ToolCall> = Vec::new();
    for content in contents {
        let ids = call_ids.get_or_insert_with(|| CallIds::of(&beginning(content)));
        let parts = || content.member("parts").into_iter().flat_map(|parts| parts.elements());
        let mut calls: Vec<ToolCall> = parts()
            .filter_map(|part| either(part, "functionCall", "function_call"))
            .map(read::call)
            .filter(|call| !call.name.is_empty())
            .collect();
        ids.fill(&mut calls);
        open.extend(calls.iter().cloned());
        request.earlier_calls.append(&mut calls);
        for response in parts().filter_map(|part| either(part, "functionResponse", "function_response")) {
            request.tool_results.extend(result(response, &mut open));
        }
    }
    request.call_ids = Some(call_ids.unwrap_or_default());
    request
}

/// Returns true if a query asks for server-sent events.
fn asks_for_events(path: &str) -> bool {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| pair.eq_ignore_ascii_case("alt=sse"))
}

/// The first content of a conversation, whatever its spelling: all requests of one conversation begin with it.
fn beginning(content: Value<'_>) -> Vec<u8> {
    canonical::to_vec(content, Jcs).unwrap_or_else(|_| content.text().to_vec())
}

/// A result, with the id of its call: the one that it names, or the first call of the same tool that has no result yet. A result of
/// a call that is not in the conversation is named after its tool.
fn result(response: Value<'_>, open: &mut Vec<ToolCall>) -> Option<ToolResult> {
    let [id, name, output] = response.pick(["id", "name", "response"]);
    let name = text(name)?;
    let id = text(id).filter(|id| !id.is_empty());
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

/// The words of a response: the JSON of it, or the text under `result` or `output`, which is how clients hand over a text.
fn result_text(output: Value<'_>) -> String {
    if output.members().count() == 1
        && let [Some(word), None] | [None, Some(word)] = output.pick(["result", "output"])
        && let Some(word) = text(Some(word))
    {
        return word;
    }
    String::from_utf8_lossy(output.text()).into_owned()
}

/// Tools that the vendor runs: each member of a tool but the functions, and what has the agent act. What the vendor keeps may bring
/// tools that the request does not name.
fn vendor_tools(document: Value<'_>) -> Vec<String> {
    const AGENTS_OWN: [&str; 4] =
        ["functionDeclarations", "function_declarations", "computerUse", "computer_use"];
    let mut names = Vec::new();
    let tools = document.member("tools");
    let one = tools.filter(|tools| tools.kind() == Kind::Object);
    for tool in tools.into_iter().flat_map(|tools| tools.elements()).chain(one) {
        let members = tool.members().filter(|(_, value)| !value.is_null());
        let members = members.filter_map(|(name, _)| text(Some(name)));
        names.extend(members.filter(|name| !AGENTS_OWN.contains(&name.as_str())));
    }
    if let Some(cached) =
        either(document, "cachedContent", "cached_content").filter(|cached| !cached.is_null())
    {
        names.push(format!("cachedContent:{}", text(Some(cached)).unwrap_or_default()));
    }
    names
}
