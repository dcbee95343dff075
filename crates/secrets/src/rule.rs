//! What a rule is: a name, and the shapes of the secrets that it finds.
//!
//! A shape is a literal, which the scanner looks for, and runs of bytes around it. Runs take all they can and
//! give nothing back, so that matching never tries twice and its cost is bounded by the shape.

use crate::class::{Class, WORD};
use crate::{base64, chance, value};
use core::fmt;
use core::ops::Range;
use memchr::memmem;

/// A name, and the shapes that it stands for.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) shapes: &'static [Shape<'static>],
}

/// What a secret looks like.
pub(crate) struct Shape<'s> {
    /// A run that ends where the literal begins.
    behind: Option<Run>,
    /// What is looked for.
    pub(crate) literal: &'s str,
    /// Whether the literal only introduces the secret, and is kept.
    introduces: bool,
    ahead: &'s [Piece],
    check: Check,
}

/// From `least` to `most` bytes of a class, neither preceded nor followed by another one of them.
pub(crate) struct Run {
    class: &'static Class,
    least: usize,
    most: usize,
}

/// What follows the literal.
pub(crate) enum Piece {
    Run(Run),
    Text(&'static str),
    /// Up to two equals signs.
    Padding,
}

/// What a shape cannot say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// Nothing.
    None,
    /// Somewhere are 16 letters and digits in a row, mixed as below: no dashed words.
    Solid,
    /// Of digits, capitals and small letters at least two: no word, no number.
    Mixed,
    /// Bytes that no person would write: [`chance::is_random`].
    Random,
    /// The part before the first dot is a JSON object in base64 that names an algorithm.
    Jwt,
    /// Base64 of `user:password`.
    Basic,
}

/// A rule with its shapes.
pub(crate) const fn rule(name: &'static str, shapes: &'static [Shape<'static>]) -> Rule {
    Rule { name, shapes }
}

/// A literal, then pieces.
pub(crate) const fn shape<'s>(literal: &'s str, ahead: &'s [Piece]) -> Shape<'s> {
    Shape { behind: None, literal, introduces: false, ahead, check: Check::None }
}

/// A literal that is kept, then the secret.
pub(crate) const fn after<'s>(literal: &'s str, ahead: &'s [Piece]) -> Shape<'s> {
    Shape { behind: None, literal, introduces: true, ahead, check: Check::None }
}

/// A run of exactly this many bytes.
pub(crate) const fn exactly(class: &'static Class, length: usize) -> Piece {
    Piece::Run(Run { class, least: length, most: length })
}

/// A run of so many bytes.
pub(crate) const fn run(class: &'static Class, least: usize, most: usize) -> Piece {
    Piece::Run(Run { class, least, most })
}

/// A literal between runs.
pub(crate) const fn text(text: &'static str) -> Piece {
    Piece::Text(text)
}

impl Shape<'_> {
    /// Whether what begins at `from` is only more of a text in base64, where a slash or a plus ends no word.
    fn continues(&self, bytes: &[u8], from: usize) -> bool {
        let before = from.checked_sub(1).and_then(|at| bytes.get(at));
        let Some(Piece::Run(run)) = self.ahead.first() else { return false };
        before.is_some_and(|before| matches!(before, b'/' | b'+') && run.class.has(*before))
            && !self.introduces
    }

    /// With a run before the literal.
    pub(crate) const fn behind(self, class: &'static Class, least: usize, most: usize) -> Self {
        Self { behind: Some(Run { class, least, most }), ..self }
    }

    pub(crate) const fn check(self, check: Check) -> Self {
        Self { check, ..self }
    }

    /// The secret, if this shape's literal, which begins at `start`, is part of one.
    pub(crate) fn find(&self, bytes: &[u8], start: usize) -> Option<Range<usize>> {
        let mut from = start;
        if let Some(run) = &self.behind {
            from -= run.length(run.back(bytes, start))?;
        }
        if !stands_free(bytes, from) || self.continues(bytes, from) {
            return None;
        }
        let mut at = start + self.literal.len();
        if self.introduces {
            from = at;
        }
        for piece in self.ahead {
            at += match piece {
                Piece::Run(run) => run.length(run.class.run(bytes, at, run.most + 1))?,
                Piece::Text(text) if bytes.get(at..)?.starts_with(text.as_bytes()) => text.len(),
                Piece::Text(_) => return None,
                Piece::Padding => padding(bytes, at),
            };
        }
        // A longer word is another word.
        if bytes.get(at).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_') {
            return None;
        }
        let secret = bytes.get(from..at)?;
        let body = if self.introduces { secret } else { secret.get(self.literal.len()..)? };
        self.check.holds(secret, body).then_some(from..at)
    }
}

/// How many equals signs, up to two, stand at `at`.
pub(crate) fn padding(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take(2).take_while(|byte| **byte == b'=').count()
}

impl Run {
    /// How many bytes of the class stand before `to`, without the letters of an escape that the run seems to begin with.
    fn back(&self, bytes: &[u8], to: usize) -> usize {
        const LONGEST_ESCAPE: usize = 5;
        let length = self.class.run_back(bytes, to, self.most + LONGEST_ESCAPE + 1);
        let letters = match bytes.get(..to - length) {
            Some([.., b'\\']) => match bytes.get(to - length) {
                Some(b'n' | b'r' | b't' | b'b' | b'f' | b'v') => 1,
                Some(b'x') => 3,
                Some(b'u') => LONGEST_ESCAPE,
                _ => 0,
            },
            Some([.., b'%']) => 2,
            _ => 0,
        };
        // Whether they are an escape's, whoever looks at what stands before sees.
        if length > self.most { length.saturating_sub(letters) } else { length }
    }

    fn length(&self, found: usize) -> Option<usize> {
        (self.least..=self.most).contains(&found).then_some(found)
    }
}

impl Check {
    fn holds(self, secret: &[u8], body: &[u8]) -> bool {
        match self {
            Self::None => true,
            Self::Solid => value::has_solid_stretch(body),
            Self::Mixed => value::is_mixed(body),
            Self::Random => chance::is_random(secret),
            Self::Jwt => {
                let header = secret.split(|byte| *byte == b'.').next().unwrap_or_default();
                base64::decoded(header).is_some_and(|header| {
                    header.starts_with(b"{\"") && memmem::find(&header, b"\"alg\"").is_some()
                })
            }
            Self::Basic => base64::decoded(secret).is_some_and(|pair| {
                pair.len() >= 5 && pair.contains(&b':') && !pair.iter().any(u8::is_ascii_control)
            }),
        }
    }
}

/// Whether what begins at `at` is not the rest of a longer word. In JSON a line break is written `\n`, and in
/// a URL an equals sign may be `%3D`: letters that belong to no word.
pub(crate) fn stands_free(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    match before {
        [] => true,
        [.., last] if !WORD.has(*last) => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'v'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'x', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()),
        _ => false,
    }
}

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(run) = &self.behind {
            write!(f, "{run} ")?;
        }
        if self.introduces {
            write!(f, "({:?})", self.literal)?
        } else {
            write!(f, "{:?}", self.literal)?
        }
        for piece in self.ahead {
            match piece {
                Piece::Run(run) => write!(f, " {run}")?,
                Piece::Text(text) => write!(f, " {text:?}")?,
                Piece::Padding => write!(f, " [=]{{0,2}}")?,
            }
        }
        match self.check {
            Check::None => Ok(()),
            check => write!(f, " if {}", format!("{check:?}").to_lowercase()),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { class, least, most } = self;
        if least == most {
            write!(f, "[{}]{{{least}}}", class.text)
        } else {
            write!(f, "[{}]{{{least},{most}}}", class.text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{ALNUM, BASE64, DIGIT};

    static KEY: Shape<'static> = shape("k_", &[run(&ALNUM, 4, 6)]);

    fn found<'t>(shape: &Shape<'_>, text: &'t str) -> Option<&'t str> {
        shape.find(text.as_bytes(), text.find(shape.literal)?).map(|span| &text[span])
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
        static BOT: Shape<'static> =
            shape(":AA", &[exactly(&ALNUM, 3), text("."), exactly(&DIGIT, 2)]).behind(&DIGIT, 3, 4);
        assert_eq!(found(&BOT, "x 1234:AAabc.12"), Some("1234:AAabc.12"));
        assert_eq!(found(&BOT, "12:AAabc.12"), None);
        assert_eq!(found(&BOT, "12345:AAabc.12"), None);
        assert_eq!(found(&BOT, "123:AAabc-12"), None);
        static LONG: Shape<'static> = shape(":AA", &[exactly(&DIGIT, 2)]).behind(&ALNUM, 3, 4);
        assert_eq!(found(&LONG, r"\nabcd:AA12"), Some("abcd:AA12"));
        assert_eq!(found(&LONG, r"\u000aabcd:AA12"), Some("abcd:AA12"));
        assert_eq!(found(&LONG, "%0aabcd:AA12"), Some("abcd:AA12"));
        assert_eq!(found(&LONG, r"\nabcde:AA12"), None);
        assert_eq!(found(&LONG, "nabcd:AA12"), None);
        assert_eq!(BOT.to_string(), r#"[0-9]{3,4} ":AA" [A-Za-z0-9]{3} "." [0-9]{2}"#);
    }

    #[test]
    fn what_introduces_is_kept_and_padding_is_not() {
        static AFTER: Shape<'static> =
            after("Key=", &[run(&BASE64, 4, 8), Piece::Padding]).check(Check::Mixed);
        assert_eq!(found(&AFTER, "Key=ab12=="), Some("ab12=="));
        assert_eq!(found(&AFTER, "Key=abcd"), None);
        assert_eq!(AFTER.to_string(), r#"("Key=") [A-Za-z0-9+/]{4,8} [=]{0,2} if mixed"#);
    }

    #[test]
    fn inside_base64_nothing_begins() {
        static KEY: Shape<'static> = shape("AB", &[run(&BASE64, 4, 8)]);
        assert_eq!(found(&KEY, "xy/ABcdef"), None);
        assert_eq!(found(&KEY, "xy=ABcdef"), Some("ABcdef"));
    }
}
