//! What is to be converted: the bytes of one record, and what lies beside them.

use reenact_formats::model_io::pack;
use reenact_formats::replay_bundle::MANIFEST;
use reenact_json::{Digest, Kind, Limits, Scanner, SyntaxError, Value};
use reenact_verify::{Keys, Options};

use super::fault::ConvertError;
use crate::dialect::Dialect;
use crate::open::open;

/// A format that is imported. The last three are read and never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// An `.rpk` artifact.
    Rpk,
    /// A Model IO session, alone or in a pack.
    ModelIo,
    /// A REPLAY.jsonl, alone or with its receipt and summary.
    ReplayJsonl,
    /// A Replay Bundle.
    ReplayBundle,
    /// What the kernel's recorder writes: prompts and results of one session.
    RecordingSession,
    /// One JSON file with a timeline of what a session did.
    SessionTimeline,
    /// REPLAY.jsonl in its dialect of `type` and `ts`.
    TypedReplay,
}

impl Origin {
    /// Every one.
    pub const ALL: [Self; 7] = [
        Self::Rpk,
        Self::ModelIo,
        Self::ReplayJsonl,
        Self::ReplayBundle,
        Self::RecordingSession,
        Self::SessionTimeline,
        Self::TypedReplay,
    ];

    /// The name that imported records use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rpk => "rpk",
            Self::ModelIo => "model-io",
            Self::ReplayJsonl => "replay-jsonl",
            Self::ReplayBundle => "replay-bundle",
            Self::RecordingSession => "recording-session",
            Self::SessionTimeline => "session-timeline",
            Self::TypedReplay => "replay-jsonl-typed",
        }
    }

    /// The one of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.name() == name)
    }

    /// The file that holds the record, where it is one of several.
    pub fn main_file(self) -> &'static str {
        match self {
            Self::Rpk => "run.rpk",
            Self::ModelIo => pack::SESSION,
            Self::ReplayJsonl | Self::TypedReplay => REPLAY,
            Self::ReplayBundle => MANIFEST,
            Self::RecordingSession => "recording.json",
            Self::SessionTimeline => "replay.json",
        }
    }
}

/// The replay of a session.
pub const REPLAY: &str = "REPLAY.jsonl";
/// What sums a replay up.
pub const RECEIPT: &str = "RECEIPT.json";
/// What a person reads of a replay.
pub const SUMMARY: &str = "PR_SUMMARY.md";

/// A file by its name inside a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Such as `RECEIPT.json`. Names from archives are untrusted, and never become paths.
    pub name: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// A record to import.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// What it is.
    pub origin: Origin,
    /// Its main file: of a Replay Bundle the manifest, of a pack the session.
    pub main: &'a [u8],
    /// All other files, in the order of their names.
    pub beside: &'a [File],
    /// SHA-256 of the file as it was found; of a folder, of its main file.
    pub digest: Digest,
    /// The bytes of that file, if they are to be kept as they are.
    pub kept: Option<&'a [u8]>,
    /// Whether it verifies; `None` of what no verifier knows.
    pub verified: Option<bool>,
}

impl<'a> Source<'a> {
    /// A record that is one file.
    pub fn of(origin: Origin, main: &'a [u8]) -> Self {
        Self { origin, main, beside: &[], digest: Digest::of(main), kept: None, verified: None }
    }
}

/// What the archive of a Replay Bundle holds: the manifest, and all other files in the order of their names.
pub fn unpack(archive: &[u8]) -> Result<(Vec<u8>, Vec<File>), ConvertError> {
    let opened = open(archive.to_vec(), &Keys::default(), &Options::default());
    let run = opened.run.map_err(|error| ConvertError::Unreadable(error.to_string()))?;
    let manifest = run.file(MANIFEST).filter(|_| run.dialect() == Dialect::ReplayBundle);
    let manifest = manifest.ok_or_else(|| ConvertError::Unreadable("it is no Replay Bundle".into()))?;
    let file = |(name, bytes): (&str, &[u8])| File { name: name.into(), bytes: bytes.to_vec() };
    Ok((manifest.to_vec(), run.files().filter(|(name, _)| *name != MANIFEST).map(file).collect()))
}

/// What a text is, if it is one that only conversion knows.
pub fn recognise(text: &[u8], limits: &Limits) -> Option<Origin> {
    if is_typed_replay(text, limits) {
        return Some(Origin::TypedReplay);
    }
    let mut seen = Seen::default();
    // One that is torn is none.
    look(text, limits, &mut seen).ok()?;
    match seen {
        Seen { format_version: true, interactions: true, .. } => Some(Origin::RecordingSession),
        Seen { timeline: true, receipts: true, version: true, .. } => Some(Origin::SessionTimeline),
        _ => None,
    }
}

#[derive(Default)]
struct Seen {
    format_version: bool,
    interactions: bool,
    timeline: bool,
    receipts: bool,
    version: bool,
}

fn look(text: &[u8], limits: &Limits, seen: &mut Seen) -> Result<(), SyntaxError> {
    let mut scanner = Scanner::new(text, limits)?;
    if scanner.kind()? != Kind::Object {
        return Ok(());
    }
    let mut root = scanner.enter_object()?;
    while let Some(name) = scanner.next_name(&mut root)? {
        let value = scanner.value()?;
        let slot = name.read_string(|name| match name {
            b"format_version" => Some((&mut seen.format_version, Kind::String)),
            b"interactions" => Some((&mut seen.interactions, Kind::Array)),
            b"timeline" => Some((&mut seen.timeline, Kind::Array)),
            b"receipts" => Some((&mut seen.receipts, Kind::Object)),
            b"version" => Some((&mut seen.version, Kind::String)),
            _ => None,
        });
        if let Some((slot, kind)) = slot.flatten() {
            *slot = value.kind() == kind;
        }
    }
    scanner.finish()
}

/// Whether the first line is that of the other dialect: an object with `type` and `ts` and without `event`.
fn is_typed_replay(text: &[u8], limits: &Limits) -> bool {
    let first = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    let Some(line) = first.and_then(|line| Value::parse(line, limits).ok()) else { return false };
    let is_tag = |tag: Value<'_>| reenact_formats::replay_jsonl::EventKind::of_tag(tag).is_some();
    line.member("event").is_none()
        && line.member("type").is_some_and(is_tag)
        && (line.member("ts").is_some() || line.member("replay_version").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_by_their_content() {
        for (text, origin) in [
            (r#"{"format_version":"1.0","interactions":[],"stats":{}}"#, Some(Origin::RecordingSession)),
            (
                r#"{"version":"1.0","id":"replay_x","timeline":[],"receipts":{}}"#,
                Some(Origin::SessionTimeline),
            ),
            ("\n{\"type\":\"ReplayHeader\",\"replay_version\":1}\n{", Some(Origin::TypedReplay)),
            ("{\"type\":\"ToolCall\",\"ts\":\"x\"}", Some(Origin::TypedReplay)),
            (r#"{"type":"ToolCall","ts":"x","event":"ToolCall"}"#, None),
            (r#"{"format_version":1,"interactions":[]}"#, None),
            (r#"{"timeline":[],"receipts":{}}"#, None),
            ("{\"format_version\":\"1.0\",\"interactions\":[", None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(recognise(text.as_bytes(), &Limits::default()), origin, "{text}");
        }
    }

    #[test]
    fn names_are_told_apart() {
        for origin in Origin::ALL {
            assert_eq!(Origin::of_name(origin.name()), Some(origin));
        }
        assert_eq!(Origin::of_name("rer"), None);
    }
}
