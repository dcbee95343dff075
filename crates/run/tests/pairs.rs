//! All twenty conversions from one of the five formats to another: rich runs and odd ones, with their losses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

#[path = "pairs/honesty.rs"]
mod honesty;
#[path = "pairs/reports.rs"]
mod reports;
#[path = "pairs/sources.rs"]
mod sources;
#[path = "pairs/to_replay.rs"]
mod to_replay;
#[path = "pairs/walk.rs"]
mod walk;
