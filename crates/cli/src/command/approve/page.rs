//! What waits, as a person reads it and as a program does.

use std::fmt::Write as _;
use std::time::Duration;

use reenact_json::print::{self, Object};
use reenact_json::{Limits, Shown, Value};
use reenact_record::approval::{PendingQuestion, Request};
use reenact_verify::render::Tone;

use super::key::words;
use crate::command::show::page::{indented, plain};
use crate::output::paint;
use crate::quantity;

/// As much of an input is printed; all of it is in the file that the page names.
const LONGEST: usize = 8 * 1024;

/// Everything that waits.
pub(super) fn list(questions: &[PendingQuestion], now: Duration, is_json: bool) -> String {
    if is_json {
        return questions.iter().map(json).collect();
    }
    if questions.is_empty() {
        return "Nothing waits for an approval here.\n".into();
    }
    let mut text = String::new();
    for PendingQuestion { request, .. } in questions {
        heading(request, now, &mut text);
    }
    text
}

/// One question with all that is to be approved.
pub(super) fn whole(question: &PendingQuestion, now: Duration) -> String {
    let request = &question.request;
    let mut text = String::new();
    heading(request, now, &mut text);
    let mut input = String::new();
    match Value::parse(request.input.as_bytes(), &Limits::default()) {
        Ok(value) => {
            input.push_str("  ");
            indented(value, 1, &mut input);
            input.push('\n');
        }
        Err(_) => plain(&request.input, &mut input),
    }
    let mut cut = input.len();
    if cut > LONGEST {
        cut = input.floor_char_boundary(LONGEST);
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

fn heading(request: &Request, now: Duration, text: &mut String) {
    let asked = u64::try_from(request.asked()).map_or(now, Duration::from_nanos);
    let types = request.signer_types.as_deref().map_or("any approver".to_owned(), words);
    let title = format!("{} {}", request.action.name(), Shown::new(&request.name));
    let _ = writeln!(text, "{}", paint(Tone::Title, &title));
    for (word, says) in [
        ("id", request.approval_id.to_string()),
        ("run", request.run_id.to_string()),
        ("rule", Shown::new(&request.rule).to_string()),
        ("by", types),
        ("waits", format!("for {}", quantity::duration(now.saturating_sub(asked)))),
        ("until", Shown::new(&request.expires_at).to_string()),
    ] {
        let _ = writeln!(text, "  {word:<7} {says}");
    }
}

fn json(question: &PendingQuestion) -> String {
    let PendingQuestion { request, .. } = question;
    let path = question.path();
    let mut line = String::new();
    let mut object = Object::open(&mut line);
    object.string("approval_id", request.approval_id.to_string().as_str());
    object.string("run_id", request.run_id.to_string().as_str());
    object.string("action", request.action.name());
    object.string("name", request.name.as_str());
    object.string("rule", request.rule.as_str());
    match &request.signer_types {
        None => object.name("signer_types").push_str("null"),
        Some(types) => print::list(types, object.name("signer_types"), |kind, out| {
            print::string(kind.name(), out);
        }),
    }
    object.string("input", request.input.as_str());
    object.boolean("input_whole", request.is_whole);
    object.name("input_size").push_str(&request.input_size.to_string());
    object.string("input_hash", request.input_hash.to_string().as_str());
    object.string("asked_at", request.asked_at.as_str());
    object.string("expires_at", request.expires_at.as_str());
    object.string("file", path.to_string_lossy().as_ref());
    object.close();
    line + "\n"
}
