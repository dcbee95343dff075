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

/// Returns the last text of the user in the body of a request: the input, or the text of the last message that is the user's and
/// has one; `None` if there is none.
///
/// In contrast to [`user_prompts`], a model and its tools may have spoken since: the text is the question that the model is still
/// at work on. Results of tools are no text of the user's.
pub fn last_user_text(document: Value<'_>) -> Option<String> {
    conversation_members().into_iter().find_map(|name| {
        let conversation = document.member(name)?;
        if let Some(text) = conversation.string() {
            return Some(text.into_owned());
        }
        let messages: Vec<Value<'_>> = conversation.elements().collect();
        let contents = messages.into_iter().rev().filter(|message| is_users_turn(*message));
        let mut contents =
            contents.filter_map(|message| message.member("content").or_else(|| message.member("parts")));
        contents.find_map(content_text)
    })
}

/// Returns true for a message of the user. Gemini leaves out the role of a single turn.
fn is_users_turn(message: Value<'_>) -> bool {
    match message.member("role") {
        Some(role) => role.is_string("user"),
        None => message.member("parts").is_some(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    fn last(body: &str) -> Option<String> {
        last_user_text(Value::parse(body.as_bytes(), &Limits::default()).unwrap())
    }

    #[test]
    fn the_last_text_of_the_user_in_each_vendors_form() {
        for body in [
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"old"},{"role":"user","content":"ask"}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"sk"}]}]}"#,
            r#"{"input":"ask"}"#,
            r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"ask"}]}]}"#,
            r#"{"contents":[{"parts":[{"text":"ask"}]}]}"#,
            r#"{"contents":[{"role":"user","parts":[{"text":"ask"}]},{"role":"model","parts":[{"text":"yes"}]}]}"#,
            r#"{"prompt":"ask"}"#,
        ] {
            assert_eq!(last(body).as_deref(), Some("ask"), "{body}");
        }
    }

    #[test]
    fn tools_do_not_end_the_question() {
        for body in [
            r#"{"messages":[{"role":"user","content":"ask"},{"role":"assistant","tool_calls":[]},{"role":"tool","content":"gave"}]}"#,
            r#"{"messages":[{"role":"user","content":"ask"},{"role":"assistant","content":[]},{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"gave"}]}]}]}"#,
            r#"{"input":[{"role":"user","content":"ask"},{"type":"function_call_output","output":"gave"}]}"#,
            r#"{"contents":[{"role":"user","parts":[{"text":"ask"}]},{"role":"user","parts":[{"functionResponse":{"response":{}}}]}]}"#,
        ] {
            assert_eq!(last(body).as_deref(), Some("ask"), "{body}");
        }
    }

    #[test]
    fn a_request_without_a_text_of_the_user_has_no_prompt() {
        for body in [
            r#"{"messages":[{"role":"assistant","content":"x"}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"image"}]}]}"#,
            r#"{"input":["a","b"]}"#,
            r#"{"model":"m"}"#,
            "[]",
        ] {
            assert_eq!(last(body), None, "{body}");
        }
    }
}
