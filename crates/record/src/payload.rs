//! Payloads, written in canonical form as they are made.
//!
//! Every text in a payload is a constant of this program or has been masked: there is no method that takes another.

use std::io;

use base64ct::{Base64, Encoding};
use reenact_formats::rer::envelope::money::Money;
use reenact_json::writer::{ObjectWriter, write_escaped, write_list};
use reenact_json::{Digest, canonical};

use crate::exchange::StepId;
use crate::mask::{Masked, MaskedBody, MaskedHeaders, MaskedJson};
use crate::randomness::Salt;

/// An object that is being written. Members must come in the order of their names.
pub(crate) struct Payload<'o> {
    /// What is held of it: all, as long as it is not too long.
    object: ObjectWriter<&'o mut Vec<u8>>,
    overflow: &'o mut dyn Overflow,
    salt: &'o Salt,
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

/// Appends an object with the members that `members` writes; what is too long goes into the overflow.
pub(crate) fn write(
    out: &mut Vec<u8>,
    overflow: &mut dyn Overflow,
    salt: &Salt,
    members: impl FnOnce(&mut Payload<'_>),
) {
    let mut payload = Payload { object: ObjectWriter::open(out).in_order(), overflow, salt };
    members(&mut payload);
    payload.object.close();
}

impl Payload<'_> {
    fn name(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.object.name(name)
    }

    pub(crate) fn constant(&mut self, name: &'static str, text: &'static str) {
        quote(text, self.name(name));
    }

    pub(crate) fn text(&mut self, name: &'static str, text: &Masked) {
        quote(text.as_str(), self.name(name));
    }

    pub(crate) fn optional_text(&mut self, name: &'static str, text: Option<&Masked>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.null(name),
        }
    }

    pub(crate) fn texts<'t>(&mut self, name: &'static str, texts: impl IntoIterator<Item = &'t Masked>) {
        write_list(texts, self.name(name), |text, out| quote(text.as_str(), out));
    }

    pub(crate) fn json(&mut self, name: &'static str, value: &MaskedJson) {
        match value {
            MaskedJson::Value(text) => self.name(name).extend_from_slice(text),
            MaskedJson::Text(text) => self.text(name, text),
        }
    }

    /// `{"text": …}` if it is UTF-8, else `{"base64": …}`.
    pub(crate) fn body(&mut self, name: &'static str, body: MaskedBody<'_>) {
        let is_text = body.is_text();
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

    pub(crate) fn headers(&mut self, name: &'static str, headers: &MaskedHeaders) {
        write_list(headers.as_slice(), self.name(name), |(name, value), out| {
            write_list([name, value], out, |text, out| quote(text, out));
        });
    }

    pub(crate) fn number(&mut self, name: &'static str, number: u64) {
        self.name(name).extend_from_slice(number.to_string().as_bytes());
    }

    pub(crate) fn optional_number(&mut self, name: &'static str, number: Option<u64>) {
        match number {
            Some(number) => self.number(name, number),
            None => self.null(name),
        }
    }

    /// A number that may be below zero.
    pub(crate) fn signed(&mut self, name: &'static str, number: i64) {
        self.name(name).extend_from_slice(number.to_string().as_bytes());
    }

    pub(crate) fn signed_numbers(&mut self, name: &'static str, numbers: &[i32]) {
        write_list(numbers, self.name(name), |number, out| {
            out.extend_from_slice(number.to_string().as_bytes())
        });
    }

    /// A finite number. Its text is perhaps not the canonical one, which whoever binds the event sees to.
    pub(crate) fn double(&mut self, name: &'static str, number: f64) {
        self.name(name).extend_from_slice(number.to_string().as_bytes());
    }

    /// An amount in dollars. Its text is perhaps not the canonical one, which whoever binds the event sees to.
    pub(crate) fn optional_money(&mut self, name: &'static str, amount: Option<Money>) {
        match amount {
            Some(amount) => self.name(name).extend_from_slice(amount.decimal().as_bytes()),
            None => self.null(name),
        }
    }

    pub(crate) fn pairs(&mut self, name: &'static str, pairs: impl IntoIterator<Item = [u64; 2]>) {
        write_list(pairs, self.name(name), |pair, out| {
            write_list(pair, out, |number, out| out.extend_from_slice(number.to_string().as_bytes()));
        });
    }

    pub(crate) fn flag(&mut self, name: &'static str, flag: bool) {
        self.name(name).extend_from_slice(if flag { b"true" } else { b"false" });
    }

    pub(crate) fn null(&mut self, name: &'static str) {
        self.name(name).extend_from_slice(b"null");
    }

    pub(crate) fn digest(&mut self, name: &'static str, digest: &Digest) {
        let out = self.name(name);
        out.push(b'"');
        out.extend_from_slice(&digest.hex());
        out.push(b'"');
    }

    pub(crate) fn step(&mut self, step: StepId) {
        quote(&step.to_string(), self.name("step_id"));
    }

    pub(crate) fn salt(&mut self) {
        let salt = self.salt;
        quote(salt.as_str(), self.name("salt"));
    }

    pub(crate) fn object(&mut self, name: &'static str, members: impl FnOnce(&mut Payload<'_>)) {
        write(self.object.name(name), self.overflow, self.salt, members);
    }
}

/// Appends a canonical JSON string (RFC 8785 §3.2.2.2).
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    canonical::write_string(text, out);
}
