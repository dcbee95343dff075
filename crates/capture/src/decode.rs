//! Removal of content codings, for the record alone: the client always gets the bytes that came.
//!
//! A `ContentDecoder` takes pieces as they came and returns all bytes that are known by then, so that the
//! pieces of a compressed stream keep their times. [`decode_readable`] decodes a whole body. Supported are
//! gzip, deflate (zlib and raw), brotli and zstd, also several of them in a row.

use std::borrow::Cow;
use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use reenact_record::observation::HeaderList;
use zstd::stream::raw::{InBuffer, Operation, OutBuffer};

/// Bytes of a whole body that are decoded at a time: 16 KiB.
const PIECE_BYTES: usize = 16 << 10;

/// Largest number of codings on one body; more are an attack.
const MAX_CODINGS: usize = 4;

/// Decoder that removes the content codings of one body.
pub(crate) struct ContentDecoder {
    /// One decoder for each coding; the coding applied last comes first.
    stages: Vec<DecoderStage>,
    /// Decoded bytes that may still be returned.
    remaining: usize,
}

/// Reason why the codings of a body cannot be removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undecodable {
    /// A coding that is not implemented here.
    #[error("content coding not known")]
    Unknown,
    /// More codings than the limit.
    #[error("more than {MAX_CODINGS} content codings")]
    TooMany,
    /// Bytes that the coding does not allow.
    #[error("not what its content coding says")]
    Damaged,
    /// Body that ended too early.
    #[error("ends before its content coding does")]
    Truncated,
    /// Decoded body that is longer than the limit.
    #[error("longer than a record takes when decoded")]
    TooLong,
}

/// Returns the codings that `content-encoding` lists, in lower case, without `identity`, in order of
/// application.
pub fn codings(headers: &HeaderList<'_>) -> Vec<String> {
    let texts = headers.all("content-encoding").map(|value| visible_text(value).unwrap_or("?"));
    let names = texts.flat_map(|text| text.split(',')).map(|name| name.trim().to_ascii_lowercase());
    names.filter(|name| !name.is_empty() && name != "identity").collect()
}

/// Returns a header's value as text, if it consists of visible ASCII characters, blanks and tabs (RFC 9110
/// §5.5).
pub(crate) fn visible_text(value: &[u8]) -> Option<&str> {
    let is_visible = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    if value.iter().all(is_visible) { core::str::from_utf8(value).ok() } else { None }
}

/// Returns a whole body without its codings. With `is_cut` the end of the body is missing, and the decoded part
/// is returned. `limit` is the longest decoded body, in bytes.
///
/// # Errors
/// Returns the reason if any part of the body cannot be decoded.
pub fn decode_whole(
    codings: &[String],
    body: &[u8],
    is_cut: bool,
    limit: usize,
) -> Result<Vec<u8>, Undecodable> {
    let mut decoder = ContentDecoder::new(codings, limit)?;
    let mut result = Vec::new();
    decoder.push(body, &mut result)?;
    if !is_cut {
        decoder.finish(&mut result)?;
    }
    Ok(result)
}

/// Part of a body that can be decoded, and so may be kept.
pub struct ReadableBody<'b> {
    /// Body without its codings.
    pub body: Cow<'b, [u8]>,
    /// True if codings were removed.
    pub is_decoded: bool,
    /// Reason why this is not all of the body.
    pub fault: Option<Undecodable>,
}

/// Returns the part of a body that can be decoded, at most `limit` bytes.
///
/// Masks see nothing in compressed bytes, so those may not be kept. A body that claims a coding and is plain
/// text is returned as it came.
pub fn decode_readable<'b>(
    codings: &[String],
    body: &'b [u8],
    is_cut: bool,
    limit: usize,
) -> ReadableBody<'b> {
    if codings.is_empty() {
        return ReadableBody { body: Cow::Borrowed(body), is_decoded: false, fault: None };
    }
    let mut decoded = Vec::new();
    let taken_off = ContentDecoder::new(codings, limit).and_then(|mut decoder| {
        // Piece by piece, so that all bytes before a fault are kept.
        body.chunks(PIECE_BYTES).try_for_each(|piece| decoder.push(piece, &mut decoded))?;
        // Some servers announce a coding and send no body, as in answers to HEAD.
        if is_cut || body.is_empty() { Ok(()) } else { decoder.finish(&mut decoded) }
    });
    let fault = taken_off.err();
    if fault.is_some() && decoded.is_empty() && str::from_utf8(body).is_ok() {
        return ReadableBody { body: Cow::Borrowed(body), is_decoded: false, fault };
    }
    ReadableBody { body: Cow::Owned(decoded), is_decoded: true, fault }
}

impl ContentDecoder {
    /// Makes a decoder for these codings that returns at most `limit` bytes.
    pub(crate) fn new(codings: &[String], limit: usize) -> Result<Self, Undecodable> {
        if codings.len() > MAX_CODINGS {
            return Err(Undecodable::TooMany);
        }
        // The coding applied last comes off first.
        let stages = codings.iter().rev().map(|name| DecoderStage::of(name)).collect::<Result<_, _>>()?;
        Ok(Self { stages, remaining: limit })
    }

    /// Decodes one more piece, and appends all bytes known by then to `result`.
    pub(crate) fn push(&mut self, piece: &[u8], result: &mut Vec<u8>) -> Result<(), Undecodable> {
        self.push_from_stage(0, piece, result)
    }

    /// Ends the body, and appends the bytes that the decoders held back.
    ///
    /// # Errors
    /// [`Undecodable::Truncated`] if a coding is incomplete.
    pub(crate) fn finish(mut self, result: &mut Vec<u8>) -> Result<(), Undecodable> {
        for at in 0..self.stages.len() {
            let rest = match self.stages.get_mut(at) {
                Some(stage) => stage.finish(self.remaining)?,
                None => Vec::new(),
            };
            self.push_from_stage(at + 1, &rest, result)?;
        }
        Ok(())
    }

    /// Passes bytes through the stages from index `first` on.
    fn push_from_stage(
        &mut self,
        first: usize,
        piece: &[u8],
        result: &mut Vec<u8>,
    ) -> Result<(), Undecodable> {
        let mut buffered: Option<Vec<u8>> = None;
        for stage in self.stages.iter_mut().skip(first) {
            buffered = Some(stage.push(buffered.as_deref().unwrap_or(piece), self.remaining)?);
        }
        let decoded = buffered.as_deref().unwrap_or(piece);
        self.remaining = self.remaining.checked_sub(decoded.len()).ok_or(Undecodable::TooLong)?;
        result.extend_from_slice(decoded);
        Ok(())
    }
}

/// Decoder of one coding.
enum DecoderStage {
    /// gzip, with any number of members.
    Gzip(Box<MultiGzDecoder<BoundedOutput>>),
    /// Bytes held until the form is known. `deflate` is zlib by the standard and raw deflate with some servers;
    /// the first two bytes tell.
    ZlibOrRawDeflate(Vec<u8>),
    /// zlib or raw deflate.
    Deflate { decoder: Box<Decompress>, has_ended: bool },
    /// Brotli, the coding `br`.
    Brotli(Box<DecompressorWriter<BoundedOutput>>),
    /// Zstandard, with any number of frames.
    Zstd { decoder: Box<zstd::stream::raw::Decoder<'static>>, is_in_frame: bool },
}

/// Output buffer of a decoder, which refuses more than `remaining` bytes.
#[derive(Default)]
struct BoundedOutput {
    bytes: Vec<u8>,
    remaining: usize,
    /// True if a write was refused; tells a too long output from damage.
    is_full: bool,
}

impl Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.remaining.saturating_sub(self.bytes.len()) {
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

/// Size of the decoders' buffers in bytes.
const BUFFER_BYTES: usize = 16 * 1024;

impl DecoderStage {
    /// Makes the decoder for a coding's name in `content-encoding`.
    fn of(name: &str) -> Result<Self, Undecodable> {
        Ok(match name {
            "gzip" | "x-gzip" => Self::Gzip(Box::new(MultiGzDecoder::new(BoundedOutput::default()))),
            "deflate" => Self::ZlibOrRawDeflate(Vec::new()),
            "br" => Self::Brotli(Box::new(DecompressorWriter::new(BoundedOutput::default(), BUFFER_BYTES))),
            "zstd" => {
                let decoder = zstd::stream::raw::Decoder::new().map_err(|_| Undecodable::Unknown)?;
                Self::Zstd { decoder: Box::new(decoder), is_in_frame: false }
            }
            _ => return Err(Undecodable::Unknown),
        })
    }

    /// Decodes a piece, and returns all bytes known by then. `max_bytes` is the largest number of bytes to return.
    fn push(&mut self, piece: &[u8], max_bytes: usize) -> Result<Vec<u8>, Undecodable> {
        // Earlier pieces were decoded completely; zstd reports an error if it is called without input
        // repeatedly.
        if piece.is_empty() {
            return Ok(Vec::new());
        }
        if let Self::ZlibOrRawDeflate(buffered) = self {
            buffered.extend_from_slice(piece);
            let [first, second, ..] = buffered[..] else { return Ok(Vec::new()) };
            let is_zlib = first & 0x0f == 8 && (u16::from(first) << 8 | u16::from(second)) % 31 == 0;
            let buffered = std::mem::take(buffered);
            *self = Self::Deflate { decoder: Box::new(Decompress::new(is_zlib)), has_ended: false };
            return self.push(&buffered, max_bytes);
        }
        match self {
            Self::Gzip(decoder) => {
                decoder.get_mut().remaining = max_bytes;
                let done = write_all_and_flush(decoder, piece);
                take_output(decoder.get_mut(), done)
            }
            Self::Brotli(decoder) => {
                decoder.get_mut().remaining = max_bytes;
                let done = write_all_and_flush(decoder, piece);
                take_output(decoder.get_mut(), done)
            }
            Self::Deflate { decoder, has_ended } => inflate(decoder, has_ended, piece, max_bytes),
            Self::Zstd { decoder, is_in_frame: is_inside } => {
                decompress_zstd(decoder, is_inside, piece, max_bytes)
            }
            Self::ZlibOrRawDeflate(_) => Ok(Vec::new()),
        }
    }

    /// Ends the coding, and returns its last bytes.
    fn finish(&mut self, max_bytes: usize) -> Result<Vec<u8>, Undecodable> {
        match self {
            Self::Gzip(decoder) => {
                decoder.get_mut().remaining = max_bytes;
                let done = decoder.try_finish();
                finish_output(decoder.get_mut(), done)
            }
            Self::Brotli(decoder) => {
                decoder.get_mut().remaining = max_bytes;
                let done = decoder.close();
                finish_output(decoder.get_mut(), done)
            }
            Self::Deflate { has_ended: true, .. } | Self::Zstd { is_in_frame: false, .. } => Ok(Vec::new()),
            Self::ZlibOrRawDeflate(buffered) if buffered.is_empty() => Ok(Vec::new()),
            Self::Deflate { .. } | Self::Zstd { .. } | Self::ZlibOrRawDeflate(_) => {
                Err(Undecodable::Truncated)
            }
        }
    }
}

/// Feeds a piece to a decoder and flushes it. A decoder whose stream has ended accepts no more bytes, which is
/// an error.
fn write_all_and_flush(decoder: &mut impl Write, mut piece: &[u8]) -> io::Result<()> {
    while !piece.is_empty() {
        let taken = decoder.write(piece)?;
        if taken == 0 {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        piece = piece.get(taken..).unwrap_or_default();
    }
    decoder.flush()
}

/// Takes the bytes out of a decoder's output, or translates its error.
fn take_output(sink: &mut BoundedOutput, done: io::Result<()>) -> Result<Vec<u8>, Undecodable> {
    match done {
        Ok(()) => Ok(std::mem::take(&mut sink.bytes)),
        Err(_) if sink.is_full => Err(Undecodable::TooLong),
        Err(_) => Err(Undecodable::Damaged),
    }
}

/// Takes the last output. At the end of a body an error means that the body is truncated.
fn finish_output(sink: &mut BoundedOutput, done: io::Result<()>) -> Result<Vec<u8>, Undecodable> {
    take_output(sink, done).map_err(|why| match why {
        Undecodable::Damaged => Undecodable::Truncated,
        other => other,
    })
}

/// Decodes a piece of a zlib or raw deflate stream.
fn inflate(
    decoder: &mut Decompress,
    has_ended: &mut bool,
    piece: &[u8],
    max_bytes: usize,
) -> Result<Vec<u8>, Undecodable> {
    let mut result = Vec::new();
    let mut buffer = [0_u8; BUFFER_BYTES];
    let mut rest = piece;
    while !*has_ended {
        let (read_before, written_before) = (decoder.total_in(), decoder.total_out());
        let status = match decoder.decompress(rest, &mut buffer, FlushDecompress::None) {
            Ok(status) => status,
            Err(_) => return Err(Undecodable::Damaged),
        };
        // Neither count exceeds the length of its slice.
        let read = usize::try_from(decoder.total_in() - read_before).unwrap_or(usize::MAX);
        let written = usize::try_from(decoder.total_out() - written_before).unwrap_or(usize::MAX);
        rest = rest.get(read..).unwrap_or_default();
        if written > max_bytes.saturating_sub(result.len()) {
            return Err(Undecodable::TooLong);
        }
        result.extend_from_slice(buffer.get(..written).unwrap_or_default());
        *has_ended = status == Status::StreamEnd;
        // The decoder may fill less than the buffer without taking input, and still have more output.
        if !*has_ended && written == 0 && (rest.is_empty() || read == 0) {
            break;
        }
    }
    // Bytes after the end of the stream are damage.
    if rest.is_empty() { Ok(result) } else { Err(Undecodable::Damaged) }
}

/// Decodes a piece of one or several zstd frames.
fn decompress_zstd(
    decoder: &mut zstd::stream::raw::Decoder<'static>,
    is_in_frame: &mut bool,
    piece: &[u8],
    max_bytes: usize,
) -> Result<Vec<u8>, Undecodable> {
    let mut result = Vec::new();
    let mut buffer = [0_u8; BUFFER_BYTES];
    let mut input = InBuffer::around(piece);
    // The decoder must not be called between frames: it would count a frame as begun.
    while input.pos() < piece.len() || *is_in_frame {
        let mut output = OutBuffer::around(&mut buffer[..]);
        let hint = decoder.run(&mut input, &mut output).map_err(|_| Undecodable::Damaged)?;
        let (written, is_filled) = (output.as_slice(), output.pos() == BUFFER_BYTES);
        if written.len() > max_bytes.saturating_sub(result.len()) {
            return Err(Undecodable::TooLong);
        }
        result.extend_from_slice(written);
        *is_in_frame = hint != 0;
        if input.pos() == piece.len() && !is_filled {
            break;
        }
    }
    Ok(result)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]
mod tests;
