//! Classes of bytes, written the way they are read: `A-Za-z0-9_-`.

/// A set of bytes.
pub(crate) struct Class {
    /// As in brackets of a regular expression: ranges, then single characters; a `-` for itself stands last.
    pub(crate) text: &'static str,
    has: [bool; 256],
}

impl Class {
    const fn of(text: &'static str) -> Self {
        let bytes = text.as_bytes();
        let mut has = [false; 256];
        let mut at = 0;
        while at < bytes.len() {
            if at + 2 < bytes.len() && bytes[at + 1] == b'-' {
                let mut byte = bytes[at];
                while byte <= bytes[at + 2] {
                    has[byte as usize] = true;
                    byte += 1;
                }
                at += 3;
            } else {
                has[bytes[at] as usize] = true;
                at += 1;
            }
        }
        Self { text, has }
    }

    pub(crate) const fn has(&self, byte: u8) -> bool {
        self.has[byte as usize]
    }

    /// How many bytes from `from` on are of this class; looks at no more than `most`.
    pub(crate) fn run(&self, text: &[u8], from: usize, most: usize) -> usize {
        let ahead = text.get(from..).unwrap_or_default();
        ahead.iter().take(most).take_while(|byte| self.has(**byte)).count()
    }

    /// How many bytes just before `to` are of this class; looks at no more than `most`.
    pub(crate) fn run_back(&self, text: &[u8], to: usize, most: usize) -> usize {
        let behind = text.get(..to).unwrap_or_default();
        behind.iter().rev().take(most).take_while(|byte| self.has(**byte)).count()
    }
}

pub(crate) static DIGIT: Class = Class::of("0-9");
pub(crate) static HEX: Class = Class::of("0-9a-f");
pub(crate) static ANY_HEX: Class = Class::of("0-9A-Fa-f");
pub(crate) static UPPER: Class = Class::of("A-Z0-9");
pub(crate) static BASE32: Class = Class::of("A-Z2-7");
pub(crate) static ALNUM: Class = Class::of("A-Za-z0-9");
pub(crate) static SNAKE: Class = Class::of("A-Za-z0-9_");
/// Base64url, and what most keys are made of.
pub(crate) static WORD: Class = Class::of("A-Za-z0-9_-");
pub(crate) static DOTTED: Class = Class::of("A-Za-z0-9_.-");
pub(crate) static TILDE: Class = Class::of("A-Za-z0-9_.~-");
pub(crate) static SLASHED: Class = Class::of("A-Za-z0-9_/-");
/// Base64 with its padding: for runs that are short.
pub(crate) static PADDED: Class = Class::of("A-Za-z0-9+/=");
pub(crate) static BASE64: Class = Class::of("A-Za-z0-9+/");
/// A token as RFC 6750 allows it behind `Bearer`.
pub(crate) static BEARER: Class = Class::of("A-Za-z0-9._~+/=-");
/// What an unquoted value may hold before its padding.
pub(crate) static BARE: Class = Class::of("A-Za-z0-9_+/.~-");
/// What an unquoted password may hold; brackets and most operators of programming languages are not in it.
pub(crate) static PASSWORD: Class = Class::of("A-Za-z0-9_+/.~!@#%^*:?-");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_its_text_says() {
        let members =
            |class: &Class| -> String { (0..=255).filter(|byte| class.has(*byte)).map(char::from).collect() };
        assert_eq!(members(&HEX), "0123456789abcdef");
        assert_eq!(members(&BASE32), "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        assert_eq!(members(&WORD).len(), 64);
        assert!(WORD.has(b'-') && WORD.has(b'_') && !WORD.has(b'.') && !WORD.has(0xff));
    }

    #[test]
    fn runs_are_bounded() {
        assert_eq!(DIGIT.run(b"a1234b", 1, 9), 4);
        assert_eq!(DIGIT.run(b"a1234b", 1, 2), 2);
        assert_eq!(DIGIT.run(b"a1234b", 9, 2), 0);
        assert_eq!(DIGIT.run_back(b"a1234b", 5, 9), 4);
        assert_eq!(DIGIT.run_back(b"a1234b", 5, 3), 3);
        assert_eq!(DIGIT.run_back(b"a1234b", 9, 3), 0);
    }
}
