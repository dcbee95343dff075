//! Gateway: HTTP server between an agent and its model vendors, which records the traffic or replays it.
//!
//! A [`Gateway`] listens on loopback under an address with a secret in it. In recording mode each request is
//! recorded and sent to its vendor; the answer comes back byte for byte and piece for piece, and a copy is
//! kept. In replay mode recorded answers are served in the same way, and nothing can go out: there is no HTTP
//! client at all.
//!
//! A recorded exchange takes these steps:
//!
//! 1. `inbound` checks Host, token and route, and reads the request completely.
//! 2. `reenact-capture` logs the request; under an envelope its policy gate decides on it first.
//! 3. `upstream` sends the request to the vendor, over a pooled connection.
//! 4. `recording` logs each batch of the answer, and only then hands it on to the client. Under an envelope,
//!    tool calls are held back until they are decided on.
//! 5. The end of the answer is recorded before the client learns of it.
//!
//! | module | contents |
//! |---|---|
//! | `gateway` | the listener and its connections |
//! | `inbound`, `rejection` | which requests are accepted, and the answers to others |
//! | `client_socket`, `peer` | a client's socket: flushes, and clients that have disconnected |
//! | `recording` | exchanges that are passed on and told to `reenact-capture` |
//! | `replay`, [`answers`] | recorded answers served piece for piece, and the trait that finds them |
//! | `client_body` | the bodies that clients get |
//! | `upstream` | connections to vendors: pool, proxies, certificates |
//! | `headers` | headers that belong to one connection |
//! | `route`, `token`, `config`, `error` | settings of a gateway |
//!
//! Start reading at [`Gateway::start`], then `recording`.

pub mod answers;
mod client_body;
mod client_socket;
mod config;
mod error;
mod gateway;
mod headers;
mod inbound;
mod peer;
mod recording;
mod rejection;
mod replay;
mod route;
mod token;
mod upstream;

pub use answers::{AnswerSource, ForkReply, ForkSource, ServedAnswer, ServedReply, ServedRequest};
pub use config::{GatewayLimits, GatewayMode, RecordingConfig, ReplayConfig, ReplayPace};
pub use error::StartError;
pub use gateway::{Gateway, report_url};
pub use reenact_capture::{EnforcedPolicy, Unrecorded};
pub use route::{UpstreamUrl, UpstreamUrlError, VendorRoute};
pub use token::{GatewayToken, GatewayTokenError};
pub use upstream::{NetworkEnvironment, UpstreamWarning};
