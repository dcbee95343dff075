//! How much of a request is held, and so by what an asked one is found.
//!
//! What we record is found by all of it. Other records hold less: the JSON of a body in another spelling, a hash, some of the
//! arguments of a call, the words of a prompt. Each has a rung of its own, and the weakest that was stood on is told in the end.

use std::borrow::Cow;
use std::collections::BTreeSet;

use reenact_json::{Digest, Kind, Limits, Profile, Value, canonical};
use reenact_run::{Body, Request, Source};

use crate::incoming::{Incoming, Masked};
use crate::key::{self, KeyParts};

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

/// The keys of a recorded request, of which the first one is its own; none, if nothing of it can be asked for. In a record of ours
/// it is all there; in others it is, if it says how it was seen: then it was ours before.
pub(crate) fn recorded(request: &Request<'_>, is_ours: bool) -> Vec<Key> {
    match &request.body {
        Body::Bytes(_) if is_ours || request.source != Source::Unsaid => {
            vec![(Rung::Exact, key::digest(&parts(request)))]
        }
        Body::Bytes(bytes) | Body::Json(bytes) => {
            let json = json(bytes).map(|digest| (Rung::JsonBody, digest));
            vec![json.unwrap_or_else(|| (Rung::BodyHash, Digest::of(bytes)))]
        }
        Body::Members(members) => {
            let found = document(members).and_then(|members| conversation(request.model.as_deref(), members));
            found.map(|digest| (Rung::Conversation, digest)).into_iter().collect()
        }
        Body::Prompt(prompt) => {
            // A prompt may be the whole body: then it is the same request as that of a cassette.
            let is_body = prompt.trim_start().starts_with('{');
            let json =
                is_body.then(|| json(prompt.as_bytes())).flatten().map(|digest| (Rung::JsonBody, digest));
            json.into_iter().chain([(Rung::Prompt, Digest::of(prompt.as_bytes()))]).collect()
        }
        Body::Hash(digest) => vec![(Rung::BodyHash, *digest)],
    }
}

/// The keys under which an asked request may be found, on the rungs that a record has, in their order. It is looked for as it would
/// have been recorded here, and then as it came: others mask in another way, or not at all.
pub(crate) fn asked(asked: &Masked<'_>, incoming: &Incoming<'_>, rungs: &BTreeSet<Rung>) -> Vec<Key> {
    let mut keys = Vec::new();
    for &rung in rungs {
        if rung == Rung::Exact {
            keys.push((rung, asked.key()));
            continue;
        }
        let is_masked = *asked.body != *incoming.body;
        for body in [&*asked.body, incoming.body].into_iter().take(1 + usize::from(is_masked)) {
            match rung {
                Rung::Exact => {}
                Rung::BodyHash => {
                    keys.push((rung, Digest::of(body)));
                    keys.extend(prompts(body).iter().map(|prompt| (rung, Digest::of(prompt.as_bytes()))));
                }
                Rung::JsonBody => keys.extend(json(body).map(|digest| (rung, digest))),
                Rung::Prompt => {
                    keys.push((rung, Digest::of(body)));
                    keys.extend(prompts(body).iter().map(|prompt| (rung, Digest::of(prompt.as_bytes()))));
                }
                Rung::Conversation => {
                    let found = document(body).and_then(|body| {
                        let model = body.member("model").and_then(|model| model.string());
                        conversation(model.as_deref(), body)
                    });
                    keys.extend(found.map(|digest| (rung, digest)));
                }
            }
        }
    }
    keys
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

/// What may be called the prompt of a request: the words of the last message that is the user's, or of the input.
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
        let last = said.elements().filter(is_users).last().and_then(|message| message.member("content"));
        prompts.extend(last.and_then(words));
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
