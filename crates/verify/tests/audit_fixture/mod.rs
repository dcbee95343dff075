//! Runs for the audit tests, built event by event, and the verdicts expected of one that kept every
//! rule.
#![allow(clippy::unwrap_used, dead_code, reason = "each test file uses a part of this one")]

use crate::support::{KeyRing as _, report_of};
use reenact_formats::rer::RerVersion;
use reenact_formats::rer::approval::{ApprovalDecision, ApprovalTokenDraft, input_hash, sign};
use reenact_formats::rer::envelope::authorization::{AuthorizationTerms, AuthorizedRuntime, authorise};
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::envelope::policy::Action;
use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader, Signer};
use reenact_formats::trust::KeyRole;
use reenact_json::{Limits, Value};
use reenact_testkit::fixture::TestKey;
use reenact_verify::audit::AuditVerdict::{self, Fail, Inconclusive, Pass};
use reenact_verify::audit::RuleVerdict;
use reenact_verify::{Keys, Report, Trust};
use serde_json::{Value as Json, json};

pub(crate) const RUNTIME: u8 = 1;
pub(crate) const PLATFORM: u8 = 2;
pub(crate) const APPROVER: u8 = 3;

/// Returns `metadata.approvers` that pins one key for every action.
pub(crate) fn pins(key: &TestKey) -> Json {
    let id = key.public_key().id().to_string();
    json!([{"action": "model.call", "keys": [id]}, {"action": "tool.call", "keys": [id]}])
}

/// Returns an approval of a call of a tool with the input `{}`, valid from one minute before noon for a day.
pub(crate) fn approval<'a>(id: &'a str, tool: &'a str, signer_type: SignerType) -> ApprovalTokenDraft<'a> {
    ApprovalTokenDraft {
        approval_id: id,
        run_id: "run",
        action: Action::Tool,
        name: tool,
        input_hash: input_hash(b"{}"),
        decision: ApprovalDecision::Granted,
        signer_type,
        issued_at: "2026-05-13T11:59:00Z",
        expires_at: "2026-05-14T11:59:00Z",
    }
}

/// Returns a token as the payload of a grant holds it.
pub(crate) fn token(draft: &ApprovalTokenDraft<'_>, key: &TestKey) -> Json {
    serde_json::from_slice(&sign(draft, key).unwrap()).unwrap()
}

fn signer_type(word: &str) -> SignerType {
    let all = [SignerType::Human, SignerType::Delegate, SignerType::Automated];
    all.into_iter().find(|known| known.name() == word).unwrap()
}

/// A run to be sealed. It begins with `rer.run.started` and, unless told otherwise, ends with
/// `rer.run.ended`.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) envelope: Json,
    pub(crate) events: Vec<Event>,
    /// Seconds after noon of the next event; one more for each event.
    pub(crate) clock: u32,
    /// Payload of the event that ends the run.
    pub(crate) end: Option<Json>,
    pub(crate) authorised: bool,
}

#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) event_type: String,
    pub(crate) payload: Option<String>,
    pub(crate) time: String,
    pub(crate) withheld: bool,
}

/// Returns the timestamp this many seconds after noon.
pub(crate) fn after_noon(seconds: u32) -> String {
    let seconds = 12 * 3600 + seconds;
    format!("2026-05-13T{:02}:{:02}:{:02}.000Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Returns an envelope that allows the model `m` and the tools `t`, `pay` and `pay2`, with these
/// members added.
pub(crate) fn envelope(more: Json) -> Json {
    let mut envelope = json!({"envelope_version": "rer-envelope/0.2", "limits": {},
        "permissions": {"allowed_models": ["m"], "allowed_tools": ["t", "pay", "pay2"]}});
    let more = more.as_object().unwrap().clone();
    envelope.as_object_mut().unwrap().extend(more);
    envelope
}

impl Run {
    pub(crate) fn new(more: Json) -> Self {
        let mut envelope = envelope(more);
        let asks = ["required_approvals", "required_signer_types"];
        if asks.iter().any(|name| envelope.get(name).is_some()) {
            let members = envelope.as_object_mut().unwrap();
            let metadata = members.entry("metadata").or_insert_with(|| json!({}));
            metadata["approvers"] = pins(&TestKey::of(APPROVER));
        }
        let run = Self {
            envelope,
            events: Vec::new(),
            clock: 0,
            end: Some(json!({"status": "completed"})),
            authorised: true,
        };
        run.event("rer.run.started", json!({}))
    }

    pub(crate) fn limited(limits: Json) -> Self {
        Self::new(json!({"limits": limits}))
    }

    /// Returns a run with an envelope that requires approvals.
    pub(crate) fn approved(rules: Json) -> Self {
        Self::new(json!({"required_approvals": rules}))
    }

    /// Pins no approvers, as an envelope of 0.1.0 does.
    pub(crate) fn unpinned(mut self) -> Self {
        self.envelope.as_object_mut().unwrap().remove("metadata");
        self
    }

    /// Sets the payload of the first event.
    pub(crate) fn started(mut self, payload: Json) -> Self {
        self.events.first_mut().unwrap().payload = Some(payload.to_string());
        self
    }

    pub(crate) fn event(self, event_type: &str, payload: Json) -> Self {
        self.text(event_type, Some(&payload.to_string()))
    }

    /// Adds an event with exactly this payload, or none.
    pub(crate) fn text(mut self, event_type: &str, payload: Option<&str>) -> Self {
        let (event_type, payload) = (event_type.to_owned(), payload.map(str::to_owned));
        self.events.push(Event { event_type, payload, time: after_noon(self.clock), withheld: false });
        self.clock += 1;
        self
    }

    /// Sets the timestamp of the last event.
    pub(crate) fn at(mut self, time: &str) -> Self {
        self.events.last_mut().unwrap().time = time.into();
        self
    }

    /// Sets the time of the next event, in seconds after noon.
    pub(crate) fn clock(mut self, seconds: u32) -> Self {
        self.clock = seconds;
        self
    }

    /// Withholds the payload of the last event.
    pub(crate) fn withheld(mut self) -> Self {
        self.events.last_mut().unwrap().withheld = true;
        self
    }

    pub(crate) fn allow(self, step: &str, more: Json) -> Self {
        let mut payload = json!({"step_id": step, "decision": "allow"});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.event("rer.policy.evaluated", payload)
    }

    /// Adds three events: a tool is allowed, called, and returns.
    pub(crate) fn tool(self, step: &str, tool: &str) -> Self {
        self.allow(step, json!({"action": "tool.call", "tool": tool}))
            .tool_called(step, tool)
            .tool_returned(step)
    }

    pub(crate) fn tool_called(self, step: &str, tool: &str) -> Self {
        self.event("rer.tool.called", json!({"step_id": step, "tool": tool, "input": {}}))
    }

    pub(crate) fn tool_returned(self, step: &str) -> Self {
        self.event("rer.tool.returned", json!({"step_id": step}))
    }

    /// Adds three events: a model is allowed, called, and returns with its cost.
    pub(crate) fn model(self, step: &str, model: &str, spend: Json) -> Self {
        self.allow(step, json!({"action": "model.call", "model": model}))
            .event("rer.model.called", json!({"step_id": step, "model": model}))
            .event("rer.model.returned", json!({"step_id": step, "spend_usd": spend}))
    }

    /// Adds two events: an approval is requested and granted.
    pub(crate) fn grant(self, id: &str, tool: &str, signer_type: &str) -> Self {
        let draft = approval(id, tool, self::signer_type(signer_type));
        self.asked(id, tool).granted(id, &token(&draft, &TestKey::of(APPROVER)))
    }

    /// Adds an event: an approval of a call of a tool with the input `{}` is requested.
    pub(crate) fn asked(self, id: &str, tool: &str) -> Self {
        let hash = input_hash(b"{}").to_string();
        let payload = json!({"approval_id": id, "action": "tool.call", "tool": tool, "input_hash": hash});
        self.event("rer.approval.requested", payload)
    }

    /// Adds an event: an approval is granted with this token.
    pub(crate) fn granted(self, id: &str, token: &Json) -> Self {
        self.event("rer.approval.granted", json!({"approval_id": id, "token": token}))
    }

    /// Adds two events: a tool is allowed by that approval, and called.
    pub(crate) fn pay(self, step: &str, tool: &str, approval: &str) -> Self {
        self.allow(step, json!({"tool": tool, "approval_id": approval})).tool_called(step, tool)
    }

    pub(crate) fn ending(mut self, end: Json) -> Self {
        self.end = Some(end);
        self
    }

    pub(crate) fn unended(mut self) -> Self {
        self.end = None;
        self
    }

    pub(crate) fn unauthorised(mut self) -> Self {
        self.authorised = false;
        self
    }

    pub(crate) fn seal(&self) -> Vec<u8> {
        let envelope = match self.authorised {
            true => authorised(&self.envelope, &TestKey::of(PLATFORM)),
            false => self.envelope.clone(),
        };
        let mut events = self.events.clone();
        if let Some(end) = &self.end {
            let (event_type, payload) = ("rer.run.ended".into(), Some(end.to_string()));
            events.push(Event { event_type, payload, time: after_noon(self.clock), withheld: false });
        }
        sealed(&envelope, &events)
    }

    /// Verifies the sealed run with all keys.
    pub(crate) fn report(&self) -> Report {
        report_of(&self.seal(), &both_keys())
    }

    /// Returns the verdict on a rule, by these keys.
    pub(crate) fn verdict(&self, rule: &str, keys: &Keys) -> (AuditVerdict, Option<usize>, String) {
        let rules = report_of(&self.seal(), keys).audit.unwrap().rules;
        let found = rules.into_iter().find(|found| found.rule == rule).unwrap();
        (found.verdict, found.event, found.reason)
    }

    pub(crate) fn rules(&self) -> Vec<RuleVerdict> {
        self.report().audit.unwrap().rules
    }

    pub(crate) fn ok(&self) -> Option<bool> {
        self.report().audit.unwrap().ok()
    }
}

pub(crate) fn sealed(envelope: &Json, events: &[Event]) -> Vec<u8> {
    let mut chain = ArtifactBuilder::new(RerVersion::V02);
    for (step_index, event) in (0..).zip(events) {
        chain
            .append(&NewEvent {
                step_index,
                event_type: &event.event_type,
                timestamp: &event.time,
                payload: event.payload.as_deref().map(str::as_bytes),
                redacted: event.withheld,
            })
            .unwrap();
    }
    let envelope = envelope.to_string();
    let run = RerRunHeader {
        run_id: "run",
        implementation: "test",
        version: "0",
        envelope: envelope.as_bytes(),
        manifest_hash: None,
    };
    chain.seal(&run, &TestKey::of(RUNTIME)).unwrap()
}

pub(crate) fn both_keys() -> Keys {
    let mut keys = TestKey::of(RUNTIME).keys();
    let (platform, role) = (TestKey::of(PLATFORM).public_key(), KeyRole::Platform.into());
    keys.add(platform, Trust::Trusted, role, Some("platform".into()));
    keys.add(TestKey::of(APPROVER).public_key(), Trust::Trusted, KeyRole::Approver.into(), None);
    keys
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the envelope with an authorization by a key, for the runtime of the tests.
pub(crate) fn authorised(envelope: &Json, key: &TestKey) -> Json {
    let runtime = AuthorizedRuntime::Key(TestKey::of(RUNTIME).public_key().id());
    authorised_for(envelope, key, runtime)
}

/// Returns the envelope with an authorization by a key, for these runtimes.
pub(crate) fn authorised_for(envelope: &Json, key: &TestKey, runtime: AuthorizedRuntime) -> Json {
    let text = envelope.to_string();
    let terms = AuthorizationTerms { runtime, not_after: None };
    let envelope = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
    serde_json::from_slice(&authorise(envelope, &terms, key).unwrap()).unwrap()
}

pub(crate) type Expected<'a> = (&'static str, AuditVerdict, Option<usize>, &'a str);

pub(crate) fn is_set(envelope: &Json, pointer: &str) -> bool {
    envelope.pointer(pointer).is_some_and(|value| value.as_array().is_none_or(|list| !list.is_empty()))
}

/// Returns the ten verdicts on a run that kept everything.
pub(crate) fn kept_verdicts(envelope: &Json) -> Vec<RuleVerdict> {
    let limit = |name: &str| match is_set(envelope, &format!("/limits/{name}")) {
        true => "the limit was kept",
        false => "there is no limit",
    };
    let either =
        |pointer: &str, set: &'static str, absent| if is_set(envelope, pointer) { set } else { absent };
    let authorised = format!(
        "authorised by platform (key {}, trusted as platform)",
        TestKey::of(PLATFORM).public_key().id()
    );
    [
        ("allowed_models", "every model that was called is on the list"),
        ("allowed_tools", "every tool that was called is on the list"),
        ("max_steps", limit("max_steps")),
        ("max_spend_usd", limit("max_spend_usd")),
        ("rate_limit_rpm", limit("rate_limit_rpm")),
        ("expiry", either("/expiry", "everything began before it", "there is none")),
        (
            "required_approvals",
            either("/required_approvals", "each was granted before its action", "none is required"),
        ),
        (
            "required_signer_types",
            either("/required_signer_types", "each type approved something", "none is required"),
        ),
        ("event_order", "every action was decided, began and returned in order"),
        ("authorization", &authorised),
    ]
    .map(|(rule, reason)| RuleVerdict { rule, verdict: Pass, event: None, reason: reason.into() })
    .into()
}

/// Asserts that every rule passes but these, and that the audit changes nothing else in the report.
#[track_caller]
pub(crate) fn assert_only(run: &Run, exceptions: &[Expected<'_>]) {
    let report = run.report();
    let mut expected = kept_verdicts(&run.envelope);
    for (rule, verdict, event, reason) in exceptions {
        let place = expected.iter_mut().find(|kept| kept.rule == *rule).unwrap();
        *place = RuleVerdict { rule, verdict: *verdict, event: *event, reason: (*reason).into() };
    }
    let audit = report.audit.clone().unwrap();
    assert_eq!(audit.rules, expected);
    let any = |verdict| exceptions.iter().any(|exception| exception.1 == verdict);
    let ok = if any(Fail) { Some(false) } else { (!any(Inconclusive)).then_some(true) };
    assert_eq!(audit.ok(), ok);
    // The same events under an envelope with few restrictions: the checks have the same results, and
    // pass.
    let permissive = Run { envelope: envelope(json!({})), ..run.clone() }.report();
    assert_eq!(
        (report.pass(), &report.checks, &report.reasons),
        (true, &permissive.checks, &permissive.reasons)
    );
    assert_eq!((&report.notes, &report.signer), (&permissive.notes, &permissive.signer));
}

#[track_caller]
pub(crate) fn assert_all_kept(run: &Run) {
    assert_only(run, &[]);
}

/// Returns a run that reaches all limits and exceeds none.
pub(crate) fn compliant_run() -> Run {
    Run::new(json!({
        "limits": {"max_steps": 3, "max_spend_usd": 0.3, "rate_limit_rpm": 3},
        "expiry": "2026-05-13T14:02:00+02:00",
        "required_approvals": [{"action": "tool.call", "tool_pattern": "pay*", "signer_types": ["human"]}],
        "required_signer_types": ["human"],
        "metadata": {"reenact": {"enforcement": "enforce"}},
    }))
    .model("s1", "m", json!(0.1))
    .model("s2", "m", json!(0.2))
    .grant("a1", "pay", "human")
    .pay("s3", "pay", "a1")
    .tool_returned("s3")
    .ending(json!({"status": "completed", "total_spend_usd": 0.3}))
}
