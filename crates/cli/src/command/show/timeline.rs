//! The timeline of a run for a terminal: the verdict, the run in a few lines, then a line or three for each step.
//!
//! ```text
//! PASS  intact, and signed by a key that you trust (16 events)
//!
//! run     0198c2d4-…
//! calls   1 model call, 1 tool call
//! model   gpt-5: 1 call, 405 tokens in, 31 out, about 0.0009 USD
//!
//!   s1    +12 ms  gpt-5  chat, stream, 405 tokens in, 31 out, 20 ms
//!                 asks for search_flights {"from":"Vienna","to":"Lisbon"}
//! ```
//!
//! Every text of the record is untrusted, so that it is escaped and shortened to one line. Start reading at [`page`].

use std::fmt::Write as _;
use std::time::Duration;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::ReplayTotals;
use reenact_formats::rer::payload::RecoverySource;
use reenact_json::{Shown, Value};
use reenact_run::run::Producer;
use reenact_run::timeline::facts::{BlockedFacts, CallFacts, RecoveryMark};
use reenact_run::timeline::{StepAction, TimelineStep};
use reenact_run::{
    BundledOutcome, EndedBy, Event, EventPayload, EventType, Exchange, Run, StandardInput, Summary, ToolUse,
    UnreadablePayload,
};
use reenact_verify::render::{self, Tone};

use super::filter::StepFilter;
use super::selection::plan_step_of;
use super::{step_page, surroundings};
use crate::output::paint;
use crate::quantity;
use crate::runs::OpenedRun;

/// Longest text on a line, in characters.
const MAX_LINE_CHARS: usize = 100;

/// Most members of a payload that are shown on a line.
const MAX_MEMBERS: usize = 4;

/// Widest column for step ids, in characters.
const MAX_ID_CHARS: usize = 16;

/// Characters of a hash that are shown, with the ellipsis: enough to recognise it.
const MAX_HASH_CHARS: usize = 19;

/// Returns the whole page.
///
/// Redundant steps are left out: costs, which the summary adds up, and decisions that are followed by their consequence. If not all of the
/// others fit the filter, the last line says how many do.
pub(super) fn page(found: &OpenedRun, steps: &[TimelineStep<'_>], filter: &StepFilter) -> String {
    let told = || steps.iter().filter(|step| !step.is_redundant);
    let (total, steps) = (told().count(), filter.apply(told()));
    let summary = found.run.summary();
    let mut text = verdict_lines(found);
    push_heading(found, &summary, &mut text);
    let wide = steps.iter().map(|step| step.id.chars().count()).max().unwrap_or(0).clamp(2, MAX_ID_CHARS);
    // Some formats have no times; then there is no column for them.
    let time_width = if steps.iter().any(|step| step.at.is_some()) { 9 } else { 0 };
    for (step, lines) in folded_steps(&steps) {
        text.push('\n');
        let mut lines = lines.into_iter();
        let id = format!("{:wide$}", truncated(&step.id, wide));
        let at = format!("{:>time_width$}", step.at.map_or(String::new(), offset));
        let gap = if time_width == 0 { "" } else { "  " };
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "  {}{gap}{}  {first}", paint(Tone::Title, &id), paint(Tone::Quiet, &at));
        for line in lines {
            let _ = writeln!(text, "  {:wide$}{gap}{:time_width$}  {line}", "", "");
        }
    }
    if filter.is_set() {
        let count = if steps.is_empty() { "none".into() } else { quantity::grouped(steps.len() as u64) };
        let verb = if steps.len() < 2 { "is" } else { "are" };
        let line = format!("{count} of {} {verb} shown", quantity::count(total as u64, "step"));
        let _ = writeln!(text, "\n{}", paint(Tone::Quiet, &line));
    }
    text
}

/// Returns the verdict on the record and its first five reasons.
///
/// A record that is intact but signed by a compromised key counts as a failure here, as it does in `reenact verify`.
fn verdict_lines(found: &OpenedRun) -> String {
    let report = &found.report;
    let mut text = render::verdict_line(report, &paint) + "\n";
    for reason in report.reasons.iter().take(5) {
        let _ = writeln!(text, "      {reason}");
    }
    if report.reasons.len() > 5 {
        let _ = writeln!(text, "      and {} more: reenact verify tells all", report.reasons.len() - 5);
    }
    text
}

/// Appends the facts about the run: ids, command, times, calls, masked values, and the tokens and costs of each model.
fn push_heading(found: &OpenedRun, summary: &Summary, text: &mut String) {
    text.push('\n');
    if !found.run.id().is_empty() {
        let _ = writeln!(text, "run     {}", Shown::new(found.run.id()));
    }
    let format = Shown::new(found.run.format());
    if found.run.is_imported() {
        let _ = writeln!(text, "format  {format}, imported from {}", found.run.payload_format().name());
    } else if found.run.payload_format() != FormatId::Rer {
        let _ = writeln!(text, "format  {format}{}", producer_suffix(&found.run));
    }
    if !summary.command.is_empty() {
        let command: Vec<String> = summary.command.iter().map(|word| Shown::new(word).to_string()).collect();
        let _ = writeln!(text, "command {}", command.join(" "));
    }
    if let Some(outcome) = BundledOutcome::of(&found.run) {
        let _ = writeln!(text, "ended   recorded: {outcome}");
    }
    surroundings::push_heading(&found.run, text);
    let mut when = Vec::new();
    when.extend(found.run.started_at().map(|at| format!("began {}", Shown::new(&at))));
    when.extend(summary.duration.map(|took| format!("took {}", quantity::duration(took))));
    when.extend(summary.status.as_ref().map(|status| match &summary.reason {
        Some(reason) => format!("{} ({})", Shown::new(status), Shown::new(reason)),
        None => Shown::new(status).to_string(),
    }));
    if !when.is_empty() {
        let _ = writeln!(text, "time    {}", when.join(", "));
    }
    let mut calls = vec![
        quantity::count(summary.model_calls as u64, "model call"),
        quantity::count(summary.tool_calls as u64, "tool call"),
    ];
    if summary.http_calls > 0 {
        calls.push(quantity::count(summary.http_calls as u64, "other request"));
    }
    if summary.incomplete > 0 {
        calls.push(format!("{} without a whole answer", summary.incomplete));
    }
    if summary.capture_gaps > 0 {
        calls.push(quantity::count(summary.capture_gaps as u64, "gap"));
    }
    if summary.withheld > 0 {
        calls.push(quantity::count_of(summary.withheld as u64, "payload withheld", "payloads withheld"));
    }
    let _ = writeln!(text, "calls   {}", calls.join(", "));
    if let Some(masked) = super::masked::mask_summary(&super::masked::mask_tally(&found.run)) {
        let _ = writeln!(text, "masked  {masked}");
    }
    if let Some(figures) = &summary.figures {
        let _ = writeln!(text, "figures {}", self::figures_text(figures));
    }
    for (name, used) in &summary.models {
        let name = if name.is_empty() { "no model named".into() } else { Shown::new(name).to_string() };
        let calls = quantity::count(used.calls as u64, "call");
        let tokens = if used.with_usage == 0 {
            String::new()
        } else {
            format!(", {}", quantity::tokens(used.input_tokens, used.output_tokens))
        };
        let errors = if used.errors == 0 {
            String::new()
        } else {
            format!(", {}", quantity::count(used.errors as u64, "error"))
        };
        let cost = used.cost().map(|cost| format!(", {}", quantity::cost(cost))).unwrap_or_default();
        let _ = writeln!(text, "model   {name}: {calls}{tokens}{cost}{errors}");
    }
}

/// Returns the program that wrote the record, by the record's own claim; empty if it makes none.
fn producer_suffix(run: &Run) -> String {
    let Producer { name: Some(name), version, .. } = run.producer() else { return String::new() };
    let version = version.as_ref().map(|version| format!(" {}", Shown::new(version))).unwrap_or_default();
    format!(", written by {}{version}", Shown::new(name))
}

/// Returns the figures of a REPLAY.jsonl, with the numbers that its own summaries have.
fn figures_text(figures: &ReplayTotals) -> String {
    let latency =
        figures.latency_text(|total| format!("{} in all", quantity::duration(Duration::from_millis(total))));
    let utility = figures.utility_text();
    format!("{}, {latency}, {utility}", quantity::count(figures.tool_calls, "tool call"))
}

/// Returns an id of at most `wide` characters, with an ellipsis if it was longer. The text is escaped before
/// it is measured, since escapes are longer than what they stand for.
fn truncated(id: &str, wide: usize) -> String {
    let shown = Shown::new(id).to_string();
    match shown.char_indices().nth(wide) {
        Some(_) => shown.chars().take(wide.saturating_sub(1)).chain(['…']).collect(),
        None => shown,
    }
}

/// Returns the time since the start of the run: `+820 ms`.
fn offset(at: Duration) -> String {
    format!("+{}", quantity::duration(at))
}

/// Returns the steps that are shown, each with its lines. Equal gaps in a row are one, with their number: an agent that tries
/// again what is refused leaves many.
fn folded_steps<'s, 'r>(steps: &[&'s TimelineStep<'r>]) -> Vec<(&'s TimelineStep<'r>, Vec<String>)> {
    let mut rows: Vec<(&TimelineStep<'_>, Vec<String>, usize)> = Vec::new();
    for &step in steps {
        let lines = step_lines(step);
        match rows.last_mut() {
            Some((before, same, count)) if is_gap(before) && is_gap(step) && *same == lines => *count += 1,
            _ => rows.push((step, lines, 1)),
        }
    }
    let numbered = |(step, mut lines, count): (_, Vec<String>, usize)| {
        if let (2.., Some(first)) = (count, lines.first_mut()) {
            let _ = write!(first, " ({} times)", quantity::grouped(count as u64));
        }
        (step, lines)
    };
    rows.into_iter().map(numbered).collect()
}

/// Returns true for a gap in the record.
fn is_gap(step: &TimelineStep<'_>) -> bool {
    matches!(&step.action, StepAction::Other(event) if event.kind() == Some(EventType::CaptureGap))
}

/// Returns the lines of a step; the first stands beside its id.
fn step_lines(step: &TimelineStep<'_>) -> Vec<String> {
    match &step.action {
        StepAction::Model(exchange) => with_origin(exchange, model_lines(exchange, &exchange.facts())),
        StepAction::Http(exchange) => with_origin(exchange, http_lines(&exchange.facts())),
        StepAction::Tool(tool) => tool_lines(tool, plan_step_of(step).as_deref()),
        StepAction::Other(event) => event_lines(event),
    }
}

/// Adds to the first line of an exchange that its answer came from the record of the parent, if it did.
fn with_origin(exchange: &Exchange<'_>, mut lines: Vec<String>) -> Vec<String> {
    if let Some(first) = lines.first_mut().filter(|_| exchange.is_answered_from_record()) {
        first.push_str(", from the parent's record");
    }
    lines
}

/// Returns the lines of a model call: model and answer on the first, then the prompt, an error, the text, and
/// each tool call that the model asks for.
///
/// Where another runtime wrote the record, and a payload has no member whose meaning is known, its members stand there as they are.
fn model_lines(exchange: &Exchange<'_>, facts: &CallFacts<'_>) -> Vec<String> {
    let (asked, answered) = (exchange.foreign_call(), exchange.foreign_return());
    let plain_answer = answered.filter(|_| facts.answer.is_err());
    let fault = if plain_answer.is_some() { None } else { facts.answer.as_ref().err() };
    let mut lines = match (&facts.request, asked) {
        (Ok(request), _) => {
            let name =
                request.model.as_ref().map_or("no model named".into(), |model| Shown::new(model).to_string());
            let how = match request.endpoint {
                Some(endpoint) => endpoint.name().to_owned(),
                None if request.path.is_empty() => Shown::new(&request.provider).to_string(),
                None => format!("{} {}", Shown::new(&request.method), Shown::new(&request.path)),
            };
            vec![joined_columns(&paint(Tone::Title, &name), &answer_summary(facts, fault, &how))]
        }
        (Err(_), Some(asked)) => {
            let name = Shown::new(&exchange.called.name()).to_string();
            let first = joined_columns(&paint(Tone::Title, &name), &answer_summary(facts, fault, ""));
            [first].into_iter().chain(members_line(asked.payload)).collect()
        }
        (Err(why), None) => return vec![format!("a model, {}", paint(Tone::Bad, &why.to_string()))],
    };
    // A prompt that is a whole JSON body is left to --step.
    if let Ok(request) = &facts.request {
        match (&request.prompt, asked.and_then(|asked| asked.content)) {
            (Some(prompt), _) if !prompt.starts_with('{') => {
                lines.push(format!("asked {}", one_line(prompt)))
            }
            (None, Some(input)) => lines.push(format!("asked {}", value_line(input))),
            _ => {}
        }
    }
    lines.extend(
        plain_answer.and_then(|answer| members_line(answer.payload)).map(|line| format!("answered {line}")),
    );
    let Some(message) = &facts.message else { return lines };
    if let Some(error) = &message.error {
        lines.push(paint(Tone::Bad, &format!("{}: {}", Shown::new(&error.kind), one_line(&error.message))));
    }
    if !message.text.trim().is_empty() {
        lines.push(one_line(&message.text));
    }
    for call in &message.tool_calls {
        lines.push(format!("asks for {} {}", Shown::new(&call.name), one_line(&call.input)));
    }
    lines
}

/// Returns the first members of a payload that another runtime wrote, without the id of the step; `None` if there is no other.
fn members_line(payload: Value<'_>) -> Option<String> {
    let named = payload.members().filter_map(|(name, value)| Some((name.string()?, value)));
    let members = named.filter(|(name, _)| name != "step_id").take(MAX_MEMBERS);
    let members = members.map(|(name, value)| format!("{}: {}", Shown::new(&name), value_line(value)));
    Some(members.collect::<Vec<_>>().join(", ")).filter(|line| !line.is_empty())
}

/// Joins two texts by two spaces, unless the second is empty.
fn joined_columns(left: &str, right: &str) -> String {
    if right.is_empty() { left.to_owned() } else { format!("{left}  {right}") }
}

/// Returns the line of a request that is no model call.
fn http_lines(facts: &CallFacts<'_>) -> Vec<String> {
    match &facts.request {
        Ok(request) => {
            let what = format!("{} {}", Shown::new(&request.method), Shown::new(&request.path));
            let how = Shown::new(&request.provider).to_string();
            vec![joined_columns(&what, &answer_summary(facts, facts.answer.as_ref().err(), &how))]
        }
        Err(why) => vec![format!("a request, {}", paint(Tone::Bad, &why.to_string()))],
    }
}

/// Returns an exchange in one line: `how` it was asked (the API), then status, tokens, latency, and the
/// reason if the answer is not complete. Status 200 is not mentioned. `fault` is the reason why there is no answer, if that is to be said.
fn answer_summary(facts: &CallFacts<'_>, fault: Option<&UnreadablePayload>, how: &str) -> String {
    let mut parts = vec![how.to_owned()];
    let Ok(answer) = &facts.answer else {
        parts.extend(fault.map(|why| paint(Tone::Bad, &why.to_string())));
        parts.retain(|part| !part.is_empty());
        return parts.join(", ");
    };
    if answer.is_stream {
        parts.push("stream".into());
    }
    match answer.status {
        Some(200) => {}
        Some(status) => parts.push(paint(Tone::Bad, &format!("status {status}"))),
        None => parts.push(paint(Tone::Bad, "no answer")),
    }
    if let Some(usage) = facts.message.as_ref().and_then(|message| message.usage) {
        parts.push(quantity::tokens(usage.input_tokens, usage.output_tokens));
    }
    parts.extend(answer.latency.map(quantity::duration));
    if !answer.complete {
        let by = match answer.ended_by {
            EndedBy::Eof => "it was cut short",
            EndedBy::Client => "the agent left before its end",
            EndedBy::Upstream => "the vendor's side broke it off",
            EndedBy::Timeout => "it took too long",
        };
        parts.push(paint(Tone::Bad, by));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// Returns the lines of a tool call: its name with what is known of its result, its input, and its output or the beginning of the output's
/// hash.
fn tool_lines(tool: &ToolUse<'_>, plan_step: Option<&str>) -> Vec<String> {
    let call = match tool.call() {
        Ok(call) => call,
        Err(why) => return vec![format!("a tool, {}", paint(Tone::Bad, &why.to_string()))],
    };
    let result = tool.result();
    let source = call.source.map(|source| format!(" ({})", source.name())).unwrap_or_default();
    let mut facts = vec![format!("tool{source}")];
    facts.extend(plan_step.map(|id| format!("step {}", Shown::new(id))));
    facts.extend(result.iter().flat_map(step_page::result_facts));
    let name = paint(Tone::Title, &Shown::new(&call.tool).to_string());
    let mut lines = vec![joined_columns(&name, &facts.join(", "))];
    lines.extend(call.input.as_ref().and_then(|input| input.value()).map(value_line));
    match result {
        Ok(result) => {
            let output = result.output.as_ref().and_then(|output| output.value()).map(value_line);
            let mark = if result.is_error { paint(Tone::Bad, "failed:") } else { "gave".into() };
            lines.push(match (output, &result.output_hash) {
                (None, Some(hash)) => {
                    format!("{mark} {} (only the hash is held)", truncated(hash, MAX_HASH_CHARS))
                }
                (output, _) => format!("{mark} {}", output.unwrap_or("nothing".into())),
            });
        }
        Err(why) => lines.push(paint(Tone::Bad, &why.to_string())),
    }
    lines
}

/// Returns the lines of a denied action: which, by which rule, and why.
fn blocked_lines(facts: &BlockedFacts<'_>) -> Vec<String> {
    let kind = if facts.is_tool { "tool" } else { "model" };
    let name = facts.name.as_ref().map_or("no name".into(), |name| Shown::new(name).to_string());
    let rule = facts.rule.as_ref().map(|rule| format!(" by {}", Shown::new(rule))).unwrap_or_default();
    let mut lines = vec![format!(
        "{}  {kind}, {}",
        paint(Tone::Title, &name),
        paint(Tone::Bad, &format!("denied{rule}"))
    )];
    lines.extend(facts.reason.as_ref().map(|reason| one_line(reason)));
    lines
}

/// Returns the lines of a recovery, or of a change of the journal.
fn recovery_lines(facts: RecoveryMark) -> Vec<String> {
    match facts {
        RecoveryMark::Recovered { from, lost } => {
            let mut lines =
                vec![format!("{}  its recorder did not come to the end", paint(Tone::Bad, "recovered"))];
            lines.extend(from.map(|from| match from {
                RecoverySource::Log => "from its journal and its log".to_owned(),
                RecoverySource::Journal => "from its journal alone, which nothing vouches for".to_owned(),
            }));
            if lost > 0 {
                let lost = quantity::count_of(lost, "event of its journal is", "events of its journal are");
                lines.push(format!("{lost} lost"));
            }
            lines
        }
        RecoveryMark::JournalChanged { kept } => {
            let kept = kept
                .map(|kept| format!("{} before this are what was written", quantity::count(kept, "event")));
            [paint(Tone::Bad, "someone changed the journal")].into_iter().chain(kept).collect()
        }
    }
}

/// Returns the lines of any other event: its name, and the first [`MAX_MEMBERS`] members of its payload, without those that
/// belong to the format. A denied action has lines of its own.
fn event_lines(event: &Event<'_>) -> Vec<String> {
    if let Some(facts) = event.blocked() {
        return blocked_lines(&facts);
    }
    if let Some(facts) = event.recovery() {
        return recovery_lines(facts);
    }
    if let Some(lines) = surroundings_lines(event) {
        return lines;
    }
    let name = Shown::new(&event.name()).to_string();
    let content = match event.payload() {
        EventPayload::Present(_) => {
            let members = event
                .content_members()
                .map(|(name, value)| format!("{}: {}", Shown::new(&name), self::value_line(value)));
            members.take(MAX_MEMBERS).collect::<Vec<_>>().join(", ")
        }
        EventPayload::Withheld => "withheld".into(),
        EventPayload::None => String::new(),
    };
    let mut lines = vec![if name.is_empty() { "a line that cannot be read".into() } else { name }];
    if !content.is_empty() {
        lines.push(content);
    }
    lines
}

/// Returns the lines of what was piped into the command, or of connections past the recorder; `None` for other events.
fn surroundings_lines(event: &Event<'_>) -> Option<Vec<String>> {
    let payload = event.payload().value()?;
    match event.kind()? {
        EventType::StdinRead => {
            let input = StandardInput::of(payload)?;
            let beginning = input.bytes.get(..8 * MAX_LINE_CHARS).unwrap_or(&input.bytes);
            let beginning = beginning.utf8_chunks().next().map(|chunk| one_line(chunk.valid()));
            let mut lines = vec![surroundings::input_line(&input)];
            lines.extend(beginning.filter(|line| !line.is_empty()));
            Some(lines)
        }
        EventType::NetSeen => {
            let addresses = reenact_run::surroundings::seen_addresses(payload);
            Some(vec![
                "connected past the recorder (a sample)".to_owned(),
                surroundings::addresses_text(&addresses),
            ])
        }
        _ => None,
    }
}

/// Returns a value in one line: a string as it reads, anything else as its JSON text.
fn value_line(value: Value<'_>) -> String {
    match value.string() {
        Some(text) => one_line(&text),
        None => one_line(&String::from_utf8_lossy(value.text())),
    }
}

/// Returns the beginning of a text on one line, with each run of white space as one blank.
///
/// At most [`MAX_LINE_CHARS`] characters, counted before unsafe ones are escaped; an ellipsis marks a text
/// that was longer.
pub(in crate::command) fn one_line(text: &str) -> String {
    let (mut line, mut count) = (String::new(), 0);
    let mut in_space = false;
    for character in text.trim().chars() {
        if character.is_whitespace() {
            in_space = true;
            continue;
        }
        let more = 1 + usize::from(in_space);
        if count + more > MAX_LINE_CHARS {
            return format!("{}…", Shown::whole(&line));
        }
        if core::mem::take(&mut in_space) {
            line.push(' ');
        }
        line.push(character);
        count += more;
    }
    Shown::whole(&line).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_anything() {
        assert_eq!(one_line("  a\n\n b\tc  "), "a b c");
        assert_eq!(one_line("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(one_line(&"x".repeat(MAX_LINE_CHARS)), "x".repeat(MAX_LINE_CHARS));
        assert_eq!(one_line(&"x".repeat(MAX_LINE_CHARS + 1)), "x".repeat(MAX_LINE_CHARS) + "…");
        assert_eq!(
            one_line(&format!("{}   y", "x".repeat(MAX_LINE_CHARS - 1))),
            "x".repeat(MAX_LINE_CHARS - 1) + "…"
        );
        assert_eq!(
            one_line(&format!("{}   y", "x".repeat(MAX_LINE_CHARS - 2))),
            "x".repeat(MAX_LINE_CHARS - 2) + " y"
        );
    }
}
