//! What must not be written down, and how it is masked.
//!
//! A [`Pack`] is a versioned set of named rules that find keys, tokens and passwords in bytes. A [`Redactor`]
//! adds the values that are known to be secret, and puts `[masked:RULE:N]` in their place: the same value
//! gets the same number, wherever and however often it appears, so that what was equal before is equal after.
//!
//! ```
//! use reenact_secrets::{Pack, Redactor};
//!
//! let mut redactor = Redactor::new(Pack::standard());
//! redactor.know("environment", b"correct horse");
//! let redacted = redactor.redact(b"say correct horse twice: correct horse");
//! assert_eq!(&redacted.bytes[..], b"say [masked:environment:1] twice: [masked:environment:1]");
//! ```
//!
//! What is cut over the events of a stream is found in what they tell together; what is spelled with escapes, as it is meant. A
//! project adds rules of its own as [`CustomRule`]s, and cannot take any away.

mod assignment;
mod base64;
mod chance;
mod class;
mod custom;
mod escape;
mod header;
pub mod http;
mod known;
mod literals;
mod name;
mod pack;
mod path;
mod pem;
mod placeholder;
mod reading;
mod redactor;
mod rule;
mod rules;
mod search;
mod stream;
mod tally;
mod text;
mod url;
mod value;
mod window;

pub use custom::{Alphabet, CustomRule, RuleFault};
pub use http::Side;
pub use pack::{Finding, Pack};
pub use placeholder::renumbered;
pub use redactor::{Cut, Redacted, Redactor};
pub use tally::Tally;
pub use window::Window;
