//! `reenact replay x.rpk` without a command: the stub replay, which plays the recorded steps and runs nothing.
//!
//! Each step is played in order, tools included, and its hash is recomputed; so is the checksum over all of them. It shows what the
//! record says and that the record is whole; nothing is reproduced, since nothing is run.
//!
//! ```text
//! PASS  intact, but not signed: whoever changed it could have summed it anew (6 steps)
//!   ok    step-000001  model.request   gpt-4o-mini  hello
//!   ok    step-000002  model.response  gpt-4o-mini  hi
//! played 6 steps from the record: every hash and the checksum hold; nothing was run
//! ```
//!
//! Start reading at `ReplayArgs::play_steps`.

use std::fmt::Write as _;
use std::path::Path;

use reenact_formats::FormatId;
use reenact_formats::rpk::RpkStepView;
use reenact_formats::rpk::stub_replay::{DEFAULT_CLOCK, DEFAULT_SEED, stub_replay};
use reenact_json::digest::Hasher;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Shown, Value};
use reenact_keys::durable::{self, Readers};
use reenact_run::Event;
use reenact_verify::render::{self, Tone};
use reenact_verify::rpk::{self, RpkHashFault, check_step_hash};
use reenact_verify::{Keys, Options, Report, Verdict};

use super::ReplayArgs;
use super::refusal::{self, ReplayRefusal};
use super::session_out::ReplayOut;
use crate::command::show::one_line;
use crate::output::{self, CommandError, paint};
use crate::quantity;
use crate::runs::OpenedRun;

/// Number of steps at the beginning and at the end that are shown of a long record.
const SHOWN_STEPS: usize = 100;

/// Largest number of steps whose hashes do not hold that are told, with the reason of each.
const MAX_TOLD_FAULTS: usize = 20;

/// Largest number of steps in the report for programs.
const MAX_JSON_STEPS: usize = 1_000;

/// Narrowest and widest lines, in columns; the widest where there is no terminal.
const LINE_COLUMNS: (usize, usize) = (60, 140);

/// Step of an artifact, and whether its hash holds.
struct PlayedStep<'r> {
    /// Position among the steps, from 0.
    index: usize,
    event: Event<'r>,
    fault: Option<RpkHashFault>,
}

impl ReplayArgs {
    /// Returns true if the steps of the record are played: an `.rpk` without a command, and nothing that asks for one.
    pub(super) fn plays_steps(&self, found: &OpenedRun) -> bool {
        let is_run = !self.command.is_empty() || self.recorded_command || self.fork.is_asked();
        found.report.format_id() == Some(FormatId::Rpk) && !is_run
    }

    /// Plays the steps of an `.rpk`, and prints the result. `name` is printable.
    ///
    /// The exit code is 0 if all hashes hold, and 1 if not: a signature that no key was given for is told, and changes nothing.
    ///
    /// # Errors
    ///
    /// If the version is not one that can be read, or an option asks for a signer and the record has another one.
    pub(super) fn play_steps(&self, found: &OpenedRun, name: &str) -> Result<u8, CommandError> {
        let report = &found.report;
        let out = match &self.out {
            None => None,
            Some(ReplayOut::Steps(path)) => {
                durable::check_writable(path, false)
                    .map_err(|error| CommandError::unwritable(path, &error))?;
                Some(path)
            }
            Some(ReplayOut::Session(_)) => {
                return Err(CommandError::impossible(
                    "--out *model_io.json is for a replay with a command: nothing is asked where the steps are played; *.rpk writes the steps",
                ));
            }
        };
        if [rpk::PARSE, rpk::VERSION].into_iter().any(|check| report.check(check) == Some(false)) {
            let refusal = ReplayRefusal {
                code: refusal::NOT_VERIFIED,
                reason: format!("{name}: this record cannot be played: {}", report.summary),
                advice: report.reasons.iter().take(1).cloned().collect(),
            };
            return Err(refusal.into_error(self.json));
        }
        if let Some(refusal) = self.signer_refusal(name, report) {
            return Err(refusal.into_error(self.json));
        }
        if found.run.is_empty() && report.pass() {
            let refusal = ReplayRefusal {
                code: refusal::NOTHING_RECORDED,
                reason: format!("{name}: the record holds no step, so there is nothing to play"),
                advice: Vec::new(),
            };
            return Err(refusal.into_error(self.json));
        }
        let mut hasher = Hasher::new();
        let steps: Vec<PlayedStep<'_>> = found
            .run
            .events()
            .map(|event| {
                let checked = event.payload().value().map(|step| check_step_hash(step, &mut hasher));
                let fault = checked.unwrap_or(Err(RpkHashFault::NotAStep)).err();
                PlayedStep { index: event.index(), event, fault }
            })
            .collect();
        let is_whole = report.verdict() != Verdict::Failed && steps.iter().all(|step| step.fault.is_none());
        output::print(&if self.json {
            as_json(found, &steps, is_whole)
        } else {
            as_text(found, name, &steps, is_whole)
        })?;
        if let Some(path) = out {
            if !is_whole {
                let path = path.to_string_lossy();
                let reason = "what is not as it was recorded is not written anew";
                return Err(CommandError::refused(format!(
                    "{} was not written: {reason}",
                    Shown::whole(&path)
                )));
            }
            write_steps_anew(found, path)?;
        }
        Ok(u8::from(!is_whole))
    }
}

/// Writes the steps as the artifact of their stub replay, to the byte as the format's own programs do where neither a seed nor a time
/// is given, and prints a notice.
fn write_steps_anew(found: &OpenedRun, path: &Path) -> Result<(), CommandError> {
    let failed = |why: &str| {
        let path = path.to_string_lossy();
        CommandError::impossible(format!("{} was not written: {}", Shown::whole(&path), Shown::whole(why)))
    };
    let artifact = stub_replay(found.run.document(), DEFAULT_SEED, DEFAULT_CLOCK)
        .map_err(|error| failed(&error.to_string()))?;
    let report = reenact_verify::verify(&artifact, &Keys::default(), &Options::default());
    if !report.pass() {
        return Err(failed(report.reasons.first().map_or("it does not verify", String::as_str)));
    }
    durable::create(path, &artifact, Readers::Owner)
        .map_err(|error| CommandError::unwritable(path, &error))?;
    let path = path.to_string_lossy();
    output::print_notice(&format!(
        "the steps were written to {}, with hashes of their own: their metadata names the source",
        Shown::whole(&path)
    ));
    Ok(())
}

/// Returns the steps and the result for people.
fn as_text(found: &OpenedRun, name: &str, steps: &[PlayedStep<'_>], is_whole: bool) -> String {
    let mut text = render::verdict_line(&found.report, &paint) + "\n";
    let columns = terminal_columns().unwrap_or(LINE_COLUMNS.1).clamp(LINE_COLUMNS.0, LINE_COLUMNS.1);
    let hidden = match steps.len() {
        all if all > 2 * SHOWN_STEPS => SHOWN_STEPS..all - SHOWN_STEPS,
        all => all..all,
    };
    let wide = |part: fn(&Event<'_>) -> String| {
        let shown = steps.iter().filter(|step| !hidden.contains(&step.index));
        shown.map(|step| part(&step.event).chars().count()).max().unwrap_or(0).min(20)
    };
    let (id_width, type_width) = (wide(step_id), wide(step_type));
    for step in steps {
        if step.index == hidden.start {
            let more = quantity::count(hidden.len() as u64, "step");
            let _ = writeln!(text, "  …     {more}, not shown: reenact show {name}");
        }
        if !hidden.contains(&step.index) {
            push_step(step, (id_width, type_width), columns, &mut text);
        }
    }
    text.push_str(&result_text(&found.report, steps, is_whole));
    if is_whole && found.run.exchanges().next().is_some() {
        let _ = writeln!(text, "to run an agent on these answers: reenact replay {name} -- CMD");
    }
    text
}

/// Appends the line of a step: whether its hash holds, its id, its type, its name, and what was asked or answered.
fn push_step(step: &PlayedStep<'_>, widths: (usize, usize), columns: usize, text: &mut String) {
    let (id_width, type_width) = widths;
    let words = step.event.words();
    let name = words.name.or_else(|| named_in(&step.event));
    let name = name.map(|name| one_line(&name) + "  ").unwrap_or_default();
    let line = format!(
        "{:id_width$}  {:type_width$}  {name}{}",
        step_id(&step.event),
        step_type(&step.event),
        one_line(&words.text)
    );
    let mark = if step.fault.is_none() { paint(Tone::Good, "ok  ") } else { paint(Tone::Bad, "FAIL") };
    let _ = writeln!(text, "  {mark}  {}", cut(line.trim_end(), columns.saturating_sub(8)));
}

/// Returns the lines behind the steps: the result, and what does not hold.
fn result_text(report: &Report, steps: &[PlayedStep<'_>], is_whole: bool) -> String {
    let played = quantity::count(steps.len() as u64, "step");
    if is_whole {
        let mut text =
            format!("played {played} from the record: every hash and the checksum hold; nothing was run\n");
        if let Some(key) = &report.missing_key {
            let _ = writeln!(text, "its signature was not checked: {}", key.request("--hmac-key-file"));
        }
        return text;
    }
    let faults: Vec<&PlayedStep<'_>> = steps.iter().filter(|step| step.fault.is_some()).collect();
    let wrong = match faults.len() {
        0 => "every step has its hash, and yet the record does not verify".to_owned(),
        1 => "the hash of 1 does not hold".to_owned(),
        more => format!("the hashes of {} do not hold", quantity::grouped(more as u64)),
    };
    let mut text = format!("played {played} from the record: {wrong}; nothing was run\n");
    for step in faults.iter().take(MAX_TOLD_FAULTS) {
        if let Some(fault) = &step.fault {
            let _ = writeln!(text, "  {}: its {fault}", place(step));
        }
    }
    if let Some(more) = faults.len().checked_sub(MAX_TOLD_FAULTS).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {} more", quantity::grouped(more as u64));
    }
    // The reasons of the steps' hashes are told above, by their ids.
    let of_steps = format!("{}:", rpk::STEP_HASHES.name());
    for reason in report.reasons.iter().filter(|reason| !reason.starts_with(&of_steps)).take(MAX_TOLD_FAULTS)
    {
        let _ = writeln!(text, "  {reason}");
    }
    text
}

/// Returns the name of a step in messages: its id, or its number if it has none.
fn place(step: &PlayedStep<'_>) -> String {
    match step_id(&step.event) {
        id if id.is_empty() => format!("step {}", step.index),
        id => id,
    }
}

/// Returns the result as one line of JSON.
fn as_json(found: &OpenedRun, steps: &[PlayedStep<'_>], is_whole: bool) -> String {
    let report = &found.report;
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("verdict", if is_whole { "played" } else { "changed" });
    object.string("mode", "stub");
    object.string("run_id", found.run.id());
    object.string("format", found.run.format());
    object.name("steps").push_str(&steps.len().to_string());
    object.boolean("checksum", report.check(rpk::CHECKSUM));
    object.boolean("step_hashes", steps.iter().all(|step| step.fault.is_none()));
    object.boolean("signature", report.check(rpk::SIGNATURE));
    object.strings("reasons", &report.reasons);
    let faults = || steps.iter().filter(|step| step.fault.is_some());
    object.name("changed").push_str(&faults().count().to_string());
    write_steps(faults().take(MAX_JSON_STEPS), object.name("changed_steps"));
    write_steps(steps.iter().take(MAX_JSON_STEPS), object.name("played"));
    object.name("more").push_str(&steps.len().saturating_sub(MAX_JSON_STEPS).to_string());
    object.close();
    line + "\n"
}

/// Appends a list of steps.
fn write_steps<'s, 'r: 's>(steps: impl Iterator<Item = &'s PlayedStep<'r>>, out: &mut String) {
    print::write_list(steps, out, |step, out| {
        let words = step.event.words();
        let member = |pick: fn(RpkStepView<'_>) -> Option<Value<'_>>| {
            let view = step.event.payload().value().map(RpkStepView::of);
            view.and_then(|view| Some(pick(view)?.string()?.into_owned()))
        };
        let mut object = PrintObjectWriter::open(out);
        object.name("index").push_str(&step.index.to_string());
        object.string("id", member(|view| view.id).as_deref());
        object.string("type", member(|view| view.step_type).as_deref());
        object.string("name", words.name.or_else(|| named_in(&step.event)).as_deref());
        object.string("text", words.text.as_str());
        object.boolean("hash", step.fault.is_none());
        object.string("fault", step.fault.as_ref().map(ToString::to_string).as_deref());
        object.close();
    });
}

/// Returns the tool, the model, or the method and URL that a step names in its metadata or its input; `None` if it names none.
fn named_in(event: &Event<'_>) -> Option<String> {
    let view = RpkStepView::of(event.payload().value()?);
    let text = |part: Value<'_>, name: &str| Some(part.member(name)?.string()?.into_owned());
    [view.metadata, view.input].into_iter().flatten().find_map(|part| {
        let request = || Some(format!("{} {}", text(part, "method")?, text(part, "url")?));
        text(part, "tool").or_else(|| text(part, "model")).or_else(request)
    })
}

/// Returns the id of a step, safe to print.
fn step_id(event: &Event<'_>) -> String {
    Shown::new(&event.step_id()).to_string()
}

/// Returns the type of a step, safe to print.
fn step_type(event: &Event<'_>) -> String {
    Shown::new(&event.name()).to_string()
}

/// Returns the beginning of a line that is safe to print, with an ellipsis if it was longer than `columns` characters.
fn cut(line: &str, columns: usize) -> String {
    match line.char_indices().nth(columns) {
        Some(_) => line.chars().take(columns.saturating_sub(1)).chain(['…']).collect(),
        None => line.to_owned(),
    }
}

/// Returns the width of the terminal that standard output is; `None` if it is none.
#[cfg(unix)]
fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// Returns `None`: the width is not asked for on this system.
#[cfg(not(unix))]
fn terminal_columns() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_by_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
    }
}
