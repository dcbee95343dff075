//! What a session amounts to.

/// Sums over the events of a session.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Calls, each id once.
    pub tool_calls: u64,
    latency_ms: u128,
    utilities: u64,
    utility: f64,
}

impl Figures {
    /// Counts a result.
    pub fn add_result(&mut self, latency_ms: Option<u64>, utility: Option<f32>) {
        self.latency_ms += u128::from(latency_ms.unwrap_or_default());
        if let Some(utility) = utility {
            self.utilities += 1;
            self.utility += f64::from(utility);
        }
    }

    /// The sum of all latencies; `None` where 64 bits do not hold it.
    pub fn total_latency_ms(&self) -> Option<u64> {
        u64::try_from(self.latency_ms).ok()
    }

    /// The mean of all utilities; `None` where there is none, which is another thing than neutral.
    pub fn average_step_utility(&self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss, reason = "no session has 2^53 results")]
        (self.utilities > 0).then(|| self.utility / self.utilities as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let mut figures = Figures::default();
        assert_eq!((figures.total_latency_ms(), figures.average_step_utility()), (Some(0), None));
        figures.add_result(Some(45), Some(0.5));
        figures.add_result(None, None);
        figures.add_result(Some(5), Some(-1.0));
        assert_eq!((figures.total_latency_ms(), figures.average_step_utility()), (Some(50), Some(-0.25)));
        figures.add_result(Some(u64::MAX), None);
        assert_eq!(figures.total_latency_ms(), None);
    }
}
