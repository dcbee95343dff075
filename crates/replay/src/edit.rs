//! Edited answers: the recorded answer of one step is replaced, and the run goes on from there.
//!
//! What replaces it is a whole body in its vendor's shape, or words, which become the message of a body. Parts that the vendor signed
//! or encrypted may stay or go, but not change: the vendor gets them back with the next request, and would refuse it. Start reading at
//! `edited_answer`.

use std::borrow::Cow;

use reenact_run::{AnswerDetail, EndedBy, Exchange, ExchangeAnswer, UnreadablePayload};
use reenact_wire::ModelAnswer;

use crate::answer::{NotServed, RecordedAnswer};
use crate::request::PlayerRequest;
use crate::signed_part::signed_parts;

/// Reason for which an answer cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The step is no request, or the run has no such step.
    #[error("it is no step with a request and an answer")]
    NoExchange,
    /// The step lies behind the one from which the run goes on live.
    #[error("it lies behind the step from which the run goes on live, so that its answer is never given")]
    BehindFork,
    /// The recorded request or answer cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadablePayload),
    /// No answer in the shape of the vendor can be made of it.
    #[error("an answer to this request cannot be made: {0}")]
    NotServed(#[from] NotServed),
    /// The content is not UTF-8.
    #[error("the new answer is not UTF-8")]
    NotText,
    /// The request is to no known interface that calls a model.
    #[error("this request asks no model by an interface that is known, so that its answer cannot be written")]
    NoModel,
    /// A signed part was changed, or comes from another answer.
    #[error(
        "a part of the new answer is signed or encrypted by its vendor, and is not as in the recorded answer: the vendor would refuse the next request, which returns it. Leave that part as it was recorded, or leave it out"
    )]
    SignedPart,
    /// A signed part would be lost, since the body is a document and the request asks for a stream, or the other way round.
    #[error(
        "the agent asks for this answer in another form, a stream or a document, into which its signed parts cannot be written: give it in the form in which it was recorded, or as plain text"
    )]
    SignedPartLost,
}

/// Returns the content as it is given: without the line feed that editors put at the end of plain text.
fn words(content: &str) -> &str {
    content.strip_suffix('\n').map_or(content, |words| words.strip_suffix('\r').unwrap_or(words))
}

/// Makes the answer to a request of new content. `recorded` is the answer that it replaces, whose headers stay.
///
/// # Errors
/// If no answer can be made of it.
pub(crate) fn edited_answer(
    incoming: &PlayerRequest<'_>,
    step_id: String,
    recorded: ExchangeAnswer<'_>,
    content: &str,
) -> Result<RecordedAnswer, NotServed> {
    let message =
        ModelAnswer { text: words(content).to_owned(), is_complete: true, ..ModelAnswer::default() };
    let answer = ExchangeAnswer {
        status: Some(200),
        body: Cow::Borrowed(b""),
        detail: AnswerDetail::Message,
        recorded_message: Some(Box::new(message)),
        chunks: Vec::new(),
        complete: true,
        ended_by: EndedBy::Eof,
        delivered: None,
        trailers: Vec::new(),
        // Whatever the coding was, the new body has none.
        content_encoding: Some(Cow::Borrowed("")),
        ..recorded
    };
    RecordedAnswer::for_request(incoming, step_id, Ok(answer))
}

/// Checks that new content can be given in place of the recorded answer of an exchange.
///
/// # Errors
/// If no answer can be made of it, or a part that the vendor signed is not as it was recorded.
pub(crate) fn check_edit(exchange: &Exchange<'_>, content: &str) -> Result<(), EditError> {
    let (request, recorded) = (exchange.request()?, exchange.answer()?);
    let endpoint = request.endpoint.filter(|endpoint| endpoint.can_ask_for_tools());
    endpoint.ok_or(EditError::NoModel)?;
    let body = request.body.bytes().to_vec();
    let incoming = PlayerRequest {
        provider: &request.provider,
        method: &request.method,
        path: &request.path,
        headers: &[],
        body: &body,
    };
    let kept = signed_parts(&recorded.body);
    let new = signed_parts(content.as_bytes());
    if new.iter().any(|part| !kept.contains(part)) {
        return Err(EditError::SignedPart);
    }
    let answer = edited_answer(&incoming, exchange.step_id().into_owned(), recorded, content)?;
    let served = signed_parts(&answer.body);
    match new.iter().all(|part| served.contains(part)) {
        true => Ok(()),
        false => Err(EditError::SignedPartLost),
    }
}
