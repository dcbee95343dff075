//! A named step with a time budget, and the run of many.
//!
//! A budget is a promise to the reader of the table, not a test: going over it is printed and never fails, because a
//! clock says as much about the machine as about the code.

use std::time::{Duration, Instant};

use crate::context::Context;
use crate::failure::Failure;

/// One suite of the checks.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Seconds that it may take on two cores with nothing built yet.
    pub(crate) budget: u64,
    /// What it shows, for `--list`.
    pub(crate) about: &'static str,
    pub(crate) run: fn(&Context) -> Result<(), Failure>,
}

/// What became of one step.
pub(crate) struct Outcome {
    name: &'static str,
    budget: u64,
    end: End,
}

enum End {
    Ran {
        took: Duration,
        failure: Option<Failure>,
    },
    /// An earlier step stopped the run.
    NotRun,
}

/// Runs the steps in order. A failed one does not keep the others from running, unless it says that they are pointless.
pub(crate) fn run(steps: &[&Step], context: &Context) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(steps.len());
    let mut stopped = false;
    for (position, step) in steps.iter().enumerate() {
        let end = if stopped {
            End::NotRun
        } else {
            println!("\n== {} ({} of {}, budget {} s)", step.name, position + 1, steps.len(), step.budget);
            let start = Instant::now();
            let failure = (step.run)(context).err();
            stopped = failure.as_ref().is_some_and(Failure::stops_the_run);
            End::Ran { took: start.elapsed(), failure }
        };
        outcomes.push(Outcome { name: step.name, budget: step.budget, end });
    }
    outcomes
}

/// Whether every step ran and succeeded.
pub(crate) fn all_passed(outcomes: &[Outcome]) -> bool {
    outcomes.iter().all(|outcome| matches!(outcome.end, End::Ran { failure: None, .. }))
}

/// The table of all steps, the reasons of failures under it, and the count as the last line.
pub(crate) fn report(outcomes: &[Outcome]) -> String {
    let wide = outcomes.iter().map(|outcome| outcome.name.len()).max().unwrap_or(0).max("suite".len());
    let mut text = format!("{:wide$}  {:>9}  {:>7}\n", "suite", "time", "budget");
    let mut reasons = String::new();
    let (mut passed, mut failed) = (0, 0);
    for Outcome { name, budget, end } in outcomes {
        let (time, verdict) = match end {
            End::NotRun => ("-".to_owned(), "not run"),
            End::Ran { took, failure } => {
                match failure {
                    None => passed += 1,
                    Some(failure) => {
                        failed += 1;
                        reasons.push_str(&format!("{name}: {failure}\n"));
                    }
                }
                let verdict = match (failure, *took > Duration::from_secs(*budget)) {
                    (None, false) => "ok",
                    (None, true) => "ok, over budget",
                    (Some(_), false) => "FAIL",
                    (Some(_), true) => "FAIL, over budget",
                };
                (format!("{:.1} s", took.as_secs_f64()), verdict)
            }
        };
        text.push_str(&format!("{name:wide$}  {time:>9}  {:>7}  {verdict}\n", format!("{budget} s")));
    }
    if !reasons.is_empty() {
        text.push('\n');
        text.push_str(&reasons);
    }
    text.push_str(&format!("\n{passed} passed, {failed} failed\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(_: &Context) -> Result<(), Failure> {
        Ok(())
    }

    fn bad(_: &Context) -> Result<(), Failure> {
        Err(Failure::Missing { tool: "rustfmt", install: "rustup component add rustfmt" })
    }

    fn broken(_: &Context) -> Result<(), Failure> {
        Err(Failure::Build { line: "cargo build".to_owned() })
    }

    fn step(name: &'static str, run: fn(&Context) -> Result<(), Failure>) -> Step {
        Step { name, budget: 60, about: "", run }
    }

    #[test]
    fn a_failed_step_does_not_stop_the_next() {
        let steps = [step("first", bad), step("second", good)];
        let outcomes = run(&[&steps[0], &steps[1]], &Context::new());
        assert!(!all_passed(&outcomes));
        assert_eq!(
            report(&outcomes),
            "suite        time   budget\n\
             first       0.0 s     60 s  FAIL\n\
             second      0.0 s     60 s  ok\n\
             \n\
             first: rustfmt is not installed; install it with `rustup component add rustfmt`\n\
             \n\
             1 passed, 1 failed\n"
        );
    }

    #[test]
    fn a_failed_build_stops() {
        let steps = [step("build", broken), step("tests", good)];
        let outcomes = run(&[&steps[0], &steps[1]], &Context::new());
        assert!(!all_passed(&outcomes));
        assert_eq!(
            report(&outcomes),
            "suite       time   budget\n\
             build      0.0 s     60 s  FAIL\n\
             tests          -     60 s  not run\n\
             \n\
             build: the workspace does not build: `cargo build`\n\
             \n\
             0 passed, 1 failed\n"
        );
    }

    #[test]
    fn over_budget_is_told_and_passes() {
        let end = End::Ran { took: Duration::from_millis(61_200), failure: None };
        let outcomes = [Outcome { name: "tests", budget: 60, end }];
        assert!(all_passed(&outcomes));
        assert_eq!(
            report(&outcomes),
            "suite       time   budget\n\
             tests     61.2 s     60 s  ok, over budget\n\
             \n\
             1 passed, 0 failed\n"
        );
    }
}
