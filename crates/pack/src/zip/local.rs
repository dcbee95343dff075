//! What stands around an entry's content: the local header before it and the data descriptor behind. Both repeat the
//! directory, and both must repeat it truly.

use super::directory::Entry;
use super::{DESCRIBED, DESCRIPTOR, LOCAL, extra, u16_at, u32_at};
use crate::error::{Field, Malformation, PackError, Stage, quoted};
use crate::input::{Input, exact, vector};
use std::io::Read;

/// Reads the header and gives its length.
pub(super) fn header<R: Read>(input: &mut Input<R>, entry: &Entry) -> Result<u64, PackError> {
    let record: [u8; 30] = exact(input, Stage::ZipLocal)?;
    if u32_at(&record, 0) != LOCAL {
        return Err(PackError::malformed(Malformation::ZipRecord));
    }
    let lengths = [26, 28].map(|at| u64::from(u16_at(&record, at)));
    let raw = vector(input, lengths[0], Stage::ZipLocal)?;
    let extras = vector(input, lengths[1], Stage::ZipLocal)?;
    extra::check(&extras).map_err(PackError::malformed)?;

    let agree = |agrees: bool, field| if agrees { Ok(()) } else { Err(disagreement(entry, field)) };
    let name = if entry.folder { raw.strip_suffix(b"/") } else { Some(&raw[..]) };
    agree(name == Some(entry.name.as_bytes()), Field::Name)?;
    agree(u16_at(&record, 6) == entry.flags, Field::Flags)?;
    agree(u16_at(&record, 8) == entry.method, Field::Method)?;
    // Before a descriptor a writer leaves zero what it does not know yet: Info-ZIP the CRC alone, others all three.
    let unknown = |value: u32| entry.flags & DESCRIBED != 0 && value == 0;
    let [crc, packed, size] = [14, 18, 22].map(|at| u32_at(&record, at));
    agree(crc == entry.crc || unknown(crc), Field::Crc)?;
    agree(packed == entry.packed || unknown(packed), Field::Size)?;
    agree(size == entry.size || unknown(size), Field::Size)?;
    Ok(30 + lengths[0] + lengths[1])
}

/// Reads the descriptor in the `room` before the next entry and gives its length. Its signature is optional.
pub(super) fn descriptor<R: Read>(input: &mut Input<R>, entry: &Entry, room: u64) -> Result<u64, PackError> {
    if entry.flags & DESCRIBED == 0 {
        return Ok(0);
    }
    let signed = match room {
        12 => false,
        16 => true,
        _ => return Err(PackError::malformed(Malformation::ZipGap)),
    };
    if signed && u32::from_le_bytes(exact(input, Stage::ZipLocal)?) != DESCRIPTOR {
        return Err(PackError::malformed(Malformation::ZipRecord));
    }
    let record: [u8; 12] = exact(input, Stage::ZipLocal)?;
    if u32_at(&record, 0) != entry.crc {
        return Err(disagreement(entry, Field::Crc));
    }
    if u32_at(&record, 4) != entry.packed || u32_at(&record, 8) != entry.size {
        return Err(disagreement(entry, Field::Size));
    }
    Ok(room)
}

pub(super) fn disagreement(entry: &Entry, field: Field) -> PackError {
    PackError::Disagreement { member: quoted(entry.name.as_bytes()), field }
}
