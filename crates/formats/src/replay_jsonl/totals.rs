//! Totals of a session.

/// Sums over the events of a session.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReplayTotals {
    /// Number of tool calls, each id once.
    pub tool_calls: u64,
    latency_count: u64,
    latency_ms: u128,
    utility_count: u64,
    utility_sum: f64,
}

impl ReplayTotals {
    /// Adds a tool result; a latency or a utility that is unknown is `None`.
    pub fn add_result(&mut self, latency_ms: Option<u64>, utility: Option<f32>) {
        self.latency_count += u64::from(latency_ms.is_some());
        self.latency_ms += u128::from(latency_ms.unwrap_or_default());
        if let Some(utility) = utility {
            self.utility_count += 1;
            self.utility_sum += f64::from(utility);
        }
    }

    /// Returns the sum of all latencies in milliseconds; `None` if 64 bits do not hold it.
    pub fn total_latency_ms(&self) -> Option<u64> {
        u64::try_from(self.latency_ms).ok()
    }

    /// Returns the sum of the latencies that are known; `None` if none is, though there are calls, or if 64 bits do not hold it.
    pub fn known_latency_ms(&self) -> Option<u64> {
        self.total_latency_ms().filter(|_| self.latency_count > 0 || self.tool_calls == 0)
    }

    /// Returns the latency in words, such as `45 ms (1 of 2 calls)`. `print_ms` writes a sum of milliseconds.
    pub fn latency_text(&self, print_ms: impl Fn(u64) -> String) -> String {
        let Some(total) = self.total_latency_ms() else { return "more time than can be".into() };
        match self.known_latency_ms() {
            None => "latency unknown".into(),
            Some(_) if self.latency_count >= self.tool_calls => print_ms(total),
            Some(_) => format!("{} ({} of {} calls)", print_ms(total), self.latency_count, self.tool_calls),
        }
    }

    /// Returns the mean of all utilities; `None` if there is none, which is not the same as a neutral 0.
    pub fn average_step_utility(&self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss, reason = "no session has 2^53 results")]
        (self.utility_count > 0).then(|| self.utility_sum / self.utility_count as f64)
    }

    /// Returns the number of results with a utility.
    pub fn utility_count(&self) -> u64 {
        self.utility_count
    }

    /// Returns the utility in words, such as `average utility 0.650 (2 of 3 calls)`.
    pub fn utility_text(&self) -> String {
        match self.average_step_utility() {
            Some(average) if self.utility_count >= self.tool_calls => format!("average utility {average:.3}"),
            Some(average) => {
                format!("average utility {average:.3} ({} of {} calls)", self.utility_count, self.tool_calls)
            }
            None if self.tool_calls == 0 => "no utility".into(),
            None => "utility unknown".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let mut figures = ReplayTotals::default();
        assert_eq!((figures.total_latency_ms(), figures.average_step_utility()), (Some(0), None));
        figures.add_result(Some(45), Some(0.5));
        figures.add_result(None, None);
        figures.add_result(Some(5), Some(-1.0));
        assert_eq!((figures.total_latency_ms(), figures.average_step_utility()), (Some(50), Some(-0.25)));
        figures.add_result(Some(u64::MAX), None);
        assert_eq!(figures.total_latency_ms(), None);
    }

    #[test]
    fn latencies_in_words() {
        let text = |figures: &ReplayTotals| figures.latency_text(|total| format!("{total} ms"));
        let mut figures = ReplayTotals::default();
        assert_eq!((text(&figures).as_str(), figures.known_latency_ms()), ("0 ms", Some(0)));
        figures.tool_calls = 2;
        figures.add_result(None, None);
        assert_eq!((text(&figures).as_str(), figures.known_latency_ms()), ("latency unknown", None));
        figures.add_result(Some(45), None);
        assert_eq!((text(&figures).as_str(), figures.known_latency_ms()), ("45 ms (1 of 2 calls)", Some(45)));
        figures.tool_calls = 1;
        assert_eq!(text(&figures), "45 ms");
        figures.add_result(Some(u64::MAX), None);
        assert_eq!((text(&figures).as_str(), figures.known_latency_ms()), ("more time than can be", None));
    }

    #[test]
    fn utilities_in_words() {
        let mut figures = ReplayTotals::default();
        assert_eq!(figures.utility_text(), "no utility");
        figures.tool_calls = 3;
        assert_eq!(figures.utility_text(), "utility unknown");
        figures.add_result(None, Some(0.5));
        figures.add_result(None, None);
        figures.add_result(None, Some(0.8));
        assert_eq!(figures.utility_text(), "average utility 0.650 (2 of 3 calls)");
        figures.tool_calls = 2;
        assert_eq!(figures.utility_text(), "average utility 0.650");
    }
}
