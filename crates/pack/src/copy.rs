//! Content into a writer, of exactly the size that was stated before it.

use crate::error::{Field, PackError, quoted};
use crate::input::{BUFFER, count, within};
use std::io::{self, Read, Write};

/// Copies `size` bytes, showing each chunk; content that is longer or shorter is refused.
pub(crate) fn copy_exactly(
    name: &str,
    size: u64,
    mut content: impl Read,
    sink: &mut impl Write,
    mut show: impl FnMut(&[u8]),
) -> Result<(), PackError> {
    let wrong_size = || PackError::Disagreement { member: quoted(name.as_bytes()), field: Field::Size };
    let mut buffer = vec![0; BUFFER];
    let mut left = size;
    while left > 0 {
        let room = within(left, buffer.len());
        let got = read_some(&mut content, &mut buffer[..room])?;
        if got == 0 {
            return Err(wrong_size());
        }
        show(&buffer[..got]);
        sink.write_all(&buffer[..got])?;
        left -= count(got);
    }
    if read_some(&mut content, &mut buffer[..1])? == 0 { Ok(()) } else { Err(wrong_size()) }
}

fn read_some(content: &mut impl Read, out: &mut [u8]) -> Result<usize, PackError> {
    loop {
        match content.read(out) {
            Ok(got) => return Ok(got.min(out.len())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
