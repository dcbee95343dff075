//! What model vendors say over HTTP, without sockets.
//!
//! Bytes in, meaning out: which model was asked, what it answered, which tools it wants, what it took, what went wrong.
//! Nothing here is stored: it is computed from the recorded bytes whenever someone asks.
//!
//! | module | what it holds |
//! |---|---|
//! | [`sse`] | streams of server-sent events, read without losing a byte |
//! | [`endpoint`] | whose interface a path belongs to |
//! | [`gate`] | the tools that an answer asks for, seen before its agent sees them |
//! | [`message`] | answers, tool calls and usage, whichever vendor's |
//! | [`exchange`] | a request and its answer, read by the rules of their endpoint |
//! | [`conversation`] | tool calls that an agent made between two requests |
//! | [`key`] | when two requests are the same |
//! | [`price`] | what tokens cost, on which day |
//! | [`refusal`] | an error in the shape that a vendor's own client understands |
//! | [`shape`] | an answer written anew in its vendor's shape |

pub mod conversation;
pub mod endpoint;
pub mod exchange;
pub mod gate;
pub mod key;
pub mod message;
pub mod price;
pub mod refusal;
pub mod shape;
pub mod sse;
mod vendor;

pub use endpoint::{Endpoint, Vendor};
pub use key::{KeyParts, match_key};
pub use message::{Answer, ToolCall, ToolResult, Usage, VendorError};
