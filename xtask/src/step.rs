//! Steps with a name and a time budget, run one after the other.
//!
//! A budget is a promise to the reader of the table, not a test: going over it is printed and never
//! fails, because a clock says as much about the machine as about the code.

use std::time::{Duration, Instant};

use crate::context::TaskContext;
use crate::failure::TaskFailure;

/// Step of `cargo xtask test`.
pub(crate) struct TaskStep {
    /// Name on the command line and in the table.
    pub(crate) name: &'static str,
    /// Seconds that the step may take on two cores with nothing built yet.
    pub(crate) budget_seconds: u64,
    /// Purpose, for `--list`.
    pub(crate) about: &'static str,
    /// Function that runs the step.
    pub(crate) run: fn(&TaskContext) -> Result<(), TaskFailure>,
}

/// Outcome of one step.
pub(crate) struct StepOutcome {
    name: &'static str,
    budget_seconds: u64,
    /// End of the step.
    end: StepEnd,
}

/// End of a step.
enum StepEnd {
    /// The step ran; `failure` is `None` if it succeeded.
    Ran { took: Duration, failure: Option<TaskFailure> },
    /// Skipped, because an earlier step stopped the run.
    NotRun,
}

/// Runs the steps in order. A failed step does not keep the others from running, unless it makes
/// them pointless.
pub(crate) fn run(steps: &[&TaskStep], context: &TaskContext) -> Vec<StepOutcome> {
    let mut outcomes = Vec::with_capacity(steps.len());
    let mut stopped = false;
    for (position, step) in steps.iter().enumerate() {
        let end = if stopped {
            StepEnd::NotRun
        } else {
            println!(
                "\n== {} ({} of {}, budget {} s)",
                step.name,
                position + 1,
                steps.len(),
                step.budget_seconds
            );
            let start = Instant::now();
            let failure = (step.run)(context).err();
            stopped = failure.as_ref().is_some_and(TaskFailure::stops_the_run);
            StepEnd::Ran { took: start.elapsed(), failure }
        };
        outcomes.push(StepOutcome { name: step.name, budget_seconds: step.budget_seconds, end });
    }
    outcomes
}

/// Returns true if every step ran and succeeded.
pub(crate) fn all_passed(outcomes: &[StepOutcome]) -> bool {
    outcomes.iter().all(|outcome| matches!(outcome.end, StepEnd::Ran { failure: None, .. }))
}

/// Returns the table of all steps, the reasons of failures under it, and the count as the last
/// line:
///
/// ```text
/// suite       time   budget
/// build      0.0 s     60 s  FAIL
/// tests          -     60 s  not run
///
/// build: the workspace does not build: `cargo build`
///
/// 0 passed, 1 failed
/// ```
pub(crate) fn report(outcomes: &[StepOutcome]) -> String {
    let wide = outcomes.iter().map(|outcome| outcome.name.len()).max().unwrap_or(0).max("suite".len());
    let mut text = format!("{:wide$}  {:>9}  {:>7}\n", "suite", "time", "budget");
    let mut reasons = String::new();
    let (mut passed, mut failed) = (0, 0);
    for StepOutcome { name, budget_seconds: budget, end } in outcomes {
        let (time, verdict) = match end {
            StepEnd::NotRun => ("-".to_owned(), "not run"),
            StepEnd::Ran { took, failure } => {
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

    fn good(_: &TaskContext) -> Result<(), TaskFailure> {
        Ok(())
    }

    fn bad(_: &TaskContext) -> Result<(), TaskFailure> {
        Err(TaskFailure::Missing { tool: "rustfmt", install: "rustup component add rustfmt" })
    }

    fn broken(_: &TaskContext) -> Result<(), TaskFailure> {
        Err(TaskFailure::Build { line: "cargo build".to_owned() })
    }

    fn step(name: &'static str, run: fn(&TaskContext) -> Result<(), TaskFailure>) -> TaskStep {
        TaskStep { name, budget_seconds: 60, about: "", run }
    }

    #[test]
    fn a_failed_step_does_not_stop_the_next() {
        let steps = [step("first", bad), step("second", good)];
        let outcomes = run(&[&steps[0], &steps[1]], &TaskContext::new());
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
        let outcomes = run(&[&steps[0], &steps[1]], &TaskContext::new());
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
        let end = StepEnd::Ran { took: Duration::from_millis(61_200), failure: None };
        let outcomes = [StepOutcome { name: "tests", budget_seconds: 60, end }];
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
