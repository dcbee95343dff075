//! The formats in which runs are published: what their bytes say, and how they are hashed, signed and written.
//!
//! Nothing here judges. A view ([`rer::ArtifactReader`], [`rer::EventView`]) gives the members of a document as they stand,
//! right or wrong; hash rules compute what a hash should be; the crate `verify` compares and reports.
//!
//! | module | what it holds |
//! |---|---|
//! | [`format`](mod@format) | the table of formats |
//! | [`mod@recognise`] | which format content is of |
//! | [`foreign`] | the formats that only conversion reads |
//! | [`profile`] | the canonical forms by name |
//! | [`key`] | public keys: every form in which people keep them, key ids, strict Ed25519 |
//! | [`trust`] | which keys are whose, as data: trusted, superseded, compromised |
//! | [`model_io`] | Model IO sessions 1.0.0: views, the core and its hash, the writer |
//! | [`replay_jsonl`] | REPLAY.jsonl v1 and both generations of RECEIPT.json: lines, events, hashes, the writer |
//! | [`replay_bundle`] | Replay Bundles 1: the manifest, limits, cassettes, the writer |
//! | [`rpk`] | `.rpk` artifacts 1.x: views, structure, hashes, codes, writers |
//! | [`rer`] | RER artifacts 0.1 and 0.2: views, structure, hashes, seals |

pub mod foreign;
pub mod format;
pub mod key;
pub mod model_io;
pub mod profile;
pub mod recognise;
pub mod replay_bundle;
pub mod replay_jsonl;
pub mod rer;
pub mod rpk;
pub mod trust;

pub use format::{FORMATS, Format, FormatId};
pub use profile::Profile;
pub use recognise::{Unrecognised, recognise, recognise_import};
