//! Ed25519 public keys, and the file forms in which people keep them.
//!
//! A key file may hold 32 raw bytes, a JWK, a JWKS, or an SPKI structure in DER or PEM; [`read`] tells them apart by
//! content. Verification is `verify_strict`: canonical encodings, S < L, no key or nonce of small order, the equation
//! without the cofactor. A laxer rule lets one signature fit many messages under a weak key.
//!
//! Start reading at [`PublicKey`].

mod jwk;
mod spki;

use core::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signature, VerifyingKey};
use reenact_json::Digest;

pub use jwk::JwkFault;

/// An Ed25519 public key: 32 bytes that are a point on the curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Takes the 32 raw bytes of RFC 8032 §5.1.5, and nothing else.
    ///
    /// # Errors
    ///
    /// [`KeyError::Length`] for another number of bytes, [`KeyError::NotAPoint`] if the bytes are not a point on the
    /// curve.
    pub fn from_raw(bytes: &[u8]) -> Result<Self, KeyError> {
        let raw: &[u8; 32] = bytes.try_into().map_err(|_| KeyError::Length { bytes: bytes.len() })?;
        VerifyingKey::from_bytes(raw).map(Self).map_err(|_| KeyError::NotAPoint)
    }

    /// Returns the 32 raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Returns the raw bytes in base64url, as the member `x` of a JWK carries them (RER §6.4).
    pub fn to_base64url(&self) -> String {
        Base64UrlUnpadded::encode_string(self.as_bytes())
    }

    /// Returns the SHA-256 of the raw bytes. A bundle's manifest carries it in hexadecimal, a `key_id` in base64url.
    pub fn digest(&self) -> Digest {
        Digest::of(self.as_bytes())
    }

    /// Returns the identifier by which artifacts name this key (RER §6.5).
    pub fn id(&self) -> KeyId {
        KeyId(self.digest())
    }

    /// Returns true for a key of small order, under which a signature proves nothing.
    pub fn is_weak(&self) -> bool {
        self.0.is_weak()
    }

    /// Returns true if `signature` is this key's signature of `message`, by the strict rules of Ed25519.
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }
}

/// Content-addressed name of a key: the SHA-256 of its raw bytes, displayed in base64url without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Digest);

impl KeyId {
    /// Parses exactly the 43 characters that [`fmt::Display`] writes; returns `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let decoded = Base64UrlUnpadded::decode(text, &mut bytes).ok()?;
        (decoded.len() == 32).then(|| Self(Digest::from_bytes(bytes)))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Base64UrlUnpadded::encode_string(self.0.as_bytes()))
    }
}

/// Content of a key file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    /// Public keys, in the file's order; at least one.
    pub keys: Vec<PublicKey>,
    /// True if a private part lies beside a public one. The private part is not used, but its owner should know.
    pub holds_private: bool,
    /// Number of keys of other types that a JWKS held.
    pub skipped: usize,
    /// First `kid` of a JWK that is no id of its key; not safe to print.
    pub false_kid: Option<String>,
}

impl KeyFile {
    fn of(key: PublicKey) -> Self {
        Self { keys: vec![key], holds_private: false, skipped: 0, false_kid: None }
    }
}

/// Reason why bytes are not a usable public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Another number of bytes, where 32 raw bytes were asked for.
    #[error("an Ed25519 public key has 32 bytes, this has {bytes}")]
    Length {
        /// Number of bytes given.
        bytes: usize,
    },
    /// 32 bytes that are not a point on the curve, so that no private key leads to them.
    #[error("these 32 bytes are not a point on the curve, so they are nobody's key")]
    NotAPoint,
    /// None of the file forms.
    #[error("is not a key: give 32 raw bytes, a JWK, a JWKS, or a public key in DER or PEM (SPKI)")]
    Unrecognised,
    /// JSON that does not parse. Holds the position and the fault, as text.
    #[error("is not JSON: {0}")]
    Json(String),
    /// A JWK, alone or in a set, that is not an Ed25519 public key.
    #[error("is not an Ed25519 JWK: {0}")]
    Jwk(JwkFault),
    /// A JWKS without a single Ed25519 key.
    #[error("holds no Ed25519 key")]
    NoneInSet,
    /// PEM with another label, such as a private key or a certificate.
    #[error("holds \"{label}\", not a public key; give the public half")]
    PemLabel {
        /// Label of the PEM: one of our constants, never text from the file.
        label: &'static str,
    },
    /// PEM that does not decode to DER.
    #[error("is not well-formed PEM")]
    Pem,
    /// DER of another algorithm or shape.
    #[error("is not an Ed25519 public key in SPKI form")]
    Spki,
}

/// Largest key file that is read, in bytes: enough for a JWKS of some thousand keys.
pub const MAX_KEY_FILE_BYTES: usize = 1 << 20;

/// Reads a key file of any form, told apart by content.
///
/// # Errors
///
/// [`KeyError`] names the form that was recognised and its fault; [`KeyError::Unrecognised`] if no form fits.
pub fn read(bytes: &[u8]) -> Result<KeyFile, KeyError> {
    if bytes.len() == 32 {
        return PublicKey::from_raw(bytes).map(KeyFile::of);
    }
    let text = bytes.trim_ascii();
    match text.first() {
        Some(b'{') => jwk::read(text),
        Some(b'-') => spki::from_pem(text).map(KeyFile::of),
        Some(0x30) => spki::from_der(bytes).map(KeyFile::of),
        _ => Err(KeyError::Unrecognised),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032 §7.1, test 1.
    const RAW: [u8; 32] = [
        0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e,
        0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
    ];
    const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    const PEM: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";

    fn der() -> Vec<u8> {
        [b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00".as_slice(), &RAW].concat()
    }

    #[test]
    fn one_key_in_every_form() {
        let expected = Ok(KeyFile::of(PublicKey::from_raw(&RAW).unwrap()));
        assert_eq!(read(&RAW), expected);
        assert_eq!(read(&der()), expected);
        assert_eq!(read(PEM.as_bytes()), expected);
        assert_eq!(read(PEM.replace('\n', "\r\n").as_bytes()), expected);
        let jwk = format!(r#" {{"kty":"OKP","crv":"Ed25519","x":"{X}"}} "#);
        assert_eq!(read(jwk.as_bytes()), expected);
        assert_eq!(read(format!(r#"{{"keys":[{jwk}]}}"#).as_bytes()), expected);
    }

    /// RFC 8037 appendix A.3 has the thumbprint of this key.
    #[test]
    fn a_false_kid_is_told() {
        let id = PublicKey::from_raw(&RAW).unwrap().id().to_string();
        let thumbprint = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
        let other = PublicKey::from_raw(&Digest::of(b"other").as_bytes()[..])
            .map_or(X.to_owned(), |key| key.id().to_string());
        for (kid, expected) in [
            (format!("\"{id}\""), None),
            (format!("\"{thumbprint}\""), None),
            (format!("\"{other}\""), Some(other.as_str())),
            ("\"mine\"".into(), Some("mine")),
            ("\"\"".into(), Some("")),
            ("7".into(), Some("a number")),
        ] {
            let jwk = format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{X}","kid":{kid}}}"#);
            assert_eq!(read(jwk.as_bytes()).unwrap().false_kid.as_deref(), expected, "{kid}");
            let set = format!(r#"{{"keys":[{jwk}]}}"#);
            assert_eq!(read(set.as_bytes()).unwrap().false_kid.as_deref(), expected, "{kid}");
        }
    }

    #[test]
    fn a_private_part_is_told() {
        let jwk = format!(
            r#"{{"kty":"OKP","crv":"Ed25519","x":"{X}","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}}"#
        );
        assert!(read(jwk.as_bytes()).unwrap().holds_private);
    }

    #[test]
    fn sets_may_hold_other_keys_too() {
        let set = format!(
            r#"{{"keys":[{{"kty":"RSA","n":"AQAB","e":"AQAB"}},{{"kty":"OKP","crv":"Ed25519","x":"{X}"}}]}}"#
        );
        let file = read(set.as_bytes()).unwrap();
        assert_eq!((file.keys.len(), file.skipped), (1, 1));
        assert_eq!(read(br#"{"keys":[]}"#), Err(KeyError::NoneInSet));
        assert_eq!(read(br#"{"keys":[{"kty":"RSA"}]}"#), Err(KeyError::NoneInSet));
        // A broken Ed25519 key is an error, not another type.
        assert_eq!(
            read(br#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}"#),
            Err(KeyError::Jwk(JwkFault::Length { bytes: 1 }))
        );
    }

    #[test]
    fn refused() {
        let jwk = |members: &str| read(format!("{{{members}}}").as_bytes()).unwrap_err();
        assert_eq!(jwk(&format!(r#""kty":"okp","crv":"Ed25519","x":"{X}""#)), KeyError::Jwk(JwkFault::Type));
        assert_eq!(jwk(&format!(r#""kty":"OKP","crv":"X25519","x":"{X}""#)), KeyError::Jwk(JwkFault::Curve));
        assert_eq!(jwk(r#""kty":"OKP","crv":"Ed25519""#), KeyError::Jwk(JwkFault::NoPublicPart));
        assert_eq!(
            jwk(&format!(r#""kty":"OKP","crv":"Ed25519","x":"{X}=""#)),
            KeyError::Jwk(JwkFault::Base64)
        );
        assert_eq!(jwk(r#""keys":{}"#), KeyError::Jwk(JwkFault::SetNotAList));
        assert!(matches!(jwk(r#""kty":"OKP","kty":"OKP""#), KeyError::Json(_)));
        assert_eq!(read(b""), Err(KeyError::Unrecognised));
        assert_eq!(read(b"ssh-ed25519 AAAA"), Err(KeyError::Unrecognised));
        assert_eq!(read(&[2; 32]), Err(KeyError::NotAPoint));
        assert_eq!(read(&der()[..43]), Err(KeyError::Spki));
        assert_eq!(read(&[der(), vec![0]].concat()), Err(KeyError::Spki));
        assert_eq!(read(PEM.replace("MCow", "MCox").as_bytes()), Err(KeyError::Spki));
        assert_eq!(read(PEM.replace("MCow", "M*ow").as_bytes()), Err(KeyError::Pem));
        assert_eq!(read(PEM.replace("-----END", "").as_bytes()), Err(KeyError::Pem));
        assert_eq!(
            read(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"),
            Err(KeyError::PemLabel { label: "PRIVATE KEY" })
        );
        assert_eq!(PublicKey::from_raw(&der()), Err(KeyError::Length { bytes: 44 }));
    }

    #[test]
    fn key_id_is_43_characters_of_base64url() {
        let id = PublicKey::from_raw(&RAW).unwrap().id();
        let text = id.to_string();
        assert_eq!(text.len(), 43);
        assert_eq!(KeyId::parse(&text), Some(id));
        assert_eq!(KeyId::parse(&format!("{text}=")), None);
        assert_eq!(KeyId::parse(&text[1..]), None);
        // The last character carries four bits only; others of the same value are not this id.
        let last = text.chars().last().unwrap();
        let other = char::from(u8::try_from(last).unwrap() + 1);
        assert_eq!(KeyId::parse(&format!("{}{other}", &text[..42])), None);
    }

    #[test]
    fn rfc_8032_signature() {
        let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
        let bytes: Vec<u8> =
            (0..64).map(|at| u8::from_str_radix(&signature[2 * at..2 * at + 2], 16).unwrap()).collect();
        let mut bytes: [u8; 64] = bytes.try_into().unwrap();
        let key = PublicKey::from_raw(&RAW).unwrap();
        assert!(key.verifies(b"", &bytes));
        assert!(!key.verifies(b"x", &bytes));
        bytes[63] ^= 0x80;
        assert!(!key.verifies(b"", &bytes));
    }

    #[test]
    fn a_key_of_small_order_verifies_nothing() {
        let mut identity = [0; 32];
        identity[0] = 1;
        let key = PublicKey::from_raw(&identity).unwrap();
        assert!(key.is_weak());
        // R = identity, S = 0 solves the plain equation for every message.
        let mut signature = [0; 64];
        signature[0] = 1;
        assert!(!key.verifies(b"anything", &signature));
    }
}
