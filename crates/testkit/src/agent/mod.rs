//! A small agent that books a flight under a budget.
//!
//! It is what an agent is: a loop that asks a model, runs the tools that it asks for, and hands the results back. It reads
//! the same variables as the vendors' own clients, needs no key, and talks to its base URL and nothing else.

mod client;
mod conversation;
mod dialect;

use std::io::{self, Write};

use reenact_wire::Answer;
use serde_json::Value;

pub use self::client::ClientError;
use self::client::Url;
use self::conversation::Conversation;
use crate::Kind;
use crate::travel::{TASK, Tool};

/// After this many answers the agent gives up.
const MOST_TURNS: usize = 8;

/// Whom the agent talks to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whose interface it speaks.
    pub kind: Kind,
    /// Such as `http://127.0.0.1:1234/v1`.
    pub base_url: String,
    /// Sent as the vendor wants it, if there is one.
    pub key: Option<String>,
    /// What the user wants.
    pub task: String,
}

impl Settings {
    /// From the variables that the vendor's own clients read, such as `OPENAI_BASE_URL` and `OPENAI_API_KEY`. The task is the one
    /// of the story.
    pub fn from_environment(kind: Kind) -> Result<Self, AgentError> {
        let read = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let variable = kind.base_variables().first().copied().unwrap_or_default();
        let base_url = read(&variable).ok_or(AgentError::NoBaseUrl(variable))?;
        let key = kind.key_variables().iter().find_map(read);
        Ok(Self { kind, base_url, key, task: TASK.to_owned() })
    }
}

/// Why the agent ended without an answer for its user.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The variable is not set.
    #[error("{0} is not set: it says where the model is")]
    NoBaseUrl(&'static str),
    /// The model could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The vendor said no.
    #[error("the vendor says: {}", printable(.0))]
    Vendor(String),
    /// The answer broke off.
    #[error("the answer broke off")]
    Cut,
    /// The model asked for tools again and again.
    #[error("no answer after {MOST_TURNS} turns")]
    Endless,
    /// Nobody listens.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// Runs the agent with what the environment says, and a task other than that of the story if there is one. Gives its exit code: 0 if the user got an answer, else 1, with the reason
/// on `errors`.
pub fn run(kind: Kind, task: Option<&str>, output: &mut dyn Write, errors: &mut dyn Write) -> u8 {
    let settings = Settings::from_environment(kind).map(|settings| match task {
        Some(task) => Settings { task: task.to_owned(), ..settings },
        None => settings,
    });
    match settings.and_then(|settings| book(&settings, output)) {
        Ok(()) => 0,
        Err(error) => {
            // Where errors cannot be written, the code still tells.
            let _ = writeln!(errors, "agent: {error}");
            1
        }
    }
}

/// Runs the agent; tells on `output` what happens.
pub fn book(settings: &Settings, output: &mut dyn Write) -> Result<(), AgentError> {
    let url = Url::parse(&settings.base_url)?;
    let mut conversation = Conversation::new(settings.kind, &settings.task);
    writeln!(output, "task:  {}", printable(&settings.task))?;
    for _ in 0..MOST_TURNS {
        let answer = ask(settings, &url, &conversation)?;
        if !answer.text.is_empty() {
            writeln!(output, "model: {}", printable(&answer.text))?;
        }
        if answer.tool_calls.is_empty() {
            return Ok(());
        }
        conversation.answered(&answer);
        let mut results = Vec::new();
        for call in &answer.tool_calls {
            let result = Tool::run(&call.name, &call.input);
            let told = match &result {
                Ok(result) => told(result),
                Err(error) => error.to_string(),
            };
            writeln!(output, "tool:  {} {}: {told}", printable(&call.name), inputs(&call.input))?;
            results.push(result);
        }
        conversation.ran(&answer, &results);
    }
    Err(AgentError::Endless)
}

fn ask(settings: &Settings, url: &Url, conversation: &Conversation) -> Result<Answer, AgentError> {
    let endpoint = conversation.endpoint();
    let key = settings.key.as_deref();
    let response = client::post(url, conversation.path(), &conversation.headers(key), &conversation.body())?;
    let read =
        reenact_wire::exchange::answer(endpoint, response.is_stream, &response.body).unwrap_or_default();
    if let Some(error) = read.error {
        return Err(AgentError::Vendor(error.message));
    }
    if response.status != 200 {
        return Err(AgentError::Vendor(format!("status {}", response.status)));
    }
    if read.complete { Ok(read) } else { Err(AgentError::Cut) }
}

/// What went into a tool, for a person.
fn inputs(input: &str) -> String {
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let values =
        input.as_object().into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_str()?)));
    let values: Vec<String> = values.map(|(name, value)| format!("{name}={value}")).collect();
    printable(&values.join(" "))
}

/// What came out of a tool, for a person.
fn told(result: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    match (result["flights"].as_array(), result["booking"].as_str()) {
        (Some(flights), _) => {
            let cheapest = flights.iter().filter_map(|flight| flight["price_eur"].as_u64()).min();
            cheapest.map_or_else(
                || "no flights".to_owned(),
                |price| format!("{} flights, from {price} euros", flights.len()),
            )
        }
        (None, Some(booking)) => format!("booked as {booking}"),
        (None, None) => result.to_string(),
    }
}

/// Text from outside with all that could steer a terminal written as escapes.
fn printable(text: &str) -> String {
    let is_unsafe = |character: char| {
        character.is_control()
            || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            printable.extend(character.escape_unicode());
        } else {
            printable.push(character);
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_steers_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\u{202e}é"), "a\\u{1b}[2Jb\\u{202e}é");
        let error = AgentError::Vendor("no\nway".into());
        assert_eq!(error.to_string(), "the vendor says: no\\u{a}way");
    }
}
