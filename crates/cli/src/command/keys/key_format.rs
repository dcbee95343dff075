//! The formats in which a public key is exported. `--key` reads each of them back.

use base64ct::{Base64, Encoding};
use reenact_formats::key::PublicKey;
use reenact_json::print::PrintObjectWriter;

/// Prefix of an Ed25519 key in SPKI (RFC 8410 §4): SEQUENCE { SEQUENCE { OID 1.3.101.112 }, BIT STRING },
/// then the 32 bytes.
const SPKI: &[u8; 12] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// Returns a key as a JWK (RFC 8037, RER §6.4), without a line feed.
pub(super) fn jwk(key: &PublicKey) -> String {
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    object.string("crv", "Ed25519");
    object.string("kid", key.id().to_string().as_str());
    object.string("kty", "OKP");
    object.string("x", key.to_base64url().as_str());
    object.close();
    text
}

/// Returns keys as a JWKS (RFC 7517 §5), one key a line.
pub(super) fn jwks<'a>(keys: impl Iterator<Item = &'a PublicKey>) -> String {
    let keys: Vec<String> = keys.map(|key| format!("\n  {}", jwk(key))).collect();
    format!("{{\"keys\":[{}\n]}}\n", keys.join(","))
}

/// Returns a key as SPKI in DER.
pub(super) fn der(key: &PublicKey) -> Vec<u8> {
    [SPKI.as_slice(), key.as_bytes()].concat()
}

/// Returns a key as SPKI in PEM.
pub(super) fn pem(key: &PublicKey) -> String {
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", Base64::encode_string(&der(key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_formats::key;

    #[test]
    fn every_form_is_read_back() {
        let mut raw = [0x66; 32];
        raw[0] = 0x58;
        let key = PublicKey::from_raw(&raw).unwrap();
        for form in
            [jwk(&key).into_bytes(), jwks([&key].into_iter()).into_bytes(), der(&key), pem(&key).into()]
        {
            let file = key::read(&form).unwrap();
            assert_eq!((file.keys, file.holds_private), (vec![key], false));
        }
        let two = jwks([&key, &key].into_iter());
        assert_eq!(key::read(two.as_bytes()).unwrap().keys, [key, key]);
    }
}
