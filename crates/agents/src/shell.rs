//! The simple commands in a shell's text, for recognition alone: nothing is expanded, and the text is never written again.

/// Words after which a command begins.
const RESERVED: [&str; 12] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "exec", "time", "command"];
/// Most commands that are looked at.
const MAX_COMMANDS: usize = 256;

/// Returns the simple commands of a text as words, without the reserved words before them.
pub(crate) fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut rest = text.chars().peekable();
    let finish = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(command)) = (word.take(), commands.last_mut())
            && !(command.is_empty() && RESERVED.contains(&word.as_str()))
        {
            command.push(word);
        }
    };
    while let Some(c) = rest.next() {
        match c {
            '\'' => word.get_or_insert_default().extend(rest.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = rest.next().filter(|c| *c != '"') {
                    word.push(if c == '\\' { rest.next().unwrap_or(c) } else { c });
                }
            }
            '\\' => word.get_or_insert_default().extend(rest.next().filter(|c| *c != '\n')),
            '#' if word.is_none() => {
                // A comment ends with its line, and so does the command.
                let _ = rest.by_ref().find(|c| *c == '\n');
                commands.push(Vec::new());
            }
            ';' | '|' | '&' | '(' | ')' | '\n' | '`' => {
                finish(&mut word, &mut commands);
                if commands.len() >= MAX_COMMANDS {
                    break;
                }
                commands.push(Vec::new());
            }
            c if c.is_whitespace() => finish(&mut word, &mut commands),
            c => word.get_or_insert_default().push(c),
        }
    }
    finish(&mut word, &mut commands);
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_text() {
        for (text, expected) in [
            ("codex exec 'do it'", vec![vec!["codex", "exec", "do it"]]),
            (
                "cd x && A=b codex \"say \\\"hi\\\"\"",
                vec![vec!["cd", "x"], vec!["A=b", "codex", "say \"hi\""]],
            ),
            ("exec codex # not this; or that\necho a\\ b", vec![vec!["codex"], vec!["echo", "a b"]]),
            ("if true; then (codex); fi", vec![vec!["true"], vec!["codex"], vec!["fi"]]),
            ("echo 'codex", vec![vec!["echo", "codex"]]),
            ("", vec![]),
        ] {
            assert_eq!(simple_commands(text), expected, "{text}");
        }
    }
}
