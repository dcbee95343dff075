//! What a request asks, whichever interface it speaks: the member that holds the conversation, and the last words of the user.
//!
//! Records of others do not always say which interface was spoken, so that all members that some row names are looked for.

use std::borrow::Cow;

use reenact_json::Value;

use crate::protocol::PROTOCOLS;

/// The members that hold a conversation, in the order of the table.
fn members() -> Vec<&'static str> {
    let mut members = Vec::new();
    for name in PROTOCOLS.iter().flat_map(|endpoint| endpoint.row().conversation()) {
        if !members.contains(name) {
            members.push(*name);
        }
    }
    members
}

/// The conversation in the body of a request.
pub fn conversation<'d>(document: Value<'d>) -> Option<Value<'d>> {
    members().into_iter().find_map(|name| document.member(name))
}

/// What may be called the prompt of a request: the words of the last message if it is the user's, or of the input. Once a model or a
/// tool has spoken after them, they are no longer what is asked.
pub fn prompts(document: Value<'_>) -> Vec<String> {
    let mut prompts = Vec::new();
    for name in members() {
        let Some(said) = document.member(name) else { continue };
        if let Some(text) = said.string() {
            prompts.push(text.into_owned());
            continue;
        }
        let is_users =
            |message: &Value<'_>| message.member("role").is_some_and(|role| role.is_string("user"));
        let last = said.elements().last().filter(is_users);
        let last = last.and_then(|message| message.member("content").or_else(|| message.member("parts")));
        prompts.extend(last.filter(|content| !content.elements().any(is_result)).and_then(words));
    }
    prompts
}

/// Returns true for a part that hands over the result of a tool.
fn is_result(part: Value<'_>) -> bool {
    part.member("type").is_some_and(|kind| kind.is_string("tool_result"))
        || part.member("functionResponse").is_some()
}

/// The words of a content: a string, or a list of parts.
fn words(content: Value<'_>) -> Option<String> {
    if let Some(text) = content.string() {
        return Some(text.into_owned());
    }
    let texts = content.elements().filter_map(|part| part.member("text")?.string().map(Cow::into_owned));
    let words: String = texts.collect();
    (!words.is_empty()).then_some(words)
}
