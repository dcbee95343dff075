//! Entries as bytes: a length, a checksum, then the entry. Numbers are little-endian; texts come after their length.
//!
//! A frame that was cut off, or that is not what was written, is told from a whole one by its length and its checksum. This is
//! no protection against anyone who wants to deceive: the log never leaves the machine, and what is made of it is sealed.

use core::time::Duration;
use std::io;

use super::entry::{ApprovalNews, Decided, Decision, Ending, Entry, Pairs};
use crate::exchange::{EndedBy, StepId};

/// How long a frame's length and checksum are.
pub(super) const HEAD: usize = 8;

/// The length of the rest, and its checksum.
pub(super) fn read_head(head: [u8; HEAD]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = head;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

/// Appends a frame to `out`, without the part that is long; that is given back, and belongs behind it.
pub(super) fn write<'e>(out: &mut Vec<u8>, id: u64, entry: &Entry<'e>) -> io::Result<&'e [u8]> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    out.extend_from_slice(&id.to_le_bytes());
    let bulk: &[u8] = match entry {
        Entry::Known { rule, value } => {
            out.push(0);
            put(out, rule.as_bytes())?;
            value
        }
        Entry::Request { provider, method, path, headers, has_trailers, decided, body } => {
            out.push(1);
            out.push(u8::from(*has_trailers));
            put_decided(out, decided.as_ref())?;
            for text in [provider, method, path] {
                put(out, text.as_bytes())?;
            }
            put_pairs(out, headers)?;
            body
        }
        Entry::Head { status, version, headers } => {
            out.push(2);
            out.extend_from_slice(&status.to_le_bytes());
            put(out, version.as_bytes())?;
            put_pairs(out, headers)?;
            &[]
        }
        Entry::Piece { at, bytes } => {
            out.push(3);
            put_time(out, *at);
            bytes
        }
        Entry::Trailers { headers } => {
            out.push(4);
            put_pairs(out, headers)?;
            &[]
        }
        Entry::End(Ending { job, by, is_settled, is_too_long, latency, error }) => {
            out.push(5);
            out.extend_from_slice(&job.to_le_bytes());
            let by = BY.iter().position(|known| known == by).unwrap_or_default();
            let flags = [u8::from(*is_settled), u8::from(*is_too_long)];
            out.push(u8::try_from(by).unwrap_or_default());
            out.extend_from_slice(&flags);
            put_time(out, *latency);
            out.push(u8::from(error.is_some()));
            if let Some((name, text)) = error {
                put(out, name.as_bytes())?;
                put(out, text.as_bytes())?;
            }
            &[]
        }
        Entry::Gap { what, why } => {
            out.push(6);
            put(out, what.as_bytes())?;
            put(out, why.as_bytes())?;
            &[]
        }
        Entry::Withheld { delivered, instead } => {
            out.push(8);
            out.extend_from_slice(&delivered.to_le_bytes());
            instead
        }
        Entry::Decision(Decision { at, is_tool, name, denial, approval_id, call }) => {
            out.push(9);
            put_time(out, *at);
            out.push(u8::from(*is_tool));
            put(out, name.as_bytes())?;
            put_optional(out, *approval_id)?;
            for pair in [denial, call] {
                put_optional(out, pair.map(|(first, _)| first))?;
                put_optional(out, pair.map(|(_, second)| second))?;
            }
            &[]
        }
        Entry::ToolResult { at, tool_call_id, output, is_error } => {
            out.push(10);
            put_time(out, *at);
            out.push(u8::from(*is_error));
            put(out, tool_call_id.as_bytes())?;
            output.as_bytes()
        }
        Entry::Reported { text } => {
            out.push(12);
            text
        }
        Entry::Approval { at, approval_id, news } => {
            out.push(11);
            put_time(out, *at);
            put(out, approval_id.as_bytes())?;
            put_news(out, news)?;
            &[]
        }
        Entry::Journaled { job, bytes, step } => {
            out.push(7);
            for number in [*job, *bytes, step.map_or(0, |step| step.0)] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            &[]
        }
    };
    let mut sum = crc32fast::Hasher::new();
    sum.update(out.get(start + HEAD..).unwrap_or_default());
    sum.update(bulk);
    let length = out.len() - start - HEAD + bulk.len();
    let length = u32::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let head = length.to_le_bytes().into_iter().chain(sum.finalize().to_le_bytes());
    for (there, byte) in out.iter_mut().skip(start).zip(head) {
        *there = byte;
    }
    Ok(bulk)
}

/// Reads what stands behind a head; `None` if it is not what was written.
pub(super) fn read(body: &[u8], sum: u32) -> Option<(u64, Entry<'_>)> {
    if crc32fast::hash(body) != sum {
        return None;
    }
    let mut from = From(body);
    let id = from.number()?;
    let entry = match from.byte()? {
        0 => Entry::Known { rule: from.text()?, value: from.0 },
        1 => {
            let has_trailers = from.byte()? == 1;
            let decided = from.decided()?;
            let (provider, method, path) = (from.text()?, from.text()?, from.text()?);
            let headers = from.pairs()?;
            Entry::Request { provider, method, path, headers, has_trailers, decided, body: from.0 }
        }
        2 => {
            let [low, high] = from.array()?;
            let status = u16::from_le_bytes([low, high]);
            Entry::Head { status, version: from.text()?, headers: from.pairs()? }
        }
        3 => Entry::Piece { at: from.time()?, bytes: from.0 },
        4 => Entry::Trailers { headers: from.pairs()? },
        5 => {
            let job = from.number()?;
            let by = *BY.get(usize::from(from.byte()?))?;
            let (is_settled, is_too_long) = (from.byte()? == 1, from.byte()? == 1);
            let latency = from.time()?;
            let error = if from.byte()? == 1 { Some((from.text()?, from.text()?)) } else { None };
            Entry::End(Ending { job, by, is_settled, is_too_long, latency, error })
        }
        6 => Entry::Gap { what: from.text()?, why: from.text()? },
        7 => {
            let (job, bytes, step) = (from.number()?, from.number()?, from.number()?);
            Entry::Journaled { job, bytes, step: (step > 0).then_some(StepId(step)) }
        }
        8 => Entry::Withheld { delivered: from.number()?, instead: from.0 },
        9 => {
            let (at, is_tool, name) = (from.time()?, from.byte()? == 1, from.text()?);
            let approval_id = from.optional()?;
            let denial = from.optional()?.zip(from.optional()?);
            let call = from.optional()?.zip(from.optional()?);
            Entry::Decision(Decision { at, is_tool, name, denial, approval_id, call })
        }
        10 => {
            let (at, is_error, tool_call_id) = (from.time()?, from.byte()? == 1, from.text()?);
            Entry::ToolResult { at, tool_call_id, output: core::str::from_utf8(from.0).ok()?, is_error }
        }
        11 => Entry::Approval { at: from.time()?, approval_id: from.text()?, news: from.news()? },
        12 => Entry::Reported { text: from.0 },
        _ => return None,
    };
    Some((id, entry))
}

/// In the order of their numbers here.
const BY: [EndedBy; 4] = [EndedBy::Eof, EndedBy::Client, EndedBy::Upstream, EndedBy::Timeout];

fn put(out: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

fn put_optional(out: &mut Vec<u8>, text: Option<&str>) -> io::Result<()> {
    out.push(u8::from(text.is_some()));
    text.map_or(Ok(()), |text| put(out, text.as_bytes()))
}

fn put_decided(out: &mut Vec<u8>, decided: Option<&Decided<'_>>) -> io::Result<()> {
    out.push(u8::from(decided.is_some()));
    let Some(Decided { at, approval_id, rates, estimate }) = decided else { return Ok(()) };
    put_time(out, *at);
    put_optional(out, *approval_id)?;
    out.extend_from_slice(&estimate.to_le_bytes());
    out.push(u8::from(rates.is_some()));
    for rate in rates.iter().flatten() {
        out.extend_from_slice(&rate.to_le_bytes());
    }
    Ok(())
}

fn put_news(out: &mut Vec<u8>, news: &ApprovalNews<'_>) -> io::Result<()> {
    let (tag, texts): (u8, &[&str]) = match news {
        ApprovalNews::Requested { is_tool, name, input_hash, rule, signer_types } => {
            (u8::from(*is_tool), &[name, input_hash, rule, signer_types])
        }
        ApprovalNews::Granted(token) => (2, &[token]),
        ApprovalNews::Denied(reason) => (3, &[reason]),
        ApprovalNews::Refused(code, why) => (4, &[code, why]),
    };
    out.push(tag);
    texts.iter().try_for_each(|text| put(out, text.as_bytes()))
}

fn put_pairs(out: &mut Vec<u8>, pairs: &Pairs<'_>) -> io::Result<()> {
    let count = u32::try_from(pairs.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    out.extend_from_slice(&count.to_le_bytes());
    for (name, value) in pairs {
        put(out, name.as_bytes())?;
        put(out, value)?;
    }
    Ok(())
}

fn put_time(out: &mut Vec<u8>, time: Duration) {
    out.extend_from_slice(&u64::try_from(time.as_micros()).unwrap_or(u64::MAX).to_le_bytes());
}

/// What is left to read.
struct From<'a>(&'a [u8]);

impl<'a> From<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn length(&mut self) -> Option<usize> {
        self.array().map(u32::from_le_bytes).and_then(|length| usize::try_from(length).ok())
    }

    fn time(&mut self) -> Option<Duration> {
        self.number().map(Duration::from_micros)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.bytes()?).ok()
    }

    /// A text that may not be there.
    fn optional(&mut self) -> Option<Option<&'a str>> {
        if self.byte()? == 1 { self.text().map(Some) } else { Some(None) }
    }

    fn decided(&mut self) -> Option<Option<Decided<'a>>> {
        if self.byte()? == 0 {
            return Some(None);
        }
        let (at, approval_id, estimate) = (self.time()?, self.optional()?, self.number()?);
        let rates = if self.byte()? == 1 {
            Some([self.number()?, self.number()?, self.number()?, self.number()?])
        } else {
            None
        };
        Some(Some(Decided { at, approval_id, rates, estimate }))
    }

    fn news(&mut self) -> Option<ApprovalNews<'a>> {
        Some(match self.byte()? {
            2 => ApprovalNews::Granted(self.text()?),
            3 => ApprovalNews::Denied(self.text()?),
            4 => ApprovalNews::Refused(self.text()?, self.text()?),
            tag @ (0 | 1) => ApprovalNews::Requested {
                is_tool: tag == 1,
                name: self.text()?,
                input_hash: self.text()?,
                rule: self.text()?,
                signer_types: self.text()?,
            },
            _ => return None,
        })
    }

    fn pairs(&mut self) -> Option<Pairs<'a>> {
        let count = self.length()?;
        // No count makes room that its bytes do not fill.
        let mut pairs = Vec::with_capacity(count.min(self.0.len() / 8));
        for _ in 0..count {
            pairs.push((self.text()?, self.bytes()?));
        }
        Some(pairs)
    }
}
