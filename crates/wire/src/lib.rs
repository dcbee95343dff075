//! HTTP interfaces of model vendors, parsed and written without sockets.
//!
//! Input is the bytes of a request or an answer. Output is their meaning: the model, the text, the tool calls,
//! the tokens, the error. Nothing here is stored; everything is computed from the recorded bytes on demand. Two
//! tables hold all that depends on a vendor: [`PROTOCOLS`] has a row for each HTTP interface, and [`VENDORS`] a
//! row for each vendor. A new interface is one `Protocol` implementation and one line in its table.
//!
//! | module | contents |
//! |---|---|
//! | [`protocol`] | the interfaces: paths, request and answer parsers, stream assembly |
//! | [`vendor`] | the vendors: addresses, environment variables, prices, error bodies |
//! | [`sse`] | streams of server-sent events, read without losing a byte |
//! | [`tool_calls`] | tool calls of an answer, found before the agent sees them |
//! | [`message`] | answers, tool calls and token counts, in one form for all vendors |
//! | [`exchange`] | parsers for a request and its answer |
//! | [`conversation`] | tool calls that an agent made between two requests |
//! | [`request_form`] | forms that a request may hold, and what stands outside of them |
//! | [`request_path`] | templates of paths, and their strict reading under an envelope |
//! | [`multipart`] | forms in parts, as uploads are sent |
//! | [`call_ids`] | ids for tool calls whose vendor gives none |
//! | [`key`] | match keys: equality of two requests |
//! | [`prompt`] | the user's words in a request |
//! | [`request_parts`] | parts of a request by who wrote them: the model, tools, or others |
//! | [`price`] | list prices of tokens, with their date |
//! | [`output_bound`] | the largest output that a request asks for |
//! | [`error_reply`] | errors made by reenact, in the shape that a vendor's client parses |
//! | [`render`] | answers written again in their vendor's shape |
//!
//! Start reading at [`protocol`], then [`exchange`].

pub mod call_ids;
pub mod conversation;
pub mod error_reply;
pub mod exchange;
pub mod key;
mod line_check;
pub mod message;
pub mod multipart;
pub mod output_bound;
pub mod price;
pub mod prompt;
pub mod protocol;
pub mod render;
pub mod request_form;
pub mod request_parts;
pub mod request_path;
pub mod tool_calls;
pub mod vendor;

pub use reenact_json::event_stream as sse;

pub use key::{MatchKeyParts, match_key};
pub use message::{CostFacts, ModelAnswer, ToolCall, ToolResult, Usage, VendorError};
pub use protocol::{Delivery, Endpoint, PROTOCOLS};
pub use vendor::{BaseVariable, VENDORS, Vendor};
