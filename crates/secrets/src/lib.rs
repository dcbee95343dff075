//! Finds secrets in bytes and masks them, before anything is written to disk.
//!
//! A [`RulePack`] is a versioned set of named rules that find keys, tokens and passwords in bytes.
//! A [`Redactor`] adds the values that are known to be secret and replaces every secret by the mark
//! `[masked:RULE:N]`. The same value gets the same number `N` wherever and however often it
//! appears, so that values which were equal before masking are equal after it.
//!
//! ```
//! use reenact_secrets::{Redactor, RulePack};
//!
//! let mut redactor = Redactor::new(RulePack::standard());
//! redactor.add_known("environment", b"correct horse");
//! let redacted = redactor.redact(b"say correct horse twice: correct horse");
//! assert_eq!(&redacted.bytes[..], b"say [masked:environment:1] twice: [masked:environment:1]");
//! ```
//!
//! A secret that is cut over the events of a stream is found in the joined text of those events; a
//! secret that is spelled with JSON escapes is found in its decoded form. A project adds rules of
//! its own as [`CustomRule`]s, and cannot remove any of ours.
//!
//! | module | purpose |
//! |---|---|
//! | `redactor` | [`Redactor`]: the entry point, which replaces secrets by marks |
//! | `search` | all secrets of a text, in every encoding that is looked through |
//! | `pack`, `pack_text` | [`RulePack`]: all rules behind one automaton, and their published text |
//! | `rule`, `rules`, `byte_class` | shapes of secrets, and the tables of shapes for each vendor |
//! | `custom` | [`CustomRule`]: the rules of a project |
//! | `name`, `assignment`, `value`, `entropy` | secrets that their names announce, such as `API_KEY=…` |
//! | [`command_line`], `cookie` | secrets of commands and their arguments, of variables, and of cookies |
//! | `url`, `pem`, `header`, `path`, [`http`] | secrets in URLs, PEM blocks, HTTP headers and queries |
//! | `known_search` | [`KnownValueSearch`]: texts that were masked before a value was known |
//! | `known_values`, `literals`, `base64` | values known beforehand, in every encoding |
//! | `escape`, `mapped_text`, `stream` | decoded and joined texts that map back to their source bytes |
//! | `mask_mark`, `mask_counts` | the marks themselves, and counts of them |
//! | `window` | [`RedactionWindow`]: texts that do not fit into memory |
//!
//! Start reading at [`Redactor::redact`], then `search::find_secrets`.

mod assignment;
mod base64;
mod byte_class;
pub mod command_line;
mod cookie;
mod custom;
mod entropy;
mod escape;
mod header;
pub mod http;
mod known_search;
mod known_values;
mod literals;
mod mapped_text;
mod mask_counts;
mod mask_mark;
mod name;
mod pack;
mod pack_text;
mod path;
mod pem;
mod redactor;
mod rule;
mod rules;
mod search;
mod stream;
mod url;
mod value;
mod window;

pub use custom::{Alphabet, CustomRule, RuleFault};
pub use http::MessageSide;
pub use known_search::KnownValueSearch;
pub use mask_counts::MaskCounts;
pub use mask_mark::renumbered;
pub use pack::{RulePack, SecretFinding};
pub use redactor::{MaskedSpan, RedactedText, Redactor};
pub use window::RedactionWindow;
