//! Restoring of the record that an RER artifact was imported from: its canonical bytes, or its very bytes if
//! the artifact keeps them.
//!
//! Start reading at [`restore()`].
//!
//! 1. The first event gives the format and the document with an empty list of items.
//! 2. Each further event gives an item, decoded by the `$text` rule.
//! 3. The items are put into the document, in its format's layout.
//! 4. Original bytes that were kept must have this canonical form; else they are refused.

use std::borrow::Cow;

use base64ct::{Base64, Encoding};
use reenact_formats::FormatId;
use reenact_formats::Profile;
use reenact_formats::replay_bundle::archive;
use reenact_formats::rer::EventType;
use reenact_formats::rer::artifact::RerReadError;
use reenact_formats::rer::{RerArtifactReader, RerEventItem, RerEventView};
use reenact_json::{Digest, Limits, Value, ValueKind};

use super::error::ConvertError;
use super::import::{lines, model_io};
use super::route::{ItemLayout, route};
use super::rpk_indent::indented;
use super::source::{RecordFile, unpack_replay_bundle};
use crate::reader::import_format;
use crate::text_rule::TextRule;

/// Record that an artifact was imported from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredRecord {
    /// Format of the record.
    pub format: FormatId,
    /// Main file in canonical form: of a Replay Bundle the manifest, of a Model IO pack the session.
    pub main_file: Vec<u8>,
    /// All other files, byte for byte.
    pub other_files: Vec<RecordFile>,
    /// Bytes of the record's file as it was imported, if the artifact keeps them.
    pub original_bytes: Option<Vec<u8>>,
    /// True if the record verified when it was imported, false if it failed; `None` if that is not known.
    pub verified: Option<bool>,
}

impl RestoredRecord {
    /// Returns the bytes of the record's file: the original ones if the artifact keeps them, else in canonical
    /// form. Of a Replay Bundle, that is the reproducible archive.
    ///
    /// # Errors
    /// If the archive of a bundle cannot be written.
    pub fn original_file(&self) -> Result<Cow<'_, [u8]>, ConvertError> {
        match (&self.original_bytes, self.format) {
            (Some(kept), _) => Ok(Cow::Borrowed(kept)),
            (None, FormatId::ReplayBundle) => {
                let files = self.other_files.iter().map(|file| (file.name.as_str(), file.bytes.as_slice()));
                Ok(Cow::Owned(archive(&self.main_file, files)?))
            }
            (None, _) => Ok(Cow::Borrowed(&self.main_file)),
        }
    }
}

/// Restores the record that an artifact was imported from; `None` if the artifact was not imported.
///
/// # Errors
/// [`ConvertError::Withheld`] if an event is withheld; [`ConvertError::NotAnImport`] if the events, or the
/// bytes that were kept, are not what an import writes.
pub fn restore(artifact: &[u8], limits: &Limits) -> Result<Option<RestoredRecord>, ConvertError> {
    let unreadable = |error: RerReadError| {
        ConvertError::Unreadable(match error {
            RerReadError::Syntax(error) => error.describe(artifact),
            other => other.to_string(),
        })
    };
    let mut reader = RerArtifactReader::open(artifact, limits).map_err(unreadable)?;
    let mut next = || reader.next_event().map_err(|error| unreadable(error.into()));
    let Some(RerEventItem::Event(first)) = next()? else { return Ok(None) };
    let Some((origin, import)) = import_header(&first) else { return Ok(None) };
    let odd = |event, what| ConvertError::NotAnImport { event, what };
    let mut restorer = RecordRestorer::begin(origin, import)?;
    let (mut event, mut is_ended) = (0, false);
    while let Some(item) = next()? {
        event += 1;
        if is_ended {
            return Err(odd(event, "an event after the end"));
        }
        let RerEventItem::Event(view) = item else { return Err(odd(event, "the event")) };
        if view.is_redacted() {
            return Err(ConvertError::Withheld { event });
        }
        let name = view.event_type.and_then(|name| name.string()).unwrap_or_default();
        let Some(item) = view.payload.and_then(|payload| payload.member("import")) else {
            if name == EventType::RunEnded.name() {
                is_ended = true;
                continue;
            }
            return Err(odd(event, "the payload"));
        };
        restorer.add_item(event, &name, item)?;
    }
    restorer.finish(import).map(Some)
}

/// Returns the format, and the member `import` of the first event; `None` if the artifact was not imported.
fn import_header<'a>(first: &RerEventView<'a>) -> Option<(FormatId, Value<'a>)> {
    let payload = first.payload.filter(|_| !first.is_redacted())?;
    let import = payload.member("import")?;
    Some((import_format(&import.member("format")?.string()?)?, import))
}

/// Restorer of one record: takes the items in order, and puts them back into their document.
struct RecordRestorer {
    format: FormatId,
    layout: ItemLayout,
    rule: TextRule,
    /// Canonical text of the document without its items.
    document: Vec<u8>,
    /// Canonical texts of the items, separated by commas or line feeds as in the document.
    items: Vec<u8>,
    /// First half of an interaction whose second half is due.
    first_half: Option<Vec<u8>>,
    /// Files of a bundle.
    files: Vec<RecordFile>,
}

impl RecordRestorer {
    /// Begins with the document of the first event.
    fn begin(origin: FormatId, import: Value<'_>) -> Result<Self, ConvertError> {
        let mut rule = TextRule::new(origin.row().profile);
        let document = import.member("document").ok_or(MISSING_DOCUMENT)?;
        let layout = route(origin)?.items;
        let document = match layout {
            ItemLayout::Files => decoded_body(document).ok_or(MISSING_DOCUMENT)?,
            _ => {
                let mut text = Vec::new();
                let location = || "the document".to_owned();
                rule.decode(document, &mut text)
                    .map_err(|fault| ConvertError::Text { location: location(), fault })?;
                text
            }
        };
        Ok(Self {
            format: origin,
            layout,
            rule,
            document,
            items: Vec::new(),
            first_half: None,
            files: Vec::new(),
        })
    }

    /// Adds the item of an event; `name` is the event's type.
    ///
    /// # Errors
    /// [`ConvertError::NotAnImport`] if the item has not the layout of the format.
    fn add_item(&mut self, event: usize, name: &str, item: Value<'_>) -> Result<(), ConvertError> {
        let odd = |what| ConvertError::NotAnImport { event, what };
        match self.layout {
            ItemLayout::Files => {
                let name = item.member("name").and_then(|name| name.string()).ok_or(odd("the name"))?;
                let bytes = item.member("body").and_then(decoded_body).ok_or(odd("the body"))?;
                self.files.push(RecordFile { name: name.into_owned(), bytes });
            }
            ItemLayout::Lines => {
                if name == lines::TORN_LINE {
                    self.items.extend_from_slice(&decoded_body(item).ok_or(odd("the line"))?);
                } else {
                    self.decode(event, item)?;
                }
                self.items.push(b'\n');
            }
            ItemLayout::InteractionHalves => {
                if name != model_io::UNDIVIDED_INTERACTION && self.first_half.is_none() {
                    let mut called = Vec::new();
                    self.decode_to(event, item, &mut called)?;
                    self.first_half = Some(called);
                    return Ok(());
                }
                if let Some(called) = self.first_half.take() {
                    let mut returned = Vec::new();
                    self.decode_to(event, item, &mut returned)?;
                    let whole = merged_halves(&called, &returned).ok_or(odd("the interaction"))?;
                    self.push_separator();
                    self.items.extend_from_slice(&whole);
                } else {
                    self.push_separator();
                    self.decode(event, item)?;
                }
            }
            ItemLayout::List(_) => {
                self.push_separator();
                self.decode(event, item)?;
            }
        }
        Ok(())
    }

    /// Appends a comma, unless this is the first item.
    fn push_separator(&mut self) {
        if !self.items.is_empty() {
            self.items.push(b',');
        }
    }

    /// Decodes an item, and appends it to the items.
    fn decode(&mut self, event: usize, item: Value<'_>) -> Result<(), ConvertError> {
        let mut items = core::mem::take(&mut self.items);
        let decoded = self.decode_to(event, item, &mut items);
        self.items = items;
        decoded
    }

    /// Decodes an item, and appends it to `out`.
    fn decode_to(&mut self, event: usize, item: Value<'_>, out: &mut Vec<u8>) -> Result<(), ConvertError> {
        let location = || format!("event {event}");
        self.rule.decode(item, out).map_err(|fault| ConvertError::Text { location: location(), fault })
    }

    /// Puts the items into the document, adds the other files, and checks the bytes that were kept.
    ///
    /// # Errors
    /// [`ConvertError::NotAnImport`] if an interaction lacks its second half, or if the kept bytes are another
    /// record.
    fn finish(self, import: Value<'_>) -> Result<RestoredRecord, ConvertError> {
        if self.first_half.is_some() {
            return Err(ConvertError::NotAnImport { event: 0, what: "an interaction without its answer" });
        }
        let Self { format: origin, layout, document, items, files: mut members, .. } = self;
        let main = match layout {
            ItemLayout::Files => document,
            ItemLayout::Lines => items,
            ItemLayout::InteractionHalves => with_items(origin, &["interactions"], &document, &items)?,
            ItemLayout::List(path) => with_items(origin, path, &document, &items)?,
        };
        for file in import.member("beside").into_iter().flat_map(|files| files.elements()) {
            let name = file.member("name").and_then(|name| name.string()).ok_or(MISSING_DOCUMENT)?;
            let bytes = file.member("body").and_then(decoded_body).ok_or(MISSING_DOCUMENT)?;
            members.push(RecordFile { name: name.into_owned(), bytes });
        }
        let kept =
            import.member("source").map(|kept| decoded_body(kept).ok_or(MISSING_DOCUMENT)).transpose()?;
        if let Some(kept) = &kept {
            let odd = |what| ConvertError::NotAnImport { event: 0, what };
            let digest = import.member("digest").and_then(|digest| digest.string());
            if digest.as_deref() != Some(&*format!("sha256:{}", Digest::of(kept))) {
                return Err(odd("the digest of the kept source"));
            }
            // These bytes are returned in place of the events' content, so they must say the same.
            if !is_same_record(origin, layout, kept, &main, &members) {
                return Err(odd("the kept source"));
            }
        }
        let verified = import.member("verified").and_then(|verified| verified.boolean());
        Ok(RestoredRecord {
            format: origin,
            main_file: main,
            other_files: members,
            original_bytes: kept,
            verified,
        })
    }
}

/// Error for a document that is missing or malformed.
const MISSING_DOCUMENT: ConvertError = ConvertError::NotAnImport { event: 0, what: "the document" };

/// Returns true if the canonical form of the kept bytes equals the main file that was restored from the events,
/// and for a bundle, if its members are equal.
///
/// Without this check, a sealed artifact could carry one run in its events and give back another.
fn is_same_record(
    origin: FormatId,
    layout: ItemLayout,
    kept: &[u8],
    main: &[u8],
    members: &[RecordFile],
) -> bool {
    let profile = origin.row().profile;
    let whole = || {
        let value = Value::parse(kept, &Limits::default()).ok()?;
        round_trip(value, profile)
    };
    match layout {
        ItemLayout::Files => {
            let unpacked = unpack_replay_bundle(kept);
            unpacked.is_ok_and(|(manifest, files)| manifest == main && files == members)
        }
        ItemLayout::Lines => {
            let mut out = Vec::with_capacity(main.len());
            for line in lines::lines(kept) {
                match line.map(|line| round_trip(line, profile)) {
                    Ok(Some(line)) => out.extend_from_slice(&line),
                    Ok(None) => return false,
                    Err(torn) => out.extend_from_slice(torn),
                }
                out.push(b'\n');
            }
            out == main
        }
        ItemLayout::InteractionHalves | ItemLayout::List(_) => {
            let written = whole().and_then(|compact| formatted_as(origin, compact).ok());
            written.is_some_and(|text| text == main)
        }
    }
}

/// Returns the document with its items put back into the empty list at `path`.
///
/// # Errors
/// [`MISSING_DOCUMENT`] if there are items but no empty list.
fn with_items(
    origin: FormatId,
    path: &[&str],
    document: &[u8],
    items: &[u8],
) -> Result<Vec<u8>, ConvertError> {
    let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
    let parsed = Value::parse(document, &limits).map_err(|_| MISSING_DOCUMENT)?;
    let list = path.iter().try_fold(parsed, |value, name| value.member(name));
    let list = list.filter(|list| list.kind() == ValueKind::Array && list.text() == b"[]");
    let span_start = list.and_then(|list| list.range_in(document)).map(|span| span.start);
    let compact = match span_start {
        Some(at) if !items.is_empty() => {
            let (before, after) = (document.get(..=at), document.get(at + 1..));
            let (before, after) = before.zip(after).ok_or(MISSING_DOCUMENT)?;
            [before, items, after].concat()
        }
        None if !items.is_empty() => return Err(MISSING_DOCUMENT),
        _ => document.to_vec(),
    };
    formatted_as(origin, compact)
}

/// Returns compact JSON as the programs of a format write it: only `.rpk` is indented.
fn formatted_as(origin: FormatId, compact: Vec<u8>) -> Result<Vec<u8>, ConvertError> {
    if origin == FormatId::Rpk { indented(&compact) } else { Ok(compact) }
}

/// Returns the two halves of an interaction as one object in canonical form.
fn merged_halves(called: &[u8], returned: &[u8]) -> Option<Vec<u8>> {
    let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
    let inside = |text: &[u8]| Some(text.strip_prefix(b"{")?.strip_suffix(b"}")?.to_vec());
    let (called, returned) = (inside(called)?, inside(returned)?);
    let comma: &[u8] = if called.is_empty() || returned.is_empty() { b"" } else { b"," };
    let whole = [b"{", called.as_slice(), comma, &returned, b"}"].concat();
    round_trip(Value::parse(&whole, &limits).ok()?, Profile::ModelIo)
}

/// Returns the text that a value comes back as when it was imported; `None` if it cannot be imported.
fn round_trip(value: Value<'_>, profile: Profile) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    TextRule::new(profile).write_round_trip(value, &mut out).ok()?;
    Some(out)
}

/// Returns the bytes that a payload holds as text or Base64.
fn decoded_body(body: Value<'_>) -> Option<Vec<u8>> {
    if let Some(text) = body.member("text") {
        return Some(text.string_bytes()?.into_owned());
    }
    body.member("base64")?
        .with_string_bytes(|text| Base64::decode_vec(core::str::from_utf8(text).ok()?).ok())?
}
