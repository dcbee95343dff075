//! Formats that are read by conversion alone, and never written.

use reenact_json::{Kind, Limits, Value};

use crate::format::{Format, FormatId, Signs, Support};
use crate::profile::Profile;
use crate::replay_jsonl::{self, EventKind};

/// The row of recordings by Model IO's kernel.
pub static RECORDING_SESSION: Format = Format {
    id: FormatId::RecordingSession,
    name: "recording-session",
    report_name: "",
    support: Support::ImportOnly,
    dialect: FormatId::ModelIo,
    profile: Profile::ModelIo,
    signs: Signs::Whole(&[("format_version", Kind::String), ("interactions", Kind::Array)]),
    folder: None,
    main_file: "recording.json",
    endings: &[],
};

/// The row of timelines of a session.
pub static SESSION_TIMELINE: Format = Format {
    id: FormatId::SessionTimeline,
    name: "session-timeline",
    report_name: "",
    support: Support::ImportOnly,
    dialect: FormatId::ReplayJsonl,
    profile: Profile::ReplayJsonl,
    signs: Signs::Whole(&[("timeline", Kind::Array), ("receipts", Kind::Object), ("version", Kind::String)]),
    folder: None,
    main_file: "replay.json",
    endings: &[],
};

/// The row of REPLAY.jsonl in its dialect of `type` and `ts`.
pub static TYPED_REPLAY: Format = Format {
    id: FormatId::TypedReplay,
    name: "replay-jsonl-typed",
    report_name: "",
    support: Support::ImportOnly,
    dialect: FormatId::ReplayJsonl,
    profile: Profile::ReplayJsonl,
    signs: Signs::Lines(is_typed_replay),
    folder: None,
    main_file: replay_jsonl::REPLAY,
    endings: &[],
};

/// Returns true if the first line is an object with `type` and `ts` and without `event`.
fn is_typed_replay(text: &[u8]) -> bool {
    let first = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    let Some(line) = first.and_then(|line| Value::parse(line, &Limits::default()).ok()) else { return false };
    let is_tag = |tag: Value<'_>| EventKind::of_tag(tag).is_some();
    line.member("event").is_none()
        && line.member("type").is_some_and(is_tag)
        && (line.member("ts").is_some() || line.member("replay_version").is_some())
}
