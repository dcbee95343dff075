//! Runs under an envelope that is enforced, on a clock that only a test moves; and the three interfaces to ask a model by.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reenact_formats::rer::approval::Approver;
use reenact_gateway::{Environment, Gateway, Limits, Policy, Recording, Token, Work};
use reenact_keys::SecretKey;
use reenact_record::approval::Desk;
use reenact_record::clock::Clock;
use reenact_record::{Durability, Folder, Recorder, RunId, RunStart, Surroundings};
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{Kind, Vendor};
use reenact_verify::audit::Verdict;
use reenact_wire::price::Table;
use reenact_wire::refusal::Refusal;

use super::client::{Client, Got};
use super::{Flight, Landed, Logs, listener, routes};

/// 2026-05-13T12:00:00Z, and as much later as a test says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noon(Arc<AtomicU64>);

impl Noon {
    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Noon {
    fn now(&self) -> Duration {
        Duration::from_secs(1_778_673_600) + Duration::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Under what a run stands.
pub(crate) struct Law {
    /// The members of the envelope behind its permissions.
    pub(crate) limits: String,
    pub(crate) models: Vec<&'static str>,
    pub(crate) tools: Vec<&'static str>,
    pub(crate) prices: Table,
    pub(crate) clock: Noon,
    pub(crate) approvers: Vec<Approver>,
    pub(crate) has_log: bool,
    pub(crate) most: Limits,
    pub(crate) durability: Durability,
}

impl Default for Law {
    /// Two models and a tool, as often as one likes.
    fn default() -> Self {
        Self {
            limits: r#""limits":{}"#.to_owned(),
            models: vec!["gpt-5", "claude-sonnet-4-5"],
            tools: vec!["lookup"],
            prices: Table::standard(),
            clock: Noon::default(),
            approvers: Vec::new(),
            has_log: true,
            // No matter how busy the machine is, what a vendor has sent is taken down.
            most: Limits { linger: Duration::from_secs(60), ..Limits::default() },
            durability: Durability::Process,
        }
    }
}

impl Law {
    /// With these limits, and members behind them.
    pub(crate) fn limiting(limits: &str) -> Self {
        Self { limits: format!("\"limits\":{limits}"), ..Self::default() }
    }

    pub(crate) fn envelope(&self) -> String {
        let list = |names: &[&str]| serde_json::to_string(names).unwrap();
        format!(
            r#"{{"envelope_version":"rer-envelope/0.2","permissions":{{"allowed_models":{},"allowed_tools":{}}},{}}}"#,
            list(&self.models),
            list(&self.tools),
            self.limits
        )
    }

    /// Begins a run.
    pub(crate) fn over(self, vendor: &Vendor) -> Flight {
        let (place, key, run_id) =
            (TestDir::new(), SecretKey::generate().unwrap(), RunId::generate().unwrap());
        let folder = Folder::new(place.join(Folder::NAME));
        let envelope = self.envelope();
        let start = RunStart { envelope: Some(envelope.as_bytes()), ..RunStart::new(run_id) };
        let surroundings = Surroundings { clock: Arc::new(self.clock.clone()), ..Surroundings::default() };
        let recorder = Recorder::begin_in(&folder, &start, &key, &surroundings).unwrap();
        let logs = Logs::new().filter(|_| self.has_log);
        let log = logs.as_ref().map(|logs| recorder.pen().log(&logs.place(), run_id).unwrap());
        let desk = Desk::new(recorder.folder(), run_id, self.approvers, Duration::from_secs(600));
        let work = Work::Record(Box::new(Recording {
            pen: recorder.pen(),
            log,
            durability: self.durability,
            policy: Some(Policy { warden: recorder.warden().unwrap(), prices: self.prices, desk }),
            routes: routes(&vendor.root_url()),
            environment: Environment::default(),
            limits: self.most,
        }));
        let gateway = Gateway::start(listener(), Token::generate().unwrap(), work).unwrap();
        Flight { place, gateway, key, recorder, run_id, logs }
    }
}

/// One of the interfaces by which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Chat,
    Responses,
    Messages,
}

impl Door {
    pub(crate) const ALL: [Door; 3] = [Door::Chat, Door::Responses, Door::Messages];

    pub(crate) fn kind(self) -> Kind {
        if self == Self::Messages { Kind::ANTHROPIC } else { Kind::OPENAI }
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

    pub(crate) fn client(self, flight: &Flight) -> Client {
        if self == Self::Messages { flight.anthropic() } else { flight.openai() }
    }

    /// A request to a model, with more members.
    pub(crate) fn body(self, model: &str, more: &str) -> String {
        let said = match self {
            Self::Responses => r#""input":"hi""#,
            Self::Chat | Self::Messages => r#""messages":[{"role":"user","content":"hi"}]"#,
        };
        format!(r#"{{"model":"{model}","max_tokens":9,{said}{more}}}"#)
    }

    /// Asks the model that is allowed.
    pub(crate) async fn ask(self, flight: &Flight, more: &str) -> Got {
        self.client(flight).post(self.path(), &self.body(self.model(), more)).await
    }

    /// The body with which a request is denied.
    pub(crate) fn no(self, kind: &str, rule: &str, reason: &str) -> String {
        let message = format!("reenact: denied by {rule}: {reason}");
        let status = if kind == "rate_limit_error" { 429 } else { 403 };
        let refusal = Refusal { status, kind, code: "reenact_denied", message: &message };
        reenact_wire::refusal::body(self.kind(), &refusal)
    }
}

impl Landed {
    /// What the audit says of a rule.
    pub(crate) fn verdict(&self, rule: &str) -> (Verdict, &str) {
        let rules = &self.report.audit.as_ref().unwrap().rules;
        let found = rules.iter().find(|found| found.rule == rule).unwrap();
        (found.verdict, &found.reason)
    }

    /// Every rule was kept; who allowed the envelope nobody knows.
    pub(crate) fn is_kept(&self) {
        for rule in &self.report.audit.as_ref().unwrap().rules {
            let due = if rule.rule == "authorization" { Verdict::Inconclusive } else { Verdict::Pass };
            assert_eq!(rule.verdict, due, "{} at {:?}: {}", rule.rule, rule.event, rule.reason);
        }
    }

    /// The types of the events between the first and the last, without `rer.`.
    pub(crate) fn course(&self) -> Vec<&str> {
        let types = self.types();
        types[1..types.len() - 1].iter().map(|name| name.strip_prefix("rer.").unwrap()).collect()
    }

    /// Each decision: on what, and the rule that says no, if one does.
    pub(crate) fn decisions(&self) -> Vec<(&str, Option<&str>)> {
        self.all("rer.policy.evaluated")
            .into_iter()
            .map(|payload| {
                let name = payload["model"].as_str().or(payload["tool"].as_str()).unwrap();
                (name, payload["rule"].as_str().filter(|_| payload["decision"] == "deny"))
            })
            .collect()
    }
}
