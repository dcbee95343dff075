//! The policy engine and the auditor, tested against each other: every run that the engine allows passes the audit, and
//! whatever the engine would have denied, the audit finds, at the right event.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use reenact_formats::rer::approval::{ApprovalDecision, ApprovalTokenDraft, input_hash, sign};
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::seal::Signer as _;
use reenact_formats::trust::KeyRole;
use reenact_record::clock::Clock;
use reenact_record::policy_engine::{Action, Money, ProposedAction, Ruling};
use reenact_record::{
    ApprovalRequest, CallCost, CallKind, Evaluation, EventSource, EventWriter, ExchangeCall, PolicyEngine,
    RawRequest, RawToolCall, RawToolResult, RecordEnv, RecordedDenial, Recorder, Recording, RunStart, StepId,
    ToolChannel,
};
use reenact_testkit::fixture::{TestDir, TestKey};
use reenact_verify::audit::AuditVerdict;
use reenact_verify::{Keys, Options, Report, Trust, verify};
use support::{DONE, answer, events, fixed_env, key, run_id, runs};

/// Returns 2026-05-13T12:00:00Z plus `milliseconds`.
fn time_at(milliseconds: u64) -> Duration {
    Duration::from_secs(1_778_673_600) + Duration::from_millis(milliseconds)
}

struct NoonClock;

impl Clock for NoonClock {
    fn now(&self) -> Duration {
        time_at(0)
    }
}

/// Action that an agent wants to take, some time after the one before.
#[derive(Debug, Clone)]
struct PlannedAction {
    is_tool: bool,
    name: u8,
    delay_ms: u64,
    /// Expected cost in picodollars.
    expected_picodollars: Option<u32>,
    /// Actual cost, in percent of the expected cost.
    actual_percent: u32,
    is_approved: bool,
    /// True if the action goes on while others begin.
    overlaps_next: bool,
    /// True if the vendor tells the actual cost. Otherwise the record has half of it, as an estimate.
    is_told: bool,
}

impl PlannedAction {
    fn name(&self) -> &'static str {
        let names = if self.is_tool { ["t1", "t2", "t3"] } else { ["m1", "m2", "m3"] };
        names[usize::from(self.name)]
    }

    fn action(&self) -> Action {
        if self.is_tool { Action::Tool } else { Action::Model }
    }

    fn proposed(&self, at: u64) -> ProposedAction<'static> {
        ProposedAction {
            action: self.action(),
            name: self.name(),
            at: time_at(at),
            expected_cost: self
                .expected_picodollars
                .filter(|_| !self.is_tool)
                .map(|pico| Money::from_picodollars(pico.into())),
            is_approved: self.is_approved,
        }
    }

    /// Returns the cost that is recorded.
    fn recorded_cost(&self) -> Option<Money> {
        let actual = self.actual_cost()?;
        Some(if self.is_told { actual } else { Money::from_picodollars(actual.picodollars() / 2) })
    }

    fn actual_cost(&self) -> Option<Money> {
        let pico = u128::from(self.expected_picodollars.filter(|_| !self.is_tool)?);
        Some(Money::from_picodollars(pico * u128::from(self.actual_percent) / 100))
    }
}

fn planned_action() -> impl Strategy<Value = PlannedAction> {
    let after = prop_oneof![3 => Just(0_u64), 3 => 1..40_000_u64, 1 => Just(60_000_u64)];
    let expected = prop_oneof![4 => (0..6_000_000_u32).prop_map(Some), 1 => Just(Some(0)), 1 => Just(None)];
    let is_told = prop::bool::weighted(0.8);
    (any::<bool>(), 0..3_u8, after, expected, 0..=100_u32, any::<bool>(), any::<bool>(), is_told).prop_map(
        |(is_tool, name, after, expected, actual, is_approved, lasts, is_told)| PlannedAction {
            is_tool,
            name,
            delay_ms: after,
            expected_picodollars: expected,
            actual_percent: actual,
            is_approved,
            overlaps_next: lasts,
            is_told,
        },
    )
}

/// Contents of an envelope. The third model and the third tool are never on its lists; the second tool needs an
/// approval.
#[derive(Debug, Clone, Default)]
struct EnvelopeSpec {
    is_listed: [bool; 2],
    max_steps: Option<u64>,
    /// Limit in micro-dollars.
    max_spend_micro_usd: Option<u32>,
    rate_limit_rpm: Option<u64>,
    /// Expiry in seconds after noon.
    expiry_seconds: Option<u64>,
    requires_approval: bool,
}

fn envelope_spec() -> impl Strategy<Value = EnvelopeSpec> {
    let some = |strategy: std::ops::Range<u64>| prop::option::of(strategy);
    (
        (any::<bool>(), any::<bool>()),
        some(1..8),
        prop::option::of(0..20_u32),
        some(1..5),
        some(1..200),
        any::<bool>(),
    )
        .prop_map(|(listed, max_steps, max_spend, rate, expiry, asks)| EnvelopeSpec {
            is_listed: [listed.0, listed.1],
            max_steps,
            max_spend_micro_usd: max_spend,
            rate_limit_rpm: rate,
            expiry_seconds: expiry,
            requires_approval: asks,
        })
}

impl EnvelopeSpec {
    fn json(&self) -> String {
        let list = |letter: char, is_short: bool| {
            let last = if is_short { 2 } else { 3 };
            (1..=last).map(|number| format!("\"{letter}{number}\"")).collect::<Vec<_>>().join(",")
        };
        let mut limits = Vec::new();
        limits.extend(self.max_steps.map(|limit| format!("\"max_steps\":{limit}")));
        limits.extend(self.max_spend_micro_usd.map(|limit| format!("\"max_spend_usd\":{limit}e-6")));
        limits.extend(self.rate_limit_rpm.map(|limit| format!("\"rate_limit_rpm\":{limit}")));
        let expiry = self
            .expiry_seconds
            .map(|seconds| format!(",\"expiry\":\"2026-05-13T12:{:02}:{:02}Z\"", seconds / 60, seconds % 60));
        let pins = format!(
            r#","metadata":{{"approvers":[{{"action":"tool.call","keys":["{}"]}}]}}"#,
            approver().public_key().id()
        );
        let asks =
            r#","required_approvals":[{"action":"tool.call","tool_pattern":"t2","signer_types":["human"]}]"#;
        format!(
            r#"{{"envelope_version":"rer-envelope/0.2","permissions":{{"allowed_models":[{}],"allowed_tools":[{}]}},"limits":{{{}}}{}{}{}}}"#,
            list('m', self.is_listed[0]),
            list('t', self.is_listed[1]),
            limits.join(","),
            expiry.unwrap_or_default(),
            if self.requires_approval { asks } else { "" },
            pins
        )
    }
}

/// Run under an envelope, with a clock of its own.
struct EnforcedRun {
    dir: TestDir,
    recorder: Recorder<Recording>,
}

impl EnforcedRun {
    fn begin(spec: &EnvelopeSpec) -> Self {
        let (dir, envelope) = (TestDir::in_memory(), spec.json());
        let env = RecordEnv { clock: Arc::new(NoonClock), ..fixed_env() };
        let start = RunStart { envelope: Some(envelope.as_bytes()), ..RunStart::new(run_id()) };
        let recorder = Recorder::builder(&runs(&dir), &key()).env(env.clone()).begin(&start).unwrap();
        Self { dir, recorder }
    }

    /// Returns the index that the next event has in the record.
    fn next_event_index(&self) -> usize {
        usize::try_from(self.recorder.counts().events).unwrap()
    }

    /// Ends, seals and verifies the run.
    fn seal_and_verify(self) -> Report {
        let sealed = self.recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        let report = verify_with_approver(&sealed.path);
        assert!(report.pass(), "{:?}", report.reasons);
        drop(self.dir);
        report
    }
}

/// Returns the key of the approver whom every envelope pins.
fn approver() -> TestKey {
    TestKey::of(3)
}

/// Verifies an artifact with the keys of the runtime and of the approver.
fn verify_with_approver(path: &Path) -> Report {
    let mut keys = Keys::default();
    keys.add_supplied(key().public_key());
    keys.add(approver().public_key(), Trust::Trusted, KeyRole::Approver.into(), None);
    verify(&fs::read(path).unwrap(), &keys, &Options::default())
}

/// Records that an allowed action begins. Returns its step, and the index of its call.
fn begin(writer: &EventWriter, planned: &PlannedAction, number: usize, run: &EnforcedRun) -> (StepId, usize) {
    let approval_id = format!("approval-{number}");
    let approved = planned.is_tool && planned.is_approved;
    if approved {
        let (action, name) = (planned.action(), planned.name());
        let hash = input_hash(b"{}");
        let token = ApprovalTokenDraft {
            approval_id: &approval_id,
            run_id: &run.recorder.run_id().to_string(),
            action,
            name,
            input_hash: hash,
            decision: ApprovalDecision::Granted,
            signer_type: SignerType::Human,
            issued_at: "2026-05-13T12:00:00Z",
            expires_at: "2026-05-14T12:00:00Z",
        };
        let token = String::from_utf8(sign(&token, &approver()).unwrap()).unwrap();
        let hash = hash.to_string();
        let request = ApprovalRequest {
            approval_id: &approval_id,
            action,
            name,
            input_hash: &hash,
            rule: "required_approvals[0]",
            signer_types: &["human"],
        };
        writer.record_approval_request(&request).unwrap();
        writer.record_approval_grant(&approval_id, &token).unwrap();
    }
    let approval_id = approved.then_some(approval_id.as_str());
    let evaluation = Evaluation { action: planned.action(), name: planned.name(), denial: None, approval_id };
    let step = writer.record_evaluation(&evaluation).unwrap();
    let called = run.next_event_index();
    if planned.is_tool {
        let id = format!("call-{number}");
        let (via, source) = (ToolChannel::Conversation, EventSource::Inferred);
        let call = RawToolCall { tool_call_id: &id, tool: planned.name(), input: "{}", via, source };
        assert_eq!(writer.record_tool_call(&call, Some(step)), Ok(step));
    } else {
        let raw = RawRequest { provider: "openai", method: "POST", path: "/v1/x", headers: &[], body: b"{}" };
        let masked = writer.mask_request(&raw);
        let called = writer.record_call(
            &ExchangeCall { model: Some(planned.name()), ..ExchangeCall::new(CallKind::Model, &masked) },
            Some(step),
        );
        assert_eq!(called, Ok(step));
    }
    (step, called)
}

/// Records that an action is over, and its cost.
fn finish(writer: &EventWriter, planned: &PlannedAction, step: StepId) {
    if planned.is_tool {
        let result = RawToolResult { output: "ok", is_error: false, latency: None };
        return writer.record_tool_result(&step, &result).unwrap();
    }
    writer.record_return(&step, answer(b"{}")).unwrap();
    if let Some(amount) = planned.recorded_cost() {
        let (model, is_estimate) = (planned.name(), !planned.is_told);
        let spent = CallCost { model, amount, is_estimate, rates: &[], usage: &[] };
        writer.record_spend(&step, &spent).unwrap();
    }
}

fn verdicts(report: &Report) -> Vec<(&'static str, AuditVerdict, Option<usize>)> {
    let rules = &report.audit.as_ref().unwrap().rules;
    rules.iter().map(|rule| (rule.rule, rule.verdict, rule.event)).collect()
}

/// Records a run in which the engine decides. Asserts that no more is spent than the limit, told or not, and that every
/// rule passes the audit; that of spending is inconclusive if a cost was not told.
fn assert_enforced_run_passes(spec: &EnvelopeSpec, actions: &[PlannedAction]) -> Result<(), TestCaseError> {
    let run = EnforcedRun::begin(spec);
    let mut policy = run.recorder.policy_engine().unwrap();
    let (mut now, mut lasting) = (0, Vec::new());
    let settle = |policy: &mut PolicyEngine, planned: &PlannedAction| {
        if let (Some(expected), Some(recorded)) = (planned.proposed(0).expected_cost, planned.recorded_cost())
        {
            match planned.is_told {
                true => policy.settle_cost(expected, recorded),
                false => policy.keep_reserved(expected, recorded),
            }
        }
    };
    let (mut spent, mut is_untold) = (Money::default(), false);
    for (number, planned) in actions.iter().enumerate() {
        now += planned.delay_ms;
        let writer = run.recorder.event_writer().at(time_at(now));
        let proposed = planned.proposed(now);
        let (rule, reason) = match policy.evaluate(&proposed) {
            Ruling::Allowed => {
                policy.begin_action(&proposed);
                let (step, _) = begin(&writer, planned, number, &run);
                spent = spent.plus(planned.actual_cost().unwrap_or_default());
                is_untold |= !planned.is_tool && !planned.is_told;
                if planned.overlaps_next {
                    lasting.push((planned, step));
                } else {
                    settle(&mut policy, planned);
                    finish(&writer, planned, step);
                }
                continue;
            }
            Ruling::Denied(refused) => (refused.rule, refused.reason),
            Ruling::NeedsApproval(needed) => ("required_approvals", needed.rule),
        };
        let denial = Some(RecordedDenial { rule, reason: &reason, is_enforced: true });
        let (action, name) = (planned.action(), planned.name());
        writer.record_evaluation(&Evaluation { action, name, denial, approval_id: None }).unwrap();
        // From time to time an action that is under way ends.
        if let Some((wish, step)) = lasting.pop() {
            settle(&mut policy, wish);
            finish(&writer, wish, step);
        }
    }
    let writer = run.recorder.event_writer().at(time_at(now));
    for (planned, step) in lasting {
        finish(&writer, planned, step);
    }
    for (rule, verdict, event) in verdicts(&run.seal_and_verify()) {
        let is_inconclusive = match rule {
            "authorization" => true,
            "max_spend_usd" => is_untold && spec.max_spend_micro_usd.is_some(),
            _ => false,
        };
        let due = if is_inconclusive { AuditVerdict::Inconclusive } else { AuditVerdict::Pass };
        prop_assert_eq!(verdict, due, "{} at {:?}", rule, event);
    }
    if let Some(limit) = spec.max_spend_micro_usd {
        prop_assert!(spent <= Money::from_picodollars(u128::from(limit) * 1_000_000));
    }
    Ok(())
}

/// Returns the envelope with only one of its rules.
fn with_only_rule(spec: &EnvelopeSpec, rule: &str) -> EnvelopeSpec {
    let alone = EnvelopeSpec::default();
    match rule {
        "allowed_models" => EnvelopeSpec { is_listed: [spec.is_listed[0], false], ..alone },
        "allowed_tools" => EnvelopeSpec { is_listed: [false, spec.is_listed[1]], ..alone },
        "max_steps" => EnvelopeSpec { max_steps: spec.max_steps, ..alone },
        "max_spend_usd" => EnvelopeSpec { max_spend_micro_usd: spec.max_spend_micro_usd, ..alone },
        "rate_limit_rpm" => EnvelopeSpec { rate_limit_rpm: spec.rate_limit_rpm, ..alone },
        "expiry" => EnvelopeSpec { expiry_seconds: spec.expiry_seconds, ..alone },
        "required_approvals" => EnvelopeSpec { requires_approval: spec.requires_approval, ..alone },
        _ => alone,
    }
}

/// Records a run in which everything happens, one action after the other, at its expected cost. Asserts that the audit
/// finds the first action that each rule would have denied.
fn assert_unenforced_run_fails_where_due(
    spec: &EnvelopeSpec,
    actions: &[PlannedAction],
) -> Result<(), TestCaseError> {
    let run = EnforcedRun::begin(spec);
    let (mut now, mut steps) = (0, Vec::new());
    for (number, planned) in actions.iter().enumerate() {
        now += planned.delay_ms;
        let writer = run.recorder.event_writer().at(time_at(now));
        let (step, called) = begin(&writer, planned, number, &run);
        finish(&writer, planned, step);
        steps.push((planned.proposed(now), planned.actual_cost(), called));
    }
    let last = run.next_event_index();
    for (rule, verdict, event) in verdicts(&run.seal_and_verify()) {
        // Find the first action that an engine would have denied if it knew only this rule.
        let mut policy = EnforcedRun::begin(&with_only_rule(spec, rule)).recorder.policy_engine().unwrap();
        let mut denied = None;
        for (at, (proposed, actual, _)) in steps.iter().enumerate() {
            if denied.is_none() && policy.evaluate(proposed) != Ruling::Allowed {
                denied = Some(at);
            }
            policy.begin_action(proposed);
            if let (Some(expected), Some(actual)) = (proposed.expected_cost, *actual) {
                policy.settle_cost(expected, actual);
            }
        }
        let due = match (rule, denied) {
            // Overspending is seen at the next action, or at the end.
            ("max_spend_usd", Some(at)) => Some(steps.get(at + 1).map_or(last, |(_, _, called)| *called)),
            (_, denied) => denied.map(|at| steps[at].2),
        };
        match due {
            Some(due) => prop_assert_eq!((verdict, event), (AuditVerdict::Fail, Some(due)), "{}", rule),
            None if rule == "authorization" => prop_assert_eq!(verdict, AuditVerdict::Inconclusive),
            None => prop_assert_eq!(verdict, AuditVerdict::Pass, "{} at {:?}", rule, event),
        }
    }
    Ok(())
}

/// The record rounds costs up to whole micro-dollars, so reserved costs must be rounded up too.
#[test]
fn what_is_under_way_is_rounded_as_it_will_be() {
    let spec = EnvelopeSpec { max_spend_micro_usd: Some(5), ..EnvelopeSpec::default() };
    let planned = |expected, actual, lasts| {
        let (is_tool, name, after, is_approved) = (false, 0, 0, false);
        PlannedAction {
            is_tool,
            name,
            delay_ms: after,
            expected_picodollars: Some(expected),
            actual_percent: actual,
            is_approved,
            overlaps_next: lasts,
            is_told: true,
        }
    };
    let actions =
        [planned(2, 50, true), planned(3_030_305, 66, false), planned(2, 50, false), planned(2, 50, false)];
    assert_enforced_run_passes(&spec, &actions).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn what_the_warden_allows_the_auditor_passes(terms in envelope_spec(), wishes in prop::collection::vec(planned_action(), 0..14)) {
        assert_enforced_run_passes(&terms, &wishes)?;
    }

    #[test]
    fn what_the_warden_would_have_denied_the_auditor_finds(
        terms in envelope_spec(),
        wishes in prop::collection::vec(planned_action(), 0..14),
    ) {
        let at_its_price = |wish: PlannedAction| PlannedAction { expected_picodollars: wish.expected_picodollars.or(Some(0)), actual_percent: 100, is_told: true, ..wish };
        let whole_micros = |wish: PlannedAction| PlannedAction { expected_picodollars: wish.expected_picodollars.map(|pico| pico / 1_000_000 * 1_000_000), ..wish };
        let wishes: Vec<PlannedAction> = wishes.into_iter().map(at_its_price).map(whole_micros).collect();
        assert_unenforced_run_fails_where_due(&terms, &wishes)?;
    }
}

/// A journal with decisions can be resumed wherever it breaks off, and the record passes.
#[test]
fn every_prefix_of_a_policed_journal_can_be_gone_on_with() {
    let spec = EnvelopeSpec {
        is_listed: [true; 2],
        max_spend_micro_usd: Some(9),
        requires_approval: true,
        max_steps: Some(5),
        ..EnvelopeSpec::default()
    };
    let run = EnforcedRun::begin(&spec);
    let writer = run.recorder.event_writer();
    let planned = |is_tool, name| PlannedAction {
        is_tool,
        name,
        delay_ms: 0,
        expected_picodollars: Some(2_500_000),
        actual_percent: 100,
        is_approved: true,
        overlaps_next: false,
        is_told: true,
    };
    let denial = Some(RecordedDenial { rule: "allowed_models", reason: "no", is_enforced: true });
    let (first, _) = begin(&writer, &planned(false, 0), 0, &run);
    writer
        .record_evaluation(&Evaluation { action: Action::Model, name: "m3", denial, approval_id: None })
        .unwrap();
    let (second, _) = begin(&writer, &planned(true, 1), 1, &run);
    finish(&writer, &planned(false, 0), first);
    begin(&writer, &planned(false, 1), 2, &run);
    finish(&writer, &planned(true, 1), second);
    let (id, folder) = (run.recorder.run_id(), runs(&run.dir));
    let whole = fs::read(folder.journal_path(id)).unwrap();
    drop((run.recorder, writer));
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 15);
    for kept in 2..=lines.len() {
        let prefix = lines[..kept].concat();
        fs::write(folder.journal_path(id), &prefix).unwrap();
        let env = RecordEnv { clock: Arc::new(NoonClock), ..fixed_env() };
        let recorder = Recorder::builder(&folder, &key()).env(env.clone()).resume(id, || None).unwrap();
        assert_eq!((recorder.truncated_bytes(), recorder.counts().events), (0, kept as u64 - 1), "{kept}");
        let open = recorder.event_writer().open_steps().len();
        let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        let report = verify_with_approver(&sealed.path);
        assert!(report.pass(), "{kept}: {:?}", report.reasons);
        // An action that was under way is a gap, which makes a verdict inconclusive at most.
        for (rule, verdict, event) in verdicts(&report) {
            assert_ne!(verdict, AuditVerdict::Fail, "{kept}: {rule} at {event:?}");
        }
        let written = events(&folder.journal_path(id));
        let has_spent = written.iter().any(|(name, _)| name == "rer.spend.counted");
        let total = if has_spent { "\"total_spend_usd\":0.000003" } else { "\"total_spend_usd\":null" };
        let (name, ended) = written.last().unwrap();
        assert!(name == "rer.run.ended" && ended.contains(total), "{kept}: {ended}");
        assert_eq!(written.len(), kept - 1 + open + 2, "{kept}");
        fs::remove_file(&sealed.path).unwrap();
    }
}
