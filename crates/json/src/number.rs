//! JSON numbers: the grammar of RFC 8259, and their canonical text under RFC 8785.
//!
//! A canonical number is what ECMAScript prints for the nearest double. The functions named `short_…` are fast paths for
//! numbers of up to 15 digits, which doubles represent without a doubt.

/// Reason why a number has no canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NumberFault {
    /// An integer that doubles cannot represent: a reader in another language would see, and hash, another number.
    #[error("is an integer that IEEE 754 doubles cannot hold exactly")]
    Inexact,
    /// Beyond the largest double.
    #[error("is too large for an IEEE 754 double")]
    Overflow,
    /// An integer of more digits than the programs of its format read. Used by formats with a bound of their own.
    #[error("is an integer of {digits} digits, more than any program of this format reads")]
    TooLong {
        /// Number of digits.
        digits: usize,
    },
}

/// Treatment of integers that doubles cannot represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegerPolicy {
    /// The integer is refused, unless ECMAScript happens to print the very same digits: two texts with different digits must
    /// never share one hash.
    Exact,
    /// The integer becomes the nearest double, as for a producer whose only numbers are doubles.
    Nearest,
}

/// Result of [`scan`]: the end of a number, and its form.
#[derive(Debug, Clone, Copy)]
pub struct NumberSpan {
    /// Offset behind the last byte of the number.
    pub end: usize,
    /// True if the number has neither a fraction nor an exponent.
    pub is_integer: bool,
}

/// Scans the number that begins at `start` by the grammar of RFC 8259 §6; `None` if the text there is no number.
#[inline]
pub fn scan(input: &[u8], start: usize) -> Option<NumberSpan> {
    let digits = |mut at: usize| {
        let from = at;
        while input.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at > from).then_some(at)
    };
    let mut at = start;
    if input.get(at) == Some(&b'-') {
        at += 1;
    }
    at = if input.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    let mut integer = true;
    if input.get(at) == Some(&b'.') {
        integer = false;
        at = digits(at + 1)?;
    }
    if matches!(input.get(at), Some(b'e' | b'E')) {
        integer = false;
        at += 1;
        if matches!(input.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = digits(at)?;
    }
    // A digit after a leading zero: `01` is no number.
    (!input.get(at).is_some_and(u8::is_ascii_digit)).then_some(NumberSpan { end: at, is_integer: integer })
}

/// Returns the value of a number that is written with at most 15 digits and nothing else. `None` means only that the full
/// parser must decide.
#[inline]
pub(crate) fn short_integer(literal: &[u8]) -> Option<u64> {
    if literal.len() > EXACT_DIGITS {
        return None;
    }
    literal.iter().try_fold(0, |integer, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| integer * 10 + u64::from(digit))
    })
}

/// Returns the double nearest to a number that is written with at most 15 digits, without a sign or an exponent. `None` means
/// only that the full parser must decide. The digits and the power of ten are exact doubles, so their quotient is rounded
/// once, as it should be.
#[inline]
pub(crate) fn short_decimal(literal: &[u8]) -> Option<f64> {
    const POWERS: [f64; EXACT_DIGITS] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];
    if literal.len() > EXACT_DIGITS + 1 {
        return None;
    }
    let (mut integer, mut point) = (0, literal.len());
    for (at, byte) in literal.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            integer = integer * 10 + u64::from(digit);
        } else if *byte == b'.' {
            point = at;
        } else {
            return None;
        }
    }
    let places = literal.len().saturating_sub(point + 1);
    let has_point = point < literal.len();
    #[allow(clippy::cast_precision_loss, reason = "below 10^15")]
    let digits = (has_point || literal.len() <= EXACT_DIGITS).then_some(integer as f64)?;
    Some(digits / POWERS.get(places)?)
}

/// Largest number of significant digits with which any two decimals differ as doubles, too. No such decimal has a shorter
/// spelling.
const EXACT_DIGITS: usize = 15;

/// Returns true if a number that passed [`scan`] is written as RFC 8785 writes it. `integer` is [`NumberSpan::is_integer`].
#[inline]
pub(crate) fn is_canonical(literal: &[u8], integer: bool) -> bool {
    let digits = literal.strip_prefix(b"-").unwrap_or(literal);
    if integer {
        if digits == b"0" {
            return literal.len() == 1;
        }
        if digits.len() <= EXACT_DIGITS {
            return true;
        }
    } else if is_plain_decimal(digits) {
        return true;
    }
    canonical_text(literal, IntegerPolicy::Exact, &mut ryu_js::Buffer::new()) == Ok(literal)
}

/// Returns true if an unsigned decimal is surely canonical: no exponent, no zero at its end, at most [`EXACT_DIGITS`] digits,
/// and not below 10⁻⁶, where ECMAScript switches to exponents. False means only that the full comparison must decide.
fn is_plain_decimal(digits: &[u8]) -> bool {
    let Some(point) = digits.iter().position(|&digit| digit == b'.') else { return false };
    let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
    digits.len() <= EXACT_DIGITS + 1
        && fraction.iter().all(u8::is_ascii_digit)
        && fraction.last().is_some_and(|&last| last != b'0')
        && (whole != b"0" || fraction.iter().take(6).any(|&digit| digit != b'0'))
}

/// Returns the text of a number under RFC 8785 §3.2.2.3, printed into `buffer`.
///
/// # Errors
/// [`NumberFault::Overflow`] beyond the doubles; [`NumberFault::Inexact`] under [`IntegerPolicy::Exact`].
pub(crate) fn canonical_text<'b>(
    literal: &[u8],
    integers: IntegerPolicy,
    buffer: &'b mut ryu_js::Buffer,
) -> Result<&'b [u8], NumberFault> {
    let text = core::str::from_utf8(literal).unwrap_or_default();
    let double: f64 = text.parse().map_err(|_| NumberFault::Overflow)?;
    if !double.is_finite() {
        return Err(NumberFault::Overflow);
    }
    let printed = buffer.format_finite(double).as_bytes();
    let integer = !literal.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    if integers == IntegerPolicy::Exact && integer && printed != literal && literal != b"-0" {
        return Err(NumberFault::Inexact);
    }
    Ok(printed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(literal: &str) -> Result<String, NumberFault> {
        let mut buffer = ryu_js::Buffer::new();
        canonical_text(literal.as_bytes(), IntegerPolicy::Exact, &mut buffer)
            .map(|text| String::from_utf8_lossy(text).into_owned())
    }

    #[test]
    fn grammar() {
        for good in
            ["0", "-0", "10", "-1.5", "1e5", "1E+5", "1.0e-05", "0.1", "123456789012345678901234567890"]
        {
            let span = scan(good.as_bytes(), 0).unwrap();
            assert_eq!(span.end, good.len(), "{good}");
        }
        for bad in ["", "-", "01", "-01", "1.", ".5", "1e", "1e+", "+1", "1.e5", "00"] {
            assert!(scan(bad.as_bytes(), 0).is_none(), "{bad}");
        }
    }

    #[test]
    fn ecmascript_text() {
        for (literal, expected) in [
            ("-0", "0"),
            ("-0.0", "0"),
            ("1.0", "1"),
            ("1E1", "10"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("100000000000000000000", "100000000000000000000"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("5e-324", "5e-324"),
            ("1e-400", "0"),
            ("333333333.33333329", "333333333.3333333"),
            ("9007199254740991", "9007199254740991"),
            ("9007199254740992", "9007199254740992"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ] {
            assert_eq!(text(literal).as_deref(), Ok(expected), "{literal}");
        }
    }

    #[test]
    fn refused() {
        for literal in
            ["9007199254740993", "-9007199254740993", "1000000000000000000000", "12345678901234567890"]
        {
            assert_eq!(text(literal), Err(NumberFault::Inexact), "{literal}");
        }
        for literal in ["1e400", "-1e400", "1.8e308"] {
            assert_eq!(text(literal), Err(NumberFault::Overflow), "{literal}");
        }
    }

    #[test]
    fn nearest() {
        let mut buffer = ryu_js::Buffer::new();
        for (literal, expected) in [
            ("9007199254740993", Ok("9007199254740992")),
            ("-9007199254740993", Ok("-9007199254740992")),
            ("18446744073709551615", Ok("18446744073709552000")),
            ("999999999999999999999", Ok("1e+21")),
            ("-0", Ok("0")),
            ("1e400", Err(NumberFault::Overflow)),
        ] {
            let text = canonical_text(literal.as_bytes(), IntegerPolicy::Nearest, &mut buffer);
            assert_eq!(text, expected.map(str::as_bytes), "{literal}");
        }
        let digits = "9".repeat(5_000);
        assert_eq!(
            canonical_text(digits.as_bytes(), IntegerPolicy::Nearest, &mut buffer),
            Err(NumberFault::Overflow),
            "5000 digits"
        );
    }

    /// Asserts that the fast path of `is_canonical` agrees with the full comparison.
    fn assert_short_cut_agrees(literal: &str) {
        let span = scan(literal.as_bytes(), 0).unwrap();
        assert_eq!(span.end, literal.len());
        let expected = text(literal).is_ok_and(|text| text == literal);
        assert_eq!(is_canonical(literal.as_bytes(), span.is_integer), expected, "{literal}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn short_cut_agrees(literal in "-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?") {
            assert_short_cut_agrees(&literal);
        }
        #[test]
        fn short_cut_agrees_on_decimals(literal in "-?(0|[1-9][0-9]{0,8})\\.0{0,8}[0-9]{1,9}") {
            assert_short_cut_agrees(&literal);
        }
        #[test]
        fn short_numbers_are_read_as_long_ones(literal in "-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?([eE][+-]?[0-9])?") {
            if let Some(integer) = short_integer(literal.as_bytes()) {
                prop_assert_eq!(Ok(integer), literal.parse());
            }
            if let Some(double) = short_decimal(literal.as_bytes()) {
                prop_assert_eq!(double.to_bits(), literal.parse::<f64>().unwrap().to_bits());
            }
        }
        #[test]
        fn short_numbers_are_known(literal in "(0|[1-9][0-9]{0,6})(\\.[0-9]{1,8})?") {
            prop_assert_eq!(short_integer(literal.as_bytes()), literal.parse().ok());
            let double: f64 = literal.parse().unwrap();
            prop_assert_eq!(short_decimal(literal.as_bytes()).map(f64::to_bits), Some(double.to_bits()));
        }
        #[test]
        fn printed_doubles_are_canonical(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            if double.is_finite() {
                assert_short_cut_agrees(ryu_js::Buffer::new().format_finite(double));
            }
        }
    }
}
