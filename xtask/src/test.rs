//! `cargo xtask test`: everything that a commit must pass.
//!
//! One run reports everything: a failed step does not hide the ones after it. A step that needs a
//! tool installs it or says how to. The tests of the layout (`tests/layering.rs`,
//! `tests/tables.rs`) and of the words (`src/prose/`) are part of the step `tests`. Start reading at [`STEPS`].

use crate::TaskError;
use crate::context::TaskContext;
use crate::failure::TaskFailure;
use crate::step::{self, TaskStep};

/// Steps in the order in which they run.
const STEPS: &[TaskStep] = &[
    TaskStep { name: "format", budget_seconds: 10, about: "every file as rustfmt writes it", run: format },
    TaskStep {
        name: "build",
        budget_seconds: 300,
        about: "everything compiles; if not, the run stops",
        run: build,
    },
    TaskStep { name: "lint", budget_seconds: 90, about: "clippy, with warnings as errors", run: lint },
    TaskStep {
        name: "dependencies",
        budget_seconds: 150,
        about: "licences, sources and duplicate versions, as deny.toml allows them",
        run: dependencies,
    },
    TaskStep {
        name: "tests",
        budget_seconds: 120,
        about: "unit and behaviour tests, and the layout",
        run: tests,
    },
    TaskStep {
        name: "clients",
        budget_seconds: 240,
        about: "the vendors' own clients, recorded and replayed",
        run: crate::clients::run,
    },
    TaskStep {
        name: "agents",
        budget_seconds: 600,
        about: "agents that people use, recorded and replayed",
        run: crate::agents::run,
    },
    TaskStep {
        name: "doc tests",
        budget_seconds: 60,
        about: "the examples in the documentation",
        run: doc_tests,
    },
    TaskStep {
        name: "library alone",
        budget_seconds: 30,
        about: "the verifier builds with no file system",
        run: library_alone,
    },
    TaskStep {
        name: "wasm",
        budget_seconds: 120,
        about: "the verifier in WebAssembly gives the same reports",
        run: crate::wasm::run,
    },
    TaskStep {
        name: "fuzz",
        budget_seconds: 300,
        about: "every fuzz target builds, and holds on the published vectors",
        run: crate::fuzz::seeds,
    },
    TaskStep {
        name: "docs",
        budget_seconds: 60,
        about: "the documentation, with warnings as errors",
        run: docs,
    },
];

/// Runs the named steps, or all, in the order of the table; `--list` only prints the table, and
/// `--agent NAME` limits the step `agents`.
///
/// # Errors
/// [`TaskError::Usage`] for an unknown step; [`TaskError::AlreadyReported`] if a step fails.
pub(crate) fn run(context: TaskContext, args: &[String]) -> Result<(), TaskError> {
    if args.iter().any(|arg| arg == "--list") {
        for TaskStep { name, budget_seconds: budget, about, .. } in STEPS {
            println!("{name:14} {budget:>4} s  {about}");
        }
        return Ok(());
    }
    let (names, agents) = split_agents(args)?;
    let steps = selected_steps(&names)?;
    if !agents.is_empty() && names != ["agents"] {
        return Err(TaskError::Usage("`--agent` is an option of `test agents`".into()));
    }
    let outcomes = step::run(&steps, &context.with_agents(agents));
    print!("\n{}", step::report(&outcomes));
    if step::all_passed(&outcomes) { Ok(()) } else { Err(TaskError::AlreadyReported) }
}

/// Returns the names of steps, and the agents that `--agent` names.
fn split_agents(args: &[String]) -> Result<(Vec<String>, Vec<String>), TaskError> {
    let (mut names, mut agents) = (Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.as_slice().first()) {
            ("--agent", Some(agent)) => {
                agents.push(agent.clone());
                args.next();
            }
            ("--agent", None) => return Err(TaskError::Usage("`--agent` needs a name".into())),
            _ => names.push(arg.clone()),
        }
    }
    Ok((names, agents))
}

/// Returns the steps that the arguments name; a name may be written with `-` for its spaces.
fn selected_steps(names: &[String]) -> Result<Vec<&'static TaskStep>, TaskError> {
    for name in names {
        if name.starts_with('-') {
            return Err(TaskError::Usage(format!("`test` has no option `{name}`")));
        }
        if !STEPS.iter().any(|step| has_name(step, name)) {
            let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
            return Err(TaskError::Usage(format!(
                "there is no step `{name}`; the steps are: {}",
                known.join(", ")
            )));
        }
    }
    let wanted = |step: &&TaskStep| names.is_empty() || names.iter().any(|name| has_name(step, name));
    Ok(STEPS.iter().filter(wanted).collect())
}

/// Returns true if a step has this name, with `-` for its spaces or not.
fn has_name(step: &TaskStep, name: &str) -> bool {
    step.name == name.replace('-', " ")
}

/// Checks that every file is as rustfmt writes it.
fn format(context: &TaskContext) -> Result<(), TaskFailure> {
    if !context.has_cargo_tool("fmt") {
        return Err(TaskFailure::Missing { tool: "rustfmt", install: "rustup component add rustfmt" });
    }
    context.cargo("fmt --all --check")
}

/// Builds the targets and features of the step `tests`, so that nothing is compiled twice.
fn build(context: &TaskContext) -> Result<(), TaskFailure> {
    context.cargo("build --workspace --all-targets --all-features").map_err(TaskFailure::into_build_failure)
}

/// Runs clippy over all targets and features.
fn lint(context: &TaskContext) -> Result<(), TaskFailure> {
    if !context.has_cargo_tool("clippy") {
        return Err(TaskFailure::Missing { tool: "clippy", install: "rustup component add clippy" });
    }
    context.cargo("clippy --workspace --all-targets --all-features -- -D warnings")
}

/// Checks licences, sources and versions of all dependencies.
fn dependencies(context: &TaskContext) -> Result<(), TaskFailure> {
    context.ensure_cargo_tool("deny")?;
    context.cargo("deny check licenses bans sources")
}

/// Runs the tests with nextest, which runs those of all crates at once and so is quicker; without
/// it, with cargo.
fn tests(context: &TaskContext) -> Result<(), TaskFailure> {
    let what = if context.has_cargo_tool("nextest") {
        "nextest run --workspace --all-features --no-fail-fast"
    } else {
        "test --workspace --all-features --lib --bins --tests --no-fail-fast"
    };
    context.cargo_with(what, &[("PROPTEST_RNG_SEED", PROPERTY_SEED)])
}

/// Seed of the cases of property tests: a commit passes or fails, whoever asks and how often. `cargo xtask stress` and a
/// plain `cargo nextest run` draw new cases each time.
const PROPERTY_SEED: &str = "20261118";

/// Runs the examples in doc comments, which nextest does not run.
fn doc_tests(context: &TaskContext) -> Result<(), TaskFailure> {
    context.cargo("test --doc --workspace --all-features")
}

/// Builds the verifier without file system, and with fewer formats.
fn library_alone(context: &TaskContext) -> Result<(), TaskFailure> {
    for features in ["formats", "rer", ""] {
        context.cargo(&format!(
            "check --package reenact-verify --lib --no-default-features --features={features}"
        ))?;
    }
    Ok(())
}

/// Builds the documentation; a broken link is an error.
fn docs(context: &TaskContext) -> Result<(), TaskFailure> {
    context.cargo_with("doc --no-deps --workspace", &[("RUSTDOCFLAGS", "-D warnings")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Result<Vec<&'static str>, TaskError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        selected_steps(&words).map(|steps| steps.iter().map(|step| step.name).collect())
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
    fn agents_are_named_by_an_option() {
        let split = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            split_agents(&words).ok()
        };
        let some = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            split(&["agents", "--agent", "codex", "--agent", "qwen-code"]),
            Some((some(&["agents"]), some(&["codex", "qwen-code"])))
        );
        assert_eq!(split(&["agents", "--agent"]), None);
    }

    #[test]
    fn an_unknown_name_is_a_wrong_use() {
        assert!(
            matches!(names(&["lint", "lnit"]), Err(TaskError::Usage(text)) if text.starts_with("there is no step `lnit`"))
        );
        assert!(
            matches!(names(&["--lst"]), Err(TaskError::Usage(text)) if text == "`test` has no option `--lst`")
        );
    }
}
