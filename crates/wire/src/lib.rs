//! What model vendors say over HTTP, without sockets.
//!
//! Bytes in, meaning out: which model was asked, what it answered, which tools it wants, what it took, what went wrong.
//! Nothing here is stored: it is computed from the recorded bytes whenever someone asks. Two tables carry it all: [`PROTOCOLS`], a
//! row for each interface, and [`VENDORS`], a row for each vendor.
//!
//! | module | what it holds |
//! |---|---|
//! | [`protocol`] | the interfaces: which request belongs to which, and what each of them says |
//! | [`vendor`] | the vendors: addresses, variables, prices, error bodies |
//! | [`sse`] | streams of server-sent events, read without losing a byte |
//! | [`gate`] | the tools that an answer asks for, seen before its agent sees them |
//! | [`message`] | answers, tool calls and usage, whichever vendor's |
//! | [`exchange`] | a request and its answer, read by the rules of their interface |
//! | [`conversation`] | tool calls that an agent made between two requests |
//! | [`call_ids`] | ids for tool calls whose vendor gives none |
//! | [`key`] | when two requests are the same |
//! | [`prompt`] | what a request asks, whichever interface it speaks |
//! | [`price`] | what tokens cost, on which day |
//! | [`refusal`] | an error in the shape that a vendor's own client understands |
//! | [`shape`] | an answer written anew in its vendor's shape |

pub mod call_ids;
pub mod conversation;
pub mod exchange;
pub mod gate;
pub mod key;
pub mod message;
pub mod price;
pub mod prompt;
pub mod protocol;
pub mod refusal;
pub mod shape;
pub mod vendor;

pub use reenact_json::event_stream as sse;

pub use key::{KeyParts, match_key};
pub use message::{Answer, ToolCall, ToolResult, Usage, VendorError};
pub use protocol::{Delivery, Endpoint, PROTOCOLS};
pub use vendor::{VENDORS, Vendor};
