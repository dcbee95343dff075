//! A command line as words. Quotes and redirections are understood, nothing else that a shell does.

/// A command line with its redirections.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// Program and arguments; at least one word.
    pub(crate) words: Vec<String>,
    /// File of `<FILE`, the standard input.
    pub(crate) input: Option<String>,
    /// File of `>FILE`, the standard output.
    pub(crate) output: Option<String>,
}

impl CommandLine {
    /// Parses a command line.
    ///
    /// # Panics
    ///
    /// If a quote is left open, a redirection names no file, or there is no word at all.
    pub(crate) fn parse(text: &str) -> Self {
        let mut line = Self { words: Vec::new(), input: None, output: None };
        let mut words = split(text).into_iter().peekable();
        while let Some(word) = words.next() {
            let Some((sign, file)) = redirection(&word) else {
                line.words.push(word.text);
                continue;
            };
            let file = match file {
                "" => words.next().unwrap_or_else(|| panic!("`{sign}` names no file: {text}")).text,
                file => file.to_owned(),
            };
            let place = if sign == '<' { &mut line.input } else { &mut line.output };
            assert_eq!(place.replace(file), None, "two times `{sign}`: {text}");
        }
        assert!(!line.words.is_empty(), "there is no command: {text}");
        line
    }
}

/// Returns sign and file of an unquoted `<FILE` or `>FILE`.
fn redirection(word: &Word) -> Option<(char, &str)> {
    let sign = word.text.chars().next().filter(|sign| matches!(sign, '<' | '>') && !word.is_quoted)?;
    Some((sign, &word.text[1..]))
}

struct Word {
    text: String,
    /// True if any part of the word stood in quotes; it is no redirection then.
    is_quoted: bool,
}

fn split(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert(Word { text: String::new(), is_quoted: true }).is_quoted = true;
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert(Word { text: String::new(), is_quoted: false }).text.push(character),
        }
    }
    assert_eq!(quote, None, "a quote is left open: {line}");
    words.extend(word);
    words
}
