//! Withholding of payloads after they were recorded.
//!
//! Masks are applied before anything is hashed, so that a masked secret never reaches the record. A payload
//! that is withheld here was recorded: its hash stays in the chain, its bytes are removed. The texts that were
//! searched for appear in no result of this module, since they may be the very secrets. Start reading at
//! [`redact`].

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use base64ct::{Base64, Encoding};
use reenact_formats::rer::RerEventView;
use reenact_formats::rer::envelope::glob;
use reenact_formats::rer::rewrite::{self, RewriteError, WithheldArtifact};
use reenact_json::{Digest, Limits, Value, ValueKind};
use reenact_wire::sse::SseReader;

/// Choice of the events whose payloads are withheld: all that match any of the three lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedactionChoice {
    /// Indices of events, from 0.
    pub events: Vec<usize>,
    /// Patterns of event types, with or without `rer.`, such as `rer.model.called`: `*` stands for any
    /// characters, `?` for one.
    pub kinds: Vec<String>,
    /// Texts to search payloads for, in names and in values; in decoded Base64 bodies, in JSON inside of
    /// strings, in the joined deltas of a stream, and in the files that a payload names by digest.
    pub texts: Vec<String>,
}

/// Reason why an event was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RedactionReason {
    /// The index of the event is listed.
    Event,
    /// The type of the event matches a pattern.
    Kind,
    /// The payload, or a file that it names, contains one of the texts.
    Text,
}

impl RedactionReason {
    /// Returns the name of the command line option for this reason.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Kind => "kind",
            Self::Text => "where",
        }
    }
}

impl RedactionChoice {
    /// Returns true if nothing is chosen.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.kinds.is_empty() && self.texts.is_empty()
    }

    /// Returns why an event is chosen; `None` if it is not. Files that its payload names are not searched here.
    pub fn reason_for(&self, index: usize, event: &RerEventView<'_>) -> Option<RedactionReason> {
        if self.events.contains(&index) {
            return Some(RedactionReason::Event);
        }
        let name = event.event_type.and_then(|name| name.string()).unwrap_or_default();
        if self.kinds.iter().any(|kind| kind_matches(kind, &name)) {
            return Some(RedactionReason::Kind);
        }
        let payload = event.payload.filter(|_| !event.is_redacted())?;
        self.texts
            .iter()
            .any(|text| value_contains(payload, text.as_bytes(), MAX_NESTED_JSON))
            .then_some(RedactionReason::Text)
    }

    /// Returns true if a file contains one of the texts.
    fn matches_file(&self, file: &[u8]) -> bool {
        self.texts.iter().any(|text| text_contains(file, text.as_bytes(), MAX_NESTED_JSON))
    }
}

/// Returns true if a pattern of [`RedactionChoice::kinds`] fits an event type.
pub fn kind_matches(pattern: &str, event_type: &str) -> bool {
    let short = event_type.strip_prefix("rer.").unwrap_or(event_type);
    // Patterns are short, and so are the names that the format allows: the cost is bounded by both.
    glob::matches(pattern, event_type) || glob::matches(pattern, short)
}

/// Largest depth of JSON inside of strings of JSON that is searched.
const MAX_NESTED_JSON: u8 = 3;

/// Returns true if `bytes` contains `text`; an empty text is contained everywhere.
fn bytes_contain(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|window| window == text)
}

/// Returns true if a value contains a text: in a name, in a string, in the JSON or the event stream that a
/// string holds, or in the bytes that a `base64` member encodes. `nested` is the remaining depth of JSON inside
/// of strings.
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

/// Returns true if bytes contain a text: literally, or in the JSON or the event stream that the bytes are. JSON
/// may spell a word with escapes, and a stream may cut it anywhere, so that no single event contains it.
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

/// Returns true if bytes look like a stream of server-sent events.
fn is_stream(bytes: &[u8]) -> bool {
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields.iter().any(|field| bytes.starts_with(field)) || bytes_contain(bytes, b"\ndata:")
}

/// Returns true if an event stream contains a text: in one event, or in the strings at one JSON path of all
/// events, joined.
fn stream_contains(stream: &[u8], text: &[u8], nested: u8) -> bool {
    let mut texts_by_path: HashMap<u64, String> = HashMap::new();
    let mut reader = SseReader::new();
    let mut events = reader.push(stream);
    events.extend(reader.finish());
    for event in events {
        let Some(data) = event.data else { continue };
        if let Ok(value) = Value::parse(data.as_bytes(), &Limits::default()) {
            if value_contains(value, text, nested) {
                return true;
            }
            collect_texts(value, 0, &mut texts_by_path);
        }
    }
    texts_by_path.values().any(|texts| bytes_contain(texts.as_bytes(), text))
}

/// Appends each string of a value to the strings at the same JSON path of the events before. A path is kept as
/// a hash of its names: a collision can only withhold more than it should.
fn collect_texts(value: Value<'_>, path_hash: u64, texts: &mut HashMap<u64, String>) {
    let inside = |name: &[u8]| {
        let mut hasher = DefaultHasher::new();
        (path_hash, name).hash(&mut hasher);
        hasher.finish()
    };
    for (name, value) in value.members() {
        collect_texts(value, inside(&name.string_bytes().unwrap_or_default()), texts);
    }
    for value in value.elements() {
        collect_texts(value, inside(b"[]"), texts);
    }
    if let Some(text) = value.string() {
        texts.entry(path_hash).or_default().push_str(&text);
    }
}

/// Collects the digests of files that a payload names: every string that is a digest may be one.
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

/// Payload that was withheld by this redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewlyWithheld {
    /// Index of the event, from 0.
    pub event: usize,
    /// Type of the event. Untrusted text.
    pub event_type: String,
    /// Hash of the payload, which stays in the record. Untrusted text.
    pub payload_hash: String,
    /// Reason why the event was chosen.
    pub reason: RedactionReason,
}

/// Result of a redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedArtifact {
    /// Artifact in canonical form. Its signature still holds; only a bundle needs to be signed again.
    pub artifact: Vec<u8>,
    /// Payloads that are withheld now and were not before.
    pub newly_withheld: Vec<NewlyWithheld>,
    /// Number of payloads that were withheld before.
    pub withheld_before: usize,
    /// Number of events in the artifact.
    pub events: usize,
    /// Digests of files that only withheld events name. A bundle must no longer carry these files.
    pub orphaned_files: Vec<Digest>,
    /// Index of an event that is not withheld and holds whole files that the record was imported from. These
    /// may contain what is withheld.
    pub source_event: Option<usize>,
}

/// Withholds the payloads of the chosen events of an artifact. `content` returns a file of the bundle by its
/// digest, so that files are searched, too.
///
/// # Errors
/// If the artifact cannot be read or rewritten.
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
