//! Conversion: a record of any format as one of another, with a list of all that has no place there.
//!
//! Into RER nothing is lost: the document and its items lie in payloads by the [`crate::text_rule`], and [`restore()`] gives the
//! original's canonical bytes back. Into any other format what has a home there is written, and what has none is a [`Loss`].
//!
//! Nothing here reads a disk, a clock or randomness: times, salts and the signer come in as values.
//!
//! | module | what it holds |
//! |---|---|
//! | [`conversion`] | any format to any other: which way it takes |
//! | `route` | the table: how each format goes |
//! | [`source`] | what is to be converted |
//! | [`sealing`] | the RER artifact in the making |
//! | [`mod@import`] | any format → RER |
//! | [`mod@restore`] | an imported RER → what it was |
//! | [`mod@export`] | a run → any other format |
//! | [`loss`] | what has no place there, by path and reason |
//! | [`fault`] | why something cannot be converted |

pub mod artifact_builder;
pub mod conversion;
pub mod error;
mod event_time;
pub mod export;
mod foreign;
pub mod import;
pub mod loss;
pub mod restore;
mod route;
mod rpk_indent;
pub mod source;

pub use artifact_builder::ImportContext;
pub use conversion::{ConversionInput, Converted, SourceInfo, convert};
pub use error::ConvertError;
pub use export::{ExportContext, ExportedRecord, export};
pub use import::import;
pub use loss::{Loss, Losses};
pub use restore::{RestoredRecord, restore};
pub use source::{ImportSource, RecordFile};
