//! Memory use of opening a run of a hundred thousand events, in every format but RER. The only test of its
//! program, as in `many`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use reenact_run::{OpenedRecord, open, open_files};
use reenact_verify::{Keys, Options};

/// Returns a line of `/proc/self/status` in bytes.
fn process_status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// Opens a record, and returns by how many bytes the peak memory rose.
fn measured(open: impl FnOnce() -> OpenedRecord) -> (OpenedRecord, usize) {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = process_status("VmRSS");
    let opened = open();
    (opened, process_status("VmHWM").saturating_sub(before))
}

/// Opens a document, which may take at most a fourth of its size in further memory.
fn open_in_little_memory(bytes: Vec<u8>, events: usize) -> OpenedRecord {
    let size = bytes.len();
    assert!(size > 60_000_000, "{size}");
    let (opened, more) = measured(|| open(bytes, &Keys::default(), &Options::default()));
    assert_eq!(opened.run.as_ref().unwrap().len(), events);
    assert!(more < size / 4, "{more} bytes more for a record of {size}");
    opened
}

#[test]
fn a_hundred_thousand_events() {
    let words = "x".repeat(600);
    let mut text = String::from(r#"{"version":"1.0","metadata":{},"payload":{"run":{"id":"r","steps":["#);
    for step in 0..50_000 {
        let comma = if step == 0 { "" } else { "," };
        text += &format!(
            r#"{comma}{{"id":"a{step}","type":"model.request","input":{{"model":"m","input":{{"messages":"{words}"}}}},"output":{{}},"metadata":{{"request_id":"q{step}"}}}},{{"id":"b{step}","type":"model.response","input":{{"request_id":"q{step}"}},"output":{{"output":{{"content":"{words}"}}}},"metadata":{{}}}}"#
        );
    }
    text += r#"]}},"checksum":"sha256:"}"#;
    let run = open_in_little_memory(text.into_bytes(), 100_000).run.unwrap();
    assert_eq!(run.exchanges().filter(|exchange| exchange.returned.is_some()).count(), 50_000);

    let mut text = String::from(
        r#"{"model_io_schema_version":"1.0.0","adapter_id":"a","model_id":"m","mode":"record","interactions":["#,
    );
    for i in 0..50_000 {
        let comma = if i == 0 { "" } else { "," };
        text += &format!(
            r#"{comma}{{"i":{i},"prompt_hash":"sha256:{:064x}","response_content":"{words}{words}"}}"#,
            i
        );
    }
    text += "]}";
    let run = open_in_little_memory(text.into_bytes(), 100_000).run.unwrap();
    assert_eq!(run.exchanges().nth(49_999).unwrap().step_id(), "49999");

    let mut text = String::from("{\"event\":\"ReplayHeader\",\"replay_version\":1}\n");
    for call in 0..50_000 {
        text += &format!(
            "{{\"event\":\"ToolCall\",\"id\":\"c{call}\",\"params\":\"{words}{words}\",\"tool\":\"t\"}}\n{{\"event\":\"ToolResult\",\"id\":\"c{call}\",\"latency_ms\":1}}\n"
        );
    }
    let run = open_in_little_memory(text.into_bytes(), 100_001).run.unwrap();
    assert_eq!(run.tool_calls().filter(|tool| tool.returned.is_some()).count(), 50_000);
    assert_eq!(run.summary().figures.unwrap().total_latency_ms(), Some(50_000));

    // The files of a bundle are concatenated, and the originals are freed.
    let mut trace = String::new();
    for line in 0..100_000 {
        trace += &format!(
            "{{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r{line}\",\"prompt\":\"{words}\",\"response\":\"{line}\"}}\n"
        );
    }
    let files = vec![
        ("files/trace.jsonl".to_owned(), trace.into_bytes()),
        ("manifest.json".to_owned(), br#"{"schema_version":1,"trace_path":"files/trace.jsonl"}"#.to_vec()),
    ];
    let size = files[0].1.len();
    let (OpenedRecord { run, .. }, more) =
        measured(|| open_files(files, &Keys::default(), &Options::default()));
    assert!(more < size + size / 2, "{more} bytes more for files of {size}");
    let run = run.unwrap();
    assert_eq!((run.len(), run.exchanges().count()), (100_001, 100_000));
    assert_eq!(run.exchanges().nth(99_999).unwrap().message().unwrap().text, "99999");
}
