//! The readers and writers from outside: archives made by hand, byte by byte, and what becomes of them.

// Clippy's exceptions for tests end at the functions that tests share.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap
)]

mod bundles;
mod forge;
mod golden;
mod gzip_refused;
mod limits;
mod mutation;
mod round_trip;
mod tar_accepted;
mod tar_refused;
mod zip_accepted;
mod zip_refused;
