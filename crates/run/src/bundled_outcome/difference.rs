//! Differences between the outcome in a bundle and that of its replay.

use std::collections::BTreeMap;

use super::{BundledOutcome, BundledTest};

/// One thing that is another in a replay than in the bundle. The texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeDifference {
    /// Place, such as `exit code` or `test t2`.
    pub at: String,
    /// Value in the bundle; `None` if it has none.
    pub recorded: Option<String>,
    /// Value in the replay; `None` if it has none.
    pub now: Option<String>,
}

/// Returns in what two outcomes differ: exit code, reason code, numbers of tests, and each test by its id.
///
/// An exit or a reason that one of the two does not tell makes no difference; a test that only one of them has does.
pub fn differences(recorded: &BundledOutcome, now: &BundledOutcome) -> Vec<OutcomeDifference> {
    let mut found = Vec::new();
    let mut compare = |at: &str, recorded: Option<String>, now: Option<String>| {
        if recorded.is_some() && now.is_some() && recorded != now {
            found.push(OutcomeDifference { at: at.to_owned(), recorded, now });
        }
    };
    let text = |exit: Option<crate::Exit>| exit.map(|exit| exit.to_string());
    compare("exit code", text(recorded.exit), text(now.exit));
    compare("exit code of run.json", text(recorded.other_exit), text(now.other_exit.or(now.exit)));
    compare("reason code", recorded.reason_code.clone(), now.reason_code.clone());
    for (at, number) in [
        ("tests passed", (|totals| totals.passed) as fn(super::BundledTotals) -> u64),
        ("tests failed", |totals| totals.failed),
        ("tests", |totals| totals.total),
    ] {
        let of = |outcome: &BundledOutcome| outcome.totals.map(|totals| number(totals).to_string());
        compare(at, of(recorded), of(now));
    }
    found.extend(test_differences("test", &recorded.tests, &now.tests));
    found
}

/// Returns the tests whose status is another, or that only one of two lists has. `what` comes before the id of each.
///
/// Tests of one id are compared as a set, since reports list them in any order.
pub fn test_differences(what: &str, recorded: &[BundledTest], now: &[BundledTest]) -> Vec<OutcomeDifference> {
    let mut by_id: BTreeMap<&str, [Vec<&str>; 2]> = BTreeMap::new();
    for (side, tests) in [recorded, now].into_iter().enumerate() {
        for test in tests {
            if let Some(statuses) = by_id.entry(&test.id).or_default().get_mut(side) {
                statuses.push(&test.status);
            }
        }
    }
    let joined = |statuses: &[&str]| (!statuses.is_empty()).then(|| statuses.join(", "));
    let mut found = Vec::new();
    for (id, mut sides) in by_id {
        sides.iter_mut().for_each(|statuses| statuses.sort_unstable());
        let [recorded, now] = &sides;
        if recorded != now {
            let at = format!("{what} {id}");
            found.push(OutcomeDifference { at, recorded: joined(recorded), now: joined(now) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(id: &str, status: &str) -> BundledTest {
        BundledTest { id: id.into(), status: status.into() }
    }

    fn lines(found: Vec<OutcomeDifference>) -> Vec<String> {
        let side = |side: Option<String>| side.unwrap_or("-".into());
        found
            .into_iter()
            .map(|found| format!("{}: {} {}", found.at, side(found.recorded), side(found.now)))
            .collect()
    }

    #[test]
    fn every_part_of_an_outcome() {
        let recorded =
            br#"{"exit_code":1,"reason_code":"E_TEST_FAILED","results":{"passed":1,"failed":1,"total":2}}"#;
        let now = br#"{"exit_code":0,"reason_code":"","results":{"passed":2,"failed":0,"total":2}}"#;
        let read = |bytes: &[u8]| BundledOutcome::read(Some(bytes), None).unwrap();
        assert_eq!(
            lines(differences(&read(recorded), &read(now))),
            [
                "exit code: exit 1 exit 0",
                "reason code: E_TEST_FAILED ",
                "tests passed: 1 2",
                "tests failed: 1 0"
            ]
        );
        assert_eq!(differences(&read(recorded), &read(recorded)), []);
        // A report that does not tell an exit makes no difference.
        assert_eq!(differences(&read(recorded), &read(b"{}")), []);
    }

    #[test]
    fn tests_by_their_ids_in_any_order() {
        let recorded = [test("a", "pass"), test("b", "fail"), test("c", "pass"), test("c", "fail")];
        let same = [test("c", "fail"), test("b", "fail"), test("c", "pass"), test("a", "pass")];
        assert_eq!(test_differences("test", &recorded, &same), []);
        let other = [test("a", "pass"), test("b", "pass"), test("c", "pass"), test("d", "pass")];
        assert_eq!(
            lines(test_differences("test", &recorded, &other)),
            ["test b: fail pass", "test c: fail, pass pass", "test d: - pass"]
        );
    }
}
