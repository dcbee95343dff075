//! Payloads, written in canonical form as they are made.
//!
//! Every text in a payload is a constant of this program or has been masked: there is no method that takes another.

use std::io;

use base64ct::{Base64, Encoding};
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::payload::{Chunk, PayloadWriter, StepId};
use reenact_json::Digest;

use crate::mask::{Masked, MaskedBody, MaskedHeaders, MaskedJson, MaskedLeaves, milliseconds};
use crate::salt::Salt;

/// An object that is being written. Members must come in the order of their names; the salt takes its place among them by
/// itself.
pub(crate) struct Payload<'o> {
    /// What is held of it: all, as long as it is not too long.
    out: &'o mut Vec<u8>,
    overflow: &'o mut dyn Overflow,
    /// The salt, until it is written.
    salt: Option<&'o Salt>,
    /// False once a number was written whose text is perhaps not the canonical one.
    is_canonical: bool,
    /// Number of objects that are open inside the payload.
    depth: usize,
    /// Name of the last member of the innermost object.
    last: &'static str,
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
    out.push(b'{');
    let mut payload = Payload { out, overflow, salt: Some(salt), is_canonical: true, depth: 0, last: "" };
    members(&mut payload);
    payload.salt();
    let is_canonical = payload.is_canonical;
    out.push(b'}');
    is_canonical
}

/// Returns true if a whole number is its own canonical text: doubles hold it exactly.
fn is_exact(number: u64) -> bool {
    number < 1 << 53
}

impl Payload<'_> {
    /// Begins a member, after the salt if that belongs before it.
    fn name(&mut self, name: &'static str) -> &mut Vec<u8> {
        if self.depth == 0 && name > SALT {
            self.salt();
        }
        self.member(name)
    }

    fn salt(&mut self) {
        if let Some(salt) = self.salt.take() {
            quote(salt.as_str(), self.member(SALT));
        }
    }

    fn member(&mut self, name: &'static str) -> &mut Vec<u8> {
        debug_assert!(self.last < name, "{name} must come before {}", self.last);
        if !self.last.is_empty() {
            self.out.push(b',');
        }
        self.last = name;
        // Our own names need no escapes.
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
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
        list(self.name(name), texts, |text, out| quote(text.as_str(), out));
    }

    fn json(&mut self, name: &'static str, value: &&'m MaskedJson) {
        match value {
            MaskedJson::Value(text) => self.name(name).extend_from_slice(text),
            MaskedJson::Text(text) => self.text(name, &text),
        }
    }

    fn body(&mut self, name: &'static str, body: &MaskedBody<'m>) {
        let is_text = body.is_text();
        let out = self.name(name);
        out.extend_from_slice(if is_text { b"{\"text\":\"" } else { b"{\"base64\":\"" });
        let mut piece = |bytes: &[u8]| {
            match is_text {
                true => escape(bytes, self.out),
                false => self.out.extend_from_slice(Base64::encode_string(bytes).as_bytes()),
            }
            if self.out.len() > HELD {
                self.overflow.take(self.out);
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
        self.out.extend_from_slice(b"\"}");
    }

    fn headers(&mut self, name: &'static str, headers: &&'m MaskedHeaders) {
        list(self.name(name), headers.as_slice(), |(name, value), out| {
            list(out, [name, value], |text, out| quote(text, out));
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
        list(self.name(name), numbers, |number, out| out.extend_from_slice(number.to_string().as_bytes()));
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
        list(self.name(name), chunks, |chunk, out| {
            list(out, [milliseconds(chunk.at), chunk.length as u64], |number, out| {
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
        self.name(name).push(b'{');
        let last = core::mem::take(&mut self.last);
        self.depth += 1;
        members(self);
        self.depth -= 1;
        self.last = last;
        self.out.push(b'}');
    }
}

fn list<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut item: impl FnMut(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (at, next) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        item(next, out);
    }
    out.push(b']');
}

/// Appends a canonical JSON string (RFC 8785 §3.2.2.2).
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape(text.as_bytes(), out);
    out.push(b'"');
}

/// Appends what stands between the quotes. A text may come in pieces, cut anywhere: all that needs an escape is one byte.
fn escape(mut rest: &[u8], out: &mut Vec<u8>) {
    loop {
        let (before, from) = rest.split_at(plain(rest));
        out.extend_from_slice(before);
        let Some((byte, behind)) = from.split_first() else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0C => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            other => out.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
        }
        rest = behind;
    }
}

/// How many bytes come before the first that needs an escape. Eight are looked at at a time: bodies are long.
fn plain(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    // In each byte's highest bit: whether it is below `least`. A wrong one stands only above a right one.
    let below = |word: u64, least: u64| word.wrapping_sub(ONES * least) & !word & (ONES << 7);
    let is_plain = |bytes: &&[u8; 8]| {
        let word = u64::from_le_bytes(**bytes);
        let (quote, slash) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
        below(word, 0x20) | below(quote, 1) | below(slash, 1) == 0
    };
    let whole = 8 * text.as_chunks().0.iter().take_while(is_plain).count();
    let rest = text.get(whole..).unwrap_or_default();
    whole + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reenact_json::{Limits, Value};

    proptest! {
        #[test]
        fn plain_bytes_end_before_the_first_that_needs_an_escape(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let first = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            prop_assert_eq!(plain(&bytes), first.unwrap_or(bytes.len()));
        }

        #[test]
        fn plain_text_of_any_length_is_plain_up_to_the_escape(
            before in "[ -!#-\\[\\]-~é中\u{7f}]{0,40}",
            escape in "[\"\\\\\u{0}-\u{1f}]",
            behind in any::<String>(),
        ) {
            prop_assert_eq!(plain(format!("{before}{escape}{behind}").as_bytes()), before.len());
            prop_assert_eq!(plain(before.as_bytes()), before.len());
        }

        #[test]
        fn any_text_is_quoted_in_canonical_form(text in any::<String>()) {
            let mut out = Vec::new();
            quote(&text, &mut out);
            let value = Value::parse(&out, &Limits::default()).unwrap();
            prop_assert!(value.is_canonical());
            prop_assert_eq!(value.string().unwrap(), text);
        }
    }
}
