//! The formats in which runs are published: reading, hashing, signing and writing their files.
//!
//! Nothing here judges. A view ([`rer::RerArtifactReader`], [`rer::RerEventView`]) gives the members of a document as
//! they stand, right or wrong; the hash functions compute what a hash should be; the crate `verify` compares both and
//! reports.
//!
//! | module | what it holds |
//! |---|---|
//! | [`format`](mod@format) | the table of formats |
//! | [`mod@recognise`] | recognition of a format by content |
//! | [`import_only`] | rows of the formats that only conversion reads |
//! | [`profile`] | canonical forms by name |
//! | [`key`] | public keys: their file forms, key ids, strict Ed25519 verification |
//! | [`trust`] | the trust store: keys that are trusted, superseded, compromised |
//! | [`rer`] | RER artifacts 0.1 and 0.2: views, structure, hashes, seals, envelopes, approvals |
//! | [`rpk`] | `.rpk` artifacts 1.x: views, structure, hashes, HMAC signatures, writers |
//! | [`model_io`] | Model IO sessions 1.0.0: views, the hashed core, the writer |
//! | [`replay_jsonl`] | REPLAY.jsonl v1 and both generations of RECEIPT.json: lines, events, hashes, the writer |
//! | [`replay_bundle`] | Replay Bundles 1: the manifest, limits, cassettes, the writer |
//!
//! Start reading at [`FORMATS`], the table; then at [`rer`], the format that reenact itself records.

pub mod format;
pub mod import_only;
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
pub use recognise::{Unrecognised, recognise, recognise_import, recognise_without_proof};
