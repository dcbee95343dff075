//! zip (APPNOTE 6.3), of which stored and deflated files below 4 GiB are read and written. Start at `reader`.
//!
//! A zip states everything twice, in the directory at its end and in the local header before each content, and two readers that
//! trust different halves see different archives. So here both halves must agree, every byte must belong to exactly one entry,
//! and a third description of an entry (64-bit sizes, Unicode path fields, a second end record) is refused.

mod content;
mod directory;
mod end_record;
mod extra_fields;
mod local_header;
mod reader;
mod writer;

pub use reader::read_zip;
pub use writer::{ZipMethod, ZipWriter};

// APPNOTE §4.3.
const LOCAL_SIGNATURE: u32 = 0x0403_4b50;
const CENTRAL_SIGNATURE: u32 = 0x0201_4b50;
const END_SIGNATURE: u32 = 0x0605_4b50;
const DESCRIPTOR_SIGNATURE: u32 = 0x0807_4b50;
const ZIP64_LOCATOR_SIGNATURE: u32 = 0x0706_4b50;

// APPNOTE §4.4.4: general purpose flags.
const FLAG_ENCRYPTED: u16 = 1;
/// Compression effort of deflate, without effect on reading.
const FLAG_DEFLATE_EFFORT: u16 = 0b110;
/// A data descriptor with sizes and CRC follows the content.
const FLAG_DESCRIPTOR: u16 = 1 << 3;
const FLAG_UTF8: u16 = 1 << 11;

// APPNOTE §4.4.5.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Reads a little-endian number at a fixed offset of a record.
fn u16_at<const N: usize>(record: &[u8; N], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

fn u32_at<const N: usize>(record: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
}
