//! What was recorded, ready to be served.

use reenact_run::{Answer, Chunk, EndedBy, Unreadable};

/// A recorded answer. The body is served as it is here, without any coding but what its headers name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer {
    /// The recorded step that it answers.
    pub step_id: String,
    /// The status; `None` exactly if [`RecordedAnswer::end`] is [`End::NoAnswer`].
    pub status: Option<u16>,
    /// The version of HTTP that it came with.
    pub version: Option<String>,
    /// The headers, without those that speak of the connection, and of codings that were removed.
    pub headers: Vec<(String, String)>,
    /// What comes behind the body.
    pub trailers: Vec<(String, String)>,
    /// The body, as far as it came.
    pub body: Vec<u8>,
    /// When how much of the body came, together all of it; empty if it came at once.
    pub chunks: Vec<Chunk>,
    /// What to do behind the last byte.
    pub end: End,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// As it should.
    Complete,
    /// The vendor's side broke it off: serve what came, then break off.
    CutByUpstream,
    /// The agent left: serve what was recorded, then break off. It will have left by then, if it does as it did.
    ClientLeft,
    /// There never was an answer: close the connection without one.
    NoAnswer,
}

/// Headers that speak of one connection (RFC 9110 §7.6.1), or of a length that no longer holds.
const DROPPED: [&str; 9] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl RecordedAnswer {
    pub(crate) fn of(step_id: String, answer: Result<Answer<'_>, Unreadable>) -> Result<Self, Unreadable> {
        let answer = answer?;
        let end = match (answer.status, answer.complete, answer.ended_by) {
            (None, ..) => End::NoAnswer,
            (Some(_), true, _) => End::Complete,
            (Some(_), false, EndedBy::Client) => End::ClientLeft,
            (Some(_), false, _) => End::CutByUpstream,
        };
        let mut headers = kept(answer.headers);
        // A body that the recorder could not decode is still in its coding.
        if answer.content_encoding.is_some() {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
        }
        // An agent that left early got only the beginning: it will leave again by itself. One that was given something else
        // is given that.
        let (body, chunks) = match answer.delivered {
            Some(delivered) if !answer.body.starts_with(&delivered) => (delivered, Vec::new()),
            _ => (answer.body, answer.chunks),
        };
        Ok(Self {
            step_id,
            status: answer.status,
            version: answer.version.map(|version| version.into_owned()),
            headers,
            trailers: kept(answer.trailers),
            body: body.into_owned(),
            chunks,
            end,
        })
    }
}

fn kept(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let keep = |name: &str| !DROPPED.iter().any(|dropped| dropped.eq_ignore_ascii_case(name));
    headers.into_iter().filter(|(name, _)| keep(name)).collect()
}
