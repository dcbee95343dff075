//! `reenact approve`: what waits for an approval is shown, and answered with a signature.

mod key;
mod page;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reenact_formats::rer::approval::{Decision, Draft, sign};
use reenact_json::Shown;
use reenact_json::print::Object;
use reenact_keys::KeyName;
use reenact_record::approval::{AnswerError, PendingQuestion, Queue, answer, pending};
use reenact_record::clock::timestamp;

use crate::config::Config;
use crate::output::{self, Ending};
use crate::terminal::Terminal;
use crate::{passphrase, quantity, runs};
use key::Chosen;

/// Approve or deny what a run waits for
///
/// A run under an envelope with `required_approvals` holds each call that they cover until somebody answers, or its time is
/// over. This command shows what waits in this folder, asks, and signs the answer with an approver's key of your own
/// (`reenact keys generate NAME --approver`). An approval is bound to one call of one run with exactly this input, and is used
/// once. Answer in a terminal of your own, never in one that the agent writes to. The exit code is 1 if you answer no to the
/// question: then it goes on waiting.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact approve --list\n  reenact approve\n  reenact approve 0198c2d4 --key alice\n  reenact approve 0198c2d4 --deny 'not this supplier'\n  reenact approve --yes --key bot --passphrase-file bot.passphrase --json"
)]
pub(super) struct Approve {
    /// The id of what waits, or the beginning of it; not needed when only one thing waits
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Show everything that waits, and answer nothing
    #[arg(long, conflicts_with_all = ["id", "yes", "deny", "key", "passphrase_file"])]
    list: bool,

    /// One JSON object a line: of everything that waits, or of the answer that was given
    #[arg(long)]
    json: bool,

    /// Approve without asking
    #[arg(long, conflicts_with = "deny")]
    yes: bool,

    /// Deny it; the reason is recorded
    #[arg(long, value_name = "REASON", value_parser = reason)]
    deny: Option<String>,

    /// The name of the approver's key to sign with; not needed when you have one that may answer
    #[arg(long, value_name = "NAME", value_parser = super::keys::key_name)]
    key: Option<KeyName>,

    /// Take the passphrase from this file instead of the terminal; one line feed at its end is not part of it
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,

    /// How long the answer holds, such as 90s, 10m or 1h; it never holds longer than the run waits
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    valid_for: Duration,
}

/// A reason is a few words.
fn reason(text: &str) -> Result<String, String> {
    match text.len() {
        1..=1000 => Ok(text.to_owned()),
        _ => Err("a reason has 1 to 1000 bytes".into()),
    }
}

/// A time such as 90s, 10m or 1h, from a second to a day.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = [("s", 1), ("m", 60), ("h", 3600)].into_iter().find_map(|(unit, seconds)| {
        let number = text.strip_suffix(unit)?;
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(seconds)
    });
    match seconds {
        Some(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err("a time is a number with s, m or h, from 1s to 24h".into()),
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn impossible(error: impl std::fmt::Display) -> Ending {
    Ending::impossible(error.to_string())
}

impl Approve {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let now = now();
        let queue = pending(&runs::folder(), now).map_err(impossible)?;
        for broken in &queue.broken {
            output::complain(&format!("{broken}; it is not shown, and cannot be approved"));
        }
        if queue.is_cut {
            output::complain(
                "there are too many files among the approvals of this folder: not all were looked at",
            );
        }
        let decides = self.yes || self.deny.is_some();
        if self.list || (self.json && !decides) {
            output::print(&page::list(&queue.questions, now, self.json))?;
            return Ok(if queue.broken.is_empty() { 0 } else { 2 });
        }
        if queue.questions.is_empty() && !decides && self.id.is_none() {
            output::print("Nothing waits for an approval here.\n")?;
            return Ok(if queue.broken.is_empty() { 0 } else { 2 });
        }
        let question = self.choose(&queue, now)?;
        let config = Config::require()?;
        let chosen = key::choose(&config, self.key.as_ref(), &question.request)?;
        if !self.json {
            output::print(&page::whole(question, now))?;
        }
        let decision = match &self.deny {
            Some(reason) => Decision::Denied { reason: Some(reason.clone()) },
            None => Decision::Granted,
        };
        if !decides && !confirm()? {
            let id = question.request.approval_id;
            return Err(Ending::refused(format!(
                "not approved; it goes on waiting. To deny it: reenact approve {id} --deny REASON"
            )));
        }
        self.answer(question, &config, &chosen, decision)
    }

    /// The one question that is meant.
    fn choose<'q>(&self, queue: &'q Queue, now: Duration) -> Result<&'q PendingQuestion, Ending> {
        let given = self.id.as_deref().unwrap_or_default();
        let is_meant =
            |question: &&PendingQuestion| question.request.approval_id.to_string().starts_with(given);
        let found: Vec<&PendingQuestion> = queue.questions.iter().filter(is_meant).collect();
        match found.as_slice() {
            [one] => Ok(one),
            [] if given.is_empty() => Err(Ending::impossible("nothing waits for an approval here")),
            [] => Err(Ending::impossible(format!(
                "nothing that waits has an id that begins with \"{}\"; see: reenact approve --list",
                Shown::new(given)
            ))),
            several => {
                let found: Vec<PendingQuestion> = several.iter().map(|found| (*found).clone()).collect();
                if !self.json {
                    output::print(&page::list(&found, now, false))?;
                }
                let count = quantity::grouped(several.len() as u64);
                Err(Ending::impossible(format!(
                    "{count} of them wait; give one of the ids, or its beginning"
                )))
            }
        }
    }

    fn answer(
        &self,
        question: &PendingQuestion,
        config: &Config,
        chosen: &Chosen,
        decision: Decision,
    ) -> Result<u8, Ending> {
        let request = &question.request;
        let passphrase = passphrase::ask(self.passphrase_file.as_deref(), chosen.name.as_str())?;
        let key = config.key_store().open(&chosen.name, &passphrase).map_err(impossible)?;
        drop(passphrase);
        // A person takes time: the clock is read when the answer is signed.
        let now = now();
        let end = u64::try_from(request.expires()).map_or(now, Duration::from_nanos);
        let end = end.min(now.saturating_add(self.valid_for));
        if end <= now {
            return Err(impossible(AnswerError::Gone));
        }
        let expires_at = timestamp(end);
        let draft = Draft {
            approval_id: &request.approval_id.to_string(),
            run_id: &request.run_id.to_string(),
            action: request.action,
            name: &request.name,
            input_hash: request.input_hash,
            decision,
            signer_type: chosen.approver.signer_type,
            issued_at: &timestamp(now),
            expires_at: &expires_at,
        };
        let token = sign(&draft, &key).map_err(impossible)?;
        answer(question, &token).map_err(impossible)?;
        let is_granted = draft.decision == Decision::Granted;
        output::print(&if self.json {
            told(&draft, &chosen.approver.key.id().to_string())
        } else {
            let what = format!("{} {}", request.action.name(), Shown::new(&request.name));
            match is_granted {
                true => format!("approved: {what}, once, until {expires_at} (key {})\n", chosen.name),
                false => format!("denied: {what} (key {})\n", chosen.name),
            }
        })?;
        Ok(0)
    }
}

/// Whether the person at the terminal says yes.
fn confirm() -> Result<bool, Ending> {
    let Some(mut terminal) = Terminal::open() else {
        return Err(Ending::impossible("there is no terminal to ask on; give --yes or --deny REASON"));
    };
    terminal
        .confirm("Approve? [y/N] ")
        .map_err(|error| Ending::impossible(format!("the terminal cannot be read: {error}")))
}

/// The answer that was given, for programs.
fn told(draft: &Draft<'_>, key_id: &str) -> String {
    let mut line = String::new();
    let mut object = Object::open(&mut line);
    object.string("approval_id", draft.approval_id);
    object.string("run_id", draft.run_id);
    object.string("decision", if draft.decision == Decision::Granted { "granted" } else { "denied" });
    object.string("signer_type", draft.signer_type.name());
    object.string("key_id", key_id);
    object.string("expires_at", draft.expires_at);
    object.close();
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, seconds) in [("1s", 1), ("90s", 90), ("10m", 600), ("24h", 86_400), ("007m", 420)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in
            ["", "0s", "10", "m", "-1m", "+1m", "1.5h", "25h", "86401s", "1d", "99999999999999999999s", "1 m"]
        {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
