//! Ids of runs: UUIDs of version 7 (RFC 9562 §5.7), so that later runs sort after earlier ones.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::randomness::{Randomness, RandomnessError, SystemRandomness};

/// Id of a run. Its text has 36 characters, lower-case hexadecimal digits and hyphens, so it never leads out of a
/// folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u128);

/// Error of a text that is no version 7 UUID in its canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the id of a run looks like 01890a5d-ac96-774b-bcce-b302099a8057")]
pub struct InvalidRunId;

impl RunId {
    /// Returns a new id by the machine's clock and randomness.
    ///
    /// # Errors
    /// Fails if the operating system gives no randomness.
    pub fn generate() -> Result<Self, RandomnessError> {
        Self::new(&SystemClock::start(), &SystemRandomness)
    }

    /// Returns a new id: 48 bits of milliseconds since 1970, and 74 random bits.
    pub fn new(clock: &dyn Clock, randomness: &dyn Randomness) -> Result<Self, RandomnessError> {
        let mut random = [0; 16];
        randomness.fill(&mut random)?;
        let random = u128::from_be_bytes(random) & ((1 << 80) - 1);
        let time = clock.now().as_millis() & ((1 << 48) - 1);
        let version = 0x7 << 76;
        let variant = 0b10 << 62;
        let free = !((0xF << 76) | (0b11 << 62));
        Ok(Self(time << 80 | version | variant | random & free))
    }

    /// Returns the time at which the id was made, since 1970 and to the millisecond.
    pub fn created_at(self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 >> 80).unwrap_or_default())
    }
}

/// Number of hexadecimal digits in each group.
const GROUPS: [u32; 5] = [8, 4, 4, 4, 12];

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(36);
        let mut left = 32;
        for digits in GROUPS {
            left -= digits;
            let group = self.0 >> (4 * left) & ((1 << (4 * digits)) - 1);
            let width = digits as usize;
            text.push_str(&format!("{group:0width$x}"));
            if left > 0 {
                text.push('-');
            }
        }
        f.pad(&text)
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        let digits = text.replace('-', "");
        let is_lower = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 32 || !digits.bytes().all(is_lower) {
            return Err(InvalidRunId);
        }
        let id = Self(u128::from_str_radix(&digits, 16).map_err(|_| InvalidRunId)?);
        let is_ours = id.0 >> 76 & 0xF == 7 && id.0 >> 62 & 0b11 == 0b10;
        // There is one spelling only: the hyphens must be in their places.
        if is_ours && id.to_string() == text { Ok(id) } else { Err(InvalidRunId) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use proptest::prelude::*;

    struct ClockAt(u64);

    impl Clock for ClockAt {
        fn now(&self) -> Duration {
            Duration::from_millis(self.0)
        }
    }

    struct FixedBytes([u8; 16]);

    impl Randomness for FixedBytes {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomnessError> {
            bytes.copy_from_slice(&self.0);
            Ok(())
        }
    }

    /// Example of RFC 9562, appendix A.6.
    #[test]
    fn the_example_of_the_rfc() {
        let mut random = [0; 16];
        random[6..].copy_from_slice(&[0x0C, 0xC3, 0x18, 0xC4, 0xDC, 0x0C, 0x0C, 0x07, 0x39, 0x8F]);
        let id = RunId::new(&ClockAt(0x017F_22E2_79B0), &FixedBytes(random)).unwrap();
        assert_eq!(id.to_string(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
        assert_eq!(id.created_at(), Duration::from_millis(0x017F_22E2_79B0));
    }

    #[test]
    fn no_other_text_is_an_id() {
        let good = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
        assert_eq!(good.parse::<RunId>().unwrap().to_string(), good);
        for bad in [
            "",
            "..",
            "../x",
            "/etc/passwd",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398F",
            "017f22e279b07cc398c4dc0c0c07398f",
            "017f22e27-9b0-7cc3-98c4-dc0c0c07398f",
            "017f22e2-79b0-4cc3-98c4-dc0c0c07398f",
            "017f22e2-79b0-7cc3-18c4-dc0c0c07398f",
            "+17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398é",
        ] {
            assert_eq!(bad.parse::<RunId>(), Err(InvalidRunId), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn ids_sort_by_time_and_come_back(
            (one, two) in (0_u64..1 << 48, 0_u64..1 << 48),
            (a, b) in any::<([u8; 16], [u8; 16])>(),
        ) {
            let first = RunId::new(&ClockAt(one), &FixedBytes(a)).unwrap();
            let second = RunId::new(&ClockAt(two), &FixedBytes(b)).unwrap();
            prop_assert_eq!(first.to_string().parse(), Ok(first));
            prop_assert_eq!(first.to_string().cmp(&second.to_string()), first.cmp(&second));
            if one != two {
                prop_assert_eq!(first.cmp(&second), one.cmp(&two));
            }
        }
    }
}
