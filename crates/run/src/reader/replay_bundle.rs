//! Reader of Replay Bundles: exchanges come from the trace and from cassettes.
//!
//! In a trace of version 1 each line is a prompt with its response; in version 2, `episode_start` and
//! `episode_end` are the two. A cassette is a request over HTTP with its answer, both JSON. The format's own
//! tool reads the trace alone.
//!
//! ```json
//! {"schema_version":1,"type":"assay.trace","request_id":"r1","prompt":"…","response":"…","meta":{"model":"…"}}
//! {"type":"episode_start","episode_id":"t1","input":{"prompt":"…"}}
//! {"type":"tool_call","episode_id":"t1","step_id":"y","tool_name":"now","args":{},"result":{}}
//! {"type":"episode_end","episode_id":"t1","final_output":"…"}
//! {"schema_version":2,"fingerprint":"…","method":"POST","url":"https://…","request_body":{},"status":200,"response_body":{}}
//! ```
//!
//! The last line is a cassette, which is a file of its own. Start reading at `read` and `BundleItem`.

use std::borrow::Cow;

use reenact_formats::replay_bundle::cassette::CassetteView;
use reenact_formats::replay_bundle::{CASSETTES_FOLDER, MANIFEST, ManifestView, manifest_limits};
use reenact_formats::rer::EventType;
use reenact_formats::{FormatId, Unrecognised};
use reenact_json::{Limits, Value, ValueKind, print};
use reenact_wire::{Endpoint, ModelAnswer, VENDORS, Vendor, exchange};

use super::RunReader;
use super::replay_jsonl::lines;
use super::rer::read_status;
use crate::bundled_outcome::BundledOutcome;
use crate::convert::loss;
use crate::event::Event;
use crate::event_index::{ByteSpan, EventIndexBuilder, Pairing, ScannedEvent};
use crate::exchange::{AnswerDetail, ExchangeAnswer, ExchangeRequest, ExchangeRequestBody};
use crate::open::NotARun;
use crate::reported_outcome::ReportedOutcome;
use crate::run::{Producer, Run, RunInner, RunParts};
use crate::tool::{JsonText, RecordedToolCall, RecordedToolResult};
use crate::unreadable::{UnreadablePayload, optional_text, pick_members, required, required_text};

/// Reads the files of a bundle, and concatenates them, each after its name as a JSON string.
///
/// The first event is the manifest; then come the lines of the trace, and then the cassettes, sorted by name.
/// `trace` names the trace if the manifest does not.
///
/// # Errors
/// If there is no manifest, or it is not JSON.
pub(crate) fn read(
    files: Vec<(String, Vec<u8>)>,
    trace: Option<&str>,
    limits: &Limits,
) -> Result<(RunParts, Vec<u8>), NotARun> {
    let mut index = EventIndexBuilder::default();
    let concatenated = ConcatenatedFiles::new(files, 0);
    let mut parts = RunParts { payload_format: FormatId::ReplayBundle, ..RunParts::default() };
    let (name, manifest) = concatenated.find(MANIFEST).ok_or(NotARun::NoEvents)?;
    let document = Value::parse(concatenated.content(manifest), &manifest_limits());
    let document =
        document.map_err(|error| NotARun::Unreadable(error.describe(concatenated.content(manifest))))?;
    let view = ManifestView::of(document);
    if let Some(producer) = owned_string(view.assay_version) {
        let (name, version) = match producer.split_once('/') {
            Some((name, version)) => (name.to_owned(), version.to_owned()),
            None => ("assay".to_owned(), producer),
        };
        parts.producer = Producer { name: Some(name), version: Some(version), key_id: None };
    }
    parts.environment = concatenated.span(view.toolchain);
    index.push(ScannedEvent {
        kind: Some(EventType::RunStarted),
        name,
        time: concatenated.span(view.created_at),
        payload: manifest,
        ..ScannedEvent::unknown()
    });
    concatenated.index_items(&view, trace, limits, &mut index);
    parts.entries = index.finish();
    let (files, bytes) = concatenated.finish();
    parts.files = files;
    Ok((parts, bytes))
}

/// Appends to `index` the events of a bundle whose files lie in the events of an RER artifact. Returns the
/// files and their concatenated bytes, which the caller appends to the `base` bytes of the artifact.
pub(super) fn read_imported(
    files: Vec<(String, Vec<u8>)>,
    base: usize,
    limits: &Limits,
    index: &mut EventIndexBuilder,
) -> (Vec<(String, ByteSpan)>, Vec<u8>) {
    let concatenated = ConcatenatedFiles::new(files, base);
    let manifest =
        concatenated.find(MANIFEST).map(|(_, manifest)| concatenated.content(manifest)).unwrap_or_default();
    if let Ok(document) = Value::parse(manifest, &manifest_limits()) {
        concatenated.index_items(&ManifestView::of(document), None, limits, index);
    }
    concatenated.finish()
}

/// Returns the text of a value that is a string.
fn owned_string(value: Option<Value<'_>>) -> Option<String> {
    value?.string().map(|text| text.into_owned())
}

/// Files of a bundle, concatenated. Spans count from `base` bytes before the first file.
struct ConcatenatedFiles {
    bytes: Vec<u8>,
    base: usize,
    /// For each file the span of its name as JSON, its name, and the span of its content; sorted by name.
    files: Vec<(ByteSpan, String, ByteSpan)>,
}

impl ConcatenatedFiles {
    /// Sorts and concatenates files. Each is preceded by its name as a JSON string, so that the name of an
    /// event can be a span, too.
    fn new(mut files: Vec<(String, Vec<u8>)>, base: usize) -> Self {
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        let size = files.iter().map(|(name, file)| 2 * name.len() + 2 + file.len()).sum();
        let mut concatenated =
            Self { bytes: Vec::with_capacity(size), base, files: Vec::with_capacity(files.len()) };
        for (name, content) in files {
            let mut quoted = String::new();
            print::write_string(&name, &mut quoted);
            let place = concatenated.append(quoted.as_bytes());
            let content = concatenated.append(&content);
            concatenated.files.push((place, name, content));
        }
        concatenated
    }

    /// Appends bytes, and returns their span.
    fn append(&mut self, bytes: &[u8]) -> ByteSpan {
        let place = ByteSpan::at(self.base.saturating_add(self.bytes.len()), bytes.len());
        self.bytes.extend_from_slice(bytes);
        place
    }

    /// Returns the spans of a file's name and content.
    fn find(&self, name: &str) -> Option<(ByteSpan, ByteSpan)> {
        self.files.iter().find(|(_, known, _)| known == name).map(|(name, _, content)| (*name, *content))
    }

    /// Returns the bytes of a span.
    fn content(&self, place: ByteSpan) -> &[u8] {
        place.shifted_back(self.base).bytes(&self.bytes)
    }

    /// Returns the span of a value that was parsed from these bytes.
    fn span(&self, value: Option<Value<'_>>) -> ByteSpan {
        ByteSpan::of(value, &self.bytes).shifted_forward(self.base)
    }

    /// Appends the lines of the trace and the cassettes to an index. Files in the folder of cassettes that are
    /// none are left out.
    fn index_items(
        &self,
        view: &ManifestView<'_>,
        trace: Option<&str>,
        limits: &Limits,
        index: &mut EventIndexBuilder,
    ) {
        let path = owned_string(view.trace_path).or_else(|| trace.map(str::to_owned));
        let trace = path.and_then(|path| self.find(&path));
        for line in trace.into_iter().flat_map(|(_, trace)| lines(self.content(trace))) {
            let value = Value::parse(line, limits).ok().filter(|line| line.kind() == ValueKind::Object);
            index.push(match value {
                Some(line) => {
                    let (kind, tie) = classify_item(None, line);
                    let name = self.span(line.member("type"));
                    ScannedEvent {
                        kind,
                        name,
                        payload: self.span(Some(line)),
                        pairing: tie,
                        ..ScannedEvent::unknown()
                    }
                }
                None => ScannedEvent::unknown(),
            });
        }
        for &(name, _, content) in self.files.iter().filter(|(_, name, _)| name.starts_with(CASSETTES_FOLDER))
        {
            if CassetteView::read(self.content(content), limits).is_some()
                && let Ok(cassette) = Value::parse(self.content(content), limits)
            {
                let (kind, tie) = classify_item(None, cassette);
                index.push(ScannedEvent {
                    kind,
                    name,
                    payload: self.span(Some(cassette)),
                    pairing: tie,
                    ..ScannedEvent::unknown()
                });
            }
        }
    }

    /// Returns the files with their spans, and the concatenated bytes.
    fn finish(self) -> (Vec<(String, ByteSpan)>, Vec<u8>) {
        (self.files.into_iter().map(|(_, name, content)| (name, content)).collect(), self.bytes)
    }
}

/// Kind of a trace line or cassette.
enum BundleItem<'v> {
    /// Line of version 1: a prompt and its response.
    Trace,
    /// Line of version 2: a prompt.
    EpisodeStart,
    /// Line of version 2: the response to the prompt of the same `episode_id`.
    EpisodeEnd,
    /// Tool call with its result.
    ToolCall,
    /// Request over HTTP and its answer.
    Cassette { method: Value<'v>, url: Value<'v> },
    /// Anything else.
    Other,
}

impl<'v> BundleItem<'v> {
    /// Classifies an item by its `type`, or as a cassette by its members.
    fn of(item: Value<'v>) -> Self {
        let [kind, fingerprint, method, url] = pick_members(item, ["type", "fingerprint", "method", "url"]);
        let is = |name: &str| kind.is_some_and(|kind| kind.is_string(name));
        if is("assay.trace") {
            Self::Trace
        } else if is("episode_start") {
            Self::EpisodeStart
        } else if is("episode_end") {
            Self::EpisodeEnd
        } else if is("tool_call") {
            Self::ToolCall
        } else if let (Some(_), Some(method), Some(url)) = (fingerprint, method, url) {
            Self::Cassette { method, url }
        } else {
            Self::Other
        }
    }
}

/// Returns the event type of an item, and its pairing. Lines of version 1, tool calls and cassettes are both
/// ends of their action.
pub(super) fn classify_item(named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Pairing) {
    let episode = || {
        let id = item.member("episode_id").and_then(|id| id.string_bytes());
        Pairing::NamedOrInOrder(id.unwrap_or_default().into_owned())
    };
    match BundleItem::of(item) {
        BundleItem::Trace => (Some(EventType::ModelCalled), Pairing::Itself),
        BundleItem::EpisodeStart => (Some(EventType::ModelCalled), episode()),
        BundleItem::EpisodeEnd => (Some(EventType::ModelReturned), episode()),
        BundleItem::ToolCall => (Some(EventType::ToolCalled), Pairing::Itself),
        BundleItem::Cassette { method, url } => {
            let (method, url) = (method.string().unwrap_or_default(), url.string().unwrap_or_default());
            let endpoint = UrlTarget::of(&url).endpoint(&method);
            let is_model = endpoint.is_some_and(Endpoint::calls_a_model);
            (Some(if is_model { EventType::ModelCalled } else { EventType::HttpCalled }), Pairing::Itself)
        }
        BundleItem::Other => (named, Pairing::None),
    }
}

/// Returns the id of an item: of a cassette the first 16 characters of its fingerprint, else one of its ids.
pub(super) fn step_id(item: Value<'_>) -> Option<Cow<'_, str>> {
    let [request, step, episode, fingerprint] =
        pick_members(item, ["request_id", "step_id", "episode_id", "fingerprint"]);
    if let Some(fingerprint) = fingerprint {
        // A cassette is named by the beginning of its key.
        let text = fingerprint.string()?;
        return Some(Cow::Owned(text.chars().take(16).collect()));
    }
    request.or(step).or(episode)?.string()
}

/// Reads the request of an item: a prompt, or the JSON body of a cassette.
///
/// # Errors
/// [`UnreadablePayload::NoExchange`] if the item holds no request; else if a required member is missing.
pub(super) fn request(item: Value<'_>) -> Result<ExchangeRequest<'_>, UnreadablePayload> {
    let prompt = |prompt, meta: Option<Value<'_>>| {
        let [provider, model] = meta.map_or([None; 2], |meta| pick_members(meta, ["provider", "model"]));
        let [own_provider, own_model] = pick_members(item, ["provider", "model"]);
        let (provider, model) = (provider.or(own_provider), model.or(own_model));
        Ok(ExchangeRequest {
            provider: owned_string(provider).map_or(Cow::default(), Cow::Owned),
            model: owned_string(model).map(Cow::Owned),
            endpoint: None,
            method: Cow::default(),
            path: Cow::default(),
            headers: Vec::new(),
            body: ExchangeRequestBody::Prompt(prompt),
            match_key: None,
            source: None,
        })
    };
    match BundleItem::of(item) {
        BundleItem::Trace => {
            let [asked, meta] = pick_members(item, ["prompt", "meta"]);
            prompt(required_text("prompt", asked)?, meta)
        }
        BundleItem::EpisodeStart => {
            let [input, meta] = pick_members(item, ["input", "meta"]);
            let input = required("input", input)?;
            let asked = if input.kind() == ValueKind::Object { input.member("prompt") } else { Some(input) };
            prompt(required_text("input.prompt", asked)?, meta)
        }
        BundleItem::Cassette { method, url } => {
            let [body] = pick_members(item, ["request_body"]);
            let method = required_text("method", Some(method))?;
            let url = required_text("url", Some(url))?;
            let place = UrlTarget::of(&url);
            let body = required("request_body", body)?;
            Ok(ExchangeRequest {
                provider: Cow::Borrowed(place.vendor.map_or("", Vendor::name)),
                model: place.model(body.text()).map(Cow::Owned),
                endpoint: place.endpoint(&method),
                path: Cow::Owned(place.path.to_owned()),
                method,
                headers: Vec::new(),
                body: ExchangeRequestBody::Json(Cow::Borrowed(body.text())),
                match_key: None,
                source: None,
            })
        }
        BundleItem::EpisodeEnd | BundleItem::ToolCall | BundleItem::Other => {
            Err(UnreadablePayload::NoExchange)
        }
    }
}

/// Reads the answer of an item: a text, or the JSON body of a cassette.
///
/// # Errors
/// [`UnreadablePayload::NoExchange`] if the item holds no answer; else if a required member is missing.
pub(super) fn answer(item: Value<'_>) -> Result<ExchangeAnswer<'_>, UnreadablePayload> {
    let said = |text: Cow<'_, str>| {
        let said = ModelAnswer { text: text.into_owned(), is_complete: true, ..ModelAnswer::default() };
        Ok(ExchangeAnswer {
            recorded_message: Some(Box::new(said)),
            ..ExchangeAnswer::complete_with(AnswerDetail::Message)
        })
    };
    match BundleItem::of(item) {
        BundleItem::Trace => said(required_text("response", pick_members(item, ["response"])[0])?),
        BundleItem::EpisodeEnd => {
            said(required_text("final_output", pick_members(item, ["final_output"])[0])?)
        }
        BundleItem::Cassette { .. } => {
            let [status, body] = pick_members(item, ["status", "response_body"]);
            // A body may be `null`, which `pick_members` takes for absent.
            let body = body.or_else(|| item.member("response_body"));
            Ok(ExchangeAnswer {
                status: Some(status.map_or(Ok(200), read_status)?),
                headers: vec![("content-type".into(), "application/json".into())],
                body: Cow::Borrowed(required("response_body", body)?.text()),
                ..ExchangeAnswer::complete_with(AnswerDetail::Json)
            })
        }
        BundleItem::EpisodeStart | BundleItem::ToolCall | BundleItem::Other => {
            Err(UnreadablePayload::NoExchange)
        }
    }
}

/// Reads a trace line as a tool call.
pub(super) fn tool_call(item: Value<'_>) -> Result<RecordedToolCall<'_>, UnreadablePayload> {
    let [step_id, tool, args] = pick_members(item, ["step_id", "tool_name", "args"]);
    Ok(RecordedToolCall {
        step_id: optional_text("step_id", step_id)?,
        tool_call_id: None,
        tool: required_text("tool_name", tool)?,
        input: args.map(JsonText::of),
        via: None,
        source: None,
    })
}

/// Reads the result of a tool call from the same line; [`UnreadablePayload::NoAnswer`] if the line has none.
pub(super) fn tool_result(item: Value<'_>) -> Result<RecordedToolResult<'_>, UnreadablePayload> {
    let [result, hash, error] = pick_members(item, ["result", "result_sha256", "error"]);
    if result.is_none() && error.is_none() && hash.is_none() {
        return Err(UnreadablePayload::NoAnswer);
    }
    Ok(RecordedToolResult {
        output: result.or(error).map(JsonText::of),
        output_hash: optional_text("result_sha256", hash)?.filter(|_| result.is_none()),
        is_error: error.is_some(),
        ..RecordedToolResult::default()
    })
}

/// Vendor and path of a URL.
pub(super) struct UrlTarget<'u> {
    /// Vendor by the host, or else by the path.
    pub(super) vendor: Option<Vendor>,
    /// Path with its query.
    pub(super) path: &'u str,
}

impl<'u> UrlTarget<'u> {
    /// Splits a URL, or takes a path alone. An unknown host with a vendor's path, such as that of a proxy,
    /// counts as the vendor's.
    pub(super) fn of(url: &'u str) -> Self {
        let rest = url.split_once("://").map_or("", |(_, rest)| rest);
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = if rest.is_empty() { ("", url) } else { rest.split_at(at) };
        let by_host = Vendor::named_in(host);
        let by_path = || VENDORS.into_iter().find(|vendor| Endpoint::of(*vendor, "POST", path).is_some());
        Self { vendor: by_host.or_else(by_path), path }
    }

    /// Returns the endpoint of a request with this method, if it is a known one.
    pub(super) fn endpoint(&self, method: &str) -> Option<Endpoint> {
        Endpoint::of(self.vendor?, method, self.path)
    }

    /// Returns the model that a request to this target names, in the path or in its body.
    pub(super) fn model(&self, body: &[u8]) -> Option<String> {
        let vendor = self.vendor.unwrap_or(Vendor::OPENAI);
        exchange::parse_request_to(vendor, None, self.path, body)?.model
    }
}

/// Reader of Replay Bundles: items are lines of the trace, and cassettes.
pub(crate) struct ReplayBundleRunReader;

impl RunReader for ReplayBundleRunReader {
    /// Fails: a bundle is several files, and never one document. [`read`] takes the files.
    fn read(&self, _: &[u8], _: &Limits) -> Result<RunParts, NotARun> {
        Err(Unrecognised::OtherMembers.into())
    }

    fn classify(&self, named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Pairing) {
        classify_item(named, item)
    }

    /// Returns true for the events of an imported bundle that hold whole files. The lines of its trace are
    /// events of their own.
    fn is_framing(&self, item: Value<'_>) -> bool {
        item.member("name").is_some() && item.member("body").is_some()
    }

    fn is_format_member(&self, name: &str) -> bool {
        matches!(name, "type" | "timestamp")
    }

    fn source_path(&self, event: &Event<'_>) -> loss::SourcePath {
        let name = event.name();
        if event.kind() == Some(EventType::RunStarted) {
            loss::SourcePath::At(MANIFEST.into())
        } else if name.starts_with(CASSETTES_FOLDER) {
            loss::SourcePath::At(name.into_owned())
        } else {
            // Event 0 is the manifest, so line 0 of the trace is event 1.
            loss::SourcePath::Item("trace[", event.index().saturating_sub(1), "]".into())
        }
    }

    fn step_id<'r>(&self, _: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        step_id(payload)
    }

    fn request<'v>(
        &self,
        item: Value<'v>,
        _: &'v RunInner,
    ) -> Result<ExchangeRequest<'v>, UnreadablePayload> {
        request(item)
    }

    fn answer<'v>(
        &self,
        item: Value<'v>,
        _: &'v RunInner,
        _: Option<Endpoint>,
    ) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
        answer(item)
    }

    fn tool_call<'v>(&self, item: Value<'v>) -> Result<RecordedToolCall<'v>, UnreadablePayload> {
        tool_call(item)
    }

    fn tool_result<'v>(&self, item: Value<'v>) -> Result<RecordedToolResult<'v>, UnreadablePayload> {
        tool_result(item)
    }

    fn outcome(&self, run: &Run) -> ReportedOutcome {
        let exit = BundledOutcome::of(run).and_then(|outcome| outcome.exit);
        ReportedOutcome { exit, ..ReportedOutcome::default() }
    }
}
