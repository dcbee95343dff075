//! The `$text` rule: any JSON value, under the profile of its format, as JSON that RFC 8785 can carry, and back
//! to the very text.
//!
//! A format's canonical text may say what RFC 8785 cannot: `1.0` beside `1`, integers past 2⁵³, paths that
//! change each time they are normalised. A leaf whose RFC 8785 text, read again under the profile, gives the
//! same text stays as it is; any other becomes a marker, `{"$text":"<its text>"}`. An object that looks like a
//! marker is itself wrapped in one. A number that the format cannot hold (`1e999`), where nothing hashes it, is a marker of its own text.
//!
//! Start reading at [`TextRule::encode`] and [`TextRule::decode`].
//!
//! | profile | canonical text | encoded |
//! |---|---|---|
//! | any | `[1,"a"]` | `[1,"a"]` |
//! | `.rpk` | `{"a":1.0}` | `{"a":{"$text":"1.0"}}` |
//! | REPLAY.jsonl | `18446744073709551615` | `{"$text":"18446744073709551615"}` |
//! | any | `1e999` | `{"$text":"1e999"}` |
//! | any | `{"$text":"x"}` | `{"$text":"{\"$text\":\"x\"}"}` |

mod unheld_numbers;

use std::borrow::Cow;
use std::ops::Range;

use reenact_formats::Profile;
use reenact_json::canonical;
use reenact_json::token::NameOrder;
use reenact_json::{CanonicalFault, CanonicalForm, Jcs, Limits, Scanner, SyntaxError, Value, ValueKind};

use self::unheld_numbers::TextWithoutNumbers;

/// Name of the only member of a marker.
const MARKER: &str = "$text";

/// Reason why a value cannot be encoded or decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextRuleError {
    /// The value has no canonical form under its profile.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
    /// A marker does not hold the text of one JSON value. No encoder writes such.
    #[error("a \"$text\" must hold the text of one JSON value")]
    Marker,
    /// The text is not JSON. It was parsed before, so this does not happen.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
}

/// The `$text` rule for one profile, with buffers that are reused from value to value.
#[derive(Debug)]
pub struct TextRule {
    profile: Profile,
    /// Canonical text of the value under the profile.
    canonical_text: Vec<u8>,
    /// RFC 8785 (JCS) text of that.
    jcs_text: Vec<u8>,
    /// Canonical text of the RFC 8785 text, to be compared with the first.
    round_trip: Vec<u8>,
}

/// Limits for texts that were parsed before: the widest there are.
const LIMITS: Limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };

impl TextRule {
    /// Makes the rule for a profile.
    pub fn new(profile: Profile) -> Self {
        Self { profile, canonical_text: Vec::new(), jcs_text: Vec::new(), round_trip: Vec::new() }
    }

    /// Appends a value to `out` as JSON that RFC 8785 can carry; nearly always in RFC 8785 form already.
    ///
    /// # Errors
    /// [`TextRuleError::Canonical`] if the value has no canonical form under the profile for another reason than a number.
    pub fn encode(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), TextRuleError> {
        if value.is_canonical() && self.profile.is_already_canonical(value) && !value.text().contains(&b'$') {
            out.extend_from_slice(value.text());
            return Ok(());
        }
        let Self { profile, canonical_text: text, jcs_text: plain, round_trip: again } = self;
        text.clear();
        let at_rest = match profile.write_reporting_stability(value, text) {
            Ok(at_rest) => at_rest,
            Err(fault) => return self.encode_without_numbers(value, fault, out),
        };
        let canonical = Value::parse(text, &LIMITS)?;
        if at_rest && canonical.is_canonical() && !contains_marker(text)? {
            out.extend_from_slice(text);
            return Ok(());
        }
        if let Some(plain) = lossless_jcs(canonical, *profile, plain, again) {
            out.extend_from_slice(plain);
            return Ok(());
        }
        let scanner = Scanner::new(text, &LIMITS)?;
        let before = out.len();
        let marked = marker_offsets(text)?;
        let mut encoder =
            TextRuleEncoder { scanner, profile: *profile, marker_offsets: &marked, has_wrapped: false, out };
        encoder.encode_value(None)?;
        if !encoder.has_wrapped {
            // Each leaf survives by itself and the whole value does not. No profile is known to do that.
            out.truncate(before);
            write_marker(text, out);
        }
        Ok(())
    }

    /// Appends a value that has no canonical form, because a number of it has none: each such number becomes a marker.
    ///
    /// # Errors
    /// `fault` if it is not about a number.
    fn encode_without_numbers(
        &mut self,
        value: Value<'_>,
        fault: CanonicalFault,
        out: &mut Vec<u8>,
    ) -> Result<(), TextRuleError> {
        let CanonicalFault::Number { .. } = fault else { return Err(fault.into()) };
        let Some(replaced) = TextWithoutNumbers::of(value, self.profile)? else { return Err(fault.into()) };
        let mut encoded = Vec::new();
        self.encode(Value::parse(&replaced.text, &LIMITS)?, &mut encoded)?;
        replaced.restore(&encoded, out);
        Ok(())
    }

    /// Appends the text that a value comes back as: its canonical text under the profile, in which numbers without one stand as they
    /// are.
    ///
    /// # Errors
    /// As [`TextRule::encode`].
    pub fn write_round_trip(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), TextRuleError> {
        match canonical::to_vec(value, self.profile) {
            Ok(text) => out.extend_from_slice(&text),
            Err(CanonicalFault::Number { .. }) => {
                let mut encoded = Vec::new();
                self.encode(value, &mut encoded)?;
                self.decode(Value::parse(&encoded, &LIMITS)?, out)?;
            }
            Err(fault) => return Err(fault.into()),
        }
        Ok(())
    }

    /// Appends to `out` the canonical text, under the profile, of the value that was encoded.
    ///
    /// # Errors
    /// [`TextRuleError::Marker`] if a marker does not hold JSON.
    pub fn decode(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), TextRuleError> {
        // In canonical JSON nothing is escaped without need, so the marker has one spelling and a byte search
        // finds it.
        let may_be = if value.is_canonical() { may_contain_marker(value.text()) } else { true };
        let marked = if may_be { marker_offsets(value.text())? } else { Vec::new() };
        if marked.is_empty() {
            return Ok(canonical::write(value, self.profile, out)?);
        }
        let scanner = Scanner::new(value.text(), &LIMITS)?;
        TextRuleDecoder { scanner, profile: self.profile, marker_offsets: &marked, out }.decode_value(None)
    }
}

/// Returns true if a text, canonical under RFC 8785, contains an object that looks like a marker.
fn contains_marker(text: &[u8]) -> Result<bool, SyntaxError> {
    Ok(may_contain_marker(text) && !marker_offsets(text)?.is_empty())
}

/// Returns the RFC 8785 text of a canonical text, if reading it under the profile gives the canonical text
/// again. `plain` and `again` are buffers.
fn lossless_jcs<'p>(
    canonical: Value<'p>,
    profile: Profile,
    plain: &'p mut Vec<u8>,
    again: &mut Vec<u8>,
) -> Option<&'p [u8]> {
    let written: &'p [u8] = if canonical.is_canonical() {
        canonical.text()
    } else {
        plain.clear();
        canonical::write(canonical, Jcs, plain).ok()?;
        plain
    };
    if contains_marker(written).ok()? {
        return None;
    }
    again.clear();
    canonical::write(Value::parse(written, &LIMITS).ok()?, profile, again).ok()?;
    (again == canonical.text()).then_some(written)
}

/// Returns true if a text, canonical under RFC 8785, may contain the marker's name: a quick search, which may
/// find too much but never too little.
fn may_contain_marker(text: &[u8]) -> bool {
    // Nearly every text has no dollar sign at all, and that search is fast.
    text.contains(&b'$') && text.windows(3).any(|window| window == b"\"$t")
}

/// Returns the offsets of all objects whose only member has the marker's name, in ascending order.
fn marker_offsets(text: &[u8]) -> Result<Vec<usize>, SyntaxError> {
    fn walk(scanner: &mut Scanner<'_>, found: &mut Vec<usize>) -> Result<(), SyntaxError> {
        match scanner.kind()? {
            ValueKind::Object => {
                let start = scanner.offset();
                let mut object = scanner.enter_object()?;
                let (mut members, mut is_mark) = (0_usize, false);
                while let Some(name) = scanner.next_name(&mut object)? {
                    members += 1;
                    is_mark = name.is_string(MARKER);
                    walk(scanner, found)?;
                }
                if members == 1 && is_mark {
                    found.push(start);
                }
            }
            ValueKind::Array => {
                let mut array = scanner.enter_array()?;
                while scanner.next_element(&mut array)? {
                    walk(scanner, found)?;
                }
            }
            _ => {
                scanner.value()?;
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    walk(&mut Scanner::new(text, &LIMITS)?, &mut found)?;
    found.sort_unstable();
    Ok(found)
}

/// Appends a marker, `{"$text":"<text>"}`.
fn write_marker(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$text\":");
    canonical::write_string(&String::from_utf8_lossy(text), out);
    out.push(b'}');
}

/// Appends a leaf in canonical form under the profile, as the member of `name`. Only one profile treats strings
/// by their name, such as paths and times; it needs the member as a whole.
fn write_leaf(
    value: Value<'_>,
    name: Option<Value<'_>>,
    profile: Profile,
    out: &mut Vec<u8>,
) -> Result<(), CanonicalFault> {
    let Some(name) = name.filter(|_| profile.depends_on_names() && value.kind() == ValueKind::String) else {
        return canonical::write(value, profile, out);
    };
    let member = [b"{", name.text(), b":", value.text(), b"}"].concat();
    let Ok(member) = Value::parse(&member, &LIMITS) else { return canonical::write(value, profile, out) };
    let written = canonical::to_vec(member, profile)?;
    let prefix = canonical::to_vec(name, profile)?.len() + 2;
    out.extend_from_slice(written.get(prefix..written.len().saturating_sub(1)).unwrap_or_default());
    Ok(())
}

/// Walker over a canonical text that wraps the leaves and objects that need a marker.
struct TextRuleEncoder<'a, 'o> {
    scanner: Scanner<'a>,
    profile: Profile,
    marker_offsets: &'o [usize],
    /// True once anything was wrapped.
    has_wrapped: bool,
    out: &'o mut Vec<u8>,
}

impl<'a> TextRuleEncoder<'a, '_> {
    /// Encodes the value at the scanner, which is the member of `name` or an element.
    fn encode_value(&mut self, name: Option<Value<'a>>) -> Result<(), TextRuleError> {
        match self.scanner.kind()? {
            ValueKind::Object if self.marker_offsets.binary_search(&self.scanner.offset()).is_ok() => {
                let object = self.scanner.value()?;
                self.wrap_value(object);
            }
            ValueKind::Object => {
                let mut object = self.scanner.enter_object()?;
                let mut before = b'{';
                while let Some(name) = self.scanner.next_name(&mut object)? {
                    self.out.push(before);
                    before = b',';
                    self.out.extend_from_slice(name.text());
                    self.out.push(b':');
                    self.encode_value(Some(name))?;
                }
                self.out.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
            }
            ValueKind::Array => {
                let mut array = self.scanner.enter_array()?;
                let mut before = b'[';
                while self.scanner.next_element(&mut array)? {
                    self.out.push(before);
                    before = b',';
                    self.encode_value(None)?;
                }
                self.out.extend_from_slice(if before == b'[' { b"[]" } else { b"]" });
            }
            _ => {
                let value = self.scanner.value()?;
                let plain = canonical::to_vec(value, Jcs).ok();
                let native = plain.filter(|plain| self.round_trips(plain, name, value));
                match native {
                    Some(plain) => self.out.extend_from_slice(&plain),
                    None => self.wrap_value(value),
                }
            }
        }
        Ok(())
    }

    /// Returns true if the RFC 8785 text of a leaf, read under the profile, gives the leaf's text again.
    fn round_trips(&self, plain: &[u8], name: Option<Value<'_>>, value: Value<'_>) -> bool {
        let mut again = Vec::new();
        Value::parse(plain, &LIMITS)
            .is_ok_and(|plain| write_leaf(plain, name, self.profile, &mut again).is_ok())
            && again == value.text()
    }

    /// Writes a value as a marker.
    fn wrap_value(&mut self, value: Value<'_>) {
        self.has_wrapped = true;
        write_marker(value.text(), self.out);
    }
}

/// Walker over an encoded text that writes the canonical one.
struct TextRuleDecoder<'a, 'o> {
    scanner: Scanner<'a>,
    profile: Profile,
    marker_offsets: &'o [usize],
    out: &'o mut Vec<u8>,
}

impl<'a> TextRuleDecoder<'a, '_> {
    /// Decodes the value at the scanner, which is the member of `name` or an element.
    fn decode_value(&mut self, name: Option<Value<'a>>) -> Result<(), TextRuleError> {
        match self.scanner.kind()? {
            ValueKind::Object if self.marker_offsets.binary_search(&self.scanner.offset()).is_ok() => {
                let text = self.scanner.value()?.member(MARKER).and_then(|text| text.string());
                let text = text.ok_or(TextRuleError::Marker)?;
                // The artifact may be sealed by any program, so the content of a marker is checked.
                let text = Value::parse(text.as_bytes(), &LIMITS)
                    .map_err(|_| TextRuleError::Marker)?
                    .text()
                    .to_vec();
                self.out.extend_from_slice(&text);
            }
            ValueKind::Object => self.decode_object()?,
            ValueKind::Array => {
                let mut array = self.scanner.enter_array()?;
                let mut before = b'[';
                while self.scanner.next_element(&mut array)? {
                    self.out.push(before);
                    before = b',';
                    self.decode_value(None)?;
                }
                self.out.extend_from_slice(if before == b'[' { b"[]" } else { b"]" });
            }
            _ => {
                let value = self.scanner.value()?;
                write_leaf(value, name, self.profile, self.out)?;
            }
        }
        Ok(())
    }

    /// Decodes an object. Members are written in the order of the text, and moved if the profile sorts names in
    /// another way.
    fn decode_object(&mut self) -> Result<(), TextRuleError> {
        let mut object = self.scanner.enter_object()?;
        self.out.push(b'{');
        let start = self.out.len();
        let mut members: Vec<(Cow<'a, str>, Range<usize>)> = Vec::new();
        while let Some(name) = self.scanner.next_name(&mut object)? {
            if self.out.len() > start {
                self.out.push(b',');
            }
            let spelled = name.string().unwrap_or_default();
            let from = self.out.len();
            self.profile.write_name(&spelled, self.out);
            self.out.push(b':');
            self.decode_value(Some(name))?;
            members.push((spelled, from..self.out.len()));
        }
        let is_utf16 = self.profile.order() == NameOrder::Utf16;
        let order = |(a, _): &(Cow<'_, str>, _), (b, _): &(Cow<'_, str>, _)| {
            if is_utf16 { a.encode_utf16().cmp(b.encode_utf16()) } else { a.cmp(b) }
        };
        if !members.is_sorted_by(|a, b| order(a, b).is_le()) {
            members.sort_by(order);
            let mut ordered = Vec::with_capacity(self.out.len() - start);
            for (_, place) in members {
                if !ordered.is_empty() {
                    ordered.push(b',');
                }
                ordered.extend_from_slice(self.out.get(place).unwrap_or_default());
            }
            self.out.truncate(start);
            self.out.extend_from_slice(&ordered);
        }
        self.out.push(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests;
