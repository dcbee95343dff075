//! Runs under an enforced envelope, on a clock that only a test moves, and the three interfaces to ask a model
//! by.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reenact_formats::key::KeyId;
use reenact_formats::rer::approval::Approver;
use reenact_gateway::{
    EnforcedPolicy, Gateway, GatewayLimits, GatewayMode, GatewayToken, NetworkEnvironment, RecordingConfig,
    VendorRoute,
};
use reenact_keys::SecretKey;
use reenact_record::approval::ApprovalQueue;
use reenact_record::clock::Clock;
use reenact_record::{Durability, PolicyMode, RecordEnv, Recorder, RunId, RunStart, RunStore};
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{ScriptedVendor, Vendor};
use reenact_verify::audit::AuditVerdict;
use reenact_wire::error_reply::ErrorReply;
use reenact_wire::price::PriceTable;

use super::client::{TestClient, TestResponse};
use super::{LiveRun, Logs, SealedRun, listener, routes, url};

/// Clock that starts at 2026-05-13T12:00:00Z, and moves only by [`Self::advance`].
#[derive(Debug, Clone, Default)]
pub(crate) struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_secs(1_778_673_600) + Duration::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Settings of an enforced run.
pub(crate) struct EnforcedRun {
    /// Members of the envelope after its permissions, as JSON text.
    pub(crate) envelope_limits: String,
    pub(crate) models: Vec<&'static str>,
    pub(crate) tools: Vec<&'static str>,
    pub(crate) prices: PriceTable,
    pub(crate) clock: ManualClock,
    /// Approvers whose keys are at hand.
    pub(crate) approvers: Vec<Approver>,
    /// Keys that the envelope pins for every action; those of `approvers` if this is `None`.
    pub(crate) pinned: Option<Vec<KeyId>>,
    pub(crate) has_log: bool,
    pub(crate) gateway_limits: GatewayLimits,
    pub(crate) durability: Durability,
    pub(crate) policy_mode: PolicyMode,
    /// Routes beyond those of all vendors: a name, and the vendor whose addresses are behind it.
    pub(crate) more_routes: Vec<(&'static str, Vendor)>,
}

impl Default for EnforcedRun {
    /// Two models and one tool, without limits.
    fn default() -> Self {
        Self {
            envelope_limits: r#""limits":{}"#.to_owned(),
            models: vec!["gpt-5", "claude-sonnet-4-5"],
            tools: vec!["lookup"],
            prices: PriceTable::list_prices(),
            clock: ManualClock::default(),
            approvers: Vec::new(),
            pinned: None,
            has_log: true,
            // Long enough that everything a vendor sent is recorded, however busy the machine is.
            gateway_limits: GatewayLimits { linger: Duration::from_secs(60), ..GatewayLimits::default() },
            durability: Durability::Process,
            policy_mode: PolicyMode::Enforce,
            more_routes: Vec::new(),
        }
    }
}

impl EnforcedRun {
    /// Returns settings with these limits, and any members after them.
    pub(crate) fn with_limits(limits: &str) -> Self {
        Self { envelope_limits: format!("\"limits\":{limits}"), ..Self::default() }
    }

    pub(crate) fn envelope(&self) -> String {
        let list = |names: &[&str]| serde_json::to_string(names).unwrap();
        let known = || self.approvers.iter().map(|approver| approver.key.id()).collect();
        let pinned: Vec<KeyId> = self.pinned.clone().unwrap_or_else(known);
        let keys: Vec<String> = pinned.iter().map(|id| format!("\"{id}\"")).collect();
        let pin = |action: &str| format!(r#"{{"action":"{action}","keys":[{}]}}"#, keys.join(","));
        let pins = format!(r#","metadata":{{"approvers":[{},{}]}}"#, pin("model.call"), pin("tool.call"));
        format!(
            r#"{{"envelope_version":"rer-envelope/0.2","permissions":{{"allowed_models":{},"allowed_tools":{}}},{}{}}}"#,
            list(&self.models),
            list(&self.tools),
            self.envelope_limits,
            if pinned.is_empty() { "" } else { &pins }
        )
    }

    /// Starts the run.
    pub(crate) fn start(self, vendor: &ScriptedVendor) -> LiveRun {
        let (place, key, run_id) =
            (TestDir::new(), SecretKey::generate().unwrap(), RunId::generate().unwrap());
        let folder = RunStore::new(place.join(RunStore::NAME));
        let envelope = self.envelope();
        let upstream = url(&format!("{}/v1", vendor.root_url()));
        let more_routes = self.more_routes.iter().map(|(name, vendor)| VendorRoute {
            name: (*name).to_owned(),
            vendor: *vendor,
            upstream: upstream.clone(),
        });
        let more_routes: Vec<VendorRoute> = more_routes.collect();
        let start = RunStart {
            envelope: Some(envelope.as_bytes()),
            policy_mode: self.policy_mode,
            ..RunStart::new(run_id)
        };
        let surroundings = RecordEnv { clock: Arc::new(self.clock.clone()), ..RecordEnv::default() };
        let recorder = Recorder::builder(&folder, &key).env(surroundings.clone()).begin(&start).unwrap();
        let logs = Logs::new().filter(|_| self.has_log);
        let log =
            logs.as_ref().map(|logs| recorder.event_writer().create_wal(&logs.place(), run_id).unwrap());
        let approvers = self.approvers.clone();
        let approvals =
            ApprovalQueue::new(recorder.folder(), run_id, self.approvers, Duration::from_secs(600));
        let work = GatewayMode::Record(Box::new(RecordingConfig {
            fork: None,
            writer: recorder.event_writer(),
            log,
            durability: self.durability,
            policy: Some(EnforcedPolicy {
                engine: recorder.policy_engine().unwrap(),
                prices: self.prices,
                approvals,
            }),
            routes: routes(&vendor.root_url()).into_iter().chain(more_routes).collect(),
            environment: NetworkEnvironment::default(),
            limits: self.gateway_limits,
        }));
        let gateway = Gateway::start(listener(), GatewayToken::generate().unwrap(), work).unwrap();
        LiveRun { dir: place, gateway, key, recorder, run_id, logs, approvers }
    }
}

/// Interface by which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelApi {
    Chat,
    Responses,
    Messages,
}

impl ModelApi {
    pub(crate) const ALL: [ModelApi; 3] = [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages];

    pub(crate) fn kind(self) -> Vendor {
        if self == Self::Messages { Vendor::ANTHROPIC } else { Vendor::OPENAI }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/v1/messages",
        }
    }

    pub(crate) fn model(self) -> &'static str {
        if self == Self::Messages { "claude-sonnet-4-5" } else { "gpt-5" }
    }

    pub(crate) fn client(self, run: &LiveRun) -> TestClient {
        if self == Self::Messages { run.anthropic() } else { run.openai() }
    }

    /// Returns a request to a model, with additional members.
    pub(crate) fn body(self, model: &str, more: &str) -> String {
        let said = match self {
            Self::Responses => r#""input":"hi""#,
            Self::Chat | Self::Messages => r#""messages":[{"role":"user","content":"hi"}]"#,
        };
        let limit = if self == Self::Responses { "max_output_tokens" } else { "max_tokens" };
        format!(r#"{{"model":"{model}","{limit}":9,{said}{more}}}"#)
    }

    /// Asks the model that the envelope allows.
    pub(crate) async fn ask(self, run: &LiveRun, more: &str) -> TestResponse {
        self.client(run).post(self.path(), &self.body(self.model(), more)).await
    }

    /// Returns the body with which a request is denied.
    pub(crate) fn denial_body(self, kind: &str, rule: &str, reason: &str) -> String {
        let message = format!("reenact: denied by {rule}: {reason}");
        let status = if kind == "rate_limit_error" { 429 } else { 403 };
        let refusal = ErrorReply { status, kind, code: "reenact_denied", message: &message };
        reenact_wire::error_reply::error_body(self.kind(), &refusal)
    }
}

impl SealedRun {
    /// Returns the audit's verdict on a rule, with its reason.
    pub(crate) fn verdict(&self, rule: &str) -> (AuditVerdict, &str) {
        let rules = &self.report.audit.as_ref().unwrap().rules;
        let found = rules.iter().find(|found| found.rule == rule).unwrap();
        (found.verdict, &found.reason)
    }

    /// Asserts that every rule passed, except `authorization`, which is inconclusive because the envelope is
    /// not signed.
    pub(crate) fn assert_rules_pass(&self) {
        for rule in &self.report.audit.as_ref().unwrap().rules {
            let due =
                if rule.rule == "authorization" { AuditVerdict::Inconclusive } else { AuditVerdict::Pass };
            assert_eq!(rule.verdict, due, "{} at {:?}: {}", rule.rule, rule.event, rule.reason);
        }
    }

    /// Returns the types of the events between the first and the last, without `rer.`.
    pub(crate) fn inner_event_types(&self) -> Vec<&str> {
        let types = self.types();
        types[1..types.len() - 1].iter().map(|name| name.strip_prefix("rer.").unwrap()).collect()
    }

    /// Returns each decision: the model or tool, and the rule that denied it, if one did.
    pub(crate) fn decisions(&self) -> Vec<(&str, Option<&str>)> {
        self.payloads("rer.policy.evaluated")
            .into_iter()
            .map(|payload| {
                let name = payload["model"].as_str().or(payload["tool"].as_str()).unwrap();
                (name, payload["rule"].as_str().filter(|_| payload["decision"] == "deny"))
            })
            .collect()
    }
}
