//! `reenact policy approve`: shows the actions that wait for an approval, and signs the answer.
//!
//! A recorder writes each question as a file into the folder of its run, and waits for a file with a signed
//! answer. This command is the other side: it lists the questions, asks the person at the terminal, and signs
//! a token that is bound to one call of one run with exactly this input. Start reading at `PolicyApproveArgs::run`.

mod key;
mod page;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reenact_formats::rer::approval::{ApprovalDecision, ApprovalTokenDraft, sign};
use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_keys::KeyName;
use reenact_record::approval::{
    AnswerError, PendingQuestion, PendingQuestions, answer_question, pending_questions,
};
use reenact_record::clock::timestamp;

use crate::config::UserConfig;
use crate::output::{self, CommandError};
use crate::terminal::Terminal;
use crate::{passphrase, quantity, runs};
use key::ChosenApprover;

/// Approve or deny what a run waits for
///
/// A run under an envelope with `required_approvals` holds each call that they cover until somebody answers, or its time is
/// over. This command shows what waits, asks, and signs the answer with an approver's key of your own
/// (`reenact keys generate NAME --approver`). An approval is bound to one call of one run with exactly this input, and is used
/// once. Answer in a terminal of your own, never in one that the agent writes to. The exit code is 1 if you answer no to the
/// question: then it goes on waiting.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact policy approve --list\n  reenact policy approve\n  reenact policy approve 0198c2d4 --key alice\n  reenact policy approve 0198c2d4 --deny 'not this supplier'\n  reenact policy approve --yes --key bot --passphrase-file bot.passphrase --json"
)]
pub(super) struct PolicyApproveArgs {
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
    #[arg(long, value_name = "NAME", value_parser = crate::command::keys::key_name)]
    key: Option<KeyName>,

    /// Take the passphrase from this file instead of the terminal; one line feed at its end is not part of it
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,

    /// How long the answer holds, such as 90s, 10m or 1h; it never holds longer than the run waits
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    valid_for: Duration,
}

/// Parses `--deny`: 1 to 1000 bytes.
fn reason(text: &str) -> Result<String, String> {
    match text.len() {
        1..=1000 => Ok(text.to_owned()),
        _ => Err("a reason has 1 to 1000 bytes".into()),
    }
}

/// Parses a time such as `90s`, `10m` or `1h`, from one second to one day.
pub(in crate::command) fn duration(text: &str) -> Result<Duration, String> {
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

/// Returns the time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Converts an error into a message with exit code 2.
fn impossible(error: impl std::fmt::Display) -> CommandError {
    CommandError::impossible(error.to_string())
}

impl PolicyApproveArgs {
    /// Lists the questions, or answers one of them. Questions in broken files are named and never shown: they
    /// cannot be approved.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let now = now();
        let queue = pending_questions(&runs::run_store()?, now).map_err(impossible)?;
        for broken in &queue.broken {
            output::print_notice(&format!("{broken}; it is not shown, and cannot be approved"));
        }
        if queue.is_truncated {
            output::print_notice("there are too many files among the approvals: not all were looked at");
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
        let question = self.choose_question(&queue, now)?;
        let config = UserConfig::require()?;
        let chosen = key::choose_key(&config, self.key.as_ref(), &question.file)?;
        if !self.json {
            output::print(&page::full_page(question, now))?;
        }
        let decision = match &self.deny {
            Some(reason) => ApprovalDecision::Denied { reason: Some(reason.clone()) },
            None => ApprovalDecision::Granted,
        };
        if !decides && !confirm()? {
            let id = question.file.approval_id;
            return Err(CommandError::refused(format!(
                "not approved; it goes on waiting. To deny it: reenact policy approve {id} --deny REASON"
            )));
        }
        self.sign_answer(question, &config, &chosen, decision)
    }

    /// Returns the question whose id begins with the argument.
    ///
    /// # Errors
    ///
    /// If there is none, or several; these are listed then.
    fn choose_question<'q>(
        &self,
        queue: &'q PendingQuestions,
        now: Duration,
    ) -> Result<&'q PendingQuestion, CommandError> {
        let given = self.id.as_deref().unwrap_or_default();
        let is_meant = |question: &&PendingQuestion| question.file.approval_id.to_string().starts_with(given);
        let found: Vec<&PendingQuestion> = queue.questions.iter().filter(is_meant).collect();
        match found.as_slice() {
            [one] => Ok(one),
            [] if given.is_empty() => Err(CommandError::impossible("nothing waits for an approval here")),
            [] => Err(CommandError::impossible(format!(
                "nothing that waits has an id that begins with \"{}\"; see: reenact policy approve --list",
                Shown::new(given)
            ))),
            several => {
                let found: Vec<PendingQuestion> = several.iter().map(|found| (*found).clone()).collect();
                if !self.json {
                    output::print(&page::list(&found, now, false))?;
                }
                let count = quantity::grouped(several.len() as u64);
                Err(CommandError::impossible(format!(
                    "{count} of them wait; give one of the ids, or its beginning"
                )))
            }
        }
    }

    /// Asks for the passphrase, signs the answer, and puts it where the recorder looks for it.
    ///
    /// # Errors
    ///
    /// If the passphrase is wrong, or the question is no longer waiting.
    fn sign_answer(
        &self,
        question: &PendingQuestion,
        config: &UserConfig,
        chosen: &ChosenApprover,
        decision: ApprovalDecision,
    ) -> Result<u8, CommandError> {
        let request = &question.file;
        let passphrase = passphrase::ask(self.passphrase_file.as_deref(), chosen.name.as_str())?;
        let key = config.key_store().open_approver(&chosen.name, &passphrase).map_err(impossible)?;
        drop(passphrase);
        // A person takes time to answer, so the clock is read again before signing.
        let now = now();
        let end = u64::try_from(request.expires_at_nanoseconds()).map_or(now, Duration::from_nanos);
        let end = end.min(now.saturating_add(self.valid_for));
        if end <= now {
            return Err(impossible(AnswerError::Gone));
        }
        let expires_at = timestamp(end);
        let draft = ApprovalTokenDraft {
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
        answer_question(question, &token).map_err(impossible)?;
        let is_granted = draft.decision == ApprovalDecision::Granted;
        output::print(&if self.json {
            answer_json(&draft, &chosen.approver.key.id().to_string())
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

/// Asks the person at the terminal, and returns true if the answer is yes.
fn confirm() -> Result<bool, CommandError> {
    let Some(mut terminal) = Terminal::open() else {
        return Err(CommandError::impossible("there is no terminal to ask on; give --yes or --deny REASON"));
    };
    terminal
        .confirm("Approve? [y/N] ")
        .map_err(|error| CommandError::impossible(format!("the terminal cannot be read: {error}")))
}

/// Returns the answer that was given as one line of JSON.
fn answer_json(draft: &ApprovalTokenDraft<'_>, key_id: &str) -> String {
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("approval_id", draft.approval_id);
    object.string("run_id", draft.run_id);
    object.string("decision", if draft.decision == ApprovalDecision::Granted { "granted" } else { "denied" });
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
