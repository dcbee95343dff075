//! The text that serde_json 1.0.140 gives to numbers: integers of 64 bits as they are, all else as a double printed by
//! Ryū. Later versions print some doubles otherwise (`1e+16`), so the version is part of the rule.

use reenact_json::NumberFault;

/// Decimals of up to 15 significant digits are told apart by doubles, so none of them has a shorter spelling.
const SURE_DIGITS: usize = 15;

/// Integers of up to this many digits fit into 64 bits, with or without a sign.
const SURE_INTEGER: usize = 18;

/// Whether a number of good grammar is spelled in this way already.
#[inline]
pub(super) fn is_own(literal: &[u8], integer: bool) -> bool {
    let digits = literal.strip_prefix(b"-").unwrap_or(literal);
    if integer && digits.len() <= SURE_INTEGER {
        return literal != b"-0";
    }
    if !integer && is_plain_decimal(digits) {
        return true;
    }
    text(literal).is_ok_and(|text| text.as_bytes() == literal)
}

/// Whether an unsigned decimal surely has this text: no exponent, no needless zero at its end, at most [`SURE_DIGITS`]
/// digits, and not below 10⁻⁵, where exponents begin. `false` means only that it takes a closer look.
fn is_plain_decimal(digits: &[u8]) -> bool {
    let Some(point) = digits.iter().position(|&digit| digit == b'.') else { return false };
    let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
    digits.len() <= SURE_DIGITS + 1
        && fraction.iter().all(u8::is_ascii_digit)
        && (fraction == b"0"
            || fraction.last().is_some_and(|&last| last != b'0')
                && (whole != b"0" || fraction.iter().take(5).any(|&digit| digit != b'0')))
}

/// The text of a number of good grammar.
///
/// serde_json reads an integer beyond 64 bits as the nearest double. Where that is another number it is refused: two
/// texts with different digits must never share one hash.
pub(super) fn text(literal: &[u8]) -> Result<String, NumberFault> {
    let literal = core::str::from_utf8(literal).unwrap_or_default();
    let integer = !literal.contains(['.', 'e', 'E']);
    if integer && literal != "-0" && (literal.parse::<u64>().is_ok() || literal.parse::<i64>().is_ok()) {
        return Ok(literal.to_owned());
    }
    let double: f64 = literal.parse().map_err(|_| NumberFault::Overflow)?;
    if !double.is_finite() {
        return Err(NumberFault::Overflow);
    }
    // Without a precision the whole digits of a double are printed exactly.
    if integer && literal != "-0" && format!("{double:.0}") != literal {
        return Err(NumberFault::Inexact);
    }
    Ok(of_double(double))
}

/// A finite double as Ryū prints it.
fn of_double(double: f64) -> String {
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

    fn said(literal: &str) -> Result<String, NumberFault> {
        assert_eq!(scan_number(literal.as_bytes(), 0).map(|span| span.end), Some(literal.len()), "{literal}");
        text(literal.as_bytes())
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
            assert_eq!(said(literal).as_deref(), Ok(expected), "{literal}");
        }
    }

    #[test]
    fn refused() {
        for literal in ["18446744073709551617", "-9223372036854775809", "123456789012345678901234567890"] {
            assert_eq!(said(literal), Err(NumberFault::Inexact), "{literal}");
        }
        for literal in ["1e400", "-1e400", "1.8e308", &"9".repeat(5_000)] {
            assert_eq!(said(literal), Err(NumberFault::Overflow), "{literal}");
        }
    }

    /// The short cut must say what the long way says.
    fn agree(literal: &str) {
        let span = scan_number(literal.as_bytes(), 0).unwrap();
        let long_way = text(literal.as_bytes()).is_ok_and(|text| text == literal);
        assert_eq!(is_own(literal.as_bytes(), span.integer), long_way, "{literal}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn agrees_with_ryu(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            if double.is_finite() {
                let printed = ryu::Buffer::new().format_finite(double).to_owned();
                prop_assert_eq!(of_double(double), printed.clone());
                agree(&printed);
            }
        }
        #[test]
        fn agrees_with_ryu_on_everyday_numbers(literal in "-?(0|[1-9][0-9]{0,17})\\.[0-9]{1,17}(e-?[0-9]{1,2})?") {
            let double: f64 = literal.parse().unwrap();
            prop_assert_eq!(said(&literal), Ok(ryu::Buffer::new().format_finite(double).to_owned()));
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
