//! [`RedactionWindow`]: masks a text that arrives in pieces and may be longer than memory.
//!
//! The text is masked part by part. Each part is searched together with the bytes before and behind
//! it, far enough that a secret which overlaps the part lies in the window whole. Streams of
//! server-sent events cannot be masked like this: the joined text of their events has no such
//! bound.

use crate::redactor::{MaskedSpan, Redactor};

/// Bytes before and behind a part that are searched with it. The longest secret of a rule, a
/// private key, is shorter.
const REACH_BYTES: usize = 128 << 10;

/// Length of a part, in bytes.
const PART_BYTES: usize = 1 << 20;

/// Window over a text that arrives in pieces.
///
/// Feed every piece to [`push`](Self::push), then call [`finish`](Self::finish).
///
/// ```
/// use reenact_secrets::{RedactionWindow, Redactor, RulePack};
///
/// let mut redactor = Redactor::new(RulePack::standard());
/// redactor.add_known("environment", b"correct horse");
/// let (mut window, mut masked) = (RedactionWindow::new(), Vec::new());
/// for piece in [&b"say correct"[..], b" horse"] {
///     window.push(&mut redactor, piece, &mut masked);
/// }
/// window.finish(&mut redactor, &mut masked);
/// assert_eq!(masked, b"say [masked:environment:1]");
/// ```
#[derive(Debug)]
pub struct RedactionWindow {
    /// Bytes in the window.
    text: Vec<u8>,
    /// Offset of `text` in the whole text.
    text_offset: usize,
    /// Bytes of `text` whose masked form was appended; they stay in the window for what follows
    /// them.
    emitted_bytes: usize,
    /// Offset in `text` up to which bytes belong to a secret whose mark was appended already.
    masked_until: usize,
    /// Number of bytes appended in all.
    output_bytes: usize,
    /// Spans masked so far, with offsets in the whole text and in the whole result.
    masked_spans: Vec<MaskedSpan>,
    /// Length of a part; tests use short ones.
    part_bytes: usize,
    /// Overlap at either side of a part.
    reach_bytes: usize,
}

impl Default for RedactionWindow {
    fn default() -> Self {
        Self::new()
    }
}

impl RedactionWindow {
    /// Creates an empty window.
    pub fn new() -> Self {
        Self::with_sizes(PART_BYTES, REACH_BYTES)
    }

    fn with_sizes(part_bytes: usize, reach_bytes: usize) -> Self {
        Self {
            text: Vec::new(),
            text_offset: 0,
            emitted_bytes: 0,
            masked_until: 0,
            output_bytes: 0,
            masked_spans: Vec::new(),
            part_bytes,
            reach_bytes,
        }
    }

    /// Takes the next piece, and appends the masked form of every part that is complete.
    pub fn push(&mut self, redactor: &mut Redactor, mut piece: &[u8], out: &mut Vec<u8>) {
        loop {
            // A known value is found in every encoding; the longest takes six bytes for one.
            let reach = self.reach_bytes.max(6 * redactor.max_known_bytes());
            let full = self.emitted_bytes + self.part_bytes + reach;
            let (now, later) = piece.split_at(piece.len().min(full.saturating_sub(self.text.len())));
            self.text.extend_from_slice(now);
            piece = later;
            if self.text.len() < full {
                return;
            }
            self.emit_until(redactor, self.emitted_bytes + self.part_bytes, out);
            let over = self.emitted_bytes.saturating_sub(reach);
            self.text.drain(..over);
            self.text_offset += over;
            self.emitted_bytes -= over;
            self.masked_until = self.masked_until.saturating_sub(over);
        }
    }

    /// Appends the masked form of the remaining bytes, and returns all masked spans in order.
    pub fn finish(mut self, redactor: &mut Redactor, out: &mut Vec<u8>) -> Vec<MaskedSpan> {
        self.emit_until(redactor, self.text.len(), out);
        self.masked_spans
    }

    /// Appends the masked form of the window up to the offset `to`.
    fn emit_until(&mut self, redactor: &mut Redactor, to: usize, out: &mut Vec<u8>) {
        let secrets = redactor.find_secrets(&self.text);
        let (before, first) = (out.len(), self.masked_spans.len());
        if let Some(last) = self.masked_spans.last_mut().filter(|_| self.masked_until > self.emitted_bytes) {
            // The rest of a secret that has its mark already.
            last.source_span.end = self.text_offset + self.masked_until.min(to);
        }
        redactor.append_masked(
            &self.text,
            &secrets,
            self.emitted_bytes..to,
            self.masked_until,
            out,
            &mut self.masked_spans,
        );
        for cut in self.masked_spans.iter_mut().skip(first) {
            cut.source_span =
                cut.source_span.start + self.text_offset..cut.source_span.end + self.text_offset;
            cut.result_span = cut.result_span.start - before + self.output_bytes
                ..cut.result_span.end - before + self.output_bytes;
        }
        let spans = secrets.iter().flat_map(|secret| &secret.spans);
        let over = spans.filter(|span| span.start < to && span.end > to).map(|span| span.end);
        self.masked_until = over.max().unwrap_or(0).max(self.masked_until);
        self.output_bytes += out.len() - before;
        self.emitted_bytes = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RedactedText, RulePack};
    use proptest::prelude::*;
    use std::borrow::Cow;

    const KNOWN: &[u8] = b"correct \"horse\" battery";

    fn redactor() -> Redactor {
        let mut redactor = Redactor::new(RulePack::standard());
        redactor.add_known("environment", KNOWN);
        redactor
    }

    /// Texts with a secret, without one, and with something that only looks like one.
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
            lengths in proptest::collection::vec(1_usize..400, 1..20),
            part in 1_usize..300,
        ) {
            // A text that begins like a document is read as one, and a window sees only parts of it.
            let text = format!("x{}", fragments.concat()).into_bytes();
            // In one order, so that both redactors give the same numbers.
            let mut at_once = redactor();
            let whole = at_once.redact(&text);
            let (mut piecewise, mut window, mut masked) = (redactor(), RedactionWindow::with_sizes(part, 2_000), Vec::new());
            let mut rest = &text[..];
            for length in lengths.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, behind) = rest.split_at(rest.len().min(*length));
                window.push(&mut piecewise, piece, &mut masked);
                rest = behind;
            }
            let masked_spans = window.finish(&mut piecewise, &mut masked);
            prop_assert_eq!(String::from_utf8_lossy(&masked), String::from_utf8_lossy(&whole.bytes));
            let parts = RedactedText { bytes: Cow::Borrowed(&masked[..]), masked_spans };
            for offset in 0..=text.len() {
                prop_assert_eq!(parts.result_offset(offset), whole.result_offset(offset), "{}", offset);
            }
        }

        /// Nothing is left of a known value that is longer than the reach.
        #[test]
        fn a_known_value_longer_than_the_reach(before in 0_usize..3_000, length in 8_usize..900, part in 1_usize..50) {
            let secret: Vec<u8> = (0..length).map(|at| b'a' + (at * at % 23).to_le_bytes()[0]).collect();
            let mut redactor = Redactor::new(RulePack::standard());
            redactor.add_known("known", &secret);
            let text = [&vec![b' '; before][..], &secret, b" behind"].concat();
            let (mut window, mut masked) = (RedactionWindow::with_sizes(part, 10), Vec::new());
            window.push(&mut redactor, &text, &mut masked);
            window.finish(&mut redactor, &mut masked);
            prop_assert_eq!(masked, [&vec![b' '; before][..], b"[masked:known:1] behind"].concat());
        }
    }

    #[test]
    fn memory_is_flat() {
        let (mut redactor, mut window, mut out) = (redactor(), RedactionWindow::new(), Vec::new());
        let line = b"nothing to see here, only words and words and words\n".repeat(1_000);
        let mut given = 0;
        for _ in 0..200 {
            window.push(&mut redactor, &line, &mut out);
            assert!(
                window.text.len() <= PART_BYTES + 2 * REACH_BYTES && out.len() <= PART_BYTES + line.len()
            );
            given += out.len();
            out.clear();
        }
        window.finish(&mut redactor, &mut out);
        assert_eq!(given + out.len(), 200 * line.len());
    }
}
