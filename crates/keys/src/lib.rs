//! Private keys, approvers' keys and the trust store on the disk: closed to other users, and written whole or not at
//! all.
//!
//! A [`SecretKey`] signs what a recorder seals; its memory is wiped on drop, and it has no `Debug` output but its id.
//! Keys lie in a [`KeyStore`], those of approvers encrypted under a passphrase each. The [`TrustFile`] holds the keys
//! that the user trusts. Files are written by [`durable`], which the recorder uses for its artifacts as well: it lies
//! here because the recorder may depend on this crate and not the other way round.
//!
//! | module | contents |
//! |---|---|
//! | [`secret`] | private keys: made, read, written, wiped |
//! | [`protected`] | private keys of approvers, encrypted under a passphrase |
//! | [`keystore`] | the folder of private keys |
//! | [`trust_file`] | the file of keys that the user trusts, or was warned of |
//! | [`durable`] | files that are there whole or not at all |
//! | [`storage`] | the file system calls of the recorder, as a value |
//! | [`ownership`] | owner and permissions of a file |
//! | [`randomness`] | randomness as a value |
//!
//! Start reading at [`keystore`].

pub mod durable;
pub mod keystore;
pub mod ownership;
pub mod protected;
pub mod randomness;
pub mod secret;
pub mod storage;
pub mod trust_file;

pub use keystore::{DefaultKey, KeyName, KeyStore, KeyStoreError};
pub use protected::{Passphrase, ProtectedKeyFault};
pub use randomness::RandomnessError;
pub use secret::{SecretKey, SecretKeyError};
pub use trust_file::{TrustFile, TrustFileError};
