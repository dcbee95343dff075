//! All twenty ways from one of the five formats to another: on rich runs and on odd ones, with what is lost.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

#[path = "pairs/honesty.rs"]
mod honesty;
#[path = "pairs/reports.rs"]
mod reports;
#[path = "pairs/sources.rs"]
mod sources;
#[path = "pairs/walk.rs"]
mod walk;
