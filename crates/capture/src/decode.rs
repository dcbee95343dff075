//! Content codings removed, for the record alone: the client always gets the bytes that came.
//!
//! A `Decoder` takes pieces as they came and returns all that is known by then, so that the pieces of a compressed stream
//! keep their times. [`readable`] decodes a whole body.

use std::borrow::Cow;
use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use reenact_record::observation::HeaderList;
use zstd::stream::raw::{InBuffer, Operation, OutBuffer};

/// Bytes of a whole body that are decoded at a time.
const PIECE: usize = 16 << 10;

/// Largest number of codings on one body; more are an attack.
const MAX_CODINGS: usize = 4;

/// Removes the content codings of one body.
pub(crate) struct Decoder {
    stages: Vec<Stage>,
    /// Bytes that may still come out.
    room: usize,
}

/// Reason why the codings of a body cannot be removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undecodable {
    /// A coding that is not implemented here.
    #[error("content coding not known")]
    Unknown,
    /// A list of codings that is an attack.
    #[error("more than {MAX_CODINGS} content codings")]
    TooMany,
    /// Bytes that the coding does not allow.
    #[error("not what its content coding says")]
    Damaged,
    /// An end that came too early.
    #[error("ends before its content coding does")]
    Truncated,
    /// More bytes than the limit.
    #[error("longer than a record takes when decoded")]
    TooLong,
}

/// Returns the codings that `content-encoding` lists, without `identity`, in order of application.
pub fn codings(headers: &HeaderList<'_>) -> Vec<String> {
    let texts = headers.all("content-encoding").map(|value| visible_text(value).unwrap_or("?"));
    let names = texts.flat_map(|text| text.split(',')).map(|name| name.trim().to_ascii_lowercase());
    names.filter(|name| !name.is_empty() && name != "identity").collect()
}

/// Returns a header's value as text, if it has visible characters, blanks and tabs only (RFC 9110 §5.5).
pub(crate) fn visible_text(value: &[u8]) -> Option<&str> {
    let is_visible = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    if value.iter().all(is_visible) { core::str::from_utf8(value).ok() } else { None }
}

/// Returns a whole body without its codings. With `is_cut` the end never came, and what there is counts.
pub fn whole(codings: &[String], body: &[u8], is_cut: bool, limit: usize) -> Result<Vec<u8>, Undecodable> {
    let mut decoder = Decoder::new(codings, limit)?;
    let mut result = Vec::new();
    decoder.push(body, &mut result)?;
    if !is_cut {
        decoder.finish(&mut result)?;
    }
    Ok(result)
}

/// The part of a body that may be kept.
pub struct Readable<'b> {
    /// Body without its codings.
    pub body: Cow<'b, [u8]>,
    /// True if codings were removed.
    pub is_decoded: bool,
    /// Reason why this is not all of the body.
    pub fault: Option<Undecodable>,
}

/// Returns the part of a body that can be read. Masks see nothing in compressed bytes, so none of those may be kept. A body
/// that only claims to be compressed, and is text, is read as it came.
pub fn readable<'b>(codings: &[String], body: &'b [u8], is_cut: bool, limit: usize) -> Readable<'b> {
    if codings.is_empty() {
        return Readable { body: Cow::Borrowed(body), is_decoded: false, fault: None };
    }
    let mut decoded = Vec::new();
    let taken_off = Decoder::new(codings, limit).and_then(|mut decoder| {
        // Piece by piece: what comes before a fault is kept.
        body.chunks(PIECE).try_for_each(|piece| decoder.push(piece, &mut decoded))?;
        // Some servers say a coding and send nothing, as in answers to HEAD.
        if is_cut || body.is_empty() { Ok(()) } else { decoder.finish(&mut decoded) }
    });
    let fault = taken_off.err();
    if fault.is_some() && decoded.is_empty() && str::from_utf8(body).is_ok() {
        return Readable { body: Cow::Borrowed(body), is_decoded: false, fault };
    }
    Readable { body: Cow::Owned(decoded), is_decoded: true, fault }
}

impl Decoder {
    /// For a body with these codings, of which at most `limit` bytes may come.
    pub(crate) fn new(codings: &[String], limit: usize) -> Result<Self, Undecodable> {
        if codings.len() > MAX_CODINGS {
            return Err(Undecodable::TooMany);
        }
        // The coding applied last comes off first.
        let stages = codings.iter().rev().map(|name| Stage::of(name)).collect::<Result<_, _>>()?;
        Ok(Self { stages, room: limit })
    }

    /// Adds to `result` what can be known after one more piece.
    pub(crate) fn push(&mut self, piece: &[u8], result: &mut Vec<u8>) -> Result<(), Undecodable> {
        self.pass(0, piece, result)
    }

    /// The body has ended: adds what was held back.
    pub(crate) fn finish(mut self, result: &mut Vec<u8>) -> Result<(), Undecodable> {
        for at in 0..self.stages.len() {
            let rest = match self.stages.get_mut(at) {
                Some(stage) => stage.finish(self.room)?,
                None => Vec::new(),
            };
            self.pass(at + 1, &rest, result)?;
        }
        Ok(())
    }

    /// Hands bytes through the stages from `first` on.
    fn pass(&mut self, first: usize, piece: &[u8], result: &mut Vec<u8>) -> Result<(), Undecodable> {
        let mut held: Option<Vec<u8>> = None;
        for stage in self.stages.iter_mut().skip(first) {
            held = Some(stage.push(held.as_deref().unwrap_or(piece), self.room)?);
        }
        let decoded = held.as_deref().unwrap_or(piece);
        self.room = self.room.checked_sub(decoded.len()).ok_or(Undecodable::TooLong)?;
        result.extend_from_slice(decoded);
        Ok(())
    }
}

enum Stage {
    Gzip(Box<MultiGzDecoder<Sink>>),
    /// `deflate` is zlib by the standard and raw deflate by some servers: the first two bytes tell.
    Unsettled(Vec<u8>),
    Deflate {
        decoder: Box<Decompress>,
        has_ended: bool,
    },
    Brotli(Box<DecompressorWriter<Sink>>),
    Zstd {
        decoder: Box<zstd::stream::raw::Decoder<'static>>,
        is_inside: bool,
    },
}

/// Output of a decoder, bounded by `room`.
#[derive(Default)]
struct Sink {
    bytes: Vec<u8>,
    room: usize,
    is_full: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.room.saturating_sub(self.bytes.len()) {
            self.is_full = true;
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const BUFFER: usize = 16 * 1024;

impl Stage {
    fn of(name: &str) -> Result<Self, Undecodable> {
        Ok(match name {
            "gzip" | "x-gzip" => Self::Gzip(Box::new(MultiGzDecoder::new(Sink::default()))),
            "deflate" => Self::Unsettled(Vec::new()),
            "br" => Self::Brotli(Box::new(DecompressorWriter::new(Sink::default(), BUFFER))),
            "zstd" => {
                let decoder = zstd::stream::raw::Decoder::new().map_err(|_| Undecodable::Unknown)?;
                Self::Zstd { decoder: Box::new(decoder), is_inside: false }
            }
            _ => return Err(Undecodable::Unknown),
        })
    }

    fn push(&mut self, piece: &[u8], room: usize) -> Result<Vec<u8>, Undecodable> {
        // All that earlier pieces gave is out already; zstd calls it an error to be asked in vain time and again.
        if piece.is_empty() {
            return Ok(Vec::new());
        }
        if let Self::Unsettled(held) = self {
            held.extend_from_slice(piece);
            let [first, second, ..] = held[..] else { return Ok(Vec::new()) };
            let is_zlib = first & 0x0f == 8 && (u16::from(first) << 8 | u16::from(second)) % 31 == 0;
            let held = std::mem::take(held);
            *self = Self::Deflate { decoder: Box::new(Decompress::new(is_zlib)), has_ended: false };
            return self.push(&held, room);
        }
        match self {
            Self::Gzip(decoder) => {
                decoder.get_mut().room = room;
                let done = feed(decoder, piece);
                taken(decoder.get_mut(), done)
            }
            Self::Brotli(decoder) => {
                decoder.get_mut().room = room;
                let done = feed(decoder, piece);
                taken(decoder.get_mut(), done)
            }
            Self::Deflate { decoder, has_ended } => inflated(decoder, has_ended, piece, room),
            Self::Zstd { decoder, is_inside } => unzstd(decoder, is_inside, piece, room),
            Self::Unsettled(_) => Ok(Vec::new()),
        }
    }

    fn finish(&mut self, room: usize) -> Result<Vec<u8>, Undecodable> {
        match self {
            Self::Gzip(decoder) => {
                decoder.get_mut().room = room;
                let done = decoder.try_finish();
                ended(decoder.get_mut(), done)
            }
            Self::Brotli(decoder) => {
                decoder.get_mut().room = room;
                let done = decoder.close();
                ended(decoder.get_mut(), done)
            }
            Self::Deflate { has_ended: true, .. } | Self::Zstd { is_inside: false, .. } => Ok(Vec::new()),
            Self::Unsettled(held) if held.is_empty() => Ok(Vec::new()),
            Self::Deflate { .. } | Self::Zstd { .. } | Self::Unsettled(_) => Err(Undecodable::Truncated),
        }
    }
}

/// All that a decoder can say after a piece. One whose stream has ended takes no more.
fn feed(decoder: &mut impl Write, mut piece: &[u8]) -> io::Result<()> {
    while !piece.is_empty() {
        let taken = decoder.write(piece)?;
        if taken == 0 {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        piece = piece.get(taken..).unwrap_or_default();
    }
    decoder.flush()
}

fn taken(sink: &mut Sink, done: io::Result<()>) -> Result<Vec<u8>, Undecodable> {
    match done {
        Ok(()) => Ok(std::mem::take(&mut sink.bytes)),
        Err(_) if sink.is_full => Err(Undecodable::TooLong),
        Err(_) => Err(Undecodable::Damaged),
    }
}

fn ended(sink: &mut Sink, done: io::Result<()>) -> Result<Vec<u8>, Undecodable> {
    taken(sink, done).map_err(|why| match why {
        Undecodable::Damaged => Undecodable::Truncated,
        other => other,
    })
}

fn inflated(
    decoder: &mut Decompress,
    has_ended: &mut bool,
    piece: &[u8],
    room: usize,
) -> Result<Vec<u8>, Undecodable> {
    let mut result = Vec::new();
    let mut buffer = [0_u8; BUFFER];
    let mut rest = piece;
    while !*has_ended {
        let (read_before, written_before) = (decoder.total_in(), decoder.total_out());
        let status = match decoder.decompress(rest, &mut buffer, FlushDecompress::None) {
            Ok(status) => status,
            Err(_) => return Err(Undecodable::Damaged),
        };
        // Never more than the two slices are long.
        let read = usize::try_from(decoder.total_in() - read_before).unwrap_or(usize::MAX);
        let written = usize::try_from(decoder.total_out() - written_before).unwrap_or(usize::MAX);
        rest = rest.get(read..).unwrap_or_default();
        if written > room.saturating_sub(result.len()) {
            return Err(Undecodable::TooLong);
        }
        result.extend_from_slice(buffer.get(..written).unwrap_or_default());
        *has_ended = status == Status::StreamEnd;
        // It may fill less than the buffer and take nothing, and still have more to give.
        if !*has_ended && written == 0 && (rest.is_empty() || read == 0) {
            break;
        }
    }
    // What follows the end of the stream belongs to nothing.
    if rest.is_empty() { Ok(result) } else { Err(Undecodable::Damaged) }
}

fn unzstd(
    decoder: &mut zstd::stream::raw::Decoder<'static>,
    is_inside: &mut bool,
    piece: &[u8],
    room: usize,
) -> Result<Vec<u8>, Undecodable> {
    let mut result = Vec::new();
    let mut buffer = [0_u8; BUFFER];
    let mut input = InBuffer::around(piece);
    // Between frames the decoder must not be asked: it would count a frame as begun.
    while input.pos() < piece.len() || *is_inside {
        let mut output = OutBuffer::around(&mut buffer[..]);
        let hint = decoder.run(&mut input, &mut output).map_err(|_| Undecodable::Damaged)?;
        let (written, is_filled) = (output.as_slice(), output.pos() == BUFFER);
        if written.len() > room.saturating_sub(result.len()) {
            return Err(Undecodable::TooLong);
        }
        result.extend_from_slice(written);
        *is_inside = hint != 0;
        if input.pos() == piece.len() && !is_filled {
            break;
        }
    }
    Ok(result)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]
mod tests;
