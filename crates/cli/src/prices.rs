//! Price tables as people write them: TOML, in dollars for a million tokens, by vendor and model.
//!
//! ```toml
//! date = "2026-01-31"
//! [openai]
//! "gpt-5" = { input = 1.25, cached_input = 0.125, output = 10 }
//! ```
//!
//! `reenact doctor prices` prints the list prices in this form, and `record --prices` reads them back. The code
//! counts in whole picodollars per token, so that an amount may have at most six decimal places. Start
//! reading at [`parse`].

use std::fmt::Write as _;
use std::path::Path;

use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_json::Shown;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_verify::disk;
use reenact_wire::price::{PriceTable, PricedModel, Rates};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::output::CommandError;
use crate::upstreams;

/// Fields of a price, in the order in which they are printed.
const FIELDS: [&str; 4] = ["input", "cached_input", "cache_write", "output"];

/// Field of the largest output of a model, in tokens.
const MAX_OUTPUT: &str = "max_output_tokens";

/// Reads a price table from a file.
///
/// # Errors
///
/// `impossible` if the file cannot be read, `refused` if it is no price table.
pub(crate) fn load(path: &Path) -> Result<PriceTable, CommandError> {
    let bytes =
        disk::read(path).map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))?;
    let text = core::str::from_utf8(&bytes).map_err(|_| "it is not UTF-8".to_owned());
    text.and_then(parse).map_err(|why| {
        let name = path.to_string_lossy();
        CommandError::refused(format!("{}: {why}", Shown::whole(&name)))
    })
}

/// Returns a price table as a file that [`load`] reads. Cache prices that are 0 are left out.
pub(crate) fn to_toml(table: &PriceTable) -> String {
    let mut text = format!(
        "# Dollars for a million tokens, as the vendors listed them on this day.\ndate = \"{}\"\n",
        table.date
    );
    let mut vendor = "";
    for (of, model, PricedModel { rates, max_output_tokens }) in table.models() {
        if of != vendor {
            vendor = of;
            let _ = write!(text, "\n[{vendor}]\n");
        }
        let fields: Vec<String> = dollars(rates)
            .map(|(name, dollars)| format!("{name} = {dollars}"))
            .chain(max_output_tokens.map(|tokens| format!("{MAX_OUTPUT} = {tokens}")))
            .collect();
        let _ = writeln!(text, "\"{model}\" = {{ {} }}", fields.join(", "));
    }
    text
}

/// Returns a price table as one JSON object, with the same fields as in [`to_toml`].
pub(crate) fn to_json(table: &PriceTable) -> String {
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    object.string("date", table.date.as_str());
    object.string("unit", "USD for a million tokens");
    print::write_list(table.models(), object.name("models"), |(vendor, model, priced), out| {
        let mut object = PrintObjectWriter::open(out);
        object.string("vendor", vendor);
        object.string("model", model);
        for (name, dollars) in dollars(priced.rates) {
            object.name(name).push_str(&dollars);
        }
        if let Some(tokens) = priced.max_output_tokens {
            object.name(MAX_OUTPUT).push_str(&tokens.to_string());
        }
        object.close();
    });
    object.close();
    text + "\n"
}

/// Returns the fields of a price in dollars for a million tokens, without cache prices that are 0.
fn dollars(rates: Rates) -> impl Iterator<Item = (&'static str, String)> {
    let rates = [rates.input, rates.cached_input, rates.cache_write, rates.output];
    FIELDS
        .into_iter()
        .zip(rates)
        .filter(|(name, rate)| *rate > 0 || matches!(*name, "input" | "output"))
        .map(|(name, rate)| (name, Money::from_picodollars(u128::from(rate) * 1_000_000).decimal()))
}

/// Parses a price table.
///
/// # Errors
///
/// A message with the line and the field, if the date is missing, a vendor is unknown, or a price is no amount.
fn parse(text: &str) -> Result<PriceTable, String> {
    let line = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let fault = |at: usize, field: &str, problem: &str| {
        format!("line {}: {}: {problem}", line(at), Shown::new(field))
    };
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        format!("line {}: {}", line(at), Shown::whole(error.message()))
    })?;
    let mut table = None;
    if let Some(date) = document.get_ref().get("date") {
        let day = date.get_ref().as_str().filter(|day| is_day(day));
        let day =
            day.ok_or_else(|| fault(date.span().start, "date", "must be a day, such as \"2026-01-31\""))?;
        table = Some(PriceTable::new(day));
    }
    let mut table = table.ok_or("line 1: date: is missing: of which day are these prices?")?;
    for (name, models) in document.get_ref() {
        let at = name.span().start;
        let name = name.get_ref().as_ref();
        if name == "date" {
            continue;
        }
        // A name of the user's own is one of `--upstream`; another is a mistake.
        if !upstreams::is_route_name(name) {
            return Err(fault(at, name, "must be the name of a vendor, or of an upstream of yours"));
        }
        let models =
            models.get_ref().as_table().ok_or_else(|| fault(at, name, "must be a table of models"))?;
        for (model, price) in models {
            let field = format!("{name}.{}", model.get_ref());
            let fault = |at: usize, problem: &str| fault(at, &field, problem);
            table.set(name, model.get_ref(), parse_rates(price, model.span().start, fault)?);
        }
    }
    Ok(table)
}

/// Parses the prices of one model; `at` is the byte offset of its name, and `fault` makes the message.
fn parse_rates(
    price: &Spanned<DeValue<'_>>,
    at: usize,
    fault: impl Fn(usize, &str) -> String,
) -> Result<PricedModel, String> {
    let wanted =
        "must be { input = 1.25, output = 10 }, and perhaps cached_input, cache_write and max_output_tokens";
    let price = price.get_ref().as_table().ok_or_else(|| fault(at, wanted))?;
    let mut found = [None; 4];
    let mut max_output_tokens = None;
    for (name, rate) in price {
        if name.get_ref() == MAX_OUTPUT {
            let tokens = match rate.get_ref() {
                DeValue::Integer(number) if number.radix() == 10 => {
                    number.as_str().replace('_', "").parse().ok()
                }
                _ => None,
            };
            let problem = "max_output_tokens must be a whole number of tokens";
            max_output_tokens = Some(tokens.ok_or_else(|| fault(rate.span().start, problem))?);
            continue;
        }
        let index = FIELDS.iter().position(|field| *field == name.get_ref().as_ref());
        let index = index.ok_or_else(|| fault(name.span().start, wanted))?;
        let text = match rate.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(fault(rate.span().start, "a price must be a number of dollars")),
        };
        let pico = Money::from_dollars(text.replace('_', "").as_bytes(), Rounding::Up)
            .filter(|money| money.picodollars() % 1_000_000 == 0)
            .and_then(|money| u64::try_from(money.picodollars() / 1_000_000).ok());
        let problem = "a price must be a number of dollars, not below 0, with at most six places";
        found[index] = Some(pico.ok_or_else(|| fault(rate.span().start, problem))?);
    }
    let [Some(input), cached_input, cache_write, Some(output)] = found else {
        return Err(fault(at, wanted));
    };
    // A cache price that is not listed is that of ordinary input.
    let (cached_input, cache_write) = (cached_input.unwrap_or(input), cache_write.unwrap_or(input));
    Ok(PricedModel { rates: Rates { input, cached_input, cache_write, output }, max_output_tokens })
}

/// Returns true for a day of the calendar in the form `2026-01-31`.
fn is_day(text: &str) -> bool {
    reenact_formats::rer::time::instant(&format!("{text}T00:00:00Z")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let standard = PriceTable::list_prices();
        let read = parse(&to_toml(&standard)).unwrap();
        assert_eq!(read.date, standard.date);
        for ((vendor, model, row), (other, same, again)) in standard.models().zip(read.models()) {
            assert_eq!((vendor, model), (other, same));
            assert_eq!(row.max_output_tokens, again.max_output_tokens, "{model}");
            let (rates, again) = (row.rates, again.rates);
            assert_eq!(
                (rates.input, rates.output, rates.cached_input),
                (again.input, again.output, again.cached_input)
            );
            assert!(rates.cache_write == again.cache_write || rates.cache_write == 0, "{model}");
        }
    }

    #[test]
    fn programs_read_the_same_prices() {
        let table = parse(
            "date = \"2026-01-31\"\n[openai]\na = { input = 1.25, cached_input = 0.125, output = 10, max_output_tokens = 9 }\nb = { input = 0, output = 0, cached_input = 0, cache_write = 0 }",
        );
        assert_eq!(
            to_json(&table.unwrap()),
            concat!(
                r#"{"date":"2026-01-31","unit":"USD for a million tokens","models":["#,
                r#"{"vendor":"openai","model":"a","input":1.25,"cached_input":0.125,"cache_write":1.25,"output":10,"max_output_tokens":9},"#,
                r#"{"vendor":"openai","model":"b","input":0,"output":0}]}"#,
                "\n"
            )
        );
    }

    #[test]
    fn one_of_your_own() {
        let table =
            parse("date = \"2026-01-31\"\n[openai]\nlocal = { input = 0, output = 0.000001 }").unwrap();
        let rates = table.rates("openai", "local").unwrap();
        assert_eq!(rates, Rates { input: 0, cached_input: 0, cache_write: 0, output: 1 });
        let local =
            "date = \"2026-01-31\"\n[openai]\nlocal = { input = 0, output = 1, max_output_tokens = 4_096 }";
        assert_eq!(parse(local).unwrap().max_output_tokens("openai", "local"), 4096);
    }

    #[test]
    fn a_server_that_was_named_has_prices_of_its_own() {
        let table = parse("date = \"2026-01-31\"\n[together_ai]\nm = { input = 1, output = 2 }").unwrap();
        assert!(table.rates("together_ai", "m").is_some() && table.rates("openai", "m").is_none());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("", "line 1: date: is missing: of which day are these prices?"),
            ("date = 1", "line 1: date: must be a day, such as \"2026-01-31\""),
            ("date = \"2026-02-30\"", "line 1: date: must be a day, such as \"2026-01-31\""),
            ("date = \"2026-1-31\"", "line 1: date: must be a day, such as \"2026-01-31\""),
            (
                "date = \"2026-01-31\"\n[Acme]",
                "line 2: Acme: must be the name of a vendor, or of an upstream of yours",
            ),
            ("date = \"2026-01-31\"\nopenai = 1", "line 2: openai: must be a table of models"),
            (
                "date = \"2026-01-31\"\n[openai]\nx = { input = -1, output = 1 }",
                "line 3: openai.x: a price must be a number of dollars, not below 0, with at most six places",
            ),
            (
                "date = \"2026-01-31\"\n[openai]\nx = { input = 0.0000001, output = 1 }",
                "line 3: openai.x: a price must be a number of dollars, not below 0, with at most six places",
            ),
            (
                "date = \"2026-01-31\"\n[openai]\nx = { input = nan, output = 1 }",
                "line 3: openai.x: a price must be a number of dollars, not below 0, with at most six places",
            ),
            (
                "date = \"2026-01-31\"\n[openai]\nx = { input = 1 }",
                "line 3: openai.x: must be { input = 1.25, output = 10 }, and perhaps cached_input, cache_write and max_output_tokens",
            ),
            (
                "date = \"2026-01-31\"\n[openai]\nx = { input = \"1\", output = 1 }",
                "line 3: openai.x: a price must be a number of dollars",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected);
        }
    }
}
