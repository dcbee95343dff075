//! Base64 in both alphabets: enough to look into a header and to recognise a value that was
//! encoded.
//!
//! `base64ct` does not do for this: it refuses letters of both alphabets in one text, missing or
//! doubled padding, bits left over in the last letter and truncated text, and a service that takes
//! a credential may accept all of these.

/// Letters of base64.
pub(crate) const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Letters of base64url.
pub(crate) const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Decodes text in either alphabet, with or without padding; no more than the first 4096 letters.
///
/// `None` if a byte belongs to neither alphabet, or if a single letter is left over.
pub(crate) fn decode_lenient(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(|byte| *byte != b'=')? + 1;
    let text = text.get(..end.min(4096))?;
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let mut accumulator: u32 = 0;
    let mut bits = 0;
    for letter in text {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        accumulator = (accumulator << 6) | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            let [.., byte] = (accumulator >> bits).to_be_bytes();
            bytes.push(byte);
        }
    }
    (text.len() % 4 != 1).then_some(bytes)
}

/// Returns the letters that encode a value wherever it lies in encoded text, if it begins `shift`
/// bytes (0, 1 or 2) into a group of three.
///
/// Letters that also hold bits of a neighbour are left out, so the result can be searched for.
pub(crate) fn inner_letters(value: &[u8], shift: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let mut letters = Vec::with_capacity(value.len() * 4 / 3 + 4);
    let mut accumulator: u32 = 0;
    let mut bits = 0;
    for byte in core::iter::repeat_n(&0, shift).chain(value) {
        accumulator = ((accumulator << 8) | u32::from(*byte)) & 0xffff;
        bits += 8;
        while bits >= 6 {
            bits -= 6;
            let six = (accumulator >> bits) & 63;
            letters.push(alphabet[six as usize]);
        }
    }
    let foreign = [0, 2, 3][shift.min(2)];
    letters.drain(..foreign.min(letters.len()));
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_and_no_padding() {
        assert_eq!(decode_lenient(b"dXNlcjpwYXNz").unwrap(), b"user:pass");
        assert_eq!(decode_lenient(b"Pz8_Pj4-").unwrap(), b"???>>>");
        assert_eq!(decode_lenient(b"Pz8/Pj4+").unwrap(), b"???>>>");
        assert_eq!(decode_lenient(b"YQ==").unwrap(), b"a");
        assert_eq!(decode_lenient(b"YQ").unwrap(), b"a");
        assert_eq!(decode_lenient(b"Y"), None);
        assert_eq!(decode_lenient(b"Y Q"), None);
        assert_eq!(decode_lenient(b""), None);
    }

    #[test]
    fn a_value_is_found_in_what_was_encoded_around_it() {
        let value = b"made-up-secret-value";
        for (before, encoded) in [
            ("", "bWFkZS11cC1zZWNyZXQtdmFsdWU="),
            ("u", "dW1hZGUtdXAtc2VjcmV0LXZhbHVl"),
            ("us", "dXNtYWRlLXVwLXNlY3JldC12YWx1ZQ=="),
        ] {
            let letters = String::from_utf8(inner_letters(value, before.len(), STANDARD)).unwrap();
            assert!(encoded.contains(&letters), "{encoded} {letters}");
            assert!(letters.len() >= 25);
        }
    }
}
