//! What surrounds a replay and cannot be the same as in the recording: the folder, and the person at the terminal.

use std::ffi::OsStr;

use reenact_json::Shown;
use reenact_run::Run;

/// Returns a notice if the run was recorded in another folder; `None` if it is the same, or the record does not say.
pub(super) fn folder_notice(run: &Run) -> Option<String> {
    let recorded = run.surroundings().folder?.into_owned();
    let here = std::env::current_dir().ok()?;
    let here = here.to_string_lossy();
    // A masked folder cannot be compared.
    (recorded != here && !recorded.contains("[masked:")).then(|| {
        format!(
            "recorded in {}, replayed in {}: an agent that names its folder or reads its files may ask for something else",
            Shown::whole(&recorded),
            Shown::whole(&here)
        )
    })
}

/// Returns a notice if someone may have typed at the agent: neither its input nor its output was piped. `name` is the run as it was
/// named.
pub(super) fn terminal_notice(run: &Run, name: &OsStr) -> Option<String> {
    let surroundings = run.surroundings();
    // Records of 0.1.0 and of other formats hold no streams.
    let holds_streams = surroundings.capture.is_some();
    let is_piped = run.standard_input().is_some() || surroundings.stdout_sha256.is_some();
    (holds_streams && !is_piped).then(|| {
        format!(
            "nothing was piped when this was recorded: if anything was typed then, it is not in the record and must be typed again (reenact show {} tells it)",
            Shown::whole(&name.to_string_lossy())
        )
    })
}

/// Returns true if secrets are masked in the answers of a run: an agent is given the masks.
pub(super) fn has_masked_answers(run: &Run) -> bool {
    const MARK: &[u8] = b"[masked:";
    let is_masked = |body: &[u8]| body.windows(MARK.len()).any(|part| part == MARK);
    run.exchanges().any(|exchange| exchange.answer().is_ok_and(|answer| is_masked(&answer.body)))
}
