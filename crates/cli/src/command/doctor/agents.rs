//! `reenact doctor agents`: the agents that are known, where they are installed here, and what would be set for each.

use std::collections::BTreeSet;

use reenact_agents::installed::{self, InstalledAgent};
use reenact_agents::row::SetRow;
use reenact_agents::{AgentRow, LaunchPlan, LocalEnvironment, LoginKind, ObserverNote};
use reenact_json::Shown;
use reenact_json::print::{self, PrintObjectWriter};

use crate::agent;
use crate::output::{self, CommandError};

/// List the agents that are known: whether they are installed here, their login, and what `record` would set for them
///
/// An agent's program is not run: its version comes from its files. `reenact record --dry-run` tells the same of one command. Rows of your own
/// are read from `agents/` in the configuration folder, such as ~/.config/reenact/agents/acme.toml; docs/agents.md has an example.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact doctor agents\n  reenact doctor agents --json")]
pub(super) struct AgentsArgs {
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Known agent on this machine.
struct AgentFinding<'a> {
    row: &'a AgentRow,
    installed: Option<InstalledAgent>,
    login: LoginKind,
    /// Plan of a recording with the settings that the agent has now, or the reason for which there is none.
    settings: Result<Vec<ObserverNote>, String>,
}

impl AgentsArgs {
    /// Prints the table of agents.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let table = agent::table()?;
        let local = LocalEnvironment::new(std::env::vars_os(), std::env::current_dir().unwrap_or_default());
        let found: Vec<AgentFinding<'_>> = table.rows().iter().map(|row| finding(row, &local)).collect();
        output::print(&if self.json { json(&found) } else { page(&found) })?;
        Ok(0)
    }
}

fn finding<'a>(row: &'a AgentRow, local: &LocalEnvironment) -> AgentFinding<'a> {
    let command: Vec<String> = row.recognise.programs.first().cloned().into_iter().collect();
    let installed = installed::find(row, local);
    let Some(recognised) = reenact_agents::command::recognise(&row.recognise, &command) else {
        let settings = Err("it has no program by whose name it is recognised".to_owned());
        return AgentFinding { row, installed, login: LoginKind::None, settings };
    };
    match LaunchPlan::new(row, recognised, local, &[]) {
        Ok(plan) => AgentFinding { row, installed, login: plan.login, settings: Ok(plan.observer()) },
        Err(error) => {
            AgentFinding { row, installed, login: LoginKind::None, settings: Err(error.to_string()) }
        }
    }
}

/// Returns the table as text for people.
fn page(found: &[AgentFinding<'_>]) -> String {
    let mut text = String::new();
    for AgentFinding { row, installed, login, settings } in found {
        let place = match installed {
            None => "not found in PATH".to_owned(),
            Some(InstalledAgent { path, version }) => {
                let version = version.as_ref().map(|version| format!("{} ", Shown::new(version)));
                format!("{}at {}", version.unwrap_or_default(), Shown::whole(&path.to_string_lossy()))
            }
        };
        text.push_str(&format!(
            "{} ({})  {place}; login: {}\n",
            Shown::new(&row.title),
            row.name,
            login.phrase()
        ));
        match settings {
            Ok(settings) if settings.is_empty() => {
                text.push_str("  sets  as it is set up now, the variables of vendors' clients alone\n");
            }
            Ok(settings) => {
                for note in settings {
                    let (set, why) = (Shown::whole(&note.set), Shown::whole(&note.why));
                    text.push_str(&format!("  sets  {set}\n        {why}\n"));
                }
            }
            Err(problem) => text.push_str(&format!("  wrong {}\n", Shown::whole(problem))),
        }
        let notes = settings.as_ref().map(Vec::as_slice).unwrap_or_default();
        let mut others: Vec<&SetRow> =
            row.set.iter().filter(|set| !notes.iter().any(|note| note.why == set.why)).collect();
        let mut told = BTreeSet::new();
        others.retain(|set| told.insert((set.place(), &set.why)));
        for other in others {
            let word = if other.leave.is_some() { "leave" } else { "set" };
            let (name, why) = (Shown::new(other.place()), Shown::whole(&other.why));
            text.push_str(&format!("  may {word}  {name}\n        {why}\n"));
        }
        for calls in unrecorded(row) {
            text.push_str(&format!("  not recorded: {}\n", Shown::whole(calls)));
        }
    }
    text + "\nany other command gets the variables of all vendors; `reenact record --dry-run CMD` tells of one command\n"
}

/// Returns the calls of an agent that are not recorded, each once: several settings may have the same consequence.
fn unrecorded(row: &AgentRow) -> Vec<&str> {
    let mut told = BTreeSet::new();
    let calls = row.unrecorded.iter().map(|calls| calls.what.as_str());
    calls.filter(|what| told.insert(*what)).collect()
}

fn json(found: &[AgentFinding<'_>]) -> String {
    let mut text = String::new();
    let mut whole = PrintObjectWriter::open(&mut text);
    print::write_list(found, whole.name("agents"), |finding, out| {
        let AgentFinding { row, installed, login, settings } = finding;
        let mut agent = PrintObjectWriter::open(out);
        agent.string("name", row.name.as_str());
        agent.string("title", row.title.as_str());
        agent.string("checked", row.checked.as_deref());
        let path = installed.as_ref().map(|installed| installed.path.to_string_lossy());
        agent.string("path", path.as_deref());
        agent.string("version", installed.as_ref().and_then(|installed| installed.version.as_deref()));
        agent.string("login", login.name());
        let notes = settings.as_ref().map(Vec::as_slice).unwrap_or_default();
        print::write_list(notes, agent.name("set"), |note, out| {
            let mut entry = PrintObjectWriter::open(out);
            entry.string("set", note.set.as_str());
            entry.string("why", note.why.as_str());
            entry.close();
        });
        agent.string("error", settings.as_ref().err().map(String::as_str));
        agent.strings("unrecorded", &unrecorded(row));
        print::write_list(&row.varies, agent.name("varies"), |place, out| {
            let mut entry = PrintObjectWriter::open(out);
            entry.string("path", place.path.as_deref());
            entry.string("after", place.after.as_deref());
            entry.string("kind", place.kind.name());
            entry.string("why", place.why.as_str());
            entry.close();
        });
        agent.close();
    });
    whole.close();
    text + "\n"
}
