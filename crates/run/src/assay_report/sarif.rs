//! `sarif.json`: the results that did not pass, as SARIF 2.1.0.

use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Limits, Value};

use super::{AssayReport, AssayTestResult, AssayTestStatus};

/// Largest number of results: services that read SARIF take no more of one run.
const MAX_RESULTS: usize = 25_000;

/// Returns true if the content of a file is a `sarif.json` on a replay.
pub fn is_sarif_of_replay(bytes: &[u8]) -> bool {
    let Ok(report) = Value::parse(bytes, &Limits::default()) else { return false };
    let mut runs = report.member("runs").into_iter().flat_map(|runs| runs.elements());
    let is_of_replay =
        |run: Value<'_>| run.member("properties")?.member("reenact")?.member("replay")?.boolean();
    runs.next().and_then(is_of_replay) == Some(true)
}

impl AssayReport {
    /// Returns the text of `sarif.json`, with a line feed at its end. At most 25,000 results are listed, and how many were left out
    /// is said.
    pub fn sarif_json(&self) -> String {
        let told: Vec<&AssayTestResult> =
            self.results.iter().filter(|result| level(result.status).is_some()).collect();
        let mut text = String::new();
        let mut report = PrintObjectWriter::open(&mut text);
        report.string("version", "2.1.0");
        report.string("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
        print::write_list([()], report.name("runs"), |(), out| {
            let mut run = PrintObjectWriter::open(out);
            let mut tool = PrintObjectWriter::open(run.name("tool"));
            let mut driver = PrintObjectWriter::open(tool.name("driver"));
            driver.string("name", "reenact");
            driver.string("version", self.producer.strip_prefix("reenact/").unwrap_or(&self.producer));
            driver.close();
            tool.close();
            print::write_list(told.iter().take(MAX_RESULTS), run.name("results"), |result, out| {
                write_result(result, out)
            });
            let omitted = told.len().saturating_sub(MAX_RESULTS);
            if self.replay.is_some() || omitted > 0 {
                let mut properties = PrintObjectWriter::open(run.name("properties"));
                let mut own = PrintObjectWriter::open(properties.name("reenact"));
                own.boolean("replay", self.replay.is_some());
                own.name("omitted").push_str(&omitted.to_string());
                own.close();
                properties.close();
            }
            run.close();
        });
        report.close();
        text + "\n"
    }
}

/// Returns the level of a result with this status; `None` if it is not listed.
fn level(status: AssayTestStatus) -> Option<&'static str> {
    match status {
        AssayTestStatus::Fail | AssayTestStatus::Error | AssayTestStatus::Unstable => Some("error"),
        AssayTestStatus::Warn | AssayTestStatus::Flaky | AssayTestStatus::AllowedOnError => Some("warning"),
        AssayTestStatus::Pass | AssayTestStatus::Skipped => None,
    }
}

/// Appends one result. Its place is the manifest, since results of a replay belong to no line of a source.
fn write_result(result: &AssayTestResult, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    object.string("ruleId", format!("reenact/{}", result.status.name()).as_str());
    object.string("level", level(result.status));
    let mut message = PrintObjectWriter::open(object.name("message"));
    message.string("text", format!("{}: {}", result.id, result.message).as_str());
    message.close();
    print::write_list([()], object.name("locations"), |(), out| {
        let mut location = PrintObjectWriter::open(out);
        let mut physical = PrintObjectWriter::open(location.name("physicalLocation"));
        let mut artifact = PrintObjectWriter::open(physical.name("artifactLocation"));
        artifact.string("uri", "manifest.json");
        artifact.close();
        physical.close();
        location.close();
    });
    object.close();
}

#[cfg(test)]
mod tests {
    use super::super::ReplayedBundle;
    use super::*;
    use crate::bundled_outcome::sarif_results;

    #[test]
    fn what_did_not_pass() {
        let result = |id: &str, status| AssayTestResult {
            id: id.into(),
            status,
            message: "why".into(),
            milliseconds: None,
        };
        let report = AssayReport {
            results: vec![
                result("a", AssayTestStatus::Pass),
                result("b", AssayTestStatus::Fail),
                result("c", AssayTestStatus::Skipped),
                result("d", AssayTestStatus::Flaky),
            ],
            ..AssayReport::default()
        };
        let text = report.sarif_json();
        let found: Vec<_> = sarif_results(text.as_bytes())
            .unwrap()
            .into_iter()
            .map(|found| (found.id, found.status))
            .collect();
        let expected = [("reenact/fail: b: why", "error"), ("reenact/flaky: d: why", "warning")];
        assert_eq!(found, expected.map(|(id, level)| (id.to_owned(), level.to_owned())));
        assert!(!is_sarif_of_replay(text.as_bytes()));
        let replay = ReplayedBundle {
            bundle_digest: None,
            source_run_id: None,
            is_live: false,
            is_hermetic: None,
            seed_overrides: Vec::new(),
        };
        let report = AssayReport { replay: Some(replay), ..report };
        assert!(is_sarif_of_replay(report.sarif_json().as_bytes()));
        assert!(!is_sarif_of_replay(b"{}") && !is_sarif_of_replay(b""));
    }

    #[test]
    fn a_list_that_is_too_long_is_cut() {
        let result = AssayTestResult {
            id: "a".into(),
            status: AssayTestStatus::Fail,
            message: String::new(),
            milliseconds: None,
        };
        let report = AssayReport { results: vec![result; MAX_RESULTS + 3], ..AssayReport::default() };
        let text = report.sarif_json();
        assert_eq!(sarif_results(text.as_bytes()).unwrap().len(), MAX_RESULTS);
        assert!(text.contains("\"omitted\":3"));
    }
}
