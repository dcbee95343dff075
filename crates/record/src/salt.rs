//! Salts: random bits in each payload.

use std::sync::Arc;

use base64ct::{Base64UrlUnpadded, Encoding};
use reenact_keys::randomness::{Randomness, RandomnessError};

/// Salt of one payload: 128 random bits, so that a withheld payload cannot be guessed from its hash.
pub(crate) struct Salt([u8; 22]);

impl Salt {
    /// Returns the bits in base64url, 22 characters without padding.
    pub(crate) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Source of salts. It reads randomness for 64 of them at a time, since a system call for each event would be slow.
pub(crate) struct Salts {
    source: Arc<dyn Randomness>,
    pool: [u8; Self::POOL_BYTES],
    /// Number of bytes of the pool that are used up.
    used: usize,
}

impl Salts {
    /// Bytes of randomness that are read at a time.
    const POOL_BYTES: usize = 1024;

    pub(crate) fn new(source: Arc<dyn Randomness>) -> Self {
        Self { source, pool: [0; Self::POOL_BYTES], used: Self::POOL_BYTES }
    }

    /// Returns the next salt. No bit is used twice.
    pub(crate) fn next(&mut self) -> Result<Salt, RandomnessError> {
        if self.used + 16 > Self::POOL_BYTES {
            self.source.fill(&mut self.pool)?;
            self.used = 0;
        }
        let bits = self.pool.get(self.used..self.used + 16).unwrap_or_default();
        let mut salt = Salt([0; 22]);
        // 16 bytes are 22 characters.
        let _ = Base64UrlUnpadded::encode(bits, &mut salt.0);
        self.used += 16;
        Ok(salt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_keys::randomness::SystemRandomness;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    #[test]
    fn no_two_salts_are_alike() {
        let mut salts = Salts::new(Arc::new(SystemRandomness));
        let drawn: BTreeSet<String> = (0..1000).map(|_| salts.next().unwrap().as_str().to_owned()).collect();
        assert_eq!(drawn.len(), 1000);
        assert!(drawn.iter().all(|salt| salt.len() == 22));
    }

    /// Randomness that counts up from 0, and fails at the third call.
    #[derive(Default)]
    struct CountingRandomness(Mutex<(u8, usize)>);

    impl Randomness for CountingRandomness {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomnessError> {
            let mut state = self.0.lock().unwrap();
            if state.1 == 2 {
                return Err(RandomnessError("dry".into()));
            }
            state.1 += 1;
            for byte in bytes {
                *byte = state.0;
                state.0 = state.0.wrapping_add(1);
            }
            Ok(())
        }
    }

    #[test]
    fn each_is_the_next_sixteen_bytes() {
        let mut salts = Salts::new(Arc::new(CountingRandomness::default()));
        assert_eq!(salts.next().unwrap().as_str(), "AAECAwQFBgcICQoLDA0ODw");
        assert_eq!(salts.next().unwrap().as_str(), "EBESExQVFhcYGRobHB0eHw");
        for _ in 2..128 {
            salts.next().unwrap();
        }
        assert_eq!(
            salts.next().err(),
            Some(RandomnessError("dry".into())),
            "a dry source is not papered over"
        );
    }
}
