//! Mask for an `.rpk` that is handed on: the policy of the format's own programs, and our rules for secrets.
//!
//! Their policy knows 13 names and nine patterns, and misses most keys of today; ours knows keys, and no mail addresses or
//! card numbers. Texts of a run are often JSON or an event stream in themselves, such as the body of a request. The
//! patterns then go over their values alone: one of them takes any word with `token` in it, so that it would mask the
//! names `prompt_tokens_details` and `completion_tokens_details` to one and the same. Start reading at [`RpkSecretMask`].

use std::cell::RefCell;

use reenact_formats::rpk::bundle::{MASK_TEXT, RpkMask, RpkMaskPolicy};
use reenact_formats::rpk::mask::{DEFAULT_POLICY, DefaultMask};
use reenact_json::writer::ObjectWriter;
use reenact_json::{Limits, Value, ValueKind, canonical};
use reenact_secrets::{Redactor, RulePack};

/// Names whose value is a secret, beside those of the format's own policy.
const MORE_SECRET_NAMES: [&str; 8] = [
    "x-goog-api-key",
    "x-amz-security-token",
    "client_secret",
    "private_key",
    "secret_key",
    "access_key",
    "id_token",
    "passwd",
];

/// Names of the environment under which our recorder keeps folders of the machine, most often with the name of its user in them.
const FOLDER_NAMES: [&str; 3] = ["folder", "home", "temp"];

/// Beginning of the mark that masks a secret while a run is recorded.
const MARK_START: &str = "[masked:";

/// Longest mark, in bytes.
const MAX_MARK_BYTES: usize = 100;

/// Largest depth of JSON inside of strings of JSON that is masked by its members.
const MAX_NESTED_JSON: u8 = 3;

/// Mask of secrets by both policies.
pub struct RpkSecretMask {
    /// Remembers which value has which number, so it changes with each text.
    redactor: RefCell<Redactor>,
    version: String,
}

impl RpkSecretMask {
    /// Makes the mask for a document. Marks that are in it keep their numbers.
    pub fn new(document: &[u8]) -> Self {
        let pack = RulePack::standard();
        let version = format!("{}+{}", DEFAULT_POLICY.version, pack.name());
        let mut redactor = Redactor::new(pack);
        redactor.reserve_numbers(document, &[]);
        Self { redactor: RefCell::new(redactor), version }
    }

    /// Returns the policy as bundles name it: that of the format's own programs, with our rules as an addition.
    pub fn policy(&self) -> RpkMaskPolicy<'_> {
        RpkMaskPolicy { profile: DEFAULT_POLICY.profile, version: &self.version }
    }
}

impl RpkMask for RpkSecretMask {
    fn is_secret(&self, name: &str) -> bool {
        DefaultMask.is_secret(name) || MORE_SECRET_NAMES.contains(&name.to_lowercase().as_str())
    }

    fn masked(&self, name: Option<&str>, text: &str) -> Option<String> {
        // Our rules see the whole text: they know which words belong together in JSON and in a stream.
        let mut redactor = self.redactor.borrow_mut();
        let redacted = redactor.redact(text.as_bytes());
        let ours = (!redacted.masked_spans.is_empty())
            .then(|| String::from_utf8_lossy(&redacted.bytes).into_owned());
        drop(redactor);
        let both = self.masked_by_patterns(name, ours.as_deref().unwrap_or(text), MAX_NESTED_JSON);
        both.or(ours)
    }

    fn is_machine_name(&self, name: &str) -> bool {
        FOLDER_NAMES.contains(&name)
    }
}

impl RpkSecretMask {
    /// Masks by names and patterns: in JSON and in the events of a stream by their members, else in the text itself.
    /// Returns `None` if nothing was masked.
    fn masked_by_patterns(&self, name: Option<&str>, text: &str, nested: u8) -> Option<String> {
        if nested > 0
            && text.trim_start().starts_with(['{', '['])
            && let Ok(value) = Value::parse(text.as_bytes(), &Limits::default())
        {
            let masked = self.masked_json(value, nested - 1)?;
            return Some(String::from_utf8_lossy(&masked).into_owned());
        }
        if nested > 0 && text.lines().any(|line| line.starts_with("data:")) {
            return self.masked_stream(text, nested - 1);
        }
        masked_around_marks(name, text)
    }

    /// Masks the data of each event of a stream.
    fn masked_stream(&self, text: &str, nested: u8) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let mut is_masked = false;
        for line in text.split_inclusive('\n') {
            let (content, end) = line.split_at(line.trim_end_matches(['\r', '\n']).len());
            let (field, data) = match content.strip_prefix("data:") {
                Some(data) => content.split_at(content.len() - data.trim_start().len()),
                None => ("", content),
            };
            out.push_str(field);
            match self.masked_by_patterns(None, data, nested) {
                Some(masked) => {
                    out.push_str(&masked);
                    is_masked = true;
                }
                None => out.push_str(data),
            }
            out.push_str(end);
        }
        is_masked.then_some(out)
    }

    /// Masks the values of a JSON document, and returns its text; `None` if nothing was masked.
    fn masked_json(&self, value: Value<'_>, nested: u8) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(value.text().len());
        self.write_masked(None, value, nested, &mut out).then_some(out)
    }

    /// Appends a value with its secrets masked, and returns true if there were any.
    fn write_masked(&self, name: Option<&str>, value: Value<'_>, nested: u8, out: &mut Vec<u8>) -> bool {
        if name.is_some_and(|name| self.is_secret(name)) {
            canonical::write_string(MASK_TEXT, out);
            return true;
        }
        match value.kind() {
            ValueKind::Object => {
                let mut is_masked = false;
                let mut object = ObjectWriter::open(out);
                for (name, value) in value.members() {
                    let name = name.string().unwrap_or_default();
                    is_masked |= self.write_masked(Some(&name), value, nested, object.name(&name));
                }
                object.close();
                is_masked
            }
            ValueKind::Array => {
                let mut is_masked = false;
                reenact_json::writer::write_list(value.elements(), out, |item, out| {
                    is_masked |= self.write_masked(None, item, nested, out);
                });
                is_masked
            }
            ValueKind::String => {
                let text = value.string().unwrap_or_default();
                match self.masked_by_patterns(name, &text, nested) {
                    Some(masked) => {
                        canonical::write_string(&masked, out);
                        true
                    }
                    None => {
                        out.extend_from_slice(value.text());
                        false
                    }
                }
            }
            _ => {
                out.extend_from_slice(value.text());
                false
            }
        }
    }
}

/// Masks a text by the patterns of the format's own policy, but for the marks in it: the name of a rule may hold a word
/// that a pattern takes.
fn masked_around_marks(name: Option<&str>, text: &str) -> Option<String> {
    let (mut out, mut rest, mut is_masked) = (String::new(), text, false);
    loop {
        let mark = find_mark(rest);
        let (before, mark_and_rest) = rest.split_at(mark.as_ref().map_or(rest.len(), |mark| mark.start));
        match DefaultMask.masked(name, before) {
            Some(masked) => {
                out.push_str(&masked);
                is_masked = true;
            }
            None => out.push_str(before),
        }
        let Some(mark) = mark else { return is_masked.then_some(out) };
        let (mark, behind) = mark_and_rest.split_at(mark.len());
        out.push_str(mark);
        rest = behind;
    }
}

/// Returns the span of the first mark in a text.
fn find_mark(text: &str) -> Option<std::ops::Range<usize>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    text.match_indices(MARK_START).find_map(|(at, _)| {
        let inner = text.get(at + MARK_START.len()..)?;
        let length = inner.bytes().take_while(|byte| is_part(*byte)).count();
        let is_mark = length <= MAX_MARK_BYTES && inner.as_bytes().get(length) == Some(&b']');
        is_mark.then(|| at..at + MARK_START.len() + length + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> Option<String> {
        RpkSecretMask::new(b"").masked(None, text)
    }

    #[test]
    fn names_of_members_stay_and_their_values_are_masked() {
        let body = r#"{"usage":{"prompt_tokens_details":{},"completion_tokens_details":1},"messages":[{"content":"mail ann@example.org"}]}"#;
        assert_eq!(
            masked(body).unwrap(),
            r#"{"usage":{"prompt_tokens_details":{},"completion_tokens_details":1},"messages":[{"content":"mail [REDACTED]"}]}"#
        );
        assert_eq!(masked(r#"{ "a": 1.50 }"#), None);
        assert_eq!(masked(r#"{"client_secret":{"a":1}}"#).unwrap(), r#"{"client_secret":"[REDACTED]"}"#);
    }

    #[test]
    fn events_of_a_stream_are_masked_one_by_one() {
        let stream =
            "event: x\r\ndata: {\"prompt_tokens_details\":\"ann@example.org\"}\r\n\r\ndata: [DONE]\n\n";
        assert_eq!(
            masked(stream).unwrap(),
            "event: x\r\ndata: {\"prompt_tokens_details\":\"[REDACTED]\"}\r\n\r\ndata: [DONE]\n\n"
        );
    }

    #[test]
    fn json_in_a_string_of_json_is_masked_too() {
        let body = r#"{"arguments":"{\"to\":\"ann@example.org\",\"max_output_tokens_used\":1}"}"#;
        assert_eq!(
            masked(body).unwrap(),
            r#"{"arguments":"{\"to\":\"[REDACTED]\",\"max_output_tokens_used\":1}"}"#
        );
    }

    #[test]
    fn marks_of_recorded_secrets_stay() {
        assert_eq!(masked("[masked:github-token:1] and [masked:header:12]"), None);
        assert_eq!(masked("[masked:github-token"), Some("[masked:[REDACTED]".into()));
        assert_eq!(
            masked("[masked:github-token:1] ann@example.org").unwrap(),
            "[masked:github-token:1] [REDACTED]"
        );
    }

    #[test]
    fn keys_that_the_formats_own_policy_misses_are_masked() {
        let key = format!("sk-ant-api03-{}", "aB3x".repeat(23));
        let text = masked(&format!("key {key} end")).unwrap();
        assert!(text.starts_with("key [masked:") && text.ends_with("] end"), "{text}");
        assert_eq!(DefaultMask.masked(None, &format!("key {key} end")), None);
        let mask = RpkSecretMask::new(b"");
        assert_eq!(mask.policy().profile, "default");
        assert_eq!(mask.policy().version, "1.0+reenact-1");
    }
}
