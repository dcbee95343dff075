//! Sockets: what an agent says to its model passes through here, is recorded, and is served back.
//!
//! A [`Gateway`] listens on loopback under an address with a secret in it. When it records, each request is written down and
//! goes to its vendor, and the answer comes back as it comes: byte for byte, piece for piece, with a copy kept. When it
//! replays, recorded answers come back in the same way, and nothing goes out: there is not even a client that could.
//!
//! | module | what it holds |
//! |---|---|
//! | `gateway` | the listener and its connections |
//! | `arrival`, `refusal` | who is let in, and what the others are told |
//! | `client_socket`, `peer` | a client's socket: flushes, and clients that have gone |
//! | `recording` | an exchange on its way, told to `reenact-capture` |
//! | `replaying`, [`answers`] | answers without a vendor, piece for piece, and who gives them |
//! | `upstream` | the way to vendors: proxies, certificates, connections |
//! | `headers` | what ends with a connection |
//! | `route`, `token`, `work`, `error` | what a gateway is told |

pub mod answers;
mod arrival;
mod client_socket;
mod error;
mod gateway;
mod headers;
mod outgoing;
mod peer;
mod recording;
mod refusal;
mod replaying;
mod route;
mod token;
mod upstream;
mod work;

pub use answers::{Answers, ServedAnswer, ServedReply, ServedRequest};
pub use error::StartError;
pub use gateway::{Gateway, report_url};
pub use reenact_capture::{Policy, Unrecorded};
pub use route::{Route, UpstreamUrl, UpstreamUrlError};
pub use token::{Token, TokenError};
pub use upstream::{Environment, Note};
pub use work::{Limits, Pace, Recording, Replaying, Work};
