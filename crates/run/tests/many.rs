//! Memory use of opening a run of a hundred thousand events. The only test of its program, since the memory of
//! another test would be counted, too.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

use reenact_run::{OpenedRecord, open};
use reenact_testkit::fixture::{ModelRequest, RunBuilder, TestKey};
use reenact_verify::Options;
use support::KeyRing as _;

/// Returns a line of `/proc/self/status` in bytes.
fn process_status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

#[test]
fn a_hundred_thousand_events() {
    let key = TestKey::of(1);
    let body = "x".repeat(200);
    let mut builder = RunBuilder::started();
    for step in 0..50_000 {
        let step = format!("s{step}");
        builder =
            builder.called(&step, &ModelRequest { body: &body, ..ModelRequest::CHAT }).returned(&step, "{}");
    }
    let bytes = builder.ended(0).seal(&key);
    let size = bytes.len();
    // Resets the peak of memory use (`VmHWM`) to the present use.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = process_status("VmRSS");
    let OpenedRecord { run, report } = open(bytes, &key.keys(), &Options::default());
    let more = process_status("VmHWM").saturating_sub(before);
    assert!(report.pass(), "{:?}", report.reasons);
    let run = run.unwrap();
    assert_eq!(run.len(), 100_002);
    assert!(size > 70_000_000, "{size}");
    assert!(more < size / 4, "{more} bytes more for a record of {size}");
    assert_eq!(run.exchanges().filter(|exchange| exchange.returned.is_some()).count(), 50_000);
    assert_eq!(run.exchanges().nth(49_999).unwrap().step_id(), "s49999");
}
