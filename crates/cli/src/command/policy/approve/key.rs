//! The approver's key to answer with. A key that may not answer is refused before anything is signed.
//!
//! A key may answer if it is an own approver's key without a mark in the trust store, of a signer type that
//! the rule asks for, and one that the envelope of the run pins.

use reenact_formats::rer::approval::Approver;
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_keys::{KeyName, KeyStoreError};
use reenact_record::approval::QuestionFile;

use crate::config::UserConfig;
use crate::output::CommandError;

/// Key of the user's own that may answer a question.
pub(super) struct ChosenApprover {
    /// Name in the key store, which the passphrase prompt shows.
    pub(super) name: KeyName,
    /// Public key and signer type, which the token names.
    pub(super) approver: Approver,
}

/// Returns the approver's key of that name; without a name, the only one that may answer.
///
/// # Errors
///
/// With advice, if no key may answer, several may, or the named one is of the wrong type or marked in the trust store.
pub(super) fn choose_key(
    config: &UserConfig,
    name: Option<&KeyName>,
    request: &QuestionFile,
) -> Result<ChosenApprover, CommandError> {
    let approvers = config.approvers()?;
    let types = request.signer_types.as_deref();
    let is_pinned = |approver: &Approver| request.pinned.contains(&approver.key.id());
    let may = |approver: &Approver| {
        is_pinned(approver) && types.is_none_or(|types| types.contains(&approver.signer_type))
    };
    let Some(name) = name else {
        let mut able: Vec<_> = approvers.into_iter().filter(|(_, approver)| may(approver)).collect();
        let names: Vec<&str> = able.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        return match (able.pop(), able.len()) {
            (Some((name, approver)), 0) => Ok(ChosenApprover { name, approver }),
            (None, _) => Err(CommandError::impossible(format!(
                "you have no approver's key{} that the run's envelope pins; see: reenact keys list",
                types.map_or(String::new(), |types| format!(" of type {}", signer_types_text(types)))
            ))),
            (Some(_), _) => Err(CommandError::impossible(format!(
                "several of your keys may answer; name one with --key: {names}"
            ))),
        };
    };
    let known = config.key_store().key_info(name).map_err(|error| match error {
        KeyStoreError::NotFound { .. } => {
            CommandError::impossible(format!("you have no key called {name}; see: reenact keys list"))
        }
        error => CommandError::impossible(error.to_string()),
    })?;
    if known.approver.is_none() {
        return Err(CommandError::impossible(format!(
            "{name} is no approver's key; make one with: reenact keys generate NAME --approver"
        )));
    }
    let Some((_, approver)) = approvers.into_iter().find(|(found, _)| found == name) else {
        return Err(CommandError::impossible(format!(
            "{name} is marked as superseded or compromised: nothing that it signs counts; see: reenact keys list"
        )));
    };
    if !is_pinned(&approver) {
        return Err(CommandError::impossible(format!(
            "the run's envelope does not pin {name} as an approver of this: nothing that it signs counts here"
        )));
    }
    if !may(&approver) {
        return Err(CommandError::impossible(format!(
            "{name} approves as {}, and the rule asks for {}",
            approver.signer_type.name(),
            types.map_or("somebody else".to_owned(), signer_types_text)
        )));
    }
    Ok(ChosenApprover { name: name.clone(), approver })
}

/// Returns signer types as a phrase: `human or delegate`.
pub(super) fn signer_types_text(types: &[SignerType]) -> String {
    match types {
        [] => "nobody".to_owned(),
        types => types.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or "),
    }
}
