//! Largest output that a request asks for, so that the highest cost of a call is known before the call.
//!
//! Each interface has members of its own for that: [`Protocol::output_bound`](crate::protocol) reads them. A member
//! that cannot be read bounds nothing.

use reenact_json::{Value, ValueKind};

/// Largest output that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputBound {
    /// Largest number of output tokens of one answer; `None` if the request sets none, and the model's own limit
    /// counts.
    pub max_tokens: Option<u64>,
    /// Number of answers that are written, and charged.
    pub answers: u64,
    /// Name of the request member that sets `max_tokens`; empty if the interface has none.
    pub member: &'static str,
    /// Reason why the cost of the call can be neither bounded nor counted.
    pub uncountable: Option<&'static str>,
}

impl Default for OutputBound {
    /// One answer of any length.
    fn default() -> Self {
        Self { max_tokens: None, answers: 1, member: "", uncountable: None }
    }
}

impl OutputBound {
    /// Makes the bound of a request from the values of the members that limit its output, and of the one that asks for
    /// several answers. The largest limit counts.
    pub(crate) fn of<'v>(
        member: &'static str,
        limits: impl IntoIterator<Item = Option<Value<'v>>>,
        answers: Option<Value<'v>>,
    ) -> Self {
        let mut bound = Self { member, ..Self::default() };
        for limit in limits.into_iter().flatten().filter(|limit| !limit.is_null()) {
            match limit.unsigned_integer() {
                Some(tokens) => bound.max_tokens = Some(bound.max_tokens.unwrap_or_default().max(tokens)),
                // One that cannot be read may be the one that counts.
                None => return Self { max_tokens: None, ..bound }.with_answers(answers),
            }
        }
        bound.with_answers(answers)
    }

    /// Raises the number of answers to that of a further member, such as `best_of`: all are written, though not all are returned.
    pub(crate) fn and_answers(self, answers: Option<Value<'_>>) -> Self {
        let more = Self { answers: 1, ..self }.with_answers(answers);
        Self { answers: self.answers.max(more.answers), ..more }
    }

    /// Sets the number of answers.
    fn with_answers(self, answers: Option<Value<'_>>) -> Self {
        let Some(answers) = answers.filter(|answers| !answers.is_null()) else { return self };
        match answers.unsigned_integer() {
            Some(answers) => Self { answers: answers.max(1), ..self },
            None => {
                Self { uncountable: Some("the number of answers that it asks for cannot be read"), ..self }
            }
        }
    }

    /// Marks the call as one whose cost cannot be counted, if `is_so`.
    pub(crate) fn uncountable_if(self, is_so: bool, reason: &'static str) -> Self {
        Self { uncountable: self.uncountable.or(is_so.then_some(reason)), ..self }
    }
}

/// Returns true if a member is present, and is none of these words. `null` counts as absent.
pub(crate) fn is_other_than(value: Option<Value<'_>>, words: &[&str]) -> bool {
    value.is_some_and(|value| !value.is_null() && !words.iter().any(|word| value.is_string(word)))
}

/// Returns true if a member is present and neither `false` nor `null`.
pub(crate) fn is_set(value: Option<Value<'_>>) -> bool {
    value.is_some_and(|value| !value.is_null() && value.boolean() != Some(false))
}

/// Reason why an answer that is more than text cannot be counted.
pub(crate) const OTHER_MODALITY: &str =
    "sound and pictures in an answer have prices of their own, which are not in the table";

/// Returns true if a list of modalities, or one modality, names another than text.
pub(crate) fn has_other_modality(modalities: Option<Value<'_>>) -> bool {
    let is_text = |value: Value<'_>| value.string().is_some_and(|word| word.eq_ignore_ascii_case("text"));
    modalities.filter(|value| !value.is_null()).is_some_and(|value| match value.kind() {
        ValueKind::Array => !value.elements().all(is_text),
        _ => !is_text(value),
    })
}

#[cfg(test)]
mod tests {
    use crate::{Endpoint, exchange};

    fn bound(endpoint: Endpoint, body: &str) -> (Option<u64>, u64, Option<&'static str>) {
        let path = "/v1beta/models/m:generateContent";
        let bound = exchange::parse_request(endpoint, path, body.as_bytes()).unwrap().output;
        assert!(!bound.member.is_empty());
        (bound.max_tokens, bound.answers, bound.uncountable)
    }

    #[test]
    fn each_interface_has_its_own_members() {
        let chat = |body| bound(Endpoint::CHAT_COMPLETIONS, body);
        assert_eq!(chat("{}"), (None, 1, None));
        assert_eq!(chat(r#"{"max_tokens":9}"#), (Some(9), 1, None));
        assert_eq!(chat(r#"{"max_tokens":9,"max_completion_tokens":12,"n":3}"#), (Some(12), 3, None));
        assert_eq!(chat(r#"{"max_tokens":9,"n":2,"best_of":5}"#), (Some(9), 5, None));
        assert_eq!(chat(r#"{"max_tokens":9,"n":2,"best_of":null}"#), (Some(9), 2, None));
        assert_eq!(chat(r#"{"max_tokens":null,"n":null,"max_output_tokens":3}"#), (None, 1, None));
        let responses = |body| bound(Endpoint::RESPONSES, body);
        assert_eq!(responses(r#"{"max_output_tokens":9,"n":3,"max_tokens":1}"#), (Some(9), 1, None));
        assert_eq!(
            responses(r#"{"max_tokens":9}"#),
            (None, 1, None),
            "it is the member of another interface"
        );
        let messages = |body| bound(Endpoint::MESSAGES, body);
        assert_eq!(messages(r#"{"max_tokens":9,"n":3}"#), (Some(9), 1, None));
        let gemini = |body| bound(Endpoint::GENERATE_CONTENT, body);
        let both = r#"{"generationConfig":{"maxOutputTokens":9},"generation_config":{"max_output_tokens":8,"candidate_count":2}}"#;
        assert_eq!(gemini(both), (Some(9), 2, None));
        assert_eq!(gemini(r#"{"maxOutputTokens":9}"#), (None, 1, None));
    }

    /// What cannot be read bounds nothing.
    #[test]
    fn unreadable_limits() {
        for limit in ["\"9\"", "-1", "9.5", "[9]", "{}", "true"] {
            let body = format!(r#"{{"max_tokens":{limit},"max_completion_tokens":5}}"#);
            assert_eq!(bound(Endpoint::CHAT_COMPLETIONS, &body), (None, 1, None), "{body}");
            let (_, answers, uncountable) = bound(Endpoint::CHAT_COMPLETIONS, &format!(r#"{{"n":{limit}}}"#));
            assert_eq!((answers, uncountable.is_some()), (1, true), "{limit}");
            let tried = bound(Endpoint::CHAT_COMPLETIONS, &format!(r#"{{"n":3,"best_of":{limit}}}"#));
            assert_eq!((tried.1, tried.2.is_some()), (3, true), "{limit}");
        }
    }

    #[test]
    fn answers_that_nobody_counts() {
        let is_uncountable = |endpoint, body| bound(endpoint, body).2.is_some();
        for (endpoint, body, due) in [
            (Endpoint::RESPONSES, r#"{"background":true}"#, true),
            (Endpoint::RESPONSES, r#"{"background":"yes"}"#, true),
            (Endpoint::RESPONSES, r#"{"background":false}"#, false),
            (Endpoint::RESPONSES, r#"{"background":null,"service_tier":"default"}"#, false),
            (Endpoint::RESPONSES, r#"{"service_tier":"priority"}"#, true),
            (Endpoint::CHAT_COMPLETIONS, r#"{"service_tier":"priority"}"#, true),
            (Endpoint::CHAT_COMPLETIONS, r#"{"service_tier":"flex"}"#, false),
            (Endpoint::CHAT_COMPLETIONS, r#"{"deferred":true}"#, true),
            (Endpoint::CHAT_COMPLETIONS, r#"{"modalities":["text"]}"#, false),
            (Endpoint::CHAT_COMPLETIONS, r#"{"modalities":["text","audio"]}"#, true),
            (Endpoint::CHAT_COMPLETIONS, r#"{"modalities":"audio"}"#, true),
            (Endpoint::GENERATE_CONTENT, r#"{"serviceTier":"standard"}"#, false),
            (Endpoint::GENERATE_CONTENT, r#"{"serviceTier":"FLEX"}"#, false),
            (Endpoint::GENERATE_CONTENT, r#"{"serviceTier":"priority"}"#, true),
            (Endpoint::GENERATE_CONTENT, r#"{"service_tier":"priority"}"#, true),
            (Endpoint::GENERATE_CONTENT, r#"{"generationConfig":{"responseModalities":["TEXT"]}}"#, false),
            (Endpoint::GENERATE_CONTENT, r#"{"generationConfig":{"responseModalities":["IMAGE"]}}"#, true),
            (Endpoint::GENERATE_CONTENT, r#"{"generation_config":{"response_modalities":["AUDIO"]}}"#, true),
            (Endpoint::MESSAGES, r#"{"speed":"fast"}"#, true),
            (Endpoint::MESSAGES, r#"{"speed":"standard","service_tier":"auto"}"#, false),
            (Endpoint::MESSAGES, r#"{"inference_geo":"us"}"#, true),
        ] {
            assert_eq!(is_uncountable(endpoint, body), due, "{body}");
        }
    }
}
