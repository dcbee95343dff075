//! zip (APPNOTE 6.3), of which stored and deflated files below 4 GiB are read and written.
//!
//! A zip says everything twice, in the directory at its end and before each content, and two readers that trust different halves
//! see different archives. So here both halves must agree, every byte must belong to exactly one entry, and whatever would
//! give an entry a third description (64-bit sizes, Unicode path fields, a second end record) is refused.

mod body;
mod directory;
mod end;
mod extra;
mod local;
mod reader;
mod writer;

pub use reader::read_zip;
pub use writer::{ZipMethod, ZipWriter};

// APPNOTE §4.3.
const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const ZIP64_LOCATOR: u32 = 0x0706_4b50;

// APPNOTE §4.4.4: general purpose flags.
const ENCRYPTED: u16 = 1;
/// How hard deflate tried: a remark.
const EFFORT: u16 = 0b110;
/// Sizes and CRC follow the content.
const DESCRIBED: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;

// APPNOTE §4.4.5.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Little-endian numbers at fixed places of a record.
fn u16_at<const N: usize>(record: &[u8; N], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

fn u32_at<const N: usize>(record: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
}
