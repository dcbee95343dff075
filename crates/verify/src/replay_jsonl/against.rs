//! The replay against its receipt, by id where there are ids.

use reenact_formats::replay_jsonl::receipt::{Generation, LARGEST};
use reenact_formats::replay_jsonl::{EventView, Field, Figures, Receipt, clock, field};
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits, Value};

use super::code::Code;
use super::finding::Findings;
use super::judge::Said;
use super::pair::{ByFingerprint, Fingerprint};
use crate::report::carried;

/// A receipt, and what of it was met in the replay.
pub(super) struct Against<'a> {
    receipt: Receipt<'a>,
    /// First generation: the entry of each id. Second: the next entry of each tool and params hash. Counted from 1.
    entries: ByFingerprint<u32>,
    /// Second generation: the entry after each one of the same tool and params hash.
    after: Vec<u32>,
    is_met: Vec<bool>,
    pub(super) plan: Option<Said>,
    ran: Ran,
    last_ran: Ran,
    has_ended: bool,
    confidence: Option<f32>,
    notes: Vec<String>,
}

/// Commands and exit codes, as digests: there may be many.
#[derive(Default)]
struct Ran {
    commands: Hasher,
    codes: Hasher,
    delta: i64,
    all_passed: bool,
    count: u64,
}

impl Ran {
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
            self.codes.put(&code.unwrap_or(i64::MIN).to_le_bytes());
            self.all_passed &= code == Some(0);
        }
    }

    fn finish(&mut self) -> (Digest, Digest) {
        (self.commands.finish(), self.codes.finish())
    }
}

fn text(value: Value<'_>) -> Option<String> {
    value.string().map(std::borrow::Cow::into_owned)
}

impl<'a> Against<'a> {
    /// Reads a receipt; `None` if it cannot be held against anything.
    pub(super) fn read(bytes: &'a [u8], limits: &Limits, findings: &mut Findings) -> Option<Self> {
        if bytes.len() as u64 > LARGEST {
            findings.fault(Code::BadReceipt, format_args!("it is larger than {LARGEST} bytes"));
            return None;
        }
        let receipt = match Receipt::read(bytes, limits) {
            Ok(receipt) => receipt,
            Err(reenact_formats::replay_jsonl::ReceiptError::Syntax(error)) => {
                findings.fault(Code::BadReceipt, format_args!("it is not JSON: {}", error.describe(bytes)));
                return None;
            }
            Err(error) => {
                findings.fault(Code::BadReceipt, error);
                return None;
            }
        };
        let count = receipt.calls().len();
        let mut against = Self {
            receipt,
            entries: ByFingerprint::default(),
            after: vec![0; count],
            is_met: vec![false; count],
            plan: None,
            ran: Ran { all_passed: true, ..Ran::default() },
            last_ran: Ran::default(),
            has_ended: false,
            confidence: None,
            notes: Vec::new(),
        };
        against.index(findings);
        against.digest(findings);
        if against.receipt.member("signature").is_some_and(|signature| !signature.is_null()) {
            against.notes.push("the receipt carries a signature, which cannot be checked here".into());
        }
        Some(against)
    }

    fn index(&mut self, findings: &mut Findings) {
        // From the last to the first, so that each list begins with its first entry.
        for (at, call) in self.receipt.calls().iter().enumerate().rev() {
            let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
            let key = match self.receipt.generation {
                Generation::First => call.member("id").and_then(|id| id.read_string(Fingerprint::of)),
                Generation::Second => Some(same_call(call.member("tool"), call.member("params_hash"))),
            };
            let Some(later) = key.and_then(|key| self.entries.insert(key, number)) else { continue };
            match self.receipt.generation {
                Generation::Second => self.after[at] = later,
                Generation::First => {
                    let id = call.member("id").and_then(|id| id.string()).unwrap_or_default();
                    let text =
                        format!("tool_calls[{}]: the id \"{}\" stands there twice", later - 1, carried(&id));
                    findings.fault(Code::CallRepeated, text);
                }
            }
        }
    }

    /// The second generation hashes itself.
    fn digest(&mut self, findings: &mut Findings) {
        let Some(carried_digest) = self.receipt.member("canonical_json_sha256") else { return };
        let is_hash =
            |computed: &Digest| carried_digest.read_string(|text| computed.is_hex(text)) == Some(true);
        match self.receipt.digest() {
            Ok(computed) if is_hash(&computed) => {}
            Ok(computed) => {
                let found = carried(&carried_digest.string().unwrap_or_default());
                let text = format!("canonical_json_sha256 is {found}, recomputed {computed}");
                findings.fault(Code::ReceiptDigest, text);
            }
            Err(fault) => findings.fault(
                Code::ReceiptDigest,
                format_args!("canonical_json_sha256 cannot be recomputed: {fault}"),
            ),
        }
    }

    /// Whether the receipt names the hash of the file.
    pub(super) fn needs_file(&self) -> bool {
        self.receipt.member("replay_hash").is_some_and(|hash| !hash.is_null())
    }

    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The entry of a call, counted from 1; 0 if there is none.
    pub(super) fn entry(&self, id: Fingerprint, call: &EventView<'_>) -> u32 {
        match self.receipt.generation {
            Generation::First => self.entry_of_id(id),
            Generation::Second => {
                let key = same_call(call.get(Field::Tool), call.get(Field::ParamsHash));
                self.entries.get(&key).copied().unwrap_or(0)
            }
        }
    }

    /// The entry of an id, where entries have ids.
    pub(super) fn entry_of_id(&self, id: Fingerprint) -> u32 {
        match self.receipt.generation {
            Generation::First => self.entries.get(&id).copied().unwrap_or(0),
            Generation::Second => 0,
        }
    }

    fn at(&self, entry: u32) -> Option<(usize, Value<'a>)> {
        let at = (entry as usize).checked_sub(1)?;
        Some((at, *self.receipt.calls().get(at)?))
    }

    pub(super) fn start(&mut self, event: &EventView<'_>, findings: &mut Findings) {
        let mut differ = |code, name: &str, own: Option<Value<'_>>, other: Option<Value<'_>>| {
            let said = |value: Option<Value<'_>>| value.and_then(text);
            if said(own) != said(other) {
                let shown = |value| said(value).map_or("missing".into(), |text| carried(&text));
                let text = format!("{name} is {}, in the replay {}", shown(other), shown(own));
                findings.fault(code, text);
            }
        };
        let session = self.receipt.member("session_id");
        differ(Code::SessionId, "session_id", event.get(Field::SessionId), session);
        differ(Code::Policy, "the policy", field::policy(event), self.receipt.policy());
        if let Some(issue) = self.receipt.member("issue_number") {
            let own = event.get(Field::IssueNumber).and_then(field::signed);
            let other = field::signed(issue);
            if own != other || other.is_none() && !issue.is_null() {
                let shown = |issue: Option<i64>| issue.map_or("none".into(), |issue| issue.to_string());
                let text = format!("issue_number is {}, in the replay {}", shown(other), shown(own));
                findings.fault(Code::Issue, text);
            }
        }
        self.compare_time("started_at", "SessionStart", event);
    }

    /// The receipt is written later than the events that it tells of, so that its times need not be theirs.
    fn compare_time(&mut self, name: &str, event_name: &str, event: &EventView<'_>) {
        let other = self.receipt.member(name).and_then(clock::instant);
        let own = event.get(Field::T).and_then(clock::instant);
        if let (Some(own), Some(other)) = (own, other)
            && own != other
        {
            self.notes.push(format!("{name} of the receipt is not the time of the {event_name}"));
        }
    }

    /// Holds a call against its entry.
    pub(super) fn call(&mut self, line: u64, entry: u32, event: &EventView<'_>, findings: &mut Findings) {
        let Some((at, other)) = self.at(entry) else {
            let id = event.get(Field::Id).and_then(|id| id.string()).unwrap_or_default();
            let text = format!("the receipt has no call \"{}\"", carried(&id));
            return findings.at(line, Code::CallNotInReceipt, text);
        };
        self.is_met[at] = true;
        if self.receipt.generation == Generation::Second {
            // The next call of the same tool and params is the next entry.
            let key = same_call(event.get(Field::Tool), event.get(Field::ParamsHash));
            match self.after[at] {
                0 => self.entries.remove(&key),
                next => self.entries.insert(key, next),
            };
            return;
        }
        same_text(line, Code::Tool, "tool", event.get(Field::Tool), other.member("tool"), findings);
        let own = event.get(Field::ParamsHash);
        same_text(line, Code::CallParamsHash, "params_hash", own, other.member("params_hash"), findings);
    }

    /// Holds a result against the entry of its call.
    pub(super) fn result(&mut self, line: u64, entry: u32, event: &EventView<'_>, findings: &mut Findings) {
        let Some((_, other)) = self.at(entry) else { return };
        let own = event.get(Field::OutputHash);
        same_text(line, Code::OutputHash, "output_hash", own, other.member("output_hash"), findings);
        // What is no utility was told already.
        let own = event.get(Field::StepUtility).and_then(field::utility);
        if self.receipt.generation == Generation::First && own.is_some() {
            let other = other.member("step_utility").and_then(field::single);
            if own != other {
                let shown =
                    |value: Option<f32>| value.map_or("no number".into(), |value| format!("{value:?}"));
                let text = format!("step_utility is {}, in the receipt {}", shown(own), shown(other));
                findings.at(line, Code::Utility, text);
            }
        }
        let own = event.get(Field::LatencyMs).and_then(field::unsigned);
        let other = other.member("latency_ms").and_then(field::unsigned);
        if own.is_some() && own != other {
            let shown = |value: Option<u64>| value.map_or("no integer".into(), |value| value.to_string());
            let text = format!("latency_ms is {}, in the receipt {}", shown(own), shown(other));
            findings.at(line, Code::Latency, text);
        }
    }

    pub(super) fn verification(&mut self, event: &EventView<'_>) {
        let list = |field| event.get(field).into_iter().flat_map(|list: Value<'_>| list.elements());
        let delta = event.get(Field::VerificationDelta).and_then(field::signed).unwrap_or_default();
        self.last_ran = Ran { all_passed: true, ..Ran::default() };
        for ran in [&mut self.ran, &mut self.last_ran] {
            ran.add(list(Field::Commands).map(text), list(Field::ExitCodes).map(field::signed));
            ran.delta = ran.delta.saturating_add(delta);
        }
    }

    pub(super) fn end(&mut self, event: &EventView<'_>) {
        self.has_ended = true;
        self.confidence = event.get(Field::Confidence).and_then(field::single);
        self.compare_time("completed_at", "SessionEnd", event);
    }

    /// What only the end of the replay tells.
    pub(super) fn close(&mut self, figures: &Figures, file: Option<Digest>, findings: &mut Findings) {
        for (at, _) in self.is_met.iter().enumerate().filter(|(_, is_met)| !**is_met) {
            let call = self.receipt.calls()[at];
            let name = call.member("id").or(call.member("tool")).and_then(text).unwrap_or_default();
            let text = format!("tool_calls[{at}] (\"{}\") is not in the replay", carried(&name));
            findings.fault(Code::CallNotInReplay, text);
        }
        self.close_plan(findings);
        self.close_verification(findings);
        if let (true, Some(own), Generation::First) =
            (self.has_ended, self.confidence, self.receipt.generation)
        {
            let other = self.receipt.member("final_confidence").and_then(field::single);
            if Some(own) != other {
                let shown = other.map_or("no number".into(), |other| format!("{other:?}"));
                findings
                    .fault(Code::Confidence, format!("final_confidence is {shown}, in the replay {own:?}"));
            }
        }
        self.close_metrics(figures, findings);
        if self.needs_file()
            && let Some(file) = file
        {
            let other = self.receipt.member("replay_hash");
            if other.and_then(field::digest) != Some(file) {
                let shown = other.and_then(text).map_or("no string".into(), |text| carried(&text));
                findings
                    .fault(Code::ReplayHash, format!("replay_hash is {shown}, the file is sha256:{file}"));
            }
        }
    }

    fn close_plan(&mut self, findings: &mut Findings) {
        let other = self.receipt.member("plan_hash").filter(|hash| !hash.is_null()).map(Said::of);
        // The second generation does not speak of plans.
        if other.is_none() && self.receipt.generation == Generation::Second {
            return;
        }
        if self.plan.as_ref().map(|plan| plan.digest) != other.as_ref().map(|other| other.digest) {
            let shown =
                |said: &Option<Said>| said.as_ref().map_or("missing".into(), |said| said.shown.clone());
            let text = format!("plan_hash is {}, in the replay {}", shown(&other), shown(&self.plan));
            findings.fault(Code::PlanHash, text);
        }
    }

    fn close_verification(&mut self, findings: &mut Findings) {
        if self.receipt.generation == Generation::Second && self.receipt.member("verification").is_none() {
            return;
        }
        let (commands, codes) = self.receipt.verification();
        let mut wanted = Ran::default();
        wanted.add(commands.into_iter().map(text), codes.into_iter().map(field::signed));
        let wanted = wanted.finish();
        let delta = self.receipt.member("verification").and_then(|ran| ran.member("verification_delta"));
        let delta = delta.and_then(field::signed);
        let is_first = self.receipt.generation == Generation::First;
        // A receipt tells of all that was run, or of what was run last.
        let (all_passed, count) = (self.ran.all_passed, self.ran.count);
        let candidates = [&mut self.ran, &mut self.last_ran].map(|ran| (ran.finish(), ran.delta));
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
            findings.fault(Code::Verification, format!("{what} not as in the replay"));
        }
        let passed = self.receipt.member("metrics").and_then(|metrics| metrics.member("verification_passed"));
        if let Some(passed) = passed.and_then(|passed| passed.boolean())
            && (count > 0 && passed != all_passed)
        {
            findings.fault(
                Code::Verification,
                format!("verification_passed is {passed}, the exit codes say otherwise"),
            );
        }
    }

    fn close_metrics(&self, figures: &Figures, findings: &mut Findings) {
        let Some(metrics) = self.receipt.member("metrics") else { return };
        for (name, own) in
            [("tool_calls", Some(figures.tool_calls)), ("tool_latency_ms_total", figures.total_latency_ms())]
        {
            let Some(other) = metrics.member(name) else { continue };
            if field::unsigned(other) != own {
                let own = own.map_or("more than 64 bits hold".into(), |own| own.to_string());
                findings
                    .fault(Code::Metrics, format!("metrics.{name} is not {own}, as counted in the replay"));
            }
        }
    }
}

/// The key of calls that a receipt of the second generation cannot tell apart.
fn same_call(tool: Option<Value<'_>>, params_hash: Option<Value<'_>>) -> Fingerprint {
    let spelled = |value: Option<Value<'_>>| value.and_then(text).unwrap_or_default();
    let tool = spelled(tool);
    Fingerprint::of(format!("{}:{tool}{}", tool.len(), spelled(params_hash)).as_bytes())
}

fn same_text(
    line: u64,
    code: Code,
    name: &str,
    own: Option<Value<'_>>,
    other: Option<Value<'_>>,
    findings: &mut Findings,
) {
    let said = |value: Option<Value<'_>>| value.and_then(text);
    // What is no text was told already.
    if said(own).is_some() && said(own) != said(other) {
        let shown = |value| said(value).map_or("missing".into(), |text| carried(&text));
        findings.at(line, code, format!("{name} is {}, in the receipt {}", shown(own), shown(other)));
    }
}
