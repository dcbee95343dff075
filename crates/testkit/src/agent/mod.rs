//! A small agent that books a flight under a budget.
//!
//! It is a loop that asks a model, runs the tools that the model calls, and sends the results back.
//! It reads the same variables as the vendors' own clients, needs no key, and connects to its base
//! URL and to nothing else. Start reading at [`run_with_settings`].

mod client;
mod conversation;
mod dialect;

use std::io::{self, Write};

use reenact_wire::{BaseVariable, ModelAnswer};
use serde_json::Value;

pub use self::client::ClientError;
use self::client::HttpUrl;
use self::conversation::AgentConversation;
use crate::Vendor;
use crate::travel::{TASK, TravelTool};

/// Largest number of answers before the agent gives up.
const MAX_TURNS: usize = 8;

/// Settings of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// Vendor whose interface the agent speaks.
    pub kind: Vendor,
    /// Base URL, such as `http://127.0.0.1:1234/v1`.
    pub base_url: String,
    /// API key, sent as the vendor wants it; `None` sends none.
    pub key: Option<String>,
    /// Task of the user.
    pub task: String,
    /// Sentence that the model is told behind the task, and that is not printed.
    pub context: Option<String>,
}

impl AgentSettings {
    /// Reads the variables that the vendor's own clients read, such as `OPENAI_BASE_URL` and
    /// `OPENAI_API_KEY`. The task is [`TASK`].
    ///
    /// # Errors
    /// [`AgentError::NoBaseUrl`] if the variable of the base URL is unset or empty.
    pub fn from_environment(kind: Vendor) -> Result<Self, AgentError> {
        let read = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let variable = kind.base_variables().first();
        let missing = || AgentError::NoBaseUrl(variable.map_or("", BaseVariable::name));
        let variable = variable.ok_or_else(missing)?;
        let base_url = variable.base_url(&read(&variable.name()).ok_or_else(missing)?);
        let key = kind.key_variables().iter().find_map(read);
        Ok(Self { kind, base_url, key, task: TASK.to_owned(), context: None })
    }
}

/// Reason why the agent ended without an answer for its user.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The variable of this name is not set.
    #[error("{0} is not set: it says where the model is")]
    NoBaseUrl(&'static str),
    /// The model could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The vendor answered with an error of this message.
    #[error("the vendor says: {}", printable(.0))]
    Vendor(String),
    /// The answer broke off.
    #[error("the answer broke off")]
    Cut,
    /// The model called tools in every turn.
    #[error("no answer after {MAX_TURNS} turns")]
    Endless,
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// Runs the agent with the settings of the environment, with `task` instead of the story's if
/// given, and with a `context`.
///
/// Returns the exit code: 0 if the user got an answer, otherwise 1, with the reason on `errors`.
pub fn run(
    kind: Vendor,
    task: Option<&str>,
    context: Option<String>,
    output: &mut dyn Write,
    errors: &mut dyn Write,
) -> u8 {
    let settings = AgentSettings::from_environment(kind).map(|settings| match task {
        Some(task) => AgentSettings { task: task.to_owned(), context, ..settings },
        None => AgentSettings { context, ..settings },
    });
    match settings.and_then(|settings| run_with_settings(&settings, output)) {
        Ok(()) => 0,
        Err(error) => {
            // If the error cannot be written, the exit code still tells.
            let _ = writeln!(errors, "agent: {error}");
            1
        }
    }
}

/// Runs the agent, and writes what happens to `output`, one line for each message and tool call.
///
/// # Errors
/// An [`AgentError`] if the user got no answer.
pub fn run_with_settings(settings: &AgentSettings, output: &mut dyn Write) -> Result<(), AgentError> {
    let url = HttpUrl::parse(&settings.base_url)?;
    let told = match &settings.context {
        Some(context) => format!("{} {context}", settings.task),
        None => settings.task.clone(),
    };
    let mut conversation = AgentConversation::new(settings.kind, &told);
    writeln!(output, "task:  {}", printable(&settings.task))?;
    for _ in 0..MAX_TURNS {
        let answer = ask_model(settings, &url, &conversation)?;
        if !answer.text.is_empty() {
            writeln!(output, "model: {}", printable(&answer.text))?;
        }
        if answer.tool_calls.is_empty() {
            return Ok(());
        }
        conversation.push_answer(&answer);
        let mut results = Vec::new();
        for call in &answer.tool_calls {
            let result = TravelTool::run(&call.name, &call.input);
            let outcome = match &result {
                Ok(result) => result_summary(result),
                Err(error) => error.to_string(),
            };
            writeln!(output, "tool:  {} {}: {outcome}", printable(&call.name), input_summary(&call.input))?;
            results.push(result);
        }
        conversation.push_results(&answer, &results);
    }
    Err(AgentError::Endless)
}

/// Sends the conversation to the model and parses the answer.
fn ask_model(
    settings: &AgentSettings,
    url: &HttpUrl,
    conversation: &AgentConversation,
) -> Result<ModelAnswer, AgentError> {
    let endpoint = conversation.endpoint();
    let key = settings.key.as_deref();
    let response = client::post(url, conversation.path(), &conversation.headers(key), &conversation.body())?;
    let read = reenact_wire::exchange::parse_answer(endpoint, response.is_stream, &response.body)
        .unwrap_or_default();
    if let Some(error) = read.error {
        return Err(AgentError::Vendor(error.message));
    }
    if response.status != 200 {
        return Err(AgentError::Vendor(format!("status {}", response.status)));
    }
    if read.is_complete { Ok(read) } else { Err(AgentError::Cut) }
}

/// Returns the input of a tool in one line, for a person.
fn input_summary(input: &str) -> String {
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let values =
        input.as_object().into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_str()?)));
    let values: Vec<String> = values.map(|(name, value)| format!("{name}={value}")).collect();
    printable(&values.join(" "))
}

/// Returns the result of a tool in one line, for a person.
fn result_summary(result: &str) -> String {
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

/// Escapes all characters that could control a terminal.
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
