//! The name of a run: a UUID of version 7 (RFC 9562 §5.7), so that later runs sort after earlier ones.

use core::fmt;
use core::str::FromStr;

use crate::clock::{Clock, SystemClock};
use crate::randomness::{NoRandomness, Randomness, SystemRandomness};

/// A run's id: 36 characters, lower-case, of which none leads out of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u128);

/// A text that is no id of a run that we recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the id of a run looks like 01890a5d-ac96-774b-bcce-b302099a8057")]
pub struct NotARunId;

impl RunId {
    /// A new id, of the machine's clock and randomness.
    pub fn generate() -> Result<Self, NoRandomness> {
        Self::new(&SystemClock::start(), &SystemRandomness)
    }

    /// A new id: 48 bits of milliseconds since 1970, and 74 random ones.
    pub fn new(clock: &dyn Clock, randomness: &dyn Randomness) -> Result<Self, NoRandomness> {
        let mut random = [0; 16];
        randomness.fill(&mut random)?;
        let random = u128::from_be_bytes(random) & ((1 << 80) - 1);
        let time = clock.now().as_millis() & ((1 << 48) - 1);
        let version = 0x7 << 76;
        let variant = 0b10 << 62;
        let free = !((0xF << 76) | (0b11 << 62));
        Ok(Self(time << 80 | version | variant | random & free))
    }
}

/// How many hexadecimal digits stand in each group.
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
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<Self, NotARunId> {
        let digits = text.replace('-', "");
        let is_lower = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 32 || !digits.bytes().all(is_lower) {
            return Err(NotARunId);
        }
        let id = Self(u128::from_str_radix(&digits, 16).map_err(|_| NotARunId)?);
        let is_ours = id.0 >> 76 & 0xF == 7 && id.0 >> 62 & 0b11 == 0b10;
        // One spelling only: the hyphens must be where they belong.
        if is_ours && id.to_string() == text { Ok(id) } else { Err(NotARunId) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use proptest::prelude::*;

    struct At(u64);

    impl Clock for At {
        fn now(&self) -> Duration {
            Duration::from_millis(self.0)
        }
    }

    struct Bytes([u8; 16]);

    impl Randomness for Bytes {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
            bytes.copy_from_slice(&self.0);
            Ok(())
        }
    }

    /// RFC 9562, appendix A.6.
    #[test]
    fn the_example_of_the_rfc() {
        let mut random = [0; 16];
        random[6..].copy_from_slice(&[0x0C, 0xC3, 0x18, 0xC4, 0xDC, 0x0C, 0x0C, 0x07, 0x39, 0x8F]);
        let id = RunId::new(&At(0x017F_22E2_79B0), &Bytes(random)).unwrap();
        assert_eq!(id.to_string(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
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
            assert_eq!(bad.parse::<RunId>(), Err(NotARunId), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn ids_sort_by_time_and_come_back(
            (one, two) in (0_u64..1 << 48, 0_u64..1 << 48),
            (a, b) in any::<([u8; 16], [u8; 16])>(),
        ) {
            let first = RunId::new(&At(one), &Bytes(a)).unwrap();
            let second = RunId::new(&At(two), &Bytes(b)).unwrap();
            prop_assert_eq!(first.to_string().parse(), Ok(first));
            prop_assert_eq!(first.to_string().cmp(&second.to_string()), first.cmp(&second));
            if one != two {
                prop_assert_eq!(first.cmp(&second), one.cmp(&two));
            }
        }
    }
}
