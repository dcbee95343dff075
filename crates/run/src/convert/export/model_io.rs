//! Export to Model IO: each exchange with a model is an interaction. The session keeps the hash of the prompt
//! and the text of the answer.
//!
//! | member of the interaction | source |
//! |---|---|
//! | `prompt_hash` | hash of the user's last text in the request, or else of its body; a recorded hash as it is |
//! | `response_content` | text of the message, or else the body |
//! | `tokens_input`, `tokens_output` | usage of the message |
//! | `latency_ms` | latency of the answer |
//!
//! The functions that read an exchange for an export live here, and serve the other exporters, too.

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::model_io::writer::{
    ModelIoMode, ModelIoPrompt, ModelIoSession, ModelIoWriter, NewInteraction,
};
use reenact_formats::rer::EventType;
use reenact_json::{Digest, Value};
use reenact_wire::prompt;

use super::ExportContext;
use super::loss_notes::{
    NO_ANSWER, NO_CALL, UNREADABLE, WITHHELD, note_lost_event, source_path, widest_limits,
};
use crate::convert::error::ConvertError;
use crate::convert::event_time;
use crate::convert::loss::{Losses, SourcePath};
use crate::convert::source::RecordFile;
use crate::event::Event;
use crate::exchange::{
    AnswerDetail, Exchange, ExchangeAnswer, ExchangeKind, ExchangeRequest, ExchangeRequestBody,
};
use crate::run::Run;
use crate::unreadable::UnreadablePayload;

/// Choices of a Model IO session, which no record makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelIoOptions {
    /// Part of a request that is hashed as its prompt.
    pub prompt: ModelIoPromptPart,
    /// True for a pack: a folder of the session and of `run.json`, which names it.
    pub is_pack: bool,
}

/// Part of a request that is hashed as its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelIoPromptPart {
    /// Last text of the user, where the request has one; else the body.
    #[default]
    UserText,
    /// Whole body.
    Body,
}

/// Reason of prompts.
const ONLY_THE_HASH: &str = "only the hash of the prompt is kept";
/// Reason of answers.
const ONLY_THE_TEXT: &str = "only the text of the answer is kept, with its tokens and its time";
/// Reason of models other than the first.
const ONE_MODEL: &str = "a session names one model";
/// Reason of providers other than the first.
const ONE_ADAPTER: &str = "a session names one provider";

/// Writes a run as a session. A session names one model and one provider: the first that the run names.
///
/// # Errors
/// [`ConvertError::ModelIo`] if an interaction exceeds a limit of the format.
pub(in crate::convert) fn write(
    run: &Run,
    context: &ExportContext<'_>,
    losses: &mut Losses,
) -> Result<Vec<RecordFile>, ConvertError> {
    for event in run.events() {
        if !matches!(event.kind(), Some(EventType::ModelCalled | EventType::ModelReturned)) {
            note_lost_event(run, &event, losses);
        } else if is_orphan(&event) {
            losses.add(source_path(run, &event), NO_CALL);
        }
    }
    let named = |name: fn(&ExchangeRequest<'_>) -> Option<String>| {
        let mut requests = model_exchanges(run).filter_map(|exchange| exchange.request().ok());
        requests.find_map(|request| name(&request).filter(|name| !name.is_empty()))
    };
    let model_id = named(|request| request.model.as_deref().map(str::to_owned));
    let provider = named(|request| Some(request.provider.to_string()));
    let adapter_id = format!("reenact/{}", provider.as_deref().unwrap_or("unknown"));
    let created_at = run.started_at().as_deref().and_then(event_time::event_timestamp);
    let ended_at = run.ended_at().as_deref().and_then(event_time::event_timestamp);
    if model_id.is_none() {
        losses.add(SourcePath::At("model_id".into()), "the source names no model; \"unknown\" is written");
    }
    let session = ModelIoSession {
        adapter_id: &adapter_id,
        model_id: model_id.as_deref().unwrap_or("unknown"),
        mode: ModelIoMode::Record,
        created_at_utc: created_at.as_deref().or(Some(context.now)).filter(|time| time.ends_with('Z')),
        ended_at_utc: ended_at.as_deref(),
        stats: true,
    };
    let mut bytes = Vec::new();
    let limit = |interaction| move |fault| ConvertError::ModelIo { interaction, fault };
    let mut writer = ModelIoWriter::begin(session, &mut bytes).map_err(limit(0))?;
    let mut count = 0;
    for exchange in model_exchanges(run) {
        let Some((request, answer)) = read_exchange(run, &exchange, losses) else { continue };
        let at = source_path(run, &exchange.called);
        if request.model.as_deref().is_some_and(|model| Some(model) != model_id.as_deref()) {
            losses.add(at.child(".model"), ONE_MODEL);
        }
        if !request.provider.is_empty() && Some(&*request.provider) != provider.as_deref() {
            losses.add(at.child(".provider"), ONE_ADAPTER);
        }
        let (text, prompt_digest) = session_prompt(&request, context.model_io.prompt);
        if prompt_digest.is_none() {
            losses.add(at, ONLY_THE_HASH);
        }
        let message = answer_message(&request, &answer);
        let response = response_text(&answer, message.as_ref());
        if answer.detail != AnswerDetail::Message || run.payload_format() != FormatId::ReplayBundle {
            losses
                .add(source_path(run, exchange.returned.as_ref().unwrap_or(&exchange.called)), ONLY_THE_TEXT);
        }
        let usage = message.as_ref().and_then(|message| message.usage);
        writer
            .add(&NewInteraction {
                prompt: prompt_digest.map_or(ModelIoPrompt::Text(&text), ModelIoPrompt::Digest),
                response: &response,
                tokens_input: usage.map(|usage| usage.input_tokens),
                tokens_output: usage.map(|usage| usage.output_tokens),
                latency_ms: answer.latency.and_then(|latency| u64::try_from(latency.as_millis()).ok()),
            })
            .map_err(limit(count))?;
        count += 1;
    }
    writer.finish();
    Ok(vec![RecordFile { name: reenact_formats::model_io::pack::SESSION_FILE.into(), bytes }])
}

/// Session of a replay, and what it could not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedSession {
    /// The session, in canonical form.
    pub bytes: Vec<u8>,
    /// Number of interactions.
    pub interactions: usize,
    /// Number of interactions with another model than the one that the session names.
    pub of_other_models: usize,
}

/// Writes what a replay answered as a session in the mode `replay`: prompts by their hashes, and the recorded answers, in the order
/// in which they were given. `answered` has the index of the recorded request of each, and the hash of the prompt.
///
/// Latencies of the recorded run are left out; the tokens are those of the recorded answers.
///
/// # Errors
/// [`ConvertError::ModelIo`] if an interaction exceeds a limit of the format.
pub fn replayed_session(
    run: &Run,
    answered: &[(usize, Digest)],
    began: &str,
    ended: &str,
) -> Result<ReplayedSession, ConvertError> {
    let exchanges = || answered.iter().filter_map(|(index, prompt)| Some((run.exchange(*index)?, *prompt)));
    let requests = || exchanges().filter_map(|(exchange, _)| exchange.request().ok());
    let model =
        requests().find_map(|request| Some(request.model?.into_owned()).filter(|name| !name.is_empty()));
    let provider = requests().map(|request| request.provider.into_owned()).find(|name| !name.is_empty());
    let adapter_id = format!("reenact/{}", provider.as_deref().unwrap_or("unknown"));
    let session = ModelIoSession {
        adapter_id: &adapter_id,
        model_id: model.as_deref().unwrap_or("unknown"),
        mode: ModelIoMode::Replay,
        created_at_utc: Some(began),
        ended_at_utc: Some(ended),
        stats: true,
    };
    let mut bytes = Vec::new();
    let limit = |interaction| move |fault| ConvertError::ModelIo { interaction, fault };
    let mut writer = ModelIoWriter::begin(session, &mut bytes).map_err(limit(0))?;
    let (mut interactions, mut of_other_models) = (0, 0);
    for (exchange, prompt) in exchanges() {
        let (Ok(request), Ok(answer)) = (exchange.request(), exchange.answer()) else { continue };
        let message = answer_message(&request, &answer);
        let usage = message.as_ref().and_then(|message| message.usage);
        of_other_models +=
            usize::from(request.model.as_deref().is_some_and(|name| Some(name) != model.as_deref()));
        writer
            .add(&NewInteraction {
                prompt: ModelIoPrompt::Digest(prompt),
                response: &response_text(&answer, message.as_ref()),
                tokens_input: usage.map(|usage| usage.input_tokens),
                tokens_output: usage.map(|usage| usage.output_tokens),
                latency_ms: None,
            })
            .map_err(limit(interactions))?;
        interactions += 1;
    }
    writer.finish();
    Ok(ReplayedSession { bytes, interactions, of_other_models })
}

/// Returns true if an event is an answer whose request is not recorded, so that it is part of no exchange.
pub(super) fn is_orphan(event: &Event<'_>) -> bool {
    matches!(event.kind(), Some(EventType::ModelReturned | EventType::HttpReturned))
        && event.partner().is_none()
}

/// Returns the exchanges with models.
pub(super) fn model_exchanges(run: &Run) -> impl Iterator<Item = Exchange<'_>> {
    run.exchanges().filter(|exchange| exchange.kind == ExchangeKind::Model)
}

/// Reads both sides of an exchange. If one cannot be read, it is added to the losses, and the result is `None`.
pub(super) fn read_exchange<'r>(
    run: &Run,
    exchange: &Exchange<'r>,
    losses: &mut Losses,
) -> Option<(ExchangeRequest<'r>, ExchangeAnswer<'r>)> {
    let reason = |fault: UnreadablePayload| match fault {
        UnreadablePayload::Withheld => WITHHELD,
        UnreadablePayload::NoAnswer => NO_ANSWER,
        _ => UNREADABLE,
    };
    let at = |event| source_path(run, event);
    let request = exchange.request().map_err(|fault| losses.add(at(&exchange.called), reason(fault))).ok();
    let answer = exchange.answer().map_err(|fault| {
        losses.add(at(exchange.returned.as_ref().unwrap_or(&exchange.called)), reason(fault));
    });
    Some((request?, answer.ok()?))
}

/// Returns the message of an answer, given its request, without reading either again.
pub(super) fn answer_message(
    request: &ExchangeRequest<'_>,
    answer: &ExchangeAnswer<'_>,
) -> Option<reenact_wire::ModelAnswer> {
    match &answer.recorded_message {
        Some(said) => Some(reenact_wire::ModelAnswer::clone(said)),
        None => answer.message(request.endpoint?),
    }
}

/// Returns the prompt as text; or an empty text and the digest, if only the hash is recorded.
pub(super) fn prompt_text<'a>(request: &'a ExchangeRequest<'_>) -> (Cow<'a, str>, Option<Digest>) {
    match &request.body {
        ExchangeRequestBody::Hash(digest) => (Cow::default(), Some(*digest)),
        body => (String::from_utf8_lossy(body.bytes()), None),
    }
}

/// Returns the prompt that a session hashes, as text; or an empty text and the digest, if only the hash is recorded.
fn session_prompt<'a>(
    request: &'a ExchangeRequest<'_>,
    part: ModelIoPromptPart,
) -> (Cow<'a, str>, Option<Digest>) {
    let user_text = || {
        let body = Value::parse(request.body.bytes(), &widest_limits()).ok()?;
        prompt::last_user_text(body)
    };
    match part {
        ModelIoPromptPart::UserText if !matches!(request.body, ExchangeRequestBody::Hash(_)) => {
            user_text().map_or_else(|| prompt_text(request), |text| (Cow::Owned(text), None))
        }
        _ => prompt_text(request),
    }
}

/// Returns the text of an answer: that of its message, or else its body.
pub(super) fn response_text<'a>(
    answer: &'a ExchangeAnswer<'_>,
    message: Option<&'a reenact_wire::ModelAnswer>,
) -> Cow<'a, str> {
    match message {
        Some(message) if !message.text.is_empty() || answer.detail == AnswerDetail::Message => {
            Cow::Borrowed(&message.text)
        }
        _ => String::from_utf8_lossy(&answer.body),
    }
}
