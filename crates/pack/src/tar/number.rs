//! Numbers in tar headers: octal text, or base 256 for sizes that do not fit.

/// First size that eleven octal digits cannot express: 8 GiB.
pub(crate) const FIRST_NON_OCTAL_SIZE: u64 = 1 << 33;

/// Parses a size of exactly eleven octal digits and a NUL or space: the one form that all readers take for the same number.
pub(crate) fn strict_size(field: &[u8; 12]) -> Option<u64> {
    let (digits, end) = field.split_at(11);
    if !matches!(end, [0 | b' ']) { None } else { digits_value(digits) }
}

/// Parses a size as ordinary writers write it: spaces, octal digits, then NULs or spaces; or base 256, but only for sizes
/// beyond octal. Readers that do not know base 256 would take a small number for another one.
pub(crate) fn loose_size(field: &[u8; 12]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        return base_256(field).filter(|size| *size >= FIRST_NON_OCTAL_SIZE);
    }
    padded_octal(field)
}

/// Parses octal digits between leading spaces and trailing NULs or spaces.
pub(crate) fn padded_octal(field: &[u8]) -> Option<u64> {
    let text = field.trim_ascii_start();
    let end = text.iter().position(|b| matches!(b, 0 | b' ')).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if rest.iter().any(|b| !matches!(b, 0 | b' ')) { None } else { digits_value(digits) }
}

/// Parses octal digits, at least one.
fn digits_value(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, digit| match digit {
        b'0'..=b'7' => value.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

/// Parses a positive number in the last eleven bytes, big-endian; 0xff in front would make it negative.
fn base_256(field: &[u8; 12]) -> Option<u64> {
    if field[0] != 0x80 {
        return None;
    }
    field[1..].iter().try_fold(0u64, |value, byte| value.checked_mul(256)?.checked_add(u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_their_forms() {
        for (field, strict, loose) in [
            (*b"00000000017\0", Some(15), Some(15)),
            (*b"00000000017 ", Some(15), Some(15)),
            (*b"77777777777\0", Some(FIRST_NON_OCTAL_SIZE - 1), Some(FIRST_NON_OCTAL_SIZE - 1)),
            (*b"17\0\0\0\0\0\0\0\0\0\0", None, Some(15)),
            (*b"         17 ", None, Some(15)),
            (*b"777777777777", None, Some((1 << 36) - 1)),
            (*b"0000000001x\0", None, None),
            (*b"00000000018\0", None, None),
            (*b"+0000000017\0", None, None),
            (*b"-0000000017\0", None, None),
            (*b"0000000 017\0", None, None),
            (*b"17\0\0\0\0\0\0\0\x001\0", None, None),
            (*b"            ", None, None),
            ([0; 12], None, None),
            (*b"\x80\0\0\0\0\0\0\x02\0\0\0\0", None, Some(FIRST_NON_OCTAL_SIZE)),
            (*b"\x80\0\0\0\0\0\0\x01\xff\xff\xff\xff", None, None),
            (*b"\x80\0\0\0\0\0\0\0\0\0\0\x0f", None, None),
            (*b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", None, Some(u64::MAX)),
            (*b"\x80\0\0\x01\0\0\0\0\0\0\0\0", None, None),
            ([0xff; 12], None, None),
            (*b"\xc0\0\0\0\0\0\0\x02\0\0\0\0", None, None),
        ] {
            assert_eq!(strict_size(&field), strict, "{field:?}");
            assert_eq!(loose_size(&field), loose, "{field:?}");
        }
    }
}
