//! The cases of `reenact` in `cases/`: output, error output and exit code of one command each.
//! `support/case.rs` describes how a case is written.

mod support;

use std::path::Path;

use support::case::{ExpectedEnd, run_all};

fn run(ending: ExpectedEnd) {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    run_all(&cases, ending, &[("reenact", Path::new(env!("CARGO_BIN_EXE_reenact")))]);
}

#[test]
fn what_holds() {
    run(ExpectedEnd::Holds);
}

#[test]
fn what_is_refused() {
    run(ExpectedEnd::Refused);
}

#[test]
fn what_cannot_be_done() {
    run(ExpectedEnd::Impossible);
}
