//! Strict JSON for evidence.
//!
//! A signature covers a sequence of bytes, so this crate keeps bytes: one strict [`Scanner`] is the only entry point for
//! untrusted JSON, it yields [`Value`]s that are spans into the input, and no function builds a tree of the document.
//! A [`CanonicalForm`] says how a format writes a value before it hashes the text: this crate has [`Jcs`] (RFC 8785), each
//! format crate brings its own. Input that is already canonical is hashed in place, without a copy.
//!
//! ```
//! use reenact_json::{Jcs, Limits, Value, canonical};
//!
//! let value = Value::parse(br#"{ "b": 1.0, "a": "\u0041" }"#, &Limits::default()).unwrap();
//! assert_eq!(canonical::to_vec(value, Jcs).unwrap(), br#"{"a":"A","b":1}"#);
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`scanner`] | the strict pull scanner: every rule of RFC 8259 and I-JSON that evidence needs |
//! | [`value`] | a validated span of the input, and accessors for its string, number, members and elements |
//! | [`syntax`] | the errors of the scanner |
//! | [`limits`] | bounds on depth and size of a document |
//! | [`canonical`] | canonical bytes, written to a sink, in memory that does not grow with the text |
//! | [`scanned_text`], [`token`] | text that was scanned, and its tokens, for writers of other canonical forms |
//! | [`diff`] | the leaves in which two values differ, each with its path |
//! | [`digest`] | SHA-256, HMAC, and comparison in constant time |
//! | [`event_stream`] | framing of server-sent events and JSON lines |
//! | [`civil`] | dates as days since 1970-01-01 |
//! | [`path_pattern`] | patterns of JSON paths, looked for in a walk over a document |
//! | [`position`] | line, column and JSON path of an offset, computed only for error messages |
//! | [`shown`] | untrusted text, escaped so that it is safe to print |
//! | [`writer`] | JSON that this project composes itself, member by member |
//! | [`mod@print`] | the same for reports that are printed on a terminal |
//!
//! Start reading at [`Value::parse`], then [`scanner`] and [`canonical`].

mod block;
mod byte_scan;
pub mod canonical;
pub mod civil;
pub mod diff;
pub mod digest;
pub mod event_stream;
pub mod limits;
mod member_names;
mod name_order;
mod name_sort;
mod number;
mod open_containers;
pub mod path_pattern;
pub mod position;
mod prefix;
pub mod print;
pub mod scanned_text;
pub mod scanner;
pub mod shown;
mod string;
pub mod syntax;
pub mod token;
mod unescape;
mod unsorted_objects;
pub mod value;
pub mod writer;

pub use canonical::{CanonicalFault, CanonicalForm, Jcs};
pub use digest::Digest;
pub use limits::Limits;
pub use number::NumberFault;
pub use position::Position;
pub use prefix::is_broken_prefix;
pub use scanned_text::ScannedText;
pub use scanner::Scanner;
pub use shown::Shown;
pub use syntax::{SyntaxError, SyntaxFault};
pub use value::{Value, ValueKind};
