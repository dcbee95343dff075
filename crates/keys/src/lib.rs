//! Private keys, approvers' keys and the trust store, as they lie on the disk: closed to others, there whole or not at all.
//!
//! A [`SecretKey`] signs what a recorder seals; it is wiped when it is dropped and never shows itself. Keys lie in a [`KeyStore`],
//! those of approvers under a passphrase each. The [`TrustFile`] holds whom the user believes. Files are written by [`durable`],
//! which the recorder uses for its artifacts as well: it lies here because the recorder may use this crate and not the other way
//! round. Start reading at [`keystore`].
//!
//! | module | contents |
//! |---|---|
//! | [`secret`] | private keys: made, read, written, wiped |
//! | [`protected`] | private keys under a passphrase: those of approvers |
//! | [`keystore`] | the folder in which they are kept |
//! | [`trust_file`] | the file of keys that the user trusts, or was warned of |
//! | [`durable`] | files that are there whole or not at all |
//! | [`storage`] | the calls to the file system by which they are written, as a value |
//! | [`ownership`] | whose a file is, and who else may read or write it |
//! | [`randomness`] | randomness as a value |

pub mod durable;
pub mod keystore;
pub mod ownership;
pub mod protected;
pub mod randomness;
pub mod secret;
pub mod storage;
pub mod trust_file;

pub use keystore::{DefaultKey, KeyName, KeyStore, KeyStoreError};
pub use protected::{Passphrase, ProtectedFault};
pub use randomness::NoRandomness;
pub use secret::{SecretKey, SecretKeyError};
pub use trust_file::{TrustFile, TrustFileError};
