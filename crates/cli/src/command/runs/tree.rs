//! `reenact runs tree`: runs, and the runs that go on from them.
//!
//! ```text
//! 07398f  completed  0.0009 USD  python agent.py
//!   1b20aa  live, behind s4 (2 answers from the record)  completed  0.0004 USD  python agent.py
//! ```
//!
//! A run names its parent in its first event, so that every artifact is opened. Start reading at [`TreeArgs::run`].

use std::collections::{BTreeMap, BTreeSet};

use reenact_formats::rer::envelope::money::Money;
use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_record::{ForkMode, RunId};
use reenact_run::{Run, Summary};
use reenact_verify::Options;

use crate::command::record::shell_quoted;
use crate::command::show;
use crate::output::{self, CommandError};
use crate::quantity;
use crate::runs::run_name::{RunName, short_id};
use crate::runs::{self, KeyFileArgs, RunStores};

/// Show the runs that go on from other runs, as a tree
///
/// `replay --live`, `--from` and `--edit` make runs that go on from a recorded one. Each line names the run, how it goes on and behind
/// which step of its parent, how it ended and what its own calls cost; answers from the parent's record cost nothing. A parent that is
/// not among your runs is named as unknown.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact runs tree\n  reenact runs tree last\n  reenact runs tree --json"
)]
pub(super) struct TreeArgs {
    /// Only the tree of this run: an id, the beginning or the last six digits of one, or `last`
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// One JSON object a line for each run
    #[arg(long)]
    json: bool,
}

/// Longest command in a line, in characters.
const MAX_COMMAND_CHARS: usize = 60;

/// One run of the tree.
struct TreeRun {
    /// Parent, as the record names it: run, step and mode. Untrusted text.
    parent: Option<TreeParent>,
    /// Status at the end of the run, by the record's own word.
    status: String,
    /// Cost of the run's own calls, in words.
    cost: Option<String>,
    /// Cost of the run's own calls in dollars, as a decimal number.
    cost_usd: Option<String>,
    from_record: usize,
    command: Vec<String>,
}

/// Parent of a run, as its record names it. Untrusted text.
struct TreeParent {
    run_id: String,
    step_id: String,
    mode: Option<ForkMode>,
}

/// All runs, with the runs that go on from each.
struct RunTree {
    /// By run id, oldest first.
    runs: BTreeMap<String, TreeRun>,
    /// Ids of the runs that go on from a run, by the id of that run.
    forks: BTreeMap<String, Vec<String>>,
}

impl TreeArgs {
    /// Prints the tree. A run that cannot be read is left out, and named in a notice.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let tree = RunTree::read()?;
        let roots = match &self.run {
            Some(given) => {
                let name = RunName::parse(given).ok_or_else(|| {
                    super::impossible(format!(
                        "\"{}\" names no run: give an id, the beginning of one, or `last`",
                        Shown::new(given)
                    ))
                })?;
                vec![tree.root_of(&RunStores::open()?.find_run(name)?.id.to_string())]
            }
            None => tree.roots(),
        };
        if roots.is_empty() && !self.json {
            output::print(
                "no run goes on from another one; to make one: reenact replay RUN --live -- COMMAND\n",
            )?;
        }
        let (mut text, mut seen) = (String::new(), BTreeSet::new());
        for root in &roots {
            self.push(&tree, root, 0, &mut seen, &mut text);
        }
        output::print(&text)?;
        Ok(0)
    }

    /// Appends a run and all that goes on from it. A record can name any parent, so that no run is shown twice.
    fn push(&self, tree: &RunTree, id: &str, depth: usize, seen: &mut BTreeSet<String>, text: &mut String) {
        if !seen.insert(id.to_owned()) {
            return;
        }
        text.push_str(&match (self.json, tree.runs.get(id)) {
            (true, Some(run)) => run.to_json(id, depth, tree),
            (true, None) => String::new(),
            (false, Some(run)) => run.to_line(id, depth),
            (false, None) => format!("{}  unknown: not among your runs\n", Shown::new(id)),
        });
        for fork in tree.forks.get(id).into_iter().flatten() {
            self.push(tree, fork, depth + 1, seen, text);
        }
    }
}

impl RunTree {
    /// Opens all sealed runs.
    fn read() -> Result<Self, CommandError> {
        let stores = RunStores::open()?;
        let keys = runs::load_keys(&KeyFileArgs::default())?;
        let (mut all, mut forks): (BTreeMap<String, TreeRun>, BTreeMap<String, Vec<String>>) =
            Default::default();
        for (id, store) in stores.all()? {
            // Runs without an artifact, such as those that are being recorded, name no parent that could be read.
            let Ok(artifact) = store.sealed_artifact(id) else { continue };
            let opened =
                reenact_verify::disk::read(&artifact).map_err(|error| error.to_string()).and_then(|bytes| {
                    let opened = reenact_run::open(bytes, &keys, &Options::default());
                    opened.run.map_err(|error| error.to_string())
                });
            match opened {
                Ok(run) => {
                    let (id, run) = (id.to_string(), TreeRun::of(&run));
                    if let Some(parent) = &run.parent {
                        forks.entry(parent.run_id.clone()).or_default().push(id.clone());
                    }
                    all.insert(id, run);
                }
                Err(why) => output::print_notice(&format!("run {id}: {why}")),
            }
        }
        Ok(Self { runs: all, forks })
    }

    /// Returns the first run of the tree that a run is in: one without a parent, or the parent that is not known.
    fn root_of(&self, id: &str) -> String {
        let (mut at, mut seen) = (id, BTreeSet::new());
        while let Some(parent) = self.runs.get(at).and_then(|run| run.parent.as_ref()) {
            if !seen.insert(at) {
                break;
            }
            at = &parent.run_id;
        }
        at.to_owned()
    }

    /// Returns the first runs of all trees, newest first; runs that have neither a parent nor a fork are in none.
    fn roots(&self) -> Vec<String> {
        let (mut roots, mut seen) = (Vec::new(), BTreeSet::new());
        for id in self.runs.iter().rev().filter(|(_, run)| run.parent.is_some()).map(|(id, _)| id) {
            let root = self.root_of(id);
            if seen.insert(root.clone()) {
                roots.push(root);
            }
        }
        roots
    }
}

impl TreeRun {
    fn of(run: &Run) -> Self {
        let summary = run.summary();
        let Summary { from_record, .. } = summary;
        let parent = run.surroundings().parent.map(|parent| TreeParent {
            run_id: parent.run_id.into_owned(),
            step_id: parent.step_id.map(|step| step.into_owned()).unwrap_or_default(),
            mode: parent.mode,
        });
        Self {
            parent,
            status: summary.status.clone().unwrap_or_else(|| "?".to_owned()),
            cost: quantity::run_cost(&summary),
            cost_usd: summary
                .cost()
                .map(|cost| Money::from_picodollars(cost.picodollars).decimal().to_string()),
            from_record,
            command: summary.command,
        }
    }

    /// Returns the line for people.
    fn to_line(&self, id: &str, depth: usize) -> String {
        let mut parts = vec![id.parse::<RunId>().map_or_else(|_| Shown::new(id).to_string(), short_id)];
        if let Some(parent) = &self.parent {
            let answers = quantity::count(self.from_record as u64, "answer");
            parts.push(format!(
                "{} {} ({answers} from the record)",
                show::fork_words(parent.mode),
                Shown::new(&parent.step_id)
            ));
        }
        parts.push(Shown::new(&self.status).to_string());
        parts.extend(self.cost.clone());
        let words: Vec<String> = self.command.iter().map(|word| shell_quoted(word)).collect();
        let command = words.join(" ");
        parts.push(match command.char_indices().nth(MAX_COMMAND_CHARS) {
            Some((end, _)) => format!("{}…", command.get(..end).unwrap_or_default()),
            None => command,
        });
        format!("{}{}\n", "  ".repeat(depth), parts.join("  "))
    }

    /// Returns one JSON object, with a line feed.
    fn to_json(&self, id: &str, depth: usize, tree: &RunTree) -> String {
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("run_id", id);
        object.name("depth").push_str(&depth.to_string());
        match &self.parent {
            Some(parent) => {
                let mut inner = PrintObjectWriter::open(object.name("parent"));
                inner.string("run_id", parent.run_id.as_str());
                inner.string("step_id", parent.step_id.as_str());
                inner.string("mode", parent.mode.map(ForkMode::name));
                inner.boolean("known", tree.runs.contains_key(&parent.run_id));
                inner.close();
            }
            None => object.string("parent", None),
        }
        object.string("status", self.status.as_str());
        object.name("from_record").push_str(&self.from_record.to_string());
        object.name("cost_usd").push_str(self.cost_usd.as_deref().unwrap_or("null"));
        object.strings("command", &self.command);
        object.close();
        line + "\n"
    }
}
