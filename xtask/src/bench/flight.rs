//! A whole flight to measure: calls through a gateway that records, answers from a recorded run, the recorder alone.
//!
//! The numbers here are times of this machine, so they are taken beside what they are compared with: a call through the
//! gateway beside the same call without it, a seal beside one hash of the same bytes.

mod agent;
// As the command has it: what is measured here is what it serves.
#[path = "../../../crates/cli/src/command/replay/answers.rs"]
mod answers;
mod gateway;
mod lane;
mod record;
mod replay;
mod scene;

use std::path::Path;
use std::time::Duration;

pub(super) use record::write_run;

/// Every row that is asked for, under heads of their own.
pub(super) fn rows(folder: &Path, is_asked_for: impl Fn(&str) -> bool) -> Result<(), String> {
    gateway::rows(folder, &is_asked_for)?;
    replay::rows(folder, &is_asked_for)?;
    record::rows(folder, &is_asked_for)
}

/// An error of others, in their own words.
fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The two numbers by which a distribution of times is judged, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Quantiles {
    p50: f64,
    p99: f64,
}

impl Quantiles {
    /// Those of some times; `None` if there are too few to speak of a hundredth of them.
    fn of(mut times: Vec<Duration>) -> Option<Self> {
        if times.len() < 100 {
            return None;
        }
        times.sort_unstable();
        let at = |hundredths: usize| times.get((times.len() - 1) * hundredths / 100).copied();
        Some(Self { p50: at(50)?.as_secs_f64() * 1e3, p99: at(99)?.as_secs_f64() * 1e3 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let times = |count: u64| (0..count).rev().map(Duration::from_millis).collect();
        assert_eq!(Quantiles::of(times(99)), None);
        assert_eq!(Quantiles::of(times(101)), Some(Quantiles { p50: 50.0, p99: 99.0 }));
    }
}
