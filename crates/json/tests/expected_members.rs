//! `take_member_if_next`: expected members are consumed in one step, others are left for `next_name`, with the same result.

#![allow(clippy::unwrap_used, reason = "a test that cannot read stops")]

use proptest::prelude::*;
use reenact_json::{Limits, Scanner, SyntaxError, SyntaxFault};

/// Reads an object twice: once expecting `a`, `bb` and `c` in that order, once by `next_name` alone.
fn read_both_ways(text: &str) -> (Result<Vec<String>, SyntaxError>, Result<Vec<String>, SyntaxError>) {
    (read(text, true), read(text, false))
}

fn read(text: &str, expecting: bool) -> Result<Vec<String>, SyntaxError> {
    let mut scanner = Scanner::new(text.as_bytes(), &Limits::default())?;
    let mut object = scanner.enter_object()?;
    let mut members = Vec::new();
    let mut member = |scanner: &mut Scanner<'_>, name: &str| -> Result<(), SyntaxError> {
        let value = scanner.value()?;
        let value = String::from_utf8_lossy(value.text());
        members.push(format!("{name}={value} {}", scanner.is_canonical()));
        Ok(())
    };
    if expecting {
        if scanner.take_member_if_next(&mut object, b"\"a\":") {
            member(&mut scanner, "a")?;
        }
        if scanner.take_member_if_next(&mut object, b"\"bb\":") {
            member(&mut scanner, "bb")?;
        }
        if scanner.take_member_if_next(&mut object, b"\"c\":") {
            member(&mut scanner, "c")?;
        }
    }
    while let Some(name) = scanner.next_name(&mut object)? {
        member(&mut scanner, &name.string().unwrap())?;
    }
    members.push(format!("{} {}", scanner.offset(), scanner.is_canonical()));
    Ok(members)
}

#[test]
fn a_repeated_name_is_found_however_it_was_read() {
    let (expecting, plain) = read_both_ways(r#"{"a":1,"bb":2,"a":3}"#);
    assert_eq!(expecting, plain);
    let fault = SyntaxFault::DuplicateName { name: "a".into() };
    assert_eq!(expecting, Err(SyntaxError { offset: 14, fault }));
}

#[test]
fn nothing_is_taken_from_an_object_that_was_left() {
    let mut scanner = Scanner::new(br#"[{},"a":1]"#, &Limits::default()).unwrap();
    let mut array = scanner.enter_array().unwrap();
    assert!(scanner.next_element(&mut array).unwrap());
    let mut object = scanner.enter_object().unwrap();
    assert!(scanner.next_name(&mut object).unwrap().is_none());
    assert!(!scanner.take_member_if_next(&mut object, b"\"a\":"));
}

proptest! {
    /// Expecting members changes neither the result nor the error, whatever the text.
    #[test]
    fn expecting_changes_nothing(
        members in prop::collection::vec(
            (prop::sample::select(vec!["a", "bb", "c", "b", "\\u0061", "", "cc"]),
             prop::sample::select(vec!["1", "\"x\"", "{\"a\":2}", "[]", "1.0", "\"\\u0041\"", "tru", ""]),
             prop::sample::select(vec!["", "", "", " ", "\n"])),
            0..5,
        ),
        end in prop::sample::select(vec!["}", "}", "}", "", ",}", "]"]),
    ) {
        let members: Vec<String> =
            members.iter().map(|(name, value, space)| format!("{space}\"{name}\":{space}{value}")).collect();
        let (expecting, plain) = read_both_ways(&format!("{{{}{end}", members.join(",")));
        prop_assert_eq!(expecting, plain);
    }
}
