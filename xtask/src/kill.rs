//! `cargo xtask kill`: SIGKILL for a recorder under load, hundreds of times.
//!
//! The test is the one of the step `tests` (`crates/cli/tests/lifecycle/kills.rs`), which kills a few
//! times only. After each kill the run is recovered, and compared with every byte that the clients'
//! sockets had received.

use crate::TaskError;
use crate::context::TaskContext;
use crate::failure::TaskFailure;

/// Number of kills if none is given.
const DEFAULT_KILLS: u32 = 300;

/// Seed of the moments of the kills if none is given.
const DEFAULT_SEED: u64 = 1;

/// Cargo arguments of the test program.
const PROGRAM: &str = "test --package reenact --test lifecycle --";
/// Name of the test.
const TEST: &str = "lifecycle::kills::a_kill_at_any_moment_loses_nothing_that_was_seen";

/// Parsed arguments.
#[derive(Debug, PartialEq, Eq)]
struct KillArgs {
    /// Number of kills.
    kills: u32,
    /// Seed of the moments of the kills.
    seed: u64,
}

/// Kills this many recorders. The same seed gives the same moments, as far as a machine repeats
/// itself.
///
/// # Errors
/// [`TaskError::Usage`] for wrong arguments; [`TaskError::Failed`] if the test fails, or does not
/// exist (it is for Unix only).
pub(crate) fn run(context: &TaskContext, args: &[String]) -> Result<(), TaskError> {
    let KillArgs { kills, seed } = parse_args(args).map_err(TaskError::Usage)?;
    let variables = [("REENACT_KILLS", kills.to_string()), ("REENACT_SEED", seed.to_string())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let failed = |failure: TaskFailure| TaskError::Failed(failure.to_string());
    // A test that does not exist would pass.
    let there = context.cargo_output(&format!("{PROGRAM} --exact {TEST} --list")).map_err(failed)?;
    if !is_listed(&there) {
        return Err(TaskError::Failed(format!("there is no test {TEST}: it is for Unix, or was renamed")));
    }
    context.cargo_with(&format!("{PROGRAM} --exact {TEST} --nocapture"), &variables).map_err(failed)
}

/// Returns true if the test is in a list of tests.
fn is_listed(list: &str) -> bool {
    list.lines().any(|line| line.strip_suffix(": test") == Some(TEST))
}

/// Parses the arguments.
fn parse_args(args: &[String]) -> Result<KillArgs, String> {
    let mut request = KillArgs { kills: DEFAULT_KILLS, seed: DEFAULT_SEED };
    let mut is_counted = false;
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let seed = match arg {
            "--seed" => Some(args.next().unwrap_or_default()),
            _ => arg.strip_prefix("--seed="),
        };
        if let Some(text) = seed {
            request.seed =
                text.parse().map_err(|_| format!("`--seed` needs a whole number, not `{text}`"))?;
        } else if std::mem::replace(&mut is_counted, true) {
            return Err(format!("`kill` takes one number, and `{arg}` is one more"));
        } else {
            let kills = arg.parse().ok().filter(|kills| *kills > 0);
            request.kills =
                kills.ok_or_else(|| format!("`kill` takes a whole number above 0, not `{arg}`"))?;
        }
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<KillArgs, String> {
        parse_args(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn how_often_and_which() {
        assert_eq!(read(&[]), Ok(KillArgs { kills: 300, seed: 1 }));
        assert_eq!(read(&["20", "--seed", "9"]), Ok(KillArgs { kills: 20, seed: 9 }));
        assert_eq!(read(&["--seed=3"]), Ok(KillArgs { kills: 300, seed: 3 }));
        assert_eq!(read(&["0"]), Err("`kill` takes a whole number above 0, not `0`".into()));
        assert_eq!(read(&["3", "4"]), Err("`kill` takes one number, and `4` is one more".into()));
        assert_eq!(read(&["--fast"]), Err("`kill` takes a whole number above 0, not `--fast`".into()));
        assert_eq!(read(&["--seed"]), Err("`--seed` needs a whole number, not ``".into()));
    }

    #[test]
    fn a_test_that_is_not_there_is_missed() {
        assert!(is_listed(&format!("{TEST}: test\n\n1 test, 0 benchmarks\n")));
        assert!(!is_listed("\n0 tests, 0 benchmarks\n"));
        assert!(!is_listed(&format!("{TEST}_twice: test\n")));
    }
}
