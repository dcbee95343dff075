//! Payloads, written in canonical form (RFC 8785) directly, without an intermediate tree.
//!
//! Every text in a payload is a constant of this program or has been masked: the writer has no method that takes any
//! other text.

use std::io;
use std::net::SocketAddr;

use base64ct::{Base64, Encoding};
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::payload::{Chunk, PayloadWriter, StepId};
use reenact_json::writer::{ObjectWriter, write_escaped, write_list};
use reenact_json::{Digest, canonical};

use crate::mask::{MaskedBody, MaskedHeaders, MaskedJson, MaskedLeaves, MaskedText, milliseconds};
use crate::salt::Salt;

/// Writer of one payload object. Members must be written in the order of their names; the salt is inserted in its
/// place.
pub(crate) struct MaskedPayloadWriter<'o> {
    /// Object in the buffer. A long payload moves into the overflow from time to time.
    object: ObjectWriter<&'o mut Vec<u8>>,
    /// Destination of a payload that is too long for the buffer.
    overflow: &'o mut dyn Overflow,
    /// Salt, until it is written.
    salt: Option<&'o Salt>,
    /// False once a number was written whose text may not be the canonical one.
    is_canonical: bool,
    /// Number of nested objects that are open.
    depth: usize,
}

/// Destination of a payload that is too long to be held in memory.
pub(crate) trait Overflow {
    /// Takes all bytes out of the buffer.
    fn drain(&mut self, buffer: &mut Vec<u8>);

    /// Reports that a spooled body could not be read.
    fn fail(&mut self, error: io::Error);
}

/// Length of the buffer, in bytes, above which it is drained into the overflow.
pub(crate) const MAX_BUFFERED_BYTES: usize = 1 << 20;

/// Bytes of a body that are encoded at a time; a multiple of 3, so that the pieces of Base64 need no padding.
const BODY_PIECE_BYTES: usize = 3 << 16;

/// Name of the member that every payload has.
const SALT_MEMBER: &str = "salt";

/// Appends an object with the members that `members` writes, and the salt. A long object is drained into `overflow`.
/// Returns true if the text is canonical, false if that is not certain.
pub(crate) fn write(
    out: &mut Vec<u8>,
    overflow: &mut dyn Overflow,
    salt: &Salt,
    members: impl FnOnce(&mut MaskedPayloadWriter<'_>),
) -> bool {
    let object = ObjectWriter::open(out).in_order();
    let mut payload =
        MaskedPayloadWriter { object, overflow, salt: Some(salt), is_canonical: true, depth: 0 };
    members(&mut payload);
    payload.write_salt();
    payload.object.close();
    payload.is_canonical
}

/// Returns true if a whole number is its own canonical text: an IEEE double holds it exactly.
fn is_exact(number: u64) -> bool {
    number < 1 << 53
}

impl MaskedPayloadWriter<'_> {
    /// Begins a member, and writes the salt first if it belongs before it.
    fn begin_member(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.write_salt_before(name);
        self.object.name(name)
    }

    /// Writes the salt if it belongs before this member of the payload.
    fn write_salt_before(&mut self, name: &'static str) {
        if self.depth == 0 && name > SALT_MEMBER {
            self.write_salt();
        }
    }

    fn write_salt(&mut self) {
        if let Some(salt) = self.salt.take() {
            quote(salt.as_str(), self.object.name(SALT_MEMBER));
        }
    }

    fn number(&mut self, name: &'static str, number: impl ToString) {
        self.begin_member(name).extend_from_slice(number.to_string().as_bytes());
    }
}

impl<'m> PayloadWriter<MaskedLeaves<'m>> for MaskedPayloadWriter<'_> {
    fn text(&mut self, name: &'static str, text: &&'m MaskedText) {
        quote(text.as_str(), self.begin_member(name));
    }

    fn texts(&mut self, name: &'static str, texts: &[&'m MaskedText]) {
        write_list(texts, self.begin_member(name), |text, out| quote(text.as_str(), out));
    }

    fn json(&mut self, name: &'static str, value: &&'m MaskedJson) {
        match value {
            MaskedJson::Value(text) => self.begin_member(name).extend_from_slice(text),
            MaskedJson::Text(text) => self.text(name, &text),
        }
    }

    fn body(&mut self, name: &'static str, body: &MaskedBody<'m>) {
        let is_text = body.is_text();
        self.write_salt_before(name);
        let out = self.object.name(name);
        out.extend_from_slice(if is_text { b"{\"text\":\"" } else { b"{\"base64\":\"" });
        let mut piece = |bytes: &[u8]| {
            match is_text {
                true => write_escaped(bytes, out),
                false => out.extend_from_slice(Base64::encode_string(bytes).as_bytes()),
            }
            if out.len() > MAX_BUFFERED_BYTES {
                self.overflow.drain(out);
            }
        };
        match body {
            MaskedBody::InMemory(bytes) => bytes.as_slice().chunks(BODY_PIECE_BYTES).for_each(piece),
            MaskedBody::Spooled(spool) => {
                if let Err(error) = spool.for_each_piece(BODY_PIECE_BYTES, &mut piece) {
                    self.overflow.fail(error);
                }
            }
        }
        out.extend_from_slice(b"\"}");
    }

    fn headers(&mut self, name: &'static str, headers: &&'m MaskedHeaders) {
        write_list(headers.as_slice(), self.begin_member(name), |(name, value), out| {
            write_list([name, value], out, |text, out| quote(text, out));
        });
    }

    fn constant(&mut self, name: &'static str, word: &'static str) {
        quote(word, self.begin_member(name));
    }

    fn whole(&mut self, name: &'static str, number: &u64) {
        self.is_canonical &= is_exact(*number);
        self.number(name, number);
    }

    fn integer(&mut self, name: &'static str, number: &i64) {
        self.is_canonical &= is_exact(number.unsigned_abs());
        self.number(name, number);
    }

    fn integers(&mut self, name: &'static str, numbers: &[i64]) {
        self.is_canonical &= numbers.iter().all(|number| is_exact(number.unsigned_abs()));
        write_list(numbers, self.begin_member(name), |number, out| {
            out.extend_from_slice(number.to_string().as_bytes())
        });
    }

    fn double(&mut self, name: &'static str, number: &f64) {
        self.is_canonical = false;
        self.number(name, number);
    }

    fn money(&mut self, name: &'static str, amount: &Money) {
        self.is_canonical = false;
        self.begin_member(name).extend_from_slice(amount.decimal().as_bytes());
    }

    fn chunks(&mut self, name: &'static str, chunks: &[Chunk]) {
        self.is_canonical &= chunks.iter().all(|chunk| is_exact(chunk.length as u64));
        write_list(chunks, self.begin_member(name), |chunk, out| {
            write_list([milliseconds(chunk.at), chunk.length as u64], out, |number, out| {
                out.extend_from_slice(number.to_string().as_bytes());
            });
        });
    }

    fn flag(&mut self, name: &'static str, flag: &bool) {
        self.begin_member(name).extend_from_slice(if *flag { b"true" } else { b"false" });
    }

    fn null(&mut self, name: &'static str) {
        self.begin_member(name).extend_from_slice(b"null");
    }

    fn digest(&mut self, name: &'static str, digest: &Digest) {
        let out = self.begin_member(name);
        out.push(b'"');
        out.extend_from_slice(&digest.hex());
        out.push(b'"');
    }

    fn step(&mut self, name: &'static str, step: &StepId) {
        quote(&step.to_string(), self.begin_member(name));
    }

    fn object(&mut self, name: &'static str, members: impl FnOnce(&mut Self)) {
        self.write_salt_before(name);
        let outer = self.object.enter(name);
        self.depth += 1;
        members(self);
        self.depth -= 1;
        self.object.leave(outer);
    }

    fn objects<T>(&mut self, name: &'static str, items: &[T], members: impl Fn(&T, &mut Self)) {
        self.write_salt_before(name);
        let outer = self.object.enter_list(name);
        self.depth += 1;
        for item in items {
            self.object.enter_element();
            members(item, self);
            self.object.leave_element();
        }
        self.depth -= 1;
        self.object.leave_list(outer);
    }

    fn hashed_files(&mut self, name: &'static str, files: &[(&'m MaskedText, Digest)]) {
        write_list(files, self.begin_member(name), |(path, digest), out| {
            write_list([path.as_str(), &digest.to_string()], out, quote);
        });
    }

    fn addresses(&mut self, name: &'static str, addresses: &[SocketAddr]) {
        write_list(addresses, self.begin_member(name), |address, out| {
            write_list([true, false], out, |is_host, out| match is_host {
                true => quote(&address.ip().to_string(), out),
                false => out.extend_from_slice(address.port().to_string().as_bytes()),
            });
        });
    }
}

/// Appends a canonical JSON string (RFC 8785 §3.2.2.2).
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    canonical::write_string(text, out);
}
