//! The story that the demo tells: someone wants to fly from Vienna to Lisbon, and has only so much to spend.
//!
//! Here is the mind of the model, which reads what the tools found and decides, and the tools, which know all flights that
//! there are. The agent between them is [`crate::agent`].

use serde_json::{Value, json};

use crate::reply::Reply;
use crate::request::Request;

/// What the user wants.
pub const TASK: &str = "Book me a flight from Vienna to Lisbon on 2026-05-12, for at most 200 euros.";

/// A tool that an agent can run.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// By which the model asks for it.
    pub name: &'static str,
    /// What it does, in words for the model.
    pub description: &'static str,
    /// Its parameters: all of them strings, all of them needed.
    pub parameters: &'static [&'static str],
    run: fn(&Value) -> Result<Value, ToolError>,
}

/// Why a tool did not do what it was asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The input is not what the tool takes.
    #[error("the input is not a JSON object with these parameters as strings: {}", .0.join(", "))]
    Input(&'static [&'static str]),
    /// Nothing flies under this name on this day.
    #[error("there is no such flight on that day")]
    NoSuchFlight,
    /// There is no tool of this name.
    #[error("there is no such tool")]
    NoSuchTool,
}

/// The tools of the agent.
pub const TOOLS: [Tool; 2] = [
    Tool {
        name: "search_flights",
        description: "Lists the flights between two cities on a day (YYYY-MM-DD), with prices in euros.",
        parameters: &["from", "to", "date"],
        run: search_flights,
    },
    Tool {
        name: "book_flight",
        description: "Books a seat on a flight on a day (YYYY-MM-DD) and charges its price.",
        parameters: &["flight", "date"],
        run: book_flight,
    },
];

impl Tool {
    /// Runs the tool of this name; the input and the result are JSON text.
    pub fn run(name: &str, input: &str) -> Result<String, ToolError> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or(ToolError::NoSuchTool)?;
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        if !tool.parameters.iter().all(|name| input[*name].is_string()) {
            return Err(ToolError::Input(tool.parameters));
        }
        Ok((tool.run)(&input)?.to_string())
    }
}

/// All flights that there are: name, from, to, date, departure, price in euros.
const FLIGHTS: [(&str, &str, &str, &str, &str, u64); 5] = [
    ("RX 204", "Vienna", "Lisbon", "2026-05-12", "07:10", 248),
    ("RX 208", "Vienna", "Lisbon", "2026-05-12", "12:45", 263),
    ("RX 212", "Vienna", "Lisbon", "2026-05-12", "19:30", 251),
    ("RX 204", "Vienna", "Lisbon", "2026-05-13", "07:10", 189),
    ("RX 208", "Vienna", "Lisbon", "2026-05-13", "12:45", 214),
];

fn search_flights(input: &Value) -> Result<Value, ToolError> {
    let found = FLIGHTS.iter().filter(|(_, from, to, date, ..)| {
        input["from"] == *from && input["to"] == *to && input["date"] == *date
    });
    let flights: Vec<Value> = found
        .map(|(flight, _, _, date, departs, price)| {
            json!({ "flight": flight, "date": date, "departs": departs, "price_eur": price })
        })
        .collect();
    Ok(json!({ "flights": flights }))
}

fn book_flight(input: &Value) -> Result<Value, ToolError> {
    let mut flights = FLIGHTS.iter();
    let found = flights.find(|(flight, _, _, date, ..)| input["flight"] == *flight && input["date"] == *date);
    let (flight, _, _, date, departs, price) = found.ok_or(ToolError::NoSuchFlight)?;
    Ok(json!({ "booking": "R7K2QD", "flight": flight, "date": date, "departs": departs, "price_eur": price }))
}

/// What the model says: it searches, tries the day after if the day is too dear, books, and tells.
pub fn model(request: &Request) -> Reply {
    let task = request.last_user_text();
    let budget = budget(&task);
    let reading = request.reading();
    let Some(result) = reading.tool_results.last() else {
        let input = json!({ "from": "Vienna", "to": "Lisbon", "date": "2026-05-12" });
        return ask("Let me see what flies on that day.", "search_flights", &input);
    };
    let found: Value = serde_json::from_str(&result.output).unwrap_or_default();
    if let Some(booking) = found["booking"].as_str() {
        return Reply::text(booked(&found, booking, budget));
    }
    let flights = found["flights"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some((cheapest, price)) = flights
        .iter()
        .filter_map(|flight| Some((flight, flight["price_eur"].as_u64()?)))
        .min_by_key(|(_, price)| *price)
    else {
        return Reply::text(format!(
            "That did not work, so I booked nothing. The tool says: {}",
            result.output
        ));
    };
    let (flight, date) =
        (cheapest["flight"].as_str().unwrap_or_default(), cheapest["date"].as_str().unwrap_or_default());
    if price <= budget {
        let text = format!("{flight} on {date} costs {price} euros, which is within your budget.");
        return ask(&text, "book_flight", &json!({ "flight": flight, "date": date }));
    }
    if reading.tool_results.len() > 1 {
        return Reply::text(format!("The cheapest is {price} euros, so I booked nothing."));
    }
    let text =
        format!("The cheapest is {price} euros, over your budget of {budget}. I will try the day after.");
    ask(&text, "search_flights", &json!({ "from": "Vienna", "to": "Lisbon", "date": "2026-05-13" }))
}

fn ask(text: &str, tool: &str, input: &Value) -> Reply {
    Reply::text(text).and_call(tool, input.to_string())
}

fn booked(found: &Value, booking: &str, budget: u64) -> String {
    let word = |name: &str| found[name].as_str().unwrap_or_default();
    let price = found["price_eur"].as_u64().unwrap_or_default();
    format!(
        "Booked: {} on {} at {}, for {price} euros. Your code is {booking}; {} euros are left for pastéis de nata.",
        word("flight"),
        word("date"),
        word("departs"),
        budget.saturating_sub(price)
    )
}

/// The number that stands before the word `euros`.
fn budget(task: &str) -> u64 {
    let before = task.split(" euros").next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_take_what_they_say_and_nothing_else() {
        let day = r#"{"from":"Vienna","to":"Lisbon","date":"2026-05-13"}"#;
        assert_eq!(
            Tool::run("search_flights", day).unwrap(),
            r#"{"flights":[{"date":"2026-05-13","departs":"07:10","flight":"RX 204","price_eur":189},{"date":"2026-05-13","departs":"12:45","flight":"RX 208","price_eur":214}]}"#
        );
        assert_eq!(Tool::run("search_flights", "{"), Err(ToolError::Input(&["from", "to", "date"])));
        let other = r#"{"flight":"RX 212","date":"2026-05-13"}"#;
        assert_eq!(Tool::run("book_flight", other), Err(ToolError::NoSuchFlight));
        assert_eq!(Tool::run("rm", "{}"), Err(ToolError::NoSuchTool));
    }

    #[test]
    fn the_budget_is_in_the_task() {
        assert_eq!(budget(TASK), 200);
        assert_eq!(budget("no number here"), 0);
    }
}
