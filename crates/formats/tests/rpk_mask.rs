//! The mask of the format's own profile matches what that profile matches, and a little more.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use reenact_formats::rpk::bundle::{RpkMask, make_bundle};
use reenact_formats::rpk::mask::{DEFAULT_POLICY, DefaultMask};
use reenact_formats::rpk::write::{NewRpkStep, RpkDocumentBuilder, RpkRunHeader};
use regex::Regex;
use serde_json::{Value as Json, json};

/// The patterns as their authors wrote them.
static PATTERNS: LazyLock<[Regex; 9]> = LazyLock::new(|| {
    [
        r"\bsk-[A-Za-z0-9]{10,}\b",
        r"\bAKIA[0-9A-Z]{16}\b",
        r"\bAIza[0-9A-Za-z_-]{35}\b",
        r"\bgh[pousr]_[A-Za-z0-9]{20,}\b",
        r"(?i)\bbearer\s+[A-Za-z0-9._-]{8,}\b",
        r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\b",
        r"(?i)\b[a-z0-9._-]{3,}token(?:[a-z0-9._-]{3,})?\b",
        r"\b(?:\d[ -]?){13,19}\b",
        r"\b[\w.+-]+@[\w.-]+\.[A-Za-z]{2,}\b",
    ]
    .map(|pattern| Regex::new(pattern).unwrap())
});

fn by_engine(text: &str) -> String {
    PATTERNS
        .iter()
        .fold(text.to_owned(), |text, pattern| pattern.replace_all(&text, "[REDACTED]").into_owned())
}

fn by_hand(text: &str) -> String {
    DefaultMask.masked(None, text).unwrap_or_else(|| text.to_owned())
}

/// Returns the input of a step, as it is in a bundle of it.
fn bundled(input: &Json) -> Json {
    let mut draft = RpkDocumentBuilder::new();
    let input = input.to_string();
    let step = NewRpkStep {
        id: "step-000001",
        step_type: "tool.request",
        input: input.as_bytes(),
        output: b"{}",
        metadata: b"{}",
        timestamp: None,
    };
    draft.append(&step).unwrap();
    let run = RpkRunHeader {
        version: "1.0",
        id: "run",
        timestamp: "2026-02-21T14:00:00Z",
        environment_fingerprint: b"{}",
        runtime_versions: b"{}",
        extra_members: &[],
        metadata: &[],
        created_at: "2026-02-21T14:00:00Z",
    };
    let source = draft.finish(&run, None).unwrap();
    let made = make_bundle(&source, &DefaultMask, &DEFAULT_POLICY, None).unwrap();
    let document: Json = serde_json::from_slice(&made.bytes).unwrap();
    let policy = &document["metadata"];
    assert_eq!(
        (&policy["redaction_profile"], &policy["redaction_policy_version"]),
        (&json!("default"), &json!("1.0"))
    );
    document["payload"]["run"]["steps"][0]["input"].clone()
}

/// Masks the key that the reference leaves in place and we do not.
fn mask_leftover_keys(expected: &mut Json) {
    match expected {
        Json::String(text) => *text = text.replace("sk-abcdefghij1234", "[REDACTED]"),
        Json::Array(items) => items.iter_mut().for_each(mask_leftover_keys),
        Json::Object(members) => members.values_mut().for_each(mask_leftover_keys),
        _ => {}
    }
}

#[test]
fn every_published_row() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/rpk/redaction.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let rows: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The others are about configurations of the reference, which we do not read.
    let rows: Vec<&Json> = rows.iter().filter(|row| row.get("config").is_none()).collect();
    assert_eq!(rows.len(), 48);
    let mut stricter = 0;
    for row in rows {
        let mut expected = row["output"].clone();
        mask_leftover_keys(&mut expected);
        stricter += usize::from(expected != row["output"]);
        assert_eq!(bundled(&row["input"]), expected, "{}", row["name"]);
    }
    assert_eq!(stricter, 7, "the keys under harmless names");
}

#[test]
fn known_texts() {
    for (text, masked) in [
        ("é.-abctoken", "é[REDACTED]"),
        ("x.token.abc-", "x.token.abc-"),
        ("xyz.token.abc-", "[REDACTED]-"),
        ("1234567890123 x", "[REDACTED]x"),
        ("1234567890123 ", "[REDACTED] "),
        ("a@b.c.de1 a@b.cd.e1", "a@b.c.de1 [REDACTED].e1"),
        ("Bearer\t\u{1c}abcdefgh-", "[REDACTED]-"),
    ] {
        assert_eq!(by_hand(text), masked);
    }
    assert_eq!(DefaultMask.masked(Some("URL"), "a@b.co"), None);
    assert_eq!(DefaultMask.masked(Some("urls"), "a@b.co").as_deref(), Some("[REDACTED]"));
}

/// Each of these takes minutes if a pattern begins anew at every offset.
#[test]
fn long_texts_take_no_longer() {
    let pieces = [
        "a-",
        "eyJ-",
        "eyJaaaaaaaaaa.",
        "bearer.",
        "bearer ",
        "token",
        "abctokené",
        "AIza-",
        "sk-",
        "1 ",
        "12345678901234",
        "a.",
        "a@",
        "a@b.c1",
    ];
    for piece in pieces {
        let text = piece.repeat(400_000 / piece.len());
        assert!(by_hand(&text).len() <= text.len() * 2, "{piece}");
    }
}

/// Pieces of the patterns, and separators between them.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "sk-",
            "AKIA",
            "AIza",
            "ghp_",
            "gho",
            "bearer",
            "Bearer ",
            "eyJ",
            "token",
            "ToKen",
            "abcdefghij",
            "ABCDEFGHIJKLMNOP",
            "0123456789",
            "1234567890123",
            "4111 1111 ",
            "0-1",
            "@",
            "a@b.co",
            ".",
            "-",
            "_",
            "+",
            " ",
            "\t",
            "é",
            "[REDACTED]",
            "٣",
        ])
        .prop_map(str::to_owned),
        "[a-cA-C0-9._@+ -]{1,4}",
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]
    #[test]
    fn as_an_engine_finds_them(text in text()) {
        prop_assert_eq!(by_hand(&text), by_engine(&text));
    }
}
