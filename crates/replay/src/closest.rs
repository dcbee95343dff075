//! The recorded request that an asked one was most likely meant to be.

use reenact_json::Shown;

use crate::difference::Differences;
use crate::incoming::Masked;
use crate::library::{Library, parts, place};
use crate::miss::Closest;

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
        let enough = best.as_ref().map_or(usize::MAX, |best| best.distance);
        let found = Differences::between(&parts(&request), &asked, enough);
        if found.distance < enough {
            let step_id = Shown::new(&exchange.step_id()).to_string();
            best = Some(Closest { step_id, served, differences: found.listed, distance: found.distance });
        }
        bytes += request.body.len() + asked.body.len();
        if bytes > MOST_BYTES {
            break;
        }
    }
    best
}
