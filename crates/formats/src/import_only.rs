//! Rows of formats that only conversion reads and nothing writes.
//!
//! Each row says how such a file is recognised and which verified format its payloads are closest to. The readers are
//! in the crate `run`, under `convert`.

use reenact_json::{Limits, Value, ValueKind};

use crate::format::{Format, FormatId, RecognitionRule, Support};
use crate::profile::Profile;
use crate::replay_jsonl::{self, ReplayJsonlEventKind};

/// Row of recordings by the kernel of Model IO: a version and a list of interactions.
pub static RECORDING_SESSION: Format = Format {
    id: FormatId::RecordingSession,
    name: "recording-session",
    report_name: "",
    support: Support::ImportOnly,
    dialect: FormatId::ModelIo,
    profile: Profile::ModelIo,
    recognition: RecognitionRule::AllMembers(&[
        ("format_version", ValueKind::String),
        ("interactions", ValueKind::Array),
    ]),
    folder: None,
    main_file: "recording.json",
    endings: &[],
};

/// Row of session timelines: one JSON file with a timeline and its receipts.
pub static SESSION_TIMELINE: Format = Format {
    id: FormatId::SessionTimeline,
    name: "session-timeline",
    report_name: "",
    support: Support::ImportOnly,
    dialect: FormatId::ReplayJsonl,
    profile: Profile::ReplayJsonl,
    recognition: RecognitionRule::AllMembers(&[
        ("timeline", ValueKind::Array),
        ("receipts", ValueKind::Object),
        ("version", ValueKind::String),
    ]),
    folder: None,
    main_file: "replay.json",
    endings: &[],
};

/// Row of the dialect of REPLAY.jsonl that spells `event` as `type` and `t` as `ts`.
pub static TYPED_REPLAY: Format = Format {
    id: FormatId::TypedReplay,
    name: "replay-jsonl-typed",
    report_name: "",
    support: Support::ImportOnly,
    dialect: FormatId::ReplayJsonl,
    profile: Profile::ReplayJsonl,
    recognition: RecognitionRule::Lines(is_typed_replay),
    folder: None,
    main_file: replay_jsonl::REPLAY,
    endings: &[],
};

/// Returns true if the first line that is not empty is an object with `type` and `ts` (or `replay_version`) and
/// without `event`.
fn is_typed_replay(text: &[u8]) -> bool {
    let first = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    let Some(line) = first.and_then(|line| Value::parse(line, &Limits::default()).ok()) else { return false };
    let is_tag = |tag: Value<'_>| ReplayJsonlEventKind::of_tag(tag).is_some();
    line.member("event").is_none()
        && line.member("type").is_some_and(is_tag)
        && (line.member("ts").is_some() || line.member("replay_version").is_some())
}
