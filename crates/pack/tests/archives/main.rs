//! Readers and writers through their public interface, with archives that are built byte by byte.

// Clippy's exceptions for tests end at the functions that tests share.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap
)]

mod bundles;
mod golden;
mod gzip_refused;
mod handmade;
mod limits;
mod mutation;
mod round_trip;
mod tar_accepted;
mod tar_refused;
mod zip_accepted;
mod zip_refused;
