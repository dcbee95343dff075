//! Parts of a request by who wrote them: the model, the agent's tools, or anybody else.
//!
//! A replay must know: what a model said before is equal in every run, since its answers are the recorded ones, while
//! results of tools come from programs that ran again. Start reading at [`request_parts`].

use reenact_json::{Limits, Value};

use crate::protocol::Endpoint;

/// Parts of a request, as spans of its body.
#[derive(Debug, Clone, Default)]
pub struct RequestParts<'d> {
    /// Messages of the conversation, in order.
    pub messages: Vec<Value<'d>>,
    /// Parts that a model wrote, and that the request repeats as history.
    pub answers: Vec<Value<'d>>,
    /// Contents of results of tools and their marks of failure, without the ids of their calls.
    pub tool_results: Vec<Value<'d>>,
}

/// Returns the parts of a request to an interface; none for an interface without conversations.
pub fn request_parts(endpoint: Endpoint, document: Value<'_>) -> RequestParts<'_> {
    endpoint.protocol().request_parts(document)
}

/// Returns the members of requests to an interface that change no answer and differ from run to run, as patterns of paths.
pub fn varying_members(endpoint: Endpoint) -> &'static [&'static str] {
    endpoint.protocol().varying_members()
}

impl<'d> RequestParts<'d> {
    /// Returns the parts of a conversation whose messages name their role.
    ///
    /// Messages for which `is_answer` holds are answers as a whole; `results` finds the contents of results in the others.
    pub(crate) fn of_messages<R: IntoIterator<Item = Value<'d>>>(
        messages: Option<Value<'d>>,
        is_answer: impl Fn(Value<'d>) -> bool,
        results: impl Fn(Value<'d>) -> R,
    ) -> Self {
        let mut parts = Self::default();
        for message in messages.into_iter().flat_map(|messages| messages.elements()) {
            parts.messages.push(message);
            if is_answer(message) {
                parts.answers.push(message);
            } else {
                parts.tool_results.extend(results(message));
            }
        }
        parts
    }
}

/// Returns true if a message names this role.
pub(crate) fn has_role(message: Value<'_>, role: &str) -> bool {
    message.member("role").is_some_and(|found| found.is_string(role))
}

/// Parses the body of a request for its parts; `None` if it is no JSON.
pub fn parse_parts(endpoint: Endpoint, body: &[u8]) -> Option<RequestParts<'_>> {
    Some(request_parts(endpoint, Value::parse(body, &Limits::default()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns answers and results of a body, as text.
    fn parts(endpoint: Endpoint, body: &str) -> (usize, Vec<String>, Vec<String>) {
        let parts = parse_parts(endpoint, body.as_bytes()).unwrap();
        let texts = |values: Vec<Value<'_>>| {
            values.iter().map(|value| String::from_utf8_lossy(value.text()).into_owned()).collect()
        };
        (parts.messages.len(), texts(parts.answers), texts(parts.tool_results))
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn of_every_interface_with_a_conversation() {
        let said = r#"{"role":"assistant","content":"hm","tool_calls":[{"id":"c1"}]}"#;
        assert_eq!(
            parts(
                Endpoint::CHAT_COMPLETIONS,
                &format!(
                    r#"{{"messages":[{{"role":"user","content":"u"}},{said},{{"role":"tool","tool_call_id":"c1","content":"out"}},{{"role":"function","name":"f","content":"old"}}]}}"#
                )
            ),
            (4, strings(&[said]), strings(&["\"out\"", "\"old\""]))
        );
        let call = r#"{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}"#;
        let message = r#"{"type":"message","role":"assistant","content":[]}"#;
        assert_eq!(
            parts(
                Endpoint::RESPONSES,
                &format!(
                    r#"{{"input":[{{"role":"user","content":"u"}},{{"type":"reasoning"}},{call},{{"type":"function_call_output","call_id":"c1","output":"out"}},{message}]}}"#
                )
            ),
            (5, strings(&[r#"{"type":"reasoning"}"#, call, message]), strings(&["\"out\""]))
        );
        assert_eq!(parts(Endpoint::RESPONSES, r#"{"input":"hello"}"#), (0, vec![], vec![]));
        let said = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1"}]}"#;
        assert_eq!(
            parts(
                Endpoint::MESSAGES,
                &format!(
                    r#"{{"messages":[{{"role":"user","content":"u"}},{said},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":[{{"type":"text","text":"out"}}],"is_error":false}},{{"type":"text","text":"more"}}]}}]}}"#
                )
            ),
            (3, strings(&[said]), strings(&[r#"[{"type":"text","text":"out"}]"#, "false"]))
        );
        let said = r#"{"role":"model","parts":[{"functionCall":{"name":"f"}}]}"#;
        assert_eq!(
            parts(
                Endpoint::GENERATE_CONTENT,
                &format!(
                    r#"{{"contents":[{{"role":"user","parts":[{{"text":"u"}}]}},{said},{{"role":"user","parts":[{{"functionResponse":{{"name":"f","response":{{"output":"out"}}}}}}]}}]}}"#
                )
            ),
            (3, strings(&[said]), strings(&[r#"{"output":"out"}"#]))
        );
        assert_eq!(parts(Endpoint::EMBEDDINGS, r#"{"input":["a","b"]}"#), (0, vec![], vec![]));
    }

    #[test]
    fn what_varies_is_a_list_of_paths() {
        for endpoint in crate::PROTOCOLS {
            for path in varying_members(endpoint) {
                assert!(path.parse::<reenact_json::path_pattern::PathPattern>().is_ok(), "{path}");
            }
        }
    }
}
