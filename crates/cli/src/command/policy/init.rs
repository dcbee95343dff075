//! `reenact policy init`: writes an envelope that a recorded run would have kept.
//!
//! A trial of an envelope that permits nothing tells what the run needs. The envelope is written from that, parsed again, and tried on
//! the same run: what it would still block is said, in the file and on the terminal.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::permission::Envelope;
use reenact_json::Shown;
use reenact_json::print::{PrintObjectWriter, write_list};
use reenact_json::shown::is_unsafe;
use reenact_keys::durable::{self, Readers};
use reenact_wire::price::PriceTable;

use super::trial::{EnvelopeTrial, TrialVerdict, try_envelope};
use super::try_out::{finding_line, notes, summary, write_finding};
use crate::output::{self, CommandError};
use crate::runs::{KeyFileArgs, OpenedRun};
use crate::{envelope, prices, runs};

/// Most findings that are written into the file.
const MAX_REMARKS: usize = 20;

/// Write an envelope that a recorded run would have kept
///
/// The envelope permits what the run did and no more: the models that it asked and that answered, the tools that were called, those
/// that the vendor ran, forms of requests that are not known here, and as many steps, dollars and calls in a minute as it took, rounded
/// up. It permits that whether or not it was right: read it before you use it.
///
/// The exit code is 0 if the run would have kept the envelope, 1 if it was written and the run would not, or nobody can tell (what
/// stands in the way is listed), 2 if it could not be written.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact policy init\n  reenact policy init --from run.rer.json --out reenact.toml\n  reenact policy init --from last --out - | reenact policy check -"
)]
pub(super) struct PolicyInitArgs {
    /// A record, a run id, the beginning of one, or `last`
    #[arg(long, value_name = "RUN", default_value = "last")]
    from: OsString,

    /// Where to write the envelope, or - for standard output
    #[arg(long, value_name = "FILE", default_value = "envelope.toml")]
    out: PathBuf,

    /// Replace a file that is there already
    #[arg(long)]
    force: bool,

    /// What models cost, in place of the list prices (see `reenact doctor prices`)
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,

    #[command(flatten)]
    keys: KeyFileArgs,

    /// One JSON object on what was written, in place of text; not with --out -
    #[arg(long)]
    json: bool,
}

impl PolicyInitArgs {
    /// Writes the envelope, and says what the run would not have kept.
    ///
    /// # Errors
    ///
    /// If the run cannot be read, the file cannot be written, or there is such a file and `--force` is not given.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let to_stdout = self.out.as_os_str() == "-";
        if self.json && to_stdout {
            return Err(CommandError::impossible(
                "--json and --out - both write to standard output; choose one",
            ));
        }
        let prices = self.prices.as_deref().map_or_else(|| Ok(PriceTable::list_prices()), prices::load)?;
        let found = runs::open(&self.from, &self.keys)?;
        // What a trial of this envelope denies is what the run needs.
        let needed = try_envelope(&Envelope::PERMITTING_NOTHING, &found.run, &prices);
        let body = envelope_toml(&needed);
        let parsed = envelope::parse(body.as_bytes()).map_err(CommandError::impossible)?;
        let trial = try_envelope(&parsed.envelope, &found.run, &prices);
        let text = head(&found, &trial) + &body;
        if to_stdout {
            output::print(&text)?;
        } else {
            let readers = Readers::Everyone;
            let written = match self.force {
                true => durable::replace(&self.out, text.as_bytes(), readers),
                false => durable::create(&self.out, text.as_bytes(), readers),
            };
            written.map_err(|error| CommandError::unwritable(&self.out, &error))?;
            let name = self.out.to_string_lossy();
            let report = match self.json {
                true => json(&found, &trial, &name),
                false => page(&found, &trial, &name),
            };
            output::print(&report)?;
        }
        if to_stdout && trial.verdict() != TrialVerdict::Kept {
            output::print_notice(&unkept(&found, &trial));
        }
        Ok(u8::from(trial.verdict() != TrialVerdict::Kept))
    }
}

/// Returns the run's name for a sentence.
pub(super) fn run_name(found: &OpenedRun) -> String {
    match found.run.id() {
        "" => "this run".to_owned(),
        id => format!("run {}", Shown::new(id)),
    }
}

/// Returns words on a run that would not have kept the envelope, or of which nobody can tell.
fn unkept(found: &OpenedRun, trial: &EnvelopeTrial) -> String {
    let (run, summary) = (run_name(found), summary(trial, trial.verdict()));
    match trial.verdict() {
        TrialVerdict::Blocked => format!("{run} would not have kept it: {summary}"),
        _ => format!("nobody can tell whether {run} would have kept it: {summary}"),
    }
}

/// Returns the comment at the beginning of the file.
fn head(found: &OpenedRun, trial: &EnvelopeTrial) -> String {
    let mut text = format!(
        "# What {} did, as an envelope. It permits that whether or not it was right: read it before you use it.\n#\n\
         #   reenact policy check FILE                                    what it permits\n\
         #   reenact policy try FILE RUN                                  what it would have blocked in other runs\n\
         #   reenact record --policy-mode warn --envelope FILE -- CMD     decide on everything, and deny nothing\n\
         #   reenact record --envelope FILE -- CMD                        enforce it\n",
        run_name(found)
    );
    let remarks = remarks(found, trial);
    if !remarks.is_empty() {
        text += "#\n# What this run would not have kept, or what nobody can tell:\n";
        for remark in remarks {
            let _ = writeln!(text, "#   {remark}");
        }
    }
    text.push('\n');
    text
}

/// Returns what stands in the way of the verdict "kept", and what the envelope rests on, as lines that are safe to print.
fn remarks(found: &OpenedRun, trial: &EnvelopeTrial) -> Vec<String> {
    let mut lines: Vec<String> = trial.findings.iter().take(MAX_REMARKS).map(finding_line).collect();
    let more = trial.findings.len().saturating_sub(MAX_REMARKS);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.extend(notes(found, trial, true));
    lines
}

/// Returns what was written, for people.
fn page(found: &OpenedRun, trial: &EnvelopeTrial, name: &str) -> String {
    let name = Shown::whole(name);
    let mut text = match trial.verdict() {
        TrialVerdict::Kept => format!("{name}: an envelope that {} would have kept\n", run_name(found)),
        _ => format!("{name}: {}\n", unkept(found, trial)),
    };
    for remark in remarks(found, trial) {
        let _ = writeln!(text, "  {remark}");
    }
    let _ = writeln!(text, "read it, then: reenact record --policy-mode warn --envelope {name} -- CMD");
    text
}

/// Returns what was written, as a line of JSON.
fn json(found: &OpenedRun, trial: &EnvelopeTrial, name: &str) -> String {
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    object.string("run_id", found.run.id());
    object.string("file", name);
    object.string("verdict", trial.verdict().name());
    write_list(&trial.findings, object.name("findings"), write_finding);
    object.strings("notes", &notes(found, trial, true));
    object.close();
    text.push('\n');
    text
}

/// Returns the envelope that a run needs, as TOML.
fn envelope_toml(needed: &EnvelopeTrial) -> String {
    let (needs, totals) = (&needed.needs, &needed.totals);
    let mut text =
        String::from("[envelope]\n# expiry = \"2027-01-01T00:00:00Z\"\n\n[envelope.permissions]\n");
    // A request without a model, and a result without a call, are not to be allowed by an odd name.
    let models = needs.models.iter().filter(|model| !model.is_empty());
    let _ = writeln!(
        text,
        "# Models that were asked, and that answered.\nallowed_models = {}",
        toml_list(models)
    );
    let unnamed = |tool: &&String| !tool.is_empty() && *tool != "unknown";
    let tools = needs.called_tools.iter().filter(unnamed).chain(&needs.vendor_tools);
    let _ = writeln!(
        text,
        "# Tools that were called. Those that the vendor runs, and what it keeps or reaches, are here by their types and addresses.\nallowed_tools = {}",
        toml_list(tools)
    );
    text += "\n[envelope.limits]\n";
    let _ = writeln!(
        text,
        "# Calls of models and tools: {} in this run.\nmax_steps = {}",
        totals.actions,
        rounded_up(u128::from(totals.actions.max(1)))
    );
    text += &spend_toml(needed);
    let _ = match needed.has_times {
        true => writeln!(
            text,
            "# Calls in any 60 seconds: at most {} in this run. A faster machine makes more.\nrate_limit_rpm = {}",
            totals.highest_rate,
            rounded_up(u128::from(totals.highest_rate.max(1)))
        ),
        false => writeln!(text, "# No rate_limit_rpm: the record does not tell when its calls were made."),
    };
    text += "\n# Actions that someone must approve first (reenact keys generate NAME --approver, reenact keys list; reenact policy approve):\n\
             # [[envelope.required_approvals]]\n# action = \"tool.call\"\n# tool_pattern = \"pay_*\"\n# approvers = [\"KEY_ID\"]\n";
    if !needs.forms.is_empty() {
        let _ = writeln!(
            text,
            "\n[envelope.metadata]\n# Forms of requests that are not known here, and may bring any tool or model: keep those that you know to be harmless.\nallowed_forms = {}",
            toml_list(&needs.forms)
        );
    }
    text
}

/// Returns the limit on spending, or why there is none.
fn spend_toml(needed: &EnvelopeTrial) -> String {
    let totals = &needed.totals;
    let highest = totals.highest_commitment.picodollars();
    let unpriced: Vec<String> =
        totals.unpriced_models.iter().map(|model| format!("\"{}\"", Shown::new(model))).collect();
    if !unpriced.is_empty() {
        return format!(
            "# No max_spend_usd: there is no price for {}, and under a limit its calls are denied (reenact doctor prices).\n",
            unpriced.join(", ")
        );
    }
    if let Some(problem) = totals.uncountable {
        return format!("# No max_spend_usd: nobody could count what a call costs: {problem}.\n");
    }
    // Masked bodies may be shorter than those that were sent, and so may be estimated too low.
    let limit = rounded_up(highest.saturating_add(highest / 10).div_ceil(1_000_000));
    format!(
        "# Dollars, as they were spent and reserved at one time: at most {} in this run. Before each call the most that it can\n# cost is reserved, so that requests without a largest output need much more than they spend.\nmax_spend_usd = {}\n",
        totals.highest_commitment.rounded_up_to_micro(),
        Money::from_picodollars(limit.saturating_mul(1_000_000)).decimal()
    )
}

/// Returns the next number of the form 1, 2, 3, 4, 5, 6, 8 times a power of ten; the number itself below 10.
fn rounded_up(number: u128) -> u128 {
    if number < 10 {
        return number;
    }
    let mut unit = 1_u128;
    while number / unit >= 10 {
        unit = unit.saturating_mul(10);
    }
    let steps = [1_u128, 2, 3, 4, 5, 6, 8, 10].into_iter().map(|step| step.saturating_mul(unit));
    steps.into_iter().find(|step| *step >= number).unwrap_or(number)
}

/// Returns strings as a list of TOML: on one line if it is short, else with a line for each.
fn toml_list<'s>(items: impl IntoIterator<Item = &'s String>) -> String {
    let mut items: Vec<String> = items.into_iter().map(|item| toml_string(item)).collect();
    items.dedup();
    let line = format!("[{}]", items.join(", "));
    if line.len() <= 100 { line } else { format!("[\n  {},\n]", items.join(",\n  ")) }
}

/// Returns a text as a string of TOML, with every character escaped that could act on a terminal.
fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            _ if is_unsafe(character) || character.is_control() => {
                let _ = write!(out, "\\U{:08X}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_one_digit_that_matters() {
        let rounded = [1, 7, 9, 10, 11, 21, 69, 80, 81, 99, 101, 4_100].map(rounded_up);
        assert_eq!(rounded, [1, 7, 9, 10, 20, 30, 80, 80, 100, 100, 200, 5_000]);
        assert_eq!(rounded_up(u128::MAX), u128::MAX);
    }

    /// Names of a record come back from the file as they were, whatever they hold.
    #[test]
    fn names_survive_the_file() {
        let names = [
            "gpt-5",
            "a\"b\\c",
            "x\n[envelope.limits]\nmax_steps = 9",
            "\u{202e}\u{7f}\u{1b}[2J",
            "é𝄞\u{2028}",
            "'''",
        ];
        let list: Vec<String> = names.map(str::to_owned).to_vec();
        let text = format!(
            "[envelope]\n[envelope.permissions]\nallowed_models = {}\nallowed_tools = []\n",
            toml_list(&list)
        );
        assert!(!text.chars().any(|character| character != '\n' && is_unsafe(character)), "{text}");
        let envelope = envelope::parse(text.as_bytes()).unwrap().envelope;
        assert_eq!(envelope.allowed_models, list.into_iter().collect());
        assert_eq!(envelope.max_steps, None);
    }
}
