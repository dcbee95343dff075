//! Table of attacks on an envelope: requests that ask for a tool or a model which is not allowed, in every way that an interface
//! offers, and ordinary requests that must pass.
//!
//! Each interface that calls a model has a file in `policy_attacks/` with a row for each kind of attack. A missing row fails, so a
//! new interface has to fill the table; a kind that an interface does not have is a row that says why.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

#[path = "policy_attacks/chat.rs"]
mod chat;
#[path = "policy_attacks/gemini.rs"]
mod gemini;
#[path = "policy_attacks/messages.rs"]
mod messages;
#[path = "policy_attacks/responses.rs"]
mod responses;
#[path = "policy_attacks/toolless.rs"]
mod toolless;

use std::collections::BTreeSet;
use std::time::Duration;

use reenact_capture::observation::{BodyBytes, HeaderList, InboundRequest};
use reenact_capture::{PolicyTrial, RequestNeeds, TrialDecision};
use reenact_record::{PolicyEngine, PolicyMode};
use reenact_testkit::{Script, ScriptStep, ScriptedAnswer, ScriptedReply, ScriptedVendor, Vendor};
use reenact_wire::price::PriceTable;
use reenact_wire::{Endpoint, PROTOCOLS, VENDORS};
use support::LiveRun;
use support::client::TestClient;
use support::enforced::EnforcedRun;

/// Kind of attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttackKind {
    /// A tool that the vendor runs, where tools stand.
    VendorTool,
    /// A tool that the vendor runs, in an item, a message or another tool.
    HiddenTool,
    /// A tool that the vendor runs, with the name of an allowed one.
    NamedLikeAllowed,
    /// A remote server that the vendor calls.
    RemoteServer,
    /// Something that the vendor keeps and that may bring tools.
    KeptByVendor,
    /// Another model than those allowed.
    OtherModel,
    /// Another model behind the one that is asked.
    NestedModel,
    /// A member that is not known.
    UnknownMember,
    /// An item, block or part that is not known.
    UnknownItem,
    /// A result of a tool that is not allowed.
    ForbiddenResult,
    /// An interface that is not known.
    UnknownInterface,
    /// An answer that asks for a tool which is not allowed.
    ForbiddenCall,
    /// An answer that asks for such a tool where only some clients look: in an error, in an object where a list belongs, behind a
    /// character that ends a line for some.
    HiddenCall,
    /// A path that servers read in different ways.
    OddPath,
    /// A call whose cost nobody could count, under a limit on spending.
    UncountableCall,
    /// A call that could cost more than the limit.
    HighestCost,
}

impl AttackKind {
    const ALL: [Self; 16] = [
        Self::VendorTool,
        Self::HiddenTool,
        Self::NamedLikeAllowed,
        Self::RemoteServer,
        Self::KeptByVendor,
        Self::OtherModel,
        Self::NestedModel,
        Self::UnknownMember,
        Self::UnknownItem,
        Self::ForbiddenResult,
        Self::UnknownInterface,
        Self::ForbiddenCall,
        Self::HiddenCall,
        Self::OddPath,
        Self::UncountableCall,
        Self::HighestCost,
    ];

    /// Returns true if the request itself is denied, with no limit in the envelope.
    fn is_in_request(self) -> bool {
        !matches!(self, Self::ForbiddenCall | Self::HiddenCall | Self::UncountableCall | Self::HighestCost)
    }
}

/// Row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) kind: AttackKind,
    /// Path of the request; `None` for the usual one.
    pub(crate) path: Option<&'static str>,
    pub(crate) body: &'static str,
    /// Rule that denies it; `None` if the interface has no such attack, and `reason` says why.
    pub(crate) rule: Option<&'static str>,
    /// Reason of the denial, or the beginning of it where it tells a cost.
    pub(crate) reason: &'static str,
    /// Answer of the vendor: status, content type and body. `None` for an attack by the request.
    pub(crate) answer: Option<(u16, &'static str, &'static str)>,
}

/// Returns a row for an attack on the usual path.
pub(crate) const fn attack(
    kind: AttackKind,
    body: &'static str,
    rule: &'static str,
    reason: &'static str,
) -> Attack {
    Attack { kind, path: None, body, rule: Some(rule), reason, answer: None }
}

/// Returns a row for an attack on another path.
pub(crate) const fn attack_at(
    kind: AttackKind,
    path: &'static str,
    rule: &'static str,
    reason: &'static str,
) -> Attack {
    Attack { kind, path: Some(path), body: "{}", rule: Some(rule), reason, answer: None }
}

/// Returns a row for an answer that hides a call of `pay`; its input has the word `hidden`.
pub(crate) const fn hidden_call(
    body: &'static str,
    answer: (u16, &'static str, &'static str),
    reason: &'static str,
) -> Attack {
    let (kind, rule) = (AttackKind::HiddenCall, Some("allowed_tools"));
    Attack { kind, path: None, body, rule, reason, answer: Some(answer) }
}

#[allow(dead_code, reason = "every interface has every kind so far")]
/// Returns a row for a kind of attack that the interface does not have.
pub(crate) const fn absent(kind: AttackKind, reason: &'static str) -> Attack {
    Attack { kind, path: None, body: "", rule: None, reason, answer: None }
}

/// Rows of one interface.
pub(crate) struct AttackTable {
    pub(crate) endpoint: Endpoint,
    pub(crate) path: &'static str,
    pub(crate) attacks: &'static [Attack],
    /// Ordinary requests, as today's clients send them.
    pub(crate) controls: &'static [&'static str],
}

const TABLES: [AttackTable; 4] = [chat::TABLE, responses::TABLE, messages::TABLE, gemini::TABLE];

fn client(run: &LiveRun, endpoint: Endpoint) -> TestClient {
    match endpoint.vendor() {
        Some(vendor) if vendor == Vendor::ANTHROPIC => run.anthropic(),
        Some(vendor) if vendor == Vendor::GEMINI => run.gemini(),
        _ => run.openai(),
    }
}

fn envelope() -> EnforcedRun {
    EnforcedRun { models: vec!["gpt-5", "claude-sonnet-4-5", "gemini-2.5-flash"], ..EnforcedRun::default() }
}

#[test]
fn every_interface_has_every_kind_of_attack() {
    let mut missing = Vec::new();
    for endpoint in PROTOCOLS.into_iter().filter(|endpoint| endpoint.can_ask_for_tools()) {
        let table = TABLES.iter().find(|table| table.endpoint == endpoint);
        for kind in AttackKind::ALL {
            if !table.is_some_and(|table| table.attacks.iter().any(|attack| attack.kind == kind)) {
                missing.push((endpoint, kind));
            }
        }
        assert!(
            table.is_some_and(|table| !table.controls.is_empty()),
            "{endpoint:?} has no ordinary request"
        );
    }
    assert_eq!(missing, [], "fill the table of the interface, or say in a row why it has no such attack");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attack_reaches_its_vendor() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = envelope().start(&vendor);
    let mut denials = 0;
    for table in &TABLES {
        for attack in table.attacks.iter().filter(|attack| attack.kind.is_in_request()) {
            let Some(rule) = attack.rule else { continue };
            let path = attack.path.unwrap_or(table.path);
            let response = client(&run, table.endpoint).post(path, attack.body).await;
            let message = serde_json::from_slice::<serde_json::Value>(&response.body).unwrap();
            let message = message["error"]["message"].as_str().unwrap().to_owned();
            let due = format!("reenact: denied by {rule}: {}", attack.reason);
            assert_eq!((response.status(), message), (403, due), "{:?} {attack:?}", table.endpoint);
            assert_eq!(vendor.requests().len(), 0, "{attack:?}");
            denials += 1;
        }
    }
    let sealed = run.seal().await;
    assert!(sealed.payloads("rer.policy.step_blocked").len() >= denials);
    sealed.assert_rules_pass();
}

/// In a run that only warns the same rules decide, and every request reaches its vendor.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_warns_names_every_attack_and_lets_it_pass() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    for table in &TABLES {
        for attack in table.attacks.iter().filter(|attack| attack.kind.is_in_request()) {
            let Some(rule) = attack.rule else { continue };
            let run = EnforcedRun { policy_mode: PolicyMode::Warn, ..envelope() }.start(&vendor);
            let sent = vendor.requests().len();
            let path = attack.path.unwrap_or(table.path);
            let response = client(&run, table.endpoint).post(path, attack.body).await;
            assert!(!response.text().contains("denied by"), "{attack:?}: {}", response.text());
            assert_eq!(vendor.requests().len(), sent + 1, "{attack:?}");
            let sealed = run.seal().await;
            let denied: Vec<&str> = sealed.decisions().into_iter().filter_map(|(_, rule)| rule).collect();
            assert_eq!(denied, [rule], "{attack:?}");
            assert_eq!(sealed.payloads("rer.policy.step_blocked").len(), 0, "{attack:?}");
            assert_eq!(sealed.report.audit.as_ref().unwrap().ok(), Some(false), "{attack:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_forbidden_call_reaches_its_agent() {
    let script = Script::replying(|_| ScriptedReply::text("").and_call("pay", "{}"));
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = envelope().start(&vendor);
    for table in &TABLES {
        for attack in table.attacks.iter().filter(|attack| attack.kind == AttackKind::ForbiddenCall) {
            let response = client(&run, table.endpoint).post(table.path, attack.body).await;
            let due = format!("reenact: denied by {}", attack.rule.unwrap());
            assert_eq!(response.status(), 403, "{attack:?}");
            assert!(response.text().contains(&due) && !response.text().contains("{}"), "{}", response.text());
        }
    }
    run.seal().await.assert_rules_pass();
}

/// Requests and answers of a route are judged by one vendor's interfaces, whatever vendor's addresses are behind it.
#[tokio::test(flavor = "multi_thread")]
async fn no_route_has_its_answers_judged_by_another_vendor() {
    let script = Script::replying(|_| ScriptedReply::text("").and_call("pay", "{}"));
    let vendor = ScriptedVendor::start(script).unwrap();
    for behind in VENDORS {
        let run = EnforcedRun { more_routes: vec![("acme", behind)], ..envelope() }.start(&vendor);
        let client = TestClient::of(&run.gateway.base_url("acme").unwrap());
        let body = r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#;
        let response = client.post("/chat/completions", body).await;
        assert_eq!(response.status(), 403, "{behind:?}");
        assert!(
            response.text().contains("reenact: denied by allowed_tools"),
            "{behind:?}: {}",
            response.text()
        );
        run.seal().await.assert_rules_pass();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hidden_call_reaches_its_agent() {
    for table in &TABLES {
        for attack in table.attacks {
            let Some((status, content_type, body)) = attack.answer else { continue };
            let script = Script::answering(move |_| ScriptedAnswer {
                steps: vec![ScriptStep::send(body)],
                ..ScriptedAnswer::empty(status).header("content-type", content_type)
            });
            let vendor = ScriptedVendor::start(script).unwrap();
            let run = envelope().start(&vendor);
            let response = client(&run, table.endpoint).post(table.path, attack.body).await;
            let due = format!("denied by {}: {}", attack.rule.unwrap(), attack.reason.replace('"', "\\\""));
            let text = response.text();
            assert!(text.contains(&due) && !text.contains("hidden"), "{attack:?}: {text}");
            assert_eq!(vendor.requests().len(), 1, "{attack:?}");
            run.seal().await.assert_rules_pass();
        }
    }
}

/// Calls that nobody could count, and calls that could cost more than the limit, are denied before they are made.
#[tokio::test(flavor = "multi_thread")]
async fn no_call_passes_the_limit_on_spending() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    for table in &TABLES {
        for attack in table.attacks {
            let limit = match attack.kind {
                AttackKind::UncountableCall => "1000",
                AttackKind::HighestCost => "0.015",
                _ => continue,
            };
            let run = EnforcedRun {
                models: envelope().models,
                ..EnforcedRun::with_limits(&format!("{{\"max_spend_usd\":{limit}}}"))
            };
            let run = run.start(&vendor);
            let response = client(&run, table.endpoint).post(table.path, attack.body).await;
            let due = format!(
                "reenact: denied by {}: {}",
                attack.rule.unwrap(),
                attack.reason.replace('"', "\\\"")
            );
            assert!(response.text().contains(&due), "{attack:?}: {}", response.text());
            assert_eq!((response.status(), vendor.requests().len()), (403, 0), "{attack:?}");
            run.seal().await.assert_rules_pass();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_requests_pass() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    for table in &TABLES {
        for control in table.controls {
            let run = envelope().start(&vendor);
            let response = client(&run, table.endpoint).post(table.path, control).await;
            assert_eq!(response.status(), 200, "{control}: {}", response.text());
            run.seal().await.assert_rules_pass();
        }
    }
}

/// A form that the envelope allows by its path passes; a tool inside is still judged, and the audit does not call the rules kept.
#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_form_hides_nothing() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let mut enforced = envelope();
    enforced.envelope_limits +=
        r#","metadata":{"allowed_forms":["$.plugins","$.messages[].content[].type=new"]}"#;
    let run = enforced.start(&vendor);
    let body = |plugins: &str| {
        format!(
            r#"{{"model":"gpt-5","messages":[{{"role":"user","content":[{{"type":"new","x":1}}]}}],"plugins":{plugins}}}"#
        )
    };
    let client = run.openai();
    assert_eq!(client.post("/chat/completions", &body(r#"[{"id":"a"}]"#)).await.status(), 200);
    for (plugins, rule) in [
        (r#"[{"tools":[{"type":"mcp","server_url":"https://x.example"}]}]"#, "allowed_tools"),
        (r#"[{"definition":{"type":"web_search"}}]"#, "allowed_tools"),
        (r#"[{"tools":["web_search"]}]"#, "allowed_tools"),
        (r#"[{"fallback_model":"o3"}]"#, "allowed_models"),
        (r#"[{"models":["gpt-5","o3"]}]"#, "allowed_models"),
    ] {
        let response = client.post("/chat/completions", &body(plugins)).await;
        assert_eq!(response.status(), 403, "{plugins}");
        assert!(response.text().contains(&format!("denied by {rule}: ")), "{}", response.text());
    }
    assert_eq!(vendor.requests().len(), 1);
    let sealed = run.seal().await;
    for rule in ["allowed_models", "allowed_tools"] {
        assert_eq!(sealed.verdict(rule).0, reenact_verify::audit::AuditVerdict::Inconclusive, "{rule}");
    }
}

/// A trial of an envelope on a run that is over decides on every row as the gate did while it ran.
#[test]
fn a_trial_decides_as_the_gate_does() {
    let engine = |run: &EnforcedRun| PolicyEngine::permitting(set(&run.models), set(&run.tools), set(&[]));
    for table in &TABLES {
        let vendor = table.endpoint.vendor().unwrap();
        for attack in table.attacks.iter().filter(|attack| attack.kind.is_in_request()) {
            let Some(rule) = attack.rule else { continue };
            let mut trial = PolicyTrial::new(engine(&envelope()), PriceTable::list_prices());
            let request = inbound(vendor, attack.path.unwrap_or(table.path), attack.body);
            let decisions = trial.request(0, &request, vendor.base_path(), Duration::from_secs(1));
            let denials: Vec<_> = decisions.into_iter().filter_map(|decision| decision.denial).collect();
            assert_eq!(denials, [(rule.to_owned(), attack.reason.to_owned())], "{attack:?}");
        }
        for control in table.controls {
            let mut trial = PolicyTrial::new(engine(&envelope()), PriceTable::list_prices());
            let request = inbound(vendor, table.path, control);
            let decisions = trial.request(0, &request, vendor.base_path(), Duration::from_secs(1));
            assert!(decisions.iter().all(|decision| decision.denial.is_none()), "{control}: {decisions:?}");
        }
    }
}

/// Grants a request all that it is found to need: then it passes, unless an obstacle is named that nothing averts.
#[test]
fn what_a_request_needs_lets_it_pass() {
    let mut passed = 0;
    for table in &TABLES {
        let vendor = table.endpoint.vendor().unwrap();
        for attack in table.attacks.iter().filter(|attack| attack.kind.is_in_request()) {
            let request = inbound(vendor, attack.path.unwrap_or(table.path), attack.body);
            let RequestNeeds { models, vendor_tools, forms, obstacle } =
                RequestNeeds::of(&request, vendor.base_path()).unwrap();
            let tools = vendor_tools.into_iter().chain(["lookup".to_owned(), "pay".to_owned()]).collect();
            let engine = PolicyEngine::permitting(models, tools, forms);
            let mut trial = PolicyTrial::new(engine, PriceTable::list_prices());
            let decisions = trial.request(0, &request, vendor.base_path(), Duration::from_secs(1));
            let request = decisions.last().unwrap();
            let due = obstacle.map(|refused| (refused.rule.to_owned(), refused.reason));
            // A result without a call that was seen, or a request without a model, is denied whatever is on the lists.
            let is_unseen = |decision: &TrialDecision| decision.name == "unknown" || decision.name.is_empty();
            if due.is_none() && decisions.iter().any(is_unseen) {
                continue;
            }
            assert_eq!(request.denial, due, "{attack:?}: {decisions:?}");
            passed += usize::from(due.is_none());
        }
    }
    assert!(passed > 40, "{passed}");
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn inbound(vendor: Vendor, path: &str, body: &'static str) -> InboundRequest<'static> {
    InboundRequest {
        provider: vendor.name().into(),
        method: "POST".into(),
        path: format!("{}{path}", vendor.base_path()).into(),
        headers: HeaderList::default(),
        has_trailers: false,
        admission: None,
        body: BodyBytes::Borrowed(body.as_bytes()),
    }
}
