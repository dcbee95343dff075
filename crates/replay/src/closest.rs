//! The recorded request that an asked one was most likely meant to be.

use std::borrow::Cow;

use reenact_json::print::Object;
use reenact_json::{Limits, Shown, Value};
use reenact_run::{Body, Request};
use reenact_wire::KeyParts;

use crate::difference::Differences;
use crate::incoming::Masked;
use crate::library::{Library, place};
use crate::miss::Closest;
use crate::rung::{parts, prompts};

/// How many bytes of recorded bodies are worth comparing for one miss.
const MOST_BYTES: usize = 64 << 20;

/// How many recorded requests are.
const MOST_REQUESTS: usize = 2_000;

/// Finds it: among the requests to the same place if there are any, else among all. Of those at the same distance, the one
/// that was not asked for yet, and that comes first. `is_served` says whether the one at a place was asked for.
pub(crate) fn closest(
    library: &Library,
    asked: &Masked<'_>,
    is_served: impl Fn(usize) -> bool,
) -> Option<Closest> {
    let here = place(asked.provider, asked.method, &asked.path);
    let readable = || library.recorded.iter().enumerate().filter(|(_, recorded)| recorded.group.is_some());
    let is_anything_here = readable().any(|(_, recorded)| recorded.place == here);
    let mut candidates: Vec<(bool, usize)> = readable()
        .filter(|(_, recorded)| recorded.place == here || !is_anything_here)
        .map(|(at, _)| (is_served(at), at))
        .collect();
    candidates.sort_unstable();
    candidates.truncate(MOST_REQUESTS);

    let asked = asked.parts();
    let mut best: Option<Closest> = None;
    let mut bytes = 0;
    for (served, at) in candidates {
        let Some(exchange) = library.exchange(at) else { continue };
        let Ok(request) = exchange.request() else { continue };
        let Some(body) = comparable(&request, asked.body) else { continue };
        let enough = best.as_ref().map_or(usize::MAX, |best| best.distance);
        let recorded = parts(&request);
        // What a record does not say is no difference.
        let known = |recorded, asked| if str::is_empty(recorded) { asked } else { recorded };
        let recorded = KeyParts {
            provider: known(recorded.provider, asked.provider),
            method: known(recorded.method, asked.method),
            path: known(recorded.path, asked.path),
            ..recorded
        };
        let asked = KeyParts { body: &body, ..asked };
        let found = Differences::between(&recorded, &asked, enough);
        if found.distance < enough {
            let step_id = Shown::new(&exchange.step_id()).to_string();
            best = Some(Closest { step_id, served, differences: found.listed, distance: found.distance });
        }
        bytes += request.body.bytes().len() + asked.body.len();
        if bytes > MOST_BYTES {
            break;
        }
    }
    best
}

/// The part of an asked body that a recorded one can be compared with; `None` if there is none.
fn comparable<'a>(request: &Request<'_>, asked: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    match &request.body {
        Body::Bytes(_) | Body::Json(_) => Some(Cow::Borrowed(asked)),
        Body::Members(members) => {
            let limits = Limits::default();
            let (members, asked) = (Value::parse(members, &limits).ok()?, Value::parse(asked, &limits).ok()?);
            let mut text = String::new();
            let mut object = Object::open(&mut text);
            for (name, _) in members.members() {
                let name = name.string().unwrap_or_default();
                if let Some(value) = asked.member(&name) {
                    object.name(&name).push_str(&String::from_utf8_lossy(value.text()));
                }
            }
            object.close();
            Some(Cow::Owned(text.into_bytes()))
        }
        Body::Prompt(prompt) if prompt.trim_start().starts_with('{') => Some(Cow::Borrowed(asked)),
        // Two texts are compared as such.
        Body::Prompt(_) => Some(
            prompts(asked)
                .into_iter()
                .next()
                .map_or(Cow::Borrowed(asked), |prompt| Cow::Owned(prompt.into_bytes())),
        ),
        Body::Hash(_) => None,
    }
}
