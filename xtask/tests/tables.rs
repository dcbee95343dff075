//! Growth by tables: facts about one format, event or vendor stand in its row, and all other code
//! asks the row.
//!
//! Two rules hold for the source of all crates, tests left out. A name that a row has
//! (`rer.tool.called`, `replay-bundle`, `openai`) is spelled in the row and nowhere else; and no
//! `match` outside of a table goes through most of its rows, since a new row would have to be added
//! there, too. [`EXCEPTIONS`] lists what may break a rule, with the reason.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read stops")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use reenact_formats::FORMATS;
use reenact_formats::rer::EventType;
use reenact_wire::{PROTOCOLS, VENDORS};

/// Files that may name rows of a table: table, path, reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "vendors",
        "crates/secrets/src/name.rs",
        "words in the names of credentials, and secrets may not use wire",
    ),
    ("vendors", "crates/cli/src/command/demo.rs", "the demo plays the part of one vendor"),
];

/// Table: the names of its rows, the folder in which they may be spelled, and the enum that names
/// rows in code.
struct Table {
    name: &'static str,
    home: &'static str,
    names: Vec<String>,
    /// Enum and the number of its variants; `None` if rows cannot be matched on.
    variants: Option<(&'static str, usize)>,
}

fn tables() -> [Table; 4] {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let events = EventType::ALL.iter().map(|event| event.name().to_owned()).collect::<Vec<_>>();
    let formats = FORMATS.iter().map(|format| format.id.name().to_owned()).collect::<Vec<_>>();
    let vendors = VENDORS.iter().flat_map(|vendor| {
        let variables: Vec<&str> = vendor.base_variables().iter().map(|variable| variable.name()).collect();
        [owned(&variables), owned(vendor.key_variables()), owned(&[vendor.name()])].concat()
    });
    // Names such as `messages` are ordinary words: only names that cannot be anything else are
    // searched for.
    let protocols = PROTOCOLS.iter().map(|protocol| protocol.name()).filter(|name| name.contains('.'));
    [
        Table {
            name: "events",
            home: "crates/formats/src/rer/event_type.rs",
            variants: Some(("EventType", events.len())),
            names: events,
        },
        Table {
            name: "formats",
            home: "crates/formats/src/",
            variants: Some(("FormatId", formats.len())),
            names: formats,
        },
        Table { name: "vendors", home: "crates/wire/src/", names: vendors.collect(), variants: None },
        Table {
            name: "protocols",
            home: "crates/wire/src/",
            names: protocols.map(str::to_owned).collect(),
            variants: None,
        },
    ]
}

/// Returns every source file of a crate but testkit: its path from the root, and its code without
/// tests and comments.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf();
    let mut folders: Vec<PathBuf> =
        fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| !folder.ends_with("testkit"));
    folders.iter_mut().for_each(|folder| folder.push("src"));
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if path.is_dir() {
                folders.push(path);
            } else if !is_test && path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                sources.push((name, code(&fs::read_to_string(path).unwrap())));
            }
        }
    }
    assert!(sources.len() > 100, "the sources are not where they were");
    sources.sort();
    sources
}

/// Returns the code of a file: no comments, no attributes, nothing from the first module of tests
/// on.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]").next().unwrap_or_default();
    let is_code =
        |line: &&str| !line.trim_start().starts_with("//") && !line.trim_start().starts_with("#[cfg");
    text.lines().filter(is_code).flat_map(|line| [line, "\n"]).collect()
}

/// Returns code without the brackets in its strings and letters, which open and close nothing.
fn without_literals(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        kept.push_str(before);
        let mut letters = quoted.char_indices().skip(1);
        let mut end = None;
        while let Some((place, letter)) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                _ if quoted.starts_with(letter) => {
                    end = Some(place + 1);
                    break;
                }
                // A lifetime has no closing quote.
                _ if quoted.starts_with('\'') && place > 1 => break,
                _ => {}
            }
        }
        rest = &quoted[end.unwrap_or(1)..];
    }
    kept + rest
}

fn is_excepted(table: &Table, file: &str) -> bool {
    file.starts_with(table.home)
        || EXCEPTIONS.iter().any(|(name, path, _)| *name == table.name && *path == file)
}

#[test]
fn names_of_rows_are_spelled_in_their_table() {
    let sources = sources();
    let mut found = Vec::new();
    for table in tables() {
        for (file, code) in sources.iter().filter(|(file, _)| !is_excepted(&table, file)) {
            let spelled = table.names.iter().filter(|name| code.contains(&format!("\"{name}\"")));
            found.extend(
                spelled.map(|name| format!("{file} spells \"{name}\", which is a name of {}", table.name)),
            );
        }
    }
    assert!(found.is_empty(), "ask the row for its name:\n{}", found.join("\n"));
}

#[test]
fn no_match_goes_through_a_table_elsewhere() {
    let mut found = Vec::new();
    for table in tables() {
        let Some((variants, count)) = table.variants else { continue };
        for (file, code) in sources().iter().filter(|(file, _)| !is_excepted(&table, file)) {
            for block in matches(&without_literals(code)) {
                let named = patterns(block, variants);
                if 2 * named.len() > count {
                    found.push(format!("{file}: a match over {} of {count} {}", named.len(), table.name));
                }
            }
        }
    }
    assert!(found.is_empty(), "make it a question that the row answers:\n{}", found.join("\n"));
}

#[test]
fn every_exception_is_needed() {
    let sources = sources();
    for (name, path, _) in EXCEPTIONS {
        let tables = tables();
        let table = tables.iter().find(|table| table.name == *name).unwrap();
        let (_, code) =
            sources.iter().find(|(file, _)| file == path).unwrap_or_else(|| panic!("{path} is gone"));
        let is_needed = table.names.iter().any(|name| code.contains(&format!("\"{name}\"")));
        assert!(is_needed, "{path} names no {name} any more: strike it out");
    }
}

/// Returns the block behind each `match`, without its closing brace.
fn matches(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("match ").filter_map(|(at, _)| {
        let open = at + code[at..].find(" {\n")? + 1;
        let mut depth = 0_usize;
        let end = code[open..].char_indices().find_map(|(place, letter)| {
            depth = match letter {
                '{' => depth + 1,
                '}' => depth - 1,
                _ => depth,
            };
            (depth == 0).then_some(place)
        })?;
        code.get(open..open + end)
    })
}

/// Returns the variants in the patterns of a match's arms.
fn patterns<'c>(block: &'c str, variants: &str) -> BTreeSet<&'c str> {
    let prefix = format!("{variants}::");
    let (mut depth, mut start, mut is_body) = (0_usize, 1, false);
    let mut found = BTreeSet::new();
    for (at, letter) in block.char_indices() {
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        let is_end = letter == ',' || letter == '}';
        if depth == 1 && is_body && is_end {
            (start, is_body) = (at + 1, false);
        } else if depth == 1 && !is_body && block[at..].starts_with("=>") {
            let pattern = &block[start..at];
            found.extend(pattern.match_indices(prefix.as_str()).map(|(at, _)| {
                let rest = &pattern[at + prefix.len()..];
                rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default()
            }));
            is_body = true;
        }
    }
    found
}

#[test]
fn a_match_is_found_with_its_patterns() {
    let code = "fn f() {\n    match kind {\n        Some(EventType::A | EventType::B)\n            if g(1, 2) => {\n            h(EventType::D)\n        }\n        EventType::C => EventType::D,\n        _ => i(|| EventType::D),\n    }\n}\n";
    let blocks: Vec<&str> = matches(code).collect();
    assert_eq!(blocks.len(), 1);
    assert_eq!(patterns(blocks[0], "EventType"), BTreeSet::from(["A", "B", "C"]));
}
