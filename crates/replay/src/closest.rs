//! Search for the recorded request that is closest to an incoming one: most likely the one that was meant.

use std::borrow::Cow;

use reenact_json::print::PrintObjectWriter;
use reenact_json::{Limits, Shown, Value};
use reenact_run::{ExchangeRequest, ExchangeRequestBody};
use reenact_wire::MatchKeyParts;

use crate::difference::RequestDiff;
use crate::match_level::{key_parts, prompts};
use crate::miss::Closest;
use crate::recorded_exchanges::{RecordedExchanges, destination_hash};
use crate::request::MaskedPlayerRequest;

/// Largest number of body bytes that are compared for one miss, recorded and incoming bodies together.
const MAX_COMPARED_BYTES: usize = 64 << 20;

/// Largest number of recorded requests that are compared for one miss.
const MAX_CANDIDATES: usize = 2_000;

/// Returns the recorded request that is closest to an incoming one; `None` if none can be compared.
///
/// Requests to the same destination are compared if there are any, else all. Of requests at the same distance,
/// one that is not served yet wins, then the one recorded first. `is_served` answers for an index into
/// [`RecordedExchanges::entries`].
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
    let mut best: Option<Closest> = None;
    let mut bytes = 0;
    for (served, at) in candidates {
        let Some(exchange) = library.exchange(at) else { continue };
        let Ok(request) = exchange.request() else { continue };
        let Some(body) = comparable_body(&request, masked.body) else { continue };
        let max_distance = best.as_ref().map_or(usize::MAX, |best| best.distance);
        let recorded = key_parts(&request);
        // A part that the record does not name is no difference.
        let known = |recorded, masked| if str::is_empty(recorded) { masked } else { recorded };
        let recorded = MatchKeyParts {
            provider: known(recorded.provider, masked.provider),
            method: known(recorded.method, masked.method),
            path: known(recorded.path, masked.path),
            ..recorded
        };
        let masked = MatchKeyParts { body: &body, ..masked };
        let found = RequestDiff::between(&recorded, &masked, max_distance);
        if found.distance < max_distance {
            let step_id = Shown::new(&exchange.step_id()).to_string();
            best = Some(Closest {
                step_id,
                is_served: served,
                differences: found.listed,
                distance: found.distance,
            });
        }
        bytes += request.body.bytes().len() + masked.body.len();
        if bytes > MAX_COMPARED_BYTES {
            break;
        }
    }
    best
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
