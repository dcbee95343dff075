//! The approvers of a run, looked at before it begins.
//!
//! An approval rule for which the envelope pins no approver could be satisfied by nobody, or by whoever makes a key: the run is
//! refused. Approvers who are new here are named, since an envelope may have been changed. Start reading at [`check`] and
//! [`announce`].

use std::path::Path;

use reenact_formats::key::KeyId;
use reenact_formats::rer::approval::Approver;
use reenact_formats::rer::envelope::approvers::unpinned_rules;
use reenact_formats::rer::envelope::permission::Envelope;
use reenact_json::Shown;
use reenact_keys::KeyName;

use super::options::PolicyModeArg;
use crate::config::UserConfig;
use crate::envelope::UnsignedEnvelope;
use crate::output::{self, CommandError};
use crate::seen_approvers::SeenApprovers;

/// Checks that the envelope pins an approver for each of its approval rules. `known` are the user's own approvers.
///
/// A run that only warns asks nobody and holds nothing back: there a notice is enough.
///
/// # Errors
///
/// The first rule without an approver, and the way to pin one.
pub(super) fn check(
    envelope: &UnsignedEnvelope,
    file: &Path,
    mode: PolicyModeArg,
    known: &[(KeyName, Approver)],
) -> Result<(), CommandError> {
    let Some((at, rule)) = unpinned_rules(&envelope.envelope)
        .first()
        .and_then(|at| Some((*at, envelope.envelope.required_approvals.get(*at)?)))
    else {
        return Ok(());
    };
    let (action, name) = (Shown::new(&rule.action), file.to_string_lossy());
    let why = format!(
        "{}: required_approvals[{at}] ({action}) has no approver: nobody is pinned who could approve it",
        Shown::whole(&name)
    );
    if mode == PolicyModeArg::Warn {
        output::print_notice(&format!("{why}; --policy-mode enforce refuses to start under it"));
        return Ok(());
    }
    let own: Vec<String> = known.iter().map(|(name, known)| format!("{} ({name})", known.key.id())).collect();
    let keys = match own.as_slice() {
        [] => "make a key where the agent cannot: reenact keys generate NAME --approver".to_owned(),
        own => format!("your own approvers' keys: {}", own.join(", ")),
    };
    Err(CommandError::impossible(format!(
        "{why}\npin one beside the rule, by the id of the key: approvers = [\"KEY_ID\"]\n{keys}"
    )))
}

/// Names the pinned approvers that no earlier run here had, in one line on standard error, and remembers them.
///
/// The line is a matter of security, so that `--quiet` does not leave it out. A failure to remember is said, and the run goes on:
/// the same approvers are named again next time.
pub(super) fn announce(envelope: &Envelope, config: &UserConfig, known: &[(KeyName, Approver)]) {
    let pinned = envelope.approvers.entries().iter().flat_map(|pin| &pin.keys).copied().collect();
    if envelope.required_approvals.is_empty() {
        return;
    }
    let file = SeenApprovers::new(config);
    let seen = file.load().unwrap_or_else(|why| {
        output::print_notice(&format!("{why}; all approvers count as new"));
        Default::default()
    });
    let new: Vec<KeyId> = std::collections::BTreeSet::difference(&pinned, &seen).copied().collect();
    if new.is_empty() {
        return;
    }
    let names: Vec<String> = new.iter().map(|id| approver_text(id, known)).collect();
    output::print_notice(&format!(
        "approvers that no run here had before: {}; if you did not pin them, stop this run",
        names.join(", ")
    ));
    if let Err(why) = file.save(&seen.union(&pinned).copied().collect()) {
        output::print_notice(&format!("{why}; the same approvers are named again next time"));
    }
}

/// Returns a key with its name, if it is one of the user's own.
fn approver_text(id: &KeyId, known: &[(KeyName, Approver)]) -> String {
    match known.iter().find(|(_, known)| known.key.id() == *id) {
        Some((name, known)) => format!("{name} ({id}, {})", known.signer_type.name()),
        None => id.to_string(),
    }
}
