//! Conversion of a record of any format to another format, with a list of all that has no place there.
//!
//! Conversion to RER (import) loses nothing: the document and its items lie in payloads by the
//! [`crate::text_rule`], and [`restore()`] returns the canonical bytes of the original. Conversion to any other
//! format (export) writes what has a place there; everything else is a [`Loss`].
//!
//! Nothing here reads a disk, a clock or randomness: times, salts and the signer come in as values.
//!
//! | module | content |
//! |---|---|
//! | [`conversion`] | any format to any other: import, restore or export |
//! | `route` | table of the formats: how each is imported, restored and exported |
//! | [`source`] | records to import, and their files |
//! | [`artifact_builder`] | builder of the RER artifact of an import |
//! | [`mod@import`] | any format → RER |
//! | [`mod@restore`] | an imported RER artifact → its original |
//! | [`mod@export`] | a run → any format but RER |
//! | `foreign` | records of import-only formats as runs, to be exported |
//! | [`loss`] | losses, by path and reason |
//! | [`rpk_secrets`] | what is masked in an `.rpk` that is handed on |
//! | `event_time`, `rpk_indent` | timestamps of events; indentation of `.rpk` files |
//! | [`error`] | reasons why a record cannot be converted |
//!
//! Start reading at [`convert`].

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
pub mod rpk_secrets;
pub mod source;

pub use artifact_builder::ImportContext;
pub use conversion::{ConversionInput, ConversionTarget, Converted, SourceInfo, convert};
pub use error::ConvertError;
pub use export::replay_jsonl::live::{LiveReplay, ReplayCompanions};
pub use export::{ExportContext, ExportedRecord, ModelIoOptions, ModelIoPromptPart, export};
pub use import::import;
pub use loss::{Loss, Losses};
pub use restore::{RestoredRecord, restore};
pub use source::{ImportSource, RecordFile};
