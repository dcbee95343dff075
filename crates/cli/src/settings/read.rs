//! `[redaction]` and `[withhold]` in TOML, and which sections there are.

use reenact_record::{Redaction, Withhold};
use reenact_secrets::{Alphabet, CustomRule, RuleFault};
use toml::Spanned;
use toml::de::DeValue;

use crate::envelope::read::{Fault, Reader};

/// What is read here.
pub(super) struct Read {
    pub(super) redaction: Redaction,
    /// Whether there is a section that is read elsewhere.
    pub(super) has_envelope: bool,
}

/// The sections that a file may have.
const SECTIONS: [&str; 3] = ["envelope", "redaction", "withhold"];

/// More rules than these would be a mistake.
const MOST_RULES: usize = 64;
/// More names in a list, too.
const MOST_NAMES: usize = 256;

/// Reads a document.
pub(super) fn redaction(text: &str) -> Result<Read, Fault> {
    let reader = Reader { text };
    let document = reader.document()?;
    let document = document.get_ref();
    for (name, _) in document {
        if !SECTIONS.contains(&name.get_ref().as_ref()) {
            let problem = format!("there is no such section; allowed are {}", SECTIONS.join(", "));
            return Err(reader.fault(name.span().start, name.get_ref(), problem));
        }
    }
    let mut redaction = Redaction::default();
    if let Some(section) = document.get("redaction") {
        let table = reader.table("redaction", section)?;
        for (name, value) in reader.known("redaction", table, &["known_env", "rules"])? {
            match name.get_ref().as_ref() {
                "rules" => redaction.rules = rules(&reader, value)?,
                _ => redaction.known_env = names(&reader, "redaction.known_env", value, is_variable)?,
            }
        }
    }
    if let Some(section) = document.get("withhold") {
        let table = reader.table("withhold", section)?;
        let Withhold { events, tools, models } = &mut redaction.withhold;
        for (name, value) in reader.known("withhold", table, &["events", "models", "tools"])? {
            match name.get_ref().as_ref() {
                "events" => *events = names(&reader, "withhold.events", value, is_event)?,
                "models" => *models = names(&reader, "withhold.models", value, is_pattern)?,
                _ => *tools = names(&reader, "withhold.tools", value, is_pattern)?,
            }
        }
    }
    Ok(Read { redaction, has_envelope: document.get("envelope").is_some() })
}

fn rules<'t>(reader: &Reader<'t>, value: &Spanned<DeValue<'t>>) -> Result<Vec<CustomRule>, Fault> {
    let Some(list) = value.get_ref().as_array() else {
        return Err(reader.other(value, "redaction.rules", "a list, [[redaction.rules]]"));
    };
    if list.len() > MOST_RULES {
        let problem = format!("there are more than {MOST_RULES}");
        return Err(reader.fault(value.span().start, "redaction.rules", problem));
    }
    list.iter()
        .enumerate()
        .map(|(at, value)| rule(reader, &format!("redaction.rules[{at}]"), value))
        .collect()
}

fn rule<'t>(reader: &Reader<'t>, field: &str, value: &Spanned<DeValue<'t>>) -> Result<CustomRule, Fault> {
    let table = reader.table(field, value)?;
    reader.known(field, table, &["alphabet", "min_length", "name", "prefix"])?;
    let member = |name: &str, wanted: &str| {
        let problem =
            || reader.fault(value.span().start, &format!("{field}.{name}"), format!("is missing: {wanted}"));
        table.get(name).ok_or_else(problem)
    };
    let text = |name: &str, wanted: &str| {
        let found = member(name, wanted)?;
        found.get_ref().as_str().ok_or_else(|| reader.other(found, &format!("{field}.{name}"), "a string"))
    };
    let name = text("name", "what the mark says, such as \"acme-key\"")?;
    let prefix = text("prefix", "what the secret begins with, such as \"acme_\"")?;
    let alphabets = Alphabet::ALL.map(|alphabet| format!("\"{}\"", alphabet.name())).join(", ");
    let alphabet = text("alphabet", &format!("one of {alphabets}"))?;
    let alphabet = Alphabet::named(alphabet).ok_or_else(|| {
        let at = table.get("alphabet").map_or(value.span().start, |found| found.span().start);
        reader.fault(at, &format!("{field}.alphabet"), format!("must be one of {alphabets}"))
    })?;
    let least = member("min_length", "how many characters follow the prefix at least")?;
    let number = least.get_ref().as_integer().and_then(|number| {
        i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .and_then(|number| usize::try_from(number).ok())
    });
    // What is no number at all is no better than one that is too small.
    CustomRule::new(name, prefix, alphabet, number.unwrap_or(0)).map_err(|fault| {
        let name = match fault {
            RuleFault::Name | RuleFault::Taken => "name",
            RuleFault::Prefix => "prefix",
            _ => "min_length",
        };
        let at = table.get(name).map_or(value.span().start, |found| found.span().start);
        reader.fault(at, &format!("{field}.{name}"), fault.to_string())
    })
}

/// A list of strings, each of them as `judge` wants it.
fn names<'t>(
    reader: &Reader<'t>,
    field: &str,
    value: &Spanned<DeValue<'t>>,
    judge: fn(&str) -> Result<(), String>,
) -> Result<Vec<String>, Fault> {
    let Some(list) = value.get_ref().as_array() else {
        return Err(reader.other(value, field, "a list of strings"));
    };
    if list.len() > MOST_NAMES {
        return Err(reader.fault(value.span().start, field, format!("there are more than {MOST_NAMES}")));
    }
    let name = |(at, item): (usize, &Spanned<DeValue<'t>>)| {
        let field = format!("{field}[{at}]");
        let Some(text) = item.get_ref().as_str() else { return Err(reader.other(item, &field, "a string")) };
        judge(text).map_err(|problem| reader.fault(item.span().start, &field, problem))?;
        Ok(text.to_owned())
    };
    list.iter().enumerate().map(name).collect()
}

fn is_variable(name: &str) -> Result<(), String> {
    let is_name = !name.is_empty() && name.len() <= 256 && !name.contains(['=', '\0']);
    is_name.then_some(()).ok_or_else(|| "must be the name of a variable, such as \"DATABASE_URL\"".into())
}

fn is_event(name: &str) -> Result<(), String> {
    let problem = || format!("cannot be withheld; allowed are {}", Withhold::allowed_events().join(", "));
    Withhold::allowed_events().contains(&name).then_some(()).ok_or_else(problem)
}

fn is_pattern(name: &str) -> Result<(), String> {
    let is_name = !name.is_empty() && name.len() <= 256;
    is_name
        .then_some(())
        .ok_or_else(|| "must be a name of 1 to 256 bytes; * stands for any characters, ? for one".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_a_file_can_say() {
        let text = r#"
[redaction]
known_env = ["DATABASE_URL"]
[[redaction.rules]]
name = "acme-key"
prefix = "acme_"
alphabet = "base64url"
min_length = 0x10
[[redaction.rules]]
name = "acme-id"
prefix = "acme:"
alphabet = "hex"
min_length = 8
[withhold]
events = ["rer.prompt.rendered"]
tools = ["pay_*"]
models = ["private"]
[envelope]
"#;
        let read = redaction(text).unwrap();
        assert!(read.has_envelope);
        let rule = |name, prefix, alphabet, least| CustomRule::new(name, prefix, alphabet, least).unwrap();
        let expected = Redaction {
            rules: vec![
                rule("acme-key", "acme_", Alphabet::Base64url, 16),
                rule("acme-id", "acme:", Alphabet::Hex, 8),
            ],
            known_env: vec!["DATABASE_URL".into()],
            withhold: Withhold {
                events: vec!["rer.prompt.rendered".into()],
                tools: vec!["pay_*".into()],
                models: vec!["private".into()],
            },
        };
        assert_eq!(read.redaction, expected);
        assert!(!redaction("").unwrap().has_envelope);
    }

    #[test]
    fn what_is_refused_is_named_with_what_is_allowed() {
        const RULE: &str =
            "[[redaction.rules]]\nname = \"acme\"\nprefix = \"acme_\"\nalphabet = \"hex\"\nmin_length = 8\n";
        for (text, expected) in [
            ("x = 1", "line 1: x: there is no such section; allowed are envelope, redaction, withhold"),
            (
                "[redaction]\nrules = 1",
                "line 2: redaction.rules: must be a list, [[redaction.rules]], and this is an integer",
            ),
            ("redaction = 1", "line 1: redaction: must be a table, and this is an integer"),
            (
                &RULE.replace("acme\"", "openai-key\""),
                "line 2: redaction.rules[0].name: is the name of a rule that is there already",
            ),
            (
                &RULE.replace("acme\"", "Acme\""),
                "line 2: redaction.rules[0].name: must be 1 to 32 of a-z, 0-9 and -, and begin with a letter",
            ),
            (
                &RULE.replace("acme_", "a"),
                "line 3: redaction.rules[0].prefix: must be 3 to 64 characters of A-Z, a-z, 0-9 and _ - . : = / + ~ @ #",
            ),
            (
                &RULE.replace("hex", ".*"),
                "line 4: redaction.rules[0].alphabet: must be one of \"alnum\", \"hex\", \"base64url\", \"base64\"",
            ),
            (
                &RULE.replace("= 8", "= 3"),
                "line 5: redaction.rules[0].min_length: must be a whole number from 4 to 4096",
            ),
            (
                &RULE.replace("= 8", "= -8"),
                "line 5: redaction.rules[0].min_length: must be a whole number from 4 to 4096",
            ),
            (
                &RULE.replace("= 8", "= \"8\""),
                "line 5: redaction.rules[0].min_length: must be a whole number from 4 to 4096",
            ),
            (
                &RULE.replace("alphabet = \"hex\"\n", ""),
                "line 1: redaction.rules[0].alphabet: is missing: one of \"alnum\", \"hex\", \"base64url\", \"base64\"",
            ),
            (
                &format!("{RULE}regex = \".*\""),
                "line 6: redaction.rules[0].regex: there is no such field; allowed are alphabet, min_length, name, prefix",
            ),
            (
                "[redaction]\nknown_env = [\"A=B\"]",
                "line 2: redaction.known_env[0]: must be the name of a variable, such as \"DATABASE_URL\"",
            ),
            (
                "[redaction]\nknown_env = [1]",
                "line 2: redaction.known_env[0]: must be a string, and this is an integer",
            ),
            (
                "[withhold]\ntool = []",
                "line 2: withhold.tool: there is no such field; allowed are events, models, tools",
            ),
            (
                "[withhold]\ntools = [\"\"]",
                "line 2: withhold.tools[0]: must be a name of 1 to 256 bytes; * stands for any characters, ? for one",
            ),
        ] {
            assert_eq!(redaction(text).err().unwrap().to_string(), expected);
        }
        let refused = redaction("[withhold]\nevents = [\"rer.run.ended\"]").err().unwrap().to_string();
        assert!(refused.starts_with(
            "line 2: withhold.events[0]: cannot be withheld; allowed are rer.artifact.written, "
        ));
    }
}
