//! A text that is masked while it comes: it may be longer than memory.
//!
//! A part of it is looked through together with what stands before and behind it, so far that a secret which the part has a share
//! of lies in it whole. Streams of events are no matter for this: what their events tell together has no such reach.

use crate::redactor::{Cut, Redactor};

/// How far a secret may reach over the edge of a part. The longest that a rule finds is a private key.
const REACH: usize = 128 << 10;

/// How long a part is.
const PART: usize = 1 << 20;

/// A place in a text that comes in pieces.
///
/// ```
/// use reenact_secrets::{Pack, Redactor, Window};
///
/// let mut redactor = Redactor::new(Pack::standard());
/// redactor.know("environment", b"correct horse");
/// let (mut window, mut masked) = (Window::new(), Vec::new());
/// for piece in [&b"say correct"[..], b" horse"] {
///     window.push(&mut redactor, piece, &mut masked);
/// }
/// window.finish(&mut redactor, &mut masked);
/// assert_eq!(masked, b"say [masked:environment:1]");
/// ```
#[derive(Debug)]
pub struct Window {
    text: Vec<u8>,
    /// Where the text begins in the whole.
    at: usize,
    /// How much of it was given out; it is kept for what comes behind it.
    given: usize,
    /// How much of it lies in a secret that was masked in the part before.
    hidden: usize,
    /// How much was given out in all.
    result: usize,
    /// What was cut out of the whole.
    cuts: Vec<Cut>,
    part: usize,
    reach: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self::new()
    }
}

impl Window {
    /// Begins with nothing.
    pub fn new() -> Self {
        Self::of(PART, REACH)
    }

    fn of(part: usize, reach: usize) -> Self {
        Self { text: Vec::new(), at: 0, given: 0, hidden: 0, result: 0, cuts: Vec::new(), part, reach }
    }

    /// Takes the next piece; appends what can be told by now.
    pub fn push(&mut self, redactor: &mut Redactor, mut piece: &[u8], out: &mut Vec<u8>) {
        loop {
            // What is known is found in every spelling, of which the longest takes six bytes for one.
            let reach = self.reach.max(6 * redactor.longest_known());
            let full = self.given + self.part + reach;
            let (now, later) = piece.split_at(piece.len().min(full.saturating_sub(self.text.len())));
            self.text.extend_from_slice(now);
            piece = later;
            if self.text.len() < full {
                return;
            }
            self.give(redactor, self.given + self.part, out);
            let over = self.given.saturating_sub(reach);
            self.text.drain(..over);
            self.at += over;
            self.given -= over;
            self.hidden = self.hidden.saturating_sub(over);
        }
    }

    /// Nothing comes any more: appends the rest. Gives what was cut out of the whole, in order.
    pub fn finish(mut self, redactor: &mut Redactor, out: &mut Vec<u8>) -> Vec<Cut> {
        self.give(redactor, self.text.len(), out);
        self.cuts
    }

    fn give(&mut self, redactor: &mut Redactor, to: usize, out: &mut Vec<u8>) {
        let secrets = redactor.secrets(&self.text);
        let (before, first) = (out.len(), self.cuts.len());
        if let Some(last) = self.cuts.last_mut().filter(|_| self.hidden > self.given) {
            // The rest of what has its mark already.
            last.source.end = self.at + self.hidden.min(to);
        }
        redactor.cut(&self.text, &secrets, self.given..to, self.hidden, out, &mut self.cuts);
        for cut in self.cuts.iter_mut().skip(first) {
            cut.source = cut.source.start + self.at..cut.source.end + self.at;
            cut.result = cut.result.start - before + self.result..cut.result.end - before + self.result;
        }
        let places = secrets.iter().flat_map(|secret| &secret.places);
        let over = places.filter(|place| place.start < to && place.end > to).map(|place| place.end);
        self.hidden = over.max().unwrap_or(0).max(self.hidden);
        self.result += out.len() - before;
        self.given = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pack, Redacted};
    use proptest::prelude::*;
    use std::borrow::Cow;

    const KNOWN: &[u8] = b"correct \"horse\" battery";

    fn redactor() -> Redactor {
        let mut redactor = Redactor::new(Pack::standard());
        redactor.know("environment", KNOWN);
        redactor
    }

    /// Texts of which each has a secret, or none, or looks as if.
    fn fragment() -> impl Strategy<Value = String> {
        let pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n";
        prop_oneof![
            6 => "[a-z ,.\n\"\\\\{}:]{0,40}".prop_map(|text| text),
            2 => Just("sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdEfGhIjKlMnOpQ-AbCdEfGh".to_owned()),
            2 => "[A-Za-z0-9]{36}".prop_map(|tail| format!(" ghp_{tail} ")),
            1 => Just(pem.to_owned()),
            1 => Just("correct \"horse\" battery".to_owned()),
            1 => Just("correct \\\"horse\\\" battery".to_owned()),
            1 => Just("Y29ycmVjdCAiaG9yc2UiIGJhdHRlcnk=".to_owned()),
            1 => Just("postgres://app:hunter2hunter2@db/main ".to_owned()),
            1 => "[a-z0-9]{20}".prop_map(|value| format!("\"api_key\": \"{value}\",")),
            1 => Just("[masked:environment:1]".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn the_same_as_all_at_once(
            fragments in proptest::collection::vec(fragment(), 0..60),
            cuts in proptest::collection::vec(1_usize..400, 1..20),
            part in 1_usize..300,
        ) {
            let text = fragments.concat().into_bytes();
            // In one order, so that both give the same numbers.
            let mut at_once = redactor();
            let whole = at_once.redact(&text);
            let (mut piecewise, mut window, mut masked) = (redactor(), Window::of(part, 2_000), Vec::new());
            let mut rest = &text[..];
            for length in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, behind) = rest.split_at(rest.len().min(*length));
                window.push(&mut piecewise, piece, &mut masked);
                rest = behind;
            }
            let cuts = window.finish(&mut piecewise, &mut masked);
            prop_assert_eq!(String::from_utf8_lossy(&masked), String::from_utf8_lossy(&whole.bytes));
            let parts = Redacted { bytes: Cow::Borrowed(&masked[..]), cuts };
            for offset in 0..=text.len() {
                prop_assert_eq!(parts.position(offset), whole.position(offset), "{}", offset);
            }
        }

        /// However far it reaches, of a value that is known nothing is left.
        #[test]
        fn a_known_value_longer_than_the_reach(before in 0_usize..3_000, length in 8_usize..900, part in 1_usize..50) {
            let secret: Vec<u8> = (0..length).map(|at| b'a' + (at * at % 23).to_le_bytes()[0]).collect();
            let mut redactor = Redactor::new(Pack::standard());
            redactor.know("known", &secret);
            let text = [&vec![b' '; before][..], &secret, b" behind"].concat();
            let (mut window, mut masked) = (Window::of(part, 10), Vec::new());
            window.push(&mut redactor, &text, &mut masked);
            window.finish(&mut redactor, &mut masked);
            prop_assert_eq!(masked, [&vec![b' '; before][..], b"[masked:known:1] behind"].concat());
        }
    }

    #[test]
    fn memory_is_flat() {
        let (mut redactor, mut window, mut out) = (redactor(), Window::new(), Vec::new());
        let line = b"nothing to see here, only words and words and words\n".repeat(1_000);
        let mut given = 0;
        for _ in 0..200 {
            window.push(&mut redactor, &line, &mut out);
            assert!(window.text.len() <= PART + 2 * REACH && out.len() <= PART + line.len());
            given += out.len();
            out.clear();
        }
        window.finish(&mut redactor, &mut out);
        assert_eq!(given + out.len(), 200 * line.len());
    }
}
