//! What came to a vendor, as it must be with and without us; and what a client says that it saw.

use reenact_testkit::Request;

use crate::secret;

/// What we may not change: all but the order of parallel requests, and what belongs to one connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Came {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// The requests, sorted.
pub(crate) fn came(requests: &[Request]) -> Vec<Came> {
    let mut came: Vec<Came> = requests.iter().map(one).collect();
    came.sort();
    came
}

fn one(request: &Request) -> Came {
    let passing = |name: &str| matches!(name, "host" | "connection");
    let headers = request.headers.iter().filter(|(name, _)| !passing(name));
    let mut headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.clone(), String::from_utf8(value.clone()).unwrap())).collect();
    headers.sort();
    let line = format!("{} {} {}", request.method, request.path, request.version);
    Came { line, headers, body: request.body.to_vec() }
}

/// Fails at the first line that differs.
pub(crate) fn same_text(what: &str, expected: &str, came: &str) {
    let mut lines = expected.lines().zip(came.lines()).enumerate();
    if let Some((at, (expected, came))) = lines.find(|(_, (expected, came))| expected != came) {
        panic!("{what}, line {}:\n- {}\n+ {}", at + 1, short(expected), short(came));
    }
    let (expected, came) = (expected.lines().count(), came.lines().count());
    assert_eq!(came, expected, "{what}: so many lines");
}

/// Fails at the first request that differs.
pub(crate) fn same_requests(what: &str, expected: &[Came], came: &[Came]) {
    for (expected, came) in expected.iter().zip(came) {
        assert_eq!(came.line, expected.line, "{what}");
        assert_eq!(came.headers, expected.headers, "{what}: {}", came.line);
        assert!(came.body == expected.body, "{what}: {}: the bodies differ", came.line);
    }
    assert_eq!(came.len(), expected.len(), "{what}: so many requests");
}

/// What a client must see when it is replayed: what an answer says of secrets and of accounts is masked in the record.
pub(crate) fn as_replayed(stdout: &str) -> String {
    let stdout = secret::as_recorded(stdout);
    let masked = |line: &str| match line.split_once("-organization") {
        Some((before, _)) if line.contains(" header openai-") => {
            format!("{before}-organization \"[masked:account:1]\"\n")
        }
        Some((before, _)) if line.contains(" header anthropic-") => {
            format!("{before}-organization-id \"[masked:account:1]\"\n")
        }
        _ => format!("{line}\n"),
    };
    stdout.lines().map(masked).collect()
}

/// Without the lines of an encoding: a replayed body has none, and so another length.
pub(crate) fn without_encodings(stdout: &str) -> String {
    let is_about_it =
        |line: &str| ["encoding", "length"].iter().any(|of| line.contains(&format!(" header content-{of} ")));
    stdout.lines().filter(|line| !is_about_it(line)).map(|line| format!("{line}\n")).collect()
}

fn short(line: &str) -> String {
    line.chars().take(2000).collect()
}
