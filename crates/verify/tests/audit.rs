//! The audit, rule by rule: kept at its edge, broken at its edge, and every way in which nobody can tell.
#![allow(clippy::unwrap_used)]

mod workshop;

use reenact_formats::key::PublicKey;
use reenact_formats::rer::Version;
use reenact_formats::rer::envelope::authorisable;
use reenact_formats::rer::seal::{Chain, NewEvent, RunHeader, Signer};
use reenact_json::{Limits, Value};
use reenact_verify::audit::{Audit, RuleVerdict, Verdict};
use reenact_verify::{Keys, Outcome, Report, Trust};
use serde_json::{Value as Json, json};
use workshop::{Key, judge};

const RUNTIME: u8 = 1;
const PLATFORM: u8 = 2;

// ---------------------------------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------------------------------

/// A run to be sealed. It begins with `rer.run.started` and, unless told otherwise, ends with `rer.run.ended`.
#[derive(Clone)]
struct Run {
    envelope: Json,
    events: Vec<Event>,
    /// Seconds since noon, one more for each event.
    clock: u32,
    /// What the end of the run says.
    end: Option<Json>,
    authorised: bool,
}

#[derive(Clone)]
struct Event {
    event_type: String,
    payload: Option<String>,
    time: String,
    withheld: bool,
}

/// So many seconds after noon.
fn noon(seconds: u32) -> String {
    let seconds = 12 * 3600 + seconds;
    format!("2026-05-13T{:02}:{:02}:{:02}.000Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// An envelope that allows the model `m` and the tools `t`, `pay` and `pay2`, with these members beside.
fn envelope(more: Json) -> Json {
    let mut envelope = json!({"envelope_version": "rer-envelope/0.2", "limits": {},
        "permissions": {"allowed_models": ["m"], "allowed_tools": ["t", "pay", "pay2"]}});
    let more = more.as_object().unwrap().clone();
    envelope.as_object_mut().unwrap().extend(more);
    envelope
}

impl Run {
    fn new(more: Json) -> Self {
        let run = Self {
            envelope: envelope(more),
            events: Vec::new(),
            clock: 0,
            end: Some(json!({"status": "completed"})),
            authorised: true,
        };
        run.event("rer.run.started", json!({}))
    }

    fn limited(limits: Json) -> Self {
        Self::new(json!({"limits": limits}))
    }

    /// A run of an envelope that demands approvals.
    fn approved(rules: Json) -> Self {
        Self::new(json!({"required_approvals": rules}))
    }

    fn event(self, event_type: &str, payload: Json) -> Self {
        self.text(event_type, Some(&payload.to_string()))
    }

    /// An event with this very payload, or none.
    fn text(mut self, event_type: &str, payload: Option<&str>) -> Self {
        let (event_type, payload) = (event_type.to_owned(), payload.map(str::to_owned));
        self.events.push(Event { event_type, payload, time: noon(self.clock), withheld: false });
        self.clock += 1;
        self
    }

    /// The last event was at another time.
    fn at(mut self, time: &str) -> Self {
        self.events.last_mut().unwrap().time = time.into();
        self
    }

    /// The next event is so many seconds after noon.
    fn clock(mut self, seconds: u32) -> Self {
        self.clock = seconds;
        self
    }

    /// The payload of the last event is withheld.
    fn withheld(mut self) -> Self {
        self.events.last_mut().unwrap().withheld = true;
        self
    }

    fn allow(self, step: &str, more: Json) -> Self {
        let mut payload = json!({"step_id": step, "decision": "allow"});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.event("rer.policy.evaluated", payload)
    }

    /// Three events: a tool was allowed, called, and returned.
    fn tool(self, step: &str, tool: &str) -> Self {
        self.allow(step, json!({"action": "tool.call", "tool": tool}))
            .tool_called(step, tool)
            .tool_returned(step)
    }

    fn tool_called(self, step: &str, tool: &str) -> Self {
        self.event("rer.tool.called", json!({"step_id": step, "tool": tool}))
    }

    fn tool_returned(self, step: &str) -> Self {
        self.event("rer.tool.returned", json!({"step_id": step}))
    }

    /// The same for a model, and what it did cost.
    fn model(self, step: &str, model: &str, spend: Json) -> Self {
        self.allow(step, json!({"action": "model.call", "model": model}))
            .event("rer.model.called", json!({"step_id": step, "model": model}))
            .event("rer.model.returned", json!({"step_id": step, "spend_usd": spend}))
    }

    /// Two events: an approval was requested, and granted.
    fn grant(self, id: &str, tool: &str, signer_type: &str) -> Self {
        self.event("rer.approval.requested", json!({"approval_id": id, "action": "tool.call", "tool": tool}))
            .event("rer.approval.granted", json!({"approval_id": id, "token": {"signer_type": signer_type}}))
    }

    /// Two events: a tool was allowed by that approval, and called.
    fn pay(self, step: &str, tool: &str, approval: &str) -> Self {
        self.allow(step, json!({"tool": tool, "approval_id": approval})).tool_called(step, tool)
    }

    fn ending(mut self, end: Json) -> Self {
        self.end = Some(end);
        self
    }

    fn unended(mut self) -> Self {
        self.end = None;
        self
    }

    fn unauthorised(mut self) -> Self {
        self.authorised = false;
        self
    }

    fn seal(&self) -> Vec<u8> {
        let envelope = match self.authorised {
            true => authorised(&self.envelope, &Key::of(PLATFORM)),
            false => self.envelope.clone(),
        };
        let mut events = self.events.clone();
        if let Some(end) = &self.end {
            let (event_type, payload) = ("rer.run.ended".into(), Some(end.to_string()));
            events.push(Event { event_type, payload, time: noon(self.clock), withheld: false });
        }
        sealed(&envelope, &events)
    }

    /// Judged by someone who has both keys.
    fn judged(&self) -> Report {
        judge(&self.seal(), &both_keys())
    }

    fn rules(&self) -> Vec<RuleVerdict> {
        self.judged().audit.unwrap().rules
    }

    fn ok(&self) -> Option<bool> {
        self.judged().audit.unwrap().ok()
    }
}

fn sealed(envelope: &Json, events: &[Event]) -> Vec<u8> {
    let mut chain = Chain::new(Version::V02);
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
    let run = RunHeader {
        run_id: "run",
        implementation: "test",
        version: "0",
        envelope: envelope.as_bytes(),
        manifest_hash: None,
    };
    chain.seal(&run, &Key::of(RUNTIME)).unwrap()
}

fn both_keys() -> Keys {
    let mut keys = Key::of(RUNTIME).keys();
    keys.know(Key::of(PLATFORM).public_key(), Trust::Trusted, Some("platform".into()));
    keys
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn platform_signature(envelope: &Json, key: &Key) -> String {
    let text = envelope.to_string();
    let signable = authorisable(Value::parse(text.as_bytes(), &Limits::default()).unwrap()).unwrap();
    hex(&key.sign(&signable))
}

/// The envelope with an authorization by a key.
fn authorised(envelope: &Json, key: &Key) -> Json {
    let mut envelope = envelope.clone();
    let metadata = envelope.as_object_mut().unwrap().entry("metadata").or_insert(json!({}));
    metadata.as_object_mut().unwrap().remove("authorization");
    let signature = platform_signature(&envelope, key);
    envelope["metadata"]["authorization"] =
        json!({"key_id": key.public_key().id().to_string(), "signature": signature});
    envelope
}

// ---------------------------------------------------------------------------------------------------------------------
// Expectations
// ---------------------------------------------------------------------------------------------------------------------

use Verdict::{Fail, Inconclusive, Pass};

type Expected<'a> = (&'static str, Verdict, Option<usize>, &'a str);

fn is_set(envelope: &Json, pointer: &str) -> bool {
    envelope.pointer(pointer).is_some_and(|value| value.as_array().is_none_or(|list| !list.is_empty()))
}

/// The ten verdicts on a run that kept everything.
fn kept(envelope: &Json) -> Vec<RuleVerdict> {
    let limit = |name: &str| match is_set(envelope, &format!("/limits/{name}")) {
        true => "the limit was kept",
        false => "there is no limit",
    };
    let either =
        |pointer: &str, set: &'static str, absent| if is_set(envelope, pointer) { set } else { absent };
    let authorised = format!("authorised by {} (trusted)", Key::of(PLATFORM).public_key().id());
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

/// Every rule was kept but these; and the audit changed nothing else.
#[track_caller]
fn assert_only(run: &Run, exceptions: &[Expected<'_>]) {
    let report = run.judged();
    let mut expected = kept(&run.envelope);
    for (rule, verdict, event, reason) in exceptions {
        let place = expected.iter_mut().find(|kept| kept.rule == *rule).unwrap();
        *place = RuleVerdict { rule, verdict: *verdict, event: *event, reason: (*reason).into() };
    }
    let audit = report.audit.clone().unwrap();
    assert_eq!(audit.rules, expected);
    let any = |verdict| exceptions.iter().any(|exception| exception.1 == verdict);
    let ok = if any(Fail) { Some(false) } else { (!any(Inconclusive)).then_some(true) };
    assert_eq!(audit.ok(), ok);
    // The same events under an envelope that restricts next to nothing: the checks say the same, and pass.
    let permissive = Run { envelope: envelope(json!({})), ..run.clone() }.judged();
    assert_eq!(
        (report.pass(), &report.checks, &report.reasons),
        (true, &permissive.checks, &permissive.reasons)
    );
    assert_eq!((&report.notes, &report.signer), (&permissive.notes, &permissive.signer));
}

#[track_caller]
fn assert_kept(run: &Run) {
    assert_only(run, &[]);
}

// ---------------------------------------------------------------------------------------------------------------------
// The rules
// ---------------------------------------------------------------------------------------------------------------------

/// All limits at once, all reached, none passed.
fn exemplary() -> Run {
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

#[test]
fn a_run_that_keeps_everything() {
    let run = exemplary();
    assert_kept(&run);
    assert_eq!(run.ok(), Some(true));
    let report = run.judged();
    assert_eq!(report.audit.as_ref().unwrap().count(Pass), 10);
    assert_kept(&Run::new(json!({})));
}

#[test]
fn allowed_models() {
    assert_kept(&Run::new(json!({})).model("s", "m", json!(null)));
    for other in ["M", "m ", "", "ｍ", "gpt"] {
        let reason = format!("the model \"{other}\" is not on the list");
        let run = Run::new(json!({})).model("s", "m", json!(0)).model("s", other, json!(0));
        assert_only(&run, &[("allowed_models", Fail, Some(5), &reason)]);
    }
    let none = Run::new(json!({"permissions": {"allowed_models": [], "allowed_tools": []}}));
    assert_only(
        &none.clone().model("s", "m", json!(0)),
        &[("allowed_models", Fail, Some(2), "the model \"m\" is not on the list")],
    );
    // A star is a name, not a pattern.
    let star = Run::new(json!({"permissions": {"allowed_models": ["*"], "allowed_tools": []}}));
    assert_kept(&star.clone().model("s", "*", json!(0)));
    assert_eq!(star.model("s", "m", json!(0)).rules()[0].verdict, Fail);
}

#[test]
fn allowed_tools() {
    assert_kept(&Run::new(json!({})).tool("s", "t"));
    for other in ["T", "t ", "t\u{200b}", "m"] {
        let run = Run::new(json!({})).tool("s", "t").tool("s", other);
        let rules = run.rules();
        assert_eq!((rules[1].verdict, rules[1].event), (Fail, Some(5)), "{other:?}");
        assert_eq!(run.ok(), Some(false));
    }
    let run = Run::new(json!({})).tool("s", "rm\u{1b}[2J");
    assert!(!run.rules()[1].reason.contains('\u{1b}'), "{}", run.rules()[1].reason);
}

#[test]
fn names_that_are_not_told() {
    const UNTOLD: &str = "it does not tell what was called";
    const WITHHELD: &str = "the payload is withheld, so it does not tell what was called";
    for name in [json!(7), json!(["m"]), json!(null), json!({"m": 1}), json!(true)] {
        let run = Run::new(json!({}))
            .allow("s", json!({}))
            .event("rer.model.called", json!({"step_id": "s", "model": name}))
            .event("rer.model.returned", json!({"step_id": "s"}));
        assert_only(&run, &[("allowed_models", Inconclusive, Some(2), UNTOLD)]);
    }
    let run = Run::new(json!({}))
        .allow("s", json!({}))
        .event("rer.tool.called", json!({"step_id": "s", "input": {"tool": "t"}}))
        .tool_returned("s");
    assert_only(&run, &[("allowed_tools", Inconclusive, Some(2), UNTOLD)]);
    // A doubt does not hide a later breach.
    assert_only(
        &run.tool("s", "x"),
        &[("allowed_tools", Fail, Some(5), "the tool \"x\" is not on the list")],
    );
    let withheld =
        Run::new(json!({})).allow("s", json!({})).tool_called("s", "t").withheld().tool_returned("s");
    assert_only(
        &withheld,
        &[
            ("allowed_tools", Inconclusive, Some(2), WITHHELD),
            (
                "event_order",
                Inconclusive,
                Some(2),
                "the call does not tell its step, so no decision can be matched with it",
            ),
        ],
    );
    for payload in [None, Some("null"), Some("[]"), Some("\"m\""), Some("{}")] {
        let run = Run::new(json!({})).text("rer.model.called", payload).text("rer.model.returned", payload);
        assert_only(
            &run,
            &[
                ("allowed_models", Inconclusive, Some(1), UNTOLD),
                (
                    "event_order",
                    Inconclusive,
                    Some(1),
                    "the call does not tell its step, so no decision can be matched with it",
                ),
            ],
        );
    }
}

/// A sealed text is canonical; whoever passes it on may spell it anew without breaking it.
#[test]
fn a_name_spelled_with_escapes_hides_nothing() {
    let forbidden = Run::new(json!({})).model("s", "evil", json!(0));
    let text = String::from_utf8(forbidden.seal()).unwrap();
    for (from, to) in [
        ("\"model\":\"evil\"", "\"mod\\u0065l\":\"evil\""),
        ("\"model\":\"evil\"", "\"\\u006dodel\":\"\\u0065vil\""),
        ("\"model\":\"evil\"", "\"model\" : \"e\\u0076il\""),
        ("\"payload\":", "\"p\\u0061yload\":"),
        ("\"rer.model.called\"", "\"rer.mod\\u0065l.called\""),
        ("\"event_type\"", "\"event_\\u0074ype\""),
    ] {
        let spelled = text.replace(from, to);
        assert_ne!(spelled, text);
        let report = judge(spelled.as_bytes(), &both_keys());
        assert!(report.pass(), "{to}: {:?}", report.reasons);
        assert_eq!(report.audit.unwrap().rules, forbidden.rules(), "{to}");
    }
}

#[test]
fn max_steps() {
    let two = Run::limited(json!({"max_steps": 2})).tool("1", "t").model("2", "m", json!(0));
    assert_kept(&two);
    let three = two.clone().tool("3", "t");
    assert_only(&three, &[("max_steps", Fail, Some(8), "this is action 3, allowed are 2")]);
    // The first action too many stays the one that is named; a withheld one counts.
    let four = two.allow("3", json!({})).tool_called("3", "t").withheld().tool_returned("3").tool("4", "t");
    let rules = four.rules();
    assert_eq!((rules[2].verdict, rules[2].event), (Fail, Some(8)));
    let one = Run::limited(json!({"max_steps": 1})).tool("1", "t");
    assert_kept(&one);
    // What was blocked is no action.
    let blocked = one
        .event("rer.policy.evaluated", json!({"step_id": "2", "decision": "deny"}))
        .event("rer.policy.step_blocked", json!({"step_id": "2", "reason": "max_steps"}));
    assert_kept(&blocked);
}

#[test]
fn max_spend() {
    let capped = |limit: Json| Run::limited(json!({"max_spend_usd": limit}));
    let total = |run: Run, total: Json| run.ending(json!({"total_spend_usd": total}));
    assert_kept(&capped(json!(0.3)).model("1", "m", json!(0.1)).model("2", "m", json!(0.2)));
    assert_only(
        &capped(json!(0.3)).model("1", "m", json!(0.1)).model("2", "m", json!(0.200_000_000_001)),
        &[("max_spend_usd", Fail, Some(7), "0.300000000001 USD were spent, allowed were 0.30 USD")],
    );
    // Reached exactly, the next may begin; passed, it may not.
    assert_kept(&capped(json!(0.1)).model("1", "m", json!(0.1)).model("2", "m", json!(0)));
    assert_only(
        &capped(json!(0.1)).model("1", "m", json!(0.11)).tool("2", "t"),
        &[("max_spend_usd", Fail, Some(5), "0.11 USD were spent already")],
    );
    assert_kept(&capped(json!(0)).model("1", "m", json!(0)).tool("2", "t"));
    assert_only(
        &capped(json!(0)).model("1", "m", json!(1e-300)),
        &[("max_spend_usd", Fail, Some(4), "0.000000000001 USD were spent, allowed were 0.00 USD")],
    );
    // What tools cost counts when they tell it.
    let tool = capped(json!(1)).allow("1", json!({})).tool_called("1", "t");
    let tool = tool.event("rer.tool.returned", json!({"step_id": "1", "spend_usd": 1.5}));
    assert_only(&tool, &[("max_spend_usd", Fail, Some(4), "1.50 USD were spent, allowed were 1.00 USD")]);
    // The larger of sum and total counts.
    let run = capped(json!(1)).model("1", "m", json!(0.9)).model("2", "m", json!(0.2));
    assert_only(
        &total(run, json!(0)),
        &[("max_spend_usd", Fail, Some(7), "1.10 USD were spent, allowed were 1.00 USD")],
    );
    assert_only(
        &total(capped(json!(1)).model("1", "m", json!(0.9)), json!(1.01)),
        &[("max_spend_usd", Fail, Some(4), "1.01 USD were spent, allowed were 1.00 USD")],
    );
    assert_kept(&total(capped(json!(1)).model("1", "m", json!(null)), json!(1)));
}

#[test]
fn spend_that_is_not_told() {
    const UNTOLD: &str = "nothing tells what this call cost, nor what the run did";
    const NONSENSE: &str = "what it says of the cost is no amount of money";
    let capped = || Run::limited(json!({"max_spend_usd": 1}));
    assert_only(
        &capped().model("1", "m", json!(0.1)).model("2", "m", json!(null)),
        &[("max_spend_usd", Inconclusive, Some(6), UNTOLD)],
    );
    // Withheld, a tool may have cost something too.
    let model = capped().model("1", "m", json!(0.1)).withheld();
    let order = "a payload is withheld, so it cannot be told which call returned";
    let order = ("event_order", Inconclusive, Some(3), order);
    assert_only(&model, &[("max_spend_usd", Inconclusive, Some(3), UNTOLD), order]);
    let tool = capped().tool("1", "t").withheld();
    assert_only(&tool, &[("max_spend_usd", Inconclusive, Some(3), UNTOLD), order]);
    assert_only(&tool.ending(json!({"total_spend_usd": 0.5})), &[order]);
    // Said, but no amount: what the end of the run says does not mend it.
    for nonsense in [json!("0.50"), json!(-0.01), json!([0.1]), json!(true), json!({"usd": 1})] {
        let run = capped().model("1", "m", nonsense.clone()).ending(json!({"total_spend_usd": 0}));
        assert_only(&run, &[("max_spend_usd", Inconclusive, Some(3), NONSENSE)]);
        let run = capped().model("1", "m", json!(0)).ending(json!({"total_spend_usd": nonsense}));
        assert_only(&run, &[("max_spend_usd", Inconclusive, Some(4), NONSENSE)]);
    }
    // Without a limit nobody asks.
    assert_kept(&Run::new(json!({})).model("1", "m", json!("x")));
    // A doubt does not hide a breach.
    let run = capped().model("1", "m", json!("x")).model("2", "m", json!(2));
    assert_only(&run, &[("max_spend_usd", Fail, Some(7), "2.00 USD were spent, allowed were 1.00 USD")]);
}

/// Anyone may spell 0.5 as 0.50000000000000000001 without breaking a hash; the verdict must stay.
#[test]
fn another_spelling_of_an_amount_is_the_same_amount() {
    let half = Run::limited(json!({"max_spend_usd": 0.5})).model("1", "m", json!(0.5));
    let none = Run::limited(json!({"max_spend_usd": 0})).model("1", "m", json!(0.5));
    for (run, from, to) in [
        (&half, "\"spend_usd\":0.5", "\"spend_usd\":0.50000000000000000001"),
        (&half, "\"max_spend_usd\":0.5", "\"max_spend_usd\":0.49999999999999999999"),
        (&none, "\"max_spend_usd\":0", "\"max_spend_usd\":-1e-400"),
        (&none, "\"max_spend_usd\":0", "\"max_spend_usd\":-0"),
    ] {
        let text = String::from_utf8(run.seal()).unwrap();
        let spelled = text.replace(from, to);
        assert_ne!(spelled, text, "{to}");
        let report = judge(spelled.as_bytes(), &both_keys());
        assert!(report.pass(), "{to}: {:?}", report.reasons);
        assert_eq!(report.audit.unwrap().rules, run.rules(), "{to}");
    }
    assert_eq!((half.ok(), none.ok()), (Some(true), Some(false)));
}

#[test]
fn rate_limit() {
    let rated = || Run::limited(json!({"rate_limit_rpm": 2})).tool("1", "t").tool("2", "t");
    // Calls began at 2 and 5 seconds; the first leaves the window 60 seconds later.
    assert_kept(&rated().clock(61).tool("3", "t"));
    let early = rated().clock(60).tool("3", "t");
    let reason = "2 actions had begun in the 60 seconds before";
    assert_only(&early, &[("rate_limit_rpm", Fail, Some(8), reason)]);
    let edge = |time: &str| {
        rated().clock(61).allow("3", json!({})).tool_called("3", "t").at(time).tool_returned("3")
    };
    assert_kept(&edge("2026-05-13T12:01:02.000000000Z"));
    assert_only(&edge("2026-05-13T12:01:01.999999999Z"), &[("rate_limit_rpm", Fail, Some(8), reason)]);
    let one = Run::limited(json!({"rate_limit_rpm": 1})).tool("1", "t");
    assert_kept(&one);
    let reason = "1 actions had begun in the 60 seconds before";
    assert_only(&one.model("2", "m", json!(0)), &[("rate_limit_rpm", Fail, Some(5), reason)]);
}

#[test]
fn times_that_tell_no_rate() {
    const BACKWARDS: &str = "time runs backwards here, so no rate can be told";
    const NO_MOMENT: &str = "the timestamp names no moment";
    let rated = || Run::limited(json!({"rate_limit_rpm": 9})).tool("1", "t");
    let back = rated().clock(1).allow("2", json!({})).at(&noon(3)).tool_called("2", "t").at(&noon(2));
    assert_only(
        &back.clone().clock(4).tool_returned("2"),
        &[("rate_limit_rpm", Inconclusive, Some(5), BACKWARDS)],
    );
    // Any event that goes back shows that the clock cannot be trusted.
    assert_only(
        &rated().allow("2", json!({})).at(&noon(0)).tool_called("2", "t").tool_returned("2"),
        &[("rate_limit_rpm", Inconclusive, Some(4), BACKWARDS)],
    );
    for never in ["2026-02-30T12:00:00.0Z", "2026-05-13T25:00:00.0Z", "9999-99-99T99:99:99.9Z"] {
        let run = rated().allow("2", json!({})).tool_called("2", "t").at(never).tool_returned("2");
        assert_only(&run, &[("rate_limit_rpm", Inconclusive, Some(5), NO_MOMENT)]);
        // Nobody asks for the time where nothing depends on it.
        assert_kept(&Run { envelope: envelope(json!({})), ..run });
        let mut started = rated();
        started.events[0].time = never.into();
        assert_only(&started, &[("rate_limit_rpm", Inconclusive, Some(0), NO_MOMENT)]);
    }
    // Equal times are no step back.
    let mut still = rated().tool("2", "t");
    still.events.iter_mut().for_each(|event| event.time = noon(0));
    assert_kept(&still);
}

#[test]
fn expiry() {
    let until = |expiry: &str| Run::new(json!({"expiry": expiry})).tool("1", "t");
    const LATE: &str = "it began after the envelope had expired";
    // The call is two seconds after noon.
    assert_kept(&until("2026-05-13T12:00:02.000000001Z"));
    assert_only(&until("2026-05-13T12:00:02Z"), &[("expiry", Fail, Some(2), LATE)]);
    assert_only(&until("2026-05-13T12:00:01.999999999Z"), &[("expiry", Fail, Some(2), LATE)]);
    // The same moments in other offsets.
    assert_kept(&until("2026-05-14T02:00:02.000000001+14:00"));
    assert_only(&until("2026-05-14T02:00:02+14:00"), &[("expiry", Fail, Some(2), LATE)]);
    assert_only(&until("2026-05-13T06:30:02-05:30"), &[("expiry", Fail, Some(2), LATE)]);
    let started = "the run began after the envelope had expired";
    assert_only(&until("2026-05-13T12:00:00Z"), &[("expiry", Fail, Some(0), started)]);
    // What began in time may return late, and be followed by what blocks and ends.
    let late = until("2026-05-13T12:00:03Z")
        .event("rer.policy.evaluated", json!({"step_id": "2", "decision": "deny"}))
        .event("rer.policy.step_blocked", json!({"step_id": "2"}));
    assert_kept(&late);
    // A leap second is the second after it.
    let leap = |time: &str| {
        let run = Run::new(json!({"expiry": "2026-05-13T12:01:00Z"})).allow("1", json!({}));
        run.tool_called("1", "t").at(time).clock(90).tool_returned("1")
    };
    assert_kept(&leap("2026-05-13T12:00:59.999Z"));
    assert_only(&leap("2026-05-13T12:00:60.000Z"), &[("expiry", Fail, Some(2), LATE)]);
}

#[test]
fn times_that_tell_no_expiry() {
    let run = || Run::new(json!({"expiry": "2026-05-13T12:00:30Z"}));
    let never =
        run().allow("1", json!({})).tool_called("1", "t").at("2026-02-30T12:00:00.0Z").tool_returned("1");
    assert_only(&never, &[("expiry", Inconclusive, Some(2), "the timestamp names no moment")]);
    // A clock that is turned back past the expiry: the call says that it was in time.
    let back = run().tool("1", "t").at(&noon(31)).allow("2", json!({})).at(&noon(32));
    let back = back.tool_called("2", "t").at(&noon(29)).clock(40).tool_returned("2");
    let reason = "time runs backwards here, from after the envelope had expired";
    assert_only(&back, &[("expiry", Inconclusive, Some(5), reason)]);
    // Turned back before it, no harm is done.
    let early =
        run().tool("1", "t").allow("2", json!({})).tool_called("2", "t").at(&noon(0)).tool_returned("2");
    assert_kept(&early);
}

#[test]
fn required_approvals() {
    let rule =
        json!([{"action": "tool.call", "tool_pattern": "pay*", "signer_types": ["human", "delegate"]}]);
    let run = || Run::approved(rule.clone());
    let fails = |run: &Run, event: usize, reason: &str| {
        assert_only(run, &[("required_approvals", Fail, Some(event), reason)]);
    };
    assert_kept(&run());
    assert_kept(&run().tool("1", "t"));
    assert_kept(&run().grant("a", "pay", "human").pay("1", "pay", "a").tool_returned("1"));
    assert_kept(&run().grant("a", "pay2", "delegate").pay("1", "pay2", "a").tool_returned("1"));
    // Missing: nothing names one.
    fails(&run().tool("1", "pay"), 2, "\"pay\" was called without an approval");
    fails(&run().grant("a", "pay", "human").tool("1", "pay"), 4, "\"pay\" was called without an approval");
    // Never granted; denied; denied after it was granted.
    fails(&run().pay("1", "pay", "a").tool_returned("1"), 2, "the approval for \"pay\" was never granted");
    let denial = |run: Run| run.event("rer.approval.denied", json!({"approval_id": "a", "reason": "no"}));
    fails(&denial(run()).pay("1", "pay", "a").tool_returned("1"), 3, "the approval for \"pay\" was denied");
    let withdrawn = denial(run().grant("a", "pay", "human")).pay("1", "pay", "a").tool_returned("1");
    fails(&withdrawn, 5, "the approval for \"pay\" was denied");
    let withdrawn = denial(run().grant("a", "pay", "human").allow("1", json!({"approval_id": "a"})));
    fails(&withdrawn.tool_called("1", "pay").tool_returned("1"), 5, "the approval for \"pay\" was denied");
    // Used, and used again.
    let twice = run().grant("a", "pay", "human").pay("1", "pay", "a").tool_returned("1");
    let twice = twice.pay("2", "pay", "a").tool_returned("2");
    fails(&twice, 7, "the approval for \"pay\" had been used before");
    let again = run().grant("a", "pay", "human").pay("1", "pay", "a").tool_returned("1");
    let again = again.grant("a", "pay", "human").pay("2", "pay", "a").tool_returned("2");
    fails(&again, 9, "the approval for \"pay\" had been used before");
    // By someone of another type.
    let robot = run().grant("a", "pay", "automated").pay("1", "pay", "a").tool_returned("1");
    fails(&robot, 4, "the approval for \"pay\" is by a signer of type automated");
    // Too late: after the call, or after the policy had allowed it (§8.2).
    let late = run().pay("1", "pay", "a").grant("a", "pay", "human").tool_returned("1");
    fails(&late, 2, "the approval for \"pay\" was never granted");
    let late = run().allow("1", json!({"approval_id": "a"})).grant("a", "pay", "human");
    let late = late.tool_called("1", "pay").tool_returned("1");
    fails(&late, 4, "the approval for \"pay\" was granted after the policy had allowed it");
    // For something else.
    let swapped = run().grant("a", "pay", "human").grant("b", "pay2", "human");
    let swapped = swapped.pay("1", "pay", "b").pay("2", "pay2", "a").tool_returned("1").tool_returned("2");
    fails(&swapped, 6, "the approval for \"pay\" had been asked for something else");
    // Nobody asked, but it was granted: tokens are out of the draft's scope.
    let unasked = run()
        .event("rer.approval.granted", json!({"approval_id": "a", "token": {"signer_type": "human"}}))
        .pay("1", "pay", "a")
        .tool_returned("1");
    assert_kept(&unasked);
}

#[test]
fn several_rules_on_one_action() {
    let two = |one: Json, other: Json| {
        Run::approved(json!([
            {"action": "tool.call", "tool_pattern": "pay*", "signer_types": one},
            {"action": "model.call", "tool_pattern": "*"},
            {"action": "tool.call", "signer_types": other},
        ]))
    };
    let paid = |run: Run, signer: &str| run.grant("a", "pay", signer).pay("1", "pay", "a").tool_returned("1");
    assert_kept(&paid(two(json!(["human"]), json!(["automated", "human"])), "human"));
    let reason = "the approval for \"pay\" is by a signer of type human";
    assert_only(
        &paid(two(json!(["human"]), json!(["automated"])), "human"),
        &[("required_approvals", Fail, Some(4), reason)],
    );
    assert_only(
        &paid(two(json!([]), json!(["human"])), "human"),
        &[("required_approvals", Fail, Some(4), reason)],
    );
    // The second rule alone covers a tool that the first does not.
    assert_only(
        &two(json!(["human"]), json!(["human"])).tool("1", "t"),
        &[("required_approvals", Fail, Some(2), "\"t\" was called without an approval")],
    );
    assert_only(
        &two(json!(["human"]), json!(["human"])).model("1", "m", json!(0)),
        &[("required_approvals", Fail, Some(2), "\"m\" was called without an approval")],
    );
}

#[test]
fn approvals_that_cannot_be_told() {
    let rule = json!([{"action": "tool.call", "tool_pattern": "pay", "signer_types": ["human"]}]);
    let run = || Run::approved(rule.clone());
    let doubt = |event, reason| ("required_approvals", Inconclusive, event, reason);
    let undecided = "the decision does not tell its step, or what it was";
    // A grant without the type of its signer; where no type is asked for, that is nobody's business.
    for token in
        [json!({}), json!("opaque"), json!(null), json!({"signer_type": "Human"}), json!({"signer_type": 1})]
    {
        let granted = |run: Run| {
            run.event("rer.approval.granted", json!({"approval_id": "a", "token": token}))
                .pay("1", "pay", "a")
                .tool_returned("1")
        };
        let reason = "the approval does not tell the type of its signer";
        assert_only(&granted(run()), &[doubt(Some(3), reason)]);
        assert_kept(&granted(Run::approved(json!([{"action": "tool.call"}]))));
    }
    // The grant, the decision, the denial, the call: each withheld.
    let grant = run().grant("a", "pay", "human").withheld().pay("1", "pay", "a").tool_returned("1");
    let reason = "a grant is withheld, so it cannot be told whether this was approved";
    assert_only(&grant, &[doubt(Some(4), reason)]);
    let decision = run().grant("a", "pay", "human").allow("1", json!({"approval_id": "a"})).withheld();
    let decision = decision.tool_called("1", "pay").tool_returned("1");
    let reason = "a decision is withheld, so it cannot be told whether this was approved";
    assert_only(&decision, &[doubt(Some(4), reason), ("event_order", Inconclusive, Some(3), undecided)]);
    let denial = run().grant("a", "pay", "human").event("rer.approval.denied", json!({"approval_id": "b"}));
    let denial = denial.withheld().pay("1", "pay", "a").tool_returned("1");
    let reason = "a denial is withheld, so it cannot be told whether this stayed approved";
    assert_only(&denial, &[doubt(Some(5), reason)]);
    let call = run().grant("a", "pay", "human").pay("1", "pay", "a").withheld().tool_returned("1");
    let reason = "the payload is withheld, so it does not tell what was called";
    assert_eq!(call.rules()[6].verdict, Inconclusive);
    assert_eq!((call.rules()[6].event, call.rules()[6].reason.as_str()), (Some(4), reason));
    // A withheld request says less, but the grant stands.
    let request = run().event("rer.approval.requested", json!({"approval_id": "a"})).withheld();
    let request =
        request.event("rer.approval.granted", json!({"approval_id": "a", "token": {"signer_type": "human"}}));
    assert_kept(&request.pay("1", "pay", "a").tool_returned("1"));
    // What a withheld event cannot excuse: a decision that is there, and names no approval.
    let other = run().allow("0", json!({})).withheld().tool("1", "pay");
    assert_eq!(other.rules()[6].verdict, Fail);
    // An action of which no event tells.
    for action in ["deploy", "tool", "Tool.call", "*", ""] {
        let run = Run::approved(json!([{"action": action}])).tool("1", "t");
        let reason = format!("no event tells whether the action \"{action}\" happened");
        assert_only(&run, &[("required_approvals", Inconclusive, None, &reason)]);
    }
}

#[test]
fn required_signer_types() {
    let run = |types: Json| Run::new(json!({"required_signer_types": types}));
    assert_kept(&run(json!([])));
    assert_kept(&run(json!(["human"])).grant("a", "t", "human"));
    let both = run(json!(["human", "automated"])).grant("a", "t", "automated");
    assert_only(&both, &[("required_signer_types", Fail, None, "nobody of type human approved anything")]);
    assert_kept(&both.clone().grant("b", "t", "human"));
    let reason = "an approval does not tell the type of its signer";
    assert_only(
        &both.clone().event("rer.approval.granted", json!({"approval_id": "b", "token": "x"})),
        &[("required_signer_types", Inconclusive, Some(3), reason)],
    );
    assert_only(
        &both.grant("b", "t", "human").withheld(),
        &[("required_signer_types", Inconclusive, Some(4), reason)],
    );
    assert_only(
        &run(json!(["delegate"])),
        &[("required_signer_types", Fail, None, "nobody of type delegate approved anything")],
    );
}

// ---------------------------------------------------------------------------------------------------------------------
// The order of events
// ---------------------------------------------------------------------------------------------------------------------

#[test]
fn decisions_come_before_actions() {
    let order = |event: usize, reason| [("event_order", Fail, Some(event), reason)];
    let run = || Run::new(json!({}));
    let undecided = "no policy decision came before this action";
    assert_only(&run().tool_called("1", "t").tool_returned("1"), &order(1, undecided));
    // For another step; after the call; once for two calls; taken back by a block.
    assert_only(&run().allow("2", json!({})).tool_called("1", "t").tool_returned("1"), &order(2, undecided));
    assert_only(&run().tool_called("1", "t").allow("1", json!({})).tool_returned("1"), &order(1, undecided));
    assert_only(&run().tool("1", "t").tool_called("1", "t").tool_returned("1"), &order(4, undecided));
    let blocked = run().allow("1", json!({})).event("rer.policy.step_blocked", json!({"step_id": "1"}));
    assert_only(&blocked.tool_called("1", "t").tool_returned("1"), &order(3, undecided));
    let denied = run().event("rer.policy.evaluated", json!({"step_id": "1", "decision": "deny"}));
    assert_only(
        &denied.clone().tool_called("1", "t").tool_returned("1"),
        &order(2, "the policy had denied this action"),
    );
    assert_kept(&denied.clone());
    // A block without a decision is odd, and harmless.
    assert_kept(&run().event("rer.policy.step_blocked", json!({"step_id": "1"})));
    // Allowed, then denied.
    let changed = run()
        .allow("1", json!({}))
        .event("rer.policy.evaluated", json!({"step_id": "1", "decision": "deny"}));
    assert_only(
        &changed.tool_called("1", "t").tool_returned("1"),
        &order(3, "the policy had denied this action"),
    );
    // On something else.
    let other = "the policy had decided on another model or tool";
    let bait = run().allow("1", json!({"tool": "t"})).tool_called("1", "pay").tool_returned("1");
    assert_only(&bait, &order(2, other));
    let bait = run().allow("1", json!({"model": "m"})).tool_called("1", "pay").tool_returned("1");
    assert_only(&bait, &order(2, other));
    // One step id for a step after the other is allowed.
    assert_kept(&run().tool("1", "t").tool("1", "t"));
}

#[test]
fn decisions_that_tell_too_little() {
    let undecided = "the decision does not tell its step, or what it was";
    let run = || Run::new(json!({}));
    for decision in [json!("ALLOW"), json!("allow "), json!(true), json!(null), json!(["allow"])] {
        let odd = run().event("rer.policy.evaluated", json!({"step_id": "1", "decision": decision}));
        assert_only(&odd.clone(), &[("event_order", Inconclusive, Some(1), undecided)]);
        let called = odd.tool_called("1", "t").tool_returned("1");
        assert_only(&called, &[("event_order", Fail, Some(2), "no policy decision came before this action")]);
    }
    // It may have been about this call, or not; one of them excuses one call.
    let withheld = run().allow("1", json!({})).withheld().tool_called("1", "t").tool_returned("1");
    assert_only(&withheld, &[("event_order", Inconclusive, Some(1), undecided)]);
    let stepless = run().event("rer.policy.evaluated", json!({"decision": "allow"}));
    let stepless = stepless.tool_called("1", "t").tool_returned("1");
    assert_only(&stepless, &[("event_order", Inconclusive, Some(1), undecided)]);
    assert_only(
        &withheld.tool_called("2", "t").tool_returned("2"),
        &[("event_order", Fail, Some(4), "no policy decision came before this action")],
    );
    let denied = run().event("rer.policy.evaluated", json!({"decision": "deny"}));
    assert_only(
        &denied.tool_called("1", "t").tool_returned("1"),
        &[("event_order", Fail, Some(2), "no policy decision came before this action")],
    );
    // A step id that is no text is none.
    let odd = run().event("rer.policy.evaluated", json!({"step_id": 1, "decision": "allow"}));
    let odd = odd.event("rer.tool.called", json!({"step_id": 1, "tool": "t"}));
    let odd = odd.event("rer.tool.returned", json!({"step_id": 1}));
    assert_only(&odd, &[("event_order", Inconclusive, Some(1), undecided)]);
}

#[test]
fn calls_return_once() {
    let order = |event: usize, reason| [("event_order", Fail, Some(event), reason)];
    let run = || Run::new(json!({}));
    let stray = "something returned that was not called";
    assert_only(&run().tool("1", "t").tool_returned("1"), &order(4, stray));
    assert_only(&run().tool_returned("1"), &order(1, stray));
    assert_only(&run().event("rer.model.returned", json!({})), &order(1, stray));
    // As another kind of thing.
    let disguised =
        run().allow("1", json!({})).event("rer.model.called", json!({"step_id": "1", "model": "m"}));
    assert_only(&disguised.tool_returned("1"), &order(3, stray));
    let again = run().allow("1", json!({})).tool_called("1", "t").allow("1", json!({})).tool_called("1", "t");
    assert_only(
        &again.tool_returned("1").tool_returned("1"),
        &order(4, "the same step begins again before it has returned"),
    );
    // Never, with and without a reason for it.
    let lost = run().allow("1", json!({})).tool_called("1", "t").tool("2", "t");
    assert_only(&lost, &order(2, "this call never returned"));
    let gap = lost.event("rer.capture.gap", json!({"what": "stream", "why": "crash"}));
    let reason = "this call never returned, but something was not captured";
    assert_only(&gap, &[("event_order", Inconclusive, Some(2), reason)]);
    // Interleaved is fine.
    let two = run().allow("1", json!({})).allow("2", json!({})).tool_called("1", "t").tool_called("2", "t");
    assert_kept(&two.tool_returned("2").tool_returned("1"));
    // The first that is lost is named.
    let two = run().tool("1", "t").allow("b", json!({})).allow("a", json!({}));
    let two = two.tool_called("b", "t").tool_called("a", "t");
    assert_only(&two, &order(6, "this call never returned"));
}

#[test]
fn withheld_payloads_break_no_order() {
    let run = || Run::new(json!({}));
    let order = |event, reason| ("event_order", Inconclusive, Some(event), reason);
    let unmatched = "the call does not tell its step, so no decision can be matched with it";
    let which = "a payload is withheld, so it cannot be told which call returned";
    let name = "the payload is withheld, so it does not tell what was called";
    let unnamed = |event| ("allowed_tools", Inconclusive, Some(event), name);
    // The return; the call; both; each of another step.
    let returned = run().tool("1", "t").withheld();
    assert_only(&returned, &[order(3, which)]);
    let called = run().allow("1", json!({})).tool_called("1", "t").withheld().tool_returned("1");
    assert_only(&called, &[unnamed(2), order(2, unmatched)]);
    let both = run().allow("1", json!({})).tool_called("1", "t").withheld().tool_returned("1").withheld();
    assert_only(&both, &[unnamed(2), order(2, unmatched)]);
    let crossed = run()
        .allow("1", json!({}))
        .tool_called("1", "t")
        .withheld()
        .allow("2", json!({}))
        .tool_called("2", "t")
        .tool_returned("2")
        .withheld()
        .tool_returned("1");
    assert_only(&crossed, &[unnamed(2), order(2, unmatched)]);
    // The numbers must fit all the same: two returns of one call, none of another kind, and none at all.
    let stray = |event| ("event_order", Fail, Some(event), "something returned that was not called");
    assert_only(&run().tool("1", "t").tool_returned("1").withheld(), &[stray(4)]);
    assert_only(&called.clone().tool_returned("1"), &[unnamed(2), stray(4)]);
    assert_only(&run().tool_returned("1").withheld(), &[stray(1)]);
    let lost = |event| ("event_order", Fail, Some(event), "this call never returned");
    let one = run().allow("1", json!({})).tool_called("1", "t").withheld();
    assert_only(&one, &[unnamed(2), lost(2)]);
    let other = one.event("rer.model.returned", json!({"step_id": "1"})).withheld();
    assert_eq!((other.rules()[8].verdict, other.rules()[8].event), (Fail, Some(3)));
}

#[test]
fn calls_without_steps_pair_in_order() {
    // Nobody policed this run, so that its calls need no decisions; nothing restricted it either.
    let observed = json!({"metadata": {"reenact": {"enforcement": "observe"}}});
    let run = || Run::new(observed.clone());
    let tool = |run: Run| run.event("rer.tool.called", json!({"tool": "t"}));
    let back = |run: Run| run.event("rer.tool.returned", json!({"tool": "t"}));
    let order = |run: &Run| {
        let rule = run.rules().swap_remove(8);
        (rule.verdict, rule.event, rule.reason)
    };
    let kept = (Pass, None, "every action was decided, began and returned in order".to_owned());
    assert_eq!(order(&back(tool(run()))), kept);
    assert_eq!(order(&back(back(tool(tool(run()))))), kept);
    assert_eq!(order(&tool(back(tool(tool(run()))))), (Fail, Some(2), "this call never returned".into()));
    assert_eq!(
        order(&back(back(tool(run())))),
        (Fail, Some(3), "something returned that was not called".into())
    );
    let model = tool(run()).event("rer.model.returned", json!({}));
    assert_eq!(order(&model), (Fail, Some(2), "something returned that was not called".into()));
    // Where a policy had to decide, such calls cannot be matched with its decisions.
    let policed = back(tool(Run::new(json!({}))));
    assert_eq!(
        order(&policed),
        (
            Inconclusive,
            Some(1),
            "the call does not tell its step, so no decision can be matched with it".into()
        )
    );
}

#[test]
fn a_run_begins_and_ends_once() {
    let order = |event: usize, reason| [("event_order", Fail, Some(event), reason)];
    let run = || Run::new(json!({})).tool("1", "t");
    assert_only(&run().event("rer.run.started", json!({})), &order(4, "the run begins a second time"));
    let early = run().event("rer.run.ended", json!({})).tool("2", "t");
    assert_only(&early, &order(4, "the run goes on after its end"));
    assert_only(&run().unended(), &order(3, "the last event is not rer.run.ended"));
    assert_only(
        &run().event("rer.run.ended", json!({})).event("acme.late", json!({})).unended(),
        &order(5, "the last event is not rer.run.ended"),
    );
    let mut headless = run();
    headless.events.remove(0);
    assert_only(&headless, &order(0, "the first event is not rer.run.started"));
    headless.events.insert(0, Event { event_type: "acme.early".into(), ..headless.events[0].clone() });
    assert_only(&headless, &order(0, "the first event is not rer.run.started"));
}

// ---------------------------------------------------------------------------------------------------------------------
// Authorization
// ---------------------------------------------------------------------------------------------------------------------

/// The verdict on `authorization` of a run with this in its metadata.
#[track_caller]
fn assert_authorization(envelope: Json, keys: &Keys, verdict: Verdict, reason: &str) {
    let run = Run { envelope, ..Run::new(json!({})) }.unauthorised();
    let report = judge(&run.seal(), keys);
    assert!(report.pass(), "{:?}", report.reasons);
    let mut expected = kept(&run.envelope);
    *expected.last_mut().unwrap() =
        RuleVerdict { rule: "authorization", verdict, event: None, reason: reason.into() };
    assert_eq!(report.audit.unwrap().rules, expected);
}

#[test]
fn who_authorised() {
    let (platform, runtime) = (Key::of(PLATFORM), Key::of(RUNTIME));
    let id = platform.public_key().id();
    let signed = authorised(&envelope(json!({})), &platform);
    let knowing = |trust| {
        let mut keys = runtime.keys();
        keys.know(platform.public_key(), trust, None);
        keys
    };
    for (trust, verdict, reason) in [
        (Trust::Supplied, Pass, format!("authorised by {id} (supplied)")),
        (Trust::Trusted, Pass, format!("authorised by {id} (trusted)")),
        (Trust::Superseded, Pass, format!("authorised by {id} (superseded)")),
        (Trust::Compromised, Inconclusive, format!("authorised by {id}, which is marked as compromised")),
        (Trust::SelfAsserted, Inconclusive, format!("authorised by {id}, which nobody vouches for")),
        (Trust::Unknown, Inconclusive, format!("authorised by {id}, which nobody vouches for")),
    ] {
        assert_authorization(signed.clone(), &knowing(trust), verdict, &reason);
    }
    let reason = format!("authorised by {id}, but that key is not at hand");
    assert_authorization(signed, &runtime.keys(), Inconclusive, &reason);
    let own = authorised(&envelope(json!({})), &runtime);
    assert_authorization(
        own,
        &both_keys(),
        Inconclusive,
        "self-authorised: the authorization is by the runtime's own key",
    );
    let alone = "self-authorised: only the runtime's own key signed the envelope";
    for metadata in [json!({}), json!({"metadata": {}}), json!({"metadata": {"Authorization": {}}})] {
        assert_authorization(envelope(metadata), &both_keys(), Inconclusive, alone);
    }
    // Beside other metadata.
    let signed = authorised(&envelope(json!({"metadata": {"a": 1, "reenact": {"z": "é"}}})), &platform);
    assert_authorization(signed, &both_keys(), Pass, &format!("authorised by {id} (trusted)"));
}

#[test]
fn forged_authorizations() {
    let platform = Key::of(PLATFORM);
    let id = platform.public_key().id().to_string();
    let forged = format!("the authorization is not signed by {id}");
    let with = |authorization: Json| envelope(json!({"metadata": {"authorization": authorization}}));
    let by = |signature: &str| with(json!({"key_id": id, "signature": signature}));
    let good = authorised(&envelope(json!({})), &platform);
    let signature = good["metadata"]["authorization"]["signature"].as_str().unwrap();
    // Over another envelope.
    for other in [
        envelope(json!({"limits": {"max_steps": 1}})),
        envelope(json!({"metadata": {"a": 1}})),
        envelope(json!({"required_signer_types": []})),
    ] {
        let signature = platform_signature(&other, &platform);
        assert_authorization(by(&signature), &both_keys(), Fail, &forged);
    }
    // Under another key's name, or spelled as signatures are not.
    let mallory = authorised(&envelope(json!({})), &Key::of(3));
    let of_mallory = mallory["metadata"]["authorization"]["signature"].as_str().unwrap();
    for bad in [
        of_mallory,
        "",
        "00",
        &"0".repeat(128),
        &signature.to_uppercase(),
        &signature[..127],
        &format!("{signature}0"),
        &format!(" {}", &signature[1..]),
    ] {
        assert_authorization(by(bad), &both_keys(), Fail, &forged);
    }
    let incomplete = "metadata.authorization needs a key_id and a signature";
    for bad in [
        json!({}),
        json!(null),
        json!("x"),
        json!([]),
        json!({"key_id": id}),
        json!({"signature": signature}),
        json!({"key_id": 7, "signature": signature}),
        json!({"key_id": id, "signature": null}),
    ] {
        assert_authorization(with(bad), &both_keys(), Fail, incomplete);
    }
    // A name that is no key id: nobody's key. The runtime's own, with a character more, is not another key.
    let own = Key::of(RUNTIME).public_key().id().to_string();
    for name in ["", "platform", &format!("{id}="), &format!("{id} "), &format!("{own}=")] {
        let reason = format!("authorised by {name}, but that key is not at hand");
        let envelope = with(json!({"key_id": name, "signature": signature}));
        assert_authorization(envelope, &both_keys(), Inconclusive, &reason);
    }
}

/// Under a key of small order, one signature fits every message.
#[test]
fn a_weak_key_authorises_nothing() {
    let mut identity = [0; 32];
    identity[0] = 1;
    let weak = PublicKey::from_raw(&identity).unwrap();
    let signature = format!("{}{}", hex(&identity), "0".repeat(64));
    let mut keys = both_keys();
    keys.supply(weak);
    let envelope = envelope(
        json!({"metadata": {"authorization": {"key_id": weak.id().to_string(), "signature": signature}}}),
    );
    assert_authorization(envelope, &keys, Fail, &format!("the authorization is not signed by {}", weak.id()));
}

// ---------------------------------------------------------------------------------------------------------------------
// What cannot be audited
// ---------------------------------------------------------------------------------------------------------------------

#[test]
fn nothing_was_restricted() {
    for (word, reason) in [
        ("observe", "nothing was restricted (observe-only)"),
        ("imported", "nothing was restricted (imported from another format)"),
    ] {
        let run = Run::new(json!({"metadata": {"reenact": {"enforcement": word}}}))
            .event("rer.tool.called", json!({"tool": "anything", "step_id": "1"}))
            .event("rer.tool.returned", json!({"step_id": "1"}));
        let mut expected = kept(&run.envelope);
        for rule in &mut expected[..8] {
            (rule.verdict, rule.reason) = (Inconclusive, reason.into());
        }
        let report = run.judged();
        assert!(report.pass());
        assert_eq!(report.audit.clone().unwrap().rules, expected);
        assert_eq!(report.audit.unwrap().ok(), None);
        // A denial binds all the same.
        let denied = Run::new(json!({"metadata": {"reenact": {"enforcement": word}}}))
            .event("rer.policy.evaluated", json!({"step_id": "1", "decision": "deny"}))
            .tool_called("1", "t")
            .tool_returned("1");
        assert_eq!(denied.ok(), Some(false));
    }
}

#[test]
fn an_envelope_that_cannot_be_read() {
    let cases = [
        (
            json!({"limits": {"max_steps": 0}}),
            "$.envelope.limits.max_steps: must be a whole number of 1 or more",
        ),
        (json!({"limits": []}), "$.envelope.limits: must be an object, not an array"),
        (json!({"expiry": "soon"}), "$.envelope.expiry: must be an RFC 3339 timestamp"),
        (json!({"limit": {}}), "$.envelope: unknown member \"limit\""),
    ];
    for (more, fault) in cases {
        let run = Run::new(more).tool("1", "t");
        let report = run.judged();
        assert_eq!(report.failed().collect::<Vec<_>>(), ["schema_valid"]);
        let audit = report.audit.unwrap();
        let reason = format!("the envelope cannot be read: {fault}");
        for rule in &audit.rules[..8] {
            assert_eq!(
                (rule.verdict, rule.event, &rule.reason),
                (Inconclusive, None, &reason),
                "{}",
                rule.rule
            );
        }
        assert_eq!(audit.rules[8..], kept(&run.envelope)[8..]);
        assert_eq!(audit.ok(), None);
    }
    // Of the published shape, but no day of the calendar: not "no expiry".
    let never = Run::new(json!({"expiry": "2026-02-30T00:00:00Z"})).tool("1", "t");
    let report = never.judged();
    assert!(report.pass());
    let reason = "the envelope cannot be read: $.envelope.expiry: must be a day that the calendar has";
    assert_eq!(report.audit.unwrap().rules[5].reason, reason);
}

#[test]
fn no_envelope_at_all() {
    let mut artifact: Json = serde_json::from_slice(&Run::new(json!({})).seal()).unwrap();
    artifact.as_object_mut().unwrap().remove("envelope");
    let audit = judge(artifact.to_string().as_bytes(), &both_keys()).audit.unwrap();
    for at in [0, 1, 2, 3, 4, 5, 6, 7, 9] {
        let rule = &audit.rules[at];
        assert_eq!(
            (rule.verdict, rule.event, rule.reason.as_str()),
            (Inconclusive, None, "there is no envelope")
        );
    }
    assert_eq!(audit.rules[8].verdict, Pass);
}

#[test]
fn a_document_that_cannot_be_read() {
    let artifact = Run::new(json!({})).seal();
    for bytes in [&b""[..], b"[]", b"null", &artifact[..artifact.len() - 1], b"{\"envelope\":{}"] {
        let audit = judge(bytes, &both_keys()).audit.unwrap();
        let rules: Vec<&str> = audit.rules.iter().map(|rule| rule.rule).collect();
        assert_eq!(rules, kept(&json!({})).iter().map(|rule| rule.rule).collect::<Vec<_>>());
        for rule in &audit.rules {
            let found = (rule.verdict, rule.event, rule.reason.as_str());
            assert_eq!(found, (Inconclusive, None, "the document could not be read"));
        }
        assert_eq!(audit.ok(), None);
    }
    // An object that is no artifact has neither envelope nor events: nothing began, so nothing ended.
    let audit = judge(b"{}", &both_keys()).audit.unwrap();
    assert_eq!(audit.ok(), Some(false));
    assert_eq!(audit.rules[8].reason, "the first event is not rer.run.started");
    assert_eq!(audit.rules[0].reason, "there is no envelope");
}

#[test]
fn ok() {
    let rule = |verdict| RuleVerdict { rule: "expiry", verdict, event: None, reason: String::new() };
    let ok =
        |verdicts: &[Verdict]| Audit { rules: verdicts.iter().map(|verdict| rule(*verdict)).collect() }.ok();
    assert_eq!(ok(&[Pass, Pass]), Some(true));
    assert_eq!(ok(&[Pass, Inconclusive]), None);
    assert_eq!(ok(&[Inconclusive, Fail, Pass]), Some(false));
    assert_eq!(ok(&[Fail]), Some(false));
}

#[test]
fn the_shape_of_the_report() {
    let run = Run::limited(json!({"max_steps": 1})).tool("1", "t").tool("2", "a\"\n").unauthorised();
    let line = Outcome::Judged(run.judged()).to_json("x");
    let audit = r#""audit":{"ok":false,"rules":[{"rule":"allowed_models","verdict":"pass","event":null,"reason":"every model that was called is on the list"},{"rule":"allowed_tools","verdict":"fail","event":5,"reason":"the tool \"a\"\\u{a}\" is not on the list"},{"rule":"max_steps","verdict":"fail","event":5,"reason":"this is action 2, allowed are 1"},{"rule":"max_spend_usd","verdict":"pass","event":null,"reason":"there is no limit"},{"rule":"rate_limit_rpm","verdict":"pass","event":null,"reason":"there is no limit"},{"rule":"expiry","verdict":"pass","event":null,"reason":"there is none"},{"rule":"required_approvals","verdict":"pass","event":null,"reason":"none is required"},{"rule":"required_signer_types","verdict":"pass","event":null,"reason":"none is required"},{"rule":"event_order","verdict":"pass","event":null,"reason":"every action was decided, began and returned in order"},{"rule":"authorization","verdict":"inconclusive","event":null,"reason":"self-authorised: only the runtime's own key signed the envelope"}]},"digests":{}}"#;
    assert!(line.ends_with(audit), "{line}");
    assert!(line.starts_with("{\"target\":\"x\",\"format\":\"rer-artifact/0.2\",\"pass\":true,"), "{line}");
    let line = Outcome::Judged(exemplary().judged()).to_json("x");
    assert!(line.contains("\"audit\":{\"ok\":true,\"rules\":["), "{line}");
    let line = Outcome::Judged(exemplary().unauthorised().judged()).to_json("x");
    assert!(line.contains("\"audit\":{\"ok\":null,\"rules\":["), "{line}");
}

// ---------------------------------------------------------------------------------------------------------------------
// A runtime that lies
// ---------------------------------------------------------------------------------------------------------------------

/// Whoever holds the runtime's key may write anything. What it wrote must not read as "all kept" when it does not say so.
#[test]
fn tricks_of_a_runtime_with_its_own_key() {
    let all = || {
        Run::new(json!({
            "limits": {"max_steps": 2, "max_spend_usd": 1, "rate_limit_rpm": 1},
            "expiry": "2026-05-13T12:10:00Z",
            "required_approvals": [{"action": "tool.call", "tool_pattern": "pay*", "signer_types": ["human"]}],
        }))
    };
    let called = |run: Run, event_type: &str, payload: Json| {
        run.allow("1", json!({})).event(event_type, payload).tool_returned("1")
    };
    let model = |payload: Json| {
        all()
            .allow("1", json!({}))
            .event("rer.model.called", payload)
            .event("rer.model.returned", json!({"step_id": "1", "spend_usd": 0}))
    };
    let pays = || all().grant("a", "pay", "human");
    let tricks: Vec<(&str, Run)> = vec![
        ("a type of another runtime", all().event("ToolCalled", json!({"tool": "rm"}))),
        ("a type with an upper case", all().event("rer.tool.Called", json!({"tool": "rm"}))),
        ("a type with a space", all().event("rer.tool.called ", json!({"tool": "rm"}))),
        ("a type in another namespace", all().event("acme.tool.called", json!({"tool": "rm"}))),
        ("a type with an underscore", all().event("rer.tool_called", json!({"tool": "rm"}))),
        ("a type of another tense", all().event("rer.model.call", json!({"model": "evil"}))),
        ("a type with a confusable", all().event("rer.tооl.called", json!({"tool": "rm"}))),
        ("a call without payload", all().text("rer.model.called", None).text("rer.model.returned", None)),
        (
            "a null payload",
            all().text("rer.model.called", Some("null")).text("rer.model.returned", Some("{}")),
        ),
        ("a model that is a number", model(json!({"step_id": "1", "model": 7}))),
        ("a model that is a list", model(json!({"step_id": "1", "model": ["m", "evil"]}))),
        ("a model that is deeper", model(json!({"step_id": "1", "call": {"model": "evil"}}))),
        ("a tool under a model's event", model(json!({"step_id": "1", "tool": "rm"}))),
        ("a tool beside a model", model(json!({"step_id": "1", "model": "m", "tool": "rm"}))),
        (
            "a model beside a tool",
            called(all(), "rer.tool.called", json!({"step_id": "1", "tool": "t", "model": "evil"})),
        ),
        (
            "a tool with a space behind",
            called(all(), "rer.tool.called", json!({"step_id": "1", "tool": "t "})),
        ),
        (
            "a tool with a confusable",
            called(all(), "rer.tool.called", json!({"step_id": "1", "tool": "рау"})),
        ),
        (
            "a tool with a zero width space",
            called(all(), "rer.tool.called", json!({"step_id": "1", "tool": "t\u{200b}"})),
        ),
        ("a withheld call", all().allow("1", json!({})).tool_called("1", "rm").withheld().tool_returned("1")),
        (
            "one decision for two calls of one step",
            all().tool("1", "t").clock(70).tool_called("1", "t").tool_returned("1"),
        ),
        (
            "a step inside itself",
            all()
                .allow("1", json!({}))
                .tool_called("1", "t")
                .clock(70)
                .tool_called("1", "t")
                .tool_returned("1"),
        ),
        ("a spend that is a text", all().model("1", "m", json!("100")).ending(json!({"total_spend_usd": 0}))),
        ("a spend below nothing", all().model("1", "m", json!(-5)).clock(70).model("2", "m", json!(2))),
        (
            "a spend below nothing, alone",
            all().model("1", "m", json!(-5)).ending(json!({"total_spend_usd": 0})),
        ),
        (
            "a spend too small for a double",
            Run::limited(json!({"max_spend_usd": 0}))
                .text("rer.tool.returned", Some("{\"spend_usd\":5e-324}")),
        ),
        ("a total below the sum", all().model("1", "m", json!(3)).ending(json!({"total_spend_usd": 0.1}))),
        (
            "a total that is a text",
            all().model("1", "m", json!(0)).ending(json!({"total_spend_usd": "9.99"})),
        ),
        (
            "a model that returns as a tool, free of charge",
            all()
                .allow("1", json!({}))
                .event("rer.model.called", json!({"step_id": "1", "model": "m"}))
                .tool_returned("1"),
        ),
        (
            "a clock that is turned back",
            all()
                .tool("1", "t")
                .clock(1200)
                .allow("2", json!({}))
                .clock(62)
                .tool_called("2", "t")
                .tool_returned("2"),
        ),
        ("calls in a spread of time that nothing else shares", {
            let first = all().tool("1", "t").allow("2", json!({})).tool_called("2", "t").at(&noon(62));
            first.clock(6).tool_returned("2")
        }),
        (
            "a leap second before the next minute",
            all()
                .clock(1)
                .allow("1", json!({}))
                .tool_called("1", "t")
                .at("2026-05-13T12:09:60.000Z")
                .clock(601)
                .tool_returned("1"),
        ),
        (
            "a moment that never was",
            all().allow("1", json!({})).tool_called("1", "t").at("2026-05-13T24:00:00.0Z").tool_returned("1"),
        ),
        (
            "a decision in capitals",
            all()
                .event("rer.policy.evaluated", json!({"step_id": "1", "decision": "ALLOW"}))
                .tool_called("1", "t")
                .tool_returned("1"),
        ),
        ("a decision on another step", all().allow("0", json!({})).tool_called("1", "t").tool_returned("1")),
        (
            "a decision on another tool",
            pays().allow("1", json!({"tool": "t"})).tool_called("1", "pay").tool_returned("1"),
        ),
        ("a decision after the fact", all().tool_called("1", "t").tool_returned("1").allow("1", json!({}))),
        (
            "a denial that nobody heeded",
            all()
                .event("rer.policy.evaluated", json!({"step_id": "1", "decision": "deny"}))
                .tool_called("1", "t")
                .tool_returned("1"),
        ),
        (
            "an approval of another call",
            pays().clock(70).grant("b", "pay2", "human").pay("1", "pay", "b").tool_returned("1"),
        ),
        ("an approval that only the call names", {
            let run = pays().allow("1", json!({}));
            run.event("rer.tool.called", json!({"step_id": "1", "tool": "pay", "approval_id": "a"}))
                .tool_returned("1")
        }),
        ("an approval id in another case", pays().pay("1", "pay", "A").tool_returned("1")),
        (
            "an approval for two",
            pays().pay("1", "pay", "a").tool_returned("1").clock(70).pay("2", "pay", "a").tool_returned("2"),
        ),
        (
            "an approval after the decision",
            all()
                .allow("1", json!({"approval_id": "a"}))
                .grant("a", "pay", "human")
                .tool_called("1", "pay")
                .tool_returned("1"),
        ),
        (
            "an approval by itself",
            all().grant("a", "pay", "automated").pay("1", "pay", "a").tool_returned("1"),
        ),
        (
            "an approval by nobody",
            all()
                .event("rer.approval.granted", json!({"approval_id": "a"}))
                .pay("1", "pay", "a")
                .tool_returned("1"),
        ),
        (
            "an approval by a human in capitals",
            all().grant("a", "pay", "HUMAN").pay("1", "pay", "a").tool_returned("1"),
        ),
        (
            "an approval that is withheld",
            all().grant("a", "pay", "human").withheld().pay("1", "pay", "a").tool_returned("1"),
        ),
        (
            "an approval that was withdrawn in secret",
            pays()
                .event("rer.approval.denied", json!({"approval_id": "a"}))
                .withheld()
                .pay("1", "pay", "a")
                .tool_returned("1"),
        ),
        (
            "a rule for an action of another name",
            Run::approved(json!([{"action": "tools.call"}])).tool("1", "pay"),
        ),
        ("an action after the end", all().event("rer.run.ended", json!({})).tool("1", "t")),
        ("an end that never came", all().tool("1", "t").unended()),
        ("a call that never returns", all().allow("1", json!({})).tool_called("1", "t")),
        ("a return that was never called", all().tool_returned("1")),
        ("an expiry in February", Run::new(json!({"expiry": "2020-02-30T00:00:00Z"})).tool("1", "t")),
        (
            "an expiry that is long past, in another offset",
            Run::new(json!({"expiry": "2026-05-13T23:59:59+13:00"})).tool("1", "t"),
        ),
        (
            "observe-only",
            Run::new(json!({"metadata": {"reenact": {"enforcement": "observe"}}})).tool("1", "rm"),
        ),
        (
            "its own authorization",
            Run { envelope: authorised(&envelope(json!({})), &Key::of(RUNTIME)), ..Run::new(json!({})) }
                .unauthorised(),
        ),
        ("no authorization", all().tool("1", "t").unauthorised()),
    ];
    // The same without any trick is fine: nothing else makes the tricks fail.
    assert_eq!(all().tool("1", "t").clock(70).model("2", "m", json!(1)).ok(), Some(true));
    assert_eq!(pays().pay("1", "pay", "a").tool_returned("1").ok(), Some(true));
    for (trick, run) in tricks {
        let audit = run.judged().audit.unwrap();
        assert_ne!(audit.ok(), Some(true), "{trick}");
        let told: Vec<&RuleVerdict> = audit.rules.iter().filter(|rule| rule.verdict != Pass).collect();
        assert!(told.iter().all(|rule| !rule.reason.is_empty()), "{trick}");
    }
}

/// Extensions that are about neither models nor tools are nobody's action; those that are leave a doubt.
#[test]
fn events_of_types_that_are_not_known() {
    let run = Run::new(json!({})).tool("1", "t");
    for known in [
        "rer.prompt.rendered",
        "rer.plan.started",
        "rer.step.completed",
        "rer.verification.ran",
        "rer.error.raised",
        "rer.output.final",
        "rer.artifact.written",
        "rer.capture.gap",
        "acme.heartbeat",
        "rer.memory.read",
    ] {
        assert_kept(&run.clone().event(known, json!({"model": "evil", "tool": "rm"})));
    }
    for unknown in ["acme.tool.called", "rer.tools.listed", "rer.model.streamed", "rer.model.called.v2"] {
        let reason = format!("it is of the unknown type \"{unknown}\", and may be an action");
        assert_only(
            &run.clone().event(unknown, json!({})),
            &[("event_order", Inconclusive, Some(4), &reason)],
        );
    }
    for odd in ["ToolCalled", "rer.tool.called\n", "RER.TOOL.CALLED", ""] {
        let report = run.clone().event(odd, json!({})).judged();
        let rule = report.audit.clone().unwrap().rules.swap_remove(8);
        assert_eq!((rule.verdict, rule.event), (Inconclusive, Some(4)), "{odd:?}");
        assert_eq!(report.failed().collect::<Vec<_>>(), ["schema_valid"]);
    }
}

/// An artifact without hashes: only what an audit reads.
fn bare(envelope: &Json, events: impl Iterator<Item = String>) -> String {
    let mut text = format!(
        "{{\"envelope\":{},\"events\":[{{\"event_type\":\"rer.run.started\",\"timestamp\":\"{}\"}}",
        signed(envelope),
        noon(0)
    );
    for event in events {
        text.push(',');
        text.push_str(&event);
    }
    text.push_str(&format!(",{{\"event_type\":\"rer.run.ended\",\"timestamp\":\"{}\"}}]}}", noon(0)));
    text
}

fn signed(envelope: &Json) -> Json {
    let mut envelope = envelope.clone();
    envelope["signature"] = json!("0".repeat(128));
    envelope
}

/// A hundred thousand actions at one moment, all of them open at once: time and room grow with their number, no faster.
#[test]
fn a_hundred_thousand_actions_at_one_moment() {
    const MANY: usize = 100_000;
    let envelope =
        envelope(json!({"limits": {"rate_limit_rpm": MANY, "max_steps": MANY, "max_spend_usd": 1},
        "expiry": "2026-05-13T12:00:01Z", "metadata": {"reenact": {"enforcement": "enforce"}}}));
    let time = noon(0);
    let event = |event_type: &str, payload: &str| {
        format!("{{\"event_type\":\"{event_type}\",\"payload\":{payload},\"timestamp\":\"{time}\"}}")
    };
    let calls = |payload: &str, many: usize| vec![event("rer.tool.called", payload); many];
    let returns = vec![event("rer.tool.returned", "{\"spend_usd\":0.00001}"); MANY];
    let verdicts = |text: &str| judge(text.as_bytes(), &both_keys()).audit.unwrap().rules;

    let text = bare(&envelope, calls("{\"tool\":\"t\"}", MANY).into_iter().chain(returns.clone()));
    let rules = verdicts(&text);
    for rule in [1, 2, 3, 4, 5] {
        assert_eq!(rules[rule].verdict, Pass, "{:?}", rules[rule]);
    }
    assert_eq!((rules[8].verdict, rules[8].event), (Inconclusive, Some(1)));
    // One more breaks exactly what it should.
    let text = bare(&envelope, calls("{\"tool\":\"t\"}", MANY + 1).into_iter());
    let rules = verdicts(&text);
    for rule in [2, 4] {
        assert_eq!((rules[rule].verdict, rules[rule].event), (Fail, Some(MANY + 1)), "{:?}", rules[rule]);
    }
    assert_eq!((rules[8].verdict, rules[8].event), (Fail, Some(1)));
}
