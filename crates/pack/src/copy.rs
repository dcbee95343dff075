//! Copying of member content, of exactly the size that the header before it states.

use crate::error::{PackError, RepeatedField, shortened};
use crate::input::{BUFFER_BYTES, at_most, to_u64};
use std::io::{self, Read, Write};

/// Copies `size` bytes from `content` to `sink` and calls `on_chunk` with each chunk, for checksums.
///
/// # Errors
/// [`PackError::Disagreement`] if the content is longer or shorter; failures of the reader or the sink.
pub(crate) fn copy_exactly(
    name: &str,
    size: u64,
    mut content: impl Read,
    sink: &mut impl Write,
    mut on_chunk: impl FnMut(&[u8]),
) -> Result<(), PackError> {
    let wrong_size =
        || PackError::Disagreement { member: shortened(name.as_bytes()), field: RepeatedField::Size };
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut remaining = size;
    while remaining > 0 {
        let chunk_length = at_most(remaining, buffer.len());
        let got = read_retrying(&mut content, &mut buffer[..chunk_length])?;
        if got == 0 {
            return Err(wrong_size());
        }
        on_chunk(&buffer[..got]);
        sink.write_all(&buffer[..got])?;
        remaining -= to_u64(got);
    }
    if read_retrying(&mut content, &mut buffer[..1])? == 0 { Ok(()) } else { Err(wrong_size()) }
}

/// Reads once, and again after an interruption by a signal.
fn read_retrying(content: &mut impl Read, out: &mut [u8]) -> Result<usize, PackError> {
    loop {
        match content.read(out) {
            Ok(got) => return Ok(got.min(out.len())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
