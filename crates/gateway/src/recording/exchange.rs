//! One exchange while it runs: what came of the answer, and when. Whoever ends it first writes it down, once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode, Version};
use reenact_record::{Chunk, EndedBy, RawAnswer, StepId};
use reenact_wire::sse::SseReader;
use reenact_wire::{Answer, Endpoint, exchange};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::notebook::{Begun, Notebook, lock, pairs};
use crate::decode::{self, Decoder, Undecodable};
use crate::upstream::Failure;

/// Held by whatever may still record something; the gateway waits until nobody holds one.
pub(crate) type Running = mpsc::Sender<std::convert::Infallible>;

/// When how much of a body had come.
type Reads = Vec<(Duration, usize)>;

/// How an exchange ends.
pub(super) enum Ended {
    /// The vendor's answer was over.
    Eof,
    /// The last event of a stream was handed out, and its client went on.
    Settled,
    /// The client left.
    Client,
    /// The vendor broke off, or never began.
    Upstream(Failure),
}

/// One exchange.
pub(crate) struct Exchange {
    notebook: Arc<Notebook>,
    step: Option<StepId>,
    endpoint: Option<Endpoint>,
    begun: Instant,
    head: Option<Head>,
    /// The answer's body as it came, as far as it is kept.
    body: Vec<u8>,
    /// When how much of it had come.
    reads: Reads,
    is_too_long: bool,
    trailers: HeaderMap,
    stream: Option<Stream>,
    is_written: bool,
    /// Bytes came after the exchange was written.
    is_late: bool,
    _running: Running,
}

struct Head {
    status: StatusCode,
    version: &'static str,
    headers: HeaderMap,
    codings: Vec<String>,
}

/// A stream of events while it comes.
struct Stream {
    /// `None` when there is no coding.
    decoder: Option<Decoder>,
    events: SseReader,
    /// Whether its last event has come.
    has_settled: bool,
}

impl Exchange {
    pub(super) fn new(notebook: Arc<Notebook>, begun: Begun, at: Instant, running: Running) -> Self {
        Self {
            notebook,
            step: begun.step,
            endpoint: begun.endpoint,
            begun: at,
            head: None,
            body: Vec::new(),
            reads: Vec::new(),
            is_too_long: false,
            trailers: HeaderMap::new(),
            stream: None,
            is_written: false,
            is_late: false,
            _running: running,
        }
    }

    /// The answer's head has come. `announced` is how long the body says it will be.
    pub(super) fn head(&mut self, status: StatusCode, version: Version, headers: HeaderMap, announced: u64) {
        let codings = decode::codings(&headers);
        if is_stream(&headers) {
            let decoder = if codings.is_empty() { Ok(None) } else { self.decoder(&codings).map(Some) };
            // One that cannot be decoded is passed on, and noted when it ends.
            self.stream =
                decoder.ok().map(|decoder| Stream { decoder, events: SseReader::new(), has_settled: false });
        }
        self.body.reserve(usize::try_from(announced).unwrap_or(0).min(self.notebook.most).min(16 << 20));
        self.head = Some(Head { status, version: name(version), headers, codings });
    }

    /// A piece of the body has come. Says whether it ends a stream whose client may act on it now.
    pub(super) fn piece(&mut self, piece: &[u8]) -> bool {
        if self.is_written {
            if !std::mem::replace(&mut self.is_late, true) {
                self.notebook.gap("answer body", "it went on after its last event");
            }
            return false;
        }
        if self.step.is_none() || self.is_too_long {
            return false;
        }
        if piece.len() > self.notebook.most - self.body.len() {
            self.is_too_long = true;
            return false;
        }
        self.body.extend_from_slice(piece);
        self.reads.push((self.begun.elapsed(), self.body.len()));
        let Some(stream) = &mut self.stream else { return false };
        let settles = !stream.has_settled && stream.take(self.endpoint, piece);
        stream.has_settled |= settles;
        settles
    }

    pub(super) fn trailers(&mut self, trailers: HeaderMap) {
        self.trailers = trailers;
    }

    /// How much there is to do at the end.
    pub(super) fn size(&self) -> usize {
        self.body.len()
    }

    fn decoder(&self, codings: &[String]) -> Result<Decoder, Undecodable> {
        Decoder::new(codings, self.notebook.most)
    }

    /// Writes the exchange down, unless that was done.
    pub(super) fn finish(&mut self, ended: &Ended) {
        if std::mem::replace(&mut self.is_written, true) {
            return;
        }
        let Some(step) = self.step else { return };
        let latency = self.begun.elapsed();
        let Some(head) = self.head.take() else {
            if let Ended::Upstream(failure) = ended {
                self.notebook.error(failure.error_type(), &failure.to_string());
            }
            let ended_by = ended_by(ended);
            self.notebook.returned(&step, RawAnswer { ended_by, latency, ..RawAnswer::default() });
            return;
        };
        let raw = std::mem::take(&mut self.body);
        let reads = std::mem::take(&mut self.reads);
        let is_whole = matches!(ended, Ended::Eof) && !self.is_too_long;
        let is_stream = is_stream(&head.headers);
        let decoded = if head.codings.is_empty() {
            Ok(None)
        } else {
            self.decode(&head.codings, &raw, &reads, is_whole).map(Some)
        };
        let content_encoding = head.codings.join(", ");
        let is_decoded = matches!(decoded, Ok(Some(_)));
        if let Err(why) = &decoded {
            self.notebook.gap("answer body", &why.to_string());
        }
        let (decoded, decoded_reads) = decoded.ok().flatten().unzip();
        let body = decoded.as_deref().unwrap_or(&raw);
        let reads = decoded_reads.unwrap_or(reads);
        if self.is_too_long {
            self.notebook.gap("answer body", &format!("only its first {} bytes are kept", raw.len()));
        }
        let answer = self.read(&head, is_stream, body);
        let complete = match ended {
            Ended::Eof | Ended::Settled => !self.is_too_long,
            Ended::Client | Ended::Upstream(_) => is_stream && answer.as_ref().is_some_and(|it| it.complete),
        };
        let chunks = if is_stream || reads.len() > 1 { chunks(&reads) } else { Vec::new() };
        self.notebook.returned(
            &step,
            RawAnswer {
                status: Some(head.status.as_u16()),
                version: Some(head.version),
                headers: &pairs(&head.headers),
                trailers: &pairs(&self.trailers),
                body,
                content_encoding: is_decoded.then_some(&content_encoding),
                wire_sha256: Sha256::digest(&raw).into(),
                chunks: &chunks,
                complete,
                ended_by: ended_by(ended),
                ttft: reads.first().map(|(at, _)| *at),
                latency,
                delivered: None,
            },
        );
        if let Some(answer) = answer {
            self.notebook.answered(&answer);
        }
    }

    /// What the answer says, if it is one that we can read.
    fn read(&self, head: &Head, is_stream: bool, body: &[u8]) -> Option<Answer> {
        let endpoint = self.endpoint.filter(|endpoint| endpoint.calls_a_model())?;
        if head.status.is_success() { exchange::answer(endpoint, is_stream, body) } else { None }
    }

    /// The body without its codings, and when how much of that was to be had.
    fn decode(
        &self,
        codings: &[String],
        raw: &[u8],
        reads: &[(Duration, usize)],
        is_whole: bool,
    ) -> Result<(Vec<u8>, Reads), Undecodable> {
        let mut decoder = self.decoder(codings)?;
        let (mut body, mut decoded_reads, mut from) = (Vec::new(), Vec::new(), 0);
        for &(at, to) in reads {
            let before = body.len();
            decoder.push(raw.get(from..to).unwrap_or_default(), &mut body)?;
            from = to;
            if body.len() > before {
                decoded_reads.push((at, body.len()));
            }
        }
        // Some servers say a coding and send nothing, as in answers to HEAD.
        if is_whole && !raw.is_empty() {
            let before = body.len();
            decoder.finish(&mut body)?;
            if body.len() > before {
                decoded_reads.push((reads.last().map_or(Duration::ZERO, |(at, _)| *at), body.len()));
            }
        }
        Ok((body, decoded_reads))
    }
}

impl Stream {
    /// Takes a piece; says whether it brings the last event.
    fn take(&mut self, endpoint: Option<Endpoint>, piece: &[u8]) -> bool {
        let mut decoded = Vec::new();
        let piece = match &mut self.decoder {
            None => piece,
            Some(decoder) => {
                // Damage is noted when the answer ends.
                let _ = decoder.push(piece, &mut decoded);
                &decoded
            }
        };
        let events = self.events.push(piece);
        events.iter().any(|event| match endpoint {
            Some(Endpoint::ChatCompletions) => {
                event.data.as_deref().is_some_and(|data| data.trim() == "[DONE]")
            }
            Some(Endpoint::Messages) => matches!(event.name.as_str(), "message_stop" | "error"),
            Some(Endpoint::Responses) => matches!(
                event.name.as_str(),
                "response.completed" | "response.failed" | "response.incomplete" | "error"
            ),
            _ => false,
        })
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(exchange::is_stream)
}

fn chunks(reads: &[(Duration, usize)]) -> Vec<Chunk> {
    let mut from = 0;
    let chunk = |&(at, to): &(Duration, usize)| {
        let length = to - from;
        from = to;
        Chunk { at, length }
    };
    reads.iter().map(chunk).collect()
}

fn ended_by(ended: &Ended) -> EndedBy {
    match ended {
        Ended::Eof | Ended::Settled => EndedBy::Eof,
        Ended::Client => EndedBy::Client,
        Ended::Upstream(failure) => failure.ended_by(),
    }
}

fn name(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "0.9",
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        Version::HTTP_3 => "3",
        _ => "1.1",
    }
}

/// A hold on an exchange. When it is let go before the exchange was ended, the client has left.
pub(super) struct Handle(Arc<Mutex<Exchange>>);

impl Handle {
    pub(super) fn new(exchange: Exchange) -> Self {
        Self(Arc::new(Mutex::new(exchange)))
    }

    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Exchange) -> T) -> T {
        act(&mut lock(&self.0))
    }

    pub(super) fn share(&self) -> Arc<Mutex<Exchange>> {
        Arc::clone(&self.0)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        lock(&self.0).finish(&Ended::Client);
    }
}
