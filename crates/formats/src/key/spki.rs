//! SubjectPublicKeyInfo (RFC 8410), in DER and in PEM (RFC 7468).

use base64ct::{Base64, Encoding};

use super::{KeyError, PublicKey};

/// DER of an Ed25519 key up to its 32 raw bytes: SEQUENCE { SEQUENCE { OID 1.3.101.112 }, BIT STRING }. DER has one
/// encoding for each value, so the comparison is exact.
const PREFIX: &[u8; 12] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// Reads the DER form: the prefix and exactly 32 bytes.
pub(super) fn from_der(der: &[u8]) -> Result<PublicKey, KeyError> {
    match der.strip_prefix(PREFIX) {
        Some(raw) if raw.len() == 32 => PublicKey::from_raw(raw),
        _ => Err(KeyError::Spki),
    }
}

/// Reads the PEM form. Labels of private keys and certificates get an error of their own, since they are frequent
/// mistakes.
pub(super) fn from_pem(text: &[u8]) -> Result<PublicKey, KeyError> {
    let text = core::str::from_utf8(text).map_err(|_| KeyError::Pem)?;
    for label in ["PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY", "CERTIFICATE"] {
        if text.starts_with(&format!("-----BEGIN {label}-----")) {
            return Err(KeyError::PemLabel { label });
        }
    }
    let body = text
        .strip_prefix("-----BEGIN PUBLIC KEY-----")
        .and_then(|rest| rest.strip_suffix("-----END PUBLIC KEY-----"))
        .ok_or(KeyError::Pem)?;
    let body: String = body.split_ascii_whitespace().collect();
    from_der(&Base64::decode_vec(&body).map_err(|_| KeyError::Pem)?)
}
