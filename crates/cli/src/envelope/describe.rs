//! An envelope as lines for people.
//!
//! ```text
//!   models    gpt-5
//!   tools     search_flights, book_flight
//!   steps     at most 7 calls
//!   expiry    2026-12-31T00:00:00Z (in 43 days)
//!   authority nobody but the run's own key
//! ```

use reenact_formats::rer::envelope::approvers::{ApproverPin, PinnedApprovers};
use reenact_formats::rer::envelope::authorization::{Authorization, AuthorizationTerms, AuthorizedRuntime};
use reenact_formats::rer::envelope::permission::{Envelope, EnvelopeEnforcement, SignerType};
use reenact_json::{Shown, Value};

use crate::quantity;

/// Returns the permissions of an envelope, each as a label and a text that is safe to print.
///
/// `value` is the JSON of the same envelope: the expiry and the authorising key are quoted from it as they
/// were written. `now` is in nanoseconds since 1970; with it the line on the expiry says how much time is
/// left. Limits that are not set have no line.
pub(crate) fn summary_lines(
    envelope: &Envelope,
    value: Value<'_>,
    now: Option<i128>,
) -> Vec<(&'static str, String)> {
    let list = |names: &std::collections::BTreeSet<String>| match names.is_empty() {
        true => "none".to_owned(),
        false => names.iter().map(|name| Shown::new(name).to_string()).collect::<Vec<_>>().join(", "),
    };
    let mut lines = Vec::new();
    if envelope.enforcement != EnvelopeEnforcement::Enforced {
        let word = match envelope.enforcement {
            EnvelopeEnforcement::Observed => "nothing was restricted (observe-only)",
            _ => "imported: the source knows no permissions",
        };
        lines.push(("enforced", word.to_owned()));
    }
    lines.push(("models", list(&envelope.allowed_models)));
    lines.push(("tools", list(&envelope.allowed_tools)));
    if let Some(max) = envelope.max_steps {
        lines.push(("steps", format!("at most {}", quantity::count(max, "call"))));
    }
    if let Some(max) = envelope.max_spend {
        lines.push((
            "spend",
            if max.picodollars() == 0 { "nothing".into() } else { format!("at most {max}") },
        ));
    }
    if let Some(max) = envelope.rate_limit_rpm {
        lines.push(("rate", format!("at most {} in any 60 seconds", quantity::count(max, "call"))));
    }
    let text = value.member("expiry").and_then(|expiry| expiry.string());
    if let (Some(text), Some(expiry)) = (text, envelope.expiry) {
        lines.push((
            "expiry",
            format!("{}{}", Shown::new(&text), now.map_or(String::new(), |now| time_left(expiry - now))),
        ));
    }
    for rule in &envelope.required_approvals {
        let pattern = match rule.action.as_str() {
            "model.call" => rule.model_pattern.as_ref(),
            _ => rule.tool_pattern.as_ref(),
        };
        let pattern = pattern.map_or(String::new(), |pattern| format!(" of {}", Shown::new(pattern)));
        let by = rule.signer_types.as_ref().map_or("anyone".to_owned(), |types| signer_type_list(types));
        lines.push(("approval", format!("{}{pattern}: by {by}", Shown::new(&rule.action))));
    }
    lines.extend(approver_lines(envelope).map(|line| ("approvers", line)));
    if !envelope.required_signer_types.is_empty() {
        lines.push((
            "signers",
            format!("by the end of the run: {}", signer_type_list(&envelope.required_signer_types)),
        ));
    }
    lines.push((
        "authority",
        match Authorization::read(value) {
            Ok(Some(authorization)) => {
                format!("key {} for {}", authorization.key_id, terms_text(&authorization.terms))
            }
            Ok(None) => "nobody but the run's own key".to_owned(),
            Err(fault) => format!("none: {fault}"),
        },
    ));
    lines
}

/// Returns who may approve, one line for each pin; a line that says so if nobody is pinned where an approval is required.
fn approver_lines(envelope: &Envelope) -> impl Iterator<Item = String> {
    let pin_text = |pin: &ApproverPin| {
        let pattern = match pin.action.as_str() {
            "model.call" => pin.model_pattern.as_ref(),
            _ => pin.tool_pattern.as_ref(),
        };
        let pattern = pattern.map_or(String::new(), |pattern| format!(" of {}", Shown::new(pattern)));
        let keys: Vec<String> = pin.keys.iter().map(ToString::to_string).collect();
        let keys = if keys.is_empty() { "nobody".to_owned() } else { keys.join(", ") };
        format!("{}{pattern}: {keys}", Shown::new(&pin.action))
    };
    let mut lines: Vec<String> = envelope.approvers.entries().iter().map(pin_text).collect();
    if let PinnedApprovers::Unreadable(fault) = &envelope.approvers {
        lines.push(format!("none: {fault}"));
    } else if lines.is_empty() && !envelope.required_approvals.is_empty() {
        lines.push("none is pinned, so nobody can approve".to_owned());
    }
    lines.into_iter()
}

/// Returns the terms of an authorization in words: `the runtime …, until 2026-12-31T00:00:00Z`.
pub(crate) fn terms_text(terms: &AuthorizationTerms) -> String {
    let runtime = match terms.runtime {
        AuthorizedRuntime::Any => "any runtime".to_owned(),
        AuthorizedRuntime::Key(key) => format!("the runtime {key}"),
    };
    let until = terms.not_after.as_ref().map(|end| format!(", until {}", Shown::new(end)));
    runtime + &until.unwrap_or_default()
}

/// Returns the names of signer types, separated by commas. An empty list, which nobody can satisfy, reads `nobody`.
fn signer_type_list(types: &[SignerType]) -> String {
    match types {
        [] => "nobody".to_owned(),
        types => types.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the time until an expiry in hours or days, as a suffix in parentheses; days from 48 hours on.
fn time_left(nanoseconds: i128) -> String {
    const HOUR: i128 = 3_600_000_000_000;
    match nanoseconds {
        ..=0 => " (it has expired: nothing is permitted any more)".to_owned(),
        left if left < 48 * HOUR => {
            format!(" (in {})", quantity::count(u64::try_from(left / HOUR).unwrap_or(0), "hour"))
        }
        left => format!(" (in {})", quantity::count(u64::try_from(left / (24 * HOUR)).unwrap_or(0), "day")),
    }
}
