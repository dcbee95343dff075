//! Options in the arguments of an agent: finding their values, and replacing them in their place.

/// Value of an option in a list of arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentOption {
    /// Place of the argument that holds the value.
    pub(crate) at: usize,
    /// Part of that argument before the value: empty, `--name=` or `-n`.
    pub(crate) before: String,
    pub(crate) value: String,
}

/// Returns all values that options of these names have, in order: `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`.
/// Nothing behind `--` is an option.
pub(crate) fn values(arguments: &[String], names: &[&str]) -> Vec<AgentOption> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(argument) = arguments.get(at).filter(|argument| *argument != "--") {
        if names.contains(&argument.as_str()) {
            if let Some(value) = arguments.get(at + 1) {
                found.push(AgentOption { at: at + 1, before: String::new(), value: value.clone() });
            }
            at += 2;
            continue;
        }
        found.extend(
            names.iter().find_map(|name| attached(argument, name)).map(|(before, value)| AgentOption {
                at,
                before,
                value,
            }),
        );
        at += 1;
    }
    found
}

/// Splits `--name=VALUE`, `-n=VALUE` and `-nVALUE` into what stands before the value, and the value.
fn attached(argument: &str, name: &str) -> Option<(String, String)> {
    let rest = argument.strip_prefix(name)?;
    if let Some(value) = rest.strip_prefix('=') {
        return Some((format!("{name}="), value.to_owned()));
    }
    let is_short = !name.starts_with("--") && name.len() == 2;
    (is_short && !rest.is_empty()).then(|| (name.to_owned(), rest.to_owned()))
}

/// Returns the last value that options of these names have.
pub(crate) fn last_value(arguments: &[String], names: &[&str]) -> Option<String> {
    values(arguments, names).pop().map(|found| found.value)
}

/// Returns true if an argument before `--` is this word, or for an option, begins with it and `=`.
pub(crate) fn has_word(arguments: &[String], word: &str) -> bool {
    let is_it = |argument: &str| {
        let rest = argument.strip_prefix(word);
        rest.is_some_and(|rest| rest.is_empty() || word.starts_with("--") && rest.starts_with('='))
    };
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| is_it(argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn all_spellings_of_an_option() {
        let arguments =
            list(&["exec", "-c", "a=1", "--config=b=2", "-cc=3", "--config", "d=4", "--", "-c", "e=5"]);
        let found = values(&arguments, &["--config", "-c"]);
        let seen: Vec<_> =
            found.iter().map(|found| (found.at, found.before.as_str(), found.value.as_str())).collect();
        assert_eq!(seen, [(2, "", "a=1"), (3, "--config=", "b=2"), (4, "-c", "c=3"), (6, "", "d=4")]);
        assert_eq!(last_value(&list(&["--settings"]), &["--settings"]), None);
        assert!(has_word(&arguments, "exec") && !has_word(&arguments, "e=5"));
    }
}
