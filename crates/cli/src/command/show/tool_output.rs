//! Outputs of tools on the page of a step, whole or shortened by the rule of REPLAY.jsonl.
//!
//! An output of more than 2,000 characters is shown as its first and last 1,000, a member `stdout` or `stderr` of more than 10,000 as its
//! first and last 5,000. Hashes are of the whole. Start reading at [`shortened`].

use std::borrow::Cow;

use reenact_formats::replay_jsonl::preview;
use reenact_json::{Value, ValueKind};

/// Members of an output that are standard streams.
const STREAMS: [&str; 2] = ["stdout", "stderr"];

/// Output of a tool, shortened.
pub(super) enum ShortOutput<'v> {
    /// The text of the output.
    Text(String),
    /// The members of an output with standard streams, each with its shortened text if it is a long stream.
    Streams(Vec<(Cow<'v, str>, Value<'v>, Option<String>)>),
}

/// Returns an output as the rule shortens it; `None` if it is short enough.
pub(super) fn shortened<'v>(output: Value<'v>) -> Option<ShortOutput<'v>> {
    let owned = |text: Cow<'_, str>| match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(short) => Some(short),
    };
    if let Some(text) = output.string() {
        return owned(preview::output(&text)).map(ShortOutput::Text);
    }
    let is_stream =
        |name: &str, value: Value<'_>| STREAMS.contains(&name) && value.kind() == ValueKind::String;
    let members = || output.members().map(|(name, value)| (name.string().unwrap_or_default(), value));
    if output.kind() == ValueKind::Object && members().any(|(name, value)| is_stream(&name, value)) {
        let shortened = members().map(|(name, value)| {
            let stream = value.string().filter(|_| is_stream(&name, value));
            let short = stream.and_then(|stream| owned(preview::stream(&stream)));
            (name, value, short)
        });
        let shortened: Vec<_> = shortened.collect();
        return shortened
            .iter()
            .any(|(_, _, short)| short.is_some())
            .then_some(ShortOutput::Streams(shortened));
    }
    owned(preview::output(&String::from_utf8_lossy(output.text()))).map(ShortOutput::Text)
}

/// Returns a part of an output as the rule shortens it, by the name of its member.
pub(super) fn shortened_part<'t>(name: &str, text: &'t str) -> Cow<'t, str> {
    if STREAMS.contains(&name) { preview::stream(text) } else { preview::output(text) }
}

#[cfg(test)]
mod tests {
    use reenact_json::Limits;

    use super::*;

    fn short(text: &str) -> Option<Vec<usize>> {
        let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        shortened(value).map(|short| match short {
            ShortOutput::Text(text) => vec![text.chars().count()],
            ShortOutput::Streams(members) => members
                .iter()
                .map(|(_, _, short)| short.as_ref().map_or(0, |text| text.chars().count()))
                .collect(),
        })
    }

    #[test]
    fn by_the_rule_of_the_format() {
        let text = |count: usize| format!("\"{}\"", "é".repeat(count));
        assert_eq!(short(&text(2_000)), None);
        assert_eq!(short(&text(2_001)), Some(vec![2_003]));
        let streams = |out: usize, err: usize| {
            format!("{{\"stdout\":{},\"code\":0,\"stderr\":{}}}", text(out), text(err))
        };
        assert_eq!(short(&streams(10_000, 10_000)), None);
        assert_eq!(short(&streams(10_001, 3)), Some(vec![10_003, 0, 0]));
        // Any other object is its JSON text.
        assert_eq!(short(&format!("{{\"data\":{}}}", text(1_000))), None);
        assert_eq!(short(&format!("{{\"data\":{}}}", text(3_000))), Some(vec![2_003]));
    }
}
