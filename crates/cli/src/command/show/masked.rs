//! Which rules masked how much of a run: counted on reading, from the marks that stand in its payloads.

use reenact_run::Run;
use reenact_secrets::Tally;

pub(super) fn of(run: &Run) -> Tally {
    let mut tally = Tally::default();
    for payload in run.events().filter_map(|event| event.payload().value()) {
        tally.add(payload.text());
    }
    tally
}

/// In words; `None` if nothing was.
pub(super) fn line(tally: &Tally) -> Option<String> {
    let words: Vec<String> = tally.values().map(|(rule, values)| format!("{rule} {values}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}
