//! Withholding payloads after the fact: which ones, and what can be said of it afterwards.
//!
//! Masks are applied before anything is hashed, so that a secret never reaches the record. What is withheld here was recorded:
//! its hash stays in the chain, its bytes go. The texts that were looked for appear in nothing that is made here, since they
//! may be what must not be seen.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use base64ct::{Base64, Encoding};
use reenact_formats::rer::EventView;
use reenact_formats::rer::envelope::glob;
use reenact_formats::rer::rewrite::{self, RewriteError, Withheld};
use reenact_json::{Digest, Kind, Limits, Value};
use reenact_wire::sse::SseReader;

/// What is to be withheld: whatever one of these says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
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
pub enum Because {
    /// By its place.
    Event,
    /// By its type.
    Kind,
    /// By what its payload holds.
    Text,
}

impl Because {
    /// The option that says so.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Kind => "kind",
            Self::Text => "where",
        }
    }
}

impl Choice {
    /// Whether nothing is chosen.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.kinds.is_empty() && self.texts.is_empty()
    }

    /// Why an event is chosen; `None` if it is not.
    pub fn because(&self, index: usize, event: &EventView<'_>) -> Option<Because> {
        if self.events.contains(&index) {
            return Some(Because::Event);
        }
        let name = event.event_type.and_then(|name| name.string()).unwrap_or_default();
        let short = name.strip_prefix("rer.").unwrap_or(&name);
        // A pattern is short, and names are what the format allows: the cost is bounded by both.
        if self.kinds.iter().any(|kind| glob::covers(kind, &name) || glob::covers(kind, short)) {
            return Some(Because::Kind);
        }
        let payload = event.payload.filter(|_| !event.is_redacted())?;
        self.texts.iter().any(|text| holds(payload, text.as_bytes(), NESTED)).then_some(Because::Text)
    }

    /// Whether a file holds one of the texts.
    fn is_in(&self, file: &[u8]) -> bool {
        self.texts.iter().any(|text| text_holds(file, text.as_bytes(), NESTED))
    }
}

/// How often JSON may stand in a text of JSON, and be looked into.
const NESTED: u8 = 3;

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|window| window == text)
}

/// Whether a text stands in a value: in a name, in a string, in the JSON or the stream of events that a string holds, or in
/// what a body in Base64 encodes.
fn holds(value: Value<'_>, text: &[u8], nested: u8) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value.kind() {
            Kind::Object => {
                for (name, value) in value.members() {
                    let is_encoded = name.is_string("base64");
                    let decoded =
                        |encoded: &[u8]| Base64::decode_vec(core::str::from_utf8(encoded).ok()?).ok();
                    if name.read_string(|name| contains(name, text)) == Some(true)
                        || is_encoded
                            && value
                                .read_string(decoded)
                                .flatten()
                                .is_some_and(|bytes| text_holds(&bytes, text, nested))
                    {
                        return true;
                    }
                    open.push(value);
                }
            }
            Kind::Array => open.extend(value.elements()),
            Kind::String if value.read_string(|string| text_holds(string, text, nested)) == Some(true) => {
                return true;
            }
            Kind::String => {}
            _ if contains(value.text(), text) => return true,
            _ => {}
        }
    }
    false
}

/// Whether a text stands in another: as it is, or in the JSON or the stream of events that it is. A word in JSON may be spelled
/// with escapes; in a stream it may be cut anywhere, and then stands in none of the pieces.
fn text_holds(bytes: &[u8], text: &[u8], nested: u8) -> bool {
    if contains(bytes, text) {
        return true;
    }
    let Some(nested) = nested.checked_sub(1) else { return false };
    match bytes.trim_ascii_start() {
        json @ [b'{' | b'[' | b'"', ..] => {
            Value::parse(json, &Limits::default()).is_ok_and(|value| holds(value, text, nested))
        }
        _ if is_stream(bytes) => streamed(bytes, text, nested),
        _ => false,
    }
}

/// Whether a text has lines of a stream of events.
fn is_stream(bytes: &[u8]) -> bool {
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields.iter().any(|field| bytes.starts_with(field)) || contains(bytes, b"\ndata:")
}

/// Whether a stream of events tells a text: in one of them, or at one place of them all, piece by piece.
fn streamed(stream: &[u8], text: &[u8], nested: u8) -> bool {
    let mut told: HashMap<u64, String> = HashMap::new();
    let mut reader = SseReader::new();
    let mut events = reader.push(stream);
    events.extend(reader.finish());
    for event in events {
        let Some(data) = event.data else { continue };
        if let Ok(value) = Value::parse(data.as_bytes(), &Limits::default()) {
            if holds(value, text, nested) {
                return true;
            }
            tell(value, 0, &mut told);
        }
    }
    told.values().any(|told| contains(told.as_bytes(), text))
}

/// Adds the texts of a value to what was told at their places before. A place is a number that its names make: two places
/// that make the same only tell more than they should.
fn tell(value: Value<'_>, place: u64, told: &mut HashMap<u64, String>) {
    let inside = |name: &[u8]| {
        let mut hasher = DefaultHasher::new();
        (place, name).hash(&mut hasher);
        hasher.finish()
    };
    for (name, value) in value.members() {
        tell(value, inside(&name.string_bytes().unwrap_or_default()), told);
    }
    for value in value.elements() {
        tell(value, inside(b"[]"), told);
    }
    if let Some(text) = value.string() {
        told.entry(place).or_default().push_str(&text);
    }
}

/// The files that a payload speaks of: each of its strings that is a digest may name one.
fn mentioned(payload: Value<'_>, found: &mut HashSet<Digest>) {
    let mut open = vec![payload];
    while let Some(value) = open.pop() {
        match value.kind() {
            Kind::Object => open.extend(value.members().map(|(_, value)| value)),
            Kind::Array => open.extend(value.elements()),
            Kind::String if value.text().len() == 66 => {
                found.extend(value.string().and_then(|text| Digest::from_hex(&text)));
            }
            _ => {}
        }
    }
}

/// A payload that is withheld now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// The event, by its place from 0.
    pub event: usize,
    /// Its type. Untrusted text.
    pub event_type: String,
    /// The hash that stays, as the record has it. Untrusted text.
    pub payload_hash: String,
    /// Why it was chosen.
    pub because: Because,
}

/// What withholding did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The artifact, in canonical form. Only bundles need to be signed again.
    pub artifact: Vec<u8>,
    /// What is withheld now and was not before.
    pub gone: Vec<Gone>,
    /// How many payloads were withheld before.
    pub before: usize,
    /// How many events there are.
    pub events: usize,
    /// Digests that withheld events name and no other: a bundle must not carry files of them any more.
    pub orphans: Vec<Digest>,
    /// An event that is left and holds whole files that the record was imported from, and so perhaps what is withheld, too.
    pub source_in: Option<usize>,
}

/// Withholds what is chosen. `content` gives the files of a bundle: what an event speaks of is looked through too.
pub fn redact<'f>(
    artifact: &[u8],
    choice: &Choice,
    limits: &Limits,
    content: impl Fn(Digest) -> Option<&'f [u8]>,
) -> Result<Redacted, RewriteError> {
    let (mut gone, mut source_in) = (Vec::new(), None);
    let (mut kept_files, mut lost_files) = (HashSet::new(), HashSet::new());
    let Withheld { artifact, before, count, .. } = rewrite::withhold(artifact, limits, |index, event| {
        let mut files = HashSet::new();
        event.payload.into_iter().for_each(|payload| mentioned(payload, &mut files));
        let in_file = || files.iter().filter_map(|file| content(*file)).any(|file| choice.is_in(file));
        let because = choice.because(index, event).or_else(|| in_file().then_some(Because::Text));
        if because.is_some() { &mut lost_files } else { &mut kept_files }.extend(files);
        let import = event.payload.filter(|_| because.is_none()).and_then(|payload| payload.member("import"));
        let keeps =
            |name| import.and_then(|import| import.member(name)).is_some_and(|kept| kept.text().len() > 2);
        if keeps("source") || keeps("beside") {
            source_in = Some(index);
        }
        let text = |value: Option<Value<'_>>| {
            value.and_then(|value| value.string()).unwrap_or_default().into_owned()
        };
        if let Some(because) = because {
            let (event_type, payload_hash) = (text(event.event_type), text(event.payload_hash));
            gone.push(Gone { event: index, event_type, payload_hash, because });
        }
        because.is_some()
    })?;
    let mut orphans: Vec<Digest> = lost_files.difference(&kept_files).copied().collect();
    orphans.sort_by_key(Digest::hex);
    Ok(Redacted { artifact, gone, before, events: count, orphans, source_in })
}
