//! Exact amounts of money: 0.1 + 0.2 must be 0.3 when it is a limit.

use core::fmt;

use reenact_json::{Value, ValueKind};

/// An amount in picodollars (10⁻¹² USD), which hold every price per token exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Money(u128);

/// Rounding of an amount finer than a picodollar: limits down, costs up. Either way the limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Towards zero; for limits.
    Down,
    /// Away from zero; for costs.
    Up,
}

impl Money {
    const DECIMALS: i64 = 12;

    /// Makes an amount of picodollars.
    pub fn from_picodollars(picodollars: u128) -> Self {
        Self(picodollars)
    }

    /// Returns the amount in picodollars.
    pub fn picodollars(self) -> u128 {
        self.0
    }

    /// Returns the sum, or the largest amount if the sum does not fit.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the least amount of whole micro-dollars that is not below this one. Records state spending so.
    pub fn rounded_up_to_micro(self) -> Self {
        const MICRO: u128 = 1_000_000;
        Self(self.0.div_ceil(MICRO).saturating_mul(MICRO))
    }

    /// Returns the exact amount in dollars as a JSON number, such as `0.0018`.
    pub fn decimal(self) -> String {
        let (dollars, rest) = (self.0 / 1_000_000_000_000, self.0 % 1_000_000_000_000);
        let text = format!("{dollars}.{rest:012}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// Reads a JSON number as dollars; `None` if the value is not a number or is negative.
    ///
    /// The canonical text of the number counts: respelling a sealed number must not change the amount.
    pub fn of(number: Value<'_>, rounding: Rounding) -> Option<Self> {
        let literal = number.number_text();
        let literal = literal.as_deref().map_or(number.text(), str::as_bytes);
        Self::from_dollars(literal, rounding).filter(|_| number.kind() == ValueKind::Number)
    }

    /// Parses the text of a JSON number as dollars, digit by digit, since a double would be another number.
    ///
    /// Returns `None` for a negative number. An amount too large to count becomes the largest amount.
    pub fn from_dollars(literal: &[u8], rounding: Rounding) -> Option<Self> {
        let text = core::str::from_utf8(literal).ok()?;
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (
                digits,
                exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') { -9999 } else { 9999 }),
            ),
            None => (text, 0),
        };
        let (negative, digits) = match digits.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, digits),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        // The number is all digits without the point, times ten to this power.
        let mut power =
            exponent.saturating_sub(i64::try_from(fraction.len()).ok()?).saturating_add(Self::DECIMALS);
        let mut value: u128 = 0;
        let (mut full, mut lost) = (false, false);
        let significant = whole.bytes().chain(fraction.bytes());
        for digit in significant {
            let digit = u128::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
            match value.checked_mul(10).and_then(|value| value.checked_add(digit)) {
                Some(larger) if !full => value = larger,
                // Digits beyond the 38th do not fit; they count only for rounding.
                _ => {
                    full = true;
                    lost |= digit != 0;
                    power = power.saturating_add(1);
                }
            }
        }
        if value != 0 && negative {
            return None;
        }
        while power > 0 && value != 0 {
            value = match value.checked_mul(10) {
                Some(larger) => larger,
                None => return Some(Self(u128::MAX)),
            };
            power -= 1;
        }
        while power < 0 && value != 0 {
            lost |= !value.is_multiple_of(10);
            value /= 10;
            power += 1;
        }
        Some(Self(value.saturating_add(u128::from(lost && rounding == Rounding::Up))))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, rest) = (self.0 / 1_000_000_000_000, self.0 % 1_000_000_000_000);
        let fraction = format!("{rest:012}");
        let fraction = fraction.trim_end_matches('0');
        write!(f, "{dollars}.{fraction:0<2} USD")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pico(literal: &str, rounding: Rounding) -> Option<u128> {
        Money::from_dollars(literal.as_bytes(), rounding).map(Money::picodollars)
    }

    #[test]
    fn exact() {
        for (literal, expected) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("0.5", 500_000_000_000),
            ("1", 1_000_000_000_000),
            ("1e-12", 1),
            ("1.5E+1", 15_000_000_000_000),
            ("0.1000000000000", 100_000_000_000),
            ("123456789.123456789012", 123_456_789_123_456_789_012),
        ] {
            assert_eq!(pico(literal, Rounding::Down), Some(expected), "{literal}");
            assert_eq!(pico(literal, Rounding::Up), Some(expected), "{literal}");
        }
    }

    #[test]
    fn finer_than_a_picodollar() {
        for literal in ["1.5e-12", "1e-13", "0.0000000000001", "5e-324", "1e-99999999999999999999"] {
            let whole = u128::from(literal == "1.5e-12");
            assert_eq!(pico(literal, Rounding::Down), Some(whole), "{literal}");
            assert_eq!(pico(literal, Rounding::Up), Some(whole + 1), "{literal}");
        }
    }

    #[test]
    fn too_large_and_negative() {
        assert_eq!(pico("1e300", Rounding::Down), Some(u128::MAX));
        assert_eq!(pico("1e99999999999999999999", Rounding::Down), Some(u128::MAX));
        assert_eq!(pico("-0.01", Rounding::Down), None);
        assert_eq!(pico("0e300", Rounding::Down), Some(0));
        assert_eq!(pico("1e9223372036854775807", Rounding::Down), Some(u128::MAX));
        assert_eq!(pico("0.5e-9223372036854775808", Rounding::Up), Some(1));
    }

    #[test]
    fn as_numbers() {
        for (picodollars, decimal, micro) in [
            (0, "0", "0"),
            (1, "0.000000000001", "0.000001"),
            (1_000_000, "0.000001", "0.000001"),
            (1_800_000_000, "0.0018", "0.0018"),
            (10_000_000_000_001, "10.000000000001", "10.000001"),
            (20_000_000_000_000, "20", "20"),
        ] {
            let money = Money::from_picodollars(picodollars);
            assert_eq!(money.decimal(), decimal);
            assert_eq!(Money::from_dollars(decimal.as_bytes(), Rounding::Down), Some(money));
            assert_eq!(money.rounded_up_to_micro().decimal(), micro);
        }
    }

    #[test]
    fn sums_are_exact() {
        let sum = Money::from_dollars(b"0.1", Rounding::Up)
            .unwrap()
            .plus(Money::from_dollars(b"0.2", Rounding::Up).unwrap());
        assert_eq!(Some(sum), Money::from_dollars(b"0.3", Rounding::Down));
        assert_eq!(sum.to_string(), "0.30 USD");
        assert_eq!(Money::from_picodollars(1_234_567_000_000).to_string(), "1.234567 USD");
    }
}
