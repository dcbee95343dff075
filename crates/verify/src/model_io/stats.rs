//! The sums that a session states of itself (§3.4). No hash covers them, so that false ones are notes, not violations.

use reenact_formats::model_io::canonical::number_text;
use reenact_formats::model_io::{Head, InteractionView};
use reenact_json::Value;

/// What the interactions sum up to.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    interactions: f64,
    tokens_input: Sum,
    tokens_output: Sum,
    latency_ms: Sum,
}

#[derive(Debug, Default)]
struct Sum {
    known: f64,
    /// An interaction does not state it, so that the sum may be more.
    is_partial: bool,
}

impl Sum {
    fn add(&mut self, value: Option<Value<'_>>) {
        match value.and_then(|value| value.double()) {
            Some(number) => self.known += number,
            None => self.is_partial = true,
        }
    }

    /// Whether a stated total cannot be that of what was added.
    fn refutes(&self, total: f64) -> bool {
        // Fractions may have been added in another order.
        let slack = if self.known.fract() == 0.0 { 0.0 } else { 1e-9 * self.known.abs() };
        self.known > total + slack || (!self.is_partial && self.known < total - slack)
    }
}

impl Metrics {
    pub(super) fn add(&mut self, interaction: &InteractionView<'_>) {
        self.interactions += 1.0;
        self.tokens_input.add(interaction.tokens_input);
        self.tokens_output.add(interaction.tokens_output);
        self.latency_ms.add(interaction.latency_ms);
    }

    /// A note for each stated sum that is not what the interactions add up to. What is no number states nothing.
    pub(super) fn notes(&self, head: &Head<'_>) -> Vec<String> {
        let Some(stats) = head.stats else { return Vec::new() };
        let interactions = Sum { known: self.interactions, is_partial: false };
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
