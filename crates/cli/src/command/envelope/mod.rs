//! `reenact envelope`: what a run may do, written by people, authorised by a key, and read by both.

mod check;
mod show;
mod sign;

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use reenact_formats::rer::envelope::permission::Envelope;
use reenact_json::Value;
use reenact_json::shown::is_unsafe;

use crate::envelope::lines;
use crate::output::Ending;

/// Check, authorise and read envelopes: what a run may do
///
/// An envelope says which models and tools may be called, how often, until when, for how much, and what needs an approval. People
/// write it as `[envelope]` in TOML; a run carries it as signed JSON.
#[derive(clap::Args)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(super) struct EnvelopeCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(check::Check),
    Sign(sign::Sign),
    Show(show::Show),
}

impl EnvelopeCommand {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        match &self.command {
            Command::Check(command) => command.run(),
            Command::Sign(command) => command.run(),
            Command::Show(command) => command.run(),
        }
    }
}

/// JSON that can be printed: what would move a cursor or turn the direction of text is spelled as an escape, which means the
/// same.
fn safe_json(json: &[u8]) -> String {
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

/// The time, in nanoseconds since 1970.
fn now() -> Option<i128> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i128::try_from(now.as_nanos()).ok()
}

/// What an envelope permits, in words. With the time, also for how long yet.
fn page(envelope: &Envelope, value: Value<'_>, now: Option<i128>) -> String {
    let mut page = String::new();
    for (word, says) in lines(envelope, value, now) {
        let _ = writeln!(page, "  {word:<9} {says}");
    }
    page
}
