//! Whatever is imported comes back: the canonical bytes of the original, from every vector that verifies, from other people's
//! files, and from runs that nobody would write.

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
