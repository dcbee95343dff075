//! The sections `[redaction]`, `[withhold]` and `[replay]` of `reenact.toml`, and the list of sections that there are.
//!
//! `[envelope]` is only looked for: the module `envelope` parses it from the same text. A mask rule is a prefix,
//! an alphabet and a minimum length; there are no regular expressions. Start reading at [`parse_sections`].

use reenact_json::path_pattern::PathPattern;
use reenact_record::{Redaction, Withhold};
use reenact_replay::MatchLevel;
use reenact_replay::match_level::UnknownLevel;
use reenact_secrets::{Alphabet, CustomRule, RuleFault};
use toml::Spanned;
use toml::de::DeValue;

use crate::envelope::toml_reader::{TomlFileError, TomlReader};

/// Content of a settings file, as far as it is parsed here.
pub(super) struct ParsedSections {
    pub(super) redaction: Redaction,
    pub(super) replay: ReplaySettings,
    /// True if the file has a section `[envelope]`.
    pub(super) has_envelope: bool,
}

/// Rules of a project for its replays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReplaySettings {
    /// Last level at which an answer is served.
    pub(crate) last_level: Option<MatchLevel>,
    /// Members of requests that do not count.
    pub(crate) ignore: Vec<PathPattern>,
    /// True if a run in which results of tools differ counts as reproduced.
    pub(crate) accepts_tools: bool,
}

/// Names of the sections that a file may have.
const SECTIONS: [&str; 4] = ["envelope", "redaction", "replay", "withhold"];

/// Largest number of mask rules; more would be a mistake.
const MAX_RULES: usize = 64;
/// Largest number of names in one list; more would be a mistake.
const MAX_NAMES: usize = 256;

/// Parses the text of a settings file.
///
/// # Errors
///
/// With line and field, if the text is not TOML, or has a section, a field or a value that is not allowed.
pub(super) fn parse_sections(text: &str) -> Result<ParsedSections, TomlFileError> {
    let reader = TomlReader { text };
    let document = reader.parse_document()?;
    let document = document.get_ref();
    for (name, _) in document {
        if !SECTIONS.contains(&name.get_ref().as_ref()) {
            let problem = format!("there is no such section; allowed are {}", SECTIONS.join(", "));
            return Err(reader.error_at(name.span().start, name.get_ref(), problem));
        }
    }
    let mut redaction = Redaction::default();
    if let Some(section) = document.get("redaction") {
        let table = reader.table("redaction", section)?;
        for (name, value) in reader.known_members("redaction", table, &["known_env", "rules"])? {
            match name.get_ref().as_ref() {
                "rules" => redaction.rules = rules(&reader, value)?,
                _ => redaction.known_env = names(&reader, "redaction.known_env", value, check_variable_name)?,
            }
        }
    }
    if let Some(section) = document.get("withhold") {
        let table = reader.table("withhold", section)?;
        let Withhold { events, tools, models } = &mut redaction.withhold;
        for (name, value) in reader.known_members("withhold", table, &["events", "models", "tools"])? {
            match name.get_ref().as_ref() {
                "events" => *events = names(&reader, "withhold.events", value, check_event_type)?,
                "models" => *models = names(&reader, "withhold.models", value, check_pattern)?,
                _ => *tools = names(&reader, "withhold.tools", value, check_pattern)?,
            }
        }
    }
    let replay = match document.get("replay") {
        Some(section) => replay_settings(&reader, section)?,
        None => ReplaySettings::default(),
    };
    Ok(ParsedSections { redaction, replay, has_envelope: document.get("envelope").is_some() })
}

/// Parses the section `[replay]`.
fn replay_settings<'t>(
    reader: &TomlReader<'t>,
    section: &Spanned<DeValue<'t>>,
) -> Result<ReplaySettings, TomlFileError> {
    let mut settings = ReplaySettings::default();
    let table = reader.table("replay", section)?;
    for (name, value) in reader.known_members("replay", table, &["accept", "ignore", "match"])? {
        match name.get_ref().as_ref() {
            "match" => {
                let level = value.get_ref().as_str().map(str::parse::<MatchLevel>);
                let problem =
                    || reader.error_at(value.span().start, "replay.match", UnknownLevel.to_string());
                settings.last_level = Some(level.and_then(Result::ok).ok_or_else(problem)?);
            }
            "ignore" => {
                let check =
                    |path: &str| path.parse::<PathPattern>().map(drop).map_err(|error| error.to_string());
                let paths = names(reader, "replay.ignore", value, check)?;
                settings.ignore = paths.iter().filter_map(|path| path.parse().ok()).collect();
            }
            _ => {
                let check = |what: &str| {
                    (what == "tools").then_some(()).ok_or_else(|| "there is only \"tools\"".to_owned())
                };
                settings.accepts_tools = !names(reader, "replay.accept", value, check)?.is_empty();
            }
        }
    }
    Ok(settings)
}

/// Parses `redaction.rules`, at most [`MAX_RULES`] of them.
fn rules<'t>(
    reader: &TomlReader<'t>,
    value: &Spanned<DeValue<'t>>,
) -> Result<Vec<CustomRule>, TomlFileError> {
    let Some(list) = value.get_ref().as_array() else {
        return Err(reader.wrong_type(value, "redaction.rules", "a list, [[redaction.rules]]"));
    };
    if list.len() > MAX_RULES {
        let problem = format!("there are more than {MAX_RULES}");
        return Err(reader.error_at(value.span().start, "redaction.rules", problem));
    }
    list.iter()
        .enumerate()
        .map(|(at, value)| rule(reader, &format!("redaction.rules[{at}]"), value))
        .collect()
}

/// Parses one entry of `redaction.rules`. `field` is its path, for messages. All four members are required.
fn rule<'t>(
    reader: &TomlReader<'t>,
    field: &str,
    value: &Spanned<DeValue<'t>>,
) -> Result<CustomRule, TomlFileError> {
    let table = reader.table(field, value)?;
    reader.known_members(field, table, &["alphabet", "min_length", "name", "prefix"])?;
    let member = |name: &str, wanted: &str| {
        let problem = || {
            reader.error_at(value.span().start, &format!("{field}.{name}"), format!("is missing: {wanted}"))
        };
        table.get(name).ok_or_else(problem)
    };
    let text = |name: &str, wanted: &str| {
        let found = member(name, wanted)?;
        found
            .get_ref()
            .as_str()
            .ok_or_else(|| reader.wrong_type(found, &format!("{field}.{name}"), "a string"))
    };
    let name = text("name", "what the mark says, such as \"acme-key\"")?;
    let prefix = text("prefix", "what the secret begins with, such as \"acme_\"")?;
    let alphabets = Alphabet::ALL.map(|alphabet| format!("\"{}\"", alphabet.name())).join(", ");
    let alphabet = text("alphabet", &format!("one of {alphabets}"))?;
    let alphabet = Alphabet::named(alphabet).ok_or_else(|| {
        let at = table.get("alphabet").map_or(value.span().start, |found| found.span().start);
        reader.error_at(at, &format!("{field}.alphabet"), format!("must be one of {alphabets}"))
    })?;
    let least = member("min_length", "how many characters follow the prefix at least")?;
    let number = least.get_ref().as_integer().and_then(|number| {
        i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .and_then(|number| usize::try_from(number).ok())
    });
    // A value that is no number becomes 0, which is refused like any other length that is too small.
    CustomRule::new(name, prefix, alphabet, number.unwrap_or(0)).map_err(|fault| {
        let name = match fault {
            RuleFault::Name | RuleFault::Taken => "name",
            RuleFault::Prefix => "prefix",
            _ => "min_length",
        };
        let at = table.get(name).map_or(value.span().start, |found| found.span().start);
        reader.error_at(at, &format!("{field}.{name}"), fault.to_string())
    })
}

/// Parses a list of at most [`MAX_NAMES`] strings.
///
/// `validate` checks each of them, and returns the problem without the path, which is added here.
fn names<'t>(
    reader: &TomlReader<'t>,
    field: &str,
    value: &Spanned<DeValue<'t>>,
    validate: fn(&str) -> Result<(), String>,
) -> Result<Vec<String>, TomlFileError> {
    let Some(list) = value.get_ref().as_array() else {
        return Err(reader.wrong_type(value, field, "a list of strings"));
    };
    if list.len() > MAX_NAMES {
        return Err(reader.error_at(value.span().start, field, format!("there are more than {MAX_NAMES}")));
    }
    let name = |(at, item): (usize, &Spanned<DeValue<'t>>)| {
        let field = format!("{field}[{at}]");
        let Some(text) = item.get_ref().as_str() else {
            return Err(reader.wrong_type(item, &field, "a string"));
        };
        validate(text).map_err(|problem| reader.error_at(item.span().start, &field, problem))?;
        Ok(text.to_owned())
    };
    list.iter().enumerate().map(name).collect()
}

/// Checks the name of an environment variable: 1 to 256 bytes without `=` and NUL.
fn check_variable_name(name: &str) -> Result<(), String> {
    let is_name = !name.is_empty() && name.len() <= 256 && !name.contains(['=', '\0']);
    is_name.then_some(()).ok_or_else(|| "must be the name of a variable, such as \"DATABASE_URL\"".into())
}

/// Checks that events of a type may be withheld. Those that say how the run went as a whole, what was not
/// seen and what was permitted may not: the rest could not be judged without them.
fn check_event_type(name: &str) -> Result<(), String> {
    let problem = || format!("cannot be withheld; allowed are {}", Withhold::allowed_events().join(", "));
    Withhold::allowed_events().contains(&name).then_some(()).ok_or_else(problem)
}

/// Checks the pattern of a tool or a model: 1 to 256 bytes, with `*` and `?` as wildcards.
fn check_pattern(name: &str) -> Result<(), String> {
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
        let read = parse_sections(text).unwrap();
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
        assert_eq!(read.replay, ReplaySettings::default());
        let read = parse_sections("[replay]\nmatch = \"ids\"\nignore = [\"$.seed\"]\naccept = [\"tools\"]\n");
        let replay = ReplaySettings {
            last_level: Some(MatchLevel::Ids),
            ignore: vec!["$.seed".parse().unwrap()],
            accepts_tools: true,
        };
        assert_eq!(read.unwrap().replay, replay);
        assert!(!parse_sections("").unwrap().has_envelope);
    }

    #[test]
    fn what_is_refused_is_named_with_what_is_allowed() {
        const RULE: &str =
            "[[redaction.rules]]\nname = \"acme\"\nprefix = \"acme_\"\nalphabet = \"hex\"\nmin_length = 8\n";
        for (text, expected) in [
            (
                "x = 1",
                "line 1: x: there is no such section; allowed are envelope, redaction, replay, withhold",
            ),
            (
                "[replay]\nmatch = \"loose\"",
                "line 2: replay.match: there is no such level; there is: exact, ids, moved, tools, position",
            ),
            (
                "[replay]\nignore = [\"seed\"]",
                "line 2: replay.ignore[0]: `seed` is no path: it does not begin with `$`; paths look like \
                 $.metadata.user_id, $.input[*].id or $..cache_control",
            ),
            ("[replay]\naccept = [\"all\"]", "line 2: replay.accept[0]: there is only \"tools\""),
            (
                "[replay]\nlevel = 1",
                "line 2: replay.level: there is no such field; allowed are accept, ignore, match",
            ),
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
            assert_eq!(parse_sections(text).err().unwrap().to_string(), expected);
        }
        let refused = parse_sections("[withhold]\nevents = [\"rer.run.ended\"]").err().unwrap().to_string();
        assert!(refused.starts_with(
            "line 2: withhold.events[0]: cannot be withheld; allowed are rer.artifact.written, "
        ));
    }
}
