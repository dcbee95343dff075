//! Any bytes through redaction, as they are and as the events of a stream.
//!
//! Known values never remain, redacting twice changes nothing, masked spans describe the difference
//! to the byte, and a stream of JSON stays one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reenact_secrets::{Alphabet, CustomRule, Redactor, RulePack};
use std::sync::{Arc, LazyLock};

const KNOWN: &[u8] = b"known-value/1";

static PACK: LazyLock<Arc<RulePack>> = LazyLock::new(|| {
    RulePack::with_custom(&[CustomRule::new("acme-key", "acme_", Alphabet::Base64url, 8).expect("a rule")])
});

fuzz_target!(|input: &[u8]| {
    check(input);
    // The same bytes as strings, one piece for each event; the first byte gives the length of a
    // piece.
    let Some((length, text)) = input.split_first() else { return };
    let mut stream = String::new();
    for (at, piece) in text.chunks(usize::from(length % 16) + 1).enumerate() {
        let piece = serde_json::to_string(&String::from_utf8_lossy(piece)).expect("a string");
        stream += &format!("data: {{\"index\":{},\"delta\":{{\"text\":{piece}}}}}\n\n", at % 2);
    }
    check(stream.as_bytes());
});

fn check(text: &[u8]) {
    let mut redactor = Redactor::new(Arc::clone(&PACK));
    redactor.add_known("known", KNOWN);
    let redacted = redactor.redact(text);
    let mut rebuilt = Vec::new();
    let mut from = 0;
    for cut in &redacted.masked_spans {
        rebuilt.extend_from_slice(&text[from..cut.source_span.start]);
        assert_eq!(rebuilt.len(), cut.result_span.start);
        rebuilt.extend_from_slice(&redacted.bytes[cut.result_span.clone()]);
        from = cut.source_span.end;
    }
    rebuilt.extend_from_slice(&text[from..]);
    assert_eq!(rebuilt, redacted.bytes.as_ref());
    assert_eq!(redacted.result_offset(text.len()), redacted.bytes.len());
    let positions: Vec<usize> = (0..=text.len()).map(|at| redacted.result_offset(at)).collect();
    assert!(positions.is_sorted());
    let is_there = |text: &[u8]| text.windows(KNOWN.len()).any(|there| there == KNOWN);
    assert!(!is_there(&redacted.bytes));

    // A known value lies in strings only, and strings stay strings.
    let only_known = redacted.masked_spans.iter().all(|cut| cut.rule == "known");
    let data = |text: &[u8]| -> Vec<Vec<u8>> {
        text.split(|byte| *byte == b'\n')
            .filter_map(|line| Some(line.strip_prefix(b"data: ")?.to_vec()))
            .collect()
    };
    let is_json = |line: &Vec<u8>| serde_json::from_slice::<serde_json::Value>(line).is_ok();
    if only_known && text.starts_with(b"data: ") && data(text).iter().all(is_json) {
        assert!(data(&redacted.bytes).iter().all(is_json), "{}", String::from_utf8_lossy(&redacted.bytes));
    }
    // Removing parts of a secret gives the text around them new neighbours.
    let is_in_place = redacted.masked_spans.iter().all(|cut| !cut.result_span.is_empty());
    let once = redacted.bytes.into_owned();
    let twice = redactor.redact(&once).bytes.into_owned();
    assert!(
        !is_in_place || twice == once,
        "{}\n{}",
        String::from_utf8_lossy(&twice),
        String::from_utf8_lossy(&once)
    );
}
