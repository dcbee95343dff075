//! Rules and shapes: what a secret of a known kind looks like.
//!
//! A shape is a literal, which the automaton looks for, with runs of bytes around it. Runs are
//! greedy and never backtrack, so that the cost of a match is bounded by the shape. Start reading
//! at [`SecretShape::match_at`].

use crate::byte_class::{ByteClass, WORD};
use crate::{base64, entropy, value};
use core::fmt;
use core::ops::Range;
use memchr::memmem;

/// Rule with a name and the shapes of the secrets that it finds.
pub(crate) struct SecretRule {
    /// Name in marks, such as `openai-key`. Published: it stays.
    pub(crate) name: &'static str,
    /// Alternative shapes; a match of any of them is a finding.
    pub(crate) shapes: &'static [SecretShape<'static>],
}

/// Pattern of a secret: an optional run, a literal, and the parts that follow it.
pub(crate) struct SecretShape<'s> {
    /// Run of bytes that ends where the literal begins.
    preceding: Option<ByteRun>,
    /// Bytes that the automaton looks for.
    pub(crate) literal: &'s str,
    /// True if the literal only introduces the secret, as `Bearer ` does, and is not masked.
    is_context: bool,
    /// Parts behind the literal, in order.
    following: &'s [ShapePart],
    /// Condition on the matched bytes.
    check: ShapeCheck,
}

/// Run of `min_bytes` to `max_bytes` bytes of a class, neither preceded nor followed by another
/// byte of that class.
pub(crate) struct ByteRun {
    class: &'static ByteClass,
    min_bytes: usize,
    max_bytes: usize,
}

/// Part of a shape behind its literal.
pub(crate) enum ShapePart {
    /// Bytes of a class.
    Run(ByteRun),
    /// Fixed bytes, such as the dots of a JWT.
    Text(&'static str),
    /// Up to two equals signs, the padding of base64.
    Padding,
    /// Sign between a quoted name and its quoted value, as in `"name": "value"`. The secret begins behind it.
    QuotedSign,
}

/// Largest number of backslashes before a quote: those of a JSON string inside of four others.
const MAX_QUOTE_BACKSLASHES: usize = 15;
/// Largest number of blanks on either side of a colon between a name and its value.
const MAX_SIGN_BLANKS: usize = 8;

/// Condition that a shape cannot express. The variants' names in lower case are part of the
/// published text of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShapeCheck {
    /// No condition.
    None,
    /// A run of at least 16 letters and digits that is mixed as [`Self::Mixed`] says: rules out
    /// words joined by dashes.
    Solid,
    /// At least two of digits, capitals and small letters: rules out words and numbers.
    Mixed,
    /// Bytes that no person would write: [`entropy::is_random`].
    Random,
    /// The part before the first dot is base64 of a JSON object that names an algorithm (`alg`).
    Jwt,
    /// Base64 of `user:password`.
    Basic,
}

/// Creates a rule, for the tables in `rules`.
pub(crate) const fn rule(name: &'static str, shapes: &'static [SecretShape<'static>]) -> SecretRule {
    SecretRule { name, shapes }
}

/// Creates a shape of a literal and the parts behind it; the literal belongs to the secret.
pub(crate) const fn shape<'s>(literal: &'s str, following: &'s [ShapePart]) -> SecretShape<'s> {
    SecretShape { preceding: None, literal, is_context: false, following, check: ShapeCheck::None }
}

/// Creates a shape whose literal stays and whose secret follows the literal.
pub(crate) const fn after<'s>(literal: &'s str, following: &'s [ShapePart]) -> SecretShape<'s> {
    SecretShape { preceding: None, literal, is_context: true, following, check: ShapeCheck::None }
}

/// Creates a run of exactly `length` bytes.
pub(crate) const fn exactly(class: &'static ByteClass, length: usize) -> ShapePart {
    ShapePart::Run(ByteRun { class, min_bytes: length, max_bytes: length })
}

/// Creates a run of `min_bytes` to `max_bytes` bytes.
pub(crate) const fn run(class: &'static ByteClass, min_bytes: usize, max_bytes: usize) -> ShapePart {
    ShapePart::Run(ByteRun { class, min_bytes, max_bytes })
}

/// Creates a fixed text between runs.
pub(crate) const fn text(text: &'static str) -> ShapePart {
    ShapePart::Text(text)
}

impl SecretShape<'_> {
    /// Returns true if the bytes at `from` continue a text in base64, where a slash or a plus ends
    /// no word.
    fn continues_base64(&self, bytes: &[u8], from: usize) -> bool {
        let before = from.checked_sub(1).and_then(|at| bytes.get(at));
        let Some(ShapePart::Run(run)) = self.following.first() else { return false };
        before.is_some_and(|before| matches!(before, b'/' | b'+') && run.class.contains(*before))
            && !self.is_context
    }

    /// Adds a run before the literal.
    pub(crate) const fn preceded_by(
        self,
        class: &'static ByteClass,
        min_bytes: usize,
        max_bytes: usize,
    ) -> Self {
        Self { preceding: Some(ByteRun { class, min_bytes, max_bytes }), ..self }
    }

    /// Adds a condition on the matched bytes.
    pub(crate) const fn check(self, check: ShapeCheck) -> Self {
        Self { check, ..self }
    }

    /// Returns the span of the secret that this shape finds around its literal at `start`.
    ///
    /// `None` if a run is too short or too long, if the match is a part of a longer word, or if the
    /// condition fails.
    pub(crate) fn match_at(&self, bytes: &[u8], start: usize) -> Option<Range<usize>> {
        let mut from = start;
        if let Some(run) = &self.preceding {
            from -= run.accepted_length(run.run_length_before(bytes, start))?;
        }
        if !is_word_start(bytes, from) || self.continues_base64(bytes, from) {
            return None;
        }
        let mut at = start + self.literal.len();
        if self.is_context {
            from = at;
        }
        for piece in self.following {
            at += match piece {
                ShapePart::Run(run) => {
                    let length = run.class.run_length(bytes, at, run.max_bytes + 2);
                    // A full stop at the end ends a sentence.
                    let ends_sentence = bytes.get(at..at + length)?.ends_with(b".");
                    run.accepted_length(length - usize::from(ends_sentence))?
                }
                ShapePart::Text(text) if bytes.get(at..)?.starts_with(text.as_bytes()) => text.len(),
                ShapePart::Text(_) => return None,
                ShapePart::Padding => padding_length(bytes, at),
                ShapePart::QuotedSign => {
                    let length = quoted_sign_length(bytes.get(at..)?)?;
                    from = at + length;
                    length
                }
            };
        }
        // A secret followed by a letter, a digit or an underscore is a part of a longer word.
        if bytes.get(at).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_') {
            return None;
        }
        let secret = bytes.get(from..at)?;
        let body = if self.is_context { secret } else { secret.get(self.literal.len()..)? };
        self.check.accepts(secret, body).then_some(from..at)
    }
}

/// Returns the number of equals signs at `at`, at most two.
pub(crate) fn padding_length(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take(2).take_while(|byte| **byte == b'=').count()
}

/// Returns the length of `": "` at the start of a text. The quotes may be those of a JSON string inside of others.
fn quoted_sign_length(text: &[u8]) -> Option<usize> {
    fn without(text: &[u8], most: usize, is_skipped: fn(&u8) -> bool) -> &[u8] {
        let length = text.iter().take(most).take_while(|byte| is_skipped(byte)).count();
        text.get(length..).unwrap_or_default()
    }
    let behind_quote = |text| without(text, MAX_QUOTE_BACKSLASHES, |byte| *byte == b'\\').strip_prefix(b"\"");
    let without_blanks = |text| without(text, MAX_SIGN_BLANKS, u8::is_ascii_whitespace);
    let behind_sign = without_blanks(behind_quote(text)?).strip_prefix(b":")?;
    Some(text.len() - behind_quote(without_blanks(behind_sign))?.len())
}

impl ByteRun {
    /// Returns the length of the run before `to`, without the letters of an escape at its
    /// beginning, such as the `n` of `\n`.
    fn run_length_before(&self, bytes: &[u8], to: usize) -> usize {
        const MAX_ESCAPE_BYTES: usize = 5;
        let length = self.class.run_length_before(bytes, to, self.max_bytes + MAX_ESCAPE_BYTES + 1);
        let letters = match bytes.get(..to - length) {
            Some([.., b'\\']) => match bytes.get(to - length) {
                Some(b'n' | b'r' | b't' | b'b' | b'f' | b'v') => 1,
                Some(b'x') => 3,
                Some(b'u') => MAX_ESCAPE_BYTES,
                _ => 0,
            },
            Some([.., b'%']) => 2,
            _ => 0,
        };
        // Only a run that is too long is shortened; `is_word_start` checks that the letters belong
        // to an escape.
        if length > self.max_bytes { length.saturating_sub(letters) } else { length }
    }

    /// Returns the length if it is within the bounds.
    fn accepted_length(&self, found: usize) -> Option<usize> {
        (self.min_bytes..=self.max_bytes).contains(&found).then_some(found)
    }
}

impl ShapeCheck {
    /// Returns true if the condition holds. `body` is the secret without its literal.
    fn accepts(self, secret: &[u8], body: &[u8]) -> bool {
        match self {
            Self::None => true,
            Self::Solid => value::has_long_mixed_run(body),
            Self::Mixed => value::is_mixed(body),
            Self::Random => entropy::is_random(secret),
            Self::Jwt => {
                let header = secret.split(|byte| *byte == b'.').next().unwrap_or_default();
                base64::decode_lenient(header).is_some_and(|header| {
                    header.starts_with(b"{\"") && memmem::find(&header, b"\"alg\"").is_some()
                })
            }
            Self::Basic => base64::decode_lenient(secret).is_some_and(|pair| {
                pair.len() >= 5 && pair.contains(&b':') && !pair.iter().any(u8::is_ascii_control)
            }),
        }
    }
}

/// Returns true if a word may begin at `at`, that is, if the byte before belongs to no word.
///
/// In JSON a line break is written `\n`, and in a URL an equals sign may be `%3D`: the letters of
/// such an escape belong to no word either.
pub(crate) fn is_word_start(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    match before {
        [] => true,
        [.., last] if !WORD.contains(*last) => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'v'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'x', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()),
        _ => false,
    }
}

impl fmt::Display for SecretShape<'_> {
    /// Writes the shape as the published text of a pack spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(run) = &self.preceding {
            write!(f, "{run} ")?;
        }
        if self.is_context {
            write!(f, "({:?})", self.literal)?
        } else {
            write!(f, "{:?}", self.literal)?
        }
        for piece in self.following {
            match piece {
                ShapePart::Run(run) => write!(f, " {run}")?,
                ShapePart::Text(text) => write!(f, " {text:?}")?,
                ShapePart::Padding => write!(f, " [=]{{0,2}}")?,
                ShapePart::QuotedSign => f.write_str(" (quoted colon)")?,
            }
        }
        match self.check {
            ShapeCheck::None => Ok(()),
            check => write!(f, " if {}", format!("{check:?}").to_lowercase()),
        }
    }
}

impl fmt::Display for ByteRun {
    /// Writes the run as `[class]{min,max}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { class, min_bytes: least, max_bytes: most } = self;
        if least == most {
            write!(f, "[{}]{{{least}}}", class.ranges)
        } else {
            write!(f, "[{}]{{{least},{most}}}", class.ranges)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_class::{ALNUM, BASE64, DIGIT};

    static KEY: SecretShape<'static> = shape("k_", &[run(&ALNUM, 4, 6)]);

    fn found<'t>(shape: &SecretShape<'_>, text: &'t str) -> Option<&'t str> {
        shape.match_at(text.as_bytes(), text.find(shape.literal)?).map(|span| &text[span])
    }

    #[test]
    fn lengths_are_exact_bounds() {
        assert_eq!(found(&KEY, "k_abc"), None);
        assert_eq!(found(&KEY, "k_abcd"), Some("k_abcd"));
        assert_eq!(found(&KEY, "k_abcdef."), Some("k_abcdef"));
        assert_eq!(found(&KEY, "k_abcdefg"), None);
        assert_eq!(found(&KEY, "k_abcd_e"), None);
    }

    #[test]
    fn a_key_is_not_the_rest_of_a_word() {
        for text in ["ak_abcd", "-k_abcd", "_k_abcd", "%zzk_abcd", "xnk_abcd"] {
            assert_eq!(found(&KEY, text), None, "{text}");
        }
        for text in
            ["=k_abcd", "/k_abcd", "\\nk_abcd", "%3Dk_abcd", "\\u003dk_abcd", "\\x3dk_abcd", "ék_abcd"]
        {
            assert_eq!(found(&KEY, text), Some("k_abcd"), "{text}");
        }
    }

    #[test]
    fn runs_before_and_literals_between() {
        static BOT: SecretShape<'static> =
            shape(":AA", &[exactly(&ALNUM, 3), text("."), exactly(&DIGIT, 2)]).preceded_by(&DIGIT, 3, 4);
        assert_eq!(found(&BOT, "x 1234:AAabc.12"), Some("1234:AAabc.12"));
        assert_eq!(found(&BOT, "12:AAabc.12"), None);
        assert_eq!(found(&BOT, "12345:AAabc.12"), None);
        assert_eq!(found(&BOT, "123:AAabc-12"), None);
        static LONG: SecretShape<'static> = shape(":AA", &[exactly(&DIGIT, 2)]).preceded_by(&ALNUM, 3, 4);
        assert_eq!(found(&LONG, r"\nabcd:AA12"), Some("abcd:AA12"));
        assert_eq!(found(&LONG, r"\u000aabcd:AA12"), Some("abcd:AA12"));
        assert_eq!(found(&LONG, "%0aabcd:AA12"), Some("abcd:AA12"));
        assert_eq!(found(&LONG, r"\nabcde:AA12"), None);
        assert_eq!(found(&LONG, "nabcd:AA12"), None);
        assert_eq!(BOT.to_string(), r#"[0-9]{3,4} ":AA" [A-Za-z0-9]{3} "." [0-9]{2}"#);
    }

    #[test]
    fn what_introduces_is_kept_and_padding_is_not() {
        static AFTER: SecretShape<'static> =
            after("Key=", &[run(&BASE64, 4, 8), ShapePart::Padding]).check(ShapeCheck::Mixed);
        assert_eq!(found(&AFTER, "Key=ab12=="), Some("ab12=="));
        assert_eq!(found(&AFTER, "Key=abcd"), None);
        assert_eq!(AFTER.to_string(), r#"("Key=") [A-Za-z0-9+/]{4,8} [=]{0,2} if mixed"#);
    }

    #[test]
    fn a_quoted_sign_is_found_at_any_depth_of_strings() {
        static AUTH: SecretShape<'static> =
            after("auth", &[ShapePart::QuotedSign, run(&BASE64, 4, 8), ShapePart::Padding]);
        for text in [r#""auth":"ab12==""#, r#""auth" : "ab12==""#, r#"\"auth\": \"ab12==\""#] {
            assert_eq!(found(&AUTH, text), Some("ab12=="), "{text}");
        }
        let quote = format!("{}\"", "\\".repeat(15));
        assert_eq!(found(&AUTH, &format!("{quote}auth{quote}:{quote}ab12==")), Some("ab12=="));
        for text in [r#"auth: "ab12==""#, r#""auth""ab12==""#, r#""auth":ab12=="#, r#""auth"#] {
            assert_eq!(found(&AUTH, text), None, "{text}");
        }
        assert_eq!(AUTH.to_string(), r#"("auth") (quoted colon) [A-Za-z0-9+/]{4,8} [=]{0,2}"#);
    }

    #[test]
    fn inside_base64_nothing_begins() {
        static KEY: SecretShape<'static> = shape("AB", &[run(&BASE64, 4, 8)]);
        assert_eq!(found(&KEY, "xy/ABcdef"), None);
        assert_eq!(found(&KEY, "xy=ABcdef"), Some("ABcdef"));
    }
}
