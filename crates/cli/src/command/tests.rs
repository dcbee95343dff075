//! Tests of the tree of commands: every example parses, and words land where the documentation says.

use clap::{Command, CommandFactory as _, Parser as _};

use super::{ReenactArgs, ReenactCommand};

#[path = "../../tests/support/words.rs"]
mod words;

/// Calls `visit` for every command and its subcommands, with the words that lead to it.
fn walk(command: &Command, path: &str, visit: &mut impl FnMut(&Command, &str)) {
    visit(command, path);
    for inner in command.get_subcommands() {
        walk(inner, &format!("{path} {}", inner.get_name()), visit);
    }
}

/// Returns the examples of a command: the indented lines after its options.
fn examples(command: &Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("  ")).map(str::to_owned).collect()
}

#[test]
fn every_command_has_examples_of_itself() {
    walk(&ReenactArgs::command(), "reenact", &mut |command, path| {
        if command.has_subcommands() || command.is_hide_set() {
            return;
        }
        let examples = examples(command);
        assert!(examples.iter().any(|line| line.contains(path)), "{path} has no example: {examples:?}");
    });
}

#[test]
fn every_example_parses() {
    let mut count = 0;
    walk(&ReenactArgs::command(), "reenact", &mut |command, path| {
        for line in examples(command) {
            for piece in line.split(" | ").filter(|piece| piece.starts_with("reenact ")) {
                count += 1;
                let words = words::CommandLine::parse(piece).words;
                if let Err(error) = ReenactArgs::try_parse_from(&words) {
                    panic!("{path}: {piece}: {error}");
                }
            }
        }
    });
    assert!(count > 50, "only {count} examples were found");
}

#[test]
fn the_tree_is_consistent() {
    ReenactArgs::command().debug_assert();
}

/// Parses the words after `reenact record`, and returns the agent's command.
fn recorded_command(words: &[&str]) -> Vec<String> {
    let words = ["reenact", "record"].iter().chain(words);
    match ReenactArgs::try_parse_from(words) {
        Ok(ReenactArgs { command: Some(ReenactCommand::Record(record)), .. }) => {
            record.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
        }
        Ok(_) => panic!("another command"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_follows_the_agent_is_the_agents() {
    for (words, expected) in [
        (&["claude", "-p", "hi", "--model", "x"][..], &["claude", "-p", "hi", "--model", "x"][..]),
        (&["--quiet", "claude", "--quiet", "--out", "x"], &["claude", "--quiet", "--out", "x"]),
        (&["--", "claude", "-p", "hi"], &["claude", "-p", "hi"]),
        (&["-q", "--", "-odd-name", "x"], &["-odd-name", "x"]),
        (&["npm", "run", "agent", "--", "--fast"], &["npm", "run", "agent", "--", "--fast"]),
        (&["--", "npm", "run", "agent", "--", "--fast"], &["npm", "run", "agent", "--", "--fast"]),
        (&["claude", "--help"], &["claude", "--help"]),
        (&["claude", "--version"], &["claude", "--version"]),
        (&["verify"], &["verify"]),
    ] {
        assert_eq!(recorded_command(words), expected, "{words:?}");
    }
}

#[test]
fn an_option_that_record_does_not_know_is_no_agent() {
    for words in [&["--modle", "x"][..], &["-x", "claude"], &[], &["--quiet"], &["--"]] {
        let words = ["reenact", "record"].iter().chain(words);
        assert!(ReenactArgs::try_parse_from(words.clone()).is_err(), "{words:?}");
    }
}

#[test]
fn the_run_is_the_last_one_unless_it_is_named() {
    let run = |words: &[&str]| match ReenactArgs::try_parse_from(words).map(|arguments| arguments.command) {
        Ok(Some(ReenactCommand::Replay(replay))) => (replay.run, replay.command),
        Ok(_) => panic!("another command"),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(run(&["reenact", "replay"]), ("last".into(), vec![]));
    assert_eq!(run(&["reenact", "replay", "--", "a", "-b"]), ("last".into(), vec!["a".into(), "-b".into()]));
    assert_eq!(run(&["reenact", "replay", "0198", "--", "a"]), ("0198".into(), vec!["a".into()]));
    assert!(ReenactArgs::try_parse_from(["reenact", "replay", "last", "python", "agent.py"]).is_err());
}

/// The reference has every command, and none that is not there.
#[test]
fn the_reference_has_every_command() {
    let reference = include_str!("../../../../docs/commands.md");
    let mut spans: Vec<&str> = reference.split('`').skip(1).step_by(2).collect();
    spans.retain(|span| span.starts_with("reenact "));
    let tree = ReenactArgs::command();
    walk(&tree, "reenact", &mut |command, path| {
        let is_named = |span: &&str| {
            span.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        assert!(
            command.is_subcommand_required_set() || spans.iter().any(is_named),
            "docs/commands.md has no {path}"
        );
    });
    for span in spans {
        let mut command = &tree;
        for word in span
            .split(' ')
            .skip(1)
            .take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
        {
            if !command.has_subcommands() || word.starts_with('-') {
                break;
            }
            command = command
                .find_subcommand(word)
                .unwrap_or_else(|| panic!("docs/commands.md: {span}: no such command"));
        }
    }
}
