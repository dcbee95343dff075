//! The notice on credentials that stand in events written before they were known.

use reenact_record::{LateSecrets, RecordError};

/// Returns a notice on the events that hold a value which was used as a credential later, with the command that withholds
/// them; `None` if there are none. The value itself is not named. `run` is the run as a word of that command.
pub(in crate::command) fn late_secrets_notice(
    found: &Result<LateSecrets, RecordError>,
    run: &str,
    is_bundle: bool,
) -> Option<String> {
    let found = match found {
        Ok(found) if found.events.is_empty() => return None,
        Ok(found) => found,
        Err(error) => {
            return Some(format!(
                "the events were not looked through for credentials that were used later: {error}"
            ));
        }
    };
    let numbers: Vec<String> = found.events.iter().map(u64::to_string).collect();
    let listed = match numbers.as_slice() {
        [one] => format!("event {one}"),
        [others @ .., last] if found.more == 0 => format!("events {} and {last}", others.join(", ")),
        all => format!("events {} and {} more", all.join(", "), found.more),
    };
    let chosen: Vec<String> = numbers.iter().map(|number| format!("--event {number}")).collect();
    let out = if is_bundle { "shared.rer.tar.gz" } else { "shared.rer.json" };
    Some(format!(
        "a credential that was used later stands in {listed}, written before it was known; withhold that before you share the run:\n  reenact redact {run} {} --out {out}",
        chosen.join(" ")
    ))
}
