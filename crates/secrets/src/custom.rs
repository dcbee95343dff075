//! Rules that a project adds to ours: a prefix, then bytes of an alphabet.
//!
//! The language is this small on purpose: no text makes such a rule slow, and a reviewer sees what
//! a rule finds. Rules can only be added, never removed.

use crate::byte_class::{ALNUM, ANY_HEX, BASE64, ByteClass, WORD};
use crate::rule::{ShapePart, run, shape};
use crate::{RulePack, byte_class};
use core::fmt;
use core::ops::Range;

/// Rule of a project.
///
/// ```
/// use reenact_secrets::{Alphabet, CustomRule, Redactor, RulePack};
///
/// let rule = CustomRule::new("acme-key", "acme_", Alphabet::Alnum, 8)?;
/// let mut redactor = Redactor::new(RulePack::with_custom(&[rule]));
/// assert_eq!(&redactor.redact(b"use acme_12345678!").bytes[..], b"use [masked:acme-key:1]!");
/// assert_eq!(&redactor.redact(b"use acme_1234567!").bytes[..], b"use acme_1234567!");
/// # Ok::<(), reenact_secrets::RuleFault>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomRule {
    name: String,
    prefix: String,
    alphabet: Alphabet,
    min_length: usize,
}

/// Bytes that follow the prefix of a custom rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `A-Z`, `a-z`, `0-9`.
    Alnum,
    /// `0-9`, `a-f`, `A-F`.
    Hex,
    /// `A-Z`, `a-z`, `0-9`, `_`, `-`.
    Base64url,
    /// `A-Z`, `a-z`, `0-9`, `+`, `/`, and up to two `=` at the end.
    Base64,
}

impl Alphabet {
    /// All alphabets.
    pub const ALL: [Self; 4] = [Self::Alnum, Self::Hex, Self::Base64url, Self::Base64];

    /// Returns the name of the alphabet in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alnum => "alnum",
            Self::Hex => "hex",
            Self::Base64url => "base64url",
            Self::Base64 => "base64",
        }
    }

    /// Returns the alphabet of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|alphabet| alphabet.name() == name)
    }

    fn class(self) -> &'static ByteClass {
        match self {
            Self::Alnum => &ALNUM,
            Self::Hex => &ANY_HEX,
            Self::Base64url => &WORD,
            Self::Base64 => &BASE64,
        }
    }
}

/// Reason why a custom rule is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleFault {
    /// The name is not one that a mark can have.
    Name,
    /// The name belongs to a rule of the standard pack, or to one that the recorder uses.
    Taken,
    /// The prefix is too short, too long, or has characters that a prefix may not have.
    Prefix,
    /// The minimum length is too small or too large.
    MinLength,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => {
                write!(f, "must be 1 to {MAX_NAME_BYTES} of a-z, 0-9 and -, and begin with a letter")
            }
            Self::Taken => f.write_str("is the name of a rule that is there already"),
            Self::Prefix => {
                write!(
                    f,
                    "must be 3 to {MAX_PREFIX_BYTES} characters of A-Z, a-z, 0-9 and _ - . : = / + ~ @ #"
                )
            }
            Self::MinLength => {
                write!(f, "must be a whole number from {SMALLEST_MIN_LENGTH} to {LARGEST_MIN_LENGTH}")
            }
        }
    }
}

impl std::error::Error for RuleFault {}

/// Suffix of the name of a pack with custom rules.
pub(crate) const CUSTOM_SUFFIX: &str = "+custom";
/// Longest secret that a custom rule finds, in bytes behind its prefix.
const MAX_SECRET_BYTES: usize = 16_384;
/// Longest name, in bytes. Marks allow 40.
const MAX_NAME_BYTES: usize = 32;
/// Longest prefix, in bytes.
const MAX_PREFIX_BYTES: usize = 64;
/// Smallest `min_length`: fewer letters would be found in words.
const SMALLEST_MIN_LENGTH: usize = 4;
/// Largest `min_length`.
const LARGEST_MIN_LENGTH: usize = 4096;

/// Rules under which a recorder masks known values; a custom rule may not take their names.
const RECORDER_RULES: [&str; 4] = ["argument", "credential", "environment", "known"];

impl CustomRule {
    /// Creates a rule that finds at least `min_length` bytes of an alphabet behind a prefix. The
    /// prefix is part of the secret.
    ///
    /// # Errors
    /// A [`RuleFault`] that says which argument is out of bounds.
    pub fn new(name: &str, prefix: &str, alphabet: Alphabet, min_length: usize) -> Result<Self, RuleFault> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !(1..=MAX_NAME_BYTES).contains(&name.len())
            || !name.bytes().all(is_name)
            || !name.starts_with(|first: char| first.is_ascii_lowercase())
        {
            return Err(RuleFault::Name);
        }
        if RulePack::standard().rule_names().any(|known| known == name) || RECORDER_RULES.contains(&name) {
            return Err(RuleFault::Taken);
        }
        let is_prefix = |byte: u8| byte_class::ALNUM.contains(byte) || b"_-.:=/+~@#".contains(&byte);
        if !(3..=MAX_PREFIX_BYTES).contains(&prefix.len()) || !prefix.bytes().all(is_prefix) {
            return Err(RuleFault::Prefix);
        }
        if !(SMALLEST_MIN_LENGTH..=LARGEST_MIN_LENGTH).contains(&min_length) {
            return Err(RuleFault::MinLength);
        }
        Ok(Self { name: name.to_owned(), prefix: prefix.to_owned(), alphabet, min_length })
    }

    /// Returns the name in the marks of this rule.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bytes that every secret of this rule begins with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the alphabet of the bytes behind the prefix.
    pub fn alphabet(&self) -> Alphabet {
        self.alphabet
    }

    /// Returns the smallest number of bytes behind the prefix.
    pub fn min_length(&self) -> usize {
        self.min_length
    }

    /// Returns the span of the secret whose prefix begins at `start`.
    pub(crate) fn match_at(&self, bytes: &[u8], start: usize) -> Option<Range<usize>> {
        let letters = run(self.alphabet.class(), self.min_length, MAX_SECRET_BYTES);
        let pieces = [letters, ShapePart::Padding];
        let is_padded = self.alphabet == Alphabet::Base64;
        let pieces = if is_padded { &pieces[..] } else { &pieces[..1] };
        shape(&self.prefix, pieces).match_at(bytes, start)
    }
}

impl fmt::Display for CustomRule {
    /// Writes the rule as the published text of a pack spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, prefix, alphabet, min_length } = self;
        write!(f, "{name} {prefix:?} {} {min_length}", alphabet.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Redactor;
    use std::sync::Arc;

    #[test]
    fn what_is_no_rule() {
        let fault = |name: &str, prefix: &str, least| {
            CustomRule::new(name, prefix, Alphabet::Hex, least).unwrap_err()
        };
        for name in ["", "A", "a_b", "-a", "9a", "a]", &"a".repeat(33)] {
            assert_eq!(fault(name, "abc", 8), RuleFault::Name, "{name}");
        }
        for name in ["openai-key", "password", "entropy", "header", "credential", "known", "url-password"] {
            assert_eq!(fault(name, "abc", 8), RuleFault::Taken, "{name}");
        }
        for prefix in ["", "ab", "a b", "a\"b", "a\\b", "äbc", "[ab", &"a".repeat(65)] {
            assert_eq!(fault("a", prefix, 8), RuleFault::Prefix, "{prefix}");
        }
        for least in [0, 3, 4097, usize::MAX] {
            assert_eq!(fault("a", "abc", least), RuleFault::MinLength);
        }
    }

    #[test]
    fn ours_stay_and_the_name_and_the_text_say_that_there_are_others() {
        let rule = |name, alphabet| CustomRule::new(name, "acme_", alphabet, 12).unwrap();
        let (one, two) = (rule("acme", Alphabet::Hex), rule("acme-long", Alphabet::Base64));
        let pack = RulePack::with_custom(&[one.clone(), two.clone()]);
        assert_eq!(pack.name(), "reenact-1+custom");
        assert!(RulePack::is_custom(pack.name()) && !RulePack::is_custom(RulePack::standard().name()));
        let standard = RulePack::standard().rules_text();
        let (first, rest) = standard.split_once('\n').unwrap();
        assert_eq!(
            pack.rules_text(),
            format!(
                "{first}+custom\n{rest}custom: acme \"acme_\" hex 12\ncustom: acme-long \"acme_\" base64 12\n"
            )
        );
        assert_eq!(pack.custom_rules(), [one, two]);
        assert!(Arc::ptr_eq(&RulePack::with_custom(&[]), &RulePack::standard()));

        let mut redactor = Redactor::new(pack);
        let text = format!("acme_0123456789aF, acme_ab+/ab+/ab+/==. sk-{}", "0123456789abcdef".repeat(2));
        assert_eq!(
            &redactor.redact(text.as_bytes()).bytes[..],
            b"[masked:acme:1], [masked:acme-long:1]. [masked:openai-key:1]"
        );
        // Marks of custom rules are marks, too.
        assert_eq!(redactor.redact(b"token=[masked:acme:1]").masked_spans, []);
        redactor.reserve_numbers(b"[masked:acme:7]", &[]);
        assert_eq!(&redactor.redact(b"acme_0123456789ab").bytes[..], b"[masked:acme:8]");
    }
}
