//! `reenact completions`: scripts that complete commands, options and files in a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::ReenactArgs;
use crate::output::{self, CommandError};

/// Print the script that completes commands in a shell
///
/// The script goes where the shell looks for such scripts, or is read by its startup file.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact completions bash > ~/.local/share/bash-completion/completions/reenact\n  reenact completions zsh > ~/.zfunc/_reenact\n  reenact completions fish > ~/.config/fish/completions/reenact.fish\n  reenact completions elvish > ~/.config/elvish/lib/reenact.elv\n  reenact completions powershell > reenact.ps1"
)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    /// Prints the script.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        output::print_bytes(&script(self.shell))?;
        Ok(0)
    }
}

/// Returns the script for a shell.
fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut ReenactArgs::command(), "reenact", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn every_shell_has_a_script_with_every_command() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).unwrap();
            for command in ReenactArgs::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {} is missing", command.get_name());
            }
            assert!(script.contains("pass-exit"), "{shell}: an option of replay is missing");
        }
    }
}
