//! Model IO: prompts by their hashes, and what was answered. Recordings of its kernel, which are imported, hold the prompts too.

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::model_io::read_content_hash;
use reenact_formats::rer::{Callee, EventType};
use reenact_json::{Kind as JsonKind, Limits, Value};
use reenact_wire::{Answer as Said, Endpoint, Usage};

use super::{Context, Dialect};
use crate::convert::export::account::{document, limits, others};
use crate::convert::loss::{Losses, Place};
use crate::event::Event;
use crate::exchange::{Answer, Body, Held, Request};
use crate::index::{Found, Hidden, Index, Span, Tie};
use crate::open::NotARun;
use crate::run::{Inner, Parts, Producer, Run};
use crate::unreadable::{Unreadable, milliseconds, mistyped, needed, needed_text, pick};

/// Reads what a run keeps of a session: two events for each interaction, which both carry all of it.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun> {
    let document = Value::parse(bytes, limits).map_err(|error| NotARun::Unreadable(error.describe(bytes)))?;
    let interactions = document.member("interactions").filter(|list| list.kind() == JsonKind::Array);
    let mut index = Index::default();
    for interaction in interactions.ok_or(NotARun::NoEvents)?.elements() {
        let payload = Span::of(Some(interaction), bytes);
        for kind in [Some(EventType::ModelCalled), Some(EventType::ModelReturned)] {
            index.push(Found { kind, payload, tie: Tie::InOrder(Vec::new()), ..Found::nothing() });
        }
    }
    let [began, ended, adapter] = pick(document, ["created_at_utc", "ended_at_utc", "adapter_id"]);
    Ok(Parts {
        producer: Producer { name: word(adapter), ..Producer::default() },
        began: Span::of(began, bytes),
        ended: Span::of(ended, bytes),
        dialect: FormatId::ModelIo,
        context: context(document),
        index: index.finish(),
        ..Parts::default()
    })
}

fn word(value: Option<Value<'_>>) -> Option<String> {
    value?.string().map(|text| text.into_owned())
}

/// Whom and which model, which a session says once for all of its interactions.
pub(super) fn context(document: Value<'_>) -> Context {
    let [adapter, model] = pick(document, ["adapter_id", "model_id"]);
    // `reenact/anthropic`
    let provider = word(adapter).map(|adapter| adapter.rsplit('/').next().unwrap_or_default().to_owned());
    Context { provider, model: word(model) }
}

/// The number of an interaction. The second half of one that was imported has that of the first.
pub(super) fn step_id<'r>(event: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
    let number = |payload: Value<'_>| {
        let [i, sequence] = pick(payload, ["i", "sequence"]);
        i.or(sequence)?.whole().map(|i| Cow::Owned(i.to_string()))
    };
    let partner = || {
        let entry = event.run.parts.index.get(event.partner()?)?;
        number(entry.payload.value(&event.run.bytes)?)
    };
    number(payload).or_else(partner)
}

pub(super) fn request<'v>(item: Value<'v>, context: &Context) -> Result<Request<'v>, Unreadable> {
    let [hash, prompt] = pick(item, ["prompt_hash", "prompt"]);
    let body = match prompt.and_then(|prompt| prompt.string()) {
        Some(prompt) => Body::Prompt(prompt),
        None => {
            let hash = needed("prompt_hash", hash)?;
            let digest = read_content_hash(Some(hash));
            let wanted = "sha256: and 64 hexadecimal digits";
            Body::Hash(digest.ok_or_else(|| mistyped("prompt_hash", hash, wanted))?)
        }
    };
    Ok(Request {
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

pub(super) fn answer<'v>(item: Value<'v>, context: &Context) -> Result<Answer<'v>, Unreadable> {
    let of_kernel = pick(item, ["result"])[0].filter(|result| result.kind() == JsonKind::Object);
    let [content, own, input, output, latency] = pick(
        of_kernel.unwrap_or(item),
        ["response_content", "content", "tokens_input", "tokens_output", "latency_ms"],
    );
    let content = if of_kernel.is_some() { own } else { content };
    let text = needed_text("response_content", content)?.into_owned();
    // No hash covers these, and no rule types them: what is no number says nothing.
    let count = |value: Option<Value<'_>>| value.and_then(|value| value.whole());
    let (input, output) = (count(input), count(output));
    let usage = (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        ..Usage::default()
    });
    let said = Said { text, usage, model: context.model.clone(), complete: true, ..Said::default() };
    Ok(Answer {
        said: Some(Box::new(said)),
        latency: milliseconds("latency_ms", latency).ok().flatten(),
        ..Answer::whole(Held::Said)
    })
}

/// Interactions, or their halves.
pub(crate) struct ModelIo;

impl Dialect for ModelIo {
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun> {
        read(bytes, limits)
    }

    fn mark(&self, named: Option<EventType>, _: Value<'_>) -> (Option<EventType>, Tie) {
        (named, Tie::InOrder(Vec::new()))
    }

    fn mark_withheld(&self, callee: Callee, _: bool) -> Option<Hidden> {
        (callee == Callee::Model).then_some(Hidden { actions: &[Callee::Model], names_repeat: false })
    }

    fn context(&self, document: Value<'_>) -> Context {
        context(document)
    }

    fn place(&self, event: &Event<'_>) -> Place {
        Place::Item("$.interactions[", event.index() / 2, "]".into())
    }

    fn around(&self, run: &Run, target: FormatId, losses: &mut Losses) {
        let kept: &[&str] = match target {
            FormatId::ReplayJsonl => &["created_at_utc", "ended_at_utc"],
            _ => &["created_at_utc", "model_id", "adapter_id"],
        };
        let kept = [kept, &["interactions", "model_io_schema_version"]].concat();
        if let Ok(session) = Value::parse(document(run), &limits()) {
            others(session, &kept, &Place::At("$".into()), losses);
        }
    }

    fn step_id<'r>(&self, event: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        step_id(event, payload)
    }

    fn request<'v>(&self, item: Value<'v>, run: &'v Inner) -> Result<Request<'v>, Unreadable> {
        request(item, &run.parts.context)
    }

    fn answer<'v>(
        &self,
        item: Value<'v>,
        run: &'v Inner,
        _: Option<Endpoint>,
    ) -> Result<Answer<'v>, Unreadable> {
        answer(item, &run.parts.context)
    }
}
