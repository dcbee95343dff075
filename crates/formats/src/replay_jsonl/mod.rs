//! REPLAY.jsonl v1 with RECEIPT.json: the events of one session, one JSON object a line, and the receipt that sums
//! them up.
//!
//! | module | what it holds |
//! |---|---|
//! | [`lines`] | the lines of a file of any size, in bounded memory |
//! | [`canonical`] | the canonical form |
//! | [`timestamp`] | timestamps as instants |
//! | [`event`] | the members of one line |
//! | [`field`] | the rules for each member of each event |
//! | [`hash`] | `sha256:` over canonical JSON, in either number text |
//! | [`receipt`] | both generations of RECEIPT.json |
//! | [`totals`] | tool calls, total latency, average utility |
//! | [`preview`] | long output shortened for display |
//! | [`writer`] | the writer of a replay and its receipt |
//!
//! Start reading at [`event`], then [`field`].

pub mod canonical;
mod detect;
pub mod event;
pub mod field;
pub mod hash;
pub mod lines;
pub mod preview;
pub mod receipt;
pub mod timestamp;
pub mod totals;
pub mod writer;

pub use detect::{DETECTION_BYTES, is_replay};
pub use event::{LineFault, ReplayJsonlEventKind, ReplayJsonlEventView, ReplayJsonlField};
pub use field::FieldFault;
pub use lines::{LineEnding, ReplayLine, ReplayLineReader};
pub use receipt::{Receipt, ReceiptError};
pub use timestamp::TimestampCache;
pub use totals::ReplayTotals;
pub use writer::{ReplayJsonlWriteError, ReplayJsonlWriter};

use crate::Profile;
use crate::format::{FolderLayout, Format, FormatId, MANIFEST_FILE, RecognitionRule, Support};
use crate::model_io;

/// File name of the replay of a session.
pub const REPLAY: &str = "REPLAY.jsonl";
/// File name of the receipt.
pub const RECEIPT: &str = "RECEIPT.json";
/// File name of the summary for people.
pub const SUMMARY: &str = "PR_SUMMARY.md";

/// Row of REPLAY.jsonl.
pub static FORMAT: Format = Format {
    id: FormatId::ReplayJsonl,
    name: "replay-jsonl",
    report_name: "replay-jsonl",
    support: Support::Full,
    dialect: FormatId::ReplayJsonl,
    profile: Profile::ReplayJsonl,
    recognition: RecognitionRule::Lines(is_replay),
    folder: Some(FolderLayout {
        required_files: &[REPLAY],
        event_files: &[REPLAY, RECEIPT],
        companions: &[SUMMARY],
        forbidden_files: &[MANIFEST_FILE, model_io::pack::SESSION_FILE],
        documents: &[],
        manifest_member_names: &[],
        owns_folder: false,
    }),
    main_file: REPLAY,
    endings: &[REPLAY],
};

/// The only version of the format. The number does not tell its dialects apart.
pub const VERSION: u64 = 1;
