//! Private keys under a passphrase: those of approvers, who must be there when something is approved.
//!
//! The file is a public JWK with the private key sealed beside it, so that a recorder knows its approvers without any
//! passphrase. Everything in the file is authenticated with the key: whoever changes what an approver is, or how slow a guess
//! is, makes a file that no passphrase opens.

use core::fmt;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64ct::{Base64UrlUnpadded, Encoding};
use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305, XNonce};
use reenact_formats::key::{self, PublicKey};
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::seal::Signer;
use reenact_json::canonical::{self, Part};
use reenact_json::{Limits, Shown, Value};
use zeroize::Zeroizing;

use crate::randomness::{NoRandomness, Randomness, SystemRandomness};
use crate::secret::SecretKey;

/// The version of these files, as they name themselves.
const VERSION: &str = "reenact-approver-key/1";
const CIPHER: &str = "xchacha20poly1305";
const KDF: &str = "argon2id";

/// What opens a key. It is wiped when dropped and never shows itself.
pub struct Passphrase(Zeroizing<Vec<u8>>);

/// A text that protects nothing, or that nobody types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a passphrase has 8 to 1024 bytes")]
pub struct NotAPassphrase;

impl Passphrase {
    /// Takes a passphrase, as it was typed.
    pub fn new(typed: Zeroizing<Vec<u8>>) -> Result<Self, NotAPassphrase> {
        if (8..=1024).contains(&typed.len()) { Ok(Self(typed)) } else { Err(NotAPassphrase) }
    }

    /// Whether both are the same.
    pub fn is_same(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase")
    }
}

/// How much work one guess is (RFC 9106).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
    /// Lanes that could be computed side by side.
    pub lanes: u32,
}

impl Default for Cost {
    /// 64 MiB and three passes: the second choice of RFC 9106 §4, in one lane.
    fn default() -> Self {
        Self { memory_kib: 64 * 1024, passes: 3, lanes: 1 }
    }
}

impl Cost {
    /// The least that is accepted: 19 MiB and two passes.
    pub const LEAST: Self = Self { memory_kib: 19 * 1024, passes: 2, lanes: 1 };
    /// The most that is accepted: a file must not make its reader work for hours.
    pub const MOST: Self = Self { memory_kib: 1024 * 1024, passes: 16, lanes: 16 };
}

/// Why there is no approver's key. No text here shows any of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtectedFault {
    /// Not a text that we write.
    #[error("is no approver's key: it is not canonical JSON")]
    NotCanonical,
    /// A member that is missing, or is not what belongs there.
    #[error("is no approver's key that can be read: `{member}` must be {wanted}")]
    Member {
        /// Its name.
        member: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A member that no such file has.
    #[error("is no approver's key that can be read: it has the unknown member \"{}\"", Shown::new(.name))]
    Unknown {
        /// Its name.
        name: String,
    },
    /// The passphrase does not open it. A changed file cannot be told from a wrong passphrase.
    #[error("the passphrase is wrong, or somebody changed the file")]
    WrongPassphrase,
    /// The memory that a guess takes is not there.
    #[error("there is not enough memory to open it: it takes {mib} MiB")]
    Memory {
        /// How much.
        mib: u32,
    },
    /// No salt, no key.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

/// An approver's key, closed: all that can be known of it without its passphrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedKey {
    public: PublicKey,
    signer_type: SignerType,
    cost: Cost,
    salt: [u8; 16],
    nonce: [u8; 24],
    /// The key and the authenticator.
    sealed: [u8; 48],
    /// All of the file but what is sealed.
    beside: Vec<u8>,
}

/// Every member, in canonical order.
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
    /// Whether the text claims to be such a file.
    pub fn is_one(text: &[u8]) -> bool {
        let value = Value::parse(text, &Limits { depth: 8, bytes: 1 << 20 }).ok();
        value.and_then(|value| value.member("version")).is_some_and(|version| {
            version.string_bytes().is_some_and(|version| version.starts_with(b"reenact-approver-key/"))
        })
    }

    /// Closes a key with a passphrase.
    pub fn seal(
        key: &SecretKey,
        signer_type: SignerType,
        passphrase: &Passphrase,
        cost: Cost,
    ) -> Result<Self, ProtectedFault> {
        let (mut salt, mut nonce) = ([0; 16], [0; 24]);
        SystemRandomness.fill(&mut salt)?;
        SystemRandomness.fill(&mut nonce)?;
        let public = key.public_key();
        let mut closed = Self { public, signer_type, cost, salt, nonce, sealed: [0; 48], beside: Vec::new() };
        closed.beside = closed.text(false);
        let mut buffer = Zeroizing::new(Vec::with_capacity(48));
        buffer.extend_from_slice(key.seed());
        // A key of 32 bytes is never too long.
        closed
            .cipher(passphrase)?
            .encrypt_in_place(&XNonce::from(nonce), &closed.beside, &mut *buffer)
            .map_err(|_| ProtectedFault::WrongPassphrase)?;
        closed.sealed.copy_from_slice(buffer.get(..48).unwrap_or(&[0; 48]));
        Ok(closed)
    }

    /// Opens it.
    pub fn open(&self, passphrase: &Passphrase) -> Result<SecretKey, ProtectedFault> {
        let mut buffer = Zeroizing::new(self.sealed.to_vec());
        self.cipher(passphrase)?
            .decrypt_in_place(&XNonce::from(self.nonce), &self.beside, &mut *buffer)
            .map_err(|_| ProtectedFault::WrongPassphrase)?;
        let not_its_own =
            ProtectedFault::Member { member: "x", wanted: "the public half of the key that is sealed" };
        let mut seed = Zeroizing::new([0; 32]);
        seed.copy_from_slice(buffer.get(..32).unwrap_or(&[0; 32]));
        let key = SecretKey::from_seed(&seed).map_err(|_| not_its_own.clone())?;
        if key.public_key() == self.public { Ok(key) } else { Err(not_its_own) }
    }

    /// The public half.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// What the approver is.
    pub fn signer_type(&self) -> SignerType {
        self.signer_type
    }

    /// How much work one guess is.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The file's text, without a line feed.
    pub fn to_json(&self) -> Vec<u8> {
        self.text(true)
    }

    fn text(&self, is_whole: bool) -> Vec<u8> {
        let encoded = |bytes: &[u8]| format!("\"{}\"", Base64UrlUnpadded::encode_string(bytes));
        let quoted = |text: &str| format!("\"{text}\"");
        let texts = [
            quoted(CIPHER),
            encoded(&self.sealed),
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
                Some((name, Part::Value(value)))
            })
            .collect();
        let mut out = Vec::new();
        // Numbers of this size and texts of these letters all have a canonical form.
        let _ = canonical::write_object(&members, &mut out);
        out
    }

    /// Reads a file's text, without the line feed at its end.
    pub fn read(text: &[u8]) -> Result<Self, ProtectedFault> {
        let value = Value::parse(text, &Limits { depth: 8, bytes: 1 << 20 })
            .ok()
            .filter(|value| value.is_canonical() && value.text() == text)
            .ok_or(ProtectedFault::NotCanonical)?;
        if let Some((name, _)) =
            value.members().find(|(name, _)| !MEMBERS.iter().any(|known| name.is_string(known)))
        {
            return Err(ProtectedFault::Unknown { name: name.string().unwrap_or_default().into_owned() });
        }
        let file = File(value);
        file.is("version", VERSION, "\"reenact-approver-key/1\"")?;
        file.is("cipher", CIPHER, "\"xchacha20poly1305\"")?;
        file.is("kdf", KDF, "\"argon2id\"")?;
        let x = "an Ed25519 public key";
        let public = match key::read(text).map(|file| file.keys) {
            Ok(keys) => keys.first().copied().filter(|key| !key.is_weak()),
            Err(_) => None,
        };
        let public = public.ok_or(ProtectedFault::Member { member: "x", wanted: x })?;
        file.is("kid", &public.id().to_string(), "the id of the key")?;
        let signer_type =
            value.member("signer_type").and_then(SignerType::of).ok_or(ProtectedFault::Member {
                member: "signer_type",
                wanted: "human, delegate or automated",
            })?;
        let (least, most) = (Cost::LEAST, Cost::MOST);
        let cost = Cost {
            memory_kib: file.number(
                "memory_kib",
                least.memory_kib,
                most.memory_kib,
                "from 19456 to 1048576",
            )?,
            passes: file.number("passes", least.passes, most.passes, "from 2 to 16")?,
            lanes: file.number("lanes", least.lanes, most.lanes, "from 1 to 16")?,
        };
        let mut beside = Vec::new();
        canonical::write_without(value, &["ciphertext"], &mut beside)
            .map_err(|_| ProtectedFault::NotCanonical)?;
        Ok(Self {
            public,
            signer_type,
            cost,
            salt: file.bytes("salt", "16 bytes in base64url")?,
            nonce: file.bytes("nonce", "24 bytes in base64url")?,
            sealed: file.bytes("ciphertext", "48 bytes in base64url")?,
            beside,
        })
    }

    fn cipher(&self, passphrase: &Passphrase) -> Result<XChaCha20Poly1305, ProtectedFault> {
        let Cost { memory_kib, passes, lanes } = self.cost;
        let memory = ProtectedFault::Memory { mib: memory_kib / 1024 };
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

/// The members of a file.
struct File<'a>(Value<'a>);

impl File<'_> {
    fn is(&self, member: &'static str, text: &str, wanted: &'static str) -> Result<(), ProtectedFault> {
        let is_it = self.0.member(member).is_some_and(|value| value.is_string(text));
        if is_it { Ok(()) } else { Err(ProtectedFault::Member { member, wanted }) }
    }

    fn number(
        &self,
        member: &'static str,
        least: u32,
        most: u32,
        wanted: &'static str,
    ) -> Result<u32, ProtectedFault> {
        let number = self.0.member(member).and_then(|value| value.whole());
        let number = number.and_then(|number| u32::try_from(number).ok());
        number
            .filter(|number| (least..=most).contains(number))
            .ok_or(ProtectedFault::Member { member, wanted })
    }

    fn bytes<const N: usize>(
        &self,
        member: &'static str,
        wanted: &'static str,
    ) -> Result<[u8; N], ProtectedFault> {
        let fault = ProtectedFault::Member { member, wanted };
        let mut bytes = [0; N];
        let text = self.0.member(member).and_then(|value| value.unescaped()).ok_or(fault.clone())?;
        match Base64UrlUnpadded::decode(text, &mut bytes) {
            Ok(decoded) if decoded.len() == N => Ok(bytes),
            _ => Err(fault),
        }
    }
}
