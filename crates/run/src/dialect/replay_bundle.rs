//! Replay Bundles: exchanges come from the trace and from cassettes.
//!
//! A line of a trace of version 1 is a prompt and its response; of version 2, `episode_start` and `episode_end` are. A cassette is
//! a request and its answer over HTTP, both JSON. The real tool reads the trace alone.

use std::borrow::Cow;

use reenact_formats::replay_bundle::cassette::CassetteView;
use reenact_formats::replay_bundle::{CASSETTES, MANIFEST, ManifestView, manifest_limits};
use reenact_formats::rer::EventType;
use reenact_formats::{FormatId, Unrecognised};
use reenact_json::{Kind as JsonKind, Limits, Value, print};
use reenact_wire::{Answer as Said, Endpoint, VENDORS, Vendor, exchange};

use super::Dialect;
use super::replay_jsonl::lines;
use super::rer::read_status;
use crate::convert::loss;
use crate::event::Event;
use crate::exchange::{Answer, Body, Held, Request};
use crate::index::{Found, Index, Span, Tie};
use crate::open::NotARun;
use crate::run::{Inner, Parts, Producer};
use crate::tool::{Json, ToolCall, ToolResult};
use crate::unreadable::{Unreadable, needed, needed_text, pick, text};

/// Reads what a run keeps of a bundle, and lays its files one behind the other, each under its name as JSON. The manifest is the
/// first event; the lines of the trace follow, and then the cassettes, in the order of their names.
/// `trace` names the trace, if the manifest does not.
pub(crate) fn read(
    files: Vec<(String, Vec<u8>)>,
    trace: Option<&str>,
    limits: &Limits,
) -> Result<(Parts, Vec<u8>), NotARun> {
    let mut index = Index::default();
    let laid = Laid::out(files, 0);
    let mut parts = Parts { dialect: FormatId::ReplayBundle, ..Parts::default() };
    let (name, manifest) = laid.place(MANIFEST).ok_or(NotARun::NoEvents)?;
    let document = Value::parse(laid.content(manifest), &manifest_limits());
    let document = document.map_err(|error| NotARun::Unreadable(error.describe(laid.content(manifest))))?;
    let view = ManifestView::of(document);
    if let Some(producer) = word(view.assay_version) {
        let (name, version) = match producer.split_once('/') {
            Some((name, version)) => (name.to_owned(), version.to_owned()),
            None => ("assay".to_owned(), producer),
        };
        parts.producer = Producer { name: Some(name), version: Some(version), key_id: None };
    }
    parts.environment = laid.span(view.toolchain);
    index.push(Found {
        kind: Some(EventType::RunStarted),
        name,
        time: laid.span(view.created_at),
        payload: manifest,
        ..Found::nothing()
    });
    laid.index(&view, trace, limits, &mut index);
    parts.index = index.finish();
    let (files, bytes) = laid.finish();
    parts.files = files;
    Ok((parts, bytes))
}

/// The events of a bundle that lies, file by file, in the events of an RER artifact; they come behind those. Also gives the files,
/// which will lie behind the `base` bytes of the artifact.
pub(super) fn read_imported(
    files: Vec<(String, Vec<u8>)>,
    base: usize,
    limits: &Limits,
    index: &mut Index,
) -> (Vec<(String, Span)>, Vec<u8>) {
    let laid = Laid::out(files, base);
    let manifest = laid.place(MANIFEST).map(|(_, manifest)| laid.content(manifest)).unwrap_or_default();
    if let Ok(document) = Value::parse(manifest, &manifest_limits()) {
        laid.index(&ManifestView::of(document), None, limits, index);
    }
    laid.finish()
}

fn word(value: Option<Value<'_>>) -> Option<String> {
    value?.string().map(|text| text.into_owned())
}

/// Files one behind the other. Places are counted from `base` bytes before.
struct Laid {
    bytes: Vec<u8>,
    base: usize,
    /// Of each the place of its name as JSON, its name, and its place.
    files: Vec<(Span, String, Span)>,
}

impl Laid {
    fn out(mut files: Vec<(String, Vec<u8>)>, base: usize) -> Self {
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        let size = files.iter().map(|(name, file)| 2 * name.len() + 2 + file.len()).sum();
        let mut laid = Self { bytes: Vec::with_capacity(size), base, files: Vec::with_capacity(files.len()) };
        for (name, content) in files {
            let mut quoted = String::new();
            print::string(&name, &mut quoted);
            let place = laid.put(quoted.as_bytes());
            let content = laid.put(&content);
            laid.files.push((place, name, content));
        }
        laid
    }

    fn put(&mut self, bytes: &[u8]) -> Span {
        let place = Span::at(self.base.saturating_add(self.bytes.len()), bytes.len());
        self.bytes.extend_from_slice(bytes);
        place
    }

    fn place(&self, name: &str) -> Option<(Span, Span)> {
        self.files.iter().find(|(_, known, _)| known == name).map(|(name, _, content)| (*name, *content))
    }

    fn content(&self, place: Span) -> &[u8] {
        place.back(self.base).bytes(&self.bytes)
    }

    /// The place of a value that was read from here.
    fn span(&self, value: Option<Value<'_>>) -> Span {
        Span::of(value, &self.bytes).forth(self.base)
    }

    /// Appends the lines of the trace, and the cassettes.
    fn index(&self, view: &ManifestView<'_>, trace: Option<&str>, limits: &Limits, index: &mut Index) {
        let path = word(view.trace_path).or_else(|| trace.map(str::to_owned));
        let trace = path.and_then(|path| self.place(&path));
        for line in trace.into_iter().flat_map(|(_, trace)| lines(self.content(trace))) {
            let value = Value::parse(line, limits).ok().filter(|line| line.kind() == JsonKind::Object);
            index.push(match value {
                Some(line) => {
                    let (kind, tie) = mark(None, line);
                    let name = self.span(line.member("type"));
                    Found { kind, name, payload: self.span(Some(line)), tie, ..Found::nothing() }
                }
                None => Found::nothing(),
            });
        }
        for &(name, _, content) in self.files.iter().filter(|(_, name, _)| name.starts_with(CASSETTES)) {
            if CassetteView::read(self.content(content), limits).is_some()
                && let Ok(cassette) = Value::parse(self.content(content), limits)
            {
                let (kind, tie) = mark(None, cassette);
                index.push(Found { kind, name, payload: self.span(Some(cassette)), tie, ..Found::nothing() });
            }
        }
    }

    fn finish(self) -> (Vec<(String, Span)>, Vec<u8>) {
        (self.files.into_iter().map(|(_, name, content)| (name, content)).collect(), self.bytes)
    }
}

/// What a line of a trace or a cassette is.
enum Item<'v> {
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

impl<'v> Item<'v> {
    fn of(item: Value<'v>) -> Self {
        let [kind, fingerprint, method, url] = pick(item, ["type", "fingerprint", "method", "url"]);
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
pub(super) fn mark(named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Tie) {
    let episode = || {
        let id = item.member("episode_id").and_then(|id| id.string_bytes());
        Tie::InOrder(id.unwrap_or_default().into_owned())
    };
    match Item::of(item) {
        Item::Trace => (Some(EventType::ModelCalled), Tie::Itself),
        Item::EpisodeStart => (Some(EventType::ModelCalled), episode()),
        Item::EpisodeEnd => (Some(EventType::ModelReturned), episode()),
        Item::ToolCall => (Some(EventType::ToolCalled), Tie::Itself),
        Item::Cassette { method, url } => {
            let (method, url) = (method.string().unwrap_or_default(), url.string().unwrap_or_default());
            let endpoint = Place::of(&url).endpoint(&method);
            let is_model = endpoint.is_some_and(Endpoint::calls_a_model);
            (Some(if is_model { EventType::ModelCalled } else { EventType::HttpCalled }), Tie::Itself)
        }
        Item::Other => (named, Tie::None),
    }
}

/// What an item is called.
pub(super) fn step_id(item: Value<'_>) -> Option<Cow<'_, str>> {
    let [request, step, episode, fingerprint] =
        pick(item, ["request_id", "step_id", "episode_id", "fingerprint"]);
    if let Some(fingerprint) = fingerprint {
        // Cassettes are called by the beginning of their key.
        let text = fingerprint.string()?;
        return Some(Cow::Owned(text.chars().take(16).collect()));
    }
    request.or(step).or(episode)?.string()
}

pub(super) fn request(item: Value<'_>) -> Result<Request<'_>, Unreadable> {
    let prompt = |prompt, meta: Option<Value<'_>>| {
        let [provider, model] = meta.map_or([None; 2], |meta| pick(meta, ["provider", "model"]));
        let [own_provider, own_model] = pick(item, ["provider", "model"]);
        let (provider, model) = (provider.or(own_provider), model.or(own_model));
        Ok(Request {
            provider: word(provider).map_or(Cow::default(), Cow::Owned),
            model: word(model).map(Cow::Owned),
            endpoint: None,
            method: Cow::default(),
            path: Cow::default(),
            headers: Vec::new(),
            body: Body::Prompt(prompt),
            match_key: None,
            source: None,
        })
    };
    match Item::of(item) {
        Item::Trace => {
            let [asked, meta] = pick(item, ["prompt", "meta"]);
            prompt(needed_text("prompt", asked)?, meta)
        }
        Item::EpisodeStart => {
            let [input, meta] = pick(item, ["input", "meta"]);
            let input = needed("input", input)?;
            let asked = if input.kind() == JsonKind::Object { input.member("prompt") } else { Some(input) };
            prompt(needed_text("input.prompt", asked)?, meta)
        }
        Item::Cassette { method, url } => {
            let [body] = pick(item, ["request_body"]);
            let method = needed_text("method", Some(method))?;
            let url = needed_text("url", Some(url))?;
            let place = Place::of(&url);
            let body = needed("request_body", body)?;
            Ok(Request {
                provider: Cow::Borrowed(place.vendor.map_or("", Vendor::name)),
                model: place.model(body.text()).map(Cow::Owned),
                endpoint: place.endpoint(&method),
                path: Cow::Owned(place.path.to_owned()),
                method,
                headers: Vec::new(),
                body: Body::Json(Cow::Borrowed(body.text())),
                match_key: None,
                source: None,
            })
        }
        Item::EpisodeEnd | Item::ToolCall | Item::Other => Err(Unreadable::NoExchange),
    }
}

pub(super) fn answer(item: Value<'_>) -> Result<Answer<'_>, Unreadable> {
    let said = |text: Cow<'_, str>| {
        let said = Said { text: text.into_owned(), complete: true, ..Said::default() };
        Ok(Answer { said: Some(Box::new(said)), ..Answer::whole(Held::Said) })
    };
    match Item::of(item) {
        Item::Trace => said(needed_text("response", pick(item, ["response"])[0])?),
        Item::EpisodeEnd => said(needed_text("final_output", pick(item, ["final_output"])[0])?),
        Item::Cassette { .. } => {
            let [status, body] = pick(item, ["status", "response_body"]);
            // A body that is null is one: pick would take it for absent.
            let body = body.or_else(|| item.member("response_body"));
            Ok(Answer {
                status: Some(status.map_or(Ok(200), read_status)?),
                headers: vec![("content-type".into(), "application/json".into())],
                body: Cow::Borrowed(needed("response_body", body)?.text()),
                ..Answer::whole(Held::Json)
            })
        }
        Item::EpisodeStart | Item::ToolCall | Item::Other => Err(Unreadable::NoExchange),
    }
}

pub(super) fn tool_call(item: Value<'_>) -> Result<ToolCall<'_>, Unreadable> {
    let [step_id, tool, args] = pick(item, ["step_id", "tool_name", "args"]);
    Ok(ToolCall {
        step_id: text("step_id", step_id)?,
        tool_call_id: None,
        tool: needed_text("tool_name", tool)?,
        input: args.map(Json::of),
        via: None,
        source: None,
    })
}

pub(super) fn tool_result(item: Value<'_>) -> Result<ToolResult<'_>, Unreadable> {
    let [result, hash, error] = pick(item, ["result", "result_sha256", "error"]);
    if result.is_none() && error.is_none() && hash.is_none() {
        return Err(Unreadable::NoAnswer);
    }
    Ok(ToolResult {
        output: result.or(error).map(Json::of),
        output_hash: text("result_sha256", hash)?.filter(|_| result.is_none()),
        is_error: error.is_some(),
        ..ToolResult::default()
    })
}

/// Where a URL leads.
pub(super) struct Place<'u> {
    pub(super) vendor: Option<Vendor>,
    pub(super) path: &'u str,
}

impl<'u> Place<'u> {
    /// The place of a URL, or of a path alone.
    pub(super) fn of(url: &'u str) -> Self {
        let rest = url.split_once("://").map_or("", |(_, rest)| rest);
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = if rest.is_empty() { ("", url) } else { rest.split_at(at) };
        let by_host = Vendor::of_mark(host);
        let by_path = || VENDORS.into_iter().find(|vendor| Endpoint::of(*vendor, "POST", path).is_some());
        Self { vendor: by_host.or_else(by_path), path }
    }

    pub(super) fn endpoint(&self, method: &str) -> Option<Endpoint> {
        Endpoint::of(self.vendor?, method, self.path)
    }

    /// The model that a request there asks for.
    pub(super) fn model(&self, body: &[u8]) -> Option<String> {
        let vendor = self.vendor.unwrap_or(Vendor::OPENAI);
        exchange::request_to(vendor, None, self.path, body)?.model
    }
}

/// Lines of the trace, and cassettes.
pub(crate) struct ReplayBundle;

impl Dialect for ReplayBundle {
    /// A bundle is several files, and never a document.
    fn read(&self, _: &[u8], _: &Limits) -> Result<Parts, NotARun> {
        Err(Unrecognised::OtherMembers.into())
    }

    fn mark(&self, named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Tie) {
        mark(named, item)
    }

    /// The files of a bundle that was imported: the lines of its trace are steps of their own.
    fn is_frame(&self, item: Value<'_>) -> bool {
        item.member("name").is_some() && item.member("body").is_some()
    }

    fn is_format_member(&self, name: &str) -> bool {
        matches!(name, "type" | "timestamp")
    }

    fn place(&self, event: &Event<'_>) -> loss::Place {
        let name = event.name();
        if event.kind() == Some(EventType::RunStarted) {
            loss::Place::At(MANIFEST.into())
        } else if name.starts_with(CASSETTES) {
            loss::Place::At(name.into_owned())
        } else {
            // The first event is the manifest.
            loss::Place::Item("trace[", event.index().saturating_sub(1), "]".into())
        }
    }

    fn step_id<'r>(&self, _: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        step_id(payload)
    }

    fn request<'v>(&self, item: Value<'v>, _: &'v Inner) -> Result<Request<'v>, Unreadable> {
        request(item)
    }

    fn answer<'v>(
        &self,
        item: Value<'v>,
        _: &'v Inner,
        _: Option<Endpoint>,
    ) -> Result<Answer<'v>, Unreadable> {
        answer(item)
    }

    fn tool_call<'v>(&self, item: Value<'v>) -> Result<ToolCall<'v>, Unreadable> {
        tool_call(item)
    }

    fn tool_result<'v>(&self, item: Value<'v>) -> Result<ToolResult<'v>, Unreadable> {
        tool_result(item)
    }
}
