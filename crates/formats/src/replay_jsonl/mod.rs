//! REPLAY.jsonl v1 with RECEIPT.json: the events of one session, one JSON object a line, and the receipt that sums them up.
//!
//! | module | what it holds |
//! |---|---|
//! | [`lines`] | the lines of a file of any size, in memory that does not grow with it |
//! | [`canonical`] | the canonical form |
//! | [`clock`] | the moments of timestamps |
//! | [`event`] | the members of one line |
//! | [`field`] | what each member of each event must be |
//! | [`hash`] | `sha256:` over canonical JSON, in either number text |
//! | [`receipt`] | both generations of RECEIPT.json |
//! | [`figures`] | tool calls, total latency, average utility |
//! | [`preview`] | how long output is shortened for display |
//! | [`writer`] | writing a replay and its receipt |

pub mod canonical;
pub mod clock;
mod detect;
pub mod event;
pub mod field;
pub mod figures;
pub mod hash;
pub mod lines;
pub mod preview;
pub mod receipt;
pub mod writer;

pub use clock::Clock;
pub use detect::{LOOKED_AT, is_replay};
pub use event::{EventKind, EventView, Field, LineFault};
pub use field::FieldFault;
pub use figures::Figures;
pub use lines::{Ending, Line, Lines};
pub use receipt::{Receipt, ReceiptError};
pub use writer::{ReplayWriter, WriteError};

use crate::Profile;
use crate::format::{FolderLayout, Format, FormatId, MANIFEST_FILE, Signs, Support};
use crate::model_io;

/// The replay of a session, in a folder of its own.
pub const REPLAY: &str = "REPLAY.jsonl";
/// The receipt that sums a replay up.
pub const RECEIPT: &str = "RECEIPT.json";
/// The summary that a person reads.
pub const SUMMARY: &str = "PR_SUMMARY.md";

/// The row of REPLAY.jsonl.
pub static FORMAT: Format = Format {
    id: FormatId::ReplayJsonl,
    name: "replay-jsonl",
    report_name: "replay-jsonl",
    support: Support::Full,
    dialect: FormatId::ReplayJsonl,
    profile: Profile::ReplayJsonl,
    signs: Signs::Lines(is_replay),
    folder: Some(FolderLayout {
        needs: &[REPLAY],
        reads: &[REPLAY, RECEIPT],
        companions: &[SUMMARY],
        without: &[MANIFEST_FILE, model_io::pack::SESSION],
        documents: &[],
        manifest_names: &[],
        is_whole: false,
    }),
    main_file: REPLAY,
    endings: &[REPLAY],
};

/// The only version of the format. The number does not tell its dialects apart.
pub const VERSION: u64 = 1;
