//! Numbers as CPython prints them: integers to the last digit, floats rounded to 12 significant digits.

use std::io::Write as _;

use reenact_json::NumberFault;

/// Largest number of digits in an integer that CPython parses (`sys.int_info.default_max_str_digits`). A file with a
/// longer one cannot have been made, nor be checked, by the programs of this format.
const MAX_INTEGER_DIGITS: usize = 4_300;

/// Buffer for the longest text of a float: sign, 17 digits, point, exponent, and some room.
pub(super) type NumberBuffer = [u8; 40];

/// Returns the canonical text of a number that was scanned; `integer` says that it has neither fraction nor exponent.
#[inline]
pub(super) fn canonical_number<'t>(
    literal: &'t [u8],
    integer: bool,
    buffer: &'t mut NumberBuffer,
) -> Result<&'t [u8], NumberFault> {
    if integer {
        let digits = literal.strip_prefix(b"-").unwrap_or(literal).len();
        return match literal {
            b"-0" => Ok(b"0"),
            _ if digits > MAX_INTEGER_DIGITS => Err(NumberFault::TooLong { digits }),
            _ => Ok(literal),
        };
    }
    if is_plain_decimal(literal) { Ok(literal) } else { canonical_float(literal, buffer) }
}

/// Returns true if a decimal certainly is canonical: no exponent, at most 12 significant digits, no zero at its end
/// but the one after the point, and neither so large nor so small that Python prints an exponent. `false` means only
/// that the slow path must decide.
fn is_plain_decimal(literal: &[u8]) -> bool {
    let digits = literal.strip_prefix(b"-").unwrap_or(literal);
    let Some(point) = digits.iter().position(|&digit| digit == b'.') else { return false };
    let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
    if digits.len() > 13 || !fraction.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let is_short = fraction == b"0" || fraction.last().is_some_and(|&last| last != b'0');
    let is_large_enough =
        whole != b"0" || fraction == b"0" || fraction.iter().take(4).any(|&digit| digit != b'0');
    is_short && is_large_enough
}

#[cold]
fn canonical_float<'t>(literal: &[u8], buffer: &'t mut NumberBuffer) -> Result<&'t [u8], NumberFault> {
    let exact: f64 =
        core::str::from_utf8(literal).unwrap_or_default().parse().map_err(|_| NumberFault::Overflow)?;
    if !exact.is_finite() {
        return Err(NumberFault::Overflow);
    }
    // Correctly rounded, ties to even, as in CPython. Rounding up can exceed the largest double.
    let rounded: f64 = format!("{exact:.11e}").parse().map_err(|_| NumberFault::Overflow)?;
    if !rounded.is_finite() {
        return Err(NumberFault::Overflow);
    }
    // The shortest digits that round-trip, and the position of the point.
    let shortest = format!("{rounded:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let capacity = buffer.len();
    let mut out = &mut buffer[..];
    // No text here is longer than the buffer, so writing cannot fail.
    let _ = match usize::try_from(exponent) {
        Ok(places @ 0..=15) => {
            let (whole, fraction) = digits.split_at(digits.len().min(places + 1));
            let fraction = if fraction.is_empty() { "0" } else { fraction };
            write!(out, "{sign}{whole}{:0<1$}.{fraction}", "", places + 1 - whole.len())
        }
        Err(_) if exponent >= -4 => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            write!(out, "{sign}0.{:0<zeros$}{digits}", "")
        }
        _ => {
            let (first, rest) = digits.split_at(digits.len().min(1));
            let point = if rest.is_empty() { "" } else { "." };
            let exponent_sign = if exponent < 0 { '-' } else { '+' };
            write!(out, "{sign}{first}{point}{rest}e{exponent_sign}{:02}", exponent.unsigned_abs())
        }
    };
    let used = capacity - out.len();
    Ok(&buffer[..used])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(literal: &str) -> Result<String, NumberFault> {
        let integer = !literal.contains(['.', 'e', 'E']);
        canonical_number(literal.as_bytes(), integer, &mut [0; 40])
            .map(|text| String::from_utf8_lossy(text).into_owned())
    }

    #[test]
    fn known_texts() {
        for (literal, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-12345678901234567890123", "-12345678901234567890123"),
            ("0.0", "0.0"),
            ("-0.0", "-0.0"),
            ("0e5", "0.0"),
            ("-1e-400", "-0.0"),
            ("5e-324", "5e-324"),
            ("0.30000000000000004", "0.3"),
            ("3.141592653589793", "3.14159265359"),
            ("123456789012.5", "123456789012.0"),
            ("9007199254740993.0", "9007199254740000.0"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("12345678901234567890.0", "1.23456789012e+19"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("0.00012345", "0.00012345"),
            ("1.50", "1.5"),
            ("1.0e0", "1.0"),
            ("100.0", "100.0"),
            ("1e100", "1e+100"),
            ("-2.5E-7", "-2.5e-07"),
            ("1.7976931348623157e308", "1.79769313486e+308"),
        ] {
            assert_eq!(of(literal).as_deref(), Ok(expected), "{literal}");
        }
    }

    #[test]
    fn refused() {
        for literal in ["1e400", "-1e999", "1.8e308"] {
            assert_eq!(of(literal), Err(NumberFault::Overflow), "{literal}");
        }
        assert_eq!(of(&"9".repeat(4_300)), Ok("9".repeat(4_300)));
        assert_eq!(of(&format!("-{}", "9".repeat(4_300))), Ok(format!("-{}", "9".repeat(4_300))));
        assert_eq!(of(&"9".repeat(4_301)), Err(NumberFault::TooLong { digits: 4_301 }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn the_short_cut_agrees(literal in "-?(0|[1-9][0-9]{0,13})\\.[0-9]{1,13}") {
            if is_plain_decimal(literal.as_bytes()) {
                let mut buffer = [0; 40];
                prop_assert_eq!(canonical_float(literal.as_bytes(), &mut buffer), Ok(literal.as_bytes()));
            }
        }
        #[test]
        fn a_text_is_its_own_text(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            if double.is_finite() && let Ok(text) = of(&format!("{double:e}")) {
                prop_assert_eq!(of(&text), Ok(text.clone()));
                let back: f64 = text.parse().unwrap();
                prop_assert!(!double.is_normal() || (back - double).abs() <= double.abs() * 1e-11);
            }
        }
    }
}
