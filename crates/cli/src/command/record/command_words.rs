//! Commands as one would type them into a shell, for the notices that suggest one.

use reenact_json::Shown;

/// Returns a command as one would type it into a shell; `CMD` if it is empty or longer than 60 characters.
pub(in crate::command) fn command_line(command: &[String]) -> String {
    let line = command.iter().map(|argument| shell_quoted(argument)).collect::<Vec<_>>().join(" ");
    if command.is_empty() || line.chars().count() > 60 { "CMD".into() } else { line }
}

/// Returns a word for a shell's command line, in single quotes if it needs them.
pub(crate) fn shell_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", Shown::whole(text).to_string().replace('\'', "'\\''"))
}
