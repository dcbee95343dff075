//! Withholding payloads after the fact: which ones, and what can be said of it afterwards.
//!
//! Masks are applied before anything is hashed, so that a secret never reaches the record. What is withheld here was recorded:
//! its hash stays in the chain, its bytes go. The texts that were looked for appear in nothing that is made here, since they
//! may be what must not be seen.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use base64ct::{Base64, Encoding};
use reenact_formats::rer::RerEventView;
use reenact_formats::rer::envelope::glob;
use reenact_formats::rer::rewrite::{self, RewriteError, WithheldArtifact};
use reenact_json::{Digest, Limits, Value, ValueKind};
use reenact_wire::sse::SseReader;

/// What is to be withheld: whatever one of these says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedactionChoice {
    /// Events by their places, from 0.
    pub events: Vec<usize>,
    /// Events by their type: `rer.model.called`, without `rer.` as well, `*` for any characters and `?` for one.
    pub kinds: Vec<String>,
    /// Events whose payload holds one of these texts, in a name or in a value; of a body in Base64, in what it encodes; of JSON in a
    /// text, in what it says; of a stream, in what its pieces tell together; and in the files that it speaks of.
    pub texts: Vec<String>,
}

/// Why an event was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RedactionReason {
    /// By its place.
    Event,
    /// By its type.
    Kind,
    /// By what its payload holds.
    Text,
}

impl RedactionReason {
    /// The option that says so.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Kind => "kind",
            Self::Text => "where",
        }
    }
}

impl RedactionChoice {
    /// Whether nothing is chosen.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.kinds.is_empty() && self.texts.is_empty()
    }

    /// Why an event is chosen; `None` if it is not.
    pub fn reason_for(&self, index: usize, event: &RerEventView<'_>) -> Option<RedactionReason> {
        if self.events.contains(&index) {
            return Some(RedactionReason::Event);
        }
        let name = event.event_type.and_then(|name| name.string()).unwrap_or_default();
        let short = name.strip_prefix("rer.").unwrap_or(&name);
        // A pattern is short, and names are what the format allows: the cost is bounded by both.
        if self.kinds.iter().any(|kind| glob::matches(kind, &name) || glob::matches(kind, short)) {
            return Some(RedactionReason::Kind);
        }
        let payload = event.payload.filter(|_| !event.is_redacted())?;
        self.texts
            .iter()
            .any(|text| value_contains(payload, text.as_bytes(), MAX_NESTED_JSON))
            .then_some(RedactionReason::Text)
    }

    /// Whether a file holds one of the texts.
    fn matches_file(&self, file: &[u8]) -> bool {
        self.texts.iter().any(|text| text_contains(file, text.as_bytes(), MAX_NESTED_JSON))
    }
}

/// How often JSON may stand in a text of JSON, and be looked into.
const MAX_NESTED_JSON: u8 = 3;

fn bytes_contain(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|window| window == text)
}

/// Whether a text stands in a value: in a name, in a string, in the JSON or the stream of events that a string holds, or in
/// what a body in Base64 encodes.
fn value_contains(value: Value<'_>, text: &[u8], nested: u8) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value.kind() {
            ValueKind::Object => {
                for (name, value) in value.members() {
                    let is_encoded = name.is_string("base64");
                    let decoded =
                        |encoded: &[u8]| Base64::decode_vec(core::str::from_utf8(encoded).ok()?).ok();
                    if name.with_string_bytes(|name| bytes_contain(name, text)) == Some(true)
                        || is_encoded
                            && value
                                .with_string_bytes(decoded)
                                .flatten()
                                .is_some_and(|bytes| text_contains(&bytes, text, nested))
                    {
                        return true;
                    }
                    open.push(value);
                }
            }
            ValueKind::Array => open.extend(value.elements()),
            ValueKind::String
                if value.with_string_bytes(|string| text_contains(string, text, nested)) == Some(true) =>
            {
                return true;
            }
            ValueKind::String => {}
            _ if bytes_contain(value.text(), text) => return true,
            _ => {}
        }
    }
    false
}

/// Whether a text stands in another: as it is, or in the JSON or the stream of events that it is. A word in JSON may be spelled
/// with escapes; in a stream it may be cut anywhere, and then stands in none of the pieces.
fn text_contains(bytes: &[u8], text: &[u8], nested: u8) -> bool {
    if bytes_contain(bytes, text) {
        return true;
    }
    let Some(nested) = nested.checked_sub(1) else { return false };
    match bytes.trim_ascii_start() {
        json @ [b'{' | b'[' | b'"', ..] => {
            Value::parse(json, &Limits::default()).is_ok_and(|value| value_contains(value, text, nested))
        }
        _ if is_stream(bytes) => stream_contains(bytes, text, nested),
        _ => false,
    }
}

/// Whether a text has lines of a stream of events.
fn is_stream(bytes: &[u8]) -> bool {
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields.iter().any(|field| bytes.starts_with(field)) || bytes_contain(bytes, b"\ndata:")
}

/// Whether a stream of events tells a text: in one of them, or at one place of them all, piece by piece.
fn stream_contains(stream: &[u8], text: &[u8], nested: u8) -> bool {
    let mut texts_by_place: HashMap<u64, String> = HashMap::new();
    let mut reader = SseReader::new();
    let mut events = reader.push(stream);
    events.extend(reader.finish());
    for event in events {
        let Some(data) = event.data else { continue };
        if let Ok(value) = Value::parse(data.as_bytes(), &Limits::default()) {
            if value_contains(value, text, nested) {
                return true;
            }
            collect_texts(value, 0, &mut texts_by_place);
        }
    }
    texts_by_place.values().any(|told| bytes_contain(told.as_bytes(), text))
}

/// Adds the texts of a value to what was told at their places before. A place is a number that its names make: two places
/// that make the same only tell more than they should.
fn collect_texts(value: Value<'_>, place: u64, told: &mut HashMap<u64, String>) {
    let inside = |name: &[u8]| {
        let mut hasher = DefaultHasher::new();
        (place, name).hash(&mut hasher);
        hasher.finish()
    };
    for (name, value) in value.members() {
        collect_texts(value, inside(&name.string_bytes().unwrap_or_default()), told);
    }
    for value in value.elements() {
        collect_texts(value, inside(b"[]"), told);
    }
    if let Some(text) = value.string() {
        told.entry(place).or_default().push_str(&text);
    }
}

/// The files that a payload speaks of: each of its strings that is a digest may name one.
fn collect_digests(payload: Value<'_>, found: &mut HashSet<Digest>) {
    let mut open = vec![payload];
    while let Some(value) = open.pop() {
        match value.kind() {
            ValueKind::Object => open.extend(value.members().map(|(_, value)| value)),
            ValueKind::Array => open.extend(value.elements()),
            ValueKind::String if value.text().len() == 66 => {
                found.extend(value.string().and_then(|text| Digest::from_hex(&text)));
            }
            _ => {}
        }
    }
}

/// A payload that is withheld now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewlyWithheld {
    /// The event, by its place from 0.
    pub event: usize,
    /// Its type. Untrusted text.
    pub event_type: String,
    /// The hash that stays, as the record has it. Untrusted text.
    pub payload_hash: String,
    /// Why it was chosen.
    pub reason: RedactionReason,
}

/// What withholding did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedArtifact {
    /// The artifact, in canonical form. Only bundles need to be signed again.
    pub artifact: Vec<u8>,
    /// What is withheld now and was not before.
    pub newly_withheld: Vec<NewlyWithheld>,
    /// How many payloads were withheld before.
    pub withheld_before: usize,
    /// How many events there are.
    pub events: usize,
    /// Digests that withheld events name and no other: a bundle must not carry files of them any more.
    pub orphaned_files: Vec<Digest>,
    /// An event that is left and holds whole files that the record was imported from, and so perhaps what is withheld, too.
    pub source_event: Option<usize>,
}

/// Withholds what is chosen. `content` gives the files of a bundle: what an event speaks of is looked through too.
pub fn redact<'f>(
    artifact: &[u8],
    choice: &RedactionChoice,
    limits: &Limits,
    content: impl Fn(Digest) -> Option<&'f [u8]>,
) -> Result<RedactedArtifact, RewriteError> {
    let (mut gone, mut source_in) = (Vec::new(), None);
    let (mut kept_files, mut lost_files) = (HashSet::new(), HashSet::new());
    let WithheldArtifact { artifact, already_withheld: before, event_count: count, .. } =
        rewrite::withhold(artifact, limits, |index, event| {
            let mut files = HashSet::new();
            event.payload.into_iter().for_each(|payload| collect_digests(payload, &mut files));
            let in_file =
                || files.iter().filter_map(|file| content(*file)).any(|file| choice.matches_file(file));
            let because =
                choice.reason_for(index, event).or_else(|| in_file().then_some(RedactionReason::Text));
            if because.is_some() { &mut lost_files } else { &mut kept_files }.extend(files);
            let import =
                event.payload.filter(|_| because.is_none()).and_then(|payload| payload.member("import"));
            let keeps = |name| {
                import.and_then(|import| import.member(name)).is_some_and(|kept| kept.text().len() > 2)
            };
            if keeps("source") || keeps("beside") {
                source_in = Some(index);
            }
            let text = |value: Option<Value<'_>>| {
                value.and_then(|value| value.string()).unwrap_or_default().into_owned()
            };
            if let Some(because) = because {
                let (event_type, payload_hash) = (text(event.event_type), text(event.payload_hash));
                gone.push(NewlyWithheld { event: index, event_type, payload_hash, reason: because });
            }
            because.is_some()
        })?;
    let mut orphans: Vec<Digest> = lost_files.difference(&kept_files).copied().collect();
    orphans.sort_by_key(Digest::hex);
    Ok(RedactedArtifact {
        artifact,
        newly_withheld: gone,
        withheld_before: before,
        events: count,
        orphaned_files: orphans,
        source_event: source_in,
    })
}
