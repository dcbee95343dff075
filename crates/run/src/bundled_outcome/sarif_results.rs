//! Results of a SARIF report, by rule and message.

use reenact_json::{Limits, Value};

use super::BundledTest;
use crate::reported_outcome::owned_string;

/// Returns the results of all runs in a SARIF report, each named by its rule and its message, with its level as the status; `None`
/// if this is no SARIF.
pub fn sarif_results(bytes: &[u8]) -> Option<Vec<BundledTest>> {
    let report = Value::parse(bytes, &Limits::default()).ok()?;
    let mut found = Vec::new();
    for run in report.member("runs")?.elements() {
        for result in run.member("results").into_iter().flat_map(|results| results.elements()) {
            let [rule, level, message] = result.select_members(["ruleId", "level", "message"]);
            let rule = owned_string(rule).unwrap_or_default();
            let text = message.and_then(|message| owned_string(message.member("text"))).unwrap_or_default();
            // The level of a result without one is `warning` (SARIF 2.1.0, §3.27.10).
            let status = owned_string(level).unwrap_or("warning".to_owned());
            found.push(BundledTest { id: format!("{rule}: {text}"), status });
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_by_rule_and_message() {
        let report = br#"{"version":"2.1.0","runs":[{"results":[{"ruleId":"assay","level":"error","message":{"text":"t2: failed"}},{"ruleId":"x","message":{"text":"y"}}]},{}]}"#;
        let test = |id: &str, status: &str| BundledTest { id: id.into(), status: status.into() };
        assert_eq!(
            sarif_results(report),
            Some(vec![test("assay: t2: failed", "error"), test("x: y", "warning")])
        );
        assert_eq!(sarif_results(br#"{"results":[]}"#), None);
        assert_eq!(sarif_results(b"<xml/>"), None);
    }
}
