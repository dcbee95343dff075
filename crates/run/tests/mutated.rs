//! Hostile documents: records of every format with some values replaced are opened and read without a panic.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use reenact_run::{OpenedRecord, Run, open, open_files};
use reenact_verify::{Keys, Options};

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/runs").join(name);
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

/// Calls every method of a run that reads its bytes.
fn read_all(run: &Run) {
    let summary = run.summary();
    assert_eq!(summary.events, run.len());
    let _ = (run.started_at(), run.ended_at(), run.environment(), run.metadata(), run.started(), run.ended());
    for event in run.events() {
        let _ = (event.name(), event.time(), event.payload(), event.step_id(), event.source());
        let partner = event.partner();
        assert!(partner.is_none_or(|partner| run.event(partner).unwrap().partner() == Some(event.index())));
    }
    for exchange in run.exchanges() {
        let _ = (exchange.request(), exchange.answer(), exchange.message(), exchange.step_id());
    }
    for tool in run.tool_calls() {
        let _ = (tool.call(), tool.result());
    }
}

/// Returns the start and end offsets of a document's values, found by the characters around them.
fn values(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let starts = (1..bytes.len()).filter(|at| matches!(bytes[at - 1], b':' | b',' | b'['));
    let end = |start: usize| {
        bytes[start..].iter().position(|byte| matches!(byte, b',' | b'}' | b']')).map(|length| start + length)
    };
    starts.filter_map(|start| Some((start, end(start)?))).collect()
}

/// Returns a document with some of its values replaced, by odd values or by other values of the document.
fn mutated(text: &str, picks: &[(prop::sample::Index, usize, prop::sample::Index)]) -> String {
    let odd = [
        "null",
        "0",
        "-1.5e300",
        "\"\"",
        "\"sha256:\"",
        "[]",
        "{}",
        "[[]]",
        "{\"a\":[1]}",
        "true",
        "\"<omitted by policy>\"",
        "{\"http\":{}}",
        "\"assay.trace\"",
        "\"model.response\"",
        "18446744073709551616",
        "\"\\ud83d\\ude00\\u0000\"",
    ];
    let mut text = text.to_owned();
    for (which, replacement, other) in picks {
        let places = values(&text);
        if places.is_empty() {
            break;
        }
        let (start, end) = places[which.index(places.len())];
        let (from, to) = places[other.index(places.len())];
        let new = odd.get(*replacement).map_or_else(|| text[from..to].to_owned(), |odd| (*odd).to_owned());
        if text.is_char_boundary(start) && text.is_char_boundary(end) {
            text.replace_range(start..end, &new);
        }
    }
    text
}

fn picks() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, prop::sample::Index)>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0_usize..20, any::<prop::sample::Index>()), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn documents(
        name in prop::sample::select(vec!["invoice.rpk", "invoice.model_io.json", "invoice.replay/REPLAY.jsonl", "invoice.rer.json"]),
        picks in picks(),
    ) {
        let text = mutated(&example(name), &picks);
        let OpenedRecord { run, .. } = open(text.into_bytes(), &Keys::default(), &Options::default());
        if let Ok(run) = run {
            read_all(&run);
        }
    }

    #[test]
    fn bundles(manifest in picks(), trace in picks(), cassette in picks()) {
        const MANIFEST: &str = r#"{"schema_version":1,"assay_version":"x","trace_path":"files/t.jsonl","toolchain":{},"created_at":"2026-01-01T00:00:00Z"}"#;
        const TRACE: &str = "{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r\",\"prompt\":\"p\",\"response\":\"a\",\"meta\":{\"model\":\"m\"}}\n{\"type\":\"episode_start\",\"episode_id\":\"e\",\"input\":{\"prompt\":\"p\"}}\n{\"type\":\"tool_call\",\"tool_name\":\"t\",\"args\":{},\"result\":[1]}\n{\"type\":\"episode_end\",\"episode_id\":\"e\",\"final_output\":\"x\"}\n";
        const CASSETTE: &str = r#"{"schema_version":2,"fingerprint":"ab","method":"POST","url":"https://api.openai.com/v1/responses","request_body":{"model":"m"},"status":200,"response_body":{"output":[]}}"#;
        let files = vec![
            ("manifest.json".to_owned(), mutated(MANIFEST, &manifest).into_bytes()),
            ("files/t.jsonl".to_owned(), mutated(TRACE, &trace).into_bytes()),
            ("cassettes/a.json".to_owned(), mutated(CASSETTE, &cassette).into_bytes()),
        ];
        let OpenedRecord { run, .. } = open_files(files, &Keys::default(), &Options::default());
        if let Ok(run) = run {
            read_all(&run);
        }
    }

    #[test]
    fn bytes(noise in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/runs/invoice.tar.gz");
        let mut bytes = std::fs::read(path).unwrap();
        let at = at.index(bytes.len());
        let end = (at + noise.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&noise[..end - at]);
        for bytes in [bytes, noise] {
            if let Ok(run) = open(bytes, &Keys::default(), &Options::default()).run {
                read_all(&run);
            }
        }
    }
}
