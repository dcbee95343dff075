//! `reenact man`: manual pages, made from the same tree of commands as the help texts.
//!
//! `clap_mangen` writes the sections that follow from arguments; the examples, which it would run together, are written
//! here. Start reading at [`page`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use reenact_json::Shown;

use super::help::built_tree;
use crate::output::{self, CommandError};
use crate::quantity;

/// Write the manual: a page for each command
///
/// Packages put the pages into share/man/man1. Without --out the page of `reenact` itself goes to standard output.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact man --out ~/.local/share/man/man1\n  reenact man | man -l -")]
pub(super) struct ManArgs {
    /// The folder for the pages, which is made if it is missing; earlier pages in it are replaced
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl ManArgs {
    /// Writes all pages into the folder, or prints the first one.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let failed = |error: io::Error| CommandError::impossible(error.to_string());
        let Some(out) = &self.out else {
            output::print_bytes(&page(&all_shown(built_tree())).map_err(failed)?)?;
            return Ok(0);
        };
        let unwritable = |error: io::Error| CommandError::unwritable(out, &error);
        fs::create_dir_all(out).map_err(unwritable)?;
        let mut count = 0;
        write_pages(&all_shown(built_tree()), out, &mut count).map_err(unwritable)?;
        let name = out.to_string_lossy();
        output::print(&format!("{} in {}\n", quantity::count(count, "page"), Shown::whole(&name)))?;
        Ok(0)
    }
}

/// Returns the tree with every command in it listed: the manual leaves nothing out.
fn all_shown(command: Command) -> Command {
    command.hide(false).mut_subcommands(all_shown)
}

/// Writes the pages of a command and of its subcommands, and counts them.
fn write_pages(command: &Command, out: &Path, count: &mut u64) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    fs::write(out.join(format!("{name}.1")), page(command)?)?;
    *count += 1;
    command.get_subcommands().try_for_each(|inner| write_pages(inner, out, count))
}

/// Returns the page of a command.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone()).source(concat!("reenact ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    examples(command).to_writer(&mut page)?;
    Ok(ascii(&String::from_utf8_lossy(&page)).into_bytes())
}

/// Returns a page with every character beyond ASCII by its number, since not every roff reads UTF-8.
fn ascii(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    for character in page.chars() {
        match character.is_ascii() {
            true => text.push(character),
            false => text.push_str(&format!("\\[u{:04X}]", u32::from(character))),
        }
    }
    text
}

/// Returns the section with the examples, which are the indented lines after the options; each has a line of its own.
fn examples(command: &Command) -> Roff {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let mut section = Roff::new();
    if !lines.is_empty() {
        section.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in lines {
            section.text([roman(line)]);
        }
        section.control("fi", []);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `visit` with the name and the page of every command.
    fn each_page(command: &Command, visit: &mut impl FnMut(&Command, &str)) {
        visit(command, &String::from_utf8(page(command).unwrap()).unwrap());
        command.get_subcommands().for_each(|inner| each_page(inner, visit));
    }

    /// Every line is text or a macro that the sections use, so that no text is taken for a macro.
    #[test]
    fn every_page_is_a_page() {
        let macros = ["TH", "SH", "PP", "TP", "br", "RS", "RE", "IP", "nf", "fi", "ie", "el"];
        let mut count = 0;
        each_page(&all_shown(built_tree()), &mut |command, page| {
            let name = command.get_display_name().unwrap_or("reenact");
            for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
                let word = line[1..].split(' ').next().unwrap_or_default();
                assert!(macros.contains(&word), "{name}: {line}");
            }
            assert!(page.contains(&format!("\n.TH {name} 1 ")), "{name}: {page}");
            let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
            assert!(
                sections.starts_with(&["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"]),
                "{name}: {sections:?}"
            );
            assert_eq!(sections.contains(&"SUBCOMMANDS"), command.has_subcommands(), "{name}");
            let has_examples = !command.has_subcommands() && name != "reenact-demo-agent";
            assert!(!has_examples || sections.last() == Some(&"EXAMPLES"), "{name}: {sections:?}");
            assert!(page.bytes().all(|byte| byte == b'\n' || matches!(byte, b' '..=b'~')), "{name}");
            count += 1;
        });
        assert!(count > 30, "only {count} pages");
    }

    #[test]
    fn characters_beyond_ascii_have_numbers() {
        assert_eq!(ascii("a …\u{1f600}"), "a \\[u2026]\\[u1F600]");
    }
}
