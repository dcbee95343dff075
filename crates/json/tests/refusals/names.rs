//! Duplicate member names, in any spelling.

use reenact_json::{Limits, SyntaxError};

use crate::{check, duplicate, outcome};

#[test]
fn duplicate_names() {
    check(&[
        (br#"{"a":1,"a":1}"#, 7, duplicate("a")),
        (br#"{"":1,"":2}"#, 6, duplicate("")),
        // However they are spelled.
        (br#"{"a":1,"\u0061":2}"#, 7, duplicate("a")),
        (br#"{"\u0061":1,"a":2}"#, 12, duplicate("a")),
        (br#"{"\u0061":1,"\u0061":2}"#, 12, duplicate("a")),
        (br#"{"\u004A":1,"\u004a":2}"#, 12, duplicate("J")),
        (br#"{"\/":1,"/":2}"#, 8, duplicate("/")),
        (br#"{"\n":1,"\u000a":2}"#, 8, duplicate("\n")),
        (br#"{"\"":1,"\u0022":2}"#, 8, duplicate("\"")),
        (br#"{"\\":1,"\u005C":2}"#, 8, duplicate("\\")),
        (br#"{"\u0000":1,"\u0000":2}"#, 12, duplicate("\0")),
        ("{\"\\ud83d\\ude00\":1,\"😀\":2}".as_bytes(), 18, duplicate("😀")),
        ("{\"😀\":1,\"\\uD83D\\uDE00\":2}".as_bytes(), 10, duplicate("😀")),
        ("{\"é\":1,\"\\u00e9\":2}".as_bytes(), 8, duplicate("é")),
        // At any depth, also in objects that are sorted but for the duplicate, and in values that the caller does not enter.
        (br#"{"a":{"b":1,"b":2}}"#, 12, duplicate("b")),
        (br#"[{"a":1},{"a":1,"a":2}]"#, 16, duplicate("a")),
        (br#"{"a":[[{"x":1,"x":1}]],"b":1}"#, 14, duplicate("x")),
        (br#"{"a":1,"b":2,"c":3,"c":4,"d":5}"#, 19, duplicate("c")),
        (br#"{"a":1,"b":2,"c":3,"a":4}"#, 19, duplicate("a")),
        (br#"{"c":1,"b":2,"a":3,"c":4}"#, 19, duplicate("c")),
        (br#"{"a":{"z":1,"y":2},"b":{"z":1,"y":2},"a":1}"#, 37, duplicate("a")),
        // Three times: the second is reported. Two pairs: the one whose name sorts first.
        (br#"{"a":1,"a":2,"a":3}"#, 7, duplicate("a")),
        (br#"{"b":1,"b":2,"a":3,"a":4}"#, 19, duplicate("a")),
    ]);
}

#[test]
fn names_that_only_look_alike_are_no_duplicates() {
    for text in [
        r#"{"a":1,"A":2}"#,
        r#"{"a":1,"a ":2,"":3}"#,
        r#"{"a":{"a":{"a":1}}}"#,
        r#"[{"a":1},{"a":1}]"#,
        r#"{"a":[{"a":1}],"b":{"a":1}}"#,
        r#"{"\\u0061":1,"\u0061":2}"#,
        r#"{"\\n":1,"\n":2}"#,
        "{\"é\":1,\"e\u{301}\":2}",
        r#"{"\u0000":1,"":2}"#,
    ] {
        assert_eq!(outcome(text.as_bytes(), &Limits::default()), Ok(()), "{text}");
    }
}

/// Returns members with distinct names, in canonical order or in reverse.
fn numbered(from: usize, to: usize, descending: bool) -> String {
    let member = |n: usize| format!("\"n{n:07}\":{n}");
    let members: Vec<String> =
        if descending { (from..to).rev().map(member).collect() } else { (from..to).map(member).collect() };
    members.join(",")
}

#[test]
fn duplicate_names_far_apart() {
    // Below, at and above the count from which names are sorted in another way.
    for count in [2, 1_022, 1_023, 1_024, 5_000] {
        for descending in [false, true] {
            for spelled in ["n0000000", r"\u006e000000\u0030"] {
                let text = format!(r#"{{{},"{spelled}":0}}"#, numbered(0, count, descending));
                let offset = text.len() - 5 - spelled.len();
                let expected = SyntaxError { offset, fault: duplicate("n0000000") };
                assert_eq!(outcome(text.as_bytes(), &Limits::default()), Err(expected), "{count} {spelled}");
            }
            let text = format!(r#"{{{},"n":0}}"#, numbered(0, count, descending));
            assert_eq!(outcome(text.as_bytes(), &Limits::default()), Ok(()), "{count}");
        }
    }
}

#[test]
fn a_long_duplicate_name_is_cut_in_the_report() {
    let name = "é".repeat(5_000);
    let text = format!(r#"{{"{name}":1,"{name}":2}}"#);
    let expected = SyntaxError { offset: name.len() + 6, fault: duplicate(&"é".repeat(100)) };
    assert_eq!(outcome(text.as_bytes(), &Limits::default()), Err(expected));
}
