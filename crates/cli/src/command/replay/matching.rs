//! Options of `replay` on how far requests may differ, and the words for what differed.

use std::ffi::OsString;

use reenact_json::path_pattern::PathPattern;
use reenact_replay::{FoundBy, MatchLevel, MatchOptions, MatchRules, ReplayOutcome};

use crate::agent;
use crate::output::CommandError;
use crate::quantity;
use crate::settings::ReplaySettings;

/// Options on how far requests may differ.
#[derive(clap::Args)]
pub(super) struct MatchArgs {
    /// The last level at which a recorded answer is given: exact, ids (ids that the client makes up, marks of caches), moved (dates and
    /// times of the run, durations), tools (results of tools), position (the same place of the same conversation)
    #[arg(long = "match", value_name = "LEVEL", value_parser = parse_level)]
    last_level: Option<MatchLevel>,

    /// Count a run as reproduced although results of tools differ
    #[arg(long, value_name = "WHAT", value_enum)]
    accept: Option<AcceptArg>,

    /// Leave out a member of the requests, such as `$.metadata.user_id` or `$.input[*].id`. May be given several times
    #[arg(long, value_name = "PATH", value_parser = parse_path)]
    ignore: Vec<PathPattern>,
}

/// Values of `--accept`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum AcceptArg {
    Tools,
}

fn parse_level(text: &str) -> Result<MatchLevel, String> {
    text.parse().map_err(|error: reenact_replay::match_level::UnknownLevel| error.to_string())
}

fn parse_path(text: &str) -> Result<PathPattern, String> {
    text.parse().map_err(|error: reenact_json::path_pattern::PathPatternError| error.to_string())
}

impl MatchArgs {
    /// Returns the options of a replay: those of the command line before those of the project, and the rules of the agent that the
    /// record names, or else of the one that the command starts. `last_level` is that of a run that goes on from its record, in place
    /// of the project's.
    ///
    /// # Errors
    ///
    /// If a row of the user is broken.
    pub(super) fn options(
        &self,
        project: ReplaySettings,
        recorded_agent: Option<&str>,
        command: &[OsString],
        last_level: Option<MatchLevel>,
    ) -> Result<MatchOptions, CommandError> {
        let table = agent::table()?;
        let named = recorded_agent.and_then(|name| table.of_name(name));
        let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let row = named.or_else(|| table.recognise(&words).map(|(row, _)| row));
        let ignored: Vec<PathPattern> = project.ignore.iter().chain(&self.ignore).cloned().collect();
        let rules = MatchRules::new(row, &ignored);
        Ok(MatchOptions {
            last_level: self.last_level.or(last_level).or(project.last_level).unwrap_or(MatchLevel::Tools),
            accepts_tools: self.accept.is_some() || project.accepts_tools,
            rules: rules.map_err(|error| CommandError::impossible(error.to_string()))?,
            utc_offset: Some(local_offset()),
            ..MatchOptions::default()
        })
    }
}

/// Returns the minutes by which local time is ahead of UTC.
fn local_offset() -> i32 {
    let now = jiff::Timestamp::now();
    jiff::tz::TimeZone::system().to_offset(now).seconds() / 60
}

/// Number of differing exchanges that are named; the rest is in the report.
const MAX_NAMED: usize = 3;

/// Returns how the requests of a replay were found, as part of a line; `None` if all were equal to recorded ones.
pub(super) fn levels_phrase(outcome: &ReplayOutcome) -> Option<String> {
    if outcome.levels.last()? == MatchLevel::Exact {
        return None;
    }
    let levels: Vec<String> =
        outcome.levels.used().map(|(level, count)| format!("{count} {level}")).collect();
    Some(levels.join(", "))
}

/// Returns notices on the requests that differed in what no reproduction excuses: where, and in what.
pub(super) fn differing_notices(outcome: &ReplayOutcome) -> Vec<String> {
    let is_told = |level: MatchLevel| !level.is_reproduction();
    let told: Vec<_> = outcome.differing.iter().filter(|exchange| is_told(exchange.level)).collect();
    let all: usize = outcome.levels.used().filter(|(level, _)| is_told(*level)).map(|(_, count)| count).sum();
    let mut notices = Vec::new();
    for exchange in told.iter().take(MAX_NAMED) {
        let what = match exchange.level {
            MatchLevel::Position => "another request at the same place",
            _ => "another result of a tool",
        };
        let mut text = format!("step {}: {what}", exchange.step_id);
        let nothing = "nothing".to_owned();
        for difference in exchange.differences.iter().take(MAX_NAMED) {
            let [recorded, asked] =
                [&difference.recorded, &difference.requested].map(|side| side.as_ref().unwrap_or(&nothing));
            text.push_str(&format!(
                "\n  {}\n    recorded {recorded}\n    now      {asked}",
                difference.location
            ));
        }
        if exchange.distance > MAX_NAMED {
            text.push_str("\n  …");
        }
        notices.push(text);
    }
    if all > notices.len() {
        let more = all - notices.len();
        notices.push(format!("{} more like this: --json has all", quantity::count(more as u64, "request")));
    }
    notices
}

/// Returns the part of a request by which it was found; `None` if whole requests were.
pub(super) fn found_by_phrase(found_by: Option<FoundBy>) -> Option<&'static str> {
    match found_by? {
        FoundBy::Request => None,
        FoundBy::BodyHash => Some("the hash of the body or of the prompt"),
        FoundBy::JsonBody => Some("the JSON of the body"),
        FoundBy::Prompt => Some("the prompt"),
        FoundBy::Conversation => Some("the model and the messages"),
    }
}
