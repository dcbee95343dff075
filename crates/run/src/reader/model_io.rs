//! Reader of Model IO: hashes of prompts, and the texts of answers.
//!
//! Recordings of its kernel (recording sessions) are read here, too, whether they were imported or not; they hold the prompts.
//!
//! An interaction of a session, and one of a recording:
//!
//! ```json
//! {"i":0,"prompt_hash":"sha256:…","response_content":"…","response_hash":"sha256:…","tokens_input":3,"latency_ms":612}
//! {"sequence":0,"prompt_hash":"…","prompt":"…","result":{"content":"…","tokens_input":3,"latency_ms":612}}
//! ```

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::model_io::read_content_hash;
use reenact_formats::rer::{Callee, EventType};
use reenact_json::{Digest, Limits, Value, ValueKind};
use reenact_wire::{Endpoint, ModelAnswer, Usage};

use super::{DocumentContext, RunReader};
use crate::convert::export::loss_notes::{document, note_other_members, widest_limits};
use crate::convert::loss::{Losses, SourcePath};
use crate::event::Event;
use crate::event_index::{ByteSpan, EventIndexBuilder, Pairing, ScannedEvent, WithheldEnd};
use crate::exchange::{AnswerDetail, ExchangeAnswer, ExchangeRequest, ExchangeRequestBody};
use crate::open::NotARun;
use crate::run::{Producer, Run, RunInner, RunParts};
use crate::unreadable::{
    UnreadablePayload, mistyped, optional_milliseconds, pick_members, required, required_text,
};

/// Reads a session: two events for each interaction, call and return, which both have the whole interaction as
/// payload.
///
/// A session has no run id, and its times are those of the document.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun> {
    let document = Value::parse(bytes, limits).map_err(|error| NotARun::Unreadable(error.describe(bytes)))?;
    let interactions = document.member("interactions").filter(|list| list.kind() == ValueKind::Array);
    let mut index = EventIndexBuilder::default();
    for interaction in interactions.ok_or(NotARun::NoEvents)?.elements() {
        let payload = ByteSpan::of(Some(interaction), bytes);
        for kind in [Some(EventType::ModelCalled), Some(EventType::ModelReturned)] {
            index.push(ScannedEvent {
                kind,
                payload,
                pairing: Pairing::NamedOrInOrder(Vec::new()),
                ..ScannedEvent::unknown()
            });
        }
    }
    let names = ["created_at_utc", "ended_at_utc", "adapter_id", "started_at", "ended_at"];
    let [created, ended_at_utc, adapter, started, ended] = pick_members(document, names);
    // A recording of the kernel has its times under names of their own.
    let (began, ended) = (created.or(started), ended_at_utc.or(ended));
    Ok(RunParts {
        producer: Producer { name: owned_string(adapter), ..Producer::default() },
        started_at: ByteSpan::of(began, bytes),
        ended_at: ByteSpan::of(ended, bytes),
        payload_format: FormatId::ModelIo,
        context: context(document),
        entries: index.finish(),
        ..RunParts::default()
    })
}

/// Returns the text of a value that is a string.
fn owned_string(value: Option<Value<'_>>) -> Option<String> {
    value?.string().map(|text| text.into_owned())
}

/// Returns provider and model, which a session names once for all of its interactions. The provider is the part
/// of the adapter's id after the slash, such as `reenact/anthropic`.
pub(super) fn context(document: Value<'_>) -> DocumentContext {
    let [adapter, model] = pick_members(document, ["adapter_id", "model_id"]);
    // `reenact/anthropic`
    let provider =
        owned_string(adapter).map(|adapter| adapter.rsplit('/').next().unwrap_or_default().to_owned());
    DocumentContext { provider, model: owned_string(model) }
}

/// Returns the number of an interaction. In an imported record the number lies in the first half; the second
/// half takes it from its partner.
pub(super) fn step_id<'r>(event: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
    let number = |payload: Value<'_>| {
        let [i, sequence] = pick_members(payload, ["i", "sequence"]);
        i.or(sequence)?.unsigned_integer().map(|i| Cow::Owned(i.to_string()))
    };
    let partner = || {
        let entry = event.run.parts.entries.get(event.partner()?)?;
        number(entry.payload.value(&event.run.bytes)?)
    };
    number(payload).or_else(partner)
}

/// Text that the kernel writes in place of a prompt that it does not keep.
const UNKEPT_PROMPT: &str = "[REDACTED]";

/// Reads the request of an interaction: the prompt if it is there, else its hash.
///
/// # Errors
/// If there is neither a prompt nor a hash of 64 hexadecimal digits after `sha256:`.
pub(super) fn request<'v>(
    item: Value<'v>,
    context: &DocumentContext,
) -> Result<ExchangeRequest<'v>, UnreadablePayload> {
    let [hash, prompt, sequence] = pick_members(item, ["prompt_hash", "prompt", "sequence"]);
    let prompt = prompt.and_then(|prompt| prompt.string()).filter(|prompt| prompt != UNKEPT_PROMPT);
    let body = match prompt {
        Some(prompt) => ExchangeRequestBody::Prompt(prompt),
        None => {
            let hash = required("prompt_hash", hash)?;
            // A recording of the kernel has the digits alone.
            let bare = || Digest::from_hex(&sequence.and(hash.string())?);
            let digest = read_content_hash(Some(hash)).or_else(bare);
            let wanted = "sha256: and 64 hexadecimal digits";
            ExchangeRequestBody::Hash(digest.ok_or_else(|| mistyped("prompt_hash", hash, wanted))?)
        }
    };
    Ok(ExchangeRequest {
        provider: Cow::Owned(context.provider.clone().unwrap_or_default()),
        model: context.model.clone().map(Cow::Owned),
        endpoint: None,
        method: Cow::default(),
        path: Cow::default(),
        headers: Vec::new(),
        body,
        match_key: None,
        source: None,
    })
}

/// Reads the answer of an interaction. A recording of the kernel has it in the member `result`.
///
/// # Errors
/// If there is no text.
pub(super) fn answer<'v>(
    item: Value<'v>,
    context: &DocumentContext,
) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
    let kernel_result = pick_members(item, ["result"])[0].filter(|result| result.kind() == ValueKind::Object);
    let [content, own, input, output, latency] = pick_members(
        kernel_result.unwrap_or(item),
        ["response_content", "content", "tokens_input", "tokens_output", "latency_ms"],
    );
    let content = if kernel_result.is_some() { own } else { content };
    let text = required_text("response_content", content)?.into_owned();
    // No hash covers the counts and no rule types them, so a count that is no number is ignored.
    let count = |value: Option<Value<'_>>| value.and_then(|value| value.unsigned_integer());
    let (input, output) = (count(input), count(output));
    let usage = (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        ..Usage::default()
    });
    let said = ModelAnswer {
        text,
        usage,
        model: context.model.clone(),
        is_complete: true,
        ..ModelAnswer::default()
    };
    Ok(ExchangeAnswer {
        recorded_message: Some(Box::new(said)),
        latency: optional_milliseconds("latency_ms", latency).ok().flatten(),
        ..ExchangeAnswer::complete_with(AnswerDetail::Message)
    })
}

/// Reader of Model IO: items are interactions, or their halves in an imported record.
pub(crate) struct ModelIoRunReader;

impl RunReader for ModelIoRunReader {
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun> {
        read(bytes, limits)
    }

    fn classify(&self, named: Option<EventType>, _: Value<'_>) -> (Option<EventType>, Pairing) {
        (named, Pairing::NamedOrInOrder(Vec::new()))
    }

    fn classify_withheld(&self, callee: Callee, _: bool) -> Option<WithheldEnd> {
        (callee == Callee::Model).then_some(WithheldEnd { callees: &[Callee::Model], names_repeat: false })
    }

    fn context(&self, document: Value<'_>) -> DocumentContext {
        context(document)
    }

    fn source_path(&self, event: &Event<'_>) -> SourcePath {
        SourcePath::Item("$.interactions[", event.index() / 2, "]".into())
    }

    fn note_document_losses(&self, run: &Run, target: FormatId, losses: &mut Losses) {
        let kept: &[&str] = match target {
            FormatId::ReplayJsonl => &["created_at_utc", "ended_at_utc"],
            _ => &["created_at_utc", "model_id", "adapter_id"],
        };
        let kept = [kept, &["interactions", "model_io_schema_version"]].concat();
        if let Ok(session) = Value::parse(document(run), &widest_limits()) {
            note_other_members(session, &kept, &SourcePath::At("$".into()), losses);
        }
    }

    fn step_id<'r>(&self, event: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        step_id(event, payload)
    }

    fn request<'v>(
        &self,
        item: Value<'v>,
        run: &'v RunInner,
    ) -> Result<ExchangeRequest<'v>, UnreadablePayload> {
        request(item, &run.parts.context)
    }

    fn answer<'v>(
        &self,
        item: Value<'v>,
        run: &'v RunInner,
        _: Option<Endpoint>,
    ) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
        answer(item, &run.parts.context)
    }
}
