//! Test support: fixtures for the tests of every crate, scripted model vendors on loopback sockets, and a small agent.
//!
//! [`fixture`] has folders, keys and sealed artifacts (feature `fixtures`). All else is behind the feature `vendor`.
//!
//! A [`Vendor`] is a real server with a made-up mind: it speaks the wire formats of OpenAI and Anthropic, says what its
//! [`Script`] tells it to, and remembers every byte that it got and gave. The same script and the same requests give the
//! same bytes: no clock, no randomness.
//!
//! ```
//! use std::io::{Read, Write};
//! use reenact_testkit::{Script, Vendor};
//!
//! let vendor = Vendor::start(Script::echo())?;
//! let body = r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#;
//! let mut client = std::net::TcpStream::connect(vendor.address())?;
//! write!(
//!     client,
//!     "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
//!     body.len()
//! )?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert!(answer.contains("You said: hi"));
//! assert_eq!(vendor.requests()[0].body, body);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`fixture`] | folders, keys and sealed artifacts |
//! | [`server`] | the vendor: sockets, what came and went, gates to wait at |
//! | [`script`] | who decides what is answered: by order, by a function, or ready-made |
//! | [`request`] | a request as it came, and what it asks for |
//! | [`reply`] | what the model says, in whichever vendor's format the request wants |
//! | [`failure`] | what goes wrong, in each vendor's own shape |
//! | [`answer`] | an answer as bytes: pieces, gates, encodings, how it ends; and answers below HTTP |
//! | [`received`] | what a client's socket has of an answer, as far as it came |
//! | [`travel`] | the model and the tools of the story that the demo tells |
//! | [`agent`] | a small agent that books a flight under a budget |

#[cfg(feature = "vendor")]
pub mod agent;
#[cfg(feature = "vendor")]
pub mod answer;
#[cfg(feature = "vendor")]
mod encoding;
#[cfg(feature = "vendor")]
pub mod failure;
#[cfg(feature = "fixtures")]
pub mod fixture;
#[cfg(feature = "vendor")]
mod http1;
#[cfg(feature = "vendor")]
mod json;
#[cfg(feature = "vendor")]
pub mod received;
#[cfg(feature = "vendor")]
pub mod reply;
#[cfg(feature = "vendor")]
pub mod request;
#[cfg(feature = "vendor")]
pub mod script;
#[cfg(feature = "vendor")]
pub mod server;
#[cfg(feature = "vendor")]
mod shape;
#[cfg(feature = "vendor")]
pub mod travel;

#[cfg(feature = "vendor")]
pub use answer::{Answer, Encoding, Ending, Raw, Step};
#[cfg(feature = "vendor")]
pub use failure::Failure;
#[cfg(feature = "vendor")]
pub use received::Received;
#[cfg(feature = "vendor")]
pub use reenact_wire::Vendor as Kind;
#[cfg(feature = "vendor")]
pub use reply::Reply;
#[cfg(feature = "vendor")]
pub use request::Request;
#[cfg(feature = "vendor")]
pub use script::{Script, Turn};
#[cfg(feature = "vendor")]
pub use server::{Moment, Sent, SentEnd, Vendor, WaitError};
