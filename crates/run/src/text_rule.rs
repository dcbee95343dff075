//! The `$text` rule: any JSON value, under the profile of its format, as JSON that RFC 8785 can carry, and back to the very text.
//!
//! A format's canonical text may say what RFC 8785 cannot: `1.0` beside `1`, integers past 2⁵³, paths that change each time they
//! are brought into form. A leaf whose RFC 8785 text, read again under the profile, gives the same text stays what it is; any other
//! becomes `{"$text":"<its text>"}`. An object that looks like one of these is itself written so.

use std::borrow::Cow;
use std::ops::Range;

use reenact_formats::Profile;
use reenact_json::canonical;
use reenact_json::token::NameOrder;
use reenact_json::{CanonicalFault, CanonicalForm, Jcs, Limits, Scanner, SyntaxError, Value, ValueKind};

/// The name that marks a text.
const MARKER: &str = "$text";

/// Why there is nothing to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextRuleError {
    /// The value has no canonical form under its profile.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
    /// An object that should hold a text holds something else. No encoder makes such.
    #[error("a \"$text\" must hold the text of one JSON value")]
    Marker,
    /// What was read is not JSON. It was read before, so this does not happen.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
}

/// The rule for one profile, with room that it keeps from value to value.
#[derive(Debug)]
pub struct TextRule {
    profile: Profile,
    canonical_text: Vec<u8>,
    jcs_text: Vec<u8>,
    round_trip: Vec<u8>,
}

/// What was read once is read again within these.
const LIMITS: Limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };

impl TextRule {
    /// The rule for a profile.
    pub fn new(profile: Profile) -> Self {
        Self { profile, canonical_text: Vec::new(), jcs_text: Vec::new(), round_trip: Vec::new() }
    }

    /// Appends a value as JSON that RFC 8785 can carry; nearly always in that form already.
    pub fn encode(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), TextRuleError> {
        if value.is_canonical() && self.profile.is_already_canonical(value) && !value.text().contains(&b'$') {
            out.extend_from_slice(value.text());
            return Ok(());
        }
        let Self { profile, canonical_text: text, jcs_text: plain, round_trip: again } = self;
        text.clear();
        let at_rest = profile.write_reporting_stability(value, text)?;
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
            // Each leaf stands for itself and the whole does not. No profile is known to do that.
            out.truncate(before);
            write_marker(text, out);
        }
        Ok(())
    }

    /// Appends the canonical text, under the profile, of the value that was encoded.
    pub fn decode(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), TextRuleError> {
        // Where nothing is escaped that need not be, the mark is spelled in one way.
        let may_be = if value.is_canonical() { may_contain_marker(value.text()) } else { true };
        let marked = if may_be { marker_offsets(value.text())? } else { Vec::new() };
        if marked.is_empty() {
            return Ok(canonical::write(value, self.profile, out)?);
        }
        let scanner = Scanner::new(value.text(), &LIMITS)?;
        TextRuleDecoder { scanner, profile: self.profile, marker_offsets: &marked, out }.decode_value(None)
    }
}

/// Whether a text, canonical under RFC 8785, holds an object that looks like a mark.
fn contains_marker(text: &[u8]) -> Result<bool, SyntaxError> {
    Ok(may_contain_marker(text) && !marker_offsets(text)?.is_empty())
}

/// The RFC 8785 text of a canonical text, if reading it under the profile gives the canonical text again.
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

/// Whether a text, canonical under RFC 8785, may hold the mark as a name: a quick look, which errs on the safe side.
fn may_contain_marker(text: &[u8]) -> bool {
    // Nearly always there is no such sign at all, which is found out fast.
    text.contains(&b'$') && text.windows(3).any(|window| window == b"\"$t")
}

/// Where the objects begin whose only member is the mark, in order.
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

/// Appends `{"$text":"<text>"}`.
fn write_marker(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$text\":");
    canonical::write_string(&String::from_utf8_lossy(text), out);
    out.push(b'}');
}

/// A leaf under the profile, as it stands under a name. Only strings of one profile mind the name.
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

/// Walks a canonical text, and wraps what must be.
struct TextRuleEncoder<'a, 'o> {
    scanner: Scanner<'a>,
    profile: Profile,
    marker_offsets: &'o [usize],
    has_wrapped: bool,
    out: &'o mut Vec<u8>,
}

impl<'a> TextRuleEncoder<'a, '_> {
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

    fn round_trips(&self, plain: &[u8], name: Option<Value<'_>>, value: Value<'_>) -> bool {
        let mut again = Vec::new();
        Value::parse(plain, &LIMITS)
            .is_ok_and(|plain| write_leaf(plain, name, self.profile, &mut again).is_ok())
            && again == value.text()
    }

    fn wrap_value(&mut self, value: Value<'_>) {
        self.has_wrapped = true;
        write_marker(value.text(), self.out);
    }
}

/// Walks an encoded text, and writes the canonical one.
struct TextRuleDecoder<'a, 'o> {
    scanner: Scanner<'a>,
    profile: Profile,
    marker_offsets: &'o [usize],
    out: &'o mut Vec<u8>,
}

impl<'a> TextRuleDecoder<'a, '_> {
    fn decode_value(&mut self, name: Option<Value<'a>>) -> Result<(), TextRuleError> {
        match self.scanner.kind()? {
            ValueKind::Object if self.marker_offsets.binary_search(&self.scanner.offset()).is_ok() => {
                let text = self.scanner.value()?.member(MARKER).and_then(|text| text.string());
                let text = text.ok_or(TextRuleError::Marker)?;
                // Whoever sealed this may have written anything.
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

    /// Writes each member as it comes, and moves them into the order of the profile if they are not.
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
