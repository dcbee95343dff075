//! Variables as an agent sees them: those of its environment, under and over those that its own files set.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::local::{LocalEnvironment, parse_json, read_settings};
use crate::options;
use crate::row::{AgentRow, EnvironmentFormat, EnvironmentRow};

/// Variables as an agent sees them.
#[derive(Debug, Clone, Default)]
pub(crate) struct EffectiveVariables {
    /// Values of files that beat the environment.
    over: BTreeMap<String, String>,
    /// Values of files that fill gaps.
    under: BTreeMap<String, String>,
}

impl EffectiveVariables {
    /// Reads the files of a row.
    pub(crate) fn read(row: &AgentRow, local: &LocalEnvironment, arguments: &[String]) -> Self {
        let mut variables = Self::default();
        let option = |name: &str| options::last_value(arguments, &[name]);
        for files in &row.environment {
            for file in &files.files {
                let text = match inline_settings(file, files.format, &option) {
                    Some(text) => Some(text),
                    None => local.path(file, &row.folders, &option).and_then(|path| read_settings(&path)),
                };
                let read = text.map(|text| pairs(files, &text)).unwrap_or_default();
                let place = if files.beats_environment { &mut variables.over } else { &mut variables.under };
                place.extend(read);
            }
        }
        variables
    }

    /// Returns a variable that is set and not empty.
    pub(crate) fn get<'a>(&'a self, name: &str, local: &'a LocalEnvironment) -> Option<&'a str> {
        self.over
            .get(name)
            .map(String::as_str)
            .or_else(|| local.variable(name))
            .or_else(|| self.under.get(name).map(String::as_str))
    }

    /// Returns the value by which a file beats the environment.
    pub(crate) fn overridden(&self, name: &str) -> Option<&str> {
        self.over.get(name).map(String::as_str)
    }
}

/// Returns the JSON text that an option holds in place of a path.
fn inline_settings(
    file: &str,
    format: EnvironmentFormat,
    option: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let name = file.strip_prefix("${option:")?.strip_suffix('}')?;
    option(name).filter(|value| format == EnvironmentFormat::Json && value.trim_start().starts_with('{'))
}

/// Returns the variables that the text of a file sets. Empty values set nothing.
fn pairs(files: &EnvironmentRow, text: &str) -> Vec<(String, String)> {
    let mut pairs = match files.format {
        EnvironmentFormat::Dotenv => dotenv(text),
        EnvironmentFormat::Json => json_pairs(files, text).unwrap_or_default(),
    };
    pairs.retain(|(_, value)| !value.is_empty());
    pairs
}

fn json_pairs(files: &EnvironmentRow, text: &str) -> Option<Vec<(String, String)>> {
    let document = parse_json(text)?;
    let found = document.pointer(files.member.as_deref().unwrap_or_default())?;
    if let Some(variable) = &files.variable {
        return Some(vec![(variable.clone(), found.as_str()?.to_owned())]);
    }
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    };
    let members = found.as_object()?.iter();
    Some(members.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect())
}

/// Reads lines `NAME=value`, with `export`, quotes and comments.
fn dotenv(text: &str) -> Vec<(String, String)> {
    text.lines().filter_map(dotenv_line).collect()
}

fn dotenv_line(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = value.strip_prefix(quote)?;
        inner.split_once(quote).map(|(inner, _)| inner)
    });
    let plain = || value.split(" #").next().unwrap_or(value).trim();
    Some((name.to_owned(), quoted.unwrap_or_else(plain).to_owned()))
}

/// Returns true if a JSON file has a member that is neither null, empty nor false.
pub(crate) fn has_member(file: &Path, pointer: &str) -> bool {
    let Some(document) = read_settings(file).and_then(|text| parse_json(&text)) else { return false };
    match document.pointer(pointer) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_dotenv_file() {
        let text = "# a comment\nexport A=1\nB = \"two words\" # c\nC='x#y'\nD=plain # c\n=no\nE\nF-G=1\n";
        let expected = [("A", "1"), ("B", "two words"), ("C", "x#y"), ("D", "plain")];
        let expected: Vec<_> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert_eq!(dotenv(text), expected);
    }
}
