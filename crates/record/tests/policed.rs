//! The warden and the auditor, each without knowing of the other: what the one allows, the other finds to be allowed; what the
//! one would have denied, the other finds, and where.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use reenact_record::clock::Clock;
use reenact_record::warden::{Action, Money, Ruling, Wanted};
use reenact_record::{
    ApprovalRequest, Denial, Evaluation, Exchange, Pen, RawRequest, RawToolCall, RawToolResult, Recorder,
    Recording, RunStart, Source, Spent, StepId, Surroundings, Via, Warden,
};
use reenact_testkit::fixture::TestDir;
use reenact_verify::Report;
use reenact_verify::audit::Verdict;
use support::{DONE, answer, events, judged, key, known_surroundings, run_id, runs};

/// 2026-05-13T12:00:00Z, and so many milliseconds.
fn noon(milliseconds: u64) -> Duration {
    Duration::from_secs(1_778_673_600) + Duration::from_millis(milliseconds)
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Duration {
        noon(0)
    }
}

/// What an agent wants; each a while after the one before.
#[derive(Debug, Clone)]
struct Wish {
    is_tool: bool,
    name: u8,
    after: u64,
    /// In picodollars.
    expected: Option<u32>,
    /// Of what was expected, in percent.
    actual: u32,
    is_approved: bool,
    /// Whether it goes on while others begin.
    lasts: bool,
}

impl Wish {
    fn name(&self) -> &'static str {
        let names = if self.is_tool { ["t1", "t2", "t3"] } else { ["m1", "m2", "m3"] };
        names[usize::from(self.name)]
    }

    fn action(&self) -> Action {
        if self.is_tool { Action::Tool } else { Action::Model }
    }

    fn wanted(&self, at: u64) -> Wanted<'static> {
        Wanted {
            action: self.action(),
            name: self.name(),
            at: noon(at),
            expected: self
                .expected
                .filter(|_| !self.is_tool)
                .map(|pico| Money::from_picodollars(pico.into())),
            is_approved: self.is_approved,
        }
    }

    fn actual(&self) -> Option<Money> {
        let pico = u128::from(self.expected.filter(|_| !self.is_tool)?);
        Some(Money::from_picodollars(pico * u128::from(self.actual) / 100))
    }
}

fn wish() -> impl Strategy<Value = Wish> {
    let after = prop_oneof![3 => Just(0_u64), 3 => 1..40_000_u64, 1 => Just(60_000_u64)];
    let expected = prop_oneof![4 => (0..6_000_000_u32).prop_map(Some), 1 => Just(Some(0)), 1 => Just(None)];
    (any::<bool>(), 0..3_u8, after, expected, 0..=100_u32, any::<bool>(), any::<bool>()).prop_map(
        |(is_tool, name, after, expected, actual, is_approved, lasts)| Wish {
            is_tool,
            name,
            after,
            expected,
            actual,
            is_approved,
            lasts,
        },
    )
}

/// What an envelope says; the third model and the third tool are never on its lists, the second tool needs an approval.
#[derive(Debug, Clone, Default)]
struct Terms {
    is_listed: [bool; 2],
    max_steps: Option<u64>,
    /// In micro-dollars.
    max_spend: Option<u32>,
    rate: Option<u64>,
    /// In seconds after noon.
    expiry: Option<u64>,
    asks: bool,
}

fn terms() -> impl Strategy<Value = Terms> {
    let some = |strategy: std::ops::Range<u64>| prop::option::of(strategy);
    (
        (any::<bool>(), any::<bool>()),
        some(1..8),
        prop::option::of(0..20_u32),
        some(1..5),
        some(1..200),
        any::<bool>(),
    )
        .prop_map(|(listed, max_steps, max_spend, rate, expiry, asks)| Terms {
            is_listed: [listed.0, listed.1],
            max_steps,
            max_spend,
            rate,
            expiry,
            asks,
        })
}

impl Terms {
    fn json(&self) -> String {
        let list = |letter: char, is_short: bool| {
            let last = if is_short { 2 } else { 3 };
            (1..=last).map(|number| format!("\"{letter}{number}\"")).collect::<Vec<_>>().join(",")
        };
        let mut limits = Vec::new();
        limits.extend(self.max_steps.map(|limit| format!("\"max_steps\":{limit}")));
        limits.extend(self.max_spend.map(|limit| format!("\"max_spend_usd\":{limit}e-6")));
        limits.extend(self.rate.map(|limit| format!("\"rate_limit_rpm\":{limit}")));
        let expiry = self
            .expiry
            .map(|seconds| format!(",\"expiry\":\"2026-05-13T12:{:02}:{:02}Z\"", seconds / 60, seconds % 60));
        let asks =
            r#","required_approvals":[{"action":"tool.call","tool_pattern":"t2","signer_types":["human"]}]"#;
        format!(
            r#"{{"envelope_version":"rer-envelope/0.2","permissions":{{"allowed_models":[{}],"allowed_tools":[{}]}},"limits":{{{}}}{}{}}}"#,
            list('m', self.is_listed[0]),
            list('t', self.is_listed[1]),
            limits.join(","),
            expiry.unwrap_or_default(),
            if self.asks { asks } else { "" },
        )
    }
}

/// A run under an envelope, on a clock of its own.
struct Run {
    place: TestDir,
    recorder: Recorder<Recording>,
}

impl Run {
    fn begin(terms: &Terms) -> Self {
        let (place, envelope) = (TestDir::in_memory(), terms.json());
        let surroundings = Surroundings { clock: Arc::new(Noon), ..known_surroundings() };
        let start = RunStart { envelope: Some(envelope.as_bytes()), ..RunStart::new(run_id()) };
        let recorder = Recorder::begin_in(&runs(&place), &start, &key(), &surroundings).unwrap();
        Self { place, recorder }
    }

    /// The place that the next event has in the record.
    fn next(&self) -> usize {
        usize::try_from(self.recorder.counts().events).unwrap()
    }

    /// Ends, seals and judges it.
    fn judge(self) -> Report {
        let sealed = self.recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        let report = judged(&sealed.path, &key());
        assert!(report.pass(), "{:?}", report.reasons);
        drop(self.place);
        report
    }
}

const MATCH_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Writes that something begins, as it was allowed.
fn begin(pen: &Pen, wish: &Wish, number: usize, run: &Run) -> (StepId, usize) {
    let approval_id = format!("approval-{number}");
    let approved = wish.is_tool && wish.is_approved;
    if approved {
        let (action, name) = (wish.action(), wish.name());
        let hash = "0".repeat(64);
        let request = ApprovalRequest {
            approval_id: &approval_id,
            action,
            name,
            input_hash: &hash,
            rule: "required_approvals[0]",
            signer_types: &["human"],
        };
        pen.approval_requested(&request).unwrap();
        pen.approval_granted(&approval_id, r#"{"signer_type":"human"}"#).unwrap();
    }
    let approval_id = approved.then_some(approval_id.as_str());
    let evaluation = Evaluation { action: wish.action(), name: wish.name(), denial: None, approval_id };
    let step = pen.evaluated(&evaluation).unwrap();
    let called = run.next();
    if wish.is_tool {
        let id = format!("call-{number}");
        let (via, source) = (Via::Conversation, Source::Inferred);
        let call = RawToolCall { tool_call_id: &id, tool: wish.name(), input: "{}", via, source };
        assert_eq!(pen.tool_called_as(Some(step), &call), Ok(step));
    } else {
        let raw = RawRequest { provider: "openai", method: "POST", path: "/v1/x", headers: &[], body: b"{}" };
        let masked = pen.mask_request(&raw);
        let called = pen.called_as(Some(step), Exchange::Model, &masked, Some(wish.name()), None, MATCH_KEY);
        assert_eq!(called, Ok(step));
    }
    (step, called)
}

/// Writes that it is over, and what it cost.
fn finish(pen: &Pen, wish: &Wish, step: StepId) {
    if wish.is_tool {
        let result = RawToolResult { output: "ok", is_error: false, latency: None };
        return pen.tool_returned(&step, &result).unwrap();
    }
    pen.returned(&step, answer(b"{}")).unwrap();
    if let Some(amount) = wish.actual() {
        let spent = Spent { model: wish.name(), amount, is_estimate: false, rates: &[], usage: &[] };
        pen.spent(&step, &spent).unwrap();
    }
}

fn verdicts(report: &Report) -> Vec<(&'static str, Verdict, Option<usize>)> {
    let rules = &report.audit.as_ref().unwrap().rules;
    rules.iter().map(|rule| (rule.rule, rule.verdict, rule.event)).collect()
}

/// The warden decides, and what it decides is what happens.
fn policed(terms: &Terms, wishes: &[Wish]) -> Result<(), TestCaseError> {
    let run = Run::begin(terms);
    let mut warden = run.recorder.warden().unwrap();
    let (mut now, mut lasting) = (0, Vec::new());
    let settle = |warden: &mut Warden, wish: &Wish| {
        if let (Some(expected), Some(actual)) = (wish.wanted(0).expected, wish.actual()) {
            warden.settled(expected, actual);
        }
    };
    for (number, wish) in wishes.iter().enumerate() {
        now += wish.after;
        let pen = run.recorder.pen().at(noon(now));
        let wanted = wish.wanted(now);
        let (rule, reason) = match warden.rule(&wanted) {
            Ruling::Allowed => {
                warden.began(&wanted);
                let (step, _) = begin(&pen, wish, number, &run);
                if wish.lasts {
                    lasting.push((wish, step));
                } else {
                    settle(&mut warden, wish);
                    finish(&pen, wish, step);
                }
                continue;
            }
            Ruling::Denied(refused) => (refused.rule, refused.reason),
            Ruling::NeedsApproval(needed) => ("required_approvals", needed.rule),
        };
        let denial = Some(Denial { rule, reason: &reason });
        let (action, name) = (wish.action(), wish.name());
        pen.evaluated(&Evaluation { action, name, denial, approval_id: None }).unwrap();
        // Now and then one that was under way is over.
        if let Some((wish, step)) = lasting.pop() {
            settle(&mut warden, wish);
            finish(&pen, wish, step);
        }
    }
    let pen = run.recorder.pen().at(noon(now));
    for (wish, step) in lasting {
        finish(&pen, wish, step);
    }
    for (rule, verdict, event) in verdicts(&run.judge()) {
        let due = if rule == "authorization" { Verdict::Inconclusive } else { Verdict::Pass };
        prop_assert_eq!(verdict, due, "{} at {:?}", rule, event);
    }
    Ok(())
}

/// One rule of an envelope, without the others.
fn only(terms: &Terms, rule: &str) -> Terms {
    let alone = Terms::default();
    match rule {
        "allowed_models" => Terms { is_listed: [terms.is_listed[0], false], ..alone },
        "allowed_tools" => Terms { is_listed: [false, terms.is_listed[1]], ..alone },
        "max_steps" => Terms { max_steps: terms.max_steps, ..alone },
        "max_spend_usd" => Terms { max_spend: terms.max_spend, ..alone },
        "rate_limit_rpm" => Terms { rate: terms.rate, ..alone },
        "expiry" => Terms { expiry: terms.expiry, ..alone },
        "required_approvals" => Terms { asks: terms.asks, ..alone },
        _ => alone,
    }
}

/// Nobody decides, and everything happens, one after the other, at the price that was expected.
fn unpoliced(terms: &Terms, wishes: &[Wish]) -> Result<(), TestCaseError> {
    let run = Run::begin(terms);
    let (mut now, mut steps) = (0, Vec::new());
    for (number, wish) in wishes.iter().enumerate() {
        now += wish.after;
        let pen = run.recorder.pen().at(noon(now));
        let (step, called) = begin(&pen, wish, number, &run);
        finish(&pen, wish, step);
        steps.push((wish.wanted(now), wish.actual(), called));
    }
    let last = run.next();
    for (rule, verdict, event) in verdicts(&run.judge()) {
        // Whom would a warden have sent away who knew of this rule alone?
        let mut warden = Run::begin(&only(terms, rule)).recorder.warden().unwrap();
        let mut denied = None;
        for (at, (wanted, actual, _)) in steps.iter().enumerate() {
            if denied.is_none() && warden.rule(wanted) != Ruling::Allowed {
                denied = Some(at);
            }
            warden.began(wanted);
            if let (Some(expected), Some(actual)) = (wanted.expected, *actual) {
                warden.settled(expected, actual);
            }
        }
        let due = match (rule, denied) {
            // That too much was spent is seen by who comes next, or at the end.
            ("max_spend_usd", Some(at)) => Some(steps.get(at + 1).map_or(last, |(_, _, called)| *called)),
            (_, denied) => denied.map(|at| steps[at].2),
        };
        match due {
            Some(due) => prop_assert_eq!((verdict, event), (Verdict::Fail, Some(due)), "{}", rule),
            None if rule == "authorization" => prop_assert_eq!(verdict, Verdict::Inconclusive),
            None => prop_assert_eq!(verdict, Verdict::Pass, "{} at {:?}", rule, event),
        }
    }
    Ok(())
}

/// The record rounds what was spent up to whole micro-dollars. What is under way will be rounded, too.
#[test]
fn what_is_under_way_is_rounded_as_it_will_be() {
    let terms = Terms { max_spend: Some(5), ..Terms::default() };
    let wish = |expected, actual, lasts| {
        let (is_tool, name, after, is_approved) = (false, 0, 0, false);
        Wish { is_tool, name, after, expected: Some(expected), actual, is_approved, lasts }
    };
    let wishes = [wish(2, 50, true), wish(3_030_305, 66, false), wish(2, 50, false), wish(2, 50, false)];
    policed(&terms, &wishes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn what_the_warden_allows_the_auditor_passes(terms in terms(), wishes in prop::collection::vec(wish(), 0..14)) {
        policed(&terms, &wishes)?;
    }

    #[test]
    fn what_the_warden_would_have_denied_the_auditor_finds(
        terms in terms(),
        wishes in prop::collection::vec(wish(), 0..14),
    ) {
        let at_its_price = |wish: Wish| Wish { expected: wish.expected.or(Some(0)), actual: 100, ..wish };
        let whole_micros = |wish: Wish| Wish { expected: wish.expected.map(|pico| pico / 1_000_000 * 1_000_000), ..wish };
        let wishes: Vec<Wish> = wishes.into_iter().map(at_its_price).map(whole_micros).collect();
        unpoliced(&terms, &wishes)?;
    }
}

/// Wherever a journal with decisions breaks off, it is gone on with, and its record holds.
#[test]
fn every_prefix_of_a_policed_journal_can_be_gone_on_with() {
    let terms = Terms {
        is_listed: [true; 2],
        max_spend: Some(9),
        asks: true,
        max_steps: Some(5),
        ..Terms::default()
    };
    let run = Run::begin(&terms);
    let pen = run.recorder.pen();
    let wish = |is_tool, name| Wish {
        is_tool,
        name,
        after: 0,
        expected: Some(2_500_000),
        actual: 100,
        is_approved: true,
        lasts: false,
    };
    let denial = Some(Denial { rule: "allowed_models", reason: "no" });
    let (first, _) = begin(&pen, &wish(false, 0), 0, &run);
    pen.evaluated(&Evaluation { action: Action::Model, name: "m3", denial, approval_id: None }).unwrap();
    let (second, _) = begin(&pen, &wish(true, 1), 1, &run);
    finish(&pen, &wish(false, 0), first);
    begin(&pen, &wish(false, 1), 2, &run);
    finish(&pen, &wish(true, 1), second);
    let (id, folder) = (run.recorder.run_id(), runs(&run.place));
    let whole = fs::read(folder.journal(id)).unwrap();
    drop((run.recorder, pen));
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 15);
    for kept in 2..=lines.len() {
        let prefix = lines[..kept].concat();
        fs::write(folder.journal(id), &prefix).unwrap();
        let surroundings = Surroundings { clock: Arc::new(Noon), ..known_surroundings() };
        let recorder = Recorder::resume_in(&folder, id, &key(), || None, &surroundings).unwrap();
        assert_eq!((recorder.cut(), recorder.counts().events), (0, kept as u64 - 1), "{kept}");
        let open = recorder.pen().open_steps().len();
        let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        let report = judged(&sealed.path, &key());
        assert!(report.pass(), "{kept}: {:?}", report.reasons);
        // What was under way when it broke off is a gap, which leaves a doubt, and no more.
        for (rule, verdict, event) in verdicts(&report) {
            assert_ne!(verdict, Verdict::Fail, "{kept}: {rule} at {event:?}");
        }
        let written = events(&folder.journal(id));
        let has_spent = written.iter().any(|(name, _)| name == "rer.spend.counted");
        let total = if has_spent { "\"total_spend_usd\":0.000003" } else { "\"total_spend_usd\":null" };
        let (name, ended) = written.last().unwrap();
        assert!(name == "rer.run.ended" && ended.contains(total), "{kept}: {ended}");
        assert_eq!(written.len(), kept - 1 + open + 1, "{kept}");
        fs::remove_file(&sealed.path).unwrap();
    }
}
