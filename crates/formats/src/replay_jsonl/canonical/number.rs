//! Text of numbers as serde_json 1.0.140 prints them: integers of 64 bits as they are, all else as a double printed
//! by Ryū. Later versions of serde_json print some doubles differently (`1e+16`), so the version is part of the rule.

use reenact_json::NumberFault;

/// Decimals of up to 15 significant digits are distinct doubles, so none of them has a shorter spelling.
const EXACT_DECIMAL_DIGITS: usize = 15;

/// Integers of up to this many digits fit into 64 bits, with or without a sign.
const SAFE_INTEGER_DIGITS: usize = 18;

/// Returns true if a number of valid grammar is spelled canonically already.
#[inline]
pub(super) fn is_canonical_number(literal: &[u8], integer: bool) -> bool {
    let digits = literal.strip_prefix(b"-").unwrap_or(literal);
    if integer && digits.len() <= SAFE_INTEGER_DIGITS {
        return literal != b"-0";
    }
    if !integer && is_plain_decimal(digits) {
        return true;
    }
    canonical_number(literal).is_ok_and(|text| text.as_bytes() == literal)
}

/// Returns true if an unsigned decimal certainly is canonical: no exponent, no needless zero at its end, at most
/// [`EXACT_DECIMAL_DIGITS`] digits, and not below 10⁻⁵, where exponents begin. `false` means only that the slow path
/// must decide.
fn is_plain_decimal(digits: &[u8]) -> bool {
    let Some(point) = digits.iter().position(|&digit| digit == b'.') else { return false };
    let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
    digits.len() <= EXACT_DECIMAL_DIGITS + 1
        && fraction.iter().all(u8::is_ascii_digit)
        && (fraction == b"0"
            || fraction.last().is_some_and(|&last| last != b'0')
                && (whole != b"0" || fraction.iter().take(5).any(|&digit| digit != b'0')))
}

/// Returns the canonical text of a number of valid grammar.
///
/// serde_json reads an integer beyond 64 bits as the nearest double. If that is another number, the integer is
/// refused: two texts with different digits must never share one hash.
pub(super) fn canonical_number(literal: &[u8]) -> Result<String, NumberFault> {
    let literal = core::str::from_utf8(literal).unwrap_or_default();
    let integer = !literal.contains(['.', 'e', 'E']);
    if integer && literal != "-0" && (literal.parse::<u64>().is_ok() || literal.parse::<i64>().is_ok()) {
        return Ok(literal.to_owned());
    }
    let double: f64 = literal.parse().map_err(|_| NumberFault::Overflow)?;
    if !double.is_finite() {
        return Err(NumberFault::Overflow);
    }
    // With a precision of zero, all integer digits of a double are printed exactly.
    if integer && literal != "-0" && format!("{double:.0}") != literal {
        return Err(NumberFault::Inexact);
    }
    Ok(ryu_text(double))
}

/// Returns a finite double as Ryū prints it.
fn ryu_text(double: f64) -> String {
    let mut buffer = ryu_js::Buffer::new();
    let printed = buffer.format_finite(double.abs());
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let leading = all.len() - significant.len();
    let digits = significant.trim_end_matches('0');
    let sign = if double.is_sign_negative() { "-" } else { "" };
    if digits.is_empty() {
        return format!("{sign}0.0");
    }
    // The value is 0.digits × 10^point. Both counts are below a few hundred.
    let count = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    let point = count(whole.len()) - count(leading) + exponent.parse::<i32>().unwrap_or_default();
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let length = count(digits.len());
    match point {
        1..=16 if length <= point => format!("{sign}{digits}{}.0", zeros(point - length)),
        1..=16 => {
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or_default());
            format!("{sign}{whole}.{fraction}")
        }
        -4..=0 => format!("{sign}0.{}{digits}", zeros(-point)),
        _ if length == 1 => format!("{sign}{digits}e{}", point - 1),
        _ => {
            let (first, rest) = digits.split_at(1);
            format!("{sign}{first}.{rest}e{}", point - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reenact_json::token::scan_number;

    fn canonical_text(literal: &str) -> Result<String, NumberFault> {
        assert_eq!(scan_number(literal.as_bytes(), 0).map(|span| span.end), Some(literal.len()), "{literal}");
        canonical_number(literal.as_bytes())
    }

    #[test]
    fn as_serde_json_prints() {
        for (literal, expected) in [
            ("0", "0"),
            ("-0", "-0.0"),
            ("-0.0", "-0.0"),
            ("0e5", "0.0"),
            ("1.0", "1.0"),
            ("1.50", "1.5"),
            ("1E1", "10.0"),
            ("1e15", "1000000000000000.0"),
            ("1234567890123456.0", "1234567890123456.0"),
            ("1e16", "1e16"),
            ("1e21", "1e21"),
            ("12345678901234567.0", "1.2345678901234568e16"),
            ("0.00001", "0.00001"),
            ("0.000012", "0.000012"),
            ("0.000001", "1e-6"),
            ("0.0000012", "1.2e-6"),
            ("5e-324", "5e-324"),
            ("1e-400", "0.0"),
            ("-1e-400", "-0.0"),
            ("1.7976931348623157e308", "1.7976931348623157e308"),
            ("0.800000011920929", "0.800000011920929"),
            ("9007199254740993", "9007199254740993"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("18446744073709551616", "1.8446744073709552e19"),
            ("100000000000000000000", "1e20"),
        ] {
            assert_eq!(canonical_text(literal).as_deref(), Ok(expected), "{literal}");
        }
    }

    #[test]
    fn refused() {
        for literal in ["18446744073709551617", "-9223372036854775809", "123456789012345678901234567890"] {
            assert_eq!(canonical_text(literal), Err(NumberFault::Inexact), "{literal}");
        }
        for literal in ["1e400", "-1e400", "1.8e308", &"9".repeat(5_000)] {
            assert_eq!(canonical_text(literal), Err(NumberFault::Overflow), "{literal}");
        }
    }

    /// Asserts that the fast path agrees with the slow one.
    fn agree(literal: &str) {
        let span = scan_number(literal.as_bytes(), 0).unwrap();
        let expected = canonical_number(literal.as_bytes()).is_ok_and(|text| text == literal);
        assert_eq!(is_canonical_number(literal.as_bytes(), span.is_integer), expected, "{literal}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn agrees_with_ryu(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            if double.is_finite() {
                let printed = ryu::Buffer::new().format_finite(double).to_owned();
                prop_assert_eq!(ryu_text(double), printed.clone());
                agree(&printed);
            }
        }
        #[test]
        fn agrees_with_ryu_on_everyday_numbers(literal in "-?(0|[1-9][0-9]{0,17})\\.[0-9]{1,17}(e-?[0-9]{1,2})?") {
            let double: f64 = literal.parse().unwrap();
            prop_assert_eq!(canonical_text(&literal), Ok(ryu::Buffer::new().format_finite(double).to_owned()));
            agree(&literal);
        }
        #[test]
        fn short_cut_agrees(literal in "-?(0|[1-9][0-9]{0,21})(\\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?") {
            agree(&literal);
        }
        #[test]
        fn short_cut_agrees_on_decimals(literal in "-?(0|[1-9][0-9]{0,8})\\.0{0,8}[0-9]{1,9}") {
            agree(&literal);
        }
    }
}
