//! `junit.xml`: the results as a test suite.

use reenact_json::Shown;

use super::{AssayReport, AssayTestStatus};

/// First two lines of a report on a replay, by which a later replay knows that it may replace the file.
const REPLAY_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- a replay by reenact -->\n";
/// First line of any other report.
const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// Returns true if the content of a file is a `junit.xml` on a replay.
pub fn is_junit_of_replay(bytes: &[u8]) -> bool {
    bytes.starts_with(REPLAY_HEAD.as_bytes())
}

impl AssayReport {
    /// Returns the text of `junit.xml`, with a line feed at its end.
    pub fn junit_xml(&self) -> String {
        let mut text = if self.replay.is_some() { REPLAY_HEAD } else { HEAD }.to_owned();
        text.push_str(&format!("<testsuite name=\"{}\">\n", escaped(&self.suite)));
        for result in &self.results {
            text.push_str(&format!("  <testcase name=\"{}\">", escaped(&result.id)));
            let element = match result.status {
                AssayTestStatus::Fail => Some("failure"),
                AssayTestStatus::Error => Some("error"),
                AssayTestStatus::Skipped => Some("skipped"),
                AssayTestStatus::Pass => None,
                AssayTestStatus::Warn
                | AssayTestStatus::Flaky
                | AssayTestStatus::Unstable
                | AssayTestStatus::AllowedOnError => {
                    let word = result.status.name().to_uppercase();
                    let message = escaped(&result.message);
                    text.push_str(&format!("<system-out>{word}: {message}</system-out>"));
                    // By chance is not passed.
                    (result.status == AssayTestStatus::Unstable).then_some("failure")
                }
            };
            if let Some(element) = element {
                text.push_str(&format!("<{element} message=\"{}\"/>", escaped(&result.message)));
            }
            text.push_str("</testcase>\n");
        }
        text + "</testsuite>\n"
    }
}

/// Returns a text for an attribute or an element: control characters, which XML cannot hold, are written as in any other output.
fn escaped(text: &str) -> String {
    let shown = Shown::whole(text).to_string();
    let mut out = String::with_capacity(shown.len());
    for character in shown.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // No XML document may hold these two.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{AssayTestResult, ReplayedBundle};
    use super::*;
    use crate::bundled_outcome::junit_cases;

    #[test]
    fn results_come_back_by_name() {
        let result = |id: &str, status, message: &str| AssayTestResult {
            id: id.into(),
            status,
            message: message.into(),
            milliseconds: None,
        };
        let mut report = AssayReport {
            suite: "s\"<&".into(),
            results: vec![
                result("a\u{1b}<b>", AssayTestStatus::Pass, ""),
                result("c", AssayTestStatus::Skipped, "not \"run\""),
                result("d", AssayTestStatus::Error, "<>"),
                result("e", AssayTestStatus::Unstable, "x"),
                result("f", AssayTestStatus::Warn, "y"),
            ],
            ..AssayReport::default()
        };
        let text = report.junit_xml();
        assert!(!is_junit_of_replay(text.as_bytes()));
        let cases: Vec<_> =
            junit_cases(text.as_bytes()).unwrap().into_iter().map(|case| (case.id, case.status)).collect();
        let expected =
            [("a\\u{1b}<b>", "pass"), ("c", "skipped"), ("d", "error"), ("e", "fail"), ("f", "pass")];
        assert_eq!(cases, expected.map(|(id, status)| (id.to_owned(), status.to_owned())));
        report.replay = Some(ReplayedBundle {
            bundle_digest: None,
            source_run_id: None,
            is_live: false,
            is_hermetic: None,
            seed_overrides: Vec::new(),
        });
        assert!(is_junit_of_replay(report.junit_xml().as_bytes()));
    }
}
