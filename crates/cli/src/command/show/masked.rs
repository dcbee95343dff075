//! The number of values that each rule masked in a run, counted from the marks in its payloads.

use reenact_run::Run;
use reenact_secrets::MaskCounts;

/// Counts the marks in all payloads of a run. Withheld payloads cannot be counted.
pub(super) fn mask_tally(run: &Run) -> MaskCounts {
    let mut tally = MaskCounts::default();
    for payload in run.events().filter_map(|event| event.payload().value()) {
        tally.add(payload.text());
    }
    tally
}

/// Returns the counts as a phrase, such as `account 1, jwt 2`; `None` if nothing was masked.
pub(super) fn mask_summary(tally: &MaskCounts) -> Option<String> {
    let words: Vec<String> = tally.counts().map(|(rule, values)| format!("{rule} {values}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}
