//! Documents that make a careless reader or writer quadratic, or overflow its stack. No test looks at a clock: each result is
//! exact, and quadratic code would not finish.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use reenact_json::{Jcs, Limits, SyntaxError, SyntaxFault, Value, canonical};

fn canonical_of(text: &str) -> String {
    let limits = Limits { max_depth: u32::MAX, ..Limits::default() };
    let value = Value::parse(text.as_bytes(), &limits).unwrap();
    String::from_utf8(canonical::to_vec(value, Jcs).unwrap()).unwrap()
}

/// Returns the numbers from 0 below `count`, in an order that neither ascends nor descends.
fn shuffled(count: usize) -> impl Iterator<Item = usize> {
    // 7919 is prime and divides none of the counts used here, so each number comes once.
    (0..count).map(move |n| (n * 7_919 + 13) % count)
}

/// Returns an object of members `"{prefix}{n}":{n}`, in the order of the numbers given.
fn object(prefix: &str, numbers: impl Iterator<Item = usize>) -> String {
    let mut text = String::from("{");
    for n in numbers {
        let comma = if text.len() > 1 { "," } else { "" };
        write!(text, "{comma}\"{prefix}{n:06}\":{n}").unwrap();
    }
    text + "}"
}

#[test]
fn five_hundred_levels_each_out_of_order_with_a_sibling() {
    let mut text = String::from("null");
    let mut expected = text.clone();
    for level in 0..500 {
        text = format!(r#"{{"z":{{"b":{level},"a":[]}},"k":{text},"a":1}}"#);
        expected = format!(r#"{{"a":1,"k":{expected},"z":{{"a":[],"b":{level}}}}}"#);
    }
    assert_eq!(canonical_of(&text), expected);
}

#[test]
fn the_deepest_document_fits_on_the_stack_of_a_thread() {
    // Test threads have 2 MiB, and this build is not optimised.
    let depth = Limits::MAX_DEPTH as usize;
    let text = format!("{}null{}", r#"{"b":0,"a":"#.repeat(depth), "}".repeat(depth));
    let expected = format!("{}null{}", r#"{"a":"#.repeat(depth), r#","b":0}"#.repeat(depth));
    assert_eq!(canonical_of(&text), expected);
    let text = format!("{} null{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(canonical_of(&text), text.replace(' ', ""));
}

#[test]
fn two_hundred_thousand_members_out_of_order() {
    let text = object("", shuffled(200_000));
    assert_eq!(canonical_of(&text), object("", 0..200_000));
}

#[test]
fn fifty_thousand_members_in_reverse_order() {
    let text = object("", (0..50_000).rev());
    assert_eq!(canonical_of(&text), object("", 0..50_000));
}

#[test]
fn many_names_with_a_long_prefix() {
    let prefix = "p".repeat(1_024);
    let text = object(&prefix, shuffled(10_000));
    assert_eq!(canonical_of(&text), object(&prefix, 0..10_000));
}

#[test]
fn many_escaped_names_with_a_long_prefix() {
    let prefix = r"\u00e9".repeat(100);
    let text = object(&prefix, shuffled(400));
    assert_eq!(canonical_of(&text), object(&"é".repeat(100), 0..400));
}

/// Returns an object of two ascending runs of names, and its canonical form. The second run belongs before the first, and
/// merging them compares each of its names with the long name at the head of the (shorter) first run.
fn one_long_name_among(count: usize, long: &str) -> (String, String) {
    let high = object("c", 0..count - 10);
    let low = object("a", 0..count);
    let inner = |object: &str| object[1..object.len() - 1].to_owned();
    let (high, low) = (inner(&high), inner(&low));
    (format!(r#"{{"{long}":0,{high},{low}}}"#), format!(r#"{{{low},"{long}":0,{high}}}"#))
}

#[test]
fn a_long_name_costs_its_length_once_not_at_each_comparison() {
    let (text, expected) = one_long_name_among(100_000, &"b".repeat(1_000_000));
    assert_eq!(canonical_of(&text), expected);
}

#[test]
fn a_long_escaped_name_costs_its_length_once_not_at_each_comparison() {
    let (text, expected) = one_long_name_among(50_000, &r"b\n".repeat(300_000));
    assert_eq!(canonical_of(&text), expected);
    let (text, expected) = one_long_name_among(500, &r"b\n".repeat(300_000));
    assert_eq!(canonical_of(&text), expected);
}

#[test]
fn a_hundred_thousand_objects_out_of_order() {
    let text = format!("[{}]", [r#"{"b":{"y":1,"x":2},"a":3}"#; 50_000].join(","));
    let expected = format!("[{}]", [r#"{"a":3,"b":{"x":2,"y":1}}"#; 50_000].join(","));
    assert_eq!(canonical_of(&text), expected);
}

#[test]
fn a_duplicate_among_fifty_thousand_is_found() {
    let mut text = object("", shuffled(50_000));
    text.truncate(text.len() - 1);
    let offset = text.len() + 1;
    text.push_str(r#","025\u003000":0}"#);
    let error = Value::parse(text.as_bytes(), &Limits::default()).unwrap_err();
    let fault = SyntaxFault::DuplicateName { name: "025000".into() };
    assert_eq!(error, SyntaxError { offset, fault });
}

#[test]
fn members_left_out_of_a_large_object() {
    let text = object("", shuffled(50_000));
    let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
    let mut out = Vec::new();
    canonical::write_without(value, &["000000", "025000", "049999"], &mut out).unwrap();
    let expected = object("", (1..49_999).filter(|n| *n != 25_000));
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
