//! The data of a block: bytes, and references to bytes before them (RFC 1951 §3.2.3).

use super::bits::Bits;
use super::code::{Code, Entry};
use super::header::{Codes, malformed};
use super::window::{Window, repeat};
use crate::error::PackError;

/// Why decoding stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The block, or the stream, is complete.
    End,
    /// There is not enough input to go on.
    Input,
    /// There is no more room.
    Room,
}

/// Decodes until something ends.
pub(super) fn decode(codes: &Codes, bits: &mut Bits<'_>, window: &mut Window) -> Result<Stop, PackError> {
    match fast(codes, bits, window)? {
        Stop::Input => careful(codes, bits, window),
        stop => Ok(stop),
    }
}

/// Decodes as long as there is more input than one turn can need.
#[inline(never)]
fn fast(codes: &Codes, bits: &mut Bits<'_>, window: &mut Window) -> Result<Stop, PackError> {
    let (bytes, end, limit) = window.parts();
    // In locals, so that they are kept in registers.
    let (mut next, mut at) = (*bits, *end);
    let stop = loop {
        if at >= limit {
            break Stop::Room;
        }
        if !next.refill_from::<16>() {
            break Stop::Input;
        }
        // Of 56 bits three literals from the main table need 33 at most; a length and a distance 48.
        let mut entry = codes.literals.at(next.peek());
        if entry.is_literal() {
            next.skip(entry);
            bytes[at] = entry.byte();
            at += 1;
            entry = codes.literals.at(next.peek());
            if entry.is_literal() {
                next.skip(entry);
                bytes[at] = entry.byte();
                at += 1;
                entry = codes.literals.at(next.peek());
                if entry.is_literal() {
                    next.skip(entry);
                    bytes[at] = entry.byte();
                    at += 1;
                    continue;
                }
            }
            next.refill_from::<8>();
        }
        if entry.is_special() {
            if entry.is_link() {
                next.skip(entry);
                entry = codes.literals.follow(entry, next.peek());
            }
            if entry.is_literal() {
                next.skip(entry);
                bytes[at] = entry.byte();
                at += 1;
                continue;
            }
            if entry.is_end() {
                next.skip(entry);
                break Stop::End;
            }
            if entry.is_special() {
                return Err(malformed());
            }
        }
        let length = entry.value(next.peek());
        next.skip(entry);
        let mut entry = codes.distances.at(next.peek());
        if entry.is_special() {
            if entry.is_link() {
                next.skip(entry);
                entry = codes.distances.follow(entry, next.peek());
            }
            if entry.is_special() {
                return Err(malformed());
            }
        }
        let distance = entry.value(next.peek());
        next.skip(entry);
        if distance > at {
            return Err(malformed());
        }
        repeat(bytes, at, distance, length);
        at += length;
    };
    (*bits, *end) = (next, at);
    Ok(stop)
}

/// Decodes a symbol at a time, each only if all its bits are there.
fn careful(codes: &Codes, bits: &mut Bits<'_>, window: &mut Window) -> Result<Stop, PackError> {
    let (bytes, end, limit) = window.parts();
    while *end < limit {
        let mut next = *bits;
        let Some((entry, length)) = symbol(&codes.literals, &mut next)? else { return Ok(Stop::Input) };
        if entry.is_literal() {
            bytes[*end] = entry.byte();
            *end += 1;
        } else if !entry.is_end() {
            let Some((_, distance)) = symbol(&codes.distances, &mut next)? else { return Ok(Stop::Input) };
            if distance > *end {
                return Err(malformed());
            }
            repeat(bytes, *end, distance, length);
            *end += length;
        }
        *bits = next;
        if entry.is_end() {
            return Ok(Stop::End);
        }
    }
    Ok(Stop::Room)
}

/// The next symbol and its length or distance, if all its bits are there.
fn symbol<const MAIN: u32, const SIZE: usize>(
    code: &Code<MAIN, SIZE>,
    bits: &mut Bits<'_>,
) -> Result<Option<(Entry, usize)>, PackError> {
    bits.refill();
    let mut entry = code.at(bits.peek());
    if entry.is_link() && bits.has(entry) {
        bits.skip(entry);
        entry = code.follow(entry, bits.peek());
    }
    if !bits.has(entry) {
        return Ok(None);
    }
    if entry.is_special() && !entry.is_end() {
        return Err(malformed());
    }
    let value = entry.value(bits.peek());
    bits.skip(entry);
    Ok(Some((entry, value)))
}
