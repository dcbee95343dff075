//! Private keys in PEM: the whole block, with line breaks as bytes, as `\n` in a string, or as
//! strings put together.

use crate::byte_class::BASE64_PADDED;
use core::ops::Range;

/// Name of the rule.
pub(crate) const RULE: &str = "private-key";
/// Beginning of a block.
pub(crate) const START: &str = "-----BEGIN ";
const DASHES: &[u8] = b"-----";
/// Longest block, in bytes.
const MAX_BLOCK_BYTES: usize = 64 * 1024;
/// Longest label, in bytes, such as `OPENSSH PRIVATE KEY`.
const MAX_LABEL_BYTES: usize = 48;

/// Returns the span of the block that begins at `start`, if it holds a private key.
///
/// A block without an end is masked as far as its base64 goes. Fewer than 40 letters of base64 in a
/// row are no key.
pub(crate) fn find(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let body = start + START.len() + private_key_label_length(bytes, start + START.len())?;
    let text = bytes.get(body..bytes.len().min(body + MAX_BLOCK_BYTES))?;
    let mut longest_run = 0;
    let mut run = 0;
    // End of the base64 before any quote: the end of a block that was cut off.
    let mut solid_end = None;
    let mut is_quoted = false;
    for (at, byte) in text.iter().enumerate() {
        if BASE64_PADDED.contains(*byte) {
            run += 1;
            longest_run = longest_run.max(run);
            if !is_quoted && run >= 16 {
                solid_end = Some(body + at + 1);
            }
            continue;
        }
        run = 0;
        match byte {
            b'-' if text.get(at..).is_some_and(|rest| rest.starts_with(DASHES)) => {
                let end = block_end(bytes, body + at)?;
                return (longest_run >= 40).then_some(start..end);
            }
            b'"' | b'\'' | b'`' => is_quoted = true,
            b' ' | b'\t' | b'\r' | b'\n' | b'\\' | b',' | b':' | b';' | b'.' | b'-' | b'(' | b')' | b'|'
            | b'>' | b'#' => {}
            _ => break,
        }
    }
    (longest_run >= 40).then_some(start..solid_end?)
}

/// Returns the length of a private key's label with its dashes; `None` for other labels.
fn private_key_label_length(bytes: &[u8], from: usize) -> Option<usize> {
    let ahead = bytes.get(from..)?;
    let length = ahead
        .iter()
        .take(MAX_LABEL_BYTES)
        .take_while(|byte| byte.is_ascii_uppercase() || matches!(byte, b' ' | b'0'..=b'9'))
        .count();
    let label = ahead.get(..length)?;
    let is_private = label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK");
    (is_private && ahead.get(length..)?.starts_with(DASHES)).then_some(length + DASHES.len())
}

/// Returns the offset behind `-----END …-----`. Dashes that say something else end the block before
/// them.
fn block_end(bytes: &[u8], dashes: usize) -> Option<usize> {
    const END: &[u8] = b"-----END ";
    if !bytes.get(dashes..)?.starts_with(END) {
        return Some(dashes);
    }
    let from = dashes + END.len();
    Some(from + private_key_label_length(bytes, from).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a block around letters that are no key.
    fn block(label: &str, line_break: &str) -> String {
        let line = "MadeUp0".repeat(9);
        format!(
            "-----BEGIN {label}-----{line_break}{line}{line_break}{line}{line_break}-----END {label}-----"
        )
    }

    fn found(text: &str) -> Option<&str> {
        find(text.as_bytes(), text.find(START)?).map(|span| &text[span])
    }

    #[test]
    fn the_whole_block() {
        for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
            for line_break in ["\n", "\r\n", "\\n", "\\\\n", "\\n\" +\n  \"", "\n    "] {
                let block = block(label, line_break);
                assert_eq!(found(&format!("x \"{block}\" y")), Some(&block[..]));
            }
        }
    }

    #[test]
    fn a_block_that_was_cut_off() {
        let whole = block("PRIVATE KEY", "\\n");
        let cut = &whole[..120];
        assert_eq!(found(&format!("\"{cut}\", \"next\": {{}}")), Some(cut));
        assert_eq!(found(cut), Some(cut));
    }

    #[test]
    fn what_is_no_private_key() {
        assert_eq!(found(&block("CERTIFICATE", "\n")), None);
        assert_eq!(found(&block("PUBLIC KEY", "\n")), None);
        assert_eq!(found("if text.startswith(\"-----BEGIN PRIVATE KEY-----\"): return load(text)"), None);
        assert_eq!(found("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"), None);
        assert_eq!(found("-----BEGIN PRIVATE KEY-----"), None);
        assert_eq!(found("-----BEGIN "), None);
    }
}
