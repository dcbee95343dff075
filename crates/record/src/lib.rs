//! What recording needs and verifying must never have: secrets, and files that survive a crash.
//!
//! | module | what it holds |
//! |---|---|
//! | [`secret`] | private keys: made, read, written, wiped |
//! | [`keystore`] | the folder in which they are kept, closed to others |
//! | [`durable`] | files that are there whole or not at all |

pub mod durable;
pub mod keystore;
pub mod secret;

pub use keystore::{KeyName, KeyStore, KeyStoreError};
pub use secret::{SecretKey, SecretKeyError};
