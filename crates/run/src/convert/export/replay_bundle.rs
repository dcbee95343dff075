//! A run → a Replay Bundle: a trace of prompts and responses, and a cassette for each exchange over HTTP whose two sides are JSON.

use std::collections::{BTreeMap, HashSet};

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::cassette::{VERSION, fingerprint};
use reenact_formats::replay_bundle::draft::{Coverage, ScrubPolicy};
use reenact_formats::replay_bundle::{CASSETTES, Held as HeldFile, NewFile, NewManifest, write as pack};
use reenact_formats::rer::EventType;
use reenact_json::{Limits, Value};
use reenact_wire::{Delivery, Vendor, shape};

use super::Exporting;
use super::account::{NO_CALL, lost, place};
use super::ids::Ids;
use super::json::{Object, quoted};
use super::model_io::{is_orphan, models, prompt, read, response, said};
use crate::convert::fault::ConvertError;
use crate::convert::loss::Losses;
use crate::convert::source::File;
use crate::event::Event;
use crate::exchange::{Answer, Body, Exchange, Held, Request};
use crate::run::Run;

/// The trace's name in the bundle.
pub const TRACE: &str = "files/trace.jsonl";

const ONCE: &str = "a trace answers each prompt once, and this one is answered before";
const ANSWERED: &str = "cassettes answer each request once, and this one is answered before";
const NO_PROMPT: &str = "the source holds only the hash of the prompt";
const WORDS: &str = "its words are kept, and where both sides are JSON its bodies; headers, times and the pieces of a stream are not";

/// What a bundle of a run holds, before it is packed.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// The lines of the trace.
    pub trace: Vec<u8>,
    /// Cassettes by their names.
    pub cassettes: BTreeMap<String, Vec<u8>>,
    /// Which requests can be replayed from it.
    pub coverage: Coverage,
}

pub(in crate::convert) fn write(
    run: &Run,
    how: &Exporting<'_>,
    losses: &mut Losses,
) -> Result<Vec<File>, ConvertError> {
    let parts = parts(run, losses);
    let mut files = vec![NewFile { name: TRACE, content: &parts.trace }];
    files.extend(parts.cassettes.iter().map(|(name, content)| NewFile { name, content }));
    let manifest = manifest(run, how, parts.coverage.clone());
    let bytes = pack(&manifest, &files, Vec::new())?;
    Ok(vec![File { name: "bundle.tar.gz".into(), bytes }])
}

/// What the manifest says of a run. No clock and no path of a machine is in it.
pub fn manifest(run: &Run, how: &Exporting<'_>, coverage: Coverage) -> NewManifest {
    let redaction = run.started().and_then(|started| started.member("redaction"));
    let mask = redaction.and_then(|redaction| redaction.member("pack")?.string());
    let mask = mask.filter(|mask| run.dialect() == FormatId::Rer && *mask != "none");
    let envelope = run.started().and_then(|started| started.member("envelope_hash")?.string());
    let (format, digest) = how.source;
    let source = Object::new().text("digest", &format!("sha256:{digest}")).text("format", format).close();
    NewManifest {
        assay_version: format!("reenact/{}", how.version),
        trace: HeldFile::File(TRACE.into()),
        policy_digest: envelope.and_then(|hash| reenact_json::Digest::from_hex(&hash)),
        coverage: Some(coverage),
        scrub_policy: Some(ScrubPolicy {
            include_prompts: Some(true),
            scrub_cassettes: Some(mask.is_some()),
            name: Some(mask.map_or("none".into(), |mask| mask.into_owned())),
        }),
        env: BTreeMap::from([("converted_from".into(), String::from_utf8_lossy(&source).into_owned())]),
        ..NewManifest::default()
    }
}

/// The trace and the cassettes of a run.
pub fn parts(run: &Run, losses: &mut Losses) -> Parts {
    let mut parts = Parts::default();
    let (mut prompts, mut ids) = (HashSet::new(), Ids::default());
    for event in run.events() {
        let is_exchange = matches!(
            event.kind(),
            Some(EventType::ModelCalled | EventType::ModelReturned)
                | Some(EventType::HttpCalled | EventType::HttpReturned)
        );
        if !is_exchange {
            frame(run, &event, losses);
        } else if is_orphan(&event) {
            losses.add(place(run, &event), NO_CALL);
        }
    }
    for exchange in models(run) {
        let own = exchange.step_id();
        let index = exchange.called.index();
        let own = if own.is_empty() { format!("request-{index}") } else { own.into_owned() };
        let (id, _) = ids.give(&own, index);
        let Some((request, answer)) = read(run, &exchange, losses) else {
            parts.miss(id, "its prompt or its answer is not recorded");
            continue;
        };
        let at = place(run, &exchange.called);
        let message = said(&request, &answer);
        if parts.cassette(
            run,
            &request,
            &answer,
            message.as_ref().map(|message| (message, &*id)),
            exchange.returned.as_ref(),
        ) {
            losses.add(at.clone(), WORDS);
        } else if run.dialect() == FormatId::Rer || answer.held != Held::Said {
            losses.add(at.clone(), "its words are kept, and nothing else of it");
        }
        if matches!(request.body, Body::Hash(_)) {
            losses.add(at, NO_PROMPT);
            parts.miss(id, "only the hash of its prompt is recorded");
            continue;
        }
        let (asked, _) = prompt(&request);
        if !prompts.insert(reenact_json::Digest::of(asked.as_bytes())) {
            losses.add(at, ONCE);
            parts.miss(id, "the same prompt is answered before");
            continue;
        }
        let response = response(&answer, message.as_ref());
        let meta = Object::new()
            .word("model", request.model.as_deref())
            .word("provider", Some(&request.provider))
            .close();
        let line = Object::new()
            .raw("schema_version", b"1")
            .text("type", "assay.trace")
            .text("request_id", &id)
            .text("prompt", &asked)
            .text("response", &response)
            .raw("meta", &meta)
            .close();
        parts.trace.extend_from_slice(&line);
        parts.trace.push(b'\n');
        parts.coverage.complete.push(id);
    }
    for exchange in run.exchanges().filter(|exchange| exchange.asked == crate::exchange::Asked::Http) {
        other(run, &exchange, &mut parts, losses);
    }
    parts
}

/// A request that is not to a model has a cassette, or no place.
fn other(run: &Run, exchange: &Exchange<'_>, parts: &mut Parts, losses: &mut Losses) {
    let Some((request, answer)) = read(run, exchange, losses) else { return };
    let at = place(run, &exchange.called);
    let before = parts.cassettes.len();
    if parts.cassette(run, &request, &answer, None, exchange.returned.as_ref()) {
        let is_first = parts.cassettes.len() > before;
        losses.add(at, if is_first { "its bodies are kept; headers and times are not" } else { ANSWERED });
    } else {
        losses.add(at, "the format keeps only JSON of what is not a model's");
    }
}

fn frame(run: &Run, event: &Event<'_>, losses: &mut Losses) {
    match (event.kind(), event.payload().value()) {
        (Some(EventType::RunStarted), Some(payload)) if run.dialect() == FormatId::Rer => {
            let kept = ["envelope_hash", "redaction", "salt", "source"];
            super::account::others(payload, &kept, &place(run, event).inside(".payload"), losses);
        }
        _ => lost(run, event, losses),
    }
}

impl Parts {
    fn miss(&mut self, id: String, why: &str) {
        self.coverage.reason.insert(id.clone(), why.into());
        self.coverage.incomplete.push(id);
    }

    /// Adds a cassette, if both sides are JSON that came over HTTP. A stream is one too: it is kept as the answer that it tells
    /// piece by piece.
    fn cassette(
        &mut self,
        run: &Run,
        request: &Request<'_>,
        answer: &Answer<'_>,
        message: Option<(&reenact_wire::Answer, &str)>,
        returned: Option<&Event<'_>>,
    ) -> bool {
        let limits = Limits { depth: 400, ..Limits::default() };
        let asked = match &request.body {
            Body::Bytes(bytes) | Body::Json(bytes) => Value::parse(bytes, &limits).ok(),
            Body::Members(_) | Body::Prompt(_) | Body::Hash(_) => None,
        };
        let is_told = |(told, _): &(&reenact_wire::Answer, &str)| told.complete && told.error.is_none();
        let told = message.filter(|_| answer.is_stream()).filter(is_told);
        let told = told.and_then(|(told, id)| shape::shaped(request.endpoint?, told, Delivery::Document, id));
        let body = told.as_ref().map_or(&*answer.body, |told| &told.body);
        let said = Value::parse(body, &limits).ok().filter(|_| answer.held != Held::Said);
        let (Some(asked), Some(said), Some(status)) = (asked, said, answer.status) else { return false };
        if request.path.is_empty() || !answer.complete {
            return false;
        }
        let url = url(run, request);
        let Ok(key) = fingerprint(&request.method, &url, asked) else { return false };
        let kind = request.endpoint.map_or("other", |endpoint| endpoint.cassette_kind());
        let provider = Vendor::of_name(&request.provider).map_or("unknown", Vendor::name);
        let time = returned.and_then(|returned| returned.time());
        let meta = Object::new()
            .word("recorded_at", time.as_deref())
            .word("model", request.model.as_deref())
            .text("provider", provider)
            .text("kind", kind)
            .close();
        let cassette = Object::new()
            .raw("schema_version", VERSION.to_string().as_bytes())
            .text("fingerprint", &key.to_string())
            .text("method", &request.method)
            .raw("url", &quoted(&url))
            .raw("request_body", asked.text())
            .number("status", Some(status))
            .raw("response_body", said.text())
            .raw("meta", &meta)
            .close();
        let short: String = key.to_string().chars().take(16).collect();
        let name = format!("{CASSETTES}{provider}/{kind}/{short}.json");
        // The first answer to a request is the one that is given; the real tool knows no second.
        self.cassettes.entry(name).or_insert(cassette);
        true
    }
}

/// Where a request went: the route's own address, if the record tells it.
pub(super) fn url(run: &Run, request: &Request<'_>) -> String {
    if request.path.contains("://") {
        return request.path.to_string();
    }
    let upstreams = run.metadata().and_then(|metadata| metadata.member("reenact")?.member("upstreams"));
    let upstream = upstreams.and_then(|upstreams| upstreams.member(&request.provider)?.string());
    let base = match (upstream, Vendor::of_name(&request.provider)) {
        (Some(upstream), _) => upstream.trim_end_matches('/').to_owned(),
        (None, Some(vendor)) => vendor.origin().into(),
        (None, None) => "https://upstream.invalid".into(),
    };
    // The paths of some routes begin with what their address ends with.
    let path = match base.rsplit_once('/') {
        Some((_, "v1")) => request.path.strip_prefix("/v1").unwrap_or(&request.path),
        _ => &request.path,
    };
    format!("{base}{path}")
}
