//! Recording and replaying over sockets: calls through a gateway that records, answers from a
//! recorded run, the recorder alone.
//!
//! Times depend on the machine, so each is measured beside its reference: a call through the
//! gateway beside the same call without it, a seal beside one hash of the same bytes.

mod connection;
// The same file as in the command, so that what is measured here is what the command serves.
#[path = "../../../crates/cli/src/command/replay/answers.rs"]
mod answers;
mod calls;
mod client;
mod gateway;
mod levels;
mod record;
mod replay;

use std::path::Path;
use std::time::Duration;

pub(super) use record::write_run;

/// Prints the rows that are asked for, under table heads of their own.
///
/// # Errors
/// If one of the measurements fails.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    gateway::rows(folder, &is_selected)?;
    replay::rows(folder, &is_selected)?;
    levels::rows(folder, &is_selected)?;
    record::rows(folder, &is_selected)
}

/// Converts an error to its text.
fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Median and 99th percentile of a distribution of times, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Quantiles {
    /// Median.
    p50: f64,
    /// 99th percentile.
    p99: f64,
}

impl Quantiles {
    /// Computes the quantiles of some times; `None` for fewer than 100, of which a 99th percentile
    /// says nothing.
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
