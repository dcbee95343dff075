//! Withholding payloads after the fact: which ones, and what can be said of it afterwards.
//!
//! Masks are applied before anything is hashed, so that a secret never reaches the record. What is withheld here was recorded:
//! its hash stays in the chain, its bytes go. The texts that were looked for appear in nothing that is made here, since they
//! may be what must not be seen.

use std::collections::BTreeMap;

use base64ct::{Base64, Encoding};
use reenact_formats::rer::envelope::glob;
use reenact_formats::rer::rewrite::{self, RewriteError, Withheld};
use reenact_formats::rer::{EventView, Noted};
use reenact_json::{Digest, Kind, Limits, Value};
use reenact_wire::sse::SseReader;

/// What is to be withheld: whatever one of these says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Events by their places, from 0.
    pub events: Vec<usize>,
    /// Events by their type: `rer.model.called`, without `rer.` as well, `*` for any characters and `?` for one.
    pub kinds: Vec<String>,
    /// Events whose payload holds one of these texts, in a name or in a value; of a body in Base64, in what it encodes; of a
    /// stream, in what its pieces tell together.
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
        if self.texts.is_empty() {
            return None;
        }
        let told = streamed(payload);
        let is_told = |text: &str| told.iter().any(|told| told.contains(text));
        let is_held = |text: &String| is_told(text) || holds(payload, text.as_bytes());
        self.texts.iter().any(is_held).then_some(Because::Text)
    }
}

/// What a stream of events tells piece by piece: of each place in its events, all texts that stand there, one after the other.
/// A word may be cut anywhere, and stands in none of the pieces then.
fn streamed(payload: Value<'_>) -> Vec<String> {
    let body = payload.member("http").and_then(|http| http.member("body")?.member("text")?.string_bytes());
    let Some(body) = body
        .filter(|body| [&b"data:"[..], b"event:", b":", b"id:"].iter().any(|first| body.starts_with(first)))
    else {
        return Vec::new();
    };
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    for event in SseReader::new().push(&body) {
        let Some(data) = event.data else { continue };
        if let Ok(value) = Value::parse(data.as_bytes(), &Limits::default()) {
            tell(value, &mut String::new(), &mut told);
        }
    }
    told.into_values().collect()
}

/// No vendor's events have places with longer names.
const LONGEST_PLACE: usize = 512;

/// Adds the texts of a value to what was told at their places before.
fn tell(value: Value<'_>, place: &mut String, told: &mut BTreeMap<String, String>) {
    let length = place.len();
    if length > LONGEST_PLACE {
        return;
    }
    for (name, value) in value.members() {
        place.push('.');
        place.push_str(&name.string().unwrap_or_default());
        tell(value, place, told);
        place.truncate(length);
    }
    for value in value.elements() {
        place.push_str("[]");
        tell(value, place, told);
        place.truncate(length);
    }
    if let Some(text) = value.string() {
        told.entry(place.clone()).or_default().push_str(&text);
    }
}

/// Whether a text stands in a value: in a name, a string, or what a body in Base64 encodes.
fn holds(value: Value<'_>, text: &[u8]) -> bool {
    let has = |bytes: &[u8]| text.is_empty() || bytes.windows(text.len()).any(|window| window == text);
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value.kind() {
            Kind::Object => {
                for (name, value) in value.members() {
                    let is_encoded = name.is_string("base64");
                    let decoded =
                        |encoded: &[u8]| Base64::decode_vec(core::str::from_utf8(encoded).ok()?).ok();
                    if name.read_string(has) == Some(true)
                        || is_encoded && value.read_string(decoded).flatten().is_some_and(|bytes| has(&bytes))
                    {
                        return true;
                    }
                    open.push(value);
                }
            }
            Kind::Array => open.extend(value.elements()),
            Kind::String if value.read_string(has) == Some(true) => return true,
            Kind::String => {}
            _ if has(value.text()) => return true,
            _ => {}
        }
    }
    false
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
    /// Files that only withheld events speak of: a bundle must not carry them any more.
    pub orphans: Vec<Digest>,
    /// An event that is left and holds the whole file that the record was imported from, and so what is withheld, too.
    pub source_in: Option<usize>,
}

/// Withholds what is chosen.
pub fn redact(artifact: &[u8], choice: &Choice, limits: &Limits) -> Result<Redacted, RewriteError> {
    let (mut gone, mut source_in) = (Vec::new(), None);
    let (mut kept_files, mut lost_files) = (Vec::new(), Vec::new());
    let Withheld { artifact, before, count, .. } = rewrite::withhold(artifact, limits, |index, event| {
        let because = choice.because(index, event);
        let is_file = event.event_type.is_some_and(|name| name.is_string("rer.artifact.written"));
        let file = event.noted(Noted::ArtifactHash).filter(|_| is_file);
        if let Some(file) = file.and_then(|file| Digest::from_hex(&file.string()?)) {
            if because.is_some() { &mut lost_files } else { &mut kept_files }.push(file);
        }
        let import = event.payload.filter(|_| because.is_none()).and_then(|payload| payload.member("import"));
        if import.is_some_and(|import| import.member("source").is_some()) {
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
    lost_files.retain(|file| !kept_files.contains(file));
    lost_files.sort_by_key(Digest::hex);
    lost_files.dedup();
    Ok(Redacted { artifact, gone, before, events: count, orphans: lost_files, source_in })
}
