//! `cargo xtask stress`: the tests again and again on a machine that is busy with other things.
//!
//! A test that waits for time to pass instead of what it means, and code that relies on an order that nobody promised, fail here
//! before they fail for somebody else. Nothing is retried.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::Ending;
use crate::context::Context;
use crate::failure::Failure;

/// Rounds when no number is given.
const ROUNDS: u32 = 10;

/// Tests at once, and threads that do nothing but take the processor's time, for each processor.
const TESTS: usize = 5;
const HOGS: usize = 2;

/// The packages with threads, sockets and processes.
const PACKAGES: &[&str] =
    &["reenact", "reenact-gateway", "reenact-record", "reenact-replay", "reenact-testkit"];

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    packages: Vec<String>,
    rounds: u32,
}

/// Runs the tests of the named packages, or of those where it matters, so many times.
pub(crate) fn run(context: &Context, args: &[String]) -> Result<(), Ending> {
    let Request { packages, rounds } = request(args).map_err(Ending::Usage)?;
    let failed = |failure: Failure| Ending::Failed(failure.to_string());
    if !context.has("nextest") {
        let install = "cargo install cargo-nextest --locked";
        return Err(failed(Failure::Missing { tool: "nextest", install }));
    }
    // The whole workspace is built, as for `test`, so that nothing is compiled twice.
    let packages: Vec<String> = packages.iter().map(|package| format!("package({package})")).collect();
    let what = format!("nextest run --workspace --all-features --filterset {}", packages.join("+"));
    context.cargo(&format!("{what} --no-run")).map_err(failed)?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let at_once = TESTS * processors;
    let line = format!(
        "{what} --retries 0 --no-fail-fast --test-threads {at_once} --stress-count {rounds} --status-level fail"
    );
    while_busy(HOGS * processors, || context.cargo(&line)).map_err(failed)
}

/// Does something while so many threads take the processors' time.
fn while_busy<R>(hogs: usize, something: impl FnOnce() -> R) -> R {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..hogs {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        let done = something();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

fn request(args: &[String]) -> Result<Request, String> {
    let mut request = Request { packages: Vec::new(), rounds: ROUNDS };
    for arg in args {
        match arg.parse() {
            Ok(0) => return Err("`stress` takes a number of rounds above 0".into()),
            Ok(rounds) => request.rounds = rounds,
            Err(_) if arg.starts_with('-') => return Err(format!("`stress` has no option `{arg}`")),
            Err(_) => request.packages.push(arg.clone()),
        }
    }
    if request.packages.is_empty() {
        request.packages = PACKAGES.iter().map(|&package| package.to_owned()).collect();
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
    fn which_and_how_often() {
        let all = read(&[]).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!((all.packages.len(), all.rounds), (PACKAGES.len(), 10));
        let one = Request { packages: vec!["reenact-gateway".into()], rounds: 3 };
        assert_eq!(read(&["reenact-gateway", "3"]), Ok(one));
        assert_eq!(read(&["0"]), Err("`stress` takes a number of rounds above 0".into()));
        assert_eq!(read(&["--fast"]), Err("`stress` has no option `--fast`".into()));
    }

    #[test]
    fn what_is_done_meanwhile_comes_back() {
        assert_eq!(while_busy(2, || 7), 7);
    }
}
