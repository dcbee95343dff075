//! Rules that a project adds to ours: a prefix, then letters of an alphabet.
//!
//! That is all there is to say, on purpose: no text makes such a rule slow, and what it finds can be seen at a glance. Rules can
//! only be added.

use crate::class::{ALNUM, ANY_HEX, BASE64, Class, WORD};
use crate::rule::{Piece, run, shape};
use crate::{Pack, class};
use core::fmt;
use core::ops::Range;

/// A rule of a project's own.
///
/// ```
/// use reenact_secrets::{Alphabet, CustomRule, Pack, Redactor};
///
/// let rule = CustomRule::new("acme-key", "acme_", Alphabet::Alnum, 8)?;
/// let mut redactor = Redactor::new(Pack::with(&[rule]));
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

/// What follows a prefix.
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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Alnum, Self::Hex, Self::Base64url, Self::Base64];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alnum => "alnum",
            Self::Hex => "hex",
            Self::Base64url => "base64url",
            Self::Base64 => "base64",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|alphabet| alphabet.name() == name)
    }

    fn class(self) -> &'static Class {
        match self {
            Self::Alnum => &ALNUM,
            Self::Hex => &ANY_HEX,
            Self::Base64url => &WORD,
            Self::Base64 => &BASE64,
        }
    }
}

/// Why a rule is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleFault {
    /// The name is not one that a mark can have.
    Name,
    /// The name is that of a rule of ours.
    Taken,
    /// The prefix is too short, too long, or has other characters than a prefix may.
    Prefix,
    /// The number is too small or too large.
    MinLength,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => write!(f, "must be 1 to {LONGEST_NAME} of a-z, 0-9 and -, and begin with a letter"),
            Self::Taken => f.write_str("is the name of a rule that is there already"),
            Self::Prefix => {
                write!(f, "must be 3 to {LONGEST_PREFIX} characters of A-Z, a-z, 0-9 and _ - . : = / + ~ @ #")
            }
            Self::MinLength => write!(f, "must be a whole number from {SHORTEST} to {LARGEST_MINIMUM}"),
        }
    }
}

impl std::error::Error for RuleFault {}

/// What the name of a pack with rules of a project's own ends with.
pub(crate) const CUSTOM: &str = "+custom";
/// The longest secret that such a rule finds.
const LONGEST: usize = 16_384;
const LONGEST_NAME: usize = 32;
const LONGEST_PREFIX: usize = 64;
/// Fewer letters would be found in words.
const SHORTEST: usize = 4;
const LARGEST_MINIMUM: usize = 4096;

/// The rules under which a recorder masks what it knows.
const KNOWN: [&str; 4] = ["argument", "credential", "environment", "known"];

impl CustomRule {
    /// A rule: at least `min_length` letters of an alphabet behind a prefix, which is a part of the secret.
    pub fn new(name: &str, prefix: &str, alphabet: Alphabet, min_length: usize) -> Result<Self, RuleFault> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !(1..=LONGEST_NAME).contains(&name.len())
            || !name.bytes().all(is_name)
            || !name.starts_with(|first: char| first.is_ascii_lowercase())
        {
            return Err(RuleFault::Name);
        }
        if Pack::standard().names().any(|known| known == name) || KNOWN.contains(&name) {
            return Err(RuleFault::Taken);
        }
        let is_prefix = |byte: u8| class::ALNUM.has(byte) || b"_-.:=/+~@#".contains(&byte);
        if !(3..=LONGEST_PREFIX).contains(&prefix.len()) || !prefix.bytes().all(is_prefix) {
            return Err(RuleFault::Prefix);
        }
        if !(SHORTEST..=LARGEST_MINIMUM).contains(&min_length) {
            return Err(RuleFault::MinLength);
        }
        Ok(Self { name: name.to_owned(), prefix: prefix.to_owned(), alphabet, min_length })
    }

    /// What its marks are called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a secret begins with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What follows.
    pub fn alphabet(&self) -> Alphabet {
        self.alphabet
    }

    /// How much of that at least.
    pub fn min_length(&self) -> usize {
        self.min_length
    }

    /// The secret whose prefix begins at `start`, if there is one.
    pub(crate) fn find(&self, bytes: &[u8], start: usize) -> Option<Range<usize>> {
        let letters = run(self.alphabet.class(), self.min_length, LONGEST);
        let pieces = [letters, Piece::Padding];
        let is_padded = self.alphabet == Alphabet::Base64;
        let pieces = if is_padded { &pieces[..] } else { &pieces[..1] };
        shape(&self.prefix, pieces).find(bytes, start)
    }
}

impl fmt::Display for CustomRule {
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
        let pack = Pack::with(&[one.clone(), two.clone()]);
        assert_eq!(pack.name(), "reenact-1+custom");
        assert!(Pack::is_custom(pack.name()) && !Pack::is_custom(Pack::standard().name()));
        let standard = Pack::standard().text();
        let (first, rest) = standard.split_once('\n').unwrap();
        assert_eq!(
            pack.text(),
            format!(
                "{first}+custom\n{rest}custom: acme \"acme_\" hex 12\ncustom: acme-long \"acme_\" base64 12\n"
            )
        );
        assert_eq!(pack.custom(), [one, two]);
        assert!(Arc::ptr_eq(&Pack::with(&[]), &Pack::standard()));

        let mut redactor = Redactor::new(pack);
        let text = format!("acme_0123456789aF, acme_ab+/ab+/ab+/==. sk-{}", "0123456789abcdef".repeat(2));
        assert_eq!(
            &redactor.redact(text.as_bytes()).bytes[..],
            b"[masked:acme:1], [masked:acme-long:1]. [masked:openai-key:1]"
        );
        // Marks of these rules are marks.
        assert_eq!(redactor.redact(b"token=[masked:acme:1]").cuts, []);
        redactor.reserve(b"[masked:acme:7]", &[]);
        assert_eq!(&redactor.redact(b"acme_0123456789ab").bytes[..], b"[masked:acme:8]");
    }
}
