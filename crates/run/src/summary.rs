//! Summary of a run: counts, models, tokens, costs and times.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::ReplayTotals;
use reenact_formats::rer::EventType;
use reenact_formats::rer::time::instant;
use reenact_wire::price::{PriceTable, Rates};
use reenact_wire::{Endpoint, Vendor};

use crate::exchange::{ExchangeKind, ExchangeRequest};
use crate::exit::Exit;
use crate::reader;
use crate::run::Run;
use crate::tool::ToolUse;

/// Summary of a run. Everything is counted from the events, except for the fields that are documented as the
/// record's own word.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Number of events.
    pub events: usize,
    /// Number of events of each type; `None` for types outside of RER's vocabulary.
    pub kinds: BTreeMap<Option<EventType>, usize>,
    /// Number of model calls.
    pub model_calls: usize,
    /// Number of other requests over HTTP.
    pub http_calls: usize,
    /// Number of tool calls.
    pub tool_calls: usize,
    /// Use of each model, by the name in the request. Calls that name none are counted under the empty name.
    pub models: BTreeMap<String, ModelUse>,
    /// Number of requests whose answer did not come to its end, or never came.
    pub incomplete: usize,
    /// Number of requests that were answered from the record of another run. They are counted among the calls, and cost nothing.
    pub from_record: usize,
    /// Number of requests and answers that cannot be read, withheld ones included.
    pub unreadable: usize,
    /// Number of payloads that are withheld.
    pub withheld: usize,
    /// Number of events that report something that was not captured.
    pub capture_gaps: usize,
    /// Number of events that report an error.
    pub errors: usize,
    /// Time from the start of the run to its end, or to its last event; `None` if a time is missing or they run
    /// backwards.
    pub duration: Option<Duration>,
    /// Figures of tool calls as the format sums them up, if the run is a REPLAY.jsonl or was imported from one.
    pub figures: Option<ReplayTotals>,
    /// Status at the end of the run, by the record's own word.
    pub status: Option<String>,
    /// Reason of the end, by the record's own word.
    pub reason: Option<String>,
    /// Exit of the command, by the record's own word.
    pub exit: Option<Exit>,
    /// Command and arguments, by the record's own word. To be shown, never to be run.
    pub command: Vec<String>,
}

/// Use of one model in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelUse {
    /// Number of calls.
    pub calls: usize,
    /// Number of answers that report token usage.
    pub with_usage: usize,
    /// Number of answers that are errors.
    pub errors: usize,
    /// Number of input tokens.
    pub input_tokens: u64,
    /// Number of output tokens.
    pub output_tokens: u64,
    /// Number of input tokens read from a cache.
    pub cached_input_tokens: u64,
    /// Number of input tokens written to a cache.
    pub cache_write_tokens: u64,
    /// Number of answers with token usage whose model has a price.
    pub priced: usize,
    /// Cost of the priced answers, in picodollars.
    pub cost_picodollars: u128,
    /// Number of calls that may have cost more than is counted: their model has no price, or the vendor's last count
    /// was not seen.
    pub uncounted: usize,
}

/// Cost of model calls, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunCost {
    /// Cost of the calls whose model has a price, in picodollars.
    pub picodollars: u128,
    /// Number of calls that may have cost more. If there are any, the cost is partial.
    pub uncounted_calls: usize,
}

impl RunCost {
    /// Returns true if the calls may have cost more than the amount.
    pub fn is_partial(&self) -> bool {
        self.uncounted_calls > 0
    }
}

impl Summary {
    /// Returns the number of input tokens of all models; saturates.
    pub fn input_tokens(&self) -> u64 {
        self.models.values().fold(0, |sum, model| sum.saturating_add(model.input_tokens))
    }

    /// Returns the number of output tokens of all models; saturates.
    pub fn output_tokens(&self) -> u64 {
        self.models.values().fold(0, |sum, model| sum.saturating_add(model.output_tokens))
    }

    /// Returns the cost of all model calls; `None` if no answer has a price.
    pub fn cost(&self) -> Option<RunCost> {
        self.models.values().any(|model| model.priced > 0).then(|| RunCost {
            picodollars: self
                .models
                .values()
                .fold(0, |sum, model| sum.saturating_add(model.cost_picodollars)),
            uncounted_calls: self.uncounted_calls(),
        })
    }

    /// Returns the number of calls that may have cost more than is counted, those of models without a price included.
    pub fn uncounted_calls(&self) -> usize {
        self.models.values().map(|model| model.uncounted).sum()
    }

    /// Reads the whole run and sums it up, with costs at these prices.
    pub(crate) fn of(run: &Run, prices: &PriceTable) -> Self {
        let mut summary = Self { events: run.len(), ..Self::default() };
        for event in run.events() {
            *summary.kinds.entry(event.kind()).or_default() += 1;
            summary.withheld += usize::from(event.is_withheld());
        }
        let count = |kind| summary.kinds.get(&Some(kind)).copied().unwrap_or_default();
        (summary.model_calls, summary.http_calls) =
            (count(EventType::ModelCalled), count(EventType::HttpCalled));
        (summary.tool_calls, summary.capture_gaps) =
            (count(EventType::ToolCalled), count(EventType::CaptureGap));
        summary.errors = count(EventType::ErrorRaised);
        summary.duration = duration(run);
        summary.read_exchanges(run, prices);
        let outcome = reader::reader_of(run.payload_format()).outcome(run);
        (summary.status, summary.reason) = (outcome.status, outcome.reason);
        (summary.exit, summary.command) = (outcome.exit, outcome.command);
        summary.figures = (run.payload_format() == FormatId::ReplayJsonl).then(|| figures(run));
        summary
    }

    /// Counts exchanges that are incomplete or unreadable, and adds up the use of each model.
    fn read_exchanges(&mut self, run: &Run, prices: &PriceTable) {
        for exchange in run.exchanges() {
            let (request, answer) = (exchange.request(), exchange.answer());
            self.unreadable += usize::from(request.is_err());
            self.unreadable += usize::from(exchange.returned.is_some() && answer.is_err());
            self.incomplete += usize::from(match &answer {
                Ok(answer) => !answer.complete,
                Err(_) => exchange.returned.is_none(),
            });
            let is_from_record = exchange.is_answered_from_record();
            self.from_record += usize::from(is_from_record);
            if exchange.kind == ExchangeKind::Model {
                let name = request.as_ref().ok().and_then(|request| request.model.clone());
                let price = request.as_ref().ok().and_then(|request| vendor_rates(run, request, prices));
                let is_free =
                    request.as_ref().is_ok_and(is_free) || price.is_some_and(|(_, rates)| rates.is_free());
                let model = self.models.entry(name.unwrap_or_default().into_owned()).or_default();
                model.calls += 1;
                if is_from_record {
                    continue;
                }
                let mut is_counted = is_free;
                if let (Ok(request), Ok(answer)) = (request, answer) {
                    let message = match &answer.recorded_message {
                        Some(said) => Some(reenact_wire::ModelAnswer::clone(said)),
                        None => request.endpoint.and_then(|endpoint| answer.message(endpoint)),
                    };
                    let is_error = answer.status.is_some_and(|status| status >= 400);
                    let has_count = message.as_ref().is_some_and(|message| message.usage.is_some());
                    is_counted |= is_error || (answer.complete && has_count && price.is_some());
                    model.add_answer(message.as_ref(), is_error, price);
                }
                model.uncounted += usize::from(!is_counted);
            }
        }
    }
}

/// Returns the figures that a REPLAY.jsonl sums up at its end, computed from its lines.
fn figures(run: &Run) -> ReplayTotals {
    let mut figures = ReplayTotals::default();
    let mut ids = HashSet::new();
    for event in run.events().filter(|event| event.payload_format() == FormatId::ReplayJsonl) {
        match event.kind() {
            Some(EventType::ToolCalled) => {
                ids.insert(event.step_id());
            }
            Some(EventType::ToolReturned) => {
                if let Ok(result) = (ToolUse { called: event, returned: Some(event) }).result() {
                    let latency = result.latency.and_then(|latency| u64::try_from(latency.as_millis()).ok());
                    figures.add_result(latency, result.utility);
                }
            }
            _ => {}
        }
    }
    figures.tool_calls = ids.len() as u64;
    figures
}

impl ModelUse {
    /// Returns the cost of the calls; `None` if no answer has a price.
    pub fn cost(&self) -> Option<RunCost> {
        let cost = RunCost { picodollars: self.cost_picodollars, uncounted_calls: self.uncounted };
        (self.priced > 0).then_some(cost)
    }

    /// Adds one answer: its usage, its price, and whether it is an error.
    fn add_answer(
        &mut self,
        message: Option<&reenact_wire::ModelAnswer>,
        is_error: bool,
        price: Option<(Vendor, Rates)>,
    ) {
        self.errors += usize::from(is_error || message.is_some_and(|message| message.error.is_some()));
        let Some(usage) = message.and_then(|message| message.usage) else { return };
        self.with_usage += 1;
        let add = |sum: &mut u64, count: u64| *sum = sum.saturating_add(count);
        add(&mut self.input_tokens, usage.input_tokens);
        add(&mut self.output_tokens, usage.output_tokens);
        add(&mut self.cached_input_tokens, usage.cached_input_tokens);
        add(&mut self.cache_write_tokens, usage.cache_write_tokens);
        if let Some((vendor, rates)) = price {
            self.priced += 1;
            self.cost_picodollars = self.cost_picodollars.saturating_add(rates.cost(vendor, &usage));
        }
    }
}

/// Returns true for a request that vendors answer for nothing, such as the counting of tokens.
fn is_free(request: &ExchangeRequest<'_>) -> bool {
    Vendor::is_free_path(&request.provider, &request.path)
}

/// Returns the rates of the model that a request names, and the vendor in whose way its tokens are counted, if both are known.
///
/// The provider of a foreign record may be any word; then the vendor of the interface counts. A server that the user named has prices of
/// its own.
fn vendor_rates(run: &Run, request: &ExchangeRequest<'_>, prices: &PriceTable) -> Option<(Vendor, Rates)> {
    let interface = request.endpoint.and_then(Endpoint::vendor);
    let (provider, model) = (&*request.provider, request.model.as_deref()?);
    let named = Vendor::of_name(provider);
    let is_foreign = named.is_none() && !run.has_upstream(provider);
    let foreign = || prices.rates(interface.filter(|_| is_foreign)?.name(), model);
    let rates = prices.rates(provider, model).or_else(foreign)?;
    Some((interface.or(named).unwrap_or(Vendor::OPENAI), rates))
}

/// Returns the time from the start of a run to its end, or else to its last event.
fn duration(run: &Run) -> Option<Duration> {
    let first = instant(&run.started_at()?)?;
    let last = || run.event(run.len().checked_sub(1)?)?.time().map(|time| time.into_owned());
    let nanoseconds = instant(&run.ended_at().or_else(last)?)? - first;
    u64::try_from(nanoseconds).ok().map(Duration::from_nanos)
}
