//! Parts of an answer that its vendor signed or encrypted, and wants back unchanged with the next request: thoughts, reasoning items.
//!
//! Vendors spell them in few ways, which are told by their members and not by the interface, so that a vendor which takes over
//! another's way needs nothing here. Start reading at [`signed_parts`].

use std::collections::BTreeMap;

use reenact_json::event_stream::{self, SseReader};
use reenact_json::{Limits, Value, ValueKind};

/// Part of an answer that its vendor signed or encrypted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SignedPart {
    /// Signature, or the encrypted text.
    pub(crate) signature: String,
    /// Texts that belong to it, in the order of their bytes, whatever the spelling of the JSON.
    content: Vec<String>,
}

/// Members that hold a signature or an encrypted text.
const SIGNATURES: [&str; 4] = ["signature", "thoughtSignature", "thought_signature", "encrypted_content"];

/// Returns the signed parts of an answer, a document or a stream. A stream may hold one several times.
pub(crate) fn signed_parts(body: &[u8]) -> Vec<SignedPart> {
    let mut parts = Vec::new();
    if !event_stream::is_stream(body) {
        if let Ok(document) = Value::parse(body, &Limits::default()) {
            push_parts(document, &mut parts);
        }
        return parts;
    }
    let mut reader = SseReader::new();
    let mut events = reader.push(body);
    events.extend(reader.finish());
    let mut thoughts: BTreeMap<u64, [String; 2]> = BTreeMap::new();
    for data in events.iter().filter_map(|event| event.data.as_ref()) {
        let Ok(event) = Value::parse(data.as_bytes(), &Limits::default()) else { continue };
        match thought_delta(event) {
            Some((index, which, text)) => {
                if let Some(side) = thoughts.entry(index).or_default().get_mut(which) {
                    side.push_str(&text);
                }
            }
            None => push_parts(event, &mut parts),
        }
    }
    let thoughts = thoughts.into_values().filter(|[_, signature]| !signature.is_empty());
    parts.extend(thoughts.map(|[thought, signature]| SignedPart { signature, content: vec![thought] }));
    parts
}

/// Returns the piece of a thought (0) or of its signature (1) that an event of a stream holds, with the index of its block.
fn thought_delta(event: Value<'_>) -> Option<(u64, usize, String)> {
    let (index, delta) = (event.member("index")?.unsigned_integer()?, event.member("delta")?);
    let text = |name: &str| delta.member(name)?.string();
    let (which, piece) =
        text("thinking").map(|piece| (0, piece)).or_else(|| Some((1, text("signature")?)))?;
    Some((index, which, piece.into_owned()))
}

/// Adds the signed parts of a value and of all that it holds.
fn push_parts(value: Value<'_>, parts: &mut Vec<SignedPart>) {
    match value.kind() {
        ValueKind::Array => value.elements().for_each(|element| push_parts(element, parts)),
        ValueKind::Object => {
            for (name, member) in value.members() {
                let is_opaque = name.is_string("data")
                    && value.member("type").is_some_and(|kind| kind.is_string("redacted_thinking"));
                let is_signature = is_opaque || SIGNATURES.iter().any(|known| name.is_string(known));
                match member.string().filter(|signature| is_signature && !signature.is_empty()) {
                    Some(signature) => parts.push(SignedPart {
                        content: signed_content(value, &signature),
                        signature: signature.into_owned(),
                    }),
                    None => push_parts(member, parts),
                }
            }
        }
        _ => {}
    }
}

/// Returns the texts of an object that a signature belongs to: the thought alone where there is one, else all but the signature.
fn signed_content(value: Value<'_>, signature: &str) -> Vec<String> {
    if let Some(thought) = value.member("thinking").and_then(|thought| thought.string()) {
        return vec![thought.into_owned()];
    }
    let mut texts = Vec::new();
    push_texts(value, &mut texts);
    texts.retain(|text| text != signature);
    texts.sort_unstable();
    texts
}

/// Adds all texts and numbers of a value.
fn push_texts(value: Value<'_>, texts: &mut Vec<String>) {
    match value.kind() {
        ValueKind::Array => value.elements().for_each(|element| push_texts(element, texts)),
        ValueKind::Object => value.members().for_each(|(_, member)| push_texts(member, texts)),
        _ => texts.push(match value.string() {
            Some(text) => text.into_owned(),
            None => String::from_utf8_lossy(value.text()).into_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(signature: &str, content: &[&str]) -> SignedPart {
        SignedPart {
            signature: signature.into(),
            content: content.iter().map(|text| (*text).into()).collect(),
        }
    }

    #[test]
    fn documents() {
        for (body, expected) in [
            (
                r#"{"content":[{"type":"thinking","thinking":"a","signature":"s1"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"b"}]}"#,
                vec![part("s1", &["a"]), part("d", &["redacted_thinking"])],
            ),
            (
                r#"{"output":[{"type":"reasoning","summary":[{"text":"x"}],"encrypted_content":"e"}]}"#,
                vec![part("e", &["reasoning", "x"])],
            ),
            (
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"},"thoughtSignature":"g"}]}}]}"#,
                vec![part("g", &["f"])],
            ),
            (r#"{"content":[{"type":"thinking","thinking":"a","signature":""}],"data":"x"}"#, vec![]),
            ("no JSON", vec![]),
        ] {
            assert_eq!(signed_parts(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn pieces_of_a_stream_are_one_part() {
        let stream = "event: content_block_start\n\
            data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n\
            event: content_block_delta\n\
            data: {\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"a\"}}\n\n\
            event: content_block_delta\n\
            data: {\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"b\"}}\n\n\
            event: content_block_delta\n\
            data: {\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"s\"}}\n\n";
        assert_eq!(signed_parts(stream.as_bytes()), [part("s", &["ab"])]);
    }
}
