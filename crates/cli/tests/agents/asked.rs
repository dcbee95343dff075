//! What a vendor was asked, and what a record says of it.

use reenact_run::{ExchangeKind, Run};
use reenact_testkit::VendorRequest;

use crate::masked::is_recorded_as;

/// Request of a record.
pub(crate) struct RecordedRequest {
    is_model_call: bool,
    method: String,
    path: String,
    body: Vec<u8>,
}

/// Returns all requests of a run.
pub(crate) fn recorded_requests(run: &Run) -> Vec<RecordedRequest> {
    let requests = run.exchanges().map(|exchange| {
        let request = exchange.request().unwrap();
        RecordedRequest {
            is_model_call: exchange.kind == ExchangeKind::Model,
            method: request.method.into_owned(),
            path: request.path.into_owned(),
            body: request.body.bytes().to_vec(),
        }
    });
    requests.collect()
}

/// Returns the number of model calls among the requests of a record.
pub(crate) fn recorded_calls(requests: &[RecordedRequest]) -> usize {
    requests.iter().filter(|request| request.is_model_call).count()
}

/// Returns the number of model calls that a vendor received.
pub(crate) fn calls_made(requests: &[VendorRequest]) -> usize {
    requests.iter().filter(|request| is_model_call(request)).count()
}

/// Returns true if a request asks a model: those that name one and carry a conversation.
fn is_model_call(request: &VendorRequest) -> bool {
    let body = request.json();
    request.method == "POST" && ["messages", "input", "contents"].iter().any(|name| !body[name].is_null())
}

/// Returns the requests that a vendor received and that are not in the record, each of which holds a request once.
pub(crate) fn not_recorded(made: &[VendorRequest], mut recorded: Vec<RecordedRequest>) -> Vec<String> {
    let mut missing = Vec::new();
    for request in made {
        let body = String::from_utf8_lossy(&request.body);
        let is_it = |found: &RecordedRequest| {
            found.method == request.method
                && is_recorded_as(&request.path, &found.path)
                && is_recorded_as(&body, &String::from_utf8_lossy(&found.body))
        };
        match recorded.iter().position(is_it) {
            Some(at) => drop(recorded.swap_remove(at)),
            None => missing.push(format!("{} {} of {} bytes", request.method, request.path, body.len())),
        }
    }
    missing
}

/// Returns what is asked, without what differs from run to run: path, model, and the names of the tools. Sorted, because agents
/// ask several things at once.
pub(crate) fn shapes(made: &[VendorRequest]) -> Vec<String> {
    let shape = |request: &VendorRequest| {
        let model = request.parsed().model.unwrap_or_default();
        let mut tools = Vec::new();
        tool_names(&request.json(), &mut tools);
        format!("{} {} {model} [{}]", request.method, request.path, tools.join(" "))
    };
    let mut shapes: Vec<String> = made.iter().filter(|request| is_model_call(request)).map(shape).collect();
    shapes.sort_unstable();
    shapes
}

/// Appends the names of all tools that a request describes, at any depth.
fn tool_names(value: &serde_json::Value, names: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| tool_names(item, names)),
        serde_json::Value::Object(members) => {
            if let (Some(name), true) = (members.get("name"), members.contains_key("description")) {
                names.extend(name.as_str().map(str::to_owned));
            }
            members.values().for_each(|member| tool_names(member, names));
        }
        _ => {}
    }
}
