//! Commands as one would type them into a shell, for the notices that suggest one.

use reenact_json::Shown;

/// Returns a command as one would type it into a shell; `CMD` if it is empty or longer than 60 characters.
pub(in crate::command) fn command_line(command: &[String]) -> String {
    let line = command.iter().map(|argument| shell_quoted(argument)).collect::<Vec<_>>().join(" ");
    if command.is_empty() || line.chars().count() > 60 { "CMD".into() } else { line }
}

/// Returns a whole command to copy and run; `CMD` if it is not the one that was typed, or longer than 500 characters.
pub(in crate::command) fn whole_command_line(command: &[String]) -> String {
    let line = command.iter().map(|argument| shell_quoted(argument)).collect::<Vec<_>>().join(" ");
    let is_usable = command_fault(command).is_none() && line.chars().count() <= 500;
    if is_usable { line } else { "CMD".into() }
}

/// Returns a word for a shell's command line, in single quotes if it needs them.
pub(crate) fn shell_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", Shown::whole(text).to_string().replace('\'', "'\\''"))
}

/// Returns what to type behind `reenact replay RUN` for a run of one's own: nothing, or ` -- CMD` if the recorded command is not the one
/// that was typed.
pub(in crate::command) fn replay_words(command: &[String]) -> String {
    match command_fault(command) {
        Some(_) => format!(" -- {}", command_line(command)),
        None => String::new(),
    }
}

/// Returns the reason why a recorded command is not the one that was typed; `None` if it is.
pub(in crate::command) fn command_fault(command: &[String]) -> Option<&'static str> {
    if command.iter().any(|word| word.contains("[masked:")) {
        return Some("a secret in it is masked");
    }
    // What is no UTF-8 is recorded with a replacement, and a NUL is in no argument.
    if command.iter().any(|word| word.contains(['\u{fffd}', '\0'])) {
        return Some("a word of it could not be written down");
    }
    command.first().is_none_or(String::is_empty).then_some("its program has no name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_copy_are_whole() {
        let words = |command: &[&str]| {
            whole_command_line(&command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let long = "x".repeat(200);
        assert_eq!(words(&["claude", "-p", "fix it", &long]), format!("claude -p 'fix it' {long}"));
        assert_eq!(words(&["claude", &long, &long, &long]), "CMD");
        assert_eq!(words(&["curl", "-u", "[masked:argument:1]"]), "CMD");
        assert_eq!(words(&[]), "CMD");
    }

    #[test]
    fn commands_that_are_not_as_they_were_typed() {
        for (command, why, words) in [
            (
                &["curl", "-u", "[masked:argument:1]"][..],
                Some("a secret in it is masked"),
                " -- curl -u '[masked:argument:1]'",
            ),
            (&["a", "\u{fffd}"], Some("a word of it could not be written down"), " -- a '\u{fffd}'"),
            (&["", "a"], Some("its program has no name"), " -- '' a"),
            (&[], Some("its program has no name"), " -- CMD"),
            (&["claude", "-p", "say [mask]"], None, ""),
        ] {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(command_fault(&command), why, "{command:?}");
            assert_eq!(replay_words(&command), words);
        }
    }
}
