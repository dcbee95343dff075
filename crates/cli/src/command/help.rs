//! `reenact help`: one command explained, or all of them listed.
//!
//! The list of `--all` comes from the tree of commands itself, so that none is missing. Start reading at `HelpArgs::run`.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};
use reenact_json::Shown;
use reenact_verify::render::Tone;

use super::ReenactArgs;
use crate::output::{self, CommandError, paint};

/// Explain a command, or list them
///
/// Without a name: the commands that people use every day. With --all: every command and subcommand.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact help record\n  reenact help policy sign\n  reenact help --all")]
pub(super) struct HelpArgs {
    /// A command, and perhaps its subcommand
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,

    /// List every command, also those that are seldom needed
    #[arg(long, conflicts_with = "command")]
    all: bool,
}

impl HelpArgs {
    /// Prints the list of all commands, or the help text of one.
    ///
    /// # Errors
    ///
    /// If there is no such command.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        if self.all {
            output::print(&list_of_all())?;
            return Ok(0);
        }
        let mut tree = built_tree();
        let mut found = &mut tree;
        for word in &self.command {
            found = found.find_subcommand_mut(word).ok_or_else(|| unknown(&self.command))?;
        }
        // The short form of the root is its list of commands; any other command is explained at length.
        let text = if self.command.is_empty() { found.render_help() } else { found.render_long_help() };
        output::print(&format!("{}", text.ansi()))?;
        Ok(0)
    }
}

/// Returns the tree of commands, with the names under which they are called.
pub(super) fn built_tree() -> Command {
    let mut tree = ReenactArgs::command();
    tree.build();
    tree
}

/// Returns the complaint about words that are no command.
fn unknown(words: &[String]) -> CommandError {
    let tip = match super::renamed::name_of_today(words) {
        Some(name) => format!("did you mean: reenact {name}"),
        None => "`reenact help --all` lists them".to_owned(),
    };
    CommandError::impossible(format!("there is no command \"{}\"; {tip}", Shown::new(&words.join(" "))))
}

/// Command that does something itself, as opposed to a group of subcommands.
struct ListedCommand {
    /// Words after `reenact`, such as `policy sign`.
    words: String,
    /// First line of its help text.
    about: String,
    /// True for a command that the short list leaves out.
    is_seldom: bool,
}

/// Appends the commands below `command`; `prefix` are the words that lead to it.
fn collect(command: &Command, prefix: &str, is_seldom: bool, found: &mut Vec<ListedCommand>) {
    for inner in command.get_subcommands() {
        let words = format!("{prefix}{}", inner.get_name());
        let is_seldom = is_seldom || inner.is_hide_set();
        // A group that does something without a subcommand is a command, too.
        if !inner.is_subcommand_required_set() {
            let about = inner.get_about().map(ToString::to_string).unwrap_or_default();
            found.push(ListedCommand { words: words.clone(), about, is_seldom });
        }
        collect(inner, &format!("{words} "), is_seldom, found);
    }
}

/// Returns every command with its purpose: those of every day first.
fn list_of_all() -> String {
    let mut commands = Vec::new();
    collect(&built_tree(), "", false, &mut commands);
    let wide = commands.iter().map(|command| command.words.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (heading, is_seldom) in [("Every day:", false), ("Seldom needed:", true)] {
        let _ = writeln!(text, "{}", paint(Tone::Title, heading));
        for command in commands.iter().filter(|command| command.is_seldom == is_seldom) {
            let _ = writeln!(text, "  {:wide$}  {}", command.words, command.about);
        }
        text.push('\n');
    }
    text + "`reenact` alone tells the last run and what to do next; `reenact help COMMAND` explains a command.\n"
}
