//! What a Replay Bundle says of its run, beside the answers, and how its replay compares with that.

use reenact_json::print::{self, PrintObjectWriter};
use reenact_run::BundledOutcome;
use reenact_run::bundled_outcome::OutcomeDifference;

/// Outcome in a bundle, and its comparison with that of a replay. All texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BundleComparison {
    /// Outcome of the run that the bundle was made from, if the bundle tells it.
    pub recorded: Option<BundledOutcome>,
    /// Number of tests that the bundle holds all of.
    pub complete_tests: usize,
    /// Tests that cannot be replayed from the bundle, each with the reason that its producer gives.
    pub incomplete_tests: Vec<(String, Option<String>)>,
    /// Seeds that the command was given, by the names that the manifest has for them.
    pub seeds: Vec<(&'static str, String)>,
    /// Outputs of the bundle that were compared, such as `summary`.
    pub compared: Vec<&'static str>,
    /// Number of recorded tests that were not run again, so that nothing is known of them.
    pub tests_not_run: usize,
    /// Everything in which the replay's outcome is another.
    pub differences: Vec<OutcomeDifference>,
}

impl BundleComparison {
    /// Returns true if nothing that was compared differs.
    pub fn is_same(&self) -> bool {
        self.differences.is_empty()
    }

    /// Appends the comparison as a JSON object.
    pub(crate) fn write_json(&self, out: &mut String) {
        let mut object = PrintObjectWriter::open(out);
        match &self.recorded {
            Some(recorded) => recorded.write_json(object.name("recorded")),
            None => object.string("recorded", None),
        }
        self.write_coverage(object.name("coverage"));
        let mut seeds = PrintObjectWriter::open(object.name("seeds"));
        for (name, seed) in &self.seeds {
            seeds.string(name, seed.as_str());
        }
        seeds.close();
        object.strings("compared", &self.compared);
        object.name("tests_not_run").push_str(&self.tests_not_run.to_string());
        print::write_list(&self.differences, object.name("differences"), |difference, out| {
            let mut object = PrintObjectWriter::open(out);
            object.string("at", difference.at.as_str());
            object.string("recorded", difference.recorded.as_deref());
            object.string("now", difference.now.as_deref());
            object.close();
        });
        object.close();
    }

    /// Appends which tests can be replayed from the bundle.
    pub fn write_coverage(&self, out: &mut String) {
        let mut object = PrintObjectWriter::open(out);
        object.name("complete").push_str(&self.complete_tests.to_string());
        print::write_list(&self.incomplete_tests, object.name("incomplete"), |(test, reason), out| {
            let mut object = PrintObjectWriter::open(out);
            object.string("test", test.as_str());
            object.string("reason", reason.as_deref());
            object.close();
        });
        object.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_for_programs() {
        let comparison = BundleComparison {
            complete_tests: 1,
            incomplete_tests: vec![("t2".into(), Some("no judge".into()))],
            seeds: vec![("order_seed", "7".into())],
            compared: vec!["summary"],
            tests_not_run: 1,
            differences: vec![OutcomeDifference {
                at: "test t1".into(),
                recorded: Some("fail".into()),
                now: None,
            }],
            ..BundleComparison::default()
        };
        let mut text = String::new();
        comparison.write_json(&mut text);
        assert_eq!(
            text,
            r#"{"recorded":null,"coverage":{"complete":1,"incomplete":[{"test":"t2","reason":"no judge"}]},"seeds":{"order_seed":"7"},"compared":["summary"],"tests_not_run":1,"differences":[{"at":"test t1","recorded":"fail","now":null}]}"#
        );
        assert!(!comparison.is_same());
    }
}
