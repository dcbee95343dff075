//! How much of a request is held, and so by what an asked one is found.
//!
//! What we record is found by all of it. Other records hold less: the JSON of a body in another spelling, a hash, some of the
//! arguments of a call, the words of a prompt. Each has a rung of its own, and the weakest that was stood on is told in the end.

use std::collections::BTreeSet;

use reenact_json::{Digest, Jcs, Limits, Value, ValueKind, canonical};
use reenact_run::{ExchangeRequest, ExchangeRequestBody};
use reenact_secrets::renumbered;
use reenact_wire::key::{self, MatchKeyParts};
use reenact_wire::{Endpoint, Vendor, exchange, prompt};

use crate::request::{MaskedPlayerRequest, PlayerRequest};

/// By what a request is found, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MatchLevel {
    /// Whom, how, where, the headers that count, and the body to its last byte.
    Exact,
    /// The SHA-256 of the body, or of the prompt in it.
    BodyHash,
    /// The values of the body.
    JsonBody,
    /// The words of the prompt.
    Prompt,
    /// The model and the messages.
    Conversation,
}

impl MatchLevel {
    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::BodyHash => "body-hash",
            Self::JsonBody => "json-body",
            Self::Prompt => "prompt",
            Self::Conversation => "conversation",
        }
    }
}

/// A key on a rung.
pub(crate) type LevelKey = (MatchLevel, Digest);

/// The keys of a recorded request.
#[derive(Debug, Default)]
pub(crate) struct RequestKeys {
    /// Those under which it is found, of which the first one is its own; none, if nothing of it can be asked for.
    pub(crate) lookup_keys: Vec<LevelKey>,
    /// Those of a record of the same request that does not say where it went.
    pub(crate) aliases: Vec<LevelKey>,
}

/// The keys of a recorded request. In a record of ours it is all there; in others it is, if it says how it was seen: then it was ours
/// before.
pub(crate) fn recorded_keys(request: &ExchangeRequest<'_>, is_ours: bool) -> RequestKeys {
    let place = Destination::recorded(request);
    let key = |rung, digest: Digest| place.key(rung, digest);
    let own = match &request.body {
        ExchangeRequestBody::Bytes(_) if is_ours || request.source.is_some() => {
            vec![(MatchLevel::Exact, key::match_key_digest(&key_parts(request), renumbered))]
        }
        ExchangeRequestBody::Bytes(bytes) | ExchangeRequestBody::Json(bytes) => {
            let json = json_digest(bytes);
            let beside = json.filter(|_| request.endpoint.is_some_and(Endpoint::calls_a_model));
            let beside = beside.into_iter().flat_map(|digest| {
                place.without_target().map(move |place| place.key(MatchLevel::JsonBody, digest))
            });
            let own = json.map(|digest| key(MatchLevel::JsonBody, digest));
            return RequestKeys {
                aliases: beside.collect(),
                lookup_keys: vec![own.unwrap_or_else(|| key(MatchLevel::BodyHash, Digest::of(bytes)))],
            };
        }
        ExchangeRequestBody::Members(members) => {
            let found = parse_object(members)
                .and_then(|members| conversation_digest(request.model.as_deref(), members));
            found.map(|digest| key(MatchLevel::Conversation, digest)).into_iter().collect()
        }
        ExchangeRequestBody::Prompt(prompt) => {
            // A prompt may be the whole body: then it is the same request as that of a cassette.
            let is_body = prompt.trim_start().starts_with('{');
            let json = is_body.then(|| json_digest(prompt.as_bytes())).flatten();
            let json = json.map(|digest| key(MatchLevel::JsonBody, digest));
            json.into_iter().chain([key(MatchLevel::Prompt, Digest::of(prompt.as_bytes()))]).collect()
        }
        ExchangeRequestBody::Hash(digest) => vec![key(MatchLevel::BodyHash, *digest)],
    };
    RequestKeys { lookup_keys: own, aliases: Vec::new() }
}

/// The keys under which an asked request may be found, on the rungs that a record has, in their order. It is looked for as it would
/// have been recorded here, and then as it came: others mask in another way, or not at all. What a record says of whom and where
/// must be so; one that says nothing of where is of calls of models.
pub(crate) fn requested_keys(
    asked: &MaskedPlayerRequest<'_>,
    incoming: &PlayerRequest<'_>,
    rungs: &BTreeSet<MatchLevel>,
) -> Vec<LevelKey> {
    let places = Destination::candidates(asked, incoming);
    let mut keys = Vec::new();
    for &rung in rungs {
        if rung == MatchLevel::Exact {
            keys.push((rung, asked.exact_key()));
            continue;
        }
        let is_masked = *asked.body != *incoming.body;
        for body in [&*asked.body, incoming.body].into_iter().take(1 + usize::from(is_masked)) {
            let found = match rung {
                MatchLevel::Exact => Vec::new(),
                MatchLevel::BodyHash | MatchLevel::Prompt => {
                    let prompts = prompts(body);
                    let prompts = prompts.iter().map(|prompt| Digest::of(prompt.as_bytes()));
                    [Digest::of(body)].into_iter().chain(prompts).collect()
                }
                MatchLevel::JsonBody => json_digest(body).into_iter().collect(),
                MatchLevel::Conversation => {
                    let found = parse_object(body).and_then(|body| {
                        conversation_digest(requested_model(asked, body.text()).as_deref(), body)
                    });
                    found.into_iter().collect()
                }
            };
            for digest in found {
                // Nothing at all is the same as any other nothing: only where it was asked tells them apart.
                let is_nothing = digest == Digest::of(b"");
                let places = places.iter().filter(|place| place.target.is_some() || !is_nothing);
                keys.extend(places.map(|place| place.key(rung, digest)));
            }
        }
    }
    keys
}

/// Whom a request is to, and how and where, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Destination {
    vendor: Option<Vendor>,
    target: Option<String>,
}

impl Destination {
    /// What a record says.
    fn recorded(request: &ExchangeRequest<'_>) -> Self {
        let provider = request.provider.to_ascii_lowercase();
        // `azure-openai` and the like; other names are of those who speak an interface, and do not tell which.
        let vendor = Vendor::named_in(&provider);
        let is_told = !request.method.is_empty() && !request.path.is_empty();
        let target = is_told.then(|| request_target(request.endpoint, &request.method, &request.path));
        Self { vendor, target }
    }

    /// All that a record may say of an asked request, the most telling first.
    fn candidates(asked: &MaskedPlayerRequest<'_>, incoming: &PlayerRequest<'_>) -> Vec<Self> {
        let vendor = Vendor::of_name(asked.provider);
        let endpoint = vendor.and_then(|vendor| Endpoint::of(vendor, asked.method, incoming.path));
        let mut ats = vec![Some(request_target(endpoint, asked.method, &asked.path))];
        // A key in the query is masked here, and perhaps not there.
        let as_it_came = Some(request_target(endpoint, asked.method, incoming.path));
        if !ats.contains(&as_it_came) {
            ats.push(as_it_came);
        }
        if endpoint.is_some_and(Endpoint::calls_a_model) {
            ats.push(None);
        }
        let vendors = [vendor, None].into_iter().take(1 + usize::from(vendor.is_some()));
        vendors.flat_map(|vendor| ats.iter().map(move |at| Self { vendor, target: at.clone() })).collect()
    }

    /// What a record of the same request says that does not say where.
    fn without_target(&self) -> impl Iterator<Item = Self> + use<> {
        [self.vendor, None].into_iter().map(|vendor| Self { vendor, target: None })
    }

    fn key(&self, rung: MatchLevel, digest: Digest) -> LevelKey {
        let (vendor, at) = (self.vendor.map_or("", Vendor::name), self.target.as_deref().unwrap_or_default());
        (rung, Digest::of(format!("{digest}\0{vendor}\0{at}").as_bytes()))
    }
}

/// How and where. Of an interface that we know, the name: gateways and proxies put their own prefixes before it, and its query only
/// selects a version. Elsewhere the path from its version on, with the query. A URL is that of a host that nobody here stands for.
fn request_target(endpoint: Option<Endpoint>, method: &str, path: &str) -> String {
    if let Some(endpoint) = endpoint.filter(|endpoint| endpoint.calls_a_model()) {
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

/// The parts of a recorded request that make its exact key.
pub(crate) fn key_parts<'a>(request: &'a ExchangeRequest<'_>) -> MatchKeyParts<'a> {
    MatchKeyParts {
        provider: &request.provider,
        method: &request.method,
        path: &request.path,
        headers: &request.headers,
        body: request.body.bytes(),
    }
}

fn parse_object(body: &[u8]) -> Option<Value<'_>> {
    Value::parse(body, &Limits::default()).ok().filter(|body| body.kind() == ValueKind::Object)
}

/// The digest of the values of a body; `None` if it is no object.
fn json_digest(body: &[u8]) -> Option<Digest> {
    Some(Digest::of(&canonical::to_vec(parse_object(body)?, Jcs).ok()?))
}

fn conversation_digest(model: Option<&str>, body: Value<'_>) -> Option<Digest> {
    let said = prompt::conversation(body)?;
    let mut text = model.unwrap_or_default().as_bytes().to_vec();
    text.push(0);
    text.extend(canonical::to_vec(said, Jcs).ok()?);
    Some(Digest::of(&text))
}

/// The model that is asked, by path or body.
fn requested_model(asked: &MaskedPlayerRequest<'_>, body: &[u8]) -> Option<String> {
    let vendor = Vendor::of_route(asked.provider);
    let endpoint = Endpoint::of(vendor, asked.method, &asked.path);
    exchange::parse_request_to(vendor, endpoint, &asked.path, body)?.model
}

/// What may be called the prompt of a request.
pub(crate) fn prompts(body: &[u8]) -> Vec<String> {
    parse_object(body).map(prompt::user_prompts).unwrap_or_default()
}
