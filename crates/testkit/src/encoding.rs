//! Content encodings, applied to the pieces of a body.
//!
//! The encoder is flushed after each piece of a stream, so that a client can decode an event when
//! it arrives and not only when the stream is over.

use std::io;

use crate::answer::{Encoding, ScriptStep};

/// Returns the steps with their bytes encoded. Without the feature `encodings` this always fails.
#[cfg(not(feature = "encodings"))]
pub(crate) fn encode(_: Vec<ScriptStep>, encoding: Encoding, _: bool) -> io::Result<Vec<ScriptStep>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, format!("{}: built without encodings", encoding.name())))
}

/// Returns the steps with their bytes encoded. If the answer is cut (`is_whole` is false), the
/// encoding gets no end either.
///
/// A body in one piece is encoded as one piece; a stream gets one more piece for the end of the
/// encoding.
#[cfg(feature = "encodings")]
pub(crate) fn encode(
    steps: Vec<ScriptStep>,
    encoding: Encoding,
    is_whole: bool,
) -> io::Result<Vec<ScriptStep>> {
    let is_document = is_whole && matches!(steps.as_slice(), [ScriptStep::Send(_)]);
    let mut encoder = BodyEncoder::new(encoding)?;
    let mut encoded = Vec::new();
    for step in steps {
        match step {
            ScriptStep::Send(bytes) if is_document => encoder.write(&bytes)?,
            ScriptStep::Send(bytes) => {
                encoder.write(&bytes)?;
                encoded.push(ScriptStep::send(encoder.take_flushed()?));
            }
            ScriptStep::Wait(_) => encoded.push(step),
        }
    }
    if is_whole {
        encoded.push(ScriptStep::send(encoder.finish()?));
    }
    encoded.retain(|step| !matches!(step, ScriptStep::Send(bytes) if bytes.is_empty()));
    Ok(encoded)
}

/// Encoder of one body.
#[cfg(feature = "encodings")]
enum BodyEncoder {
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    Deflate(flate2::write::ZlibEncoder<Vec<u8>>),
    // Far larger than the others.
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

#[cfg(feature = "encodings")]
impl BodyEncoder {
    fn new(encoding: Encoding) -> io::Result<Self> {
        Ok(match encoding {
            Encoding::Gzip => {
                Self::Gzip(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()))
            }
            Encoding::Deflate => {
                Self::Deflate(flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast()))
            }
            // Quality 4 and a window of 2^18: what front ends use for content that is made while it
            // is sent.
            Encoding::Brotli => {
                Self::Brotli(Box::new(brotli::CompressorWriter::new(Vec::new(), 4096, 4, 18)))
            }
            Encoding::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(Vec::new(), 3)?),
        })
    }

    fn writer(&mut self) -> &mut dyn io::Write {
        match self {
            Self::Gzip(encoder) => encoder,
            Self::Deflate(encoder) => encoder,
            Self::Brotli(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer().write_all(bytes)
    }

    /// Flushes the encoder, and takes all bytes that are needed to decode what was written so far.
    fn take_flushed(&mut self) -> io::Result<Vec<u8>> {
        self.writer().flush()?;
        Ok(std::mem::take(match self {
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Deflate(encoder) => encoder.get_mut(),
            Self::Brotli(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
        }))
    }

    /// Ends the encoding, and returns its last bytes.
    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Deflate(encoder) => encoder.finish(),
            Self::Brotli(encoder) => Ok(encoder.into_inner()),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
#[cfg(feature = "encodings")]
mod tests {
    use std::io::Read;

    use super::*;

    /// Decodes as much as possible.
    fn decoded(encoding: Encoding, bytes: &[u8]) -> Vec<u8> {
        let mut reader: Box<dyn Read + '_> = match encoding {
            Encoding::Gzip => Box::new(flate2::read::GzDecoder::new(bytes)),
            Encoding::Deflate => Box::new(flate2::read::ZlibDecoder::new(bytes)),
            Encoding::Brotli => Box::new(brotli::Decompressor::new(bytes, 4096)),
            Encoding::Zstd => Box::new(zstd::stream::read::Decoder::new(bytes).unwrap()),
        };
        let (mut text, mut buffer) = (Vec::new(), [0; 64]);
        while let Ok(1..) = reader.read(&mut buffer).inspect(|n| text.extend_from_slice(&buffer[..*n])) {}
        text
    }

    fn bytes(step: &ScriptStep) -> &[u8] {
        match step {
            ScriptStep::Send(bytes) => bytes,
            ScriptStep::Wait(gate) => panic!("waits at {gate}"),
        }
    }

    #[test]
    fn each_piece_of_a_stream_can_be_read_when_it_comes() {
        for encoding in Encoding::ALL {
            let pieces = ["data: one\n\n", "data: two\n\n", "data: drei 🦀\n\n"];
            let encoded = encode(pieces.map(ScriptStep::send).to_vec(), encoding, true).unwrap();
            let (mut wire, mut expected) = (Vec::new(), String::new());
            for (step, piece) in encoded.iter().zip(pieces) {
                wire.extend_from_slice(bytes(step));
                expected += piece;
                assert_eq!(decoded(encoding, &wire), expected.as_bytes(), "{encoding:?}");
            }
            // One more piece ends the encoding.
            assert_eq!(encoded.len(), 4, "{encoding:?}");
            wire.extend_from_slice(bytes(&encoded[3]));
            assert_eq!(decoded(encoding, &wire), expected.as_bytes(), "{encoding:?}");
        }
    }

    #[test]
    fn a_document_is_one_piece_and_a_cut_one_has_no_end() {
        for encoding in Encoding::ALL {
            let text = "words and more words ".repeat(1000);
            let whole = encode(vec![ScriptStep::send(text.clone())], encoding, true).unwrap();
            assert_eq!(whole.len(), 1, "{encoding:?}");
            assert!(bytes(&whole[0]).len() < text.len() / 10, "{encoding:?}");
            assert_eq!(decoded(encoding, bytes(&whole[0])), text.as_bytes(), "{encoding:?}");
            let cut = encode(
                vec![ScriptStep::send("a"), ScriptStep::wait("g"), ScriptStep::send("b")],
                encoding,
                false,
            )
            .unwrap();
            assert_eq!((cut.len(), &cut[1]), (3, &ScriptStep::wait("g")), "{encoding:?}");
        }
    }
}
