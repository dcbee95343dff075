//! Export to a Replay Bundle: a trace of prompts and responses, and a cassette for each exchange over HTTP
//! whose two sides are JSON.
//!
//! A line of the trace, and a cassette (each is one line in the bundle):
//!
//! ```json
//! {"schema_version":1,"type":"assay.trace","request_id":"s1","prompt":"…","response":"…",
//!  "meta":{"model":"gpt-5","provider":"openai"}}
//! {"schema_version":2,"fingerprint":"…","method":"POST","url":"https://…","request_body":{},
//!  "status":200,"response_body":{},"meta":{"recorded_at":"…","model":"gpt-5","provider":"openai","kind":"…"}}
//! ```
//!
//! Prompts are unique in a trace, and requests in the cassettes: of equal ones the first is kept, and the
//! others are listed as losses. Start reading at [`bundle_parts`].

use std::collections::{BTreeMap, HashSet};

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::cassette::{VERSION, fingerprint};
use reenact_formats::replay_bundle::new_manifest::{ReplayCoverage, ScrubPolicy};
use reenact_formats::replay_bundle::{
    CASSETTES_FOLDER, DocumentInclusion, NewBundleFile, NewManifest, write as pack,
};
use reenact_formats::rer::EventType;
use reenact_json::{Limits, Value};
use reenact_wire::{Delivery, Vendor, render};

use super::ExportContext;
use super::loss_notes::{NO_CALL, note_lost_event, source_path};
use super::model_io::{
    answer_message, is_orphan, model_exchanges, prompt_text, read_exchange, response_text,
};
use super::object_builder::{ObjectBuilder, quoted};
use super::unique_ids::UniqueIds;
use crate::convert::error::ConvertError;
use crate::convert::loss::Losses;
use crate::convert::source::RecordFile;
use crate::event::Event;
use crate::exchange::{AnswerDetail, Exchange, ExchangeAnswer, ExchangeRequest, ExchangeRequestBody};
use crate::run::Run;

/// Name of the trace in the bundle.
pub const TRACE: &str = "files/trace.jsonl";

/// Reason of prompts that are in the trace already.
const DUPLICATE_PROMPT: &str = "a trace answers each prompt once, and this one is answered before";
/// Reason of requests that have a cassette already.
const DUPLICATE_REQUEST: &str = "cassettes answer each request once, and this one is answered before";
/// Reason of exchanges whose prompt cannot be written.
const NO_PROMPT: &str = "the source holds only the hash of the prompt";
/// Reason of exchanges that have a cassette, for all else that was recorded of them.
const ONLY_WORDS_AND_BODIES: &str = "its words are kept, and where both sides are JSON its bodies; headers, times and the pieces of a stream are not";

/// Reason of exchanges whose answer did not come to its end.
const BROKEN_OFF: &str = "its answer broke off, and the format cannot say so";
/// Reason of errors behind which the same prompt was answered.
const ASKED_AGAIN: &str = "its answer is an error, and the same prompt is answered later";
/// Reason of errors that no cassette can hold.
const NO_STATUS: &str = "its answer is an error that is no JSON, and a trace has no status";

/// Content of a bundle, before it is packed.
#[derive(Debug, Clone, Default)]
pub struct ReplayBundleParts {
    /// Lines of the trace.
    pub trace: Vec<u8>,
    /// Cassettes by their names in the bundle.
    pub cassettes: BTreeMap<String, Vec<u8>>,
    /// Requests that can be replayed from the bundle, and those that cannot, with the reason.
    pub coverage: ReplayCoverage,
}

/// Writes a run as the archive of a bundle.
///
/// # Errors
/// If the writer of the format refuses a file.
pub(in crate::convert) fn write(
    run: &Run,
    context: &ExportContext<'_>,
    losses: &mut Losses,
) -> Result<Vec<RecordFile>, ConvertError> {
    let parts = bundle_parts(run, losses);
    let mut files = vec![NewBundleFile { name: TRACE, content: &parts.trace }];
    files.extend(parts.cassettes.iter().map(|(name, content)| NewBundleFile { name, content }));
    let manifest = new_manifest(run, context, parts.coverage.clone());
    let bytes = pack(&manifest, &files, Vec::new())?;
    Ok(vec![RecordFile { name: "bundle.tar.gz".into(), bytes }])
}

/// Makes the manifest of a run's bundle. It holds no time and no path of this machine, so that the bundle is
/// reproducible.
///
/// The scrub policy names the redaction rules of the run; the source of the conversion is the value of
/// `converted_from`.
pub fn new_manifest(run: &Run, context: &ExportContext<'_>, coverage: ReplayCoverage) -> NewManifest {
    let redaction = run.started().and_then(|started| started.member("redaction"));
    let mask = redaction.and_then(|redaction| redaction.member("pack")?.string());
    let mask = mask.filter(|mask| run.payload_format() == FormatId::Rer && *mask != "none");
    let envelope = run.started().and_then(|started| started.member("envelope_hash")?.string());
    let (format, digest) = context.source;
    let source =
        ObjectBuilder::new().string("digest", &format!("sha256:{digest}")).string("format", format).close();
    NewManifest {
        assay_version: format!("reenact/{}", context.version),
        trace: DocumentInclusion::File(TRACE.into()),
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

/// Makes the trace and the cassettes of a run; what has no place in either is added to the losses.
///
/// Each model exchange is a line of the trace if its prompt is recorded, and a cassette if both of its sides
/// are JSON. The coverage lists the exchanges that cannot be replayed.
pub fn bundle_parts(run: &Run, losses: &mut Losses) -> ReplayBundleParts {
    let mut parts = ReplayBundleParts::default();
    let (mut prompts, mut ids) = (HashSet::new(), UniqueIds::default());
    for event in run.events() {
        let is_exchange = matches!(
            event.kind(),
            Some(EventType::ModelCalled | EventType::ModelReturned)
                | Some(EventType::HttpCalled | EventType::HttpReturned)
        );
        if !is_exchange {
            note_frame_losses(run, &event, losses);
        } else if is_orphan(&event) {
            losses.add(source_path(run, &event), NO_CALL);
        }
    }
    let good = good_prompts(run);
    for exchange in model_exchanges(run) {
        let own = exchange.step_id();
        let index = exchange.called.index();
        let own = if own.is_empty() { format!("request-{index}") } else { own.into_owned() };
        let (id, _) = ids.assign(&own, index);
        let Some((request, answer)) = read_exchange(run, &exchange, losses) else {
            parts.mark_incomplete(id, "its prompt or its answer is not recorded");
            continue;
        };
        let at = source_path(run, &exchange.called);
        if !answer.complete {
            losses.add(at, BROKEN_OFF);
            parts.mark_incomplete(id, "its answer broke off, or never came");
            continue;
        }
        let is_error = is_error(&answer);
        if is_error && good.contains(&prompt_digest(&request)) {
            losses.add(at, ASKED_AGAIN);
            parts.mark_incomplete(id, "its answer is an error, and it was asked again");
            continue;
        }
        let message = answer_message(&request, &answer);
        let has_cassette = parts.add_cassette(
            run,
            &request,
            &answer,
            message.as_ref().map(|message| (message, &*id)),
            exchange.returned.as_ref(),
        );
        if is_error {
            // A trace has no status: its reader would take the error for an answer.
            losses.add(at, if has_cassette { ONLY_WORDS_AND_BODIES } else { NO_STATUS });
            match has_cassette {
                true => parts.coverage.complete.push(id),
                false => parts.mark_incomplete(id, "its answer is an error that is no JSON"),
            }
            continue;
        }
        if has_cassette {
            losses.add(at.clone(), ONLY_WORDS_AND_BODIES);
        } else if run.payload_format() == FormatId::Rer || answer.detail != AnswerDetail::Message {
            losses.add(at.clone(), "its words are kept, and nothing else of it");
        }
        if matches!(request.body, ExchangeRequestBody::Hash(_)) {
            losses.add(at, NO_PROMPT);
            parts.mark_incomplete(id, "only the hash of its prompt is recorded");
            continue;
        }
        let (asked, _) = prompt_text(&request);
        if !prompts.insert(prompt_digest(&request)) {
            losses.add(at, DUPLICATE_PROMPT);
            parts.mark_incomplete(id, "the same prompt is answered before");
            continue;
        }
        let response = response_text(&answer, message.as_ref());
        let meta = ObjectBuilder::new()
            .optional_string("model", request.model.as_deref())
            .optional_string("provider", Some(&request.provider))
            .close();
        let line = ObjectBuilder::new()
            .raw("schema_version", b"1")
            .string("type", "assay.trace")
            .string("request_id", &id)
            .string("prompt", &asked)
            .string("response", &response)
            .raw("meta", &meta)
            .close();
        parts.trace.extend_from_slice(&line);
        parts.trace.push(b'\n');
        parts.coverage.complete.push(id);
    }
    for exchange in run.exchanges().filter(|exchange| exchange.kind == crate::exchange::ExchangeKind::Http) {
        add_http_exchange(run, &exchange, &mut parts, losses);
    }
    parts
}

/// Returns true if the answer's status is that of an error.
fn is_error(answer: &ExchangeAnswer<'_>) -> bool {
    answer.status.is_some_and(|status| status >= 400)
}

/// Returns the digest of the words under which the trace has an exchange.
fn prompt_digest(request: &ExchangeRequest<'_>) -> reenact_json::Digest {
    reenact_json::Digest::of(prompt_text(request).0.as_bytes())
}

/// Returns the prompts that have an answer which is whole and no error.
fn good_prompts(run: &Run) -> HashSet<reenact_json::Digest> {
    let good = model_exchanges(run)
        .filter(|exchange| exchange.answer().is_ok_and(|answer| answer.complete && !is_error(&answer)));
    good.filter_map(|exchange| Some(prompt_digest(&exchange.request().ok()?))).collect()
}

/// Adds an exchange that is not with a model. It becomes a cassette if both sides are JSON, else it is lost.
fn add_http_exchange(run: &Run, exchange: &Exchange<'_>, parts: &mut ReplayBundleParts, losses: &mut Losses) {
    let Some((request, answer)) = read_exchange(run, exchange, losses) else { return };
    let at = source_path(run, &exchange.called);
    let before = parts.cassettes.len();
    if parts.add_cassette(run, &request, &answer, None, exchange.returned.as_ref()) {
        let is_first = parts.cassettes.len() > before;
        losses.add(
            at,
            if is_first { "its bodies are kept; headers and times are not" } else { DUPLICATE_REQUEST },
        );
    } else {
        losses.add(at, "the format keeps only JSON of what is not a model's");
    }
}

/// Adds an event that is no exchange to the losses; of the event that begins a run, the members that the
/// manifest does not keep.
fn note_frame_losses(run: &Run, event: &Event<'_>, losses: &mut Losses) {
    match (event.kind(), event.payload().value()) {
        (Some(EventType::RunStarted), Some(payload)) if run.payload_format() == FormatId::Rer => {
            let exported = ["envelope_hash", "redaction", "salt", "source"];
            super::loss_notes::note_other_members(
                payload,
                &exported,
                &source_path(run, event).child(".payload"),
                losses,
            );
        }
        _ => note_lost_event(run, event, losses),
    }
}

impl ReplayBundleParts {
    /// Marks a request as one that cannot be replayed from the bundle.
    fn mark_incomplete(&mut self, id: String, why: &str) {
        self.coverage.reason.insert(id.clone(), why.into());
        self.coverage.incomplete.push(id);
    }

    /// Adds a cassette, if both sides are JSON that came over HTTP, and returns true if so. A stream is kept as
    /// the document that its events add up to. `message` is the answer's message with the id for that document.
    ///
    /// The first cassette of a fingerprint is kept. Its name is `cassettes/<provider>/<kind>/<first 16 digits
    /// of the fingerprint>.json`.
    fn add_cassette(
        &mut self,
        run: &Run,
        request: &ExchangeRequest<'_>,
        answer: &ExchangeAnswer<'_>,
        message: Option<(&reenact_wire::ModelAnswer, &str)>,
        returned: Option<&Event<'_>>,
    ) -> bool {
        let limits = Limits { max_depth: 400, ..Limits::default() };
        let asked = match &request.body {
            ExchangeRequestBody::Bytes(bytes) | ExchangeRequestBody::Json(bytes) => {
                Value::parse(bytes, &limits).ok()
            }
            ExchangeRequestBody::Members(_)
            | ExchangeRequestBody::Prompt(_)
            | ExchangeRequestBody::Hash(_) => None,
        };
        let is_told =
            |(told, _): &(&reenact_wire::ModelAnswer, &str)| told.is_complete && told.error.is_none();
        let told = message.filter(|_| answer.is_stream()).filter(is_told);
        let told =
            told.and_then(|(told, id)| render::render(request.endpoint?, told, Delivery::Document, id));
        let body = told.as_ref().map_or(&*answer.body, |told| &told.body);
        let said = Value::parse(body, &limits).ok().filter(|_| answer.detail != AnswerDetail::Message);
        let (Some(asked), Some(said), Some(status)) = (asked, said, answer.status) else { return false };
        if request.path.is_empty() || !answer.complete {
            return false;
        }
        let url = request_url(run, request);
        let Ok(key) = fingerprint(&request.method, &url, asked) else { return false };
        let kind = request.endpoint.map_or("other", |endpoint| endpoint.cassette_kind());
        let provider = Vendor::of_name(&request.provider).map_or("unknown", Vendor::name);
        let time = returned.and_then(|returned| returned.time());
        let meta = ObjectBuilder::new()
            .optional_string("recorded_at", time.as_deref())
            .optional_string("model", request.model.as_deref())
            .string("provider", provider)
            .string("kind", kind)
            .close();
        let cassette = ObjectBuilder::new()
            .raw("schema_version", VERSION.to_string().as_bytes())
            .string("fingerprint", &key.to_string())
            .string("method", &request.method)
            .raw("url", &quoted(&url))
            .raw("request_body", asked.text())
            .optional_number("status", Some(status))
            .raw("response_body", said.text())
            .raw("meta", &meta)
            .close();
        let short: String = key.to_string().chars().take(16).collect();
        let name = format!("{CASSETTES_FOLDER}{provider}/{kind}/{short}.json");
        // The format's own tool serves one answer to a request: the first.
        self.cassettes.entry(name).or_insert(cassette);
        true
    }
}

/// Returns the URL of a request: at the route's upstream if the record names it, else at the vendor's own
/// address. A path that is a full URL is returned as it is.
pub(super) fn request_url(run: &Run, request: &ExchangeRequest<'_>) -> String {
    if request.path.contains("://") {
        return request.path.to_string();
    }
    let upstreams = run.metadata().and_then(|metadata| metadata.member("reenact")?.member("upstreams"));
    let upstream = upstreams.and_then(|upstreams| upstreams.member(&request.provider)?.string());
    let origin = || Vendor::of_name(&request.provider)?.origin();
    let base = match upstream {
        Some(upstream) => upstream.trim_end_matches('/').to_owned(),
        None => origin().unwrap_or("https://upstream.invalid").to_owned(),
    };
    // Some upstreams end with `/v1`, and paths begin with it.
    let path = match base.rsplit_once('/') {
        Some((_, "v1")) => request.path.strip_prefix("/v1").unwrap_or(&request.path),
        _ => &request.path,
    };
    format!("{base}{path}")
}
