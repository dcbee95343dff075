//! The questions that wait for an approval, as text for people and as JSON for programs.
//!
//! ```text
//! tool.call pay_invoice
//!   id      0198c2d4-…
//!   run     0198c2d3-…
//!   rule    required_approvals[0]
//!   by      human
//!   waits   for 12 s
//!   until   2026-05-13T12:10:00.000Z
//!   input   51 bytes, sha256 …
//!   { "to": "ACME", "amount": 12.5 }
//! ```
//!
//! Names and inputs are untrusted text from the agent, so that everything is escaped before it is printed.

use std::fmt::Write as _;
use std::time::Duration;

use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Limits, Shown, Value};
use reenact_record::approval::{PendingQuestion, QuestionFile};
use reenact_verify::render::Tone;

use super::key::signer_types_text;
use crate::command::show::step_page::{push_indented, push_text};
use crate::output::paint;
use crate::quantity;

/// Largest part of an input that is printed, in bytes. The file that the page names has all of it.
const MAX_INPUT_BYTES: usize = 8 * 1024;

/// Returns all questions without their inputs: a page for people, or one line of JSON for each. `now` is the
/// time since 1970.
pub(super) fn list(questions: &[PendingQuestion], now: Duration, is_json: bool) -> String {
    if is_json {
        return questions.iter().map(question_json).collect();
    }
    if questions.is_empty() {
        return "Nothing waits for an approval here.\n".into();
    }
    let mut text = String::new();
    for PendingQuestion { file: request, .. } in questions {
        push_heading(request, now, &mut text);
    }
    text
}

/// Returns one question with its input: JSON indented, other text as it is, at most [`MAX_INPUT_BYTES`] of it.
///
/// The size and the SHA-256 are those of the whole input, which the approval is bound to. If the page does
/// not show all of it, it says how much is missing, and names the file.
pub(super) fn full_page(question: &PendingQuestion, now: Duration) -> String {
    let request = &question.file;
    let mut text = String::new();
    push_heading(request, now, &mut text);
    let mut input = String::new();
    match Value::parse(request.input.as_bytes(), &Limits::default()) {
        Ok(value) => {
            input.push_str("  ");
            push_indented(value, 1, &mut input);
            input.push('\n');
        }
        Err(_) => push_text(&request.input, &mut input),
    }
    let mut cut = input.len();
    if cut > MAX_INPUT_BYTES {
        cut = input.floor_char_boundary(MAX_INPUT_BYTES);
    }
    let unseen = request.input_size.saturating_sub(request.input.len() as u64);
    let more = (input.len() - cut) as u64 + unseen;
    let _ = writeln!(text, "  input   {}, sha256 {}", quantity::size(request.input_size), request.input_hash);
    text.push_str(input.get(..cut).unwrap_or_default());
    if more > 0 {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let path = question.path();
        let path = path.to_string_lossy();
        let _ = writeln!(text, "  … {} more; see {}", quantity::count(more, "byte"), Shown::whole(&path));
    }
    text
}

/// Appends the facts of a question: ids, rule, required signer types and times.
fn push_heading(request: &QuestionFile, now: Duration, text: &mut String) {
    let asked_at = u64::try_from(request.asked_at_nanoseconds()).map_or(now, Duration::from_nanos);
    let types = request.signer_types.as_deref().map_or("any approver".to_owned(), signer_types_text);
    let title = format!("{} {}", request.action.name(), Shown::new(&request.name));
    let _ = writeln!(text, "{}", paint(Tone::Title, &title));
    for (word, says) in [
        ("id", request.approval_id.to_string()),
        ("run", request.run_id.to_string()),
        ("rule", Shown::new(&request.rule).to_string()),
        ("by", types),
        ("waits", format!("for {}", quantity::duration(now.saturating_sub(asked_at)))),
        ("until", Shown::new(&request.expires_at).to_string()),
    ] {
        let _ = writeln!(text, "  {word:<7} {says}");
    }
}

/// Returns a question as one line of JSON.
fn question_json(question: &PendingQuestion) -> String {
    let PendingQuestion { file: request, .. } = question;
    let path = question.path();
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("approval_id", request.approval_id.to_string().as_str());
    object.string("run_id", request.run_id.to_string().as_str());
    object.string("action", request.action.name());
    object.string("name", request.name.as_str());
    object.string("rule", request.rule.as_str());
    match &request.signer_types {
        None => object.name("signer_types").push_str("null"),
        Some(types) => print::write_list(types, object.name("signer_types"), |kind, out| {
            print::write_string(kind.name(), out);
        }),
    }
    object.string("input", request.input.as_str());
    object.boolean("input_whole", request.is_input_whole);
    object.name("input_size").push_str(&request.input_size.to_string());
    object.string("input_hash", request.input_hash.to_string().as_str());
    object.string("asked_at", request.asked_at.as_str());
    object.string("expires_at", request.expires_at.as_str());
    object.string("file", path.to_string_lossy().as_ref());
    object.close();
    line + "\n"
}
