//! Judgement of the beginning of a text of which the rest was not read yet.

use crate::limits::Limits;
use crate::scanner::Scanner;
use crate::syntax::{SyntaxError, SyntaxFault};

/// Largest number of bytes at the end of a text that may be a token whose end is missing, numbers apart: an escaped surrogate
/// pair has 12.
const MAX_CUT_TOKEN_BYTES: usize = 16;

/// Returns true if every text that begins with these bytes has a syntax error, the same one wherever the text ends. A reader of
/// an input without a known size can then stop reading.
///
/// False means only that nothing is known yet: of strings that are not closed, the UTF-8 is not checked.
///
/// ```
/// use reenact_json::is_broken_prefix;
///
/// assert!(is_broken_prefix(b"y\ny\ny\ny\ny\ny\ny\ny\ny\ny\n"));
/// assert!(!is_broken_prefix(b"{\"name\":[1,2,"));
/// ```
pub fn is_broken_prefix(text: &[u8]) -> bool {
    let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
    let scan = |text| {
        let mut scanner = Scanner::new(text, &limits)?;
        scanner.value()?;
        scanner.finish()
    };
    match scan(text) {
        Ok(()) => false,
        Err(SyntaxError { fault: SyntaxFault::Empty | SyntaxFault::End { .. }, .. }) => false,
        // The offset is that of the first digit, and the end of the number may be missing.
        Err(SyntaxError { fault: SyntaxFault::Number, offset }) => {
            let rest = text.get(offset..).unwrap_or_default();
            rest.iter().any(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
        }
        Err(SyntaxError { offset, .. }) => offset + MAX_CUT_TOKEN_BYTES <= text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = concat!(
        r#"{"a":[1.5e-7,-0,1234567890123456789012345678901234e5,true,false,null],"é":"世\ud83d\ude00\n","#,
        r#""u":"\u0000 \\ \" 😀 long enough to be more than a block of bytes in one piece, and then some","n":{}} "#
    );

    fn error(text: &[u8]) -> Option<SyntaxError> {
        let mut scanner = match Scanner::new(text, &Limits::default()) {
            Ok(scanner) => scanner,
            Err(error) => return Some(error),
        };
        scanner.value().err().or_else(|| scanner.finish().err())
    }

    #[test]
    fn no_beginning_of_a_text_is_broken() {
        assert_eq!(error(TEXT.as_bytes()), None);
        for end in 0..=TEXT.len() {
            assert!(!is_broken_prefix(&TEXT.as_bytes()[..end]), "{end}");
        }
    }

    #[test]
    fn junk_is_broken_within_a_few_bytes() {
        for junk in [
            &b"y\n"[..],
            &[0; 2],
            &[0x8F, 0x31, 0x00, 0xFE],
            b"{\"a\":1,}",
            b"[1] [1] ",
            b"-x",
            b"\xEF\xBB\xBF{}",
        ] {
            assert!(is_broken_prefix(&junk.repeat(20)), "{junk:?}");
        }
        assert!(!is_broken_prefix(b""));
        assert!(!is_broken_prefix(&b" \n".repeat(40_000)));
    }

    proptest! {
        /// Damage is seen only where the whole text has the same error.
        #[test]
        fn a_broken_beginning_says_what_the_whole_says(
            at in 0..TEXT.len(),
            damage in prop::collection::vec(any::<u8>(), 0..4),
            end in 0..TEXT.len() + 4,
        ) {
            let mut text = TEXT.as_bytes().to_vec();
            text.splice(at..(at + damage.len()).min(TEXT.len()), damage);
            let beginning = &text[..end.min(text.len())];
            if is_broken_prefix(beginning) {
                prop_assert_eq!(error(beginning), error(&text));
            }
        }
    }
}
