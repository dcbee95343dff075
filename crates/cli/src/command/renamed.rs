//! Names that commands had, for those who remember an earlier one: `reenact envelope` answers "did you mean: reenact policy".
//!
//! The old names do nothing. To rename a command, add a row to [`RENAMED`].

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// First words of a command line as they were, and as they are.
const RENAMED: &[(&[&str], &str)] = &[
    (&["approve"], "policy approve"),
    (&["bundle", "create"], "share"),
    (&["envelope"], "policy"),
    (&["prices"], "doctor prices"),
    (&["recover"], "runs recover"),
];

/// Returns the name that a command has today, for a command line that begins with an earlier one.
pub(super) fn name_of_today<W: AsRef<OsStr>>(words: &[W]) -> Option<&'static str> {
    let is_typed = |old: &[&str]| {
        words.len() >= old.len() && old.iter().zip(words).all(|(old, word)| word.as_ref() == *old)
    };
    RENAMED.iter().find(|(old, _)| is_typed(old)).map(|(_, name)| *name)
}

/// Adds the name that a command has today to clap's complaint about an unknown command.
pub(crate) fn suggest_name(error: &mut clap::Error, words: &[OsString]) {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(name) = name_of_today(words) else { return };
    // Similar spelling misleads where the meaning is known.
    error.remove(ContextKind::SuggestedSubcommand);
    let tip = format!("did you mean: reenact {name}");
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::ReenactArgs;
    use clap::CommandFactory as _;

    /// Returns true if these words are a command.
    fn is_command<'w>(words: impl IntoIterator<Item = &'w str>) -> bool {
        let root = ReenactArgs::command();
        let mut command = &root;
        words.into_iter().all(|word| match command.find_subcommand(word) {
            Some(found) => {
                command = found;
                true
            }
            None => false,
        })
    }

    #[test]
    fn old_names_are_gone_and_new_ones_are_there() {
        for (old, name) in RENAMED {
            assert!(!is_command(old.iter().copied()), "{old:?} is a command still");
            assert!(is_command(name.split(' ')), "{name} is no command");
        }
    }

    #[test]
    fn the_new_name_is_told() {
        for (old, name) in RENAMED {
            let words: Vec<OsString> = old.iter().map(OsString::from).collect();
            let Err(mut error) =
                ReenactArgs::command().try_get_matches_from([&["reenact".into()], &*words].concat())
            else {
                panic!("{old:?} is a command still");
            };
            suggest_name(&mut error, &words);
            let text = error.to_string();
            assert!(text.contains(&format!("\n  tip: did you mean: reenact {name}\n")), "{text}");
            assert!(!text.contains("similar"), "{text}");
        }
    }

    #[test]
    fn other_complaints_stay_as_they_are() {
        for words in [&["recrod"][..], &["show", "--prices"], &["nothing"]] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let mut error = ReenactArgs::command()
                .try_get_matches_from([&["reenact".into()], &*words].concat())
                .unwrap_err();
            let before = error.to_string();
            suggest_name(&mut error, &words);
            assert_eq!(error.to_string(), before);
        }
    }
}
