//! The key to answer with. One that may not answer is refused before anything is signed.

use reenact_formats::rer::approval::Approver;
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_keys::{KeyName, KeyStoreError};
use reenact_record::approval::Request;

use crate::config::Config;
use crate::output::Ending;

/// The key that was chosen.
pub(super) struct Chosen {
    pub(super) name: KeyName,
    pub(super) approver: Approver,
}

/// The key of that name; without a name, the only one that may answer.
pub(super) fn choose(config: &Config, name: Option<&KeyName>, request: &Request) -> Result<Chosen, Ending> {
    let approvers = config.approvers()?;
    let types = request.signer_types.as_deref();
    let may = |approver: &Approver| types.is_none_or(|types| types.contains(&approver.signer_type));
    let Some(name) = name else {
        let mut able: Vec<_> = approvers.into_iter().filter(|(_, approver)| may(approver)).collect();
        let names: Vec<&str> = able.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        return match (able.pop(), able.len()) {
            (Some((name, approver)), 0) => Ok(Chosen { name, approver }),
            (None, _) => Err(Ending::impossible(format!(
                "you have no approver's key{} to sign with; make one with: reenact keys generate NAME --approver{}",
                types.map_or(String::new(), |types| format!(" of type {}", words(types))),
                option(types)
            ))),
            (Some(_), _) => Err(Ending::impossible(format!(
                "several of your keys may answer; name one with --key: {names}"
            ))),
        };
    };
    let known = config.key_store().known(name).map_err(|error| match error {
        KeyStoreError::NotFound { .. } => {
            Ending::impossible(format!("you have no key called {name}; see: reenact keys list"))
        }
        error => Ending::impossible(error.to_string()),
    })?;
    if known.approver.is_none() {
        return Err(Ending::impossible(format!(
            "{name} is no approver's key; make one with: reenact keys generate NAME --approver"
        )));
    }
    let Some((_, approver)) = approvers.into_iter().find(|(found, _)| found == name) else {
        return Err(Ending::impossible(format!(
            "{name} is marked as superseded or compromised: nothing that it signs counts; see: reenact keys list"
        )));
    };
    if !may(&approver) {
        return Err(Ending::impossible(format!(
            "{name} approves as {}, and the rule asks for {}",
            approver.signer_type.name(),
            types.map_or("somebody else".to_owned(), words)
        )));
    }
    Ok(Chosen { name: name.clone(), approver })
}

/// The types in words.
pub(super) fn words(types: &[SignerType]) -> String {
    match types {
        [] => "nobody".to_owned(),
        types => types.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or "),
    }
}

/// What to add to the advice, so that the key is of a type that may answer.
fn option(types: Option<&[SignerType]>) -> String {
    match types {
        Some([first, ..]) if !types.is_some_and(|types| types.contains(&SignerType::Human)) => {
            format!(" --signer-type {}", first.name())
        }
        _ => String::new(),
    }
}
