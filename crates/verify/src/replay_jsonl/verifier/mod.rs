//! The verifier of a replay: one pass over the lines.
//!
//! Start reading at [`ReplayVerifier::run`]. The module `conclusion` adds the checks at the end of the
//! file.

mod conclusion;

use std::io::{self, BufRead};

use reenact_formats::replay_jsonl::canonical::is_canonical;
use reenact_formats::replay_jsonl::hash::{self, ReplayHashCheck};
use reenact_formats::replay_jsonl::{
    LineEnding, LineFault, ReplayJsonlEventKind, ReplayJsonlEventView, ReplayJsonlField, ReplayLine,
    ReplayLineReader, ReplayTotals, TimestampCache, VERSION, field,
};
use reenact_json::digest::Hasher;
use reenact_json::scanner::ScannerBuffers;
use reenact_json::{Digest, Limits, Shown, SyntaxError, SyntaxFault, Value};

use super::ReplayJsonlOptions;
use super::code::{FaultCode, Warning};
use super::findings::ReplayFindings;
use super::pairing::{CallPairs, Fingerprint, PairOutcome};
use super::receipt_check::ReceiptCheck;
use crate::report::shown_carried;
use crate::{Options, Report};

/// Text of the replay that is compared later: its digest, and a short form to show.
pub(super) struct ComparedText {
    /// SHA-256 of the unescaped text.
    pub(super) digest: Digest,
    /// Text shortened and escaped for reasons.
    pub(super) shown: String,
}

impl ComparedText {
    /// Takes a string value. Any other value counts as empty.
    pub(super) fn of(value: Value<'_>) -> Self {
        let text = value.string_bytes().unwrap_or_default();
        Self { digest: Digest::of(&text), shown: shown_carried(&String::from_utf8_lossy(&text)) }
    }
}

/// Totals that `SessionEnd` states, as far as they can be read.
#[derive(Default)]
struct SessionTotals {
    /// Number of tool calls.
    tool_calls: Option<u64>,
    /// Sum of the latencies, in milliseconds.
    latency_ms: Option<u64>,
}

/// State of one verification.
pub(super) struct ReplayVerifier<'a> {
    /// Limits for the JSON of each line.
    limits: Limits,
    /// Receipt and digest, as the caller asked for.
    replay_options: ReplayJsonlOptions<'a>,
    /// Hasher that is reused for every value.
    hasher: Hasher,
    /// Buffers of the JSON parser, reused for every line.
    scratch: ScannerBuffers,
    /// Faults and warnings so far.
    findings: ReplayFindings,
    /// Numbers that sum up the session.
    totals: ReplayTotals,
    /// Calls and results by id.
    pairs: CallPairs,
    /// Comparison with the receipt, if there is a readable one.
    receipt: Option<ReceiptCheck<'a>>,
    /// Number of lines that are events.
    events: u64,
    /// Number of lines that are not blank.
    nonblank_lines: u64,
    /// Version of the first header that states one.
    version: Option<u64>,
    /// Number of headers.
    headers: u64,
    /// Session id of the first `SessionStart`.
    session: Option<ComparedText>,
    /// Number of `SessionStart` events.
    session_starts: u64,
    /// Totals of the last `SessionEnd`; `None` if there was none.
    session_end_totals: Option<SessionTotals>,
    /// Parser of timestamps, with the last result cached.
    clock: TimestampCache,
    /// Time of the last event that has one, in nanoseconds since 1970.
    last_time: Option<i128>,
    /// Number of hashes with a value beside them.
    hashes_checked: u64,
    /// Number of calls that carry no params, so that their hash cannot be checked.
    calls_without_params: u64,
    /// Number of events of unknown kinds.
    unknown_events: u64,
    /// Line and tag of the first event of an unknown kind.
    first_unknown: Option<String>,
    /// Number of members of known events that the format does not define.
    unknown_fields: u64,
}

impl<'a> ReplayVerifier<'a> {
    /// Creates the state, and reads the receipt if there is one.
    pub(super) fn new(replay_options: &ReplayJsonlOptions<'a>, options: &Options) -> Self {
        let mut findings = ReplayFindings::default();
        let receipt = replay_options
            .receipt
            .and_then(|receipt| ReceiptCheck::read(receipt, &options.limits, &mut findings));
        Self {
            limits: options.limits,
            replay_options: *replay_options,
            hasher: Hasher::new(),
            scratch: ScannerBuffers::default(),
            findings,
            totals: ReplayTotals::default(),
            pairs: CallPairs::default(),
            receipt,
            events: 0,
            nonblank_lines: 0,
            version: None,
            headers: 0,
            session: None,
            session_starts: 0,
            session_end_totals: None,
            clock: TimestampCache::default(),
            last_time: None,
            hashes_checked: 0,
            calls_without_params: 0,
            unknown_events: 0,
            first_unknown: None,
            unknown_fields: 0,
        }
    }

    /// Reads to the end. Returns the report and the numbers that sum up the session.
    ///
    /// # Errors
    /// Fails only if the reader does.
    pub(super) fn run(mut self, reader: impl BufRead) -> io::Result<(Report, ReplayTotals)> {
        let mut lines = ReplayLineReader::new(reader);
        if self.replay_options.digest || self.receipt.as_ref().is_some_and(ReceiptCheck::names_replay_hash) {
            lines = lines.with_hashing();
        }
        while let Some(line) = lines.next_line()? {
            self.verify_line(line);
        }
        let digest = lines.digest();
        let totals = self.totals;
        Ok((self.into_report(digest), totals))
    }

    /// Verifies one line.
    fn verify_line(&mut self, line: ReplayLine<'_>) {
        let number = line.number;
        match line.ending {
            LineEnding::LineFeed => {}
            LineEnding::CarriageReturn => self.findings.warn(number, Warning::Crlf),
            LineEnding::EndOfFile => self.findings.warn(number, Warning::NoFinalNewline),
        }
        let text = match line.text {
            Ok(text) => text,
            Err(length) => {
                self.nonblank_lines += 1;
                let max = reenact_formats::replay_jsonl::lines::MAX_LINE_BYTES;
                let text = format!("it has {length} bytes, more than {max}, and was not read");
                return self.findings.push_at_line(number, FaultCode::LineTooLong, text);
            }
        };
        let unmarked = text.strip_prefix(b"\xEF\xBB\xBF").filter(|_| number == 1);
        if unmarked.is_some() {
            self.findings.push_at_line(
                number,
                FaultCode::Bom,
                "a byte order mark, which a reader takes for a part of the text",
            );
        }
        let text = unmarked.unwrap_or(text);
        if text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            return self.findings.warn(number, Warning::BlankLine);
        }
        self.nonblank_lines += 1;
        match ReplayJsonlEventView::read_with_buffers(text, &self.limits, &mut self.scratch) {
            Ok(event) => self.verify_event(number, text, &event),
            Err(fault) => self.add_unreadable_line(number, text, line.ending, &fault),
        }
    }

    /// Adds the fault of a line that is not an event.
    fn add_unreadable_line(&mut self, number: u64, text: &[u8], ending: LineEnding, fault: &LineFault) {
        let code = match fault {
            LineFault::NotAnObject { .. } => FaultCode::NotObject,
            LineFault::NoTag { .. } => FaultCode::NoEventTag,
            LineFault::Syntax(error) => match error.fault {
                _ if ending == LineEnding::EndOfFile && is_cut_off(text, error) => {
                    let text = "the file ends inside this line: its writer was stopped";
                    return self.findings.push_at_line(number, FaultCode::TornTail, text);
                }
                SyntaxFault::NotUtf8 | SyntaxFault::Utf16 => FaultCode::NotUtf8,
                SyntaxFault::DuplicateName { .. } => FaultCode::DuplicateName,
                _ => FaultCode::BadJson,
            },
            _ => FaultCode::BadJson,
        };
        match fault {
            LineFault::Syntax(error) => {
                let column = error.position(text).column;
                self.findings.push_at_line(number, code, format_args!("column {column}: {fault}"));
            }
            _ => self.findings.push_at_line(number, code, fault),
        }
    }

    /// Verifies one event.
    fn verify_event(&mut self, number: u64, text: &[u8], event: &ReplayJsonlEventView<'_>) {
        self.events += 1;
        if !self.findings.has_warned(Warning::NotCanonical)
            && let Some(whole) = event.object()
            // A text in the canonical form of RFC 8785 differs at most in its numbers, and both forms
            // are accepted.
            && !(whole.is_canonical() || whole.text().len() == text.len() && is_canonical(whole))
        {
            self.findings.warn(number, Warning::NotCanonical);
        }
        // An event that the format does not define is counted and noted, and nothing that it holds or follows is a fault.
        // Only the header must be the first line of the file.
        let Some(kind) = event.kind else {
            if self.events == 1 {
                self.add_missing_header(number);
            }
            self.unknown_events += 1;
            let name = event.tag.string().unwrap_or_default();
            self.first_unknown.get_or_insert_with(|| format!("line {number}: {}", Shown::new(&name)));
            return;
        };
        self.check_order(number, kind);
        self.check_time(number, event);
        let code = if kind == ReplayJsonlEventKind::ReplayHeader {
            FaultCode::HeaderField
        } else {
            FaultCode::Field
        };
        let findings = &mut self.findings;
        self.unknown_fields += field::faults(kind, event, &mut self.clock, |fault| {
            findings.push_at_line(number, code, format_args!("{kind}: {fault}"));
        });
        match kind {
            ReplayJsonlEventKind::ReplayHeader => self.check_header(number, event),
            ReplayJsonlEventKind::SessionStart => self.check_start(event),
            ReplayJsonlEventKind::ToolCall => self.check_call(number, event),
            ReplayJsonlEventKind::ToolResult => self.check_result(number, event),
            ReplayJsonlEventKind::PlanStart => {
                if let Some(against) = &mut self.receipt {
                    against.plan = event.get(ReplayJsonlField::PlanHash).map(ComparedText::of);
                }
            }
            ReplayJsonlEventKind::Verification => self.check_verification(number, event),
            ReplayJsonlEventKind::SessionEnd => self.read_session_end(event),
            ReplayJsonlEventKind::StepComplete => {}
        }
    }

    /// Checks which events may come where.
    fn check_order(&mut self, number: u64, kind: ReplayJsonlEventKind) {
        let is = |wanted| kind == wanted;
        if self.events == 1 && !is(ReplayJsonlEventKind::ReplayHeader) {
            self.add_missing_header(number);
        }
        if is(ReplayJsonlEventKind::ReplayHeader) {
            self.headers += 1;
            if self.headers > 1 {
                self.findings.push_at_line(
                    number,
                    FaultCode::HeaderRepeated,
                    "a second ReplayHeader: is this more than one file?",
                );
            }
            return;
        }
        if is(ReplayJsonlEventKind::SessionStart) {
            self.session_starts += 1;
            if self.session_starts > 1 {
                self.findings.push_at_line(number, FaultCode::SessionStartRepeated, "a second SessionStart");
            }
        } else if self.session_starts == 0 && !self.findings.has_fault(FaultCode::SessionStartNotFirst) {
            self.findings.push_at_line(
                number,
                FaultCode::SessionStartNotFirst,
                "an event before the SessionStart",
            );
        }
        if self.session_end_totals.is_some() {
            if is(ReplayJsonlEventKind::SessionEnd) {
                self.findings.push_at_line(number, FaultCode::SessionEndRepeated, "a second SessionEnd");
            } else {
                self.findings.push_at_line(number, FaultCode::EventAfterEnd, "an event after the SessionEnd");
            }
        }
    }

    /// Adds the fault of a first event that is no header.
    fn add_missing_header(&mut self, number: u64) {
        self.findings.push_at_line(number, FaultCode::HeaderNotFirst, "the first event is no ReplayHeader");
    }

    /// Warns if time runs backwards. That is no fault, since parallel calls return in any order.
    fn check_time(&mut self, number: u64, event: &ReplayJsonlEventView<'_>) {
        let Some(now) = event.get(ReplayJsonlField::T).and_then(|t| self.clock.instant(t)) else { return };
        if self.last_time.is_some_and(|before| now < before) {
            self.findings.warn(number, Warning::TimeBackwards);
        }
        self.last_time = Some(now);
    }

    /// Checks the version of a header.
    fn check_header(&mut self, number: u64, event: &ReplayJsonlEventView<'_>) {
        let Some(version) = event.get(ReplayJsonlField::ReplayVersion).and_then(field::unsigned) else {
            return;
        };
        if self.version.is_none() && version != VERSION {
            let text = format!("replay_version is {version}, only {VERSION} is known");
            self.findings.push_at_line(number, FaultCode::Version, text);
        }
        self.version = self.version.or(Some(version));
    }

    /// Takes the session id of the first `SessionStart`, and compares it with the receipt.
    fn check_start(&mut self, event: &ReplayJsonlEventView<'_>) {
        if self.session_starts > 1 {
            return;
        }
        self.session = event.get(ReplayJsonlField::SessionId).map(ComparedText::of);
        if let Some(against) = &mut self.receipt {
            against.check_start(event, &mut self.findings);
        }
    }

    /// Checks hash, id and receipt entry of a call.
    fn check_call(&mut self, number: u64, event: &ReplayJsonlEventView<'_>) {
        let params_hash = event.get(ReplayJsonlField::ParamsHash);
        match event.get(ReplayJsonlField::Params) {
            Some(params) => {
                self.hashes_checked += 1;
                self.check_params_hash(number, params, params_hash);
            }
            None => self.calls_without_params += 1,
        }
        let Some(id) = event.get(ReplayJsonlField::Id).and_then(|id| id.with_string_bytes(Fingerprint::of))
        else {
            return;
        };
        let receipt = self.receipt.as_ref().map_or(0, |against| against.entry_of_call(id, event));
        match self.pairs.call(id, number, receipt) {
            PairOutcome::First => {
                self.totals.tool_calls += 1;
                if let Some(against) = &mut self.receipt {
                    against.check_call(number, receipt, event, &mut self.findings);
                }
            }
            PairOutcome::Full => self.add_too_many_calls(number),
            _ => {
                let id = shown_field(event, ReplayJsonlField::Id);
                self.findings.push_at_line(
                    number,
                    FaultCode::CallIdRepeated,
                    format_args!("a call \"{id}\" was made before"),
                );
            }
        }
    }

    /// Adds the fault of a full pairing table, once.
    fn add_too_many_calls(&mut self, number: u64) {
        if !self.findings.has_fault(FaultCode::TooManyCalls) {
            let text = "more calls than can be paired; from here on they were not";
            self.findings.push_at_line(number, FaultCode::TooManyCalls, text);
        }
    }

    /// Checks that a result belongs to a call, and compares it with the receipt.
    fn check_result(&mut self, number: u64, event: &ReplayJsonlEventView<'_>) {
        let unknown = event.get(ReplayJsonlField::Unknown);
        let latency = event.get(ReplayJsonlField::LatencyMs).and_then(field::unsigned);
        // A 0 that stands for an unknown latency adds nothing to the sum, and is no latency.
        let latency = latency
            .filter(|latency| *latency != 0 || !field::is_placeholder(unknown, ReplayJsonlField::LatencyMs));
        // A utility that is not known is no 0 in the average.
        let is_known = !field::is_placeholder(unknown, ReplayJsonlField::StepUtility);
        let utility = event.get(ReplayJsonlField::StepUtility).filter(|_| is_known).and_then(field::utility);
        self.totals.add_result(latency, utility);
        let Some(id) = event.get(ReplayJsonlField::Id).and_then(|id| id.with_string_bytes(Fingerprint::of))
        else {
            return;
        };
        let (paired, entry) = self.pairs.result(id);
        match paired {
            PairOutcome::Full => return self.add_too_many_calls(number),
            PairOutcome::Repeated => {
                let text =
                    format!("the call \"{}\" has a result already", shown_field(event, ReplayJsonlField::Id));
                return self.findings.push_at_line(number, FaultCode::ResultRepeated, text);
            }
            PairOutcome::WithoutCall => {
                let text = format!("no call \"{}\" came before", shown_field(event, ReplayJsonlField::Id));
                self.findings.push_at_line(number, FaultCode::ResultWithoutCall, text);
            }
            PairOutcome::First => {}
        }
        if let Some(against) = &mut self.receipt {
            let entry = if entry == 0 { against.entry_of_id(id) } else { entry };
            against.check_result(number, entry, event, &mut self.findings);
        }
    }

    /// Checks that a `Verification` event has as many exit codes as commands.
    fn check_verification(&mut self, number: u64, event: &ReplayJsonlEventView<'_>) {
        let count = |field| event.get(field).map_or(0, |list| list.elements().count());
        let (commands, codes) = (count(ReplayJsonlField::Commands), count(ReplayJsonlField::ExitCodes));
        if commands != codes {
            let text = format!("{commands} commands, but {codes} exit codes");
            self.findings.push_at_line(number, FaultCode::VerificationLengths, text);
        }
        if let Some(against) = &mut self.receipt {
            against.add_verification(event);
        }
    }

    /// Takes the totals of a `SessionEnd`.
    fn read_session_end(&mut self, event: &ReplayJsonlEventView<'_>) {
        self.session_end_totals = Some(SessionTotals {
            tool_calls: event.get(ReplayJsonlField::TotalToolCalls).and_then(field::unsigned),
            latency_ms: event.get(ReplayJsonlField::TotalLatencyMs).and_then(field::unsigned),
        });
        if let Some(against) = &mut self.receipt {
            against.set_end(event);
        }
    }

    /// Checks `params_hash` against the params beside it.
    fn check_params_hash(&mut self, number: u64, value: Value<'_>, carried_hash: Option<Value<'_>>) {
        let (name, code) = ("params_hash", FaultCode::ParamsHash);
        match hash::check(value, carried_hash, &mut self.hasher) {
            ReplayHashCheck::Matches => {}
            ReplayHashCheck::Differs(computed) => {
                let found = match carried_hash {
                    None => "missing".into(),
                    Some(hash) => hash.string().map_or("no string".into(), |text| shown_carried(&text)),
                };
                self.findings.push_at_line(
                    number,
                    code,
                    format_args!("{name} is {found}, recomputed sha256:{computed}"),
                );
            }
            ReplayHashCheck::Uncomputable(fault) => {
                self.findings.push_at_line(
                    number,
                    code,
                    format_args!("{name} cannot be recomputed: {fault}"),
                );
            }
        }
    }
}

/// Returns true if a text is not JSON only because it ends too early.
fn is_cut_off(text: &[u8], error: &SyntaxError) -> bool {
    let rest = text.get(error.offset..).unwrap_or_default();
    match error.fault {
        SyntaxFault::End { .. } => true,
        SyntaxFault::Number => {
            rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
        }
        SyntaxFault::Unexpected { .. } => {
            ["true", "false", "null"].iter().any(|word| word.as_bytes().starts_with(rest))
        }
        // Half of a pair of surrogate escapes.
        SyntaxFault::LoneSurrogate => rest.len() < 8,
        _ => false,
    }
}

/// Returns a string member of an event, shortened and escaped.
fn shown_field(event: &ReplayJsonlEventView<'_>, field: ReplayJsonlField) -> String {
    event.get(field).and_then(|value| value.string()).map_or(String::new(), |text| shown_carried(&text))
}
