//! Interfaces that the gate can judge, by their paths.

use reenact_record::observation::InboundRequest;
use reenact_record::warden::Refused;
use reenact_wire::Endpoint;

use crate::reading::interface;

/// Interfaces that ask for no tools, whatever they answer, beside those that are read.
const WITHOUT_TOOLS: [&str; 6] = [
    "embeddings",
    "moderations",
    "messages/count_tokens",
    "responses/input_tokens",
    "images/generations",
    "audio/speech",
];

/// Path segments under which vendors keep answers of their models: a tool's call that was held back could be fetched there.
const KEPT_ANSWERS: [&str; 6] =
    ["batches", "completions", "conversations", "messages", "responses", "threads"];

/// Returns true if a path leads to answers that a vendor keeps, or is spelled so that it may.
pub fn fetches_answers(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let is_kept = |segment: &str| KEPT_ANSWERS.iter().any(|kept| kept.eq_ignore_ascii_case(segment));
    path.contains('%') || path.split('/').any(is_kept)
}

/// Refuses an interface that is not known here: it may ask for tools in a way that nobody sees.
pub(super) fn unknown_form(request: &InboundRequest<'_>) -> Result<(), Refused> {
    let path = request.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let is_known = WITHOUT_TOOLS.iter().any(|end| path.ends_with(&format!("/{end}")));
    let calls_model = interface(request).1.is_some_and(Endpoint::calls_a_model);
    if calls_model || is_known {
        return Ok(());
    }
    Err(Refused::unknown_form(&request.method, path))
}
