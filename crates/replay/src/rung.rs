//! How much of a request is held, and so by what an asked one is found.
//!
//! What we record is found by all of it. Other records hold less: the JSON of a body in another spelling, a hash, some of the
//! arguments of a call, the words of a prompt. Each has a rung of its own, and the weakest that was stood on is told in the end.

use std::borrow::Cow;
use std::collections::BTreeSet;

use reenact_json::{Digest, Kind, Limits, Profile, Value, canonical};
use reenact_run::{Body, Request, Source};
use reenact_secrets::renumbered;
use reenact_wire::key::{self, KeyParts};
use reenact_wire::{Endpoint, Vendor};

use crate::incoming::{Incoming, Masked};

/// By what a request is found, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rung {
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

impl Rung {
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
pub(crate) type Key = (Rung, Digest);

/// The keys of a recorded request.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// Those under which it is found, of which the first one is its own; none, if nothing of it can be asked for.
    pub(crate) own: Vec<Key>,
    /// Those of a record of the same request that does not say where it went.
    pub(crate) beside: Vec<Key>,
}

/// The keys of a recorded request. In a record of ours it is all there; in others it is, if it says how it was seen: then it was ours
/// before.
pub(crate) fn recorded(request: &Request<'_>, is_ours: bool) -> Keys {
    let place = Place::of(request);
    let key = |rung, digest: Digest| place.key(rung, digest);
    let own = match &request.body {
        Body::Bytes(_) if is_ours || request.source != Source::Unsaid => {
            vec![(Rung::Exact, key::digest(&parts(request), renumbered))]
        }
        Body::Bytes(bytes) | Body::Json(bytes) => {
            let json = json(bytes);
            let beside = json.filter(|_| request.endpoint.is_some_and(Endpoint::calls_a_model));
            let beside = beside
                .into_iter()
                .flat_map(|digest| place.elsewhere().map(move |place| place.key(Rung::JsonBody, digest)));
            let own = json.map(|digest| key(Rung::JsonBody, digest));
            return Keys {
                beside: beside.collect(),
                own: vec![own.unwrap_or_else(|| key(Rung::BodyHash, Digest::of(bytes)))],
            };
        }
        Body::Members(members) => {
            let found = document(members).and_then(|members| conversation(request.model.as_deref(), members));
            found.map(|digest| key(Rung::Conversation, digest)).into_iter().collect()
        }
        Body::Prompt(prompt) => {
            // A prompt may be the whole body: then it is the same request as that of a cassette.
            let is_body = prompt.trim_start().starts_with('{');
            let json = is_body.then(|| json(prompt.as_bytes())).flatten();
            let json = json.map(|digest| key(Rung::JsonBody, digest));
            json.into_iter().chain([key(Rung::Prompt, Digest::of(prompt.as_bytes()))]).collect()
        }
        Body::Hash(digest) => vec![key(Rung::BodyHash, *digest)],
    };
    Keys { own, beside: Vec::new() }
}

/// The keys under which an asked request may be found, on the rungs that a record has, in their order. It is looked for as it would
/// have been recorded here, and then as it came: others mask in another way, or not at all. What a record says of whom and where
/// must be so; one that says nothing of where is of calls of models.
pub(crate) fn asked(asked: &Masked<'_>, incoming: &Incoming<'_>, rungs: &BTreeSet<Rung>) -> Vec<Key> {
    let places = Place::asked(asked, incoming);
    let mut keys = Vec::new();
    for &rung in rungs {
        if rung == Rung::Exact {
            keys.push((rung, asked.key()));
            continue;
        }
        let is_masked = *asked.body != *incoming.body;
        for body in [&*asked.body, incoming.body].into_iter().take(1 + usize::from(is_masked)) {
            let found = match rung {
                Rung::Exact => Vec::new(),
                Rung::BodyHash | Rung::Prompt => {
                    let prompts = prompts(body);
                    let prompts = prompts.iter().map(|prompt| Digest::of(prompt.as_bytes()));
                    [Digest::of(body)].into_iter().chain(prompts).collect()
                }
                Rung::JsonBody => json(body).into_iter().collect(),
                Rung::Conversation => {
                    let found = document(body).and_then(|body| {
                        let model = body.member("model").and_then(|model| model.string());
                        conversation(model.as_deref(), body)
                    });
                    found.into_iter().collect()
                }
            };
            for digest in found {
                // Nothing at all is the same as any other nothing: only where it was asked tells them apart.
                let is_nothing = digest == Digest::of(b"");
                let places = places.iter().filter(|place| place.at.is_some() || !is_nothing);
                keys.extend(places.map(|place| place.key(rung, digest)));
            }
        }
    }
    keys
}

/// Whom a request is to, and how and where, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    vendor: Option<Vendor>,
    at: Option<String>,
}

impl Place {
    /// What a record says.
    fn of(request: &Request<'_>) -> Self {
        let provider = request.provider.to_ascii_lowercase();
        // `azure-openai` and the like; other names are of those who speak an interface, and do not tell which.
        let vendor = Vendor::ALL.into_iter().find(|vendor| provider.contains(vendor.name()));
        let is_told = !request.method.is_empty() && !request.path.is_empty();
        let at = is_told.then(|| at(request.endpoint, &request.method, &request.path));
        Self { vendor, at }
    }

    /// All that a record may say of an asked request, the most telling first.
    fn asked(asked: &Masked<'_>, incoming: &Incoming<'_>) -> Vec<Self> {
        let vendor = Vendor::of_name(asked.provider);
        let endpoint = vendor.and_then(|vendor| Endpoint::of(vendor, asked.method, incoming.path));
        let mut ats = vec![Some(at(endpoint, asked.method, &asked.path))];
        // A key in the query is masked here, and perhaps not there.
        let as_it_came = Some(at(endpoint, asked.method, incoming.path));
        if !ats.contains(&as_it_came) {
            ats.push(as_it_came);
        }
        if endpoint.is_some_and(Endpoint::calls_a_model) {
            ats.push(None);
        }
        let vendors = [vendor, None].into_iter().take(1 + usize::from(vendor.is_some()));
        vendors.flat_map(|vendor| ats.iter().map(move |at| Self { vendor, at: at.clone() })).collect()
    }

    /// What a record of the same request says that does not say where.
    fn elsewhere(&self) -> impl Iterator<Item = Self> + use<> {
        [self.vendor, None].into_iter().map(|vendor| Self { vendor, at: None })
    }

    fn key(&self, rung: Rung, digest: Digest) -> Key {
        let (vendor, at) = (self.vendor.map_or("", Vendor::name), self.at.as_deref().unwrap_or_default());
        (rung, Digest::of(format!("{digest}\0{vendor}\0{at}").as_bytes()))
    }
}

/// How and where. Of an interface that we know, the name: gateways and proxies put their own prefixes before it, and its query only
/// selects a version. Elsewhere the path from its version on, with the query. A URL is that of a host that nobody here stands for.
fn at(endpoint: Option<Endpoint>, method: &str, path: &str) -> String {
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
pub(crate) fn parts<'a>(request: &'a Request<'_>) -> KeyParts<'a> {
    KeyParts {
        provider: &request.provider,
        method: &request.method,
        path: &request.path,
        headers: &request.headers,
        body: request.body.bytes(),
    }
}

fn document(body: &[u8]) -> Option<Value<'_>> {
    Value::parse(body, &Limits::default()).ok().filter(|body| body.kind() == Kind::Object)
}

/// The digest of the values of a body; `None` if it is no object.
fn json(body: &[u8]) -> Option<Digest> {
    Some(Digest::of(&canonical::to_vec(document(body)?, Profile::Jcs).ok()?))
}

/// The members that hold what is asked, whichever vendor is.
const CONVERSATION: [&str; 3] = ["messages", "input", "prompt"];

fn conversation(model: Option<&str>, body: Value<'_>) -> Option<Digest> {
    let said = CONVERSATION.iter().find_map(|name| body.member(name))?;
    let mut text = model.unwrap_or_default().as_bytes().to_vec();
    text.push(0);
    text.extend(canonical::to_vec(said, Profile::Jcs).ok()?);
    Some(Digest::of(&text))
}

/// What may be called the prompt of a request: the words of the last message if it is the user's, or of the input. Once a model or a
/// tool has spoken after them, they are no longer what is asked.
pub(crate) fn prompts(body: &[u8]) -> Vec<String> {
    let Some(body) = document(body) else { return Vec::new() };
    let mut prompts = Vec::new();
    for name in CONVERSATION {
        let Some(said) = body.member(name) else { continue };
        if let Some(text) = said.string() {
            prompts.push(text.into_owned());
            continue;
        }
        let is_users =
            |message: &Value<'_>| message.member("role").is_some_and(|role| role.is_string("user"));
        let last = said.elements().last().filter(is_users).and_then(|message| message.member("content"));
        let is_result =
            |part: Value<'_>| part.member("type").is_some_and(|kind| kind.is_string("tool_result"));
        prompts.extend(last.filter(|content| !content.elements().any(is_result)).and_then(words));
    }
    prompts
}

/// The words of a content: a string, or a list of parts.
fn words(content: Value<'_>) -> Option<String> {
    if let Some(text) = content.string() {
        return Some(text.into_owned());
    }
    let texts = content.elements().filter_map(|part| part.member("text")?.string().map(Cow::into_owned));
    let words: String = texts.collect();
    (!words.is_empty()).then_some(words)
}
