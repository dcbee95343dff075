//! Keys of requests: by which part a request is found, depending on how much of it a record holds.
//!
//! Records of reenact hold whole requests. Other records hold less: the JSON of a body in another spelling, a hash, some
//! arguments of a call, the text of a prompt. Each kind of key says which part it covers ([`FoundBy`]). Start reading at
//! `recorded_keys` and `requested_keys`.

use std::collections::BTreeSet;

use reenact_json::{Digest, Jcs, Limits, Value, ValueKind, canonical};
use reenact_run::{ExchangeRequest, ExchangeRequestBody};
use reenact_secrets::renumbered;
use reenact_wire::key::{self, MatchKeyParts};
use reenact_wire::{Endpoint, Vendor, exchange, prompt};

use crate::request::{MaskedPlayerRequest, PlayerRequest};

/// Part of a request by which its recorded answer is found, the whole request first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FoundBy {
    /// Provider, method, path, the headers that are part of a match key, and the body.
    Request,
    /// SHA-256 of the body, or of the prompt in the body.
    BodyHash,
    /// JSON values of the body, in any spelling.
    JsonBody,
    /// Text of the prompt.
    Prompt,
    /// Model and messages.
    Conversation,
}

impl FoundBy {
    /// Returns the part's name in reports, such as `body-hash`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::BodyHash => "body-hash",
            Self::JsonBody => "json-body",
            Self::Prompt => "prompt",
            Self::Conversation => "conversation",
        }
    }
}

/// Digest of the part of a request by which it is found.
pub(crate) type RequestKey = (FoundBy, Digest);

/// Keys of a recorded request.
#[derive(Debug, Default)]
pub(crate) struct RequestKeys {
    /// Keys under which the request is found. The first is its primary key, which decides its group. Empty if
    /// no request can match.
    pub(crate) lookup_keys: Vec<RequestKey>,
    /// Keys of the same request in a record that does not say where the request went.
    pub(crate) aliases: Vec<RequestKey>,
}

/// Returns the keys of a recorded request. `is_ours` says that the record is an RER artifact, which holds whole
/// requests. A request of another format that has a `source` was converted from RER and is whole, too.
pub(crate) fn recorded_keys(request: &ExchangeRequest<'_>, is_ours: bool) -> RequestKeys {
    let destination = Destination::recorded(request);
    let key = |part, digest: Digest| destination.key(part, digest);
    let own = match &request.body {
        ExchangeRequestBody::Bytes(_) if is_ours || request.source.is_some() => {
            vec![(FoundBy::Request, key::match_key(&key_parts(request), renumbered))]
        }
        ExchangeRequestBody::Bytes(bytes) | ExchangeRequestBody::Json(bytes) => {
            let json = json_digest(bytes);
            let aliases = json.filter(|_| request.endpoint.is_some_and(Endpoint::can_ask_for_tools));
            let aliases = aliases.into_iter().flat_map(|digest| {
                destination
                    .without_target()
                    .map(move |destination| destination.key(FoundBy::JsonBody, digest))
            });
            let own = json.map(|digest| key(FoundBy::JsonBody, digest));
            return RequestKeys {
                aliases: aliases.collect(),
                lookup_keys: vec![own.unwrap_or_else(|| key(FoundBy::BodyHash, Digest::of(bytes)))],
            };
        }
        ExchangeRequestBody::Members(members) => {
            let found = parse_object(members)
                .and_then(|members| conversation_digest(request.model.as_deref(), members));
            found.map(|digest| key(FoundBy::Conversation, digest)).into_iter().collect()
        }
        ExchangeRequestBody::Prompt(prompt) => {
            // A prompt may be the whole body: then it is the same request as that of a cassette.
            let is_body = prompt.trim_start().starts_with('{');
            let json = is_body.then(|| json_digest(prompt.as_bytes())).flatten();
            let json = json.map(|digest| key(FoundBy::JsonBody, digest));
            json.into_iter().chain([key(FoundBy::Prompt, Digest::of(prompt.as_bytes()))]).collect()
        }
        ExchangeRequestBody::Hash(digest) => vec![key(FoundBy::BodyHash, *digest)],
    };
    RequestKeys { lookup_keys: own, aliases: Vec::new() }
}

/// Returns the keys under which an incoming request may be found, those of the largest part first, of the parts that a
/// record holds.
///
/// The request is tried as masked by this recorder, and then unmasked: other recorders mask in another way, or
/// not at all. Where a record names a vendor and an endpoint they must match; a record that names no endpoint
/// is of model calls.
pub(crate) fn requested_keys(
    masked: &MaskedPlayerRequest<'_>,
    incoming: &PlayerRequest<'_>,
    parts: &BTreeSet<FoundBy>,
) -> Vec<RequestKey> {
    let destinations = Destination::candidates(masked, incoming);
    let mut keys = Vec::new();
    for &part in parts {
        if part == FoundBy::Request {
            keys.push((part, masked.exact_key()));
            continue;
        }
        let is_masked = *masked.body != *incoming.body;
        for body in [&*masked.body, incoming.body].into_iter().take(1 + usize::from(is_masked)) {
            let found = match part {
                FoundBy::Request => Vec::new(),
                FoundBy::BodyHash | FoundBy::Prompt => {
                    let prompts = prompts(body);
                    let prompts = prompts.iter().map(|prompt| Digest::of(prompt.as_bytes()));
                    [Digest::of(body)].into_iter().chain(prompts).collect()
                }
                FoundBy::JsonBody => json_digest(body).into_iter().collect(),
                FoundBy::Conversation => {
                    let found = parse_object(body).and_then(|body| {
                        conversation_digest(requested_model(masked, body.text()).as_deref(), body)
                    });
                    found.into_iter().collect()
                }
            };
            for digest in found {
                // All empty bodies are equal: only the destination tells such requests apart.
                let is_nothing = digest == Digest::of(b"");
                let destinations =
                    destinations.iter().filter(|destination| destination.target.is_some() || !is_nothing);
                keys.extend(destinations.map(|destination| destination.key(part, digest)));
            }
        }
    }
    keys
}

/// Returns the keys of the question that an incoming request is still about: the user's last text, though a model and its tools have
/// spoken since.
///
/// A session that reenact writes has the hash of that text for each request on the way to the answer. The text alone is no
/// [requested key](requested_keys): once it is answered, it is no longer asked.
pub(crate) fn question_keys(
    masked: &MaskedPlayerRequest<'_>,
    incoming: &PlayerRequest<'_>,
) -> Vec<RequestKey> {
    let texts = [&*masked.body, incoming.body].into_iter().filter_map(last_user_text);
    let digests: Vec<Digest> = texts.map(|text| Digest::of(text.as_bytes())).collect();
    let keys = |digest: Digest| {
        let destinations = Destination::candidates(masked, incoming).into_iter();
        destinations.map(move |destination| destination.key(FoundBy::BodyHash, digest))
    };
    digests.into_iter().flat_map(keys).collect()
}

/// Returns the last text of the user in a body.
pub(crate) fn last_user_text(body: &[u8]) -> Option<String> {
    parse_object(body).and_then(prompt::last_user_text)
}

/// Vendor and target of a request, as far as a record names them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Destination {
    vendor: Option<Vendor>,
    /// Endpoint name, or method and path; see [`request_target`]. `None` if the record does not say.
    target: Option<String>,
}

impl Destination {
    /// Returns the destination that a record names for a request.
    fn recorded(request: &ExchangeRequest<'_>) -> Self {
        let provider = request.provider.to_ascii_lowercase();
        // Names such as `azure-openai` contain the vendor. Other names are of hosts that speak a vendor's
        // interface without naming it.
        let vendor = Vendor::named_in(&provider);
        let is_recorded = !request.method.is_empty() && !request.path.is_empty();
        let target = is_recorded.then(|| request_target(request.endpoint, &request.method, &request.path));
        Self { vendor, target }
    }

    /// Returns all destinations that a record may name for an incoming request, the most specific first.
    fn candidates(masked: &MaskedPlayerRequest<'_>, incoming: &PlayerRequest<'_>) -> Vec<Self> {
        let vendor = Vendor::of_name(masked.provider);
        let endpoint = vendor.and_then(|vendor| Endpoint::of(vendor, masked.method, incoming.path));
        let mut targets = vec![Some(request_target(endpoint, masked.method, &masked.path))];
        // A key in the query is masked here, and perhaps not in the record.
        let as_it_came = Some(request_target(endpoint, masked.method, incoming.path));
        if !targets.contains(&as_it_came) {
            targets.push(as_it_came);
        }
        if endpoint.is_some_and(Endpoint::can_ask_for_tools) {
            targets.push(None);
        }
        let vendors = [vendor, None].into_iter().take(1 + usize::from(vendor.is_some()));
        vendors.flat_map(|vendor| targets.iter().map(move |at| Self { vendor, target: at.clone() })).collect()
    }

    /// Returns the destinations that a record without a target may name for the same request: with the vendor,
    /// and without.
    fn without_target(&self) -> impl Iterator<Item = Self> + use<> {
        [self.vendor, None].into_iter().map(|vendor| Self { vendor, target: None })
    }

    /// Returns the key of a digest of a part, bound to this destination.
    fn key(&self, part: FoundBy, digest: Digest) -> RequestKey {
        let (vendor, at) = (self.vendor.map_or("", Vendor::name), self.target.as_deref().unwrap_or_default());
        (part, Digest::of(format!("{digest}\0{vendor}\0{at}").as_bytes()))
    }
}

/// Returns the target of a request as text that can be compared between records.
///
/// For a known endpoint that calls a model this is its name: gateways and proxies put prefixes of their own
/// before the path, and the query only selects a version. Otherwise it is the method and the path from `/v1/`
/// on, with the query. A full URL is kept whole, since it belongs to a host that no route of this gateway
/// serves.
fn request_target(endpoint: Option<Endpoint>, method: &str, path: &str) -> String {
    if let Some(endpoint) = endpoint.filter(|endpoint| endpoint.can_ask_for_tools()) {
        return endpoint.name().to_owned();
    }
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let path = match path.rfind("/v1/") {
        Some(at) if !path.contains("://") => path.get(at..).unwrap_or(path),
        _ => path,
    };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{} {}{query}", method.to_ascii_uppercase(), path.trim_end_matches('/'))
}

/// Returns the parts of a recorded request that make its exact key.
pub(crate) fn key_parts<'a>(request: &'a ExchangeRequest<'_>) -> MatchKeyParts<'a> {
    MatchKeyParts {
        provider: &request.provider,
        method: &request.method,
        path: &request.path,
        headers: &request.headers,
        body: request.body.bytes(),
    }
}

/// Parses a body; `None` if it is no JSON object.
fn parse_object(body: &[u8]) -> Option<Value<'_>> {
    Value::parse(body, &Limits::default()).ok().filter(|body| body.kind() == ValueKind::Object)
}

/// Returns the digest of a body in RFC 8785 form; `None` if the body is no JSON object.
fn json_digest(body: &[u8]) -> Option<Digest> {
    Some(Digest::of(&canonical::to_vec(parse_object(body)?, Jcs).ok()?))
}

/// Returns the digest of the model and the messages of a body; `None` if the body has no messages.
fn conversation_digest(model: Option<&str>, body: Value<'_>) -> Option<Digest> {
    let said = prompt::conversation(body)?;
    let mut text = model.unwrap_or_default().as_bytes().to_vec();
    text.push(0);
    text.extend(canonical::to_vec(said, Jcs).ok()?);
    Some(Digest::of(&text))
}

/// Returns the model that a request names in its path or body.
fn requested_model(masked: &MaskedPlayerRequest<'_>, body: &[u8]) -> Option<String> {
    let vendor = Vendor::of_route(masked.provider);
    let endpoint = Endpoint::of(vendor, masked.method, &masked.path);
    exchange::parse_request_to(vendor, endpoint, &masked.path, body)?.model
}

/// Returns every text that a record may call the prompt of a request.
pub(crate) fn prompts(body: &[u8]) -> Vec<String> {
    parse_object(body).map(prompt::user_prompts).unwrap_or_default()
}
