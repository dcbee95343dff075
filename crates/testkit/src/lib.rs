//! Test support: fixtures for the tests of every crate, scripted model vendors on loopback sockets,
//! and a small agent.
//!
//! [`fixture`] has folders, keys and sealed artifacts (feature `fixtures`). All else is behind the
//! feature `vendor`.
//!
//! A [`ScriptedVendor`] is a real HTTP server with prepared answers: it speaks the wire formats of
//! OpenAI, Anthropic and Gemini, answers as its [`Script`] says, and logs every byte that it
//! received and sent. The same script and the same requests give the same bytes: no clock, no
//! randomness.
//!
//! ```
//! use std::io::{Read, Write};
//! use reenact_testkit::{Script, ScriptedVendor};
//!
//! let vendor = ScriptedVendor::start(Script::echo())?;
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
//! | module | purpose |
//! |---|---|
//! | [`fixture`] | folders, keys and sealed artifacts |
//! | [`server`] | the vendor: sockets, the log of exchanges, gates to wait at |
//! | [`script`] | choice of answers: in order, by a function, or ready-made |
//! | [`task`] | a model that leads an agent through a short task with a tool |
//! | [`request`] | a received request, and what it asks for |
//! | [`reply`] | a model's reply, rendered in the format that the request wants |
//! | [`failure`] | errors in each vendor's own format |
//! | [`answer`] | an answer as bytes: pieces, gates, encodings, its end; and answers below HTTP |
//! | [`received`] | the part of an answer that a client's socket has received |
//! | [`travel`] | the model and the tools of the demo's story |
//! | [`agent`] | a small agent that books a flight under a budget |
//!
//! Start reading at [`ScriptedVendor::start`] and [`Script`].

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
pub mod task;
#[cfg(feature = "vendor")]
pub mod travel;
#[cfg(feature = "vendor")]
mod vendor_format;

#[cfg(feature = "vendor")]
pub use answer::{AnswerEnding, Encoding, RawBytesAnswer, ScriptStep, ScriptedAnswer};
#[cfg(feature = "vendor")]
pub use failure::VendorFailure;
#[cfg(feature = "vendor")]
pub use received::ReceivedAnswer;
#[cfg(feature = "vendor")]
pub use reenact_wire::Vendor;
#[cfg(feature = "vendor")]
pub use reply::ScriptedReply;
#[cfg(feature = "vendor")]
pub use request::VendorRequest;
#[cfg(feature = "vendor")]
pub use script::{Script, ScriptedTurn};
#[cfg(feature = "vendor")]
pub use server::{ScriptedVendor, SentAnswer, SentEnd, WaitCondition, WaitError};
#[cfg(feature = "vendor")]
pub use task::{AgentTask, TaskReply, TaskTurn};
