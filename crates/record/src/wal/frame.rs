//! Encoding of observations in the log: a length, a checksum, then the observation. Numbers are little-endian; a text
//! follows its length.
//!
//! Length and checksum tell a whole frame from one that was torn or changed by accident. They are no protection against
//! an attacker: the log never leaves the machine, and the artifact made of it is signed. Logs of older versions are
//! recovered, so the tags and the order of fields are fixed.

use core::time::Duration;
use std::borrow::Cow;
use std::io;

use reenact_json::Digest;
use reenact_wire::price::Rates;

use crate::exchange::{EndedBy, StepId};
use crate::observation::{
    ActionDecision, Admission, ApprovalUpdate, EndCause, ExchangeEnd, HeaderList, InboundRequest,
    JournalPosition, Observation,
};
use crate::policy_engine::{Action, SignerType};

/// Tag of a decision that is not enforced; the fields are those of tag 9.
const UNENFORCED_DECISION: u8 = 13;
/// Tag of a mark with the hash of the journal's last event; the fields before it are those of tag 7.
const HEADED_MARK: u8 = 14;
/// Tag of the mark of a recovery that found the journal too short.
const JOURNAL_CUT: u8 = 15;
/// Tag of an answer's head from the record of another run; the fields are those of tag 2.
const RECORDED_HEAD: u8 = 16;
/// Mark of an admission with a warning, in place of 1.
const WARNED_ADMISSION: u8 = 2;

/// Bytes of a frame's length and checksum.
pub(super) const HEAD_BYTES: usize = 8;

/// Splits a frame's head into the length of the rest, in bytes, and its CRC-32.
pub(super) fn read_head(head: [u8; HEAD_BYTES]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = head;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

/// Appends a frame to `out`, without its long part, which is returned and must be written behind it. So a body is not
/// copied.
pub(super) fn write<'e>(
    out: &mut Vec<u8>,
    id: u64,
    observation: &'e Observation<'_>,
) -> io::Result<&'e [u8]> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    out.extend_from_slice(&id.to_le_bytes());
    let bulk: &[u8] = match observation {
        Observation::KnownSecret { rule, value } => {
            out.push(0);
            put_bytes(out, rule.as_bytes())?;
            value
        }
        Observation::Request(request) => {
            let InboundRequest { provider, method, path, headers, has_trailers, admission, body } =
                &**request;
            out.push(1);
            out.push(u8::from(*has_trailers));
            put_admission(out, admission.as_ref())?;
            for text in [provider, method, path] {
                put_bytes(out, text.as_bytes())?;
            }
            out.extend_from_slice(headers.as_bytes());
            body
        }
        Observation::AnswerHead { status, version, headers, is_from_record } => {
            out.push(if *is_from_record { RECORDED_HEAD } else { 2 });
            out.extend_from_slice(&status.to_le_bytes());
            put_bytes(out, version.as_bytes())?;
            out.extend_from_slice(headers.as_bytes());
            &[]
        }
        Observation::Piece { at, bytes } => {
            out.push(3);
            put_time(out, *at);
            bytes
        }
        Observation::Trailers { headers } => {
            out.push(4);
            out.extend_from_slice(headers.as_bytes());
            &[]
        }
        Observation::End(end) => {
            out.push(5);
            put_end(out, end)?;
            &[]
        }
        Observation::Gap { what, why } => {
            out.push(6);
            put_bytes(out, what.as_bytes())?;
            put_bytes(out, why.as_bytes())?;
            &[]
        }
        Observation::Journaled { job, position, step } => {
            out.push(if position.head.is_some() { HEADED_MARK } else { 7 });
            for number in [*job, position.bytes, step.map_or(0, |step| step.0)] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            put_journal_head(out, position);
            &[]
        }
        Observation::JournalCut { job, position, lost } => {
            out.push(JOURNAL_CUT);
            out.push(u8::from(position.head.is_some()));
            for number in [*job, position.bytes, lost.unwrap_or(u64::MAX)] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            put_journal_head(out, position);
            &[]
        }
        Observation::Withheld { delivered, instead } => {
            out.push(8);
            out.extend_from_slice(&delivered.to_le_bytes());
            instead
        }
        Observation::Decision(decision) => {
            let ActionDecision { at, action, name, denial, is_enforced, approval_id, call } = &**decision;
            out.push(if *is_enforced { 9 } else { UNENFORCED_DECISION });
            put_time(out, *at);
            out.push(u8::from(*action == Action::Tool));
            put_bytes(out, name.as_bytes())?;
            put_optional(out, approval_id.as_deref())?;
            for pair in [denial, call] {
                put_optional(out, pair.as_ref().map(|(first, _)| &**first))?;
                put_optional(out, pair.as_ref().map(|(_, second)| &**second))?;
            }
            &[]
        }
        Observation::ToolResult { at, tool_call_id, output, is_error } => {
            out.push(10);
            put_time(out, *at);
            out.push(u8::from(*is_error));
            put_bytes(out, tool_call_id.as_bytes())?;
            output.as_bytes()
        }
        Observation::Approval { at, approval_id, update: news } => {
            out.push(11);
            put_time(out, *at);
            put_bytes(out, approval_id.as_bytes())?;
            put_approval_update(out, news)?;
            &[]
        }
        Observation::Reported { text } => {
            out.push(12);
            text
        }
    };
    let mut sum = crc32fast::Hasher::new();
    sum.update(out.get(start + HEAD_BYTES..).unwrap_or_default());
    sum.update(bulk);
    let length = out.len() - start - HEAD_BYTES + bulk.len();
    let length = u32::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let head = length.to_le_bytes().into_iter().chain(sum.finalize().to_le_bytes());
    for (there, byte) in out.iter_mut().skip(start).zip(head) {
        *there = byte;
    }
    Ok(bulk)
}

/// Parses the part of a frame behind its head; `None` if the checksum or the form is wrong.
pub(super) fn read(body: &[u8], sum: u32) -> Option<(u64, Observation<'_>)> {
    if crc32fast::hash(body) != sum {
        return None;
    }
    let mut from = WalFrameReader(body);
    let id = from.number()?;
    let observation = match from.byte()? {
        0 => Observation::KnownSecret { rule: from.text()?, value: from.0.into() },
        1 => {
            let has_trailers = from.byte()? == 1;
            let admission = from.admission()?;
            let (provider, method, path) = (from.text()?, from.text()?, from.text()?);
            let (headers, body) = (from.headers()?, from.0.into());
            let request = InboundRequest { provider, method, path, headers, has_trailers, admission, body };
            Observation::Request(Box::new(request))
        }
        tag @ (2 | RECORDED_HEAD) => {
            let status = from.array().map(u16::from_le_bytes)?;
            let (version, headers) = (from.text()?, from.headers()?);
            Observation::AnswerHead { status, version, headers, is_from_record: tag == RECORDED_HEAD }
        }
        3 => Observation::Piece { at: from.time()?, bytes: from.0.into() },
        4 => Observation::Trailers { headers: from.headers()? },
        5 => Observation::End(from.end()?),
        6 => Observation::Gap { what: from.text()?, why: from.text()? },
        tag @ (7 | HEADED_MARK) => {
            let (job, bytes, step) = (from.number()?, from.number()?, from.number()?);
            let head = if tag == HEADED_MARK { Some(from.journal_head()?) } else { None };
            let position = JournalPosition { bytes, head };
            Observation::Journaled { job, position, step: (step > 0).then_some(StepId(step)) }
        }
        JOURNAL_CUT => {
            let has_head = from.byte()? == 1;
            let (job, bytes, lost) = (from.number()?, from.number()?, from.number()?);
            let head = if has_head { Some(from.journal_head()?) } else { None };
            let position = JournalPosition { bytes, head };
            Observation::JournalCut { job, position, lost: (lost != u64::MAX).then_some(lost) }
        }
        8 => Observation::Withheld { delivered: from.number()?, instead: from.0.into() },
        tag @ (9 | UNENFORCED_DECISION) => {
            let (at, action, name) = (from.time()?, from.action()?, from.text()?);
            let approval_id = from.optional_text()?;
            let denial = from.optional_text()?.zip(from.optional_text()?);
            let call = from.optional_text()?.zip(from.optional_text()?);
            let is_enforced = tag != UNENFORCED_DECISION;
            let decision = ActionDecision { at, action, name, denial, is_enforced, approval_id, call };
            Observation::Decision(Box::new(decision))
        }
        10 => {
            let (at, is_error, tool_call_id) = (from.time()?, from.byte()? == 1, from.text()?);
            let output = core::str::from_utf8(from.0).ok()?.into();
            Observation::ToolResult { at, tool_call_id, output, is_error }
        }
        11 => Observation::Approval {
            at: from.time()?,
            approval_id: from.text()?,
            update: from.approval_update()?,
        },
        12 => Observation::Reported { text: from.0.into() },
        _ => return None,
    };
    Some((id, observation))
}

/// Encoding of [`EndedBy`]: the position in this list.
const ENDED_BY: [EndedBy; 4] = [EndedBy::Eof, EndedBy::Client, EndedBy::Upstream, EndedBy::Timeout];

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

fn put_optional(out: &mut Vec<u8>, text: Option<&str>) -> io::Result<()> {
    out.push(u8::from(text.is_some()));
    text.map_or(Ok(()), |text| put_bytes(out, text.as_bytes()))
}

fn put_admission(out: &mut Vec<u8>, admission: Option<&Admission<'_>>) -> io::Result<()> {
    let Some(Admission { at, approval_id, warning, rates, estimate }) = admission else {
        out.push(0);
        return Ok(());
    };
    out.push(if warning.is_some() { WARNED_ADMISSION } else { 1 });
    if let Some(rule) = warning {
        put_bytes(out, rule.as_bytes())?;
    }
    put_time(out, *at);
    put_optional(out, approval_id.as_deref())?;
    out.extend_from_slice(&estimate.to_le_bytes());
    out.push(u8::from(rates.is_some()));
    if let Some(Rates { input, cached_input, cache_write, output }) = rates {
        for rate in [input, cached_input, cache_write, output] {
            out.extend_from_slice(&rate.to_le_bytes());
        }
    }
    Ok(())
}

fn put_end(out: &mut Vec<u8>, end: &ExchangeEnd<'_>) -> io::Result<()> {
    let ExchangeEnd { job, cause, is_too_long, latency } = end;
    out.extend_from_slice(&job.to_le_bytes());
    let by = ENDED_BY.iter().position(|known| *known == cause.ended_by()).unwrap_or_default();
    out.push(u8::try_from(by).unwrap_or_default());
    out.extend_from_slice(&[u8::from(*cause == EndCause::StreamDone), u8::from(*is_too_long)]);
    put_time(out, *latency);
    let error = match cause {
        EndCause::Upstream { error_type, message, .. } => Some((error_type, message)),
        _ => None,
    };
    out.push(u8::from(error.is_some()));
    if let Some((error_type, message)) = error {
        put_bytes(out, error_type.as_bytes())?;
        put_bytes(out, message.as_bytes())?;
    }
    Ok(())
}

fn put_approval_update(out: &mut Vec<u8>, news: &ApprovalUpdate<'_>) -> io::Result<()> {
    let types: String;
    let (tag, texts): (u8, &[&str]) = match news {
        ApprovalUpdate::Requested { action, name, input_hash, rule, signer_types } => {
            types = signer_types.iter().map(|known| known.name()).collect::<Vec<_>>().join(" ");
            (u8::from(*action == Action::Tool), &[name, input_hash, rule, &types])
        }
        ApprovalUpdate::Granted { token } => (2, &[token]),
        ApprovalUpdate::Denied { reason } => (3, &[reason]),
        ApprovalUpdate::Refused { code, why } => (4, &[code, why]),
    };
    out.push(tag);
    texts.iter().try_for_each(|text| put_bytes(out, text.as_bytes()))
}

fn put_journal_head(out: &mut Vec<u8>, position: &JournalPosition) {
    if let Some((events, hash)) = position.head {
        out.extend_from_slice(&events.to_le_bytes());
        out.extend_from_slice(hash.as_bytes());
    }
}

fn put_time(out: &mut Vec<u8>, time: Duration) {
    out.extend_from_slice(&u64::try_from(time.as_micros()).unwrap_or(u64::MAX).to_le_bytes());
}

/// Reader over the rest of a frame.
struct WalFrameReader<'a>(&'a [u8]);

impl<'a> WalFrameReader<'a> {
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

    fn journal_head(&mut self) -> Option<(u64, Digest)> {
        Some((self.number()?, Digest::from_bytes(self.array()?)))
    }

    fn time(&mut self) -> Option<Duration> {
        self.number().map(Duration::from_micros)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        core::str::from_utf8(self.bytes()?).ok().map(Cow::Borrowed)
    }

    /// Reads a text that may be missing.
    fn optional_text(&mut self) -> Option<Option<Cow<'a, str>>> {
        if self.byte()? == 1 { self.text().map(Some) } else { Some(None) }
    }

    fn action(&mut self) -> Option<Action> {
        Some(if self.byte()? == 1 { Action::Tool } else { Action::Model })
    }

    fn headers(&mut self) -> Option<HeaderList<'a>> {
        let (headers, rest) = HeaderList::read(self.0)?;
        self.0 = rest;
        Some(headers)
    }

    fn admission(&mut self) -> Option<Option<Admission<'a>>> {
        let warning = match self.byte()? {
            0 => return Some(None),
            WARNED_ADMISSION => Some(self.text()?),
            _ => None,
        };
        let (at, approval_id, estimate) = (self.time()?, self.optional_text()?, self.number()?);
        let rates = if self.byte()? == 1 {
            let (input, cached_input) = (self.number()?, self.number()?);
            Some(Rates { input, cached_input, cache_write: self.number()?, output: self.number()? })
        } else {
            None
        };
        Some(Some(Admission { at, approval_id, warning, rates, estimate }))
    }

    fn end(&mut self) -> Option<ExchangeEnd<'a>> {
        let job = self.number()?;
        let by = *ENDED_BY.get(usize::from(self.byte()?))?;
        let (is_stream_done, is_too_long) = (self.byte()? == 1, self.byte()? == 1);
        let latency = self.time()?;
        let cause = if self.byte()? == 1 {
            EndCause::Upstream { by, error_type: self.text()?, message: self.text()? }
        } else if by == EndedBy::Client {
            EndCause::ClientDisconnected
        } else if is_stream_done {
            EndCause::StreamDone
        } else {
            EndCause::Eof
        };
        Some(ExchangeEnd { job, cause, is_too_long, latency })
    }

    fn approval_update(&mut self) -> Option<ApprovalUpdate<'a>> {
        Some(match self.byte()? {
            2 => ApprovalUpdate::Granted { token: self.text()? },
            3 => ApprovalUpdate::Denied { reason: self.text()? },
            4 => ApprovalUpdate::Refused { code: self.text()?, why: self.text()? },
            tag @ (0 | 1) => ApprovalUpdate::Requested {
                action: if tag == 1 { Action::Tool } else { Action::Model },
                name: self.text()?,
                input_hash: self.text()?,
                rule: self.text()?,
                signer_types: self.text()?.split(' ').filter_map(signer_type).collect(),
            },
            _ => return None,
        })
    }
}

const SIGNER_TYPES: [SignerType; 3] = [SignerType::Human, SignerType::Delegate, SignerType::Automated];

fn signer_type(name: &str) -> Option<SignerType> {
    SIGNER_TYPES.into_iter().find(|known| known.name() == name)
}
