//! Texts that the scanner refuses, each with its exact fault and offset. `Value::parse` and a walk with
//! `enter_object`/`enter_array` must refuse alike.
#![allow(clippy::unwrap_used)]

mod refusals {
    mod changed;
    mod grammar;
    mod limits;
    mod names;
}

use reenact_json::scanner::Scanner;
use reenact_json::{Limits, SyntaxError, SyntaxFault, Value, ValueKind};

const VALUE: &str = "a value";
const NAME: &str = "a member name in quotes";
const COLON: &str = "a colon";
const MORE_OF_OBJECT: &str = "a comma or the end of the object";
const MORE_OF_ARRAY: &str = "a comma or the end of the array";
const QUOTE: &str = "a closing quote";
const ESCAPE: &str = "the rest of an escape";

fn unexpected(found: u8, wanted: &'static str) -> SyntaxFault {
    SyntaxFault::Unexpected { found, wanted }
}

fn end(wanted: &'static str) -> SyntaxFault {
    SyntaxFault::End { wanted }
}

fn duplicate(name: &str) -> SyntaxFault {
    SyntaxFault::DuplicateName { name: name.into() }
}

/// Reads a document by entering every object and array in it.
fn walk(input: &[u8], limits: &Limits) -> Result<(), SyntaxError> {
    fn value(scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        match scanner.kind()? {
            ValueKind::Object => {
                let mut object = scanner.enter_object()?;
                while scanner.next_name(&mut object)?.is_some() {
                    value(scanner)?;
                }
            }
            ValueKind::Array => {
                let mut array = scanner.enter_array()?;
                while scanner.next_element(&mut array)? {
                    value(scanner)?;
                }
            }
            _ => {
                scanner.value()?;
            }
        }
        Ok(())
    }
    let mut scanner = Scanner::new(input, limits)?;
    value(&mut scanner)?;
    scanner.finish()
}

/// Returns the result of `Value::parse`, and asserts that the walk has the same.
fn outcome(input: &[u8], limits: &Limits) -> Result<(), SyntaxError> {
    let parsed = Value::parse(input, limits).map(|_| ());
    let shown: String = String::from_utf8_lossy(input).chars().take(80).collect();
    assert_eq!(walk(input, limits), parsed, "the doors disagree on {shown}");
    if let Err(error) = &parsed {
        assert!(error.offset <= input.len(), "{error} of {shown}");
        assert!(!error.describe(input).is_empty());
    }
    parsed
}

/// Text, offset of its fault, and the fault.
type Case = (&'static [u8], usize, SyntaxFault);

fn check(cases: &[Case]) {
    for (input, offset, fault) in cases {
        let expected = SyntaxError { offset: *offset, fault: fault.clone() };
        let shown = String::from_utf8_lossy(input);
        assert_eq!(outcome(input, &Limits::default()), Err(expected), "{shown}");
    }
}
