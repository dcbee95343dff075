//! The demo's story: a user wants to fly from Vienna to Lisbon on a budget.
//!
//! Here are the model, which reads the tools' results and decides, and the tools, which know all
//! flights. The agent between them is [`crate::agent`].

use serde_json::{Value, json};

use crate::reply::ScriptedReply;
use crate::request::VendorRequest;

/// Task of the user.
pub const TASK: &str = "Book me a flight from Vienna to Lisbon on 2026-05-12, for at most 200 euros.";

/// Tool that the agent can run.
#[derive(Debug, Clone, Copy)]
pub struct TravelTool {
    /// Name by which the model calls the tool.
    pub name: &'static str,
    /// Description for the model.
    pub description: &'static str,
    /// Parameters; all of them are required strings.
    pub parameters: &'static [&'static str],
    /// Function that runs the tool on valid input.
    run: fn(&Value) -> Result<Value, TravelToolError>,
}

/// Reason why a tool failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TravelToolError {
    /// The input is not an object with these parameters.
    #[error("the input is not a JSON object with these parameters as strings: {}", .0.join(", "))]
    Input(&'static [&'static str]),
    /// No flight has this name on this day.
    #[error("there is no such flight on that day")]
    NoSuchFlight,
    /// There is no tool of this name.
    #[error("there is no such tool")]
    NoSuchTool,
}

/// Tools of the agent.
pub const TOOLS: [TravelTool; 2] = [
    TravelTool {
        name: "search_flights",
        description: "Lists the flights between two cities on a day (YYYY-MM-DD), with prices in euros.",
        parameters: &["from", "to", "date"],
        run: search_flights,
    },
    TravelTool {
        name: "book_flight",
        description: "Books a seat on a flight on a day (YYYY-MM-DD) and charges its price.",
        parameters: &["flight", "date"],
        run: book_flight,
    },
];

impl TravelTool {
    /// Runs the tool of this name. The input and the result are JSON text.
    ///
    /// # Errors
    /// A [`TravelToolError`] if there is no such tool, or if the tool does not take the input.
    pub fn run(name: &str, input: &str) -> Result<String, TravelToolError> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or(TravelToolError::NoSuchTool)?;
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        if !tool.parameters.iter().all(|name| input[*name].is_string()) {
            return Err(TravelToolError::Input(tool.parameters));
        }
        Ok((tool.run)(&input)?.to_string())
    }
}

/// All flights: name, from, to, date, departure, price in euros.
const FLIGHTS: [(&str, &str, &str, &str, &str, u64); 5] = [
    ("RX 204", "Vienna", "Lisbon", "2026-05-12", "07:10", 248),
    ("RX 208", "Vienna", "Lisbon", "2026-05-12", "12:45", 263),
    ("RX 212", "Vienna", "Lisbon", "2026-05-12", "19:30", 251),
    ("RX 204", "Vienna", "Lisbon", "2026-05-13", "07:10", 189),
    ("RX 208", "Vienna", "Lisbon", "2026-05-13", "12:45", 214),
];

/// Lists the flights between two cities on a day.
fn search_flights(input: &Value) -> Result<Value, TravelToolError> {
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

/// Books a flight.
fn book_flight(input: &Value) -> Result<Value, TravelToolError> {
    let mut flights = FLIGHTS.iter();
    let found = flights.find(|(flight, _, _, date, ..)| input["flight"] == *flight && input["date"] == *date);
    let (flight, _, _, date, departs, price) = found.ok_or(TravelToolError::NoSuchFlight)?;
    Ok(json!({ "booking": "R7K2QD", "flight": flight, "date": date, "departs": departs, "price_eur": price }))
}

/// Returns the model's reply: it searches, tries the day after if the first day is too expensive,
/// books, and reports.
pub fn travel_model(request: &VendorRequest) -> ScriptedReply {
    let task = request.last_user_text();
    let budget = budget(&task);
    let reading = request.parsed();
    let Some(result) = reading.tool_results.last() else {
        let input = json!({ "from": "Vienna", "to": "Lisbon", "date": "2026-05-12" });
        return tool_call_reply("Let me see what flies on that day.", "search_flights", &input);
    };
    let found: Value = serde_json::from_str(&result.output).unwrap_or_default();
    if let Some(booking) = found["booking"].as_str() {
        return ScriptedReply::text(booking_text(&found, booking, budget));
    }
    let flights = found["flights"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some((cheapest, price)) = flights
        .iter()
        .filter_map(|flight| Some((flight, flight["price_eur"].as_u64()?)))
        .min_by_key(|(_, price)| *price)
    else {
        return ScriptedReply::text(format!(
            "That did not work, so I booked nothing. The tool says: {}",
            result.output
        ));
    };
    let (flight, date) =
        (cheapest["flight"].as_str().unwrap_or_default(), cheapest["date"].as_str().unwrap_or_default());
    if price <= budget {
        let text = format!("{flight} on {date} costs {price} euros, which is within your budget.");
        return tool_call_reply(&text, "book_flight", &json!({ "flight": flight, "date": date }));
    }
    if reading.tool_results.len() > 1 {
        return ScriptedReply::text(format!("The cheapest is {price} euros, so I booked nothing."));
    }
    let text =
        format!("The cheapest is {price} euros, over your budget of {budget}. I will try the day after.");
    tool_call_reply(
        &text,
        "search_flights",
        &json!({ "from": "Vienna", "to": "Lisbon", "date": "2026-05-13" }),
    )
}

/// Returns a reply that says something and calls a tool.
fn tool_call_reply(text: &str, tool: &str, input: &Value) -> ScriptedReply {
    ScriptedReply::text(text).and_call(tool, input.to_string())
}

/// Returns the last message to the user.
fn booking_text(found: &Value, booking: &str, budget: u64) -> String {
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

/// Returns the number before the word `euros`; 0 if there is none.
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
            TravelTool::run("search_flights", day).unwrap(),
            r#"{"flights":[{"date":"2026-05-13","departs":"07:10","flight":"RX 204","price_eur":189},{"date":"2026-05-13","departs":"12:45","flight":"RX 208","price_eur":214}]}"#
        );
        assert_eq!(
            TravelTool::run("search_flights", "{"),
            Err(TravelToolError::Input(&["from", "to", "date"]))
        );
        let other = r#"{"flight":"RX 212","date":"2026-05-13"}"#;
        assert_eq!(TravelTool::run("book_flight", other), Err(TravelToolError::NoSuchFlight));
        assert_eq!(TravelTool::run("rm", "{}"), Err(TravelToolError::NoSuchTool));
    }

    #[test]
    fn the_budget_is_in_the_task() {
        assert_eq!(budget(TASK), 200);
        assert_eq!(budget("no number here"), 0);
    }
}
