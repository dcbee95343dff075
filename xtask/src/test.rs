//! `cargo xtask test`: all that a commit must pass.
//!
//! One run tells everything: a failed step does not hide the ones after it. A step that needs a tool installs it or says
//! how to. The tests of the layout (`tests/layering.rs`, `tests/tables.rs`) are part of the step `tests`.

use crate::Ending;
use crate::context::Context;
use crate::failure::Failure;
use crate::step::{self, Step};

/// The steps in the order in which they run; budgets in seconds, on two cores, with nothing built yet.
const STEPS: &[Step] = &[
    Step { name: "format", budget: 10, about: "every file as rustfmt writes it", run: format },
    Step { name: "build", budget: 300, about: "everything compiles; if not, the run stops", run: build },
    Step { name: "lint", budget: 90, about: "clippy, with warnings as errors", run: lint },
    Step { name: "tests", budget: 120, about: "unit and behaviour tests, and the layout", run: tests },
    Step {
        name: "clients",
        budget: 240,
        about: "the vendors' own clients, recorded and replayed",
        run: crate::clients::run,
    },
    Step { name: "doc tests", budget: 60, about: "the examples in the documentation", run: doc_tests },
    Step {
        name: "library alone",
        budget: 30,
        about: "the verifier builds with no file system",
        run: library_alone,
    },
    Step {
        name: "wasm",
        budget: 120,
        about: "the verifier in WebAssembly gives the same reports",
        run: crate::wasm::run,
    },
    Step {
        name: "fuzz",
        budget: 300,
        about: "every fuzz target builds, and holds on the published vectors",
        run: crate::fuzz::seeds,
    },
    Step { name: "docs", budget: 60, about: "the documentation, with warnings as errors", run: docs },
];

/// Runs the named steps, or all. Their order is that of the table, whatever the order of the names.
pub(crate) fn run(context: &Context, args: &[String]) -> Result<(), Ending> {
    if args.iter().any(|arg| arg == "--list") {
        for Step { name, budget, about, .. } in STEPS {
            println!("{name:14} {budget:>4} s  {about}");
        }
        return Ok(());
    }
    let outcomes = step::run(&chosen(args)?, context);
    print!("\n{}", step::report(&outcomes));
    if step::all_passed(&outcomes) { Ok(()) } else { Err(Ending::Told) }
}

/// The steps that the arguments name; a name may be written with `-` for its spaces.
fn chosen(names: &[String]) -> Result<Vec<&'static Step>, Ending> {
    for name in names {
        if name.starts_with('-') {
            return Err(Ending::Usage(format!("`test` has no option `{name}`")));
        }
        if !STEPS.iter().any(|step| is_called(step, name)) {
            let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
            return Err(Ending::Usage(format!(
                "there is no step `{name}`; the steps are: {}",
                known.join(", ")
            )));
        }
    }
    let wanted = |step: &&Step| names.is_empty() || names.iter().any(|name| is_called(step, name));
    Ok(STEPS.iter().filter(wanted).collect())
}

fn is_called(step: &Step, name: &str) -> bool {
    step.name == name.replace('-', " ")
}

fn format(context: &Context) -> Result<(), Failure> {
    if !context.has("fmt") {
        return Err(Failure::Missing { tool: "rustfmt", install: "rustup component add rustfmt" });
    }
    context.cargo("fmt --all --check")
}

/// The targets and features of the step `tests`, so that nothing is compiled twice.
fn build(context: &Context) -> Result<(), Failure> {
    context.cargo("build --workspace --all-targets --all-features").map_err(Failure::of_build)
}

fn lint(context: &Context) -> Result<(), Failure> {
    if !context.has("clippy") {
        return Err(Failure::Missing { tool: "clippy", install: "rustup component add clippy" });
    }
    context.cargo("clippy --workspace --all-targets --all-features -- -D warnings")
}

/// nextest runs the tests of all crates at once, so it is quicker; a machine with only Rust does without.
fn tests(context: &Context) -> Result<(), Failure> {
    if context.has("nextest") {
        context.cargo("nextest run --workspace --all-features --no-fail-fast")
    } else {
        context.cargo("test --workspace --all-features --lib --bins --tests --no-fail-fast")
    }
}

/// Apart from `tests` because nextest does not run them.
fn doc_tests(context: &Context) -> Result<(), Failure> {
    context.cargo("test --doc --workspace --all-features")
}

fn library_alone(context: &Context) -> Result<(), Failure> {
    for features in ["formats", "rer", ""] {
        context.cargo(&format!(
            "check --package reenact-verify --lib --no-default-features --features={features}"
        ))?;
    }
    Ok(())
}

fn docs(context: &Context) -> Result<(), Failure> {
    context.cargo_with("doc --no-deps --workspace", &[("RUSTDOCFLAGS", "-D warnings")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Result<Vec<&'static str>, Ending> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        chosen(&words).map(|steps| steps.iter().map(|step| step.name).collect())
    }

    #[test]
    fn no_name_means_all() {
        assert_eq!(names(&[]).ok().map(|names| names.len()), Some(STEPS.len()));
    }

    #[test]
    fn names_choose_in_the_order_of_the_table() {
        assert_eq!(names(&["doc-tests", "lint"]).ok(), Some(vec!["lint", "doc tests"]));
    }

    #[test]
    fn an_unknown_name_is_a_wrong_use() {
        assert!(
            matches!(names(&["lint", "lnit"]), Err(Ending::Usage(text)) if text.starts_with("there is no step `lnit`"))
        );
        assert!(
            matches!(names(&["--lst"]), Err(Ending::Usage(text)) if text == "`test` has no option `--lst`")
        );
    }
}
