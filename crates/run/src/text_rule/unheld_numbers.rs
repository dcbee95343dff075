//! Numbers that a profile has no canonical text for: `1e999`, or thirty digits where only doubles are exact.
//!
//! Nothing hashes such a number, since what is hashed has a canonical text; a record may have one elsewhere, and is no less whole for
//! it. For the encoding each is replaced by a string that occurs nowhere in the text, and each of those by a marker with the number as
//! it stood. Start reading at [`TextWithoutNumbers::of`].

use reenact_formats::Profile;
use reenact_json::{Scanner, SyntaxError, Value, ValueKind, canonical};

use super::LIMITS;

/// JSON text in which strings stand for the numbers that have no canonical text.
pub(super) struct TextWithoutNumbers {
    /// The JSON text.
    pub(super) text: Vec<u8>,
    /// Beginning of all those strings; the index of the number follows, and a full stop.
    prefix: String,
    /// Numbers as they stood.
    numbers: Vec<String>,
}

impl TextWithoutNumbers {
    /// Replaces the numbers of a value; `None` if every number has a canonical text.
    ///
    /// # Errors
    /// If the value is not JSON. It was parsed before, so this does not happen.
    pub(super) fn of(value: Value<'_>, profile: Profile) -> Result<Option<Self>, SyntaxError> {
        let text = value.text();
        let mut found = Vec::new();
        collect(&mut Scanner::new(text, &LIMITS)?, profile, &mut found)?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut replaced =
            Self { text: Vec::with_capacity(text.len()), prefix: unused_prefix(text), numbers: Vec::new() };
        let mut end = 0;
        for (start, length) in found {
            replaced.text.extend_from_slice(text.get(end..start).unwrap_or_default());
            end = start + length;
            let number = String::from_utf8_lossy(text.get(start..end).unwrap_or_default()).into_owned();
            let name = replaced.name(replaced.numbers.len());
            replaced.text.extend_from_slice(format!("\"{name}\"").as_bytes());
            replaced.numbers.push(number);
        }
        replaced.text.extend_from_slice(text.get(end..).unwrap_or_default());
        Ok(Some(replaced))
    }

    /// Appends an encoded text with a marker in place of each string that stands for a number. Inside of a marker, which holds JSON
    /// as text, the number itself comes back.
    pub(super) fn restore(&self, encoded: &[u8], out: &mut Vec<u8>) {
        let mut rest = encoded;
        while let Some(at) = position(rest, self.prefix.as_bytes()) {
            let (before, after) = rest.split_at(at);
            let digits = after.get(self.prefix.len()..).unwrap_or_default();
            let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let index = core::str::from_utf8(digits.get(..length).unwrap_or_default()).ok();
            let number = index.and_then(|index| self.numbers.get(index.parse::<usize>().ok()?));
            // The name ends with a full stop; then come the quotes.
            let tail = digits.get(length + 1..).unwrap_or_default();
            let (Some(number), Some(tail)) =
                (number, tail.strip_prefix(b"\"").or_else(|| tail.strip_prefix(b"\\\"")))
            else {
                // The prefix occurs nowhere else.
                break;
            };
            match before.strip_suffix(b"\\\"") {
                Some(before) => {
                    out.extend_from_slice(before);
                    out.extend_from_slice(number.as_bytes());
                }
                None => {
                    out.extend_from_slice(before.strip_suffix(b"\"").unwrap_or(before));
                    super::write_marker(number.as_bytes(), out);
                }
            }
            rest = tail;
        }
        out.extend_from_slice(rest);
    }

    /// Returns the string that stands for a number.
    fn name(&self, index: usize) -> String {
        format!("{}{index}.", self.prefix)
    }
}

/// Adds offset and length of each number without a canonical text.
fn collect(
    scanner: &mut Scanner<'_>,
    profile: Profile,
    found: &mut Vec<(usize, usize)>,
) -> Result<(), SyntaxError> {
    match scanner.kind()? {
        ValueKind::Object => {
            let mut object = scanner.enter_object()?;
            while scanner.next_name(&mut object)?.is_some() {
                collect(scanner, profile, found)?;
            }
        }
        ValueKind::Array => {
            let mut array = scanner.enter_array()?;
            while scanner.next_element(&mut array)? {
                collect(scanner, profile, found)?;
            }
        }
        ValueKind::Number => {
            let start = scanner.offset();
            let number = scanner.value()?;
            if canonical::to_vec(number, profile).is_err() {
                found.push((start, number.text().len()));
            }
        }
        _ => {
            scanner.value()?;
        }
    }
    Ok(())
}

/// Returns a prefix that does not occur in a text. It is no path and no time, so that no profile changes it.
fn unused_prefix(text: &[u8]) -> String {
    let mut number = 0_u32;
    loop {
        let prefix = format!("number{number}x");
        if position(text, prefix.as_bytes()).is_none() {
            return prefix;
        }
        number = number.wrapping_add(1);
    }
}

/// Returns the offset of the first occurrence of some bytes.
fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}
