//! gzip (RFC 1952), as the wrapping of a tar.

mod reader;
mod writer;

pub(crate) use reader::Gunzip;
pub(crate) use writer::GzipWriter;
