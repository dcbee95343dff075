//! Payloads, written in canonical form as they are made.
//!
//! Every text in a payload is a constant of this program or has been masked: there is no method that takes another.

use std::io;

use base64ct::{Base64, Encoding};
use reenact_formats::rer::envelope::money::Money;
use reenact_json::Digest;

use crate::exchange::StepId;
use crate::mask::{Masked, MaskedBody, MaskedHeaders, MaskedJson};
use crate::randomness::Salt;

/// An object that is being written. Members must come in the order of their names.
pub(crate) struct Payload<'o> {
    /// What is held of it: all, as long as it is not too long.
    out: &'o mut Vec<u8>,
    overflow: &'o mut dyn Overflow,
    salt: &'o Salt,
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

/// Appends an object with the members that `members` writes; what is too long goes into the overflow.
pub(crate) fn write(
    out: &mut Vec<u8>,
    overflow: &mut dyn Overflow,
    salt: &Salt,
    members: impl FnOnce(&mut Payload<'_>),
) {
    out.push(b'{');
    members(&mut Payload { out, overflow, salt, last: "" });
    out.push(b'}');
}

impl Payload<'_> {
    fn name(&mut self, name: &'static str) -> &mut Vec<u8> {
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
        list(self.name(name), texts, |text, out| quote(text.as_str(), out));
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

    pub(crate) fn headers(&mut self, name: &'static str, headers: &MaskedHeaders) {
        list(self.name(name), headers.as_slice(), |(name, value), out| {
            list(out, [name, value], |text, out| quote(text, out));
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
        list(self.name(name), numbers, |number, out| out.extend_from_slice(number.to_string().as_bytes()));
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
        list(self.name(name), pairs, |pair, out| {
            list(out, pair, |number, out| out.extend_from_slice(number.to_string().as_bytes()));
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
        self.name(name);
        write(self.out, self.overflow, self.salt, members);
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
