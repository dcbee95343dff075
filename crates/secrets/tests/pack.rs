//! The rule pack: its text is pinned, because records state its digest, and no input makes it slow.

use reenact_secrets::{Redactor, RulePack};

/// A change here changes every digest: once a pack was released, it belongs into a pack with a new
/// name.
#[test]
fn the_text_is_pinned() {
    assert_eq!(RulePack::standard().name(), "reenact-1");
    assert_eq!(RulePack::standard().rules_text(), include_str!("reenact-1.txt"));
}

/// Returns the quoted literals of the pack's text, at which the scanner stops.
fn literals() -> Vec<String> {
    let text = RulePack::standard().rules_text();
    let mut literals: Vec<String> = text
        .lines()
        .take_while(|line| !line.starts_with("names:"))
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .map(|literal| literal.replace("\\\\", "\\"))
        .filter(|literal| !literal.is_empty())
        .chain(
            ["password", "passphrase", "pwd", "secret", "token", "api_key", "authorization"]
                .map(String::from),
        )
        .collect();
    literals.sort();
    literals.dedup();
    literals
}

/// No clock is read here: a search that backtracks would not end.
#[test]
fn repeated_beginnings_take_linear_time() {
    for literal in literals() {
        for between in ["", "a", "/", ".", "=", "=\"", ": '", "aaaaaaaaaaaaaaaa.", "A1b2C3d4E5f6G7h8 "] {
            let unit = format!("{literal}{between}");
            let text = unit.repeat(100_000 / unit.len());
            RulePack::standard().scan(text.as_bytes());
        }
    }
}

#[test]
fn long_runs_take_linear_time() {
    for unit in [
        "a",
        "A1",
        " ",
        "\\",
        "\"",
        "\\\"",
        ":",
        "=",
        "-",
        "://a:",
        "@",
        "[",
        "[masked:",
        "\n",
        "eyJhbGciOiJub25lIn0.",
        "%22",
        "\\u0022",
    ] {
        let long = unit.repeat(300_000 / unit.len());
        for before in [
            "",
            "sk-",
            "eyJ",
            "password=\"",
            "token: ",
            "https://",
            "-----BEGIN PRIVATE KEY-----",
            "Authorization: Bearer ",
        ] {
            RulePack::standard().scan(format!("{before}{long}").as_bytes());
        }
    }
}

#[test]
fn many_secrets_take_linear_time() {
    let mut redactor = Redactor::new(RulePack::standard());
    redactor.add_known("environment", b"abababab");
    let text = "ab".repeat(500_000);
    let redacted = redactor.redact(text.as_bytes());
    assert_eq!(&redacted.bytes[..], b"[masked:environment:1]");
    assert_eq!(redacted.result_offset(999_999), 22);

    let text = "abababab ".repeat(100_000);
    let redacted = redactor.redact(text.as_bytes());
    assert_eq!(redacted.masked_spans.len(), 100_000);
    assert_eq!(redacted.bytes.len(), 100_000 * 23);
}
