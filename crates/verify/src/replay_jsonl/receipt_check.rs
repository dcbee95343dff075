//! The comparison of a replay with its receipt.
//!
//! Receipts exist in two generations. Entries of the first have call ids; those of the second are
//! matched by tool and params hash, in order.

use reenact_formats::replay_jsonl::receipt::{MAX_RECEIPT_BYTES, ReceiptGeneration};
use reenact_formats::replay_jsonl::{
    Receipt, ReplayJsonlEventView, ReplayJsonlField, ReplayTotals, field, timestamp,
};
use reenact_json::canonical::ByteSink;
use reenact_json::digest::{Hasher, constant_time_eq};
use reenact_json::{Digest, Limits, Value};

use super::code::FaultCode;
use super::findings::ReplayFindings;
use super::pairing::{ByFingerprint, Fingerprint};
use super::verifier::ComparedText;
use crate::report::shown_carried;

/// A receipt, and which of its entries the replay has matched so far.
pub(super) struct ReceiptCheck<'a> {
    /// The parsed receipt.
    receipt: Receipt<'a>,
    /// Number of a receipt entry, counted from 1. First generation: the entry of each id. Second
    /// generation: the next unmatched entry of each tool and params hash.
    entries: ByFingerprint<u32>,
    /// Second generation: for each entry, the number of the next one with the same tool and params
    /// hash, or 0.
    next_same_call: Vec<u32>,
    /// True for each entry that a call of the replay has matched.
    is_matched: Vec<bool>,
    /// Plan hash of the last `PlanStart`.
    pub(super) plan: Option<ComparedText>,
    /// All verification commands of the session.
    all_runs: VerificationRuns,
    /// Commands of the last `Verification` event alone.
    last_run: VerificationRuns,
    /// True after a `SessionEnd`.
    has_session_end: bool,
    /// Confidence that the `SessionEnd` states.
    confidence: Option<f32>,
    /// Notes for the report.
    notes: Vec<String>,
}

/// Verification commands and their exit codes, as digests, since there may be many.
#[derive(Default)]
struct VerificationRuns {
    /// Hash over all commands, each with its length.
    commands: Hasher,
    /// Hash over all exit codes.
    exit_codes: Hasher,
    /// Sum of `verification_delta`.
    delta: i64,
    /// True if every exit code is 0.
    all_passed: bool,
    /// Number of commands.
    count: u64,
}

impl VerificationRuns {
    /// Adds the commands and exit codes of one event. A command that is not a string counts as empty,
    /// an exit code that is not an integer as `i64::MIN`.
    fn add(
        &mut self,
        commands: impl Iterator<Item = Option<String>>,
        codes: impl Iterator<Item = Option<i64>>,
    ) {
        for command in commands {
            let command = command.unwrap_or_default();
            self.commands.put(&(command.len() as u64).to_le_bytes());
            self.commands.put(command.as_bytes());
            self.count += 1;
        }
        for code in codes {
            self.exit_codes.put(&code.unwrap_or(i64::MIN).to_le_bytes());
            self.all_passed &= code == Some(0);
        }
    }

    /// Returns the digests of the commands and of the exit codes, and resets both.
    fn finish(&mut self) -> (Digest, Digest) {
        (self.commands.finish(), self.exit_codes.finish())
    }
}

/// Returns a string value as owned text.
fn text(value: Value<'_>) -> Option<String> {
    value.string().map(std::borrow::Cow::into_owned)
}

impl<'a> ReceiptCheck<'a> {
    /// Reads a receipt; `None`, with a fault, if it cannot be compared with anything.
    pub(super) fn read(bytes: &'a [u8], limits: &Limits, findings: &mut ReplayFindings) -> Option<Self> {
        if bytes.len() as u64 > MAX_RECEIPT_BYTES {
            findings.push(FaultCode::BadReceipt, format_args!("it is larger than {MAX_RECEIPT_BYTES} bytes"));
            return None;
        }
        let receipt = match Receipt::read(bytes, limits) {
            Ok(receipt) => receipt,
            Err(reenact_formats::replay_jsonl::ReceiptError::Syntax(error)) => {
                findings
                    .push(FaultCode::BadReceipt, format_args!("it is not JSON: {}", error.describe(bytes)));
                return None;
            }
            Err(error) => {
                findings.push(FaultCode::BadReceipt, error);
                return None;
            }
        };
        let count = receipt.tool_calls().len();
        let mut against = Self {
            receipt,
            entries: ByFingerprint::default(),
            next_same_call: vec![0; count],
            is_matched: vec![false; count],
            plan: None,
            all_runs: VerificationRuns { all_passed: true, ..VerificationRuns::default() },
            last_run: VerificationRuns::default(),
            has_session_end: false,
            confidence: None,
            notes: Vec::new(),
        };
        against.index_calls(findings);
        against.check_digest(findings);
        if against.receipt.member("signature").is_some_and(|signature| !signature.is_null()) {
            against.notes.push("the receipt carries a signature, which cannot be checked here".into());
        }
        Some(against)
    }

    /// Fills `entries` and `next_same_call`.
    fn index_calls(&mut self, findings: &mut ReplayFindings) {
        // Entries are added from last to first, so that each list begins with its first entry.
        for (at, call) in self.receipt.tool_calls().iter().enumerate().rev() {
            let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
            let key = match self.receipt.generation {
                ReceiptGeneration::First => {
                    call.member("id").and_then(|id| id.with_string_bytes(Fingerprint::of))
                }
                ReceiptGeneration::Second => Some(call_key(call.member("tool"), call.member("params_hash"))),
            };
            let Some(later) = key.and_then(|key| self.entries.insert(key, number)) else { continue };
            match self.receipt.generation {
                ReceiptGeneration::Second => self.next_same_call[at] = later,
                ReceiptGeneration::First => {
                    let id = call.member("id").and_then(|id| id.string()).unwrap_or_default();
                    let text = format!(
                        "tool_calls[{}]: the id \"{}\" stands there twice",
                        later - 1,
                        shown_carried(&id)
                    );
                    findings.push(FaultCode::CallRepeated, text);
                }
            }
        }
    }

    /// Compares the digest that a second-generation receipt carries of itself.
    fn check_digest(&mut self, findings: &mut ReplayFindings) {
        let Some(carried_digest) = self.receipt.member("canonical_json_sha256") else { return };
        let is_hash =
            |computed: &Digest| carried_digest.with_string_bytes(|text| computed.is_hex(text)) == Some(true);
        match self.receipt.digest() {
            Ok(computed) if is_hash(&computed) => {}
            Ok(computed) => {
                let found = shown_carried(&carried_digest.string().unwrap_or_default());
                let text = format!("canonical_json_sha256 is {found}, recomputed {computed}");
                findings.push(FaultCode::ReceiptDigest, text);
            }
            Err(fault) => findings.push(
                FaultCode::ReceiptDigest,
                format_args!("canonical_json_sha256 cannot be recomputed: {fault}"),
            ),
        }
    }

    /// Returns true if the receipt names the hash of the replay file.
    pub(super) fn names_replay_hash(&self) -> bool {
        self.receipt.member("replay_hash").is_some_and(|hash| !hash.is_null())
    }

    /// Returns the notes so far.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of a call's entry, counted from 1, or 0 if there is none.
    pub(super) fn entry_of_call(&self, id: Fingerprint, call: &ReplayJsonlEventView<'_>) -> u32 {
        match self.receipt.generation {
            ReceiptGeneration::First => self.entry_of_id(id),
            ReceiptGeneration::Second => {
                let key = call_key(call.get(ReplayJsonlField::Tool), call.get(ReplayJsonlField::ParamsHash));
                self.entries.get(&key).copied().unwrap_or(0)
            }
        }
    }

    /// Returns the number of the entry with this id, or 0 if there is none or entries have no ids.
    pub(super) fn entry_of_id(&self, id: Fingerprint) -> u32 {
        match self.receipt.generation {
            ReceiptGeneration::First => self.entries.get(&id).copied().unwrap_or(0),
            ReceiptGeneration::Second => 0,
        }
    }

    /// Returns the position and the value of an entry by its number.
    fn receipt_call(&self, entry: u32) -> Option<(usize, Value<'a>)> {
        let at = (entry as usize).checked_sub(1)?;
        Some((at, *self.receipt.tool_calls().get(at)?))
    }

    /// Compares session id, policy and issue of the `SessionStart`.
    pub(super) fn check_start(&mut self, event: &ReplayJsonlEventView<'_>, findings: &mut ReplayFindings) {
        let mut differ = |code, name: &str, own: Option<Value<'_>>, other: Option<Value<'_>>| {
            let string_of = |value: Option<Value<'_>>| value.and_then(text);
            if string_of(own) != string_of(other) {
                let shown = |value| string_of(value).map_or("missing".into(), |text| shown_carried(&text));
                let text = format!("{name} is {}, in the replay {}", shown(other), shown(own));
                findings.push(code, text);
            }
        };
        let session = self.receipt.member("session_id");
        differ(FaultCode::SessionId, "session_id", event.get(ReplayJsonlField::SessionId), session);
        differ(FaultCode::Policy, "the policy", field::policy(event), self.receipt.policy());
        if let Some(issue) = self.receipt.member("issue_number") {
            let own = event.get(ReplayJsonlField::IssueNumber).and_then(field::signed);
            let other = field::signed(issue);
            if own != other || other.is_none() && !issue.is_null() {
                let shown = |issue: Option<i64>| issue.map_or("none".into(), |issue| issue.to_string());
                let text = format!("issue_number is {}, in the replay {}", shown(other), shown(own));
                findings.push(FaultCode::Issue, text);
            }
        }
        self.compare_time("started_at", "SessionStart", event);
    }

    /// Adds a note if a time of the receipt is not that of the event. A receipt is written after the
    /// events, so that is not a fault.
    fn compare_time(&mut self, name: &str, event_name: &str, event: &ReplayJsonlEventView<'_>) {
        let other = self.receipt.member(name).and_then(timestamp::instant);
        let own = event.get(ReplayJsonlField::T).and_then(timestamp::instant);
        if let (Some(own), Some(other)) = (own, other)
            && own != other
        {
            self.notes.push(format!("{name} of the receipt is not the time of the {event_name}"));
        }
    }

    /// Compares a call with its entry.
    pub(super) fn check_call(
        &mut self,
        line: u64,
        entry: u32,
        event: &ReplayJsonlEventView<'_>,
        findings: &mut ReplayFindings,
    ) {
        let Some((at, other)) = self.receipt_call(entry) else {
            let id = event.get(ReplayJsonlField::Id).and_then(|id| id.string()).unwrap_or_default();
            let text = format!("the receipt has no call \"{}\"", shown_carried(&id));
            return findings.push_at_line(line, FaultCode::CallNotInReceipt, text);
        };
        self.is_matched[at] = true;
        if self.receipt.generation == ReceiptGeneration::Second {
            // The next call of the same tool and params belongs to the next entry.
            let key = call_key(event.get(ReplayJsonlField::Tool), event.get(ReplayJsonlField::ParamsHash));
            match self.next_same_call[at] {
                0 => self.entries.remove(&key),
                next => self.entries.insert(key, next),
            };
            return;
        }
        check_text(
            line,
            FaultCode::Tool,
            "tool",
            event.get(ReplayJsonlField::Tool),
            other.member("tool"),
            findings,
        );
        let own = event.get(ReplayJsonlField::ParamsHash);
        check_text(
            line,
            FaultCode::CallParamsHash,
            "params_hash",
            own,
            other.member("params_hash"),
            findings,
        );
    }

    /// Compares a result with the entry of its call.
    pub(super) fn check_result(
        &mut self,
        line: u64,
        entry: u32,
        event: &ReplayJsonlEventView<'_>,
        findings: &mut ReplayFindings,
    ) {
        let Some((_, other)) = self.receipt_call(entry) else { return };
        let own = event.get(ReplayJsonlField::OutputHash);
        check_text(line, FaultCode::OutputHash, "output_hash", own, other.member("output_hash"), findings);
        // A value that is not a utility was already reported as a fault of the line.
        let own = event.get(ReplayJsonlField::StepUtility).and_then(field::utility);
        if self.receipt.generation == ReceiptGeneration::First && own.is_some() {
            let other = other.member("step_utility").and_then(field::single_precision);
            if own != other {
                let shown =
                    |value: Option<f32>| value.map_or("no number".into(), |value| format!("{value:?}"));
                let text = format!("step_utility is {}, in the receipt {}", shown(own), shown(other));
                findings.push_at_line(line, FaultCode::Utility, text);
            }
        }
        let own = event.get(ReplayJsonlField::LatencyMs).and_then(field::unsigned);
        let other = other.member("latency_ms").and_then(field::unsigned);
        if own.is_some() && own != other {
            let shown = |value: Option<u64>| value.map_or("no integer".into(), |value| value.to_string());
            let text = format!("latency_ms is {}, in the receipt {}", shown(own), shown(other));
            findings.push_at_line(line, FaultCode::Latency, text);
        }
    }

    /// Adds the commands of a `Verification` event.
    pub(super) fn add_verification(&mut self, event: &ReplayJsonlEventView<'_>) {
        let list = |field| event.get(field).into_iter().flat_map(|list: Value<'_>| list.elements());
        let delta =
            event.get(ReplayJsonlField::VerificationDelta).and_then(field::signed).unwrap_or_default();
        self.last_run = VerificationRuns { all_passed: true, ..VerificationRuns::default() };
        for ran in [&mut self.all_runs, &mut self.last_run] {
            ran.add(
                list(ReplayJsonlField::Commands).map(text),
                list(ReplayJsonlField::ExitCodes).map(field::signed),
            );
            ran.delta = ran.delta.saturating_add(delta);
        }
    }

    /// Remembers the `SessionEnd`.
    pub(super) fn set_end(&mut self, event: &ReplayJsonlEventView<'_>) {
        self.has_session_end = true;
        self.confidence = event.get(ReplayJsonlField::Confidence).and_then(field::single_precision);
        self.compare_time("completed_at", "SessionEnd", event);
    }

    /// Compares everything that is known only at the end of the replay.
    pub(super) fn check_at_end(
        &mut self,
        totals: &ReplayTotals,
        file: Option<Digest>,
        findings: &mut ReplayFindings,
    ) {
        for (at, _) in self.is_matched.iter().enumerate().filter(|(_, is_met)| !**is_met) {
            let call = self.receipt.tool_calls()[at];
            let name = call.member("id").or(call.member("tool")).and_then(text).unwrap_or_default();
            let text = format!("tool_calls[{at}] (\"{}\") is not in the replay", shown_carried(&name));
            findings.push(FaultCode::CallNotInReplay, text);
        }
        self.check_plan(findings);
        self.check_verification(findings);
        if let (true, Some(own), ReceiptGeneration::First) =
            (self.has_session_end, self.confidence, self.receipt.generation)
        {
            let other = self.receipt.member("final_confidence").and_then(field::single_precision);
            if Some(own) != other {
                let shown = other.map_or("no number".into(), |other| format!("{other:?}"));
                findings.push(
                    FaultCode::Confidence,
                    format!("final_confidence is {shown}, in the replay {own:?}"),
                );
            }
        }
        self.check_metrics(totals, findings);
        if self.names_replay_hash()
            && let Some(file) = file
        {
            let other = self.receipt.member("replay_hash");
            if other.and_then(field::digest) != Some(file) {
                let shown = other.and_then(text).map_or("no string".into(), |text| shown_carried(&text));
                findings.push(
                    FaultCode::ReplayHash,
                    format!("replay_hash is {shown}, the file is sha256:{file}"),
                );
            }
        }
    }

    /// Compares the plan hash.
    fn check_plan(&mut self, findings: &mut ReplayFindings) {
        let other = self.receipt.member("plan_hash").filter(|hash| !hash.is_null()).map(ComparedText::of);
        // The second generation has no plan hash.
        if other.is_none() && self.receipt.generation == ReceiptGeneration::Second {
            return;
        }
        if self.plan.as_ref().map(|plan| plan.digest) != other.as_ref().map(|other| other.digest) {
            let shown = |compared: &Option<ComparedText>| {
                compared.as_ref().map_or("missing".into(), |compared| compared.shown.clone())
            };
            let text = format!("plan_hash is {}, in the replay {}", shown(&other), shown(&self.plan));
            findings.push(FaultCode::PlanHash, text);
        }
    }

    /// Compares commands, exit codes and delta. A receipt tells either of all runs or only of the last
    /// one.
    fn check_verification(&mut self, findings: &mut ReplayFindings) {
        if self.receipt.generation == ReceiptGeneration::Second
            && self.receipt.member("verification").is_none()
        {
            return;
        }
        let (commands, codes) = self.receipt.verification();
        let mut wanted = VerificationRuns::default();
        wanted.add(commands.into_iter().map(text), codes.into_iter().map(field::signed));
        let wanted = wanted.finish();
        let delta = self.receipt.member("verification").and_then(|ran| ran.member("verification_delta"));
        let delta = delta.and_then(field::signed);
        let is_first = self.receipt.generation == ReceiptGeneration::First;
        // Either all runs or the last one must match.
        let (all_passed, count) = (self.all_runs.all_passed, self.all_runs.count);
        let candidates = [&mut self.all_runs, &mut self.last_run].map(|ran| (ran.finish(), ran.delta));
        let holds = |(ran, own_delta): &((Digest, Digest), i64)| {
            *ran == wanted && (!is_first || delta.unwrap_or_default() == *own_delta)
        };
        if !candidates.iter().any(holds) {
            let [(own, _), _] = candidates;
            let what = match (own.0 == wanted.0, own.1 == wanted.1) {
                (false, _) => "the commands are",
                (true, false) => "the exit codes are",
                (true, true) => "verification_delta is",
            };
            findings.push(FaultCode::Verification, format!("{what} not as in the replay"));
        }
        let passed = self.receipt.member("metrics").and_then(|metrics| metrics.member("verification_passed"));
        if let Some(passed) = passed.and_then(|passed| passed.boolean())
            && (count > 0 && passed != all_passed)
        {
            findings.push(
                FaultCode::Verification,
                format!("verification_passed is {passed}, the exit codes say otherwise"),
            );
        }
    }

    /// Compares the number of calls and their total latency.
    fn check_metrics(&self, totals: &ReplayTotals, findings: &mut ReplayFindings) {
        let Some(metrics) = self.receipt.member("metrics") else { return };
        for (name, own) in
            [("tool_calls", Some(totals.tool_calls)), ("tool_latency_ms_total", totals.total_latency_ms())]
        {
            let Some(other) = metrics.member(name) else { continue };
            if field::unsigned(other) != own {
                let own = own.map_or("more than 64 bits hold".into(), |own| own.to_string());
                findings.push(
                    FaultCode::Metrics,
                    format!("metrics.{name} is not {own}, as counted in the replay"),
                );
            }
        }
    }
}

/// Returns the key by which second-generation receipts match calls: tool and params hash.
fn call_key(tool: Option<Value<'_>>, params_hash: Option<Value<'_>>) -> Fingerprint {
    let spelled = |value: Option<Value<'_>>| value.and_then(text).unwrap_or_default();
    let tool = spelled(tool);
    Fingerprint::of(format!("{}:{tool}{}", tool.len(), spelled(params_hash)).as_bytes())
}

/// Compares a string of the event at `line` with that of the receipt.
fn check_text(
    line: u64,
    code: FaultCode,
    name: &str,
    own: Option<Value<'_>>,
    other: Option<Value<'_>>,
    findings: &mut ReplayFindings,
) {
    let string_of = |value: Option<Value<'_>>| value.and_then(text);
    // A value that is not a string was already reported as a fault of the line.
    let is_same =
        |own: &str| string_of(other).is_some_and(|other| constant_time_eq(own.as_bytes(), other.as_bytes()));
    if string_of(own).is_some_and(|own| !is_same(&own)) {
        let shown = |value| string_of(value).map_or("missing".into(), |text| shown_carried(&text));
        findings.push_at_line(
            line,
            code,
            format!("{name} is {}, in the receipt {}", shown(own), shown(other)),
        );
    }
}
