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
pub mod event;
pub mod field;
pub mod figures;
pub mod hash;
pub mod lines;
pub mod preview;
pub mod receipt;
pub mod writer;

pub use clock::Clock;
pub use event::{EventKind, EventView, Field, LineFault};
pub use field::FieldFault;
pub use figures::Figures;
pub use lines::{Ending, Line, Lines};
pub use receipt::{Receipt, ReceiptError};
pub use writer::{ReplayWriter, WriteError};

/// The only version of the format. The number does not tell its dialects apart.
pub const VERSION: u64 = 1;
