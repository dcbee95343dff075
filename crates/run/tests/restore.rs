//! Restoring of imported records: the canonical bytes of the original come back, for every vector that
//! verifies, for files of other projects, and for generated runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

#[path = "restore/corpus.rs"]
mod corpus;
mod support;

#[path = "restore/generated.rs"]
mod generated;
#[path = "restore/others.rs"]
mod others;
#[path = "restore/vectors.rs"]
mod vectors;
