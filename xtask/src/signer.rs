//! A key that everybody knows, for artifacts that prove nothing: benchmarks and examples.

use ed25519_dalek::{Signer as _, SigningKey};
use reenact_formats::key::PublicKey;
use reenact_formats::rer::seal::Signer;

/// Signs with a key that is a constant of this program.
pub(crate) struct OpenSigner {
    secret: SigningKey,
    public: PublicKey,
}

impl OpenSigner {
    /// The key that grows from `seed`.
    pub(crate) fn new(seed: u8) -> Result<Self, String> {
        let secret = SigningKey::from_bytes(&[seed; 32]);
        let public =
            PublicKey::from_raw(secret.verifying_key().as_bytes()).map_err(|error| error.to_string())?;
        Ok(Self { secret, public })
    }
}

impl Signer for OpenSigner {
    fn public_key(&self) -> PublicKey {
        self.public
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.secret.sign(message).to_bytes()
    }
}
