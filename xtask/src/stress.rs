//! `cargo xtask stress`: the tests again and again on a machine that is kept busy.
//!
//! A test that sleeps instead of waiting for an event, and code that relies on an order that is not
//! guaranteed, fail here before they fail for somebody else. Nothing is retried.
//!
//! More tests run at once than there are processors, and further threads spin: threads are preempted
//! at moments at which they are not on an idle machine.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::TaskError;
use crate::context::TaskContext;
use crate::failure::TaskFailure;

/// Number of rounds if none is given.
const DEFAULT_ROUNDS: u32 = 10;

/// Tests at once for each processor.
const TESTS_PER_PROCESSOR: usize = 5;
/// Threads that only take the processor's time, for each processor.
const SPINNERS_PER_PROCESSOR: usize = 2;

/// Packages with threads, sockets and processes.
const DEFAULT_PACKAGES: &[&str] =
    &["reenact", "reenact-gateway", "reenact-record", "reenact-replay", "reenact-testkit"];

/// Parsed arguments.
#[derive(Debug, PartialEq, Eq)]
struct StressArgs {
    /// Packages whose tests run.
    packages: Vec<String>,
    /// Number of times that each test runs.
    rounds: u32,
}

/// Runs the tests of the named packages, or of [`DEFAULT_PACKAGES`], this many times.
///
/// # Errors
/// [`TaskError::Usage`] for wrong arguments; [`TaskError::Failed`] if nextest is not installed, or
/// if a test fails in any round.
pub(crate) fn run(context: &TaskContext, args: &[String]) -> Result<(), TaskError> {
    let StressArgs { packages, rounds } = parse_args(args).map_err(TaskError::Usage)?;
    let failed = |failure: TaskFailure| TaskError::Failed(failure.to_string());
    if !context.has_cargo_tool("nextest") {
        let install = "cargo install cargo-nextest --locked";
        return Err(failed(TaskFailure::Missing { tool: "nextest", install }));
    }
    // The whole workspace is built, as for `test`, so that nothing is compiled twice.
    let packages: Vec<String> = packages.iter().map(|package| format!("package({package})")).collect();
    let what = format!("nextest run --workspace --all-features --filterset {}", packages.join("+"));
    context.cargo(&format!("{what} --no-run")).map_err(failed)?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let at_once = TESTS_PER_PROCESSOR * processors;
    let line = format!(
        "{what} --retries 0 --no-fail-fast --test-threads {at_once} --stress-count {rounds} --status-level fail"
    );
    while_busy(SPINNERS_PER_PROCESSOR * processors, || context.cargo(&line)).map_err(failed)
}

/// Runs a function while this many threads take the processors' time.
fn while_busy<R>(spinners: usize, something: impl FnOnce() -> R) -> R {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..spinners {
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

/// Parses the arguments.
fn parse_args(args: &[String]) -> Result<StressArgs, String> {
    let mut request = StressArgs { packages: Vec::new(), rounds: DEFAULT_ROUNDS };
    for arg in args {
        match arg.parse() {
            Ok(0) => return Err("`stress` takes a number of rounds above 0".into()),
            Ok(rounds) => request.rounds = rounds,
            Err(_) if arg.starts_with('-') => return Err(format!("`stress` has no option `{arg}`")),
            Err(_) => request.packages.push(arg.clone()),
        }
    }
    if request.packages.is_empty() {
        request.packages = DEFAULT_PACKAGES.iter().map(|&package| package.to_owned()).collect();
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<StressArgs, String> {
        parse_args(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn which_and_how_often() {
        let all = read(&[]).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!((all.packages.len(), all.rounds), (DEFAULT_PACKAGES.len(), 10));
        let one = StressArgs { packages: vec!["reenact-gateway".into()], rounds: 3 };
        assert_eq!(read(&["reenact-gateway", "3"]), Ok(one));
        assert_eq!(read(&["0"]), Err("`stress` takes a number of rounds above 0".into()));
        assert_eq!(read(&["--fast"]), Err("`stress` has no option `--fast`".into()));
    }

    #[test]
    fn what_is_done_meanwhile_comes_back() {
        assert_eq!(while_busy(2, || 7), 7);
    }
}
