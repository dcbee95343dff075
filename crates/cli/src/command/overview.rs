//! `reenact` alone: the last run in two lines, and what to do next.
//!
//! ```text
//! last run  1f2a3b  python agent.py
//!           5 min 2 s ago, completed (exit 0), 4 model calls and 3 tool calls, about 0.003444 USD
//! next      reenact show                       what it did, step by step
//!           reenact replay -- python agent.py  the same run again, offline
//! ```
//!
//! Start reading at `OverviewArgs::run`.

use std::fmt::Write as _;
use std::time::Duration;

use reenact_formats::rer::time;
use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_record::{RunId, StoredRun};
use reenact_run::Summary;
use reenact_verify::render::{self, Tone};
use reenact_wire::price::PriceTable;

use super::record::{command_line, replay_words, shell_quoted};
use crate::output::{self, CommandError, paint};
use crate::quantity;
use crate::runs::run_name::{RunName, short_id};
use crate::runs::{self, KeyFileArgs, OpenedRun, RunStores};

/// Options of `reenact` alone.
#[derive(clap::Args)]
pub(super) struct OverviewArgs {
    /// Without a command: the last run as one JSON object
    #[arg(long)]
    json: bool,
}

/// Longest command that is shown whole, in characters.
const MAX_COMMAND_CHARS: usize = 60;

/// Next command where a run cannot be shown.
const LIST: (&str, &str) = ("reenact runs list", "every run, and what became of it");

impl OverviewArgs {
    /// Prints the last run and the commands that may come next, or how to record a first run.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let stores = RunStores::open()?;
        let text = if stores.is_empty()? {
            self.no_run()
        } else {
            let found = stores.find_run(RunName::Last { back: 0 })?;
            let state = found.store.state(found.id);
            match state.map_err(|error| CommandError::impossible(error.to_string()))? {
                StoredRun::Recording => self.open_run(found.id, "is being recorded now", LIST),
                StoredRun::Unsealed => self.open_run(
                    found.id,
                    "was not sealed: its recorder did not come to the end",
                    ("reenact runs recover", "seals it, with all that had passed"),
                ),
                StoredRun::Sealed { .. } => {
                    let path = found.artifact()?;
                    self.sealed_run(found.id, &runs::open(path.as_os_str(), &KeyFileArgs::default())?)
                }
                _ => match found.store.sealed_artifact(found.id) {
                    Ok(path) => {
                        let state = format!("is in {}", Shown::whole(&path.to_string_lossy()));
                        self.open_run(found.id, &state, LIST)
                    }
                    Err(error) => self.open_run(found.id, &format!("cannot be shown: {error}"), LIST),
                },
            }
        };
        output::print(&text)?;
        Ok(0)
    }

    /// Returns the command that records a first run.
    fn no_run(&self) -> String {
        if self.json {
            return "{\"run_id\":null}\n".to_owned();
        }
        let next = [
            ("reenact record python agent.py", "your agent: any command, with no change to its code"),
            ("reenact demo", "all of it in a second, without a key or a network"),
        ];
        format!("no run is recorded yet\n{}", next_lines(&next))
    }

    /// Returns the state of a run that has no artifact to show, or not yet, and the command that comes next.
    fn open_run(&self, id: RunId, state: &str, next: (&str, &str)) -> String {
        if self.json {
            let mut line = String::new();
            let mut object = PrintObjectWriter::open(&mut line);
            object.string("run_id", id.to_string().as_str());
            object.string("unreadable", state);
            object.close();
            return line + "\n";
        }
        format!("{}  {}  {state}\n{}", paint(Tone::Title, "last run"), short_id(id), next_lines(&[next]))
    }

    /// Returns a sealed run with the commands that may come next.
    fn sealed_run(&self, id: RunId, found: &OpenedRun) -> String {
        if self.json {
            let mut line = String::new();
            let mut object = PrintObjectWriter::open(&mut line);
            let prices = PriceTable::list_prices();
            super::show::json::write_facts(&found.run, &found.report, &prices, &mut object);
            object.close();
            return line + "\n";
        }
        let summary = found.run.summary();
        let mut text = format!(
            "{}  {}  {}\n          {}\n",
            paint(Tone::Title, "last run"),
            short_id(id),
            shortened(&summary.command),
            facts(found, &summary)
        );
        if !found.report.pass() {
            let _ = writeln!(text, "          {}", render::verdict_line(&found.report, &paint));
        }
        let command = command_line(&summary.command);
        // Nothing can be played back to an agent whose calls did not come here.
        let again = match summary.model_calls + summary.http_calls {
            0 => (
                format!("reenact record --dry-run {command}"),
                "what is set for an agent whose calls did not come here",
            ),
            _ => {
                let words = replay_words(&summary.command);
                (format!("reenact replay{words}"), "the same run again, with no network")
            }
        };
        let next = [
            ("reenact show", "what it did, step by step"),
            ("reenact verify", "every check on its record"),
            (&again.0, again.1),
            ("reenact share --as rer", "one file for others, with its proof"),
        ];
        text + &next_lines(&next)
    }
}

/// Returns commands that may come next, each with its purpose.
fn next_lines(commands: &[(&str, &str)]) -> String {
    let wide = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for (at, (command, purpose)) in commands.iter().enumerate() {
        let head = if at == 0 { "next" } else { "" };
        let _ = writeln!(text, "{}  {command:wide$}  {purpose}", paint(Tone::Title, &format!("{head:8}")));
    }
    text
}

/// Returns when the run was, how it ended, its calls and its cost.
fn facts(found: &OpenedRun, summary: &Summary) -> String {
    let mut facts = Vec::new();
    facts.extend(found.run.started_at().map(|at| when(&at, super::policy::now())));
    facts.extend(summary.status.as_ref().map(|status| match &summary.reason {
        Some(reason) => format!("{} ({})", Shown::new(status), Shown::new(reason)),
        None => Shown::new(status).to_string(),
    }));
    facts.push(format!(
        "{} and {}",
        quantity::count(summary.model_calls as u64, "model call"),
        quantity::count(summary.tool_calls as u64, "tool call")
    ));
    facts.extend(quantity::run_cost(summary));
    facts.join(", ")
}

/// Returns a time as `just now`, or `5 min 2 s ago` within two days of `now`, in nanoseconds since 1970; otherwise as it is written.
fn when(written: &str, now: Option<i128>) -> String {
    const NOW: Duration = Duration::from_secs(10);
    const RECENT: Duration = Duration::from_secs(48 * 3600);
    let age = time::instant(written).zip(now).and_then(|(at, now)| u64::try_from(now.checked_sub(at)?).ok());
    match age.map(Duration::from_nanos) {
        Some(age) if age < NOW => "just now".to_owned(),
        Some(age) if age < RECENT => format!("{} ago", quantity::duration(age)),
        _ => Shown::new(written).to_string(),
    }
}

/// Returns a command as one would type it, cut after [`MAX_COMMAND_CHARS`] characters.
fn shortened(command: &[String]) -> String {
    let line = command.iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_COMMAND_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let now = time::instant("2026-11-19T04:20:00Z");
        assert_eq!(when("2026-11-19T04:19:30Z", now), "30.0 s ago");
        assert_eq!(when("2026-11-19T04:19:51Z", now), "just now");
        assert_eq!(when("2026-11-18T03:20:00Z", now), "25 h 0 min ago");
        for (written, now) in [
            ("2026-11-17T04:20:00Z", now),
            ("2026-11-19T04:20:01Z", now),
            ("2026-11-19T04:19:30Z", None),
            ("no time", now),
        ] {
            assert_eq!(when(written, now), written);
        }
    }

    #[test]
    fn texts_are_short_and_safe() {
        let of = |word: &str| shortened(&["x".to_owned(), word.to_owned()]);
        assert_eq!(of("print(1)"), "x 'print(1)'");
        assert_eq!(of("\u{1b}[2J\n"), "x '\\u{1b}[2J\\u{a}'");
        assert_eq!(of(&"y".repeat(58)), format!("x {}", "y".repeat(58)));
        assert_eq!(of(&"y".repeat(59)), format!("x {}…", "y".repeat(58)));
    }
}
