//! Byte classes, written as in the brackets of a regular expression: `A-Za-z0-9_-`.

/// Set of bytes with the text that defines it.
pub(crate) struct ByteClass {
    /// Ranges, then single characters; a `-` that stands for itself comes last. Part of the
    /// published text of a pack.
    pub(crate) ranges: &'static str,
    /// True for each byte of the set.
    members: [bool; 256],
}

impl ByteClass {
    /// Parses the ranges at compile time.
    const fn from_ranges(ranges: &'static str) -> Self {
        let bytes = ranges.as_bytes();
        let mut members = [false; 256];
        let mut at = 0;
        while at < bytes.len() {
            if at + 2 < bytes.len() && bytes[at + 1] == b'-' {
                let mut byte = bytes[at];
                while byte <= bytes[at + 2] {
                    members[byte as usize] = true;
                    byte += 1;
                }
                at += 3;
            } else {
                members[bytes[at] as usize] = true;
                at += 1;
            }
        }
        Self { ranges, members }
    }

    /// Returns true if the set has this byte.
    pub(crate) const fn contains(&self, byte: u8) -> bool {
        self.members[byte as usize]
    }

    /// Returns how many bytes from `from` on are in the set, at most `max_bytes`.
    pub(crate) fn run_length(&self, text: &[u8], from: usize, max_bytes: usize) -> usize {
        let ahead = text.get(from..).unwrap_or_default();
        ahead.iter().take(max_bytes).take_while(|byte| self.contains(**byte)).count()
    }

    /// Returns how many bytes directly before `to` are in the set, at most `max_bytes`.
    pub(crate) fn run_length_before(&self, text: &[u8], to: usize, max_bytes: usize) -> usize {
        let behind = text.get(..to).unwrap_or_default();
        behind.iter().rev().take(max_bytes).take_while(|byte| self.contains(**byte)).count()
    }
}

/// Decimal digits.
pub(crate) static DIGIT: ByteClass = ByteClass::from_ranges("0-9");
/// Hexadecimal digits in small letters.
pub(crate) static HEX: ByteClass = ByteClass::from_ranges("0-9a-f");
/// Hexadecimal digits in either case.
pub(crate) static ANY_HEX: ByteClass = ByteClass::from_ranges("0-9A-Fa-f");
/// Capitals and digits.
pub(crate) static UPPER: ByteClass = ByteClass::from_ranges("A-Z0-9");
/// Alphabet of RFC 4648 base32.
pub(crate) static BASE32: ByteClass = ByteClass::from_ranges("A-Z2-7");
/// Letters and digits.
pub(crate) static ALNUM: ByteClass = ByteClass::from_ranges("A-Za-z0-9");
/// Letters, digits and `_`.
pub(crate) static SNAKE: ByteClass = ByteClass::from_ranges("A-Za-z0-9_");
/// Base64url, and the alphabet of most keys.
pub(crate) static WORD: ByteClass = ByteClass::from_ranges("A-Za-z0-9_-");
/// Letters, digits, `_`, `.` and `-`: names in programs and configuration.
pub(crate) static DOTTED: ByteClass = ByteClass::from_ranges("A-Za-z0-9_.-");
/// Unreserved characters of a URL (RFC 3986).
pub(crate) static TILDE: ByteClass = ByteClass::from_ranges("A-Za-z0-9_.~-");
/// Segments of a URL's path.
pub(crate) static SLASHED: ByteClass = ByteClass::from_ranges("A-Za-z0-9_/-");
/// Base64 with its padding, for short runs.
pub(crate) static BASE64_PADDED: ByteClass = ByteClass::from_ranges("A-Za-z0-9+/=");
/// Base64 without padding.
pub(crate) static BASE64: ByteClass = ByteClass::from_ranges("A-Za-z0-9+/");
/// Base64 of either alphabet.
pub(crate) static ANY_BASE64: ByteClass = ByteClass::from_ranges("A-Za-z0-9+/=_-");
/// Base64 of either alphabet as it stands in a URL, percent-encoded or not.
pub(crate) static URL_BASE64: ByteClass = ByteClass::from_ranges("A-Za-z0-9+/=%_~-");
/// Token behind `Bearer`, as RFC 6750 allows it.
pub(crate) static BEARER: ByteClass = ByteClass::from_ranges("A-Za-z0-9._~+/=-");
/// Unquoted value, without its padding.
pub(crate) static UNQUOTED: ByteClass = ByteClass::from_ranges("A-Za-z0-9_+/.~-");
/// Unquoted password; brackets and most operators of programming languages are left out.
pub(crate) static PASSWORD: ByteClass = ByteClass::from_ranges("A-Za-z0-9_+/.~!@#%^*:?-");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_its_text_says() {
        let members = |class: &ByteClass| -> String {
            (0..=255).filter(|byte| class.contains(*byte)).map(char::from).collect()
        };
        assert_eq!(members(&HEX), "0123456789abcdef");
        assert_eq!(members(&BASE32), "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        assert_eq!(members(&WORD).len(), 64);
        assert!(WORD.contains(b'-') && WORD.contains(b'_') && !WORD.contains(b'.') && !WORD.contains(0xff));
    }

    #[test]
    fn runs_are_bounded() {
        assert_eq!(DIGIT.run_length(b"a1234b", 1, 9), 4);
        assert_eq!(DIGIT.run_length(b"a1234b", 1, 2), 2);
        assert_eq!(DIGIT.run_length(b"a1234b", 9, 2), 0);
        assert_eq!(DIGIT.run_length_before(b"a1234b", 5, 9), 4);
        assert_eq!(DIGIT.run_length_before(b"a1234b", 5, 3), 3);
        assert_eq!(DIGIT.run_length_before(b"a1234b", 9, 3), 0);
    }
}
