//! Payloads, written in canonical form as they are made.
//!
//! Every text in a payload is a constant of this program or has been masked: there is no method that takes another.

use std::io;

use base64ct::{Base64, Encoding};
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::payload::{Chunk, PayloadWriter, StepId};
use reenact_json::writer::{ObjectWriter, write_escaped, write_list};
use reenact_json::{Digest, canonical};

use crate::mask::{Masked, MaskedBody, MaskedHeaders, MaskedJson, MaskedLeaves, milliseconds};
use crate::salt::Salt;

/// An object that is being written. Members must come in the order of their names; the salt takes its place among them by
/// itself.
pub(crate) struct Payload<'o> {
    /// Text that is held: all of it, as long as it is not too long.
    object: ObjectWriter<&'o mut Vec<u8>>,
    overflow: &'o mut dyn Overflow,
    /// The salt, until it is written.
    salt: Option<&'o Salt>,
    /// False once a number was written whose text is perhaps not the canonical one.
    is_canonical: bool,
    /// Number of objects that are open inside the payload.
    depth: usize,
}

/// Where a payload goes that is too long to be held.
pub(crate) trait Overflow {
    /// Takes what is held so far out of it.
    fn take(&mut self, held: &mut Vec<u8>);

    /// What was to come next could not be read.
    fn fails(&mut self, error: io::Error);
}

/// No more of a payload is held than this, and a piece of a body.
pub(crate) const HELD: usize = 1 << 20;

/// How much of a body is looked at at a time: as Base64 it comes out even.
const PIECE: usize = 3 << 16;

/// Name of the member that no payload lacks.
const SALT: &str = "salt";

/// Appends an object with the members that `members` writes, and its salt; what is too long goes into the overflow. Returns true if
/// the text is canonical; false if that takes a closer look.
pub(crate) fn write(
    out: &mut Vec<u8>,
    overflow: &mut dyn Overflow,
    salt: &Salt,
    members: impl FnOnce(&mut Payload<'_>),
) -> bool {
    let object = ObjectWriter::open(out).in_order();
    let mut payload = Payload { object, overflow, salt: Some(salt), is_canonical: true, depth: 0 };
    members(&mut payload);
    payload.salt();
    payload.object.close();
    payload.is_canonical
}

/// Returns true if a whole number is its own canonical text: doubles hold it exactly.
fn is_exact(number: u64) -> bool {
    number < 1 << 53
}

impl Payload<'_> {
    /// Begins a member, after the salt if that belongs before it.
    fn name(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.salt_before(name);
        self.object.name(name)
    }

    /// Writes the salt if its place is before a member of the payload.
    fn salt_before(&mut self, name: &'static str) {
        if self.depth == 0 && name > SALT {
            self.salt();
        }
    }

    fn salt(&mut self) {
        if let Some(salt) = self.salt.take() {
            quote(salt.as_str(), self.object.name(SALT));
        }
    }

    fn number(&mut self, name: &'static str, number: impl ToString) {
        self.name(name).extend_from_slice(number.to_string().as_bytes());
    }
}

impl<'m> PayloadWriter<MaskedLeaves<'m>> for Payload<'_> {
    fn text(&mut self, name: &'static str, text: &&'m Masked) {
        quote(text.as_str(), self.name(name));
    }

    fn texts(&mut self, name: &'static str, texts: &[&'m Masked]) {
        write_list(texts, self.name(name), |text, out| quote(text.as_str(), out));
    }

    fn json(&mut self, name: &'static str, value: &&'m MaskedJson) {
        match value {
            MaskedJson::Value(text) => self.name(name).extend_from_slice(text),
            MaskedJson::Text(text) => self.text(name, &text),
        }
    }

    fn body(&mut self, name: &'static str, body: &MaskedBody<'m>) {
        let is_text = body.is_text();
        self.salt_before(name);
        let out = self.object.name(name);
        out.extend_from_slice(if is_text { b"{\"text\":\"" } else { b"{\"base64\":\"" });
        let mut piece = |bytes: &[u8]| {
            match is_text {
                true => write_escaped(bytes, out),
                false => out.extend_from_slice(Base64::encode_string(bytes).as_bytes()),
            }
            if out.len() > HELD {
                self.overflow.take(out);
            }
        };
        match body {
            MaskedBody::Held(bytes) => bytes.as_slice().chunks(PIECE).for_each(piece),
            MaskedBody::Spooled(spool) => {
                if let Err(error) = spool.each(PIECE, &mut piece) {
                    self.overflow.fails(error);
                }
            }
        }
        out.extend_from_slice(b"\"}");
    }

    fn headers(&mut self, name: &'static str, headers: &&'m MaskedHeaders) {
        write_list(headers.as_slice(), self.name(name), |(name, value), out| {
            write_list([name, value], out, |text, out| quote(text, out));
        });
    }

    fn constant(&mut self, name: &'static str, word: &'static str) {
        quote(word, self.name(name));
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
        write_list(numbers, self.name(name), |number, out| {
            out.extend_from_slice(number.to_string().as_bytes())
        });
    }

    fn double(&mut self, name: &'static str, number: &f64) {
        self.is_canonical = false;
        self.number(name, number);
    }

    fn money(&mut self, name: &'static str, amount: &Money) {
        self.is_canonical = false;
        self.name(name).extend_from_slice(amount.decimal().as_bytes());
    }

    fn chunks(&mut self, name: &'static str, chunks: &[Chunk]) {
        self.is_canonical &= chunks.iter().all(|chunk| is_exact(chunk.length as u64));
        write_list(chunks, self.name(name), |chunk, out| {
            write_list([milliseconds(chunk.at), chunk.length as u64], out, |number, out| {
                out.extend_from_slice(number.to_string().as_bytes());
            });
        });
    }

    fn flag(&mut self, name: &'static str, flag: &bool) {
        self.name(name).extend_from_slice(if *flag { b"true" } else { b"false" });
    }

    fn null(&mut self, name: &'static str) {
        self.name(name).extend_from_slice(b"null");
    }

    fn digest(&mut self, name: &'static str, digest: &Digest) {
        let out = self.name(name);
        out.push(b'"');
        out.extend_from_slice(&digest.hex());
        out.push(b'"');
    }

    fn step(&mut self, name: &'static str, step: &StepId) {
        quote(&step.to_string(), self.name(name));
    }

    fn object(&mut self, name: &'static str, members: impl FnOnce(&mut Self)) {
        self.salt_before(name);
        let outer = self.object.enter(name);
        self.depth += 1;
        members(self);
        self.depth -= 1;
        self.object.leave(outer);
    }
}

/// Appends a canonical JSON string (RFC 8785 §3.2.2.2).
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    canonical::write_string(text, out);
}
