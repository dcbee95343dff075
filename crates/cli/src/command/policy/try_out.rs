//! `reenact policy try`: shows what an envelope would have blocked in runs that are recorded already.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use reenact_formats::rer::envelope::permission::Envelope;
use reenact_json::Shown;
use reenact_json::print::{PrintObjectWriter, write_list};
use reenact_wire::price::PriceTable;

use super::init::run_name;
use super::trial::{EnvelopeTrial, TrialFinding, TrialOutcome, TrialVerdict, try_envelope};
use crate::output::{self, CommandError};
use crate::runs::{KeyFileArgs, OpenedRun};
use crate::{envelope, prices, quantity, runs};

/// Show what an envelope would have blocked in recorded runs
///
/// Each request, tool call and answer of a run is judged as `record --envelope FILE` would have judged it, from what the record holds.
/// The actions of a run all happened, so each counts as done, whatever the envelope says of it. Spending is judged as when it is
/// enforced: before a call the most that it can cost is reserved, after it the vendor's count of tokens counts.
///
/// Where a record does not tell (payloads that are withheld, records of other formats, calls that were denied when they were recorded)
/// the answer is "cannot tell", which is not "allowed".
///
/// The exit code is 0 if nothing would have been blocked, 1 if something would or nobody can tell, 2 if a run could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact policy try envelope.toml\n  reenact policy try envelope.toml monday.rer.json tuesday.rer.json --json\n  reenact policy try reenact.toml last --prices prices.toml"
)]
pub(super) struct PolicyTryArgs {
    /// A file with an envelope, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Records, run ids, the beginnings of some, or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    runs: Vec<OsString>,

    /// What models cost, in place of the list prices (see `reenact doctor prices`)
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,

    #[command(flatten)]
    keys: KeyFileArgs,

    /// One JSON object a line, one line a run
    #[arg(long)]
    json: bool,
}

impl PolicyTryArgs {
    /// Tries the envelope on each run, in the order given. The highest exit code wins.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let loaded = envelope::load(&self.file)?;
        let prices = self.prices.as_deref().map_or_else(|| Ok(PriceTable::list_prices()), prices::load)?;
        let mut code = 0;
        for given in &self.runs {
            let found = match runs::open(given, &self.keys) {
                Ok(found) => found,
                Err(CommandError::Failed { message, .. }) => {
                    output::print_notice(&message);
                    code = 2;
                    continue;
                }
                Err(closed) => return Err(closed),
            };
            let trial = try_envelope(&loaded.envelope, &found.run, &prices);
            let verdict = verdict(&found, &trial);
            let text = match self.json {
                true => json(&found, &trial, verdict),
                false => page(&found, &trial, verdict, &loaded.envelope),
            };
            output::print(&text)?;
            code = code.max(u8::from(verdict != TrialVerdict::Kept));
        }
        Ok(code)
    }
}

/// Returns the verdict on a run. Nobody can tell what a record says that does not verify.
fn verdict(found: &OpenedRun, trial: &EnvelopeTrial) -> TrialVerdict {
    let record = if found.report.pass() { TrialVerdict::Kept } else { TrialVerdict::Unclear };
    trial.verdict().max(record)
}

/// Returns the notes on a trial that are no findings.
pub(super) fn notes(found: &OpenedRun, trial: &EnvelopeTrial, limits_spending: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if !found.report.pass() {
        notes.push("the record does not verify, so nobody can tell whether it happened like this".to_owned());
    }
    for (provider, base) in &trial.assumed_bases {
        notes.push(format!(
            "the base path of {} is taken for {}, since its first call fits it; a record does not tell",
            Shown::new(provider),
            Shown::new(base)
        ));
    }
    let calls = trial.totals.uncounted_calls;
    if limits_spending && calls > 0 {
        let (calls, their) =
            if calls == 1 { ("a call".to_owned(), "its") } else { (format!("{calls} calls"), "their") };
        notes.push(format!(
            "the vendor did not tell what {calls} cost: what was reserved for {their} answer stays reserved"
        ));
    }
    notes
}

/// Returns the findings of a run as lines.
fn page(found: &OpenedRun, trial: &EnvelopeTrial, verdict: TrialVerdict, envelope: &Envelope) -> String {
    let totals = &trial.totals;
    let mut text = format!(
        "{}: {}, {}\n",
        run_name(found),
        quantity::count(totals.actions, "action"),
        summary(trial, verdict)
    );
    for finding in &trial.findings {
        let _ = writeln!(text, "  {}", finding_line(finding));
    }
    for (rule, count) in denials_by_rule(trial) {
        let _ = writeln!(text, "  blocked by {}: {count}", Shown::new(rule));
    }
    if envelope.max_spend.is_some() {
        let _ = writeln!(
            text,
            "  spent and reserved at one time: at most {}",
            totals.highest_commitment.rounded_up_to_micro()
        );
    }
    for note in notes(found, trial, envelope.max_spend.is_some()) {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}

/// Returns the verdict in words.
pub(super) fn summary(trial: &EnvelopeTrial, verdict: TrialVerdict) -> String {
    let of = |wanted| trial.findings.iter().filter(|finding| finding.verdict() == wanted).count() as u64;
    let (blocked, unclear) = (of(TrialVerdict::Blocked), of(TrialVerdict::Unclear));
    match verdict {
        TrialVerdict::Kept => "nothing would have been blocked".to_owned(),
        TrialVerdict::Blocked if unclear == 0 => format!("{blocked} would have been blocked"),
        TrialVerdict::Blocked => format!("{blocked} would have been blocked, and {unclear} cannot be told"),
        TrialVerdict::Unclear if unclear == 0 => "nobody can tell".to_owned(),
        TrialVerdict::Unclear => format!("{unclear} cannot be told"),
    }
}

/// Returns a finding as a line that is safe to print.
pub(super) fn finding_line(finding: &TrialFinding) -> String {
    let action = finding.action.map_or("", |action| action.name());
    let name = Shown::new(&finding.name);
    let mut line = format!("event {} {action} {name}", finding.event).trim_end().to_owned();
    let _ = match &finding.outcome {
        TrialOutcome::Denied { rule, reason } => write!(line, ": {}: {reason}", Shown::new(rule)),
        TrialOutcome::Unknown { reason } => write!(line, ": cannot tell: {reason}"),
    };
    line
}

/// Returns the number of denials by rule.
fn denials_by_rule(trial: &EnvelopeTrial) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for finding in &trial.findings {
        if let TrialOutcome::Denied { rule, .. } = &finding.outcome {
            *counts.entry(rule.as_str()).or_default() += 1;
        }
    }
    counts
}

/// Returns the trial of a run as a line of JSON.
fn json(found: &OpenedRun, trial: &EnvelopeTrial, verdict: TrialVerdict) -> String {
    let totals = &trial.totals;
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    object.string("run_id", found.run.id());
    object.string("verdict", verdict.name());
    object.boolean("pass", found.report.pass());
    object.name("actions").push_str(&totals.actions.to_string());
    let mut counts = PrintObjectWriter::open(object.name("blocked"));
    for (rule, count) in denials_by_rule(trial) {
        counts.name(rule).push_str(&count.to_string());
    }
    counts.close();
    let unclear = trial.findings.iter().filter(|finding| finding.verdict() == TrialVerdict::Unclear).count();
    object.name("cannot_tell").push_str(&unclear.to_string());
    object.name("highest_rate").push_str(&totals.highest_rate.to_string());
    object
        .name("highest_commitment_usd")
        .push_str(&totals.highest_commitment.rounded_up_to_micro().decimal());
    object.name("uncounted_calls").push_str(&totals.uncounted_calls.to_string());
    write_list(&trial.findings, object.name("findings"), write_finding);
    object.strings("notes", &notes(found, trial, totals.uncounted_calls > 0));
    object.close();
    text.push('\n');
    text
}

/// Appends a finding as JSON.
pub(super) fn write_finding(finding: &TrialFinding, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    object.name("event").push_str(&finding.event.to_string());
    object.string("action", finding.action.map(|action| action.name()));
    object.string("name", Some(finding.name.as_str()).filter(|name| !name.is_empty()));
    let (decision, rule, reason) = match &finding.outcome {
        TrialOutcome::Denied { rule, reason } => ("deny", Some(rule.as_str()), reason),
        TrialOutcome::Unknown { reason } => ("unknown", None, reason),
    };
    object.string("decision", decision);
    object.string("rule", rule);
    object.string("reason", reason.as_str());
    object.close();
}
