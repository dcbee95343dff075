//! `cargo xtask kill`: SIGKILL for a recorder under load, hundreds of times.
//!
//! The test is the one of the step `tests` (`crates/cli/tests/flight/kills.rs`), which takes a few moments only. Each kill is
//! recovered from, and what is recovered is compared with every byte that the clients' sockets had received.

use crate::Ending;
use crate::context::Context;
use crate::failure::Failure;

/// Kills when no number is given.
const KILLS: u32 = 300;

const SEED: u64 = 1;

const PROGRAM: &str = "test --package reenact --test flight --";
const TEST: &str = "flight::kills::a_kill_at_any_moment_loses_nothing_that_was_seen";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    kills: u32,
    seed: u64,
}

/// Kills so many recorders. The same seed gives the same moments, as far as a machine does the same twice.
pub(crate) fn run(context: &Context, args: &[String]) -> Result<(), Ending> {
    let Request { kills, seed } = request(args).map_err(Ending::Usage)?;
    let variables = [("REENACT_KILLS", kills.to_string()), ("REENACT_SEED", seed.to_string())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let failed = |failure: Failure| Ending::Failed(failure.to_string());
    // A test that is not there would pass.
    let there = context.cargo_says(&format!("{PROGRAM} --exact {TEST} --list")).map_err(failed)?;
    if !is_listed(&there) {
        return Err(Ending::Failed(format!("there is no test {TEST}: it is for Unix, or was renamed")));
    }
    context.cargo_with(&format!("{PROGRAM} --exact {TEST} --nocapture"), &variables).map_err(failed)
}

/// Whether the test is in a list of tests.
fn is_listed(list: &str) -> bool {
    list.lines().any(|line| line.strip_suffix(": test") == Some(TEST))
}

fn request(args: &[String]) -> Result<Request, String> {
    let mut request = Request { kills: KILLS, seed: SEED };
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

    fn read(words: &[&str]) -> Result<Request, String> {
        request(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn how_often_and_which() {
        assert_eq!(read(&[]), Ok(Request { kills: 300, seed: 1 }));
        assert_eq!(read(&["20", "--seed", "9"]), Ok(Request { kills: 20, seed: 9 }));
        assert_eq!(read(&["--seed=3"]), Ok(Request { kills: 300, seed: 3 }));
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
