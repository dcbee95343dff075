//! `reenact policy`: writes, checks, tries, authorises and shows envelopes, the permissions of a run, and answers what waits for an approval.
//!
//! Parsing is in the module `envelope` of this crate. Start reading at `check`, the simplest of these commands.

pub(super) mod approve;
mod check;
mod init;
mod show;
mod sign;
mod trial;
mod try_out;

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use reenact_formats::rer::envelope::permission::Envelope;
use reenact_json::Value;
use reenact_json::shown::is_unsafe;

use crate::envelope::summary_lines;
use crate::output::CommandError;

/// Say what runs may do: write, try and sign envelopes, approve what waits
///
/// An envelope says which models and tools may be called, how often, until when, for how much, and what needs an approval. People
/// write it as `[envelope]` in TOML; a run carries it as signed JSON.
#[derive(clap::Args)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(super) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(clap::Subcommand)]
enum PolicyCommand {
    Init(init::PolicyInitArgs),
    Check(check::PolicyCheckArgs),
    Try(try_out::PolicyTryArgs),
    Sign(sign::PolicySignArgs),
    Show(show::PolicyShowArgs),
    Approve(approve::PolicyApproveArgs),
}

impl PolicyArgs {
    /// Runs the subcommand.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        match &self.command {
            PolicyCommand::Init(command) => command.run(),
            PolicyCommand::Check(command) => command.run(),
            PolicyCommand::Try(command) => command.run(),
            PolicyCommand::Sign(command) => command.run(),
            PolicyCommand::Show(command) => command.run(),
            PolicyCommand::Approve(command) => command.run(),
        }
    }
}

/// Returns JSON in which characters that act on a terminal are written as `\u` escapes, which mean the same.
/// Line feeds stay.
fn printable_json(json: &[u8]) -> String {
    let mut text = String::with_capacity(json.len());
    for char in String::from_utf8_lossy(json).chars() {
        if char != '\n' && is_unsafe(char) {
            let mut units = [0; 2];
            for unit in char.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(char);
        }
    }
    text
}

/// Returns the time in nanoseconds since 1970.
pub(super) fn now() -> Option<i128> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i128::try_from(now.as_nanos()).ok()
}

/// Returns the permissions of an envelope as indented lines. With `now`, the line on the expiry says how much
/// time is left.
fn permissions_text(envelope: &Envelope, value: Value<'_>, now: Option<i128>) -> String {
    let mut page = String::new();
    for (word, says) in summary_lines(envelope, value, now) {
        let _ = writeln!(page, "  {word:<9} {says}");
    }
    page
}
