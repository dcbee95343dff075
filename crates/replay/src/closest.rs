//! Search for the recorded request that is closest to an incoming one: most likely the one that was meant.

use std::borrow::Cow;

use reenact_json::print::PrintObjectWriter;
use reenact_json::{Limits, Shown, Value};
use reenact_run::{ExchangeRequest, ExchangeRequestBody};
use reenact_wire::MatchKeyParts;

use crate::difference::{self, RequestDiff};
use crate::miss::Closest;
use crate::recorded_exchanges::{RecordedExchanges, destination_hash};
use crate::request::MaskedPlayerRequest;
use crate::request_key::{key_parts, prompts};

/// Largest number of body bytes that are compared for one miss, recorded and incoming bodies together.
const MAX_COMPARED_BYTES: usize = 64 << 20;

/// Largest number of recorded requests that are compared for one miss.
const MAX_CANDIDATES: usize = 2_000;

/// Returns the recorded request that is closest to an incoming one; `None` if none can be compared.
///
/// Requests to the same destination are compared if there are any, else all. The one that is most like the incoming one wins; of
/// several that are as like, one that is not served yet, then the one recorded first. `is_served` answers for an index
/// into [`RecordedExchanges::entries`].
pub(crate) fn closest(
    library: &RecordedExchanges,
    masked: &MaskedPlayerRequest<'_>,
    is_served: impl Fn(usize) -> bool,
) -> Option<Closest> {
    let destination = destination_hash(masked.provider, masked.method, &masked.path);
    let readable = || library.entries.iter().enumerate().filter(|(_, recorded)| recorded.group.is_some());
    let has_same_destination = readable().any(|(_, recorded)| recorded.destination_hash == destination);
    let mut candidates: Vec<(bool, usize)> = readable()
        .filter(|(_, recorded)| recorded.destination_hash == destination || !has_same_destination)
        .map(|(at, _)| (is_served(at), at))
        .collect();
    candidates.sort_unstable();
    candidates.truncate(MAX_CANDIDATES);

    let masked = masked.key_parts();
    let mut best: Option<(u64, bool, usize)> = None;
    let mut bytes = 0;
    for (served, at) in candidates {
        let max = best.map_or(u64::MAX, |(unlikeness, ..)| unlikeness);
        let found = with_comparable(library, at, &masked, |recorded, masked| {
            bytes += recorded.body.len() + masked.body.len();
            difference::unlikeness(recorded, masked, max)
        });
        if let Some(found) = found.filter(|found| *found < max) {
            best = Some((found, served, at));
        }
        if bytes > MAX_COMPARED_BYTES {
            break;
        }
    }
    let (_, is_served, at) = best?;
    let diff = with_comparable(library, at, &masked, RequestDiff::between)?;
    let step_id = Shown::new(&library.exchange(at)?.step_id()).to_string();
    let RequestDiff { listed: differences, distance, hints } = diff;
    Some(Closest { step_id, is_served, differences, distance, hints })
}

/// Compares the recorded request at an index with an incoming one, as far as the record holds it; `None` if it holds only a hash.
fn with_comparable<T>(
    library: &RecordedExchanges,
    at: usize,
    masked: &MatchKeyParts<'_>,
    compare: impl FnOnce(&MatchKeyParts<'_>, &MatchKeyParts<'_>) -> T,
) -> Option<T> {
    let exchange = library.exchange(at)?;
    let request = exchange.request().ok()?;
    let body = comparable_body(&request, masked.body)?;
    let recorded = key_parts(&request);
    // A part that the record does not name is no difference.
    let known = |recorded, masked| if str::is_empty(recorded) { masked } else { recorded };
    let recorded = MatchKeyParts {
        provider: known(recorded.provider, masked.provider),
        method: known(recorded.method, masked.method),
        path: known(recorded.path, masked.path),
        ..recorded
    };
    Some(compare(&recorded, &MatchKeyParts { body: &body, ..*masked }))
}

/// Returns the part of an incoming body that a recorded request can be compared with; `None` if only a hash is
/// recorded.
fn comparable_body<'a>(request: &ExchangeRequest<'_>, masked: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    match &request.body {
        ExchangeRequestBody::Bytes(_) | ExchangeRequestBody::Json(_) => Some(Cow::Borrowed(masked)),
        ExchangeRequestBody::Members(members) => {
            let limits = Limits::default();
            let (members, masked) =
                (Value::parse(members, &limits).ok()?, Value::parse(masked, &limits).ok()?);
            let mut text = String::new();
            let mut object = PrintObjectWriter::open(&mut text);
            for (name, _) in members.members() {
                let name = name.string().unwrap_or_default();
                if let Some(value) = masked.member(&name) {
                    object.name(&name).push_str(&String::from_utf8_lossy(value.text()));
                }
            }
            object.close();
            Some(Cow::Owned(text.into_bytes()))
        }
        ExchangeRequestBody::Prompt(prompt) if prompt.trim_start().starts_with('{') => {
            Some(Cow::Borrowed(masked))
        }
        // The recorded text is compared with the first prompt of the body.
        ExchangeRequestBody::Prompt(_) => Some(
            prompts(masked)
                .into_iter()
                .next()
                .map_or(Cow::Borrowed(masked), |prompt| Cow::Owned(prompt.into_bytes())),
        ),
        ExchangeRequestBody::Hash(_) => None,
    }
}
