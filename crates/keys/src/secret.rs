//! Private keys. Their memory is wiped on drop, they cannot be cloned, and `Debug` shows only the key's id.

use core::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signer as _, SigningKey};
use reenact_formats::key::{self, KeyError, PublicKey};
use reenact_formats::rer::seal::Signer;
use reenact_json::{Limits, Value};
use zeroize::Zeroizing;

/// Ed25519 private key, which signs artifacts and approvals. Its memory is wiped on drop.
///
/// ```
/// use reenact_formats::rer::seal::Signer;
/// use reenact_keys::SecretKey;
///
/// let key = SecretKey::generate()?;
/// let kept = key.to_jwk();
/// assert_eq!(SecretKey::from_jwk(kept.as_bytes())?.public_key(), key.public_key());
/// # Ok::<(), reenact_keys::SecretKeyError>(())
/// ```
pub struct SecretKey {
    signing: SigningKey,
    public: PublicKey,
}

/// Reason why there is no private key. No message shows any part of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretKeyError {
    /// There is no randomness to make a key of.
    #[error("the operating system gave no randomness: {0}")]
    Randomness(String),
    /// The text is no key, or no Ed25519 key.
    #[error("{0}")]
    NotAKey(KeyError),
    /// The text has none of the known forms of a key.
    #[error("is not a key; a private key is kept as a JWK")]
    Unrecognised,
    /// A private key in another form than JWK.
    #[error("holds \"{label}\"; give the private key as a JWK")]
    OtherForm {
        /// Label of the PEM block.
        label: &'static str,
    },
    /// The text holds only a public key.
    #[error("holds a public key, not a private one")]
    PublicOnly,
    /// The text is a set of keys.
    #[error("is a set of keys; a private key is one JWK")]
    Set,
    /// The member `d` is no string, is padded, has escapes, or is not 32 bytes long.
    #[error("`d`, the private key, must be 32 bytes in base64url without padding")]
    PrivatePart,
    /// The member `x` is not the public key that belongs to `d`.
    #[error("`x` is not the public key that belongs to `d`")]
    Mismatch,
    /// The key is of small order: a signature under it proves nothing.
    #[error("the key is of small order: a signature under it proves nothing")]
    Weak,
}

impl SecretKey {
    /// Returns a new key, of the operating system's randomness.
    ///
    /// # Errors
    /// [`SecretKeyError::Randomness`] if there is none.
    pub fn generate() -> Result<Self, SecretKeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed).map_err(|error| SecretKeyError::Randomness(error.to_string()))?;
        Self::from_seed(&seed)
    }

    /// Returns the key of a seed (RFC 8032 §5.1.5).
    pub(crate) fn from_seed(seed: &[u8; 32]) -> Result<Self, SecretKeyError> {
        let signing = SigningKey::from_bytes(seed);
        let public =
            PublicKey::from_raw(signing.verifying_key().as_bytes()).map_err(SecretKeyError::NotAKey)?;
        if public.is_weak() { Err(SecretKeyError::Weak) } else { Ok(Self { signing, public }) }
    }

    /// Returns the seed, by reference, so that no unwiped copy is made.
    pub(crate) fn seed(&self) -> &[u8; 32] {
        self.signing.as_bytes()
    }

    /// Parses a private JWK (RFC 8037 §2, RER §6.4). Its `x` must belong to its `d`: a key that signs under another
    /// public key gives its secret away with its first signature.
    ///
    /// # Errors
    /// [`SecretKeyError`] names the first fault, without any part of the key.
    pub fn from_jwk(bytes: &[u8]) -> Result<Self, SecretKeyError> {
        let file = key::read(bytes).map_err(|error| match error {
            KeyError::PemLabel { label } if label.ends_with("PRIVATE KEY") => {
                SecretKeyError::OtherForm { label }
            }
            KeyError::Unrecognised => SecretKeyError::Unrecognised,
            error => SecretKeyError::NotAKey(error),
        })?;
        // Raw, DER and PEM keys that `key::read` accepts are public ones.
        let document =
            Value::parse(bytes.trim_ascii(), &Limits::default()).map_err(|_| SecretKeyError::PublicOnly)?;
        if document.member("keys").is_some() {
            return Err(SecretKeyError::Set);
        }
        let d = document.member("d").ok_or(SecretKeyError::PublicOnly)?;
        let mut seed = Zeroizing::new([0; 32]);
        // Escapes would be decoded into memory that is not wiped, and base64url needs none.
        let decoded = d.borrowed_string_bytes().and_then(|d| Base64UrlUnpadded::decode(d, &mut *seed).ok());
        if decoded.is_none_or(|decoded| decoded.len() != 32) {
            return Err(SecretKeyError::PrivatePart);
        }
        if file.keys.iter().any(PublicKey::is_weak) {
            return Err(SecretKeyError::Weak);
        }
        let key = Self::from_seed(&seed)?;
        if file.keys == [key.public] { Ok(key) } else { Err(SecretKeyError::Mismatch) }
    }

    /// Returns the private JWK, in canonical form. Its reader can sign as its owner.
    pub fn to_jwk(&self) -> Zeroizing<String> {
        let mut d = Zeroizing::new([0; 43]);
        let d = Base64UrlUnpadded::encode(self.signing.as_bytes(), &mut *d).unwrap_or_default();
        // Allocated once: a string that grows leaves unwiped copies behind.
        let mut jwk = Zeroizing::new(String::with_capacity(256));
        for piece in [
            r#"{"crv":"Ed25519","d":""#,
            d,
            r#"","kid":""#,
            &self.public.id().to_string(),
            r#"","kty":"OKP","x":""#,
            &self.public.to_base64url(),
            r#""}"#,
        ] {
            jwk.push_str(piece);
        }
        jwk
    }
}

impl Signer for SecretKey {
    fn public_key(&self) -> PublicKey {
        self.public
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.signing.sign(message).to_bytes()
    }
}

impl fmt::Debug for SecretKey {
    /// Writes the public half only: a log must never hold the other.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Key of RFC 8032 §7.1, test 1, which RFC 8037 appendix A.1 has as a JWK.
    const D: &str = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
    const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    fn jwk(x: &str, d: &str) -> String {
        format!(r#"{{"kty":"OKP","crv":"Ed25519","d":{d},"x":"{x}"}}"#)
    }

    fn read(text: &str) -> Result<PublicKey, SecretKeyError> {
        SecretKey::from_jwk(text.as_bytes()).map(|key| key.public_key())
    }

    #[test]
    fn the_key_of_rfc_8037() {
        let key = SecretKey::from_jwk(jwk(X, &format!("\"{D}\"")).as_bytes()).unwrap();
        assert_eq!(key.public_key().to_base64url(), X);
        let id = key.public_key().id();
        let expected = format!(r#"{{"crv":"Ed25519","d":"{D}","kid":"{id}","kty":"OKP","x":"{X}"}}"#);
        assert_eq!(*key.to_jwk(), expected);
        // RFC 8032 §7.1, test 1.
        assert_eq!(key.sign(b"")[..4], [0xe5, 0x56, 0x43, 0x00]);
        assert!(key.public_key().verifies(b"", &key.sign(b"")));
    }

    #[test]
    fn refused() {
        let other = "ISsSXTbI1o8oK6RYDfRaioVrJGS76mk_9QO9lW6nQHI";
        let identity = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let d = format!("\"{D}\"");
        assert_eq!(read(&jwk(other, &d)), Err(SecretKeyError::Mismatch));
        assert_eq!(read(&jwk(identity, &d)), Err(SecretKeyError::Weak));
        for d in
            ["null", "7", "\"\"", "\"AA\"", &format!("\"{D}=\""), &format!("\"{D}A\""), "\"\\u006eWGxne\""]
        {
            assert_eq!(read(&jwk(X, d)), Err(SecretKeyError::PrivatePart), "{d}");
        }
        assert_eq!(
            read(&format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{X}"}}"#)),
            Err(SecretKeyError::PublicOnly)
        );
        assert_eq!(read(&format!(r#"{{"keys":[{}]}}"#, jwk(X, &d))), Err(SecretKeyError::Set));
        assert_eq!(SecretKey::from_jwk(&[9; 32]).err(), Some(SecretKeyError::PublicOnly));
        assert_eq!(read("ssh-ed25519 AAAA"), Err(SecretKeyError::Unrecognised));
        assert_eq!(
            read("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"),
            Err(SecretKeyError::OtherForm { label: "PRIVATE KEY" })
        );
        assert!(matches!(read(&format!("{}x", jwk(X, &d))), Err(SecretKeyError::NotAKey(KeyError::Json(_)))));
    }

    #[test]
    fn no_two_are_alike() {
        let (one, two) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        assert_ne!(one.public_key(), two.public_key());
    }

    #[test]
    fn debug_shows_the_public_half_only() {
        let key = SecretKey::generate().unwrap();
        let shown = format!("{key:?} {key:#?}");
        let id = key.public_key().id();
        assert_eq!(shown, format!("SecretKey({id}) SecretKey({id})"));
    }

    proptest! {
        #[test]
        fn a_jwk_comes_back(seed in any::<[u8; 32]>(), message in any::<Vec<u8>>()) {
            let key = SecretKey::from_seed(&seed).unwrap();
            let jwk = key.to_jwk();
            let back = SecretKey::from_jwk(jwk.as_bytes()).unwrap();
            prop_assert_eq!(back.public_key(), key.public_key());
            prop_assert_eq!(&*back.to_jwk(), &*jwk);
            prop_assert!(key.public_key().verifies(&message, &back.sign(&message)));
            let value = Value::parse(jwk.as_bytes(), &Limits::default()).unwrap();
            prop_assert!(value.is_canonical());
        }

        #[test]
        fn whatever_is_wrong_no_secret_is_said(at in 0_usize..150, byte in any::<u8>()) {
            let mut text = jwk(X, &format!("\"{D}\"")).into_bytes();
            let at = at % text.len();
            text[at] = byte;
            if let Err(error) = SecretKey::from_jwk(&text) {
                let message = format!("{error} {error:?}");
                for part in D.as_bytes().windows(6) {
                    prop_assert!(!message.contains(core::str::from_utf8(part).unwrap()), "{}", message);
                }
            }
        }
    }
}
