//! Walk through the events of a run, each told to the trial as the gate would have learnt of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reenact_capture::observation::{BodyBytes, HeaderList, InboundRequest};
use reenact_capture::{PolicyTrial, RequestNeeds, TrialAnswer, TrialDecision};
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::{Callee, Role, time};
use reenact_json::Shown;
use reenact_record::PolicyEngine;
use reenact_record::policy_engine::Action;
use reenact_run::{
    Event, EventType, Exchange, ExchangeAnswer, ExchangeRequest, ExchangeRequestBody, FormatId, Run, ToolUse,
};
use reenact_wire::price::PriceTable;
use reenact_wire::request_path::judge_path;
use reenact_wire::{Endpoint, ModelAnswer, ToolCall, Vendor};

use super::EnvelopeTrial;
use super::finding::TrialFinding;

/// Permissions without which something in a run would be denied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::command::policy) struct PermissionNeeds {
    /// Models.
    pub(in crate::command::policy) models: BTreeSet<String>,
    /// Tools that models called.
    pub(in crate::command::policy) called_tools: BTreeSet<String>,
    /// Tools that the vendor runs, and things that it keeps or reaches.
    pub(in crate::command::policy) vendor_tools: BTreeSet<String>,
    /// Forms that are not known, by their paths.
    pub(in crate::command::policy) forms: BTreeSet<String>,
}

/// Tool call that is recorded as an event, and that no answer or request has shown so far.
struct UnseenCall {
    event: usize,
    id: String,
    name: String,
    at: Duration,
}

/// State of the walk.
pub(super) struct RunWalk<'p> {
    trial: PolicyTrial,
    prices: &'p PriceTable,
    depends_on_time: bool,
    findings: Vec<TrialFinding>,
    needs: PermissionNeeds,
    /// Base path of each provider's upstream.
    bases: BTreeMap<String, String>,
    assumed_bases: Vec<(String, String)>,
    /// Calls of tools that wait for an answer or a request which shows them.
    unseen_calls: Vec<UnseenCall>,
    /// Names of calls without an id that a recorded message asked for, with their number.
    message_calls: BTreeMap<String, usize>,
    /// Ids of calls that a recorded message asked for.
    message_call_ids: BTreeSet<String>,
    /// Events whose request is known by name alone.
    named_requests: BTreeSet<usize>,
    /// Index of the first event that does not tell its time.
    first_untimed: Option<usize>,
    /// Time of the last event that tells its time, since 1970.
    last_time: Duration,
}

impl<'p> RunWalk<'p> {
    /// Begins a walk. `depends_on_time` is true if the envelope has rules on times.
    pub(super) fn new(engine: PolicyEngine, prices: &'p PriceTable, depends_on_time: bool) -> Self {
        Self {
            trial: PolicyTrial::new(engine, prices.clone()),
            prices,
            depends_on_time,
            findings: Vec::new(),
            needs: PermissionNeeds::default(),
            bases: BTreeMap::new(),
            assumed_bases: Vec::new(),
            unseen_calls: Vec::new(),
            message_calls: BTreeMap::new(),
            message_call_ids: BTreeSet::new(),
            named_requests: BTreeSet::new(),
            first_untimed: None,
            last_time: Duration::ZERO,
        }
    }

    /// Walks through all events of a run.
    pub(super) fn through(mut self, run: &Run) -> EnvelopeTrial {
        let tools: BTreeMap<usize, ToolUse<'_>> =
            run.tool_calls().map(|used| (used.called.index(), used)).collect();
        for event in run.events() {
            let Some(kind) = event.kind() else {
                if event.payload_format() == FormatId::Rer && may_be_action(&event.name()) {
                    let reason = "it is of a type that is not known here, and may be an action";
                    self.unknown(&event, None, reason);
                }
                continue;
            };
            match kind.role() {
                Role::Call(Callee::Model | Callee::Http) => {
                    let Some(exchange) = run.exchange(event.index()) else { continue };
                    self.request(&exchange);
                    if event.partner() == Some(event.index()) {
                        self.answer(&exchange, &event);
                    }
                }
                Role::Return(Callee::Model | Callee::Http) => {
                    match event.partner().and_then(|called| run.exchange(called)) {
                        Some(exchange) => self.answer(&exchange, &event),
                        None => self.unknown(&event, None, "it answers no request that is recorded"),
                    }
                }
                Role::Call(Callee::Tool) => self.tool_call(tools.get(&event.index()), &event),
                _ if kind == EventType::StepBlocked => self.blocked_step(&event),
                _ if kind.marks_missing_events() => {
                    self.unknown(&event, None, "something was not captured here");
                }
                _ => {}
            }
        }
        self.judge_unseen_calls();
        if let Some(event) = self.first_untimed.filter(|_| self.depends_on_time) {
            let reason = "it does not tell its time, on which expiry and rate depend";
            self.findings.push(TrialFinding::unknown(event, None, reason));
        }
        if run.payload_format() != FormatId::Rer {
            let reason = "a record of this format does not hold all that an envelope judges";
            self.findings.push(TrialFinding::unknown(0, None, reason));
        }
        self.findings.sort_by_key(|finding| finding.event);
        EnvelopeTrial {
            findings: self.findings,
            totals: self.trial.totals().clone(),
            needs: self.needs,
            assumed_bases: self.assumed_bases,
            has_times: self.first_untimed.is_none(),
        }
    }

    /// Adds a finding that says why nobody can tell.
    fn unknown(&mut self, event: &Event<'_>, action: Option<Action>, reason: impl Into<String>) {
        self.findings.push(TrialFinding::unknown(event.index(), action, reason));
    }

    /// Adds what decisions at an event find and need.
    fn add_decisions(&mut self, event: usize, decisions: Vec<TrialDecision>) {
        for decision in decisions {
            match decision.action {
                Action::Tool => self.needs.called_tools.insert(decision.name.clone()),
                Action::Model => self.needs.models.insert(decision.name.clone()),
            };
            self.findings.extend(TrialFinding::of(event, decision));
        }
    }

    /// Returns the time of an event since 1970, or that of the event before if it tells none.
    fn time(&mut self, event: &Event<'_>) -> Duration {
        let nanoseconds = event.time().and_then(|text| time::instant(&text));
        let at = nanoseconds.and_then(|at| u64::try_from(at).ok()).map(Duration::from_nanos);
        if at.is_none() {
            self.first_untimed.get_or_insert(event.index());
        }
        // Time does not go back, as little as in the gate.
        self.last_time = self.last_time.max(at.unwrap_or_default());
        self.last_time
    }

    /// Tells the trial of a request.
    fn request(&mut self, exchange: &Exchange<'_>) {
        let event = &exchange.called;
        let at = self.time(event);
        let request = match exchange.request() {
            Ok(request) => request,
            Err(why) => {
                self.trial.unreadable_action(Action::Model, at);
                self.unknown(event, Some(Action::Model), format!("its request cannot be read: {why}"));
                return;
            }
        };
        let (ExchangeRequestBody::Bytes(body) | ExchangeRequestBody::Json(body)) = &request.body else {
            return self.named_request(exchange, &request, at);
        };
        if request.method.is_empty() || !request.path.starts_with('/') {
            return self.named_request(exchange, &request, at);
        }
        let inbound = InboundRequest {
            provider: Cow::Borrowed(&request.provider),
            method: Cow::Borrowed(&request.method),
            path: Cow::Borrowed(&request.path),
            // Bodies are recorded without content codings, and nothing else in a header matters to the gate.
            headers: HeaderList::default(),
            has_trailers: false,
            admission: None,
            body: BodyBytes::Borrowed(body),
        };
        let base = self.base_path(&request);
        if let Some(needs) = RequestNeeds::of(&inbound, &base) {
            self.needs.models.extend(needs.models);
            self.needs.vendor_tools.extend(needs.vendor_tools);
            self.needs.forms.extend(needs.forms);
        }
        let decisions = self.trial.request(event.index(), &inbound, &base, at);
        self.add_decisions(event.index(), decisions);
    }

    /// Judges a request of which the record holds no body or no path, by the model that it names.
    fn named_request(&mut self, exchange: &Exchange<'_>, request: &ExchangeRequest<'_>, at: Duration) {
        let event = &exchange.called;
        let message = exchange.message();
        let model = request.model.as_deref().unwrap_or_default();
        let vendor = Vendor::of_route(&request.provider);
        let rates = self.prices.rates(&request.provider, model);
        let usage = message.as_ref().and_then(|message| message.usage);
        let cost = rates.zip(usage).map(|(rates, usage)| Money::from_picodollars(rates.cost(vendor, &usage)));
        let decision = self.trial.named_action(Action::Model, model, at, cost);
        self.add_decisions(event.index(), vec![decision]);
        let mut reason =
            "its request is not recorded as it was sent, so that only its model is judged".to_owned();
        if cost.is_none() {
            reason += ", and not what it cost";
        }
        self.unknown(event, Some(Action::Model), reason);
        self.named_requests.insert(event.index());
    }

    /// Tells the trial of an answer, which `returned` holds.
    fn answer(&mut self, exchange: &Exchange<'_>, returned: &Event<'_>) {
        let (number, at) = (exchange.called.index(), self.time(returned));
        let answer = match exchange.answer() {
            Ok(answer) => answer,
            Err(why) => {
                let reason = format!("its answer cannot be read: {why}");
                return self.unknown(returned, None, reason);
            }
        };
        if self.named_requests.contains(&number) || answer.recorded_message.is_some() {
            let message = exchange.message().unwrap_or_default();
            return self.message_calls(&message, returned, at);
        }
        let ExchangeAnswer { status, complete: is_complete, .. } = answer;
        let tried = TrialAnswer { status, is_stream: answer.is_stream(), is_complete, body: &answer.body };
        let decisions = self.trial.answer(number, &tried, at);
        self.add_decisions(returned.index(), decisions);
    }

    /// Judges the tool calls of a message that is recorded instead of an answer.
    fn message_calls(&mut self, message: &ModelAnswer, returned: &Event<'_>, at: Duration) {
        for ToolCall { id, name, .. } in &message.tool_calls {
            let decision = self.trial.named_action(Action::Tool, name, at, None);
            self.add_decisions(returned.index(), vec![decision]);
            if id.is_empty() {
                *self.message_calls.entry(name.clone()).or_default() += 1;
            } else {
                self.message_call_ids.insert(id.clone());
            }
        }
    }

    /// Notes a tool call that is recorded as an event. Most are known already, by the answer that asked for them, or will be, by
    /// the request that brings their result.
    fn tool_call(&mut self, used: Option<&ToolUse<'_>>, event: &Event<'_>) {
        let at = self.time(event);
        let call = match used.map(|used| used.call()) {
            Some(Ok(call)) => call,
            Some(Err(why)) => {
                let reason = format!("its call cannot be read: {why}");
                return self.unknown(event, Some(Action::Tool), reason);
            }
            None => return,
        };
        let id = call.tool_call_id.as_deref().unwrap_or_default();
        let name = call.tool.into_owned();
        if id.is_empty()
            && let Some(count) = self.message_calls.get_mut(&name).filter(|count| **count > 0)
        {
            *count -= 1;
            return;
        }
        self.unseen_calls.push(UnseenCall { event: event.index(), id: id.to_owned(), name, at });
    }

    /// Judges the tool calls that no answer and no request showed, by their names.
    fn judge_unseen_calls(&mut self) {
        for UnseenCall { event, id, name, at } in std::mem::take(&mut self.unseen_calls) {
            let is_known =
                !id.is_empty() && (self.trial.has_seen_call(&id) || self.message_call_ids.contains(&id));
            if !is_known {
                let decision = self.trial.named_action(Action::Tool, &name, at, None);
                self.add_decisions(event, vec![decision]);
            }
        }
    }

    /// Says of a request that was denied when it was recorded that the record does not hold it. A tool call that was denied is in its
    /// answer.
    fn blocked_step(&mut self, event: &Event<'_>) {
        let payload = event.payload().value();
        let text = |name| payload.and_then(|payload| payload.member(name)?.string()).unwrap_or_default();
        if text("action") == Action::Tool.name() {
            return;
        }
        let rule = text("rule");
        let reason = format!(
            "it was denied by {} when it was recorded, and its request is not in the record",
            Shown::new(&rule)
        );
        let finding = TrialFinding::unknown(event.index(), Some(Action::Model), reason);
        self.findings.push(TrialFinding { name: text("model").into_owned(), ..finding });
    }

    /// Returns the base path of the upstream of a request, which records do not tell. That of the provider's first request to a known
    /// interface counts for all of them: the vendor's own if it fits, else the shortest that does.
    fn base_path(&mut self, request: &ExchangeRequest<'_>) -> String {
        if let Some(base) = self.bases.get(&*request.provider) {
            return base.clone();
        }
        let vendor = Vendor::of_route(&request.provider);
        let own = vendor.base_path();
        let (method, path) = (&*request.method, &*request.path);
        let plain = path.split('?').next().unwrap_or_default();
        let prefixes = plain.match_indices('/').filter_map(|(end, _)| plain.get(..end));
        let none = BTreeSet::new();
        let fits = |base: &&str| {
            let judged = judge_path(vendor, base, method, path.split('?').next().unwrap_or_default(), &none);
            judged.is_ok()
        };
        let found = core::iter::once(own).chain(prefixes).find(fits);
        let Some(base) = found.filter(|_| Endpoint::of(vendor, method, path).is_some()) else {
            return own.to_owned();
        };
        if base != own && !base.is_empty() {
            self.assumed_bases.push((request.provider.clone().into_owned(), base.to_owned()));
        }
        self.bases.insert(request.provider.clone().into_owned(), base.to_owned());
        base.to_owned()
    }
}

/// Returns true if an event of an unknown type may still be an action, as the audit takes it: other types are extensions.
fn may_be_action(event_type: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.');
    let is_extension = !event_type.is_empty() && event_type.bytes().all(is_plain);
    !is_extension || event_type.contains("model") || event_type.contains("tool")
}
