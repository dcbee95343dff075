//! Strict JSON for evidence.
//!
//! What was signed is a sequence of bytes, so this crate keeps bytes: one strict [`Scanner`] is the only front door for
//! untrusted JSON, it yields [`Value`]s that are spans into the input, and nothing ever builds a tree of the document.
//! A [`CanonicalForm`] is a value: this crate has [`Jcs`], each format brings its own. Input that is already canonical is hashed
//! where it lies.
//!
//! ```
//! use reenact_json::{Jcs, Limits, Value, canonical};
//!
//! let value = Value::parse(br#"{ "b": 1.0, "a": "\u0041" }"#, &Limits::default()).unwrap();
//! assert_eq!(canonical::to_vec(value, Jcs).unwrap(), br#"{"a":"A","b":1}"#);
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`scanner`] | the strict pull scanner: every rule of RFC 8259 and I-JSON that evidence needs |
//! | [`value`] | a validated span, and what it says |
//! | [`canonical`] | canonical bytes, to a sink, in memory that does not grow with the text |
//! | [`scanned`], [`token`] | text that was scanned, and its pieces, for writers of other canonical forms |
//! | [`leaves`] | where two values differ, leaf by leaf |
//! | [`digest`] | SHA-256 and comparison in constant time |
//! | [`event_stream`] | framing of server-sent events and JSON lines |
//! | [`civil`] | dates as days since 1970 |
//! | [`position`] | line, column and JSON path of an offset, found only when someone asks |
//! | [`shown`] | untrusted text that is safe to print |
//! | [`writer`] | the JSON that we write ourselves |
//! | [`mod@print`] | the same for reports that may meet a terminal |

mod block;
pub mod canonical;
pub mod civil;
pub mod digest;
mod disorder;
pub mod event_stream;
pub mod leaves;
pub mod limits;
mod names;
mod number;
mod open;
mod order;
pub mod position;
pub mod print;
mod run;
pub mod scanned;
pub mod scanner;
pub mod shown;
mod spell;
mod string;
pub mod syntax;
pub mod token;
pub mod value;
pub mod writer;

pub use canonical::{CanonicalFault, CanonicalForm, Jcs};
pub use digest::Digest;
pub use limits::Limits;
pub use number::NumberFault;
pub use position::Position;
pub use scanned::Scanned;
pub use scanner::Scanner;
pub use shown::Shown;
pub use syntax::{SyntaxError, SyntaxFault};
pub use value::{Kind, Value};
