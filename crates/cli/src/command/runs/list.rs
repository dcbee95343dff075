//! `reenact runs list`: the runs that were recorded, newest first.
//!
//! ```text
//! 07398f  2026-11-19 09:00  sealed     24.1 KB  /home/me/project  python agent.py
//! ```
//!
//! Where a run was recorded and its command come from its `run.json`, which is not signed; no artifact is opened.

use std::collections::BTreeMap;
use std::path::Path;

use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_record::{RunFile, RunFileFault, RunId, RunStore, StoredRun, clock};
use reenact_verify::render::Tone;

use crate::command::record::shell_quoted;
use crate::output::{self, CommandError, paint};
use crate::quantity;
use crate::runs::RunStores;
use crate::runs::run_name::short_id;

/// List the runs that were recorded, newest first
///
/// The first column is the name of the run: the last six digits of its id. A run is `sealed` if its artifact is there, `moved` if
/// that was written elsewhere and is gone from there, `unsealed` if its recorder was killed (`reenact runs recover` seals it),
/// `refused` if its journal was changed, and `empty` if nothing was recorded.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact runs list\n  reenact runs list --here\n  reenact runs list --json"
)]
pub(super) struct ListArgs {
    /// Only runs that were recorded in this folder or below it
    #[arg(long)]
    here: bool,

    /// One JSON object a line for each run
    #[arg(long)]
    json: bool,
}

/// Longest command in a line, in characters.
const MAX_COMMAND_CHARS: usize = 60;

/// One run, as it is listed.
pub(super) struct ListedRun {
    id: RunId,
    /// State of the run; an error if it cannot be told.
    state: Result<StoredRun, String>,
    /// Facts from `run.json`.
    run_file: Result<RunFile, RunFileFault>,
    /// Size of the artifact in bytes.
    size: Option<u64>,
    /// True if an earlier version left the run in the current folder.
    is_in_project: bool,
}

impl ListArgs {
    /// Prints the list. A run whose files are broken is listed with what is known of it, and named in a notice.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let stores = RunStores::open()?;
        let here = std::env::current_dir().ok().filter(|_| self.here);
        let all = stores.all()?;
        let runs: Vec<ListedRun> = all
            .iter()
            .rev()
            .map(|(id, store)| ListedRun::read(*id, store, stores.is_project(store)))
            .filter(|run| here.as_deref().is_none_or(|here| run.was_recorded_in(here)))
            .collect();
        if runs.is_empty() && !self.json {
            output::print(match self.here {
                true => "no run was recorded in this folder\n",
                false => "there are no runs yet; record one with: reenact record COMMAND\n",
            })?;
        }
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        all.iter().for_each(|(id, _)| *names.entry(short_id(*id)).or_default() += 1);
        let text: String = runs
            .iter()
            .map(|run| match self.json {
                true => run.to_json(),
                false => run.to_line(names.get(&short_id(run.id)) == Some(&1)),
            })
            .collect();
        output::print(&text)?;
        for run in &runs {
            if let Some(problem) = run.problem() {
                output::print_notice(&format!("run {}: {problem}", run.id));
            }
        }
        Ok(0)
    }
}

impl ListedRun {
    /// Looks at the files of a run.
    pub(super) fn read(id: RunId, store: &RunStore, is_in_project: bool) -> Self {
        let state = store.state(id).map_err(|error| error.to_string());
        let size = match &state {
            Ok(StoredRun::Sealed { artifact }) => artifact.metadata().ok().map(|found| found.len()),
            _ => None,
        };
        Self { id, state, run_file: store.run_file(id), size, is_in_project }
    }

    /// Returns true if the run is known to have been recorded in a folder or below it.
    fn was_recorded_in(&self, here: &Path) -> bool {
        let folder = self.run_file.as_ref().ok().and_then(|run| run.folder.as_deref());
        self.is_in_project || folder.is_some_and(|folder| folder.starts_with(here))
    }

    /// Returns the name of the state.
    fn state_name(&self) -> &'static str {
        match &self.state {
            Ok(StoredRun::Recording) => "recording",
            Ok(StoredRun::Sealed { .. }) => "sealed",
            Ok(StoredRun::Unsealed) => "unsealed",
            Ok(StoredRun::Refused) => "refused",
            Ok(StoredRun::Moved { .. }) => "moved",
            Ok(StoredRun::Empty) => "empty",
            Err(_) => "broken",
        }
    }

    /// Returns what is wrong with the files of the run; `None` if nothing is. Runs of earlier versions have no `run.json`.
    fn problem(&self) -> Option<String> {
        match (&self.state, &self.run_file) {
            (Err(error), _) => Some(error.clone()),
            (_, Err(RunFileFault::Missing)) => None,
            (_, Err(fault)) => Some(fault.to_string()),
            _ => None,
        }
    }

    /// Returns the path of the artifact, as far as it is known.
    fn artifact(&self) -> Option<String> {
        match &self.state {
            Ok(StoredRun::Sealed { artifact } | StoredRun::Moved { artifact }) => {
                Some(artifact.to_string_lossy().into_owned())
            }
            _ => None,
        }
    }

    /// Returns the line for people. `is_unique` says that no other run has the same last six digits.
    pub(super) fn to_line(&self, is_unique: bool) -> String {
        let name = if is_unique { short_id(self.id) } else { self.id.to_string() };
        let began = clock::timestamp(self.id.created_at());
        let began = began.get(..16).unwrap_or_default().replace('T', " ");
        let tone = match &self.state {
            Ok(StoredRun::Sealed { .. }) => Tone::Good,
            Ok(StoredRun::Recording | StoredRun::Empty) => Tone::Quiet,
            Ok(StoredRun::Refused) | Err(_) => Tone::Bad,
            Ok(_) => Tone::Doubtful,
        };
        let state = paint(tone, &format!("{:9}", self.state_name()));
        let size = self.size.map(quantity::size).unwrap_or_default();
        let (folder, command) = match &self.run_file {
            Ok(run) => (run.folder.as_deref(), command_text(run)),
            Err(_) => (self.is_in_project.then_some(Path::new(".")), String::new()),
        };
        let folder = folder.map_or("-".into(), Path::to_string_lossy);
        let line = format!("{name}  {began}  {state}  {size:>8}  {}  {command}", Shown::whole(&folder));
        format!("{}\n", line.trim_end())
    }

    /// Returns one JSON object, with a line feed.
    fn to_json(&self) -> String {
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("run_id", self.id.to_string().as_str());
        object.string("name", short_id(self.id).as_str());
        object.string("started", clock::timestamp(self.id.created_at()).as_str());
        object.string("state", self.state_name());
        object.string("artifact", self.artifact().as_deref());
        object.name("bytes").push_str(&self.size.map_or("null".into(), |size| size.to_string()));
        let run = self.run_file.as_ref().ok();
        let folder = run.and_then(|run| run.folder.as_deref()).map(Path::to_string_lossy);
        object.string("folder", folder.as_deref());
        object.strings("command", run.map(|run| run.command.as_slice()).unwrap_or_default());
        object.name("more_arguments").push_str(&run.map_or(0, |run| run.more_arguments).to_string());
        object.string("problem", self.problem().as_deref());
        object.close();
        line + "\n"
    }
}

/// Returns the command as one would type it, cut to the length of a line.
fn command_text(run: &RunFile) -> String {
    let words: Vec<String> = run.command.iter().map(|argument| shell_quoted(argument)).collect();
    let text = words.join(" ");
    match text.char_indices().nth(MAX_COMMAND_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None if run.more_arguments > 0 => format!("{text} …"),
        None => text,
    }
}
