//! Comparison of the requests that a vendor received, and of the output of clients, with and without the gateway.

use reenact_testkit::VendorRequest;

use crate::secret;

/// A request as the gateway must not change it: without the headers that belong to one connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReceivedRequest {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Returns the requests, sorted, since parallel requests arrive in any order.
pub(crate) fn received_requests(requests: &[VendorRequest]) -> Vec<ReceivedRequest> {
    let mut came: Vec<ReceivedRequest> = requests.iter().map(normalized).collect();
    came.sort();
    came
}

fn normalized(request: &VendorRequest) -> ReceivedRequest {
    let passing = |name: &str| matches!(name, "host" | "connection");
    let headers = request.headers.iter().filter(|(name, _)| !passing(name));
    let mut headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.clone(), String::from_utf8(value.clone()).unwrap())).collect();
    headers.sort();
    let line = format!("{} {} {}", request.method, request.path, request.version);
    ReceivedRequest { line, headers, body: request.body.to_vec() }
}

/// Panics at the first line that differs.
pub(crate) fn assert_same_text(what: &str, expected: &str, came: &str) {
    let mut lines = expected.lines().zip(came.lines()).enumerate();
    if let Some((at, (expected, came))) = lines.find(|(_, (expected, came))| expected != came) {
        panic!("{what}, line {}:\n- {}\n+ {}", at + 1, short(expected), short(came));
    }
    let (expected, came) = (expected.lines().count(), came.lines().count());
    assert_eq!(came, expected, "{what}: so many lines");
}

/// Panics at the first request that differs.
pub(crate) fn assert_same_requests(what: &str, expected: &[ReceivedRequest], came: &[ReceivedRequest]) {
    for (expected, came) in expected.iter().zip(came) {
        assert_eq!(came.line, expected.line, "{what}");
        assert_eq!(came.headers, expected.headers, "{what}: {}", came.line);
        assert!(came.body == expected.body, "{what}: {}: the bodies differ", came.line);
    }
    assert_eq!(came.len(), expected.len(), "{what}: so many requests");
}

/// Returns the output that a client has when it is replayed: secrets and account ids in answers are masked in the record.
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

/// Returns the output without the lines on an encoding: a replayed body has none, and so another length.
pub(crate) fn without_encodings(stdout: &str) -> String {
    let is_about_it =
        |line: &str| ["encoding", "length"].iter().any(|of| line.contains(&format!(" header content-{of} ")));
    stdout.lines().filter(|line| !is_about_it(line)).map(|line| format!("{line}\n")).collect()
}

fn short(line: &str) -> String {
    line.chars().take(2000).collect()
}
