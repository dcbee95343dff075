//! The walk over the lines.

mod conclusion;

use std::io::{self, BufRead};

use reenact_formats::replay_jsonl::canonical::is_canonical;
use reenact_formats::replay_jsonl::hash::{self, HashCheck};
use reenact_formats::replay_jsonl::{
    Clock, Ending, EventKind, EventView, Field, Figures, Line, LineFault, Lines, VERSION, field,
};
use reenact_json::digest::Hasher;
use reenact_json::scanner::Room;
use reenact_json::{Digest, Limits, Shown, SyntaxError, SyntaxFault, Value};

use super::Beside;
use super::against::Against;
use super::code::{Code, Warning};
use super::finding::Findings;
use super::pair::{Fingerprint, Paired, Pairs};
use crate::report::carried;
use crate::{Options, Report};

/// A text of the replay that is asked for again: its hash, and how to show it.
pub(super) struct Said {
    pub(super) digest: Digest,
    pub(super) shown: String,
}

impl Said {
    pub(super) fn of(value: Value<'_>) -> Self {
        let text = value.string_bytes().unwrap_or_default();
        Self { digest: Digest::of(&text), shown: carried(&String::from_utf8_lossy(&text)) }
    }
}

/// What `SessionEnd` says, as far as it can be read.
#[derive(Default)]
struct End {
    tool_calls: Option<u64>,
    latency_ms: Option<u64>,
}

/// The state of a verification.
pub(super) struct Judge<'a> {
    limits: Limits,
    beside: Beside<'a>,
    hasher: Hasher,
    room: Room,
    findings: Findings,
    figures: Figures,
    pairs: Pairs,
    against: Option<Against<'a>>,
    /// Lines that are events.
    events: u64,
    /// Lines that are not blank.
    written: u64,
    version: Option<u64>,
    headers: u64,
    session: Option<Said>,
    starts: u64,
    end: Option<End>,
    clock: Clock,
    /// The moment of the last event that has one.
    time: Option<i128>,
    hashed: u64,
    withheld: u64,
    unknown_events: u64,
    first_unknown: Option<String>,
    unknown_fields: u64,
}

impl<'a> Judge<'a> {
    pub(super) fn new(beside: &Beside<'a>, options: &Options) -> Self {
        let mut findings = Findings::default();
        let against =
            beside.receipt.and_then(|receipt| Against::read(receipt, &options.limits, &mut findings));
        Self {
            limits: options.limits,
            beside: *beside,
            hasher: Hasher::new(),
            room: Room::default(),
            findings,
            figures: Figures::default(),
            pairs: Pairs::default(),
            against,
            events: 0,
            written: 0,
            version: None,
            headers: 0,
            session: None,
            starts: 0,
            end: None,
            clock: Clock::default(),
            time: None,
            hashed: 0,
            withheld: 0,
            unknown_events: 0,
            first_unknown: None,
            unknown_fields: 0,
        }
    }

    /// Reads to the end; gives the verdict and what the session amounts to.
    pub(super) fn run(mut self, reader: impl BufRead) -> io::Result<(Report, Figures)> {
        let mut lines = Lines::new(reader);
        if self.beside.digest || self.against.as_ref().is_some_and(Against::needs_file) {
            lines = lines.hashing();
        }
        while let Some(line) = lines.next_line()? {
            self.line(line);
        }
        let digest = lines.digest();
        let figures = self.figures;
        Ok((self.conclude(digest), figures))
    }

    fn line(&mut self, line: Line<'_>) {
        let number = line.number;
        match line.ending {
            Ending::LineFeed => {}
            Ending::CarriageReturn => self.findings.warn(number, Warning::Crlf),
            Ending::EndOfFile => self.findings.warn(number, Warning::NoFinalNewline),
        }
        let text = match line.text {
            Ok(text) => text,
            Err(length) => {
                self.written += 1;
                let most = reenact_formats::replay_jsonl::lines::LONGEST_LINE;
                let text = format!("it has {length} bytes, more than {most}, and was not read");
                return self.findings.at(number, Code::LineTooLong, text);
            }
        };
        let unmarked = text.strip_prefix(b"\xEF\xBB\xBF").filter(|_| number == 1);
        if unmarked.is_some() {
            self.findings.at(
                number,
                Code::Bom,
                "a byte order mark, which a reader takes for a part of the text",
            );
        }
        let text = unmarked.unwrap_or(text);
        if text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            return self.findings.warn(number, Warning::BlankLine);
        }
        self.written += 1;
        match EventView::read_within(text, &self.limits, &mut self.room) {
            Ok(event) => self.event(number, text, &event),
            Err(fault) => self.unreadable(number, text, line.ending, &fault),
        }
    }

    fn unreadable(&mut self, number: u64, text: &[u8], ending: Ending, fault: &LineFault) {
        let code = match fault {
            LineFault::NotAnObject { .. } => Code::NotObject,
            LineFault::NoTag { .. } => Code::NoEventTag,
            LineFault::Syntax(error) => match error.fault {
                _ if ending == Ending::EndOfFile && is_torn(text, error) => {
                    let text = "the file ends inside this line: its writer was stopped";
                    return self.findings.at(number, Code::TornTail, text);
                }
                SyntaxFault::NotUtf8 | SyntaxFault::Utf16 => Code::NotUtf8,
                SyntaxFault::DuplicateName { .. } => Code::DuplicateName,
                _ => Code::BadJson,
            },
            _ => Code::BadJson,
        };
        match fault {
            LineFault::Syntax(error) => {
                let column = error.position(text).column;
                self.findings.at(number, code, format_args!("column {column}: {fault}"));
            }
            _ => self.findings.at(number, code, fault),
        }
    }

    fn event(&mut self, number: u64, text: &[u8], event: &EventView<'_>) {
        self.events += 1;
        if !self.findings.has_warned(Warning::NotCanonical)
            && let Some(whole) = event.whole()
            // Text that is canonical under RFC 8785 differs in numbers at most, and both number texts are good.
            && !(whole.is_canonical() || whole.text().len() == text.len() && is_canonical(whole))
        {
            self.findings.warn(number, Warning::NotCanonical);
        }
        self.order(number, event.kind);
        self.clock(number, event);
        let Some(kind) = event.kind else {
            self.unknown_events += 1;
            let name = event.tag.string().unwrap_or_default();
            self.first_unknown.get_or_insert_with(|| format!("line {number}: {}", Shown::new(&name)));
            return;
        };
        let code = if kind == EventKind::ReplayHeader { Code::HeaderField } else { Code::Field };
        let findings = &mut self.findings;
        self.unknown_fields += field::faults(kind, event, &mut self.clock, |fault| {
            findings.at(number, code, format_args!("{kind}: {fault}"));
        });
        match kind {
            EventKind::ReplayHeader => self.header(number, event),
            EventKind::SessionStart => self.start(event),
            EventKind::ToolCall => self.call(number, event),
            EventKind::ToolResult => self.result(number, event),
            EventKind::PlanStart => {
                if let Some(against) = &mut self.against {
                    against.plan = event.get(Field::PlanHash).map(Said::of);
                }
            }
            EventKind::Verification => self.verification(number, event),
            EventKind::SessionEnd => self.session_end(event),
            EventKind::RuntimeEvent => self.runtime(number, event),
            EventKind::StepComplete | EventKind::Payment => {}
        }
    }

    /// Which event may stand where.
    fn order(&mut self, number: u64, kind: Option<EventKind>) {
        let is = |wanted| kind == Some(wanted);
        if self.events == 1 && !is(EventKind::ReplayHeader) {
            self.findings.at(number, Code::HeaderNotFirst, "the first event is no ReplayHeader");
        }
        if is(EventKind::ReplayHeader) {
            self.headers += 1;
            if self.headers > 1 {
                self.findings.at(
                    number,
                    Code::HeaderRepeated,
                    "a second ReplayHeader: is this more than one file?",
                );
            }
            return;
        }
        if is(EventKind::SessionStart) {
            self.starts += 1;
            if self.starts > 1 {
                self.findings.at(number, Code::SessionStartRepeated, "a second SessionStart");
            }
        } else if self.starts == 0 && !self.findings.has(Code::SessionStartNotFirst) {
            self.findings.at(number, Code::SessionStartNotFirst, "an event before the SessionStart");
        }
        if self.end.is_some() {
            if is(EventKind::SessionEnd) {
                self.findings.at(number, Code::SessionEndRepeated, "a second SessionEnd");
            } else {
                self.findings.at(number, Code::EventAfterEnd, "an event after the SessionEnd");
            }
        }
    }

    /// Order in time is no rule, since parallel calls answer as they like; it is worth knowing.
    fn clock(&mut self, number: u64, event: &EventView<'_>) {
        let Some(now) = event.get(Field::T).and_then(|t| self.clock.instant(t)) else { return };
        if self.time.is_some_and(|before| now < before) {
            self.findings.warn(number, Warning::TimeBackwards);
        }
        self.time = Some(now);
    }

    fn header(&mut self, number: u64, event: &EventView<'_>) {
        let Some(version) = event.get(Field::ReplayVersion).and_then(field::unsigned) else { return };
        if self.version.is_none() && version != VERSION {
            let text = format!("replay_version is {version}, only {VERSION} is known");
            self.findings.at(number, Code::Version, text);
        }
        self.version = self.version.or(Some(version));
    }

    fn start(&mut self, event: &EventView<'_>) {
        if self.starts > 1 {
            return;
        }
        self.session = event.get(Field::SessionId).map(Said::of);
        if let Some(against) = &mut self.against {
            against.start(event, &mut self.findings);
        }
    }

    fn call(&mut self, number: u64, event: &EventView<'_>) {
        let params_hash = event.get(Field::ParamsHash);
        match event.get(Field::Params) {
            Some(params) => {
                self.hashed += 1;
                self.hash(number, Code::ParamsHash, params, params_hash);
            }
            None => self.withheld += 1,
        }
        let Some(id) = event.get(Field::Id).and_then(|id| id.read_string(Fingerprint::of)) else { return };
        let receipt = self.against.as_ref().map_or(0, |against| against.entry(id, event));
        match self.pairs.call(id, number, receipt) {
            Paired::First => {
                self.figures.tool_calls += 1;
                if let Some(against) = &mut self.against {
                    against.call(number, receipt, event, &mut self.findings);
                }
            }
            Paired::Full => self.full(number),
            _ => {
                let id = shown(event, Field::Id);
                self.findings.at(
                    number,
                    Code::CallIdRepeated,
                    format_args!("a call \"{id}\" was made before"),
                );
            }
        }
    }

    fn full(&mut self, number: u64) {
        if !self.findings.has(Code::TooManyCalls) {
            let text = "more calls than can be paired; from here on they were not";
            self.findings.at(number, Code::TooManyCalls, text);
        }
    }

    fn result(&mut self, number: u64, event: &EventView<'_>) {
        let latency = event.get(Field::LatencyMs).and_then(field::unsigned);
        let utility = event.get(Field::StepUtility).and_then(field::utility);
        self.figures.add_result(latency, utility);
        let Some(id) = event.get(Field::Id).and_then(|id| id.read_string(Fingerprint::of)) else { return };
        let (paired, entry) = self.pairs.result(id);
        match paired {
            Paired::Full => return self.full(number),
            Paired::Repeated => {
                let text = format!("the call \"{}\" has a result already", shown(event, Field::Id));
                return self.findings.at(number, Code::ResultRepeated, text);
            }
            Paired::WithoutCall => {
                let text = format!("no call \"{}\" came before", shown(event, Field::Id));
                self.findings.at(number, Code::ResultWithoutCall, text);
            }
            Paired::First => {}
        }
        if let Some(against) = &mut self.against {
            let entry = if entry == 0 { against.entry_of_id(id) } else { entry };
            against.result(number, entry, event, &mut self.findings);
        }
    }

    fn verification(&mut self, number: u64, event: &EventView<'_>) {
        let count = |field| event.get(field).map_or(0, |list| list.elements().count());
        let (commands, codes) = (count(Field::Commands), count(Field::ExitCodes));
        if commands != codes {
            let text = format!("{commands} commands, but {codes} exit codes");
            self.findings.at(number, Code::VerificationLengths, text);
        }
        if let Some(against) = &mut self.against {
            against.verification(event);
        }
    }

    fn session_end(&mut self, event: &EventView<'_>) {
        self.end = Some(End {
            tool_calls: event.get(Field::TotalToolCalls).and_then(field::unsigned),
            latency_ms: event.get(Field::TotalLatencyMs).and_then(field::unsigned),
        });
        if let Some(against) = &mut self.against {
            against.end(event);
        }
    }

    fn runtime(&mut self, number: u64, event: &EventView<'_>) {
        if let Some(payload) = event.get(Field::Payload) {
            self.hashed += 1;
            self.hash(number, Code::PayloadHash, payload, event.get(Field::PayloadHash));
        }
        let session = event.get(Field::SessionId).map(Said::of);
        if let (Some(own), Some(session)) = (session, &self.session)
            && own.digest != session.digest
        {
            let text = format!("session_id is {}, the session is {}", own.shown, session.shown);
            self.findings.at(number, Code::OtherSession, text);
        }
    }

    fn hash(&mut self, number: u64, code: Code, value: Value<'_>, carried_hash: Option<Value<'_>>) {
        let name = if code == Code::ParamsHash { "params_hash" } else { "payload_hash" };
        match hash::check(value, carried_hash, &mut self.hasher) {
            HashCheck::Holds => {}
            HashCheck::Differs(computed) => {
                let found = match carried_hash {
                    None => "missing".into(),
                    Some(hash) => hash.string().map_or("no string".into(), |text| carried(&text)),
                };
                self.findings.at(
                    number,
                    code,
                    format_args!("{name} is {found}, recomputed sha256:{computed}"),
                );
            }
            HashCheck::Uncomputable(fault) => {
                self.findings.at(number, code, format_args!("{name} cannot be recomputed: {fault}"));
            }
        }
    }
}

/// Whether a text is no JSON only because it stops.
fn is_torn(text: &[u8], error: &SyntaxError) -> bool {
    let rest = text.get(error.offset..).unwrap_or_default();
    match error.fault {
        SyntaxFault::End { .. } => true,
        SyntaxFault::Number => {
            rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
        }
        SyntaxFault::Unexpected { .. } => {
            ["true", "false", "null"].iter().any(|word| word.as_bytes().starts_with(rest))
        }
        // Half of a pair of escapes.
        SyntaxFault::LoneSurrogate => rest.len() < 8,
        _ => false,
    }
}

/// A text of an event, safe to print.
fn shown(event: &EventView<'_>, field: Field) -> String {
    event.get(field).and_then(|value| value.string()).map_or(String::new(), |text| carried(&text))
}
