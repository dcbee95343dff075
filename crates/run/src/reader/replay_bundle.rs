//! Replay Bundles: exchanges come from the trace and from cassettes.
//!
//! A line of a trace of version 1 is a prompt and its response; of version 2, `episode_start` and `episode_end` are. A cassette is
//! a request and its answer over HTTP, both JSON. The real tool reads the trace alone.

use std::borrow::Cow;

use reenact_formats::replay_bundle::cassette::CassetteView;
use reenact_formats::replay_bundle::{CASSETTES, MANIFEST, ManifestView, manifest_limits};
use reenact_formats::rer::EventType;
use reenact_formats::{FormatId, Unrecognised};
use reenact_json::{Limits, Value, ValueKind, print};
use reenact_wire::{Endpoint, ModelAnswer, VENDORS, Vendor, exchange};

use super::RunReader;
use super::replay_jsonl::lines;
use super::rer::read_status;
use crate::convert::loss;
use crate::event::Event;
use crate::event_index::{ByteSpan, EventIndexBuilder, Pairing, ScannedEvent};
use crate::exchange::{AnswerDetail, ExchangeAnswer, ExchangeRequest, ExchangeRequestBody};
use crate::open::NotARun;
use crate::run::{Producer, RunInner, RunParts};
use crate::tool::{JsonText, RecordedToolCall, RecordedToolResult};
use crate::unreadable::{UnreadablePayload, optional_text, pick_members, required, required_text};

/// Reads what a run keeps of a bundle, and lays its files one behind the other, each under its name as JSON. The manifest is the
/// first event; the lines of the trace follow, and then the cassettes, in the order of their names.
/// `trace` names the trace, if the manifest does not.
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

/// The events of a bundle that lies, file by file, in the events of an RER artifact; they come behind those. Also gives the files,
/// which will lie behind the `base` bytes of the artifact.
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

fn owned_string(value: Option<Value<'_>>) -> Option<String> {
    value?.string().map(|text| text.into_owned())
}

/// Files one behind the other. Places are counted from `base` bytes before.
struct ConcatenatedFiles {
    bytes: Vec<u8>,
    base: usize,
    /// Of each the place of its name as JSON, its name, and its place.
    files: Vec<(ByteSpan, String, ByteSpan)>,
}

impl ConcatenatedFiles {
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

    fn append(&mut self, bytes: &[u8]) -> ByteSpan {
        let place = ByteSpan::at(self.base.saturating_add(self.bytes.len()), bytes.len());
        self.bytes.extend_from_slice(bytes);
        place
    }

    fn find(&self, name: &str) -> Option<(ByteSpan, ByteSpan)> {
        self.files.iter().find(|(_, known, _)| known == name).map(|(name, _, content)| (*name, *content))
    }

    fn content(&self, place: ByteSpan) -> &[u8] {
        place.shifted_back(self.base).bytes(&self.bytes)
    }

    /// The place of a value that was read from here.
    fn span(&self, value: Option<Value<'_>>) -> ByteSpan {
        ByteSpan::of(value, &self.bytes).shifted_forward(self.base)
    }

    /// Appends the lines of the trace, and the cassettes.
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
        for &(name, _, content) in self.files.iter().filter(|(_, name, _)| name.starts_with(CASSETTES)) {
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

    fn finish(self) -> (Vec<(String, ByteSpan)>, Vec<u8>) {
        (self.files.into_iter().map(|(_, name, content)| (name, content)).collect(), self.bytes)
    }
}

/// What a line of a trace or a cassette is.
enum BundleItem<'v> {
    /// A prompt and its response.
    Trace,
    EpisodeStart,
    EpisodeEnd,
    ToolCall,
    Cassette {
        method: Value<'v>,
        url: Value<'v>,
    },
    Other,
}

impl<'v> BundleItem<'v> {
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

/// What an item says has happened.
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

/// What an item is called.
pub(super) fn step_id(item: Value<'_>) -> Option<Cow<'_, str>> {
    let [request, step, episode, fingerprint] =
        pick_members(item, ["request_id", "step_id", "episode_id", "fingerprint"]);
    if let Some(fingerprint) = fingerprint {
        // Cassettes are called by the beginning of their key.
        let text = fingerprint.string()?;
        return Some(Cow::Owned(text.chars().take(16).collect()));
    }
    request.or(step).or(episode)?.string()
}

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
            // A body that is null is one: pick would take it for absent.
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

/// Where a URL leads.
pub(super) struct UrlTarget<'u> {
    pub(super) vendor: Option<Vendor>,
    pub(super) path: &'u str,
}

impl<'u> UrlTarget<'u> {
    /// The place of a URL, or of a path alone.
    pub(super) fn of(url: &'u str) -> Self {
        let rest = url.split_once("://").map_or("", |(_, rest)| rest);
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = if rest.is_empty() { ("", url) } else { rest.split_at(at) };
        let by_host = Vendor::named_in(host);
        let by_path = || VENDORS.into_iter().find(|vendor| Endpoint::of(*vendor, "POST", path).is_some());
        Self { vendor: by_host.or_else(by_path), path }
    }

    pub(super) fn endpoint(&self, method: &str) -> Option<Endpoint> {
        Endpoint::of(self.vendor?, method, self.path)
    }

    /// The model that a request there asks for.
    pub(super) fn model(&self, body: &[u8]) -> Option<String> {
        let vendor = self.vendor.unwrap_or(Vendor::OPENAI);
        exchange::parse_request_to(vendor, None, self.path, body)?.model
    }
}

/// Lines of the trace, and cassettes.
pub(crate) struct ReplayBundleRunReader;

impl RunReader for ReplayBundleRunReader {
    /// A bundle is several files, and never a document.
    fn read(&self, _: &[u8], _: &Limits) -> Result<RunParts, NotARun> {
        Err(Unrecognised::OtherMembers.into())
    }

    fn classify(&self, named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Pairing) {
        classify_item(named, item)
    }

    /// The files of a bundle that was imported: the lines of its trace are steps of their own.
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
        } else if name.starts_with(CASSETTES) {
            loss::SourcePath::At(name.into_owned())
        } else {
            // The first event is the manifest.
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
}
