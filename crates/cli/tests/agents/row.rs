//! [`TestedAgent`]: an agent as data, read from `rows/NAME/row.toml`.
//!
//! In commands and values `{prompt}`, `{url}` (the vendor's address without a path), `{openai_key}`, `{anthropic_key}` and
//! `{gemini_key}` stand for what each run has. The other files of the folder are put into the folder in which the agent works.

use std::fs;
use std::path::PathBuf;

use reenact_testkit::{AgentTask, TaskReply, TaskTurn};
use toml::de::{DeTable, DeValue};

use crate::support::root;

/// Members that a row may have; a row with another is refused, so that a misspelt one is noticed.
const MEMBERS: [&str; 16] = [
    "name",
    "installed",
    "recognised",
    "upstream",
    "command",
    "direct_command",
    "says",
    "varying_files",
    "varying_lines",
    "tools_seen",
    "variables",
    "direct_variables",
    "home",
    "changed_files",
    "has_its_own_clock",
    "turns",
];

/// Agent, and the task that it is given.
pub(crate) struct TestedAgent {
    /// Name of the agent, as people know it.
    pub(crate) name: String,
    /// Installation and package, such as `npm @openai/codex`, from which the version is read.
    pub(crate) installed: (String, String),
    /// Name under which the record has the agent; `None` for a program that nobody knows.
    pub(crate) recognised: Option<String>,
    /// Vendor, as `--upstream` names it.
    pub(crate) upstream: String,
    /// Command line under `reenact record`.
    pub(crate) command: Vec<String>,
    /// Command line without us, where an agent takes the vendor's address as an argument.
    pub(crate) direct_command: Vec<String>,
    /// Variables of both runs.
    pub(crate) variables: Vec<(String, String)>,
    /// Variables that lead the agent to the vendor without us.
    pub(crate) direct_variables: Vec<(String, String)>,
    /// Files in the agent's home: path and content.
    pub(crate) home: Vec<(String, String)>,
    /// Text that the agent prints if it did the task.
    pub(crate) says: String,
    /// Files whose content differs from run to run.
    pub(crate) varying_files: Vec<String>,
    /// Beginnings of printed lines that differ from run to run.
    pub(crate) varying_lines: Vec<String>,
    /// Tools that the record must show; without it those that the model calls.
    pub(crate) tools_seen: Vec<String>,
    /// Files of the row with another content, which makes the output of the tool another one: path and content.
    pub(crate) changed_files: Vec<(String, String)>,
    /// True for a program that asks the kernel for the time, so that it cannot be told another one.
    pub(crate) has_its_own_clock: bool,
    /// Turns of the scripted model.
    pub(crate) task: AgentTask,
}

/// Returns the folder of the rows.
fn rows_folder() -> PathBuf {
    root().join("crates/cli/tests/agents/rows")
}

/// Returns the names of all rows that are there, sorted.
pub(crate) fn folders() -> Vec<String> {
    let entries = fs::read_dir(rows_folder()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

impl TestedAgent {
    /// Reads a row.
    ///
    /// # Panics
    /// If the row is not as this module describes it.
    pub(crate) fn read(folder: &str) -> Self {
        let file = rows_folder().join(folder).join("row.toml");
        let text = fs::read_to_string(&file).unwrap();
        let table = DeTable::parse(&text).unwrap_or_else(|error| panic!("{folder}: {error}"));
        let table = table.get_ref();
        for (name, _) in table {
            let name = name.get_ref().as_ref();
            assert!(MEMBERS.contains(&name), "{folder}: there is no member {name}");
        }
        let get = |name: &str| table.get(name).map(|value| value.get_ref());
        let text = |name: &str| get(name).map(string);
        let required = |name: &str| text(name).unwrap_or_else(|| panic!("{folder}: {name} is missing"));
        let texts = |name: &str| get(name).map(strings);
        let pairs = |name: &str| get(name).map(pairs).unwrap_or_default();

        let command = texts("command").unwrap_or_default();
        let turns: Vec<TaskTurn> =
            get("turns").map(|turns| items(turns).map(turn).collect()).unwrap_or_default();
        let called = turns.iter().filter_map(|turn| match &turn.reply {
            TaskReply::Call { tool, .. } => Some(tool.clone()),
            TaskReply::Text(_) => None,
        });
        let called: Vec<String> = called.collect();
        let installed = required("installed");
        let (installation, package) = installed.split_once(' ').expect("installed: INSTALLATION PACKAGE");
        Self {
            name: required("name"),
            installed: (installation.to_owned(), package.to_owned()),
            recognised: text("recognised"),
            upstream: required("upstream"),
            direct_command: texts("direct_command").unwrap_or_else(|| command.clone()),
            command,
            variables: pairs("variables"),
            direct_variables: pairs("direct_variables"),
            home: pairs("home"),
            says: text("says").unwrap_or_else(|| "The product is in answer.txt.".to_owned()),
            varying_files: texts("varying_files").unwrap_or_default(),
            varying_lines: texts("varying_lines").unwrap_or_default(),
            tools_seen: texts("tools_seen").unwrap_or(called),
            changed_files: pairs("changed_files"),
            has_its_own_clock: get("has_its_own_clock").is_some_and(boolean),
            task: AgentTask { turns, aside: "A product".to_owned() },
        }
    }

    /// Returns the number of tools that the model calls.
    pub(crate) fn tools_called(&self) -> usize {
        self.task.turns.iter().filter(|turn| matches!(turn.reply, TaskReply::Call { .. })).count()
    }

    /// Returns the files of the row that belong into the folder in which the agent works.
    pub(crate) fn work_files(folder: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(rows_folder().join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with("row.toml")).collect()
    }
}

fn string(value: &DeValue<'_>) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value:?}")).to_owned()
}

fn boolean(value: &DeValue<'_>) -> bool {
    value.as_bool().unwrap_or_else(|| panic!("neither true nor false: {value:?}"))
}

fn items<'v, 't>(value: &'v DeValue<'t>) -> impl Iterator<Item = &'v DeValue<'t>> {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value:?}")).iter().map(|item| item.get_ref())
}

fn strings(value: &DeValue<'_>) -> Vec<String> {
    items(value).map(string).collect()
}

fn pairs(value: &DeValue<'_>) -> Vec<(String, String)> {
    let table = value.as_table().unwrap_or_else(|| panic!("not a table: {value:?}"));
    table.iter().map(|(name, value)| (name.get_ref().to_string(), string(value.get_ref()))).collect()
}

fn turn(value: &DeValue<'_>) -> TaskTurn {
    let members = pairs(value);
    let get = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
    let reply = match (get("text"), get("call"), get("input")) {
        (Some(text), None, None) => TaskReply::Text(text),
        (None, Some(tool), Some(input)) => TaskReply::Call { tool, input },
        _ => panic!("a turn has `text`, or `call` and `input`: {members:?}"),
    };
    TaskTurn { after: get("after").unwrap_or_default(), reply }
}
