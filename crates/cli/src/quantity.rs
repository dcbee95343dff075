//! Numbers as people read them: counts, durations, sizes and amounts of money.

use std::time::Duration;

use reenact_run::Summary;
use reenact_run::summary::RunCost;

/// Returns a number with its noun: `1 model call`, `2 model calls`. The plural is formed with `s`.
pub(crate) fn count(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Returns a number with a noun whose plural is not formed with `s` at its end: `1 payload withheld`, `2 payloads withheld`.
pub(crate) fn count_of(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

/// Returns the tokens of a model: `1 token in, 31 out`.
pub(crate) fn tokens(input: u64, output: u64) -> String {
    format!("{} in, {} out", count(input, "token"), grouped(output))
}

/// Returns a number with its digits in groups of three: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a duration in its two largest units: `820 ms`, `3.2 s`, `2 min 5 s`, `1 h 3 min`.
pub(crate) fn duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    let seconds = duration.as_secs();
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        // Tenths are truncated and not rounded: 59.99 s must not become 60.0 s.
        1_000..60_000 => format!("{seconds}.{} s", duration.subsec_millis() / 100),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns an amount of picodollars in dollars, such as `0.0123 USD`.
///
/// It has four decimal places, or six below one cent, and is rounded up: a cost must not look smaller than it is.
pub(crate) fn dollars(picodollars: u128) -> String {
    let (unit, places) = if picodollars < 10_000_000_000 { (1_000_000, 6) } else { (100_000_000, 4) };
    let units = picodollars.div_ceil(unit);
    let in_dollar = 1_000_000_000_000 / unit;
    format!("{}.{:0places$} USD", units / in_dollar, units % in_dollar)
}

/// Returns a cost as people read it: `about 0.0123 USD`, or `at least 0.0123 USD (1 call not counted)` if it is partial.
pub(crate) fn cost(cost: RunCost) -> String {
    let amount = dollars(cost.picodollars);
    if cost.is_partial() {
        format!("at least {amount} ({} not counted)", count(cost.uncounted_calls as u64, "call"))
    } else {
        format!("about {amount}")
    }
}

/// Returns the cost of a run as people read it, or `cost unknown` if no call has a price and one may have cost something; `None` if
/// there is nothing to cost.
pub(crate) fn run_cost(summary: &Summary) -> Option<String> {
    let unknown = || (summary.uncounted_calls() > 0).then(|| "cost unknown".to_owned());
    summary.cost().map(cost).or_else(unknown)
}

/// Returns a size in powers of 1,000: `900 bytes`, `12.3 KB`, `4.5 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1_000 => count(bytes, "byte"),
        1_000..1_000_000 => format!("{} KB", tenths(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money() {
        assert_eq!(dollars(0), "0.000000 USD");
        assert_eq!(dollars(1), "0.000001 USD");
        assert_eq!(dollars(9_999_999_999), "0.010000 USD");
        assert_eq!(dollars(10_000_000_000), "0.0100 USD");
        assert_eq!(dollars(1_234_567_890_123), "1.2346 USD");
        assert_eq!(dollars(u128::MAX), "340282366920938463463374607.4318 USD");
    }

    #[test]
    fn costs() {
        let of = |uncounted_calls| cost(RunCost { picodollars: 10_000_000_000, uncounted_calls });
        assert_eq!(of(0), "about 0.0100 USD");
        assert_eq!(of(1), "at least 0.0100 USD (1 call not counted)");
        assert_eq!(of(2), "at least 0.0100 USD (2 calls not counted)");
    }

    #[test]
    fn counts() {
        assert_eq!(count(0, "call"), "0 calls");
        assert_eq!(count(1, "call"), "1 call");
        assert_eq!(count_of(1, "goose", "geese"), "1 goose");
        assert_eq!(count_of(1_000, "goose", "geese"), "1,000 geese");
        assert_eq!(tokens(1, 1), "1 token in, 1 out");
        assert_eq!(tokens(405, 31), "405 tokens in, 31 out");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn durations() {
        let of = |ms| duration(Duration::from_millis(ms));
        assert_eq!(of(0), "0 ms");
        assert_eq!(of(999), "999 ms");
        assert_eq!(of(1_000), "1.0 s");
        assert_eq!(of(59_999), "59.9 s");
        assert_eq!(of(125_000), "2 min 5 s");
        assert_eq!(of(3_780_000), "1 h 3 min");
    }

    #[test]
    fn sizes() {
        assert_eq!(size(999), "999 bytes");
        assert_eq!(size(12_345), "12.3 KB");
        assert_eq!(size(999_999), "999.9 KB");
        assert_eq!(size(4_500_000), "4.5 MB");
        assert_eq!(size(2_000_000_000), "2.0 GB");
    }
}
