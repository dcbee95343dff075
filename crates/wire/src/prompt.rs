//! The user's words in a request, for any interface.
//!
//! Foreign records do not always say which interface was spoken. So every member that some row of [`PROTOCOLS`]
//! names as its conversation is looked for. Start reading at [`user_prompts`].

use std::borrow::Cow;

use reenact_json::Value;

use crate::protocol::PROTOCOLS;

/// Returns the names of the members that hold a conversation, in the order of the table, without repetition.
fn conversation_members() -> Vec<&'static str> {
    let mut members = Vec::new();
    for name in PROTOCOLS.iter().flat_map(|endpoint| endpoint.protocol().conversation_members()) {
        if !members.contains(name) {
            members.push(*name);
        }
    }
    members
}

/// Returns the conversation in the body of a request: the first such member that the document has.
pub fn conversation<'d>(document: Value<'d>) -> Option<Value<'d>> {
    conversation_members().into_iter().find_map(|name| document.member(name))
}

/// Returns the texts that may be called the prompt of a request: the input, or the last message if it is the
/// user's.
///
/// Earlier words of the user are left out: once a model or a tool has spoken after them, they are no longer the
/// question.
pub fn user_prompts(document: Value<'_>) -> Vec<String> {
    let mut prompts = Vec::new();
    for name in conversation_members() {
        let Some(conversation) = document.member(name) else { continue };
        if let Some(text) = conversation.string() {
            prompts.push(text.into_owned());
            continue;
        }
        let is_users =
            |message: &Value<'_>| message.member("role").is_some_and(|role| role.is_string("user"));
        let last = conversation.elements().last().filter(is_users);
        let last = last.and_then(|message| message.member("content").or_else(|| message.member("parts")));
        prompts.extend(last.filter(|content| !content.elements().any(is_tool_result)).and_then(content_text));
    }
    prompts
}

/// Returns true for a part that hands over the result of a tool.
fn is_tool_result(part: Value<'_>) -> bool {
    part.member("type").is_some_and(|kind| kind.is_string("tool_result"))
        || part.member("functionResponse").is_some()
}

/// Returns the text of a content, which is a string or a list of parts; `None` if the parts have no text.
fn content_text(content: Value<'_>) -> Option<String> {
    if let Some(text) = content.string() {
        return Some(text.into_owned());
    }
    let texts = content.elements().filter_map(|part| part.member("text")?.string().map(Cow::into_owned));
    let words: String = texts.collect();
    (!words.is_empty()).then_some(words)
}
