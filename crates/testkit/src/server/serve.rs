//! One connection over HTTP/1.1 or HTTP/2, as the client begins.

use std::io;
use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, HeaderValue, TRAILER};
use hyper::service::service_fn;
use hyper::{HeaderMap, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};

use super::body::{BodyLength, ScriptedBody};
use super::exchange_log::{AnswerLog, ExchangeLog, SentEnd};
use super::tracked_socket::ConnectionState;
use crate::answer::{AnswerEnding, ScriptedAnswer};
use crate::encoding;
use crate::http1::MAX_BODY_BYTES;
use crate::request::VendorRequest;

/// Reason why a connection ends without an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("the request broke off or is too large")]
    Request,
    #[error("the script hangs up")]
    HangUp,
    #[error("the script's answer cannot be sent: {0}")]
    Answer(#[from] hyper::http::Error),
    #[error("the script's answer cannot be encoded: {0}")]
    Encoding(#[from] io::Error),
}

/// Serves a connection until its client disconnects.
pub(crate) async fn serve<S>(
    socket: S,
    line: Arc<ConnectionState>,
    log: Arc<ExchangeLog>,
    decide: Arc<dyn Fn(&VendorRequest) -> ScriptedAnswer + Send + Sync>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |incoming| {
        let (line, log, decide) = (Arc::clone(&line), Arc::clone(&log), Arc::clone(&decide));
        async move {
            let incoming: hyper::Request<Incoming> = incoming;
            let is_http2 = incoming.version() == Version::HTTP_2;
            let (request, answer_log) = log.log_request(read_request(incoming).await?);
            response(decide(&request), answer_log, line, is_http2)
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Answers have no date: a script has no clock.
    builder.http1().auto_date_header(false);
    builder.http2().auto_date_header(false);
    // The script or the client decided how the connection ends; the error says nothing new.
    let _ = builder.serve_connection(TokioIo::new(socket), service).await;
}

/// Reads a request with its whole body.
async fn read_request(incoming: hyper::Request<Incoming>) -> Result<VendorRequest, NoAnswer> {
    let (head, body) = incoming.into_parts();
    let body = Limited::new(body, MAX_BODY_BYTES).collect().await.map_err(|_| NoAnswer::Request)?;
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    Ok(VendorRequest {
        index: 0,
        method: head.method.to_string(),
        path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        version: format!("{:?}", head.version),
        headers: headers.collect(),
        body: body.to_bytes(),
    })
}

/// Builds the response with its scripted body.
fn response(
    answer: ScriptedAnswer,
    mut answer_log: AnswerLog,
    line: Arc<ConnectionState>,
    is_http2: bool,
) -> Result<Response<ScriptedBody>, NoAnswer> {
    let Some(status) = answer.status else {
        answer_log.set_end(SentEnd::Cut);
        if answer.ending == AnswerEnding::Reset {
            line.reset_on_close();
        }
        return Err(NoAnswer::HangUp);
    };
    let mut response = Response::builder().status(status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    if !answer.encodings.is_empty() {
        let names: Vec<&str> = answer.encodings.iter().map(|encoding| encoding.name()).collect();
        response = response.header(CONTENT_ENCODING, names.join(", "));
    }
    if !answer.trailers.is_empty() {
        let names: Vec<&str> = answer.trailers.iter().map(|(name, _)| name.as_str()).collect();
        response = response.header(TRAILER, names.join(", "));
    }
    let has_length = response.headers_ref().is_some_and(|headers| headers.contains_key(CONTENT_LENGTH));
    let is_open = answer.is_stream() || !answer.trailers.is_empty() || answer.ending != AnswerEnding::Whole;
    let length = match (has_length, is_open) {
        (true, _) => BodyLength::Claimed,
        (false, true) => BodyLength::Unstated,
        (false, false) => BodyLength::Known,
    };
    let mut steps = answer.steps;
    for encoding in answer.encodings {
        steps = encoding::encode(steps, encoding, answer.ending == AnswerEnding::Whole)?;
    }
    let trailers = trailers(&answer.trailers)?;
    Ok(response.body(ScriptedBody::new(
        steps,
        trailers,
        answer.ending,
        answer_log,
        line,
        length,
        is_http2,
    ))?)
}

/// Parses the trailers; `None` if there are none.
fn trailers(trailers: &[(String, String)]) -> Result<Option<HeaderMap>, hyper::http::Error> {
    let mut map = HeaderMap::new();
    for (name, value) in trailers {
        map.append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    }
    Ok(Some(map).filter(|map| !map.is_empty()))
}
