//! Untrusted text that is safe to print.
//!
//! A name or an id from outside may carry escape sequences that move the cursor, or marks that make text read backwards.
//! Whatever came from outside goes to a person through [`Shown`].

use core::fmt;

/// Shows text with every character that could act on a terminal or deceive a reader written as `\u{…}`, and
/// cut when it is long. A backslash is doubled, so that no text can pass itself off as an escape.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    text: &'a str,
    longest: usize,
}

impl<'a> Shown<'a> {
    /// Shows up to 200 characters.
    pub fn new(text: &'a str) -> Self {
        Self { text, longest: 200 }
    }

    /// Shows all of it.
    pub fn whole(text: &'a str) -> Self {
        Self { text, longest: usize::MAX }
    }

    /// Shows one byte of a text: itself in quotes if it is printable ASCII, else its number.
    pub fn byte(byte: u8) -> String {
        if byte.is_ascii_graphic() { format!("`{}`", char::from(byte)) } else { format!("byte 0x{byte:02x}") }
    }
}

/// Whether a character does something else than show itself: controls, the marks that turn the direction of text, the
/// invisible, the separators that break lines, the unassigned ends of planes.
pub fn is_unsafe(character: char) -> bool {
    let ends_a_plane = u32::from(character) & 0xFFFE == 0xFFFE;
    ends_a_plane
        || matches!(character,
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}'
        | '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
        | '\u{E000}'..='\u{F8FF}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{10FFFF}')
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for (count, character) in self.text.chars().enumerate() {
            if count == self.longest {
                return write!(f, "… ({} bytes)", self.text.len());
            }
            match character {
                '\\' => f.write_str("\\\\")?,
                _ if is_unsafe(character) => write!(f, "{}", character.escape_unicode())?,
                _ => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_acts_is_escaped() {
        assert_eq!(Shown::new("a\x1b[2Jb").to_string(), "a\\u{1b}[2Jb");
        assert_eq!(Shown::new("\u{202e}gpj.exe").to_string(), "\\u{202e}gpj.exe");
        assert_eq!(Shown::new("\\u{202e}").to_string(), "\\\\u{202e}");
        assert_eq!(Shown::new("日本 é").to_string(), "日本 é");
    }

    #[test]
    fn what_is_long_is_cut() {
        let long = "é".repeat(300);
        assert_eq!(Shown::new(&long).to_string(), format!("{}… (600 bytes)", "é".repeat(200)));
        assert_eq!(Shown::whole(&long).to_string(), long);
    }

    proptest! {
        #[test]
        fn nothing_unsafe_comes_out(text in any::<String>()) {
            prop_assert!(!Shown::whole(&text).to_string().chars().any(is_unsafe));
        }
    }
}
