//! Untrusted text, escaped so that it is safe to print.
//!
//! A name or an id from outside may carry escape sequences that move the cursor, or marks that make text read backwards. All
//! text from outside is printed through [`Shown`].

use core::fmt;

/// `Display` adapter that writes every character that could act on a terminal or deceive a reader as `\u{…}`, and cuts long
/// text. A backslash is doubled, so that no text can imitate an escape.
///
/// ```
/// use reenact_json::Shown;
///
/// assert_eq!(Shown::new("a\u{1b}[2J").to_string(), "a\\u{1b}[2J");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    text: &'a str,
    max_chars: usize,
}

impl<'a> Shown<'a> {
    /// Shows up to 200 characters of `text`, then an ellipsis and the length in bytes.
    pub fn new(text: &'a str) -> Self {
        Self { text, max_chars: 200 }
    }

    /// Shows all of `text`.
    pub fn whole(text: &'a str) -> Self {
        Self { text, max_chars: usize::MAX }
    }

    /// Returns one byte of a text for a message: itself in backquotes if it is printable ASCII, else its number.
    pub fn byte(byte: u8) -> String {
        if byte.is_ascii_graphic() { format!("`{}`", char::from(byte)) } else { format!("byte 0x{byte:02x}") }
    }
}

/// Returns true for a character that does anything but display itself: controls, marks that change the direction of text,
/// invisible characters, separators that break lines, private use, and the unassigned last two code points of each plane.
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
            if count == self.max_chars {
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
