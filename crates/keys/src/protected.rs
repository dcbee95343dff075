//! Private keys under a passphrase: those of approvers, who must be present when something is approved.
//!
//! The file is a public JWK with the encrypted private key beside it, so that a recorder knows its approvers without
//! any passphrase. The key comes from Argon2id (RFC 9106), the cipher is XChaCha20-Poly1305. Everything else in the
//! file is authenticated as associated data: if somebody changes the signer type or the cost, no passphrase opens the
//! file. Start reading at [`ProtectedKey`].

use core::fmt;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64ct::{Base64UrlUnpadded, Encoding};
use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305, XNonce};
use reenact_formats::key::{self, PublicKey};
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::seal::Signer;
use reenact_json::canonical::{self, ObjectPart};
use reenact_json::{Limits, Shown, Value};
use zeroize::Zeroizing;

use crate::randomness::{Randomness, RandomnessError, SystemRandomness};
use crate::secret::SecretKey;

/// Version of the file format, in the member `version`.
const VERSION: &str = "reenact-approver-key/1";
const CIPHER: &str = "xchacha20poly1305";
const KDF: &str = "argon2id";

/// Passphrase of an approver's key. Its memory is wiped on drop, and `Debug` does not show it.
pub struct Passphrase(Zeroizing<Vec<u8>>);

/// Error of a passphrase that is too short to protect anything, or longer than anybody types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a passphrase has 8 to 1024 bytes")]
pub struct InvalidPassphrase;

impl Passphrase {
    /// Takes a passphrase as it was typed: 8 to 1024 bytes.
    pub fn new(typed: Zeroizing<Vec<u8>>) -> Result<Self, InvalidPassphrase> {
        if (8..=1024).contains(&typed.len()) { Ok(Self(typed)) } else { Err(InvalidPassphrase) }
    }

    /// Returns true if both are the same, as when a passphrase is typed twice.
    pub fn is_same(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase")
    }
}

/// Cost of one guess of a passphrase: parameters of Argon2id (RFC 9106).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KdfCost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Number of passes over the memory.
    pub passes: u32,
    /// Number of lanes, which can be computed in parallel.
    pub lanes: u32,
}

impl Default for KdfCost {
    /// Returns 64 MiB and three passes: the second recommendation of RFC 9106 §4, in one lane.
    fn default() -> Self {
        Self { memory_kib: 64 * 1024, passes: 3, lanes: 1 }
    }
}

impl KdfCost {
    /// Least cost that is accepted: 19 MiB and two passes.
    pub const MIN: Self = Self { memory_kib: 19 * 1024, passes: 2, lanes: 1 };
    /// Greatest cost that is accepted: a file must not make its reader compute for hours.
    pub const MAX: Self = Self { memory_kib: 1024 * 1024, passes: 16, lanes: 16 };
}

/// Reason why there is no approver's key. No message shows any part of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtectedKeyFault {
    /// The text is not canonical JSON.
    #[error("is no approver's key: it is not canonical JSON")]
    NotCanonical,
    /// A member is missing, or has a wrong value.
    #[error("is no approver's key that can be read: `{member}` must be {wanted}")]
    Member {
        /// Name of the member.
        member: &'static str,
        /// Description of a correct value.
        wanted: &'static str,
    },
    /// An unknown member.
    #[error("is no approver's key that can be read: it has the unknown member \"{}\"", Shown::new(.name))]
    Unknown {
        /// Name of the member.
        name: String,
    },
    /// The passphrase is wrong, or the file was changed: authentication cannot tell them apart.
    #[error("the passphrase is wrong, or somebody changed the file")]
    WrongPassphrase,
    /// There is not enough memory for the cost in the file.
    #[error("there is not enough memory to open it: it takes {mib} MiB")]
    Memory {
        /// Memory that is needed, in MiB.
        mib: u32,
    },
    /// There is no randomness for the salt or the nonce.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
}

/// Approver's key that is not opened: everything that is known without its passphrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedKey {
    public: PublicKey,
    signer_type: SignerType,
    cost: KdfCost,
    salt: [u8; 16],
    nonce: [u8; 24],
    /// Encrypted seed (32 bytes) and authentication tag (16 bytes).
    ciphertext: [u8; 48],
    /// Canonical JSON of all members but `ciphertext`, which is authenticated with the key.
    associated_data: Vec<u8>,
}

/// All members, in canonical order.
const MEMBERS: [&str; 14] = [
    "cipher",
    "ciphertext",
    "crv",
    "kdf",
    "kid",
    "kty",
    "lanes",
    "memory_kib",
    "nonce",
    "passes",
    "salt",
    "signer_type",
    "version",
    "x",
];

impl ProtectedKey {
    /// Returns true if the text claims to be such a file, by its member `version`. The rest is not checked.
    pub fn is_protected_key(text: &[u8]) -> bool {
        let value = Value::parse(text, &Limits { max_depth: 8, max_bytes: 1 << 20 }).ok();
        value.and_then(|value| value.member("version")).is_some_and(|version| {
            version.string_bytes().is_some_and(|version| version.starts_with(b"reenact-approver-key/"))
        })
    }

    /// Encrypts a key under a passphrase, with a new salt and nonce.
    pub fn seal(
        key: &SecretKey,
        signer_type: SignerType,
        passphrase: &Passphrase,
        cost: KdfCost,
    ) -> Result<Self, ProtectedKeyFault> {
        let (mut salt, mut nonce) = ([0; 16], [0; 24]);
        SystemRandomness.fill(&mut salt)?;
        SystemRandomness.fill(&mut nonce)?;
        let public = key.public_key();
        let mut closed =
            Self { public, signer_type, cost, salt, nonce, ciphertext: [0; 48], associated_data: Vec::new() };
        closed.associated_data = closed.text(false);
        let mut buffer = Zeroizing::new(Vec::with_capacity(48));
        buffer.extend_from_slice(key.seed());
        // Encryption fails only for messages that are too long, and 32 bytes never are.
        closed
            .cipher(passphrase)?
            .encrypt_in_place(&XNonce::from(nonce), &closed.associated_data, &mut *buffer)
            .map_err(|_| ProtectedKeyFault::WrongPassphrase)?;
        closed.ciphertext.copy_from_slice(buffer.get(..48).unwrap_or(&[0; 48]));
        Ok(closed)
    }

    /// Decrypts the key.
    ///
    /// # Errors
    /// [`ProtectedKeyFault::WrongPassphrase`] if the passphrase is wrong or the file was changed,
    /// [`ProtectedKeyFault::Memory`] if the memory for the cost cannot be allocated.
    pub fn open(&self, passphrase: &Passphrase) -> Result<SecretKey, ProtectedKeyFault> {
        let mut buffer = Zeroizing::new(self.ciphertext.to_vec());
        self.cipher(passphrase)?
            .decrypt_in_place(&XNonce::from(self.nonce), &self.associated_data, &mut *buffer)
            .map_err(|_| ProtectedKeyFault::WrongPassphrase)?;
        let not_its_own =
            ProtectedKeyFault::Member { member: "x", wanted: "the public half of the key that is sealed" };
        let mut seed = Zeroizing::new([0; 32]);
        seed.copy_from_slice(buffer.get(..32).unwrap_or(&[0; 32]));
        let key = SecretKey::from_seed(&seed).map_err(|_| not_its_own.clone())?;
        if key.public_key() == self.public { Ok(key) } else { Err(not_its_own) }
    }

    /// Returns the public half.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// Returns the signer type that the approver signs as.
    pub fn signer_type(&self) -> SignerType {
        self.signer_type
    }

    /// Returns the cost of one guess.
    pub fn cost(&self) -> KdfCost {
        self.cost
    }

    /// Returns the text of the file, without a line feed.
    pub fn to_json(&self) -> Vec<u8> {
        self.text(true)
    }

    /// Returns the file's text as canonical JSON, without the ciphertext unless `is_whole`.
    fn text(&self, is_whole: bool) -> Vec<u8> {
        let encoded = |bytes: &[u8]| format!("\"{}\"", Base64UrlUnpadded::encode_string(bytes));
        let quoted = |text: &str| format!("\"{text}\"");
        let texts = [
            quoted(CIPHER),
            encoded(&self.ciphertext),
            quoted("Ed25519"),
            quoted(KDF),
            quoted(&self.public.id().to_string()),
            quoted("OKP"),
            self.cost.lanes.to_string(),
            self.cost.memory_kib.to_string(),
            encoded(&self.nonce),
            self.cost.passes.to_string(),
            encoded(&self.salt),
            quoted(self.signer_type.name()),
            quoted(VERSION),
            quoted(&self.public.to_base64url()),
        ];
        let members = MEMBERS.into_iter().zip(&texts);
        let members = members.filter(|(name, _)| is_whole || *name != "ciphertext");
        let members: Vec<_> = members
            .filter_map(|(name, text)| {
                let value = Value::parse(text.as_bytes(), &Limits::default()).ok()?;
                Some((name, ObjectPart::Value(value)))
            })
            .collect();
        let mut out = Vec::new();
        // Small numbers and texts of these characters always have a canonical form, so this cannot fail.
        let _ = canonical::write_object(&members, &mut out);
        out
    }

    /// Parses the text of a file, without the line feed at its end. Nothing is decrypted.
    pub fn read(text: &[u8]) -> Result<Self, ProtectedKeyFault> {
        let value = Value::parse(text, &Limits { max_depth: 8, max_bytes: 1 << 20 })
            .ok()
            .filter(|value| value.is_canonical() && value.text() == text)
            .ok_or(ProtectedKeyFault::NotCanonical)?;
        if let Some((name, _)) =
            value.members().find(|(name, _)| !MEMBERS.iter().any(|known| name.is_string(known)))
        {
            return Err(ProtectedKeyFault::Unknown { name: name.string().unwrap_or_default().into_owned() });
        }
        let file = ProtectedKeyMembers(value);
        file.expect_text("version", VERSION, "\"reenact-approver-key/1\"")?;
        file.expect_text("cipher", CIPHER, "\"xchacha20poly1305\"")?;
        file.expect_text("kdf", KDF, "\"argon2id\"")?;
        let x = "an Ed25519 public key";
        let public = match key::read(text).map(|file| file.keys) {
            Ok(keys) => keys.first().copied().filter(|key| !key.is_weak()),
            Err(_) => None,
        };
        let public = public.ok_or(ProtectedKeyFault::Member { member: "x", wanted: x })?;
        file.expect_text("kid", &public.id().to_string(), "the id of the key")?;
        let signer_type =
            value.member("signer_type").and_then(SignerType::of).ok_or(ProtectedKeyFault::Member {
                member: "signer_type",
                wanted: "human, delegate or automated",
            })?;
        let (min, max) = (KdfCost::MIN, KdfCost::MAX);
        let cost = KdfCost {
            memory_kib: file.number("memory_kib", min.memory_kib, max.memory_kib, "from 19456 to 1048576")?,
            passes: file.number("passes", min.passes, max.passes, "from 2 to 16")?,
            lanes: file.number("lanes", min.lanes, max.lanes, "from 1 to 16")?,
        };
        let mut beside = Vec::new();
        canonical::write_without(value, &["ciphertext"], &mut beside)
            .map_err(|_| ProtectedKeyFault::NotCanonical)?;
        Ok(Self {
            public,
            signer_type,
            cost,
            salt: file.bytes("salt", "16 bytes in base64url")?,
            nonce: file.bytes("nonce", "24 bytes in base64url")?,
            ciphertext: file.bytes("ciphertext", "48 bytes in base64url")?,
            associated_data: beside,
        })
    }

    /// Derives the key from the passphrase by Argon2id, and returns the cipher. The memory for it is allocated
    /// fallibly, and wiped.
    fn cipher(&self, passphrase: &Passphrase) -> Result<XChaCha20Poly1305, ProtectedKeyFault> {
        let KdfCost { memory_kib, passes, lanes } = self.cost;
        let memory = ProtectedKeyFault::Memory { mib: memory_kib / 1024 };
        let params = Params::new(memory_kib, passes, lanes, Some(32)).map_err(|_| memory.clone())?;
        let count = params.block_count();
        let mut blocks = Zeroizing::new(Vec::new());
        blocks.try_reserve_exact(count).map_err(|_| memory.clone())?;
        blocks.resize(count, Block::default());
        let mut key = Zeroizing::new([0; 32]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(&passphrase.0, &self.salt, &mut *key, &mut **blocks)
            .map_err(|_| memory)?;
        Ok(XChaCha20Poly1305::new((&*key).into()))
    }
}

/// Members of a file that is being parsed.
struct ProtectedKeyMembers<'a>(Value<'a>);

impl ProtectedKeyMembers<'_> {
    fn expect_text(
        &self,
        member: &'static str,
        text: &str,
        wanted: &'static str,
    ) -> Result<(), ProtectedKeyFault> {
        let is_it = self.0.member(member).is_some_and(|value| value.is_string(text));
        if is_it { Ok(()) } else { Err(ProtectedKeyFault::Member { member, wanted }) }
    }

    fn number(
        &self,
        member: &'static str,
        min: u32,
        max: u32,
        wanted: &'static str,
    ) -> Result<u32, ProtectedKeyFault> {
        let number = self.0.member(member).and_then(|value| value.unsigned_integer());
        let number = number.and_then(|number| u32::try_from(number).ok());
        number
            .filter(|number| (min..=max).contains(number))
            .ok_or(ProtectedKeyFault::Member { member, wanted })
    }

    fn bytes<const N: usize>(
        &self,
        member: &'static str,
        wanted: &'static str,
    ) -> Result<[u8; N], ProtectedKeyFault> {
        let fault = ProtectedKeyFault::Member { member, wanted };
        let mut bytes = [0; N];
        let text =
            self.0.member(member).and_then(|value| value.borrowed_string_bytes()).ok_or(fault.clone())?;
        match Base64UrlUnpadded::decode(text, &mut bytes) {
            Ok(decoded) if decoded.len() == N => Ok(bytes),
            _ => Err(fault),
        }
    }
}
