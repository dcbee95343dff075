//! The table of agents: the rows that are built in, and those of the user, which replace or extend them.
//!
//! To add an agent, add a file to `agents/` and a line to `BUILT_IN`.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::command::{RecognisedCommand, recognise};
use crate::row::{AgentRow, MAX_ROW_BYTES, RowError};

/// Rows that are built in, as file and text.
const BUILT_IN: [(&str, &str); 6] = [
    ("agents/claude.toml", include_str!("../agents/claude.toml")),
    ("agents/codex.toml", include_str!("../agents/codex.toml")),
    ("agents/gemini.toml", include_str!("../agents/gemini.toml")),
    ("agents/qwen.toml", include_str!("../agents/qwen.toml")),
    ("agents/opencode.toml", include_str!("../agents/opencode.toml")),
    ("agents/aider.toml", include_str!("../agents/aider.toml")),
];

/// Most rows of a user's folder.
const MAX_USER_ROWS: usize = 256;

/// Known agents.
#[derive(Debug, Clone)]
pub struct AgentTable {
    rows: Vec<AgentRow>,
}

impl AgentTable {
    /// Returns the agents that are built in.
    ///
    /// # Errors
    ///
    /// Never, as a test holds; the error is that of a row.
    pub fn built_in() -> Result<Self, RowError> {
        let rows = BUILT_IN.iter().map(|(file, text)| AgentRow::parse(text, Path::new(file)));
        Ok(Self { rows: rows.collect::<Result<_, _>>()? })
    }

    /// Returns the agents that are built in, with the rows `NAME.toml` of a folder: a row of a known name replaces that
    /// agent, others come before the ones that are built in. A folder that is not there is empty.
    ///
    /// # Errors
    ///
    /// If a row cannot be read or is refused; the error names the file and the line.
    pub fn with_folder(folder: &Path) -> Result<Self, RowError> {
        let mut table = Self::built_in()?;
        let Ok(entries) = fs::read_dir(folder) else { return Ok(table) };
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        if files.len() > MAX_USER_ROWS {
            let problem = format!("there are more than {MAX_USER_ROWS} rows");
            return Err(RowError { file: folder.to_owned(), line: None, problem });
        }
        for file in files.into_iter().rev() {
            let row = AgentRow::parse(&read_row(&file)?, &file)?;
            if file.file_stem().is_none_or(|stem| stem != row.name.as_str()) {
                let problem = format!("a row must be in a file of its name: {}.toml", row.name);
                return Err(RowError { file, line: None, problem });
            }
            table.rows.retain(|known| known.name != row.name);
            table.rows.insert(0, row);
        }
        Ok(table)
    }

    /// Returns all rows, in the order in which commands are compared with them.
    pub fn rows(&self) -> &[AgentRow] {
        &self.rows
    }

    /// Returns the agent of a name.
    pub fn of_name(&self, name: &str) -> Option<&AgentRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Returns the agent that a command starts, and how that was seen.
    pub fn recognise(&self, command: &[String]) -> Option<(&AgentRow, RecognisedCommand)> {
        self.rows.iter().find_map(|row| Some((row, recognise(&row.recognise, command)?)))
    }
}

/// Reads the file of a row, no more than [`MAX_ROW_BYTES`] of it and one byte.
fn read_row(file: &Path) -> Result<String, RowError> {
    let mut text = String::new();
    let read = fs::File::open(file)
        .and_then(|opened| opened.take(MAX_ROW_BYTES as u64 + 1).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(RowError {
            file: file.to_owned(),
            line: None,
            problem: format!("it cannot be read: {error}"),
        }),
    }
}
