//! The sums that a session states of itself (§3.4).
//!
//! No hash covers them, so wrong sums are notes and not violations.

use reenact_formats::model_io::canonical::number_text;
use reenact_formats::model_io::{InteractionView, ModelIoHead};
use reenact_json::Value;

/// Sums over the interactions.
#[derive(Debug, Default)]
pub(super) struct SessionMetrics {
    /// Number of interactions.
    interactions: f64,
    /// Input tokens.
    tokens_input: MetricSum,
    /// Output tokens.
    tokens_output: MetricSum,
    /// Latencies in milliseconds.
    latency_ms: MetricSum,
}

/// Sum of one metric.
#[derive(Debug, Default)]
struct MetricSum {
    /// Sum of the values that are stated.
    known: f64,
    /// True if an interaction does not state the metric, so that the true sum may be larger.
    is_partial: bool,
}

impl MetricSum {
    /// Adds the value of one interaction.
    fn add(&mut self, value: Option<Value<'_>>) {
        match value.and_then(|value| value.double()) {
            Some(number) => self.known += number,
            None => self.is_partial = true,
        }
    }

    /// Returns true if a stated total cannot be the sum of the values.
    fn refutes(&self, total: f64) -> bool {
        // Fractions may have been added in another order, with other rounding.
        let slack = if self.known.fract() == 0.0 { 0.0 } else { 1e-9 * self.known.abs() };
        self.known > total + slack || (!self.is_partial && self.known < total - slack)
    }
}

impl SessionMetrics {
    /// Adds the metrics of one interaction.
    pub(super) fn add(&mut self, interaction: &InteractionView<'_>) {
        self.interactions += 1.0;
        self.tokens_input.add(interaction.tokens_input);
        self.tokens_output.add(interaction.tokens_output);
        self.latency_ms.add(interaction.latency_ms);
    }

    /// Returns a note for each stated sum that differs from that of the interactions. Values that are
    /// not numbers state nothing.
    pub(super) fn notes(&self, head: &ModelIoHead<'_>) -> Vec<String> {
        let Some(stats) = head.stats else { return Vec::new() };
        let interactions = MetricSum { known: self.interactions, is_partial: false };
        let sums = [
            ("total_interactions", &interactions),
            ("total_tokens_input", &self.tokens_input),
            ("total_tokens_output", &self.tokens_output),
            ("total_latency_ms", &self.latency_ms),
        ];
        let mut notes = Vec::new();
        for (name, sum) in sums {
            let Some(value) = stats.member(name) else { continue };
            if value.double().is_some_and(|total| sum.refutes(total)) {
                let stated = number_text(value).unwrap_or_default();
                let known = sum.known;
                notes.push(format!("stats.{name} is {stated}, but the interactions sum up to {known}"));
            }
        }
        notes
    }
}
