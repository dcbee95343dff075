//! SHA-256 digests, and HMAC-SHA256.
//!
//! [`Hasher`] and [`Hmac`] are sinks, so that canonical text is hashed while it is written. Start at [`Digest`].

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher as StdHasher};

use sha2::Digest as _;
use subtle::{Choice, ConstantTimeEq, ConstantTimeGreater};

use crate::canonical::ByteSink;

/// SHA-256 digest (FIPS 180-4). Displayed as 64 lower-case hexadecimal digits.
///
/// `==` takes the same time wherever two digests differ (RER §11.7), and so do the order, by which they are looked up in trees, and
/// [`Digest::is_hex`]. Texts that carry a hash
/// are compared by [`constant_time_eq`].
#[derive(Clone, Copy, Eq)]
pub struct Digest([u8; 32]);

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        constant_time_eq(&self.0, &other.0)
    }
}

impl Ord for Digest {
    /// Compares as the bytes compare, in a time that does not depend on them.
    fn cmp(&self, other: &Self) -> Ordering {
        let (ours, theirs) = (self.0.as_chunks::<8>().0, other.0.as_chunks::<8>().0);
        let (mut greater, mut less) = (Choice::from(0), Choice::from(0));
        for (a, b) in ours.iter().zip(theirs) {
            let (a, b) = (u64::from_be_bytes(*a), u64::from_be_bytes(*b));
            let is_open = !(greater | less);
            greater |= is_open & a.ct_gt(&b);
            less |= is_open & b.ct_gt(&a);
        }
        i8::from(bool::from(greater)).cmp(&i8::from(bool::from(less)))
    }
}

impl PartialOrd for Digest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Digest {
    fn hash<H: StdHasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Returns true if two texts are the same. The time depends on their lengths alone, not on where they differ (RER §11.7):
/// every comparison of hashes or signatures that are carried as text goes through here.
///
/// ```
/// use reenact_json::digest::constant_time_eq;
///
/// assert!(constant_time_eq(b"9c56", b"9c56"));
/// assert!(!constant_time_eq(b"9c56", b"9c5"));
/// ```
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    if a.len() != b.len() {
        return false;
    }
    // Words instead of bytes: a hash in hexadecimal is eight of them, and records carry millions of hashes.
    let words = a.iter().zip(b).map(|(a, b)| u64::from_le_bytes(*a).ct_eq(&u64::from_le_bytes(*b)));
    words.fold(a_rest.ct_eq(b_rest), |same, word| same & word).into()
}

impl Digest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Wraps 32 bytes that are a digest already.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses exactly 64 lower-case hexadecimal digits. Upper case is refused, since formats compare digests as text.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// Returns the 64 lower-case hexadecimal digits, in ASCII.
    pub fn hex(&self) -> [u8; 64] {
        // Arithmetic instead of a table: the compiler vectorises the loop.
        let digit = |nibble: u8| nibble + if nibble > 9 { b'a' - 10 } else { b'0' };
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        text
    }

    /// Returns true if `text` is the hexadecimal form of this digest. Takes the same time wherever the two differ (RER §11.7); a
    /// text of another length is not equal.
    pub fn is_hex(&self, text: &[u8]) -> bool {
        constant_time_eq(&self.hex(), text)
    }
}

/// Returns the value of a lower-case hexadecimal digit.
fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// SHA-256 as a sink: hashes the bytes that are written to it.
///
/// Small pieces are buffered first: a hash function called once for each comma spends its time on calls.
pub struct Hasher {
    state: sha2::Sha256,
    buffer: Vec<u8>,
}

impl Hasher {
    /// Buffer of small pieces, in bytes.
    const BUFFER_BYTES: usize = 8 * 1024;

    /// Creates a hasher that has seen no bytes.
    pub fn new() -> Self {
        Self { state: sha2::Sha256::new(), buffer: Vec::with_capacity(Self::BUFFER_BYTES) }
    }

    /// Returns the digest of the bytes since the start or the last call, and starts anew.
    pub fn finish(&mut self) -> Digest {
        self.state.update(&self.buffer);
        self.buffer.clear();
        Digest(self.state.finalize_reset().into())
    }

    /// Starts anew and forgets all bytes since the last call of [`Hasher::finish`].
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.state.reset();
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

impl ByteSink for Hasher {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > Self::BUFFER_BYTES && self.flush_before(bytes) {
            return;
        }
        self.buffer.extend_from_slice(bytes);
    }
}

impl Hasher {
    /// Hashes the buffer, and `bytes` as well if they fill half a buffer or more; returns true in that case. Otherwise the caller
    /// must buffer them.
    #[cold]
    fn flush_before(&mut self, bytes: &[u8]) -> bool {
        self.state.update(&self.buffer);
        self.buffer.clear();
        let many = bytes.len() >= Self::BUFFER_BYTES / 2;
        if many {
            self.state.update(bytes);
        }
        many
    }
}

/// HMAC-SHA256 (RFC 2104) as a sink: a proof of origin for readers that hold the same key.
pub struct Hmac {
    inner: Hasher,
    /// Key block of the outer hash, with `0x5C` applied.
    outer_pad: [u8; Self::BLOCK_BYTES],
}

impl Hmac {
    /// Block size of SHA-256, in bytes.
    const BLOCK_BYTES: usize = 64;

    /// Begins a message under a key of any length; a key beyond one block is hashed first, as RFC 2104 says.
    pub fn new(key: &[u8]) -> Self {
        let mut block = [0; Self::BLOCK_BYTES];
        let digest;
        let key = if key.len() > Self::BLOCK_BYTES {
            digest = Digest::of(key);
            digest.as_bytes().as_slice()
        } else {
            key
        };
        block.iter_mut().zip(key).for_each(|(slot, byte)| *slot = *byte);
        let mut inner = Hasher::new();
        inner.put(&block.map(|byte| byte ^ 0x36));
        Self { inner, outer_pad: block.map(|byte| byte ^ 0x5C) }
    }

    /// Returns the code of the whole message. Compare it by [`Digest::is_hex`], which is constant-time.
    pub fn finish(mut self) -> Digest {
        let inner = self.inner.finish();
        self.inner.put(&self.outer_pad);
        self.inner.put(inner.as_bytes());
        self.inner.finish()
    }
}

impl ByteSink for Hmac {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.inner.put(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231: test cases 1, 2, 3, 6 and 7.
    #[test]
    fn digests_are_ordered_as_their_bytes() {
        let mut some: Vec<[u8; 32]> = (0..64).map(|at: u8| *Digest::of(&[at]).as_bytes()).collect();
        // Equal but for one byte, at each place.
        for at in 0..32 {
            let mut bytes = some[0];
            bytes[at] = bytes[at].wrapping_add(1);
            some.push(bytes);
        }
        for a in &some {
            for b in &some {
                assert_eq!(Digest::from_bytes(*a).cmp(&Digest::from_bytes(*b)), a.cmp(b));
            }
        }
    }

    #[test]
    fn hmac_known_answers() {
        let cases: [(&[u8], &[u8], &str); 5] = [
            (&[0x0B; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xAA; 20],
                &[0xDD; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                &[0xAA; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &[0xAA; 131],
                b"This is a test using a larger than block-size key and a larger than block-size data. The key needs to \
                  be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (key, message, expected) in cases {
            for piece in [1, 7, message.len()] {
                let mut hmac = Hmac::new(key);
                message.chunks(piece).for_each(|chunk| hmac.put(chunk));
                assert_eq!(hmac.finish().to_string(), expected);
            }
        }
    }

    #[test]
    fn known_answer() {
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), hex);
        assert_eq!(digest.hex(), hex.as_bytes());
        assert_eq!(Digest::from_hex(hex), Some(digest));
    }

    #[test]
    fn one_bit_of_difference_is_a_difference() {
        let same: Vec<u8> = (0..70).collect();
        for length in 0..same.len() {
            let text = &same[..length];
            assert!(constant_time_eq(text, text));
            assert!(!constant_time_eq(text, &same[..=length]));
            for at in 0..length {
                let mut other = text.to_vec();
                other[at] ^= 1;
                assert!(!constant_time_eq(text, &other), "{length} bytes, {at}");
            }
        }
        for at in 0..32 {
            let mut other = *Digest::of(b"abc").as_bytes();
            other[at] ^= 0x80;
            assert_ne!(Digest::from_bytes(other), Digest::of(b"abc"));
        }
        assert_eq!(Digest::of(b"abc"), Digest::of(b"abc"));
    }

    #[test]
    fn hex_is_lower_case_and_64_digits() {
        let hex = Digest::of(b"abc").to_string();
        assert_eq!(Digest::from_hex(&hex.to_uppercase()), None);
        assert_eq!(Digest::from_hex(&hex[1..]), None);
        assert_eq!(Digest::from_hex(&format!("{hex}\n")), None);
        assert!(!Digest::of(b"abc").is_hex(&hex.as_bytes()[1..]));
        assert!(!Digest::of(b"abc").is_hex(b""));
        assert!(Digest::of(b"abc").is_hex(hex.as_bytes()));
    }

    #[test]
    fn hasher_gathers_without_losing_a_byte() {
        let text: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        for piece in [1, 7, 4_095, 4_096, 8_191, 8_192, 8_193, 60_000] {
            let mut hasher = Hasher::new();
            hasher.put(b"forgotten");
            hasher.clear();
            text.chunks(piece).for_each(|chunk| hasher.put(chunk));
            assert_eq!(hasher.finish(), Digest::of(&text), "pieces of {piece}");
            assert_eq!(hasher.finish(), Digest::of(b""), "finish starts anew");
        }
    }
}
