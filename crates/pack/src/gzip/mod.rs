//! gzip (RFC 1952) around a tar: [`GunzipReader`] and [`GzipWriter`].

mod reader;
mod writer;

pub(crate) use reader::GunzipReader;
pub(crate) use writer::GzipWriter;
