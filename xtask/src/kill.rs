//! `cargo xtask kill`: SIGKILL for a recorder under load, hundreds of times.
//!
//! The test is the one of the step `tests` (`crates/cli/tests/flight/kills.rs`), which takes a few moments only. Each kill is
//! recovered from, and what is recovered is compared with every byte that the clients' sockets had received.

use crate::Ending;
use crate::context::Context;

/// Kills when no number is given.
const KILLS: u32 = 300;

const SEED: u64 = 1;

const TEST: &str = "test --package reenact --test flight -- --exact flight::kills::a_kill_at_any_moment_loses_nothing_that_was_seen --nocapture";

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
    context.cargo_with(TEST, &variables).map_err(|failure| Ending::Failed(failure.to_string()))
}

fn request(args: &[String]) -> Result<Request, String> {
    let mut request = Request { kills: KILLS, seed: SEED };
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let seed = match arg {
            "--seed" => Some(args.next().unwrap_or_default()),
            _ => arg.strip_prefix("--seed="),
        };
        if let Some(text) = seed {
            request.seed =
                text.parse().map_err(|_| format!("`--seed` needs a whole number, not `{text}`"))?;
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
        assert_eq!(read(&["--fast"]), Err("`kill` takes a whole number above 0, not `--fast`".into()));
        assert_eq!(read(&["--seed"]), Err("`--seed` needs a whole number, not ``".into()));
    }
}
