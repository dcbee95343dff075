//! REPLAY.jsonl: the example of the specification, every code that the vectors do not cover, and
//! hostile input.
#![allow(clippy::unwrap_used)]

use std::io::{self, BufReader, Read};

use proptest::prelude::*;
use reenact_formats::replay_jsonl::ReplayJsonlEventKind;
use reenact_formats::replay_jsonl::writer::{
    ReplayJsonlEvent, ReplayJsonlSession, ReplayJsonlWriter, SessionStatus,
};
use reenact_json::Digest;
use reenact_verify::replay_jsonl::{
    self, HASHES, LINES, ReplayJsonlOptions, TOTALS, verify_bytes, verify_or_err,
};
use reenact_verify::{CheckId, FormatId, Keys, Options, Report, verify};

/// Example of the specification, to the byte: elided hashes, `event` first, totals of another session.
const EXAMPLE: &str = r#"{"event":"ReplayHeader","created_at":"2026-01-13T10:00:00Z","producer":"adjutant@1.2.3","replay_version":1}
{"event":"SessionStart","issue_number":42,"policy_version":"v1.2.3","session_id":"sess_abc123","t":"2026-01-13T10:00:00Z"}
{"event":"PlanStart","plan_hash":"sha256:abc123...","step_count":3,"t":"2026-01-13T10:00:01Z"}
{"event":"ToolCall","id":"tc_001","params":{"path":"src/auth.rs"},"params_hash":"sha256:def456...","step_id":"step-1","t":"2026-01-13T10:00:02Z","tool":"file_read"}
{"event":"ToolResult","exit_code":null,"id":"tc_001","latency_ms":45,"output_hash":"sha256:ghi789...","step_utility":0.8,"t":"2026-01-13T10:00:02Z"}
{"event":"StepComplete","iterations":1,"status":"Success","step_id":"step-1","t":"2026-01-13T10:00:03Z"}
{"event":"Verification","commands":["cargo check","cargo test"],"exit_codes":[0,0],"t":"2026-01-13T10:05:30Z","verification_delta":3}
{"event":"SessionEnd","confidence":0.92,"status":"Success","t":"2026-01-13T10:05:32Z","total_latency_ms":5320,"total_tool_calls":5}
"#;

fn report_of(text: impl AsRef<[u8]>) -> Report {
    verify_bytes(text.as_ref(), &ReplayJsonlOptions::default(), &Options::default())
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.codes().unwrap().to_vec()
}

/// Returns a session of one call, with its receipt.
fn session() -> (String, String) {
    let session = ReplayJsonlSession {
        producer: "test@1",
        session_id: "s1",
        issue_number: Some(7),
        policy: "p1",
        started_at: "2026-01-13T10:00:00Z",
    };
    let t = session.started_at;
    let mut writer = ReplayJsonlWriter::start(Vec::new(), &session).unwrap();
    let call =
        ReplayJsonlEvent::ToolCall { id: "a", tool: "read", params: br#"{"n":[1.0,1e16]}"#, step_id: "s" };
    writer.emit(t, &call).unwrap();
    let output_hash = Digest::of(b"null");
    let result = ReplayJsonlEvent::ToolResult {
        id: "a",
        output_hash: Some(output_hash),
        exit_code: None,
        step_utility: Some(0.8),
        latency_ms: Some(45),
    };
    writer.emit(t, &result).unwrap();
    let ran = ReplayJsonlEvent::Verification { commands: &["test"], exit_codes: &[0], verification_delta: 1 };
    writer.emit(t, &ran).unwrap();
    let (replay, receipt) = writer.end(t, SessionStatus::Success, 0.9).unwrap();
    (String::from_utf8(replay).unwrap(), String::from_utf8(receipt).unwrap())
}

fn against(replay: &str, receipt: &str) -> Report {
    let beside = ReplayJsonlOptions { receipt: Some(receipt.as_bytes()), digest: false };
    verify_bytes(replay.as_bytes(), &beside, &Options::default())
}

#[test]
fn the_example_of_the_document() {
    let report = report_of(EXAMPLE);
    assert_eq!(codes(&report), ["E_FIELD", "E_PARAMS_HASH", "E_TOTAL_LATENCY", "E_TOTAL_TOOL_CALLS"]);
    assert_eq!(report.warnings(), Some(&["W_NOT_CANONICAL"][..]));
    assert_eq!(report.failed().collect::<Vec<_>>(), [LINES, HASHES, TOTALS]);
    assert_eq!(
        report.reasons,
        [
            "lines: E_FIELD: line 3: PlanStart: plan_hash must be sha256: and 64 lower-case hexadecimal digits",
            "lines: E_FIELD: line 4: ToolCall: params_hash must be sha256: and 64 lower-case hexadecimal digits",
            "lines: E_FIELD: line 5: ToolResult: output_hash must be sha256: and 64 lower-case hexadecimal digits",
            "hashes: E_PARAMS_HASH: line 4: params_hash is sha256:def456..., recomputed sha256:2432e75fcdc5b53e0c60fc6d1514682a9eb0c5b5fd4faefba9f8d6fcfef7d5fd",
            "totals: E_TOTAL_TOOL_CALLS: total_tool_calls is 5, counted 1",
            "totals: E_TOTAL_LATENCY: total_latency_ms is 5320, the sum is 45",
        ]
    );
}

#[test]
fn what_we_write_holds() {
    let (replay, receipt) = session();
    let report = against(&replay, &receipt);
    assert!(report.pass(), "{:#?}", report.reasons);
    assert_eq!((codes(&report), report.warnings()), (vec![], Some(&[][..])));
    assert_eq!(report.notes, Vec::<String>::new());
    assert_eq!(
        report.summary,
        "the replay and its receipt agree; nothing here is signed (1 tool call, 45 ms, average utility 0.800)"
    );
}

#[test]
fn only_what_holds_becomes_a_verified_replay() {
    let (replay, receipt) = session();
    let beside = ReplayJsonlOptions { receipt: Some(receipt.as_bytes()), digest: false };
    let verified = verify_or_err(replay.as_bytes(), &beside, &Options::default()).unwrap();
    assert_eq!(verified.report(), &against(&replay, &receipt));
    let kinds: Vec<ReplayJsonlEventKind> = verified.events().filter_map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [
            ReplayJsonlEventKind::ReplayHeader,
            ReplayJsonlEventKind::SessionStart,
            ReplayJsonlEventKind::ToolCall,
            ReplayJsonlEventKind::ToolResult,
            ReplayJsonlEventKind::Verification,
            ReplayJsonlEventKind::SessionEnd,
        ]
    );
    let totals = *verified.totals();
    assert_eq!((totals.tool_calls, totals.total_latency_ms()), (1, Some(45)));
    // Blank lines and other endings are warnings, not events.
    let spaced = replay.replace('\n', "\r\n \n");
    let alone =
        verify_or_err(spaced.as_bytes(), &ReplayJsonlOptions::default(), &Options::default()).unwrap();
    assert_eq!((alone.events().count(), *alone.totals()), (6, totals));
    let changed = replay.replace(r#""latency_ms":45"#, r#""latency_ms":46"#);
    let refused = verify_or_err(changed.as_bytes(), &beside, &Options::default()).unwrap_err();
    assert_eq!(codes(refused.report()), ["E_TOTAL_LATENCY", "R_LATENCY", "R_REPLAY_HASH"]);
}

/// Each change of the file gives exactly these codes.
#[test]
fn one_change_of_the_replay() {
    let (replay, _) = session();
    let lines: Vec<&str> = replay.lines().collect();
    for (from, to, expected) in [
        (r#""replay_version":1"#, r#""replay_version":2"#, &["E_VERSION"][..]),
        (r#""replay_version":1"#, r#""replay_version":256"#, &["E_FIELD", "E_VERSION"]),
        (r#""replay_version":1"#, r#""replay_version":1.0"#, &["E_FIELD"]),
        (r#""policy_version":"p1","#, "", &["E_FIELD"]),
        (r#""session_id":"s1""#, r#""session_id":"../s1""#, &["E_FIELD"]),
        (r#""step_utility":0.8"#, r#""step_utility":1.5"#, &["E_FIELD"]),
        (r#""step_utility":0.8"#, r#""step_utility":1e400"#, &["E_FIELD"]),
        (r#""exit_code":null"#, r#""exit_code":2147483648"#, &["E_FIELD"]),
        (r#""latency_ms":45"#, r#""latency_ms":-45"#, &["E_FIELD", "E_TOTAL_LATENCY"]),
        (r#""latency_ms":45"#, r#""latency_ms":18446744073709551616"#, &["E_FIELD", "E_TOTAL_LATENCY"]),
        (r#""status":"Success""#, r#""status":"Fine""#, &["E_FIELD"]),
        (r#""event":"Verification""#, r#""event":"Novelty""#, &[]),
        (r#""n":[1.0,1e16]"#, r#""n":[1.0,1e999]"#, &["E_PARAMS_HASH"]),
        (r#""n":[1.0,1e16]"#, r#""n":[1,10000000000000000]"#, &["E_PARAMS_HASH"]),
        (
            r#""n":[1.0,1e16]"#,
            r#""n":[1.0,NaN]"#,
            &["E_BAD_JSON", "E_RESULT_WITHOUT_CALL", "E_TOTAL_TOOL_CALLS"],
        ),
        (
            r#""n":[1.0,1e16]"#,
            r#""n":"\ud800""#,
            &["E_BAD_JSON", "E_RESULT_WITHOUT_CALL", "E_TOTAL_TOOL_CALLS"],
        ),
        (r#""total_tool_calls":1"#, r#""total_tool_calls":0"#, &["E_TOTAL_TOOL_CALLS"]),
    ] {
        assert!(replay.contains(from), "{from}");
        let report = report_of(replay.replacen(from, to, 1));
        assert_eq!(codes(&report), expected, "{to}: {:#?}", report.reasons);
        assert_eq!(report.pass(), expected.is_empty());
    }
    for (order, expected) in [
        (&[1, 0, 2, 3, 4, 5][..], &["E_HEADER_NOT_FIRST"][..]),
        (&[0, 2, 1, 3, 4, 5], &["E_SESSION_START_NOT_FIRST"]),
        (&[0, 2, 3, 4, 5], &["E_NO_SESSION_START", "E_SESSION_START_NOT_FIRST"]),
        (&[0, 1, 1, 2, 3, 4, 5], &["E_SESSION_START_REPEATED"]),
        (&[0, 1, 2, 3, 5, 4], &["E_EVENT_AFTER_END"]),
        (&[0, 1, 2, 3, 4, 5, 5], &["E_SESSION_END_REPEATED"]),
        (&[0, 1, 2, 3, 4], &["E_NO_SESSION_END"]),
        (&[0, 1, 2, 3, 3, 4, 5], &["E_RESULT_REPEATED", "E_TOTAL_LATENCY"]),
    ] {
        let text: String = order.iter().flat_map(|&at| [lines[at], "\n"]).collect();
        assert_eq!(codes(&report_of(text)), expected, "{order:?}");
    }
}

#[test]
fn one_change_of_the_receipt() {
    let (replay, receipt) = session();
    for (from, to, expected) in [
        (r#""issue_number": 7"#, r#""issue_number": 8"#, &["R_ISSUE"][..]),
        (r#""issue_number": 7"#, r#""issue_number": null"#, &["R_ISSUE"]),
        (r#""policy_version": "p1""#, r#""policy_bundle_id": "p1""#, &[]),
        (r#""plan_hash": null"#, r#""plan_hash": "sha256:00""#, &["R_PLAN_HASH"]),
        (r#""latency_ms": 45"#, r#""latency_ms": 46"#, &["R_LATENCY"]),
        (r#""step_utility": 0.8"#, r#""step_utility": 0.800000011920929"#, &[]),
        (r#""step_utility": 0.8"#, r#""step_utility": 0.8001"#, &["R_UTILITY"]),
        (r#""verification_delta": 1"#, r#""verification_delta": 2"#, &["R_VERIFICATION"]),
        (r#""commands_run": ["test"]"#, r#""commands_run": ["true"]"#, &["R_VERIFICATION"]),
        (r#""replay_hash": "sha256:"#, r#""replay_hash": "sha256:0"#, &["R_REPLAY_HASH"]),
        (r#""id": "a""#, r#""id": "b""#, &["R_CALL_NOT_IN_RECEIPT", "R_CALL_NOT_IN_REPLAY"]),
        (r#""id": "a","#, "", &["R_BAD_RECEIPT"]),
        (r#""started_at": "2026-01-13T10:00:00Z""#, r#""started_at": "2026-01-13 12:00:00+02:00""#, &[]),
    ] {
        assert!(receipt.contains(from), "{from}");
        let report = against(&replay, &receipt.replacen(from, to, 1));
        assert_eq!(codes(&report), expected, "{to}: {:#?}", report.reasons);
    }
    let late = receipt.replacen("10:00:00Z", "10:00:01Z", 1);
    let report = against(&replay, &late);
    assert_eq!(report.notes, ["started_at of the receipt is not the time of the SessionStart"]);
    assert!(report.pass());
    let call_end = receipt.find("\n  ],").unwrap();
    let call_start = receipt.find("    {\n      \"id\"").unwrap();
    let twice = format!("{},\n{}", &receipt[..call_end], &receipt[call_start..]);
    assert_eq!(codes(&against(&replay, &twice)), ["R_CALL_ID_REPEATED", "R_CALL_NOT_IN_REPLAY"]);
}

#[test]
fn the_second_generation_pairs_in_order_among_equal_calls() {
    let (replay, _) = session();
    let lines: Vec<&str> = replay.lines().collect();
    let (call, result) = (lines[2], lines[3]);
    let params_hash = &call[call.find("sha256:").unwrap()..][..71];
    let hash = |text: &str| format!("sha256:{}", Digest::of(text.as_bytes()));
    let b_call = call.replace(r#""id":"a""#, r#""id":"b""#);
    let b_result = result.replace(r#""id":"a""#, r#""id":"b""#).replace(&hash("null"), &hash("other"));
    // The results come in the other order, but a receipt lists calls.
    let end = lines[5].replace(r#"ms":45"#, r#"ms":90"#).replace(r#"calls":1"#, r#"calls":2"#);
    let replay = [lines[0], lines[1], call, &b_call, &b_result, result, lines[4], &end].join("\n") + "\n";
    let receipt = |outputs: [&str; 2], calls: u32| {
        let call = |output: &str| {
            format!(
                r#"{{"latency_ms":45,"output_hash":"{}","params_hash":"{params_hash}","side_effects":[],"tool":"read"}}"#,
                hash(output)
            )
        };
        let rest = format!(
            r#""metrics":{{"tool_calls":{calls},"tool_latency_ms_total":90,"verification_passed":true}},"policy_bundle_id":"p1","schema":"openagents.receipt.v1","session_id":"s1","tool_calls":[{},{}],"verification":[{{"command":"test","exit_code":0}}]}}"#,
            call(outputs[0]),
            call(outputs[1])
        );
        let digest = Digest::of(format!("{{{rest}").as_bytes());
        format!(r#"{{"canonical_json_sha256":"{digest}",{rest}"#)
    };
    let report = against(&replay, &receipt(["null", "other"], 2));
    assert!(report.pass(), "{:#?}", report.reasons);
    assert_eq!(codes(&against(&replay, &receipt(["other", "null"], 2))), ["R_OUTPUT_HASH"]);
    assert_eq!(codes(&against(&replay, &receipt(["null", "other"], 3))), ["R_METRICS"]);
    let forged = receipt(["null", "other"], 2).replace("\"s1\"", "\"s2\"");
    assert_eq!(codes(&against(&replay, &forged)), ["R_DIGEST", "R_SESSION_ID"]);
    let shorter = replay.replace(&format!("{b_call}\n{b_result}\n"), "");
    let codes = codes(&against(&shorter, &receipt(["null", "other"], 2)));
    assert_eq!(codes, ["E_TOTAL_LATENCY", "E_TOTAL_TOOL_CALLS", "R_CALL_NOT_IN_REPLAY", "R_METRICS"]);
}

#[test]
fn logs_published_without_params() {
    let (replay, receipt) = session();
    let report = against(&replay.replacen(r#""params":{"n":[1.0,1e16]},"#, "", 1), &receipt);
    assert_eq!(codes(&report), ["R_REPLAY_HASH"]);
    assert_eq!(report.check(HASHES), None);
    assert_eq!(report.withheld, 1);
    assert!(report.notes[0].starts_with("1 call carries no params"), "{:?}", report.notes);
}

#[test]
fn what_is_not_known_is_counted() {
    let (replay, _) = session();
    let replay =
        replay.replacen(r#""exit_code":null,"#, r#""exit_code":null,"output_preview":"x","tool":"read","#, 1);
    let replay = replay.replacen(r#""event":"Verification""#, r#""event":"No\u001bvelty""#, 1);
    let report = report_of(replay);
    assert!(report.pass());
    assert!(
        report
            .notes
            .contains(&r"1 event of a kind that is not known here (first: line 5: No\u{1b}velty)".into())
    );
    assert!(report.notes.contains(&"2 members of known events that the format does not define".into()));
}

/// The document defines neither `RuntimeEvent` nor `Payment`: whatever such an event holds, and wherever it stands behind the
/// header, it fails nothing.
#[test]
fn events_that_are_not_defined_never_fail() {
    let (replay, receipt) = session();
    let receipt = receipt.replacen(r#""replay_hash":"#, r#""old_replay_hash":"#, 1);
    let expected = against(&replay, &receipt);
    assert_eq!(codes(&expected), [""; 0]);
    let lines: Vec<&str> = replay.lines().collect();
    for strange in [
        r#"{"event":"RuntimeEvent","payload":{"a":1},"payload_hash":"sha256:00","session_id":"another","t":"1999"}"#,
        r#"{"event":"RuntimeEvent"}"#,
        r#"{"event":"RuntimeEvent","payload":1e999,"seq":-1,"t":7}"#,
        r#"{"event":"Payment","amount_msats":"much"}"#,
        r#"{"event":"Novelty","id":"call_1","t":"1999-01-01T00:00:00Z","params":1}"#,
    ] {
        for at in 1..=lines.len() {
            let mut lines = lines.clone();
            lines.insert(at, strange);
            let report = against(&(lines.join("\n") + "\n"), &receipt);
            assert_eq!(report.reasons, [""; 0], "{strange} behind line {at}");
            let note = format!("1 event of a kind that is not known here (first: line {}: ", at + 1);
            assert!(report.notes.iter().any(|found| found.starts_with(&note)), "{:#?}", report.notes);
            assert_eq!((&report.checks, &report.summary), (&expected.checks, &expected.summary));
        }
    }
    // The header is the first line, whatever stands before it.
    let report = report_of(format!("{{\"event\":\"Novelty\"}}\n{replay}"));
    assert_eq!(codes(&report), ["E_HEADER_NOT_FIRST"]);
}

/// Returns any JSON, with the names and the values that events of the document have among others.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        prop::num::f64::NORMAL.prop_map(Into::into),
        "\\PC{0,12}".prop_map(Into::into),
        Just("sha256:00".into()),
    ];
    let name = prop_oneof![
        "\\PC{0,8}",
        prop::sample::select(vec![
            "id",
            "t",
            "tool",
            "params",
            "params_hash",
            "session_id",
            "version",
            "result",
            "type"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(6, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::hash_map(name.clone(), inner, 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever an event holds that the document does not define, and wherever it stands behind the header.
    #[test]
    fn any_event_that_is_not_defined(
        tag in prop_oneof![Just("RuntimeEvent".to_owned()), "[a-z][A-Za-z]{0,11}"],
        members in prop::collection::hash_map("\\PC{0,8}", any_json(), 0..6),
        at in 1_usize..,
    ) {
        let (replay, _) = session();
        let mut lines: Vec<String> = replay.lines().map(str::to_owned).collect();
        let mut event: serde_json::Map<String, serde_json::Value> = members.into_iter().collect();
        event.insert("event".into(), tag.into());
        lines.insert(1 + at % lines.len(), serde_json::Value::Object(event).to_string());
        let report = report_of(lines.join("\n") + "\n");
        prop_assert_eq!(&report.reasons, &[""; 0]);
        prop_assert!(report.notes.iter().any(|note| note.starts_with("1 event of a kind that is not known here")));
    }
}

#[test]
fn nothing_and_next_to_nothing() {
    for text in ["", "\n \t\n"] {
        let report = report_of(text);
        assert_eq!(
            codes(&report),
            ["E_HEADER_NOT_FIRST", "E_NO_SESSION_END", "E_NO_SESSION_START"],
            "{text:?}"
        );
        assert_eq!(report.format, "replay-jsonl/?");
    }
    let options = Options { format: Some(FormatId::ReplayJsonl), ..Options::default() };
    for (bytes, expected) in [
        (&b"\xff\xfe{\x00"[..], &["E_NOT_UTF8"][..]),
        (b"{\"event\":\"\xff\"}\n", &["E_NOT_UTF8"]),
        (b"PK\x03\x04", &["E_BAD_JSON"]),
        (b"{\"event\":\"Repl", &["E_TORN_TAIL"]),
        (b"{\"event\":\"Repl\n", &["E_BAD_JSON"]),
        (b"{\"event\":-", &["E_TORN_TAIL"]),
        (b"{\"event\":tru", &["E_TORN_TAIL"]),
        (b"{\"event\":\"\\ud83d\\", &["E_TORN_TAIL"]),
        (b"{\"event\":trx", &["E_BAD_JSON"]),
        (b"{\"type\":\"ReplayHeader\"}\n", &["E_NO_EVENT_TAG"]),
        (b"{\"event\":7}\n", &["E_NO_EVENT_TAG"]),
    ] {
        let report = verify(bytes, &Keys::default(), &options);
        assert_eq!(codes(&report), expected, "{bytes:?}");
        let failed: Vec<CheckId> = report.failed().collect();
        // By name: programs branch on the names.
        assert_eq!(failed, ["lines", "header", "lifecycle", "pairing", "hashes", "totals"]);
    }
}

#[test]
fn nesting_digits_and_names_without_end() {
    let (replay, _) = session();
    let with = |params: &str| report_of(replay.replacen(r#"{"n":[1.0,1e16]}"#, params, 1));
    let lost = ["E_BAD_JSON", "E_RESULT_WITHOUT_CALL", "E_TOTAL_TOOL_CALLS"];
    assert_eq!(codes(&with(&"[".repeat(100_000))), lost);
    assert_eq!(codes(&with(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)))), lost);
    assert_eq!(codes(&with(&"9".repeat(5_000))), ["E_PARAMS_HASH"]);
    let report = with(r#"{"a":1,"\u0061":2}"#);
    assert_eq!(codes(&report), ["E_DUPLICATE_NAME", "E_RESULT_WITHOUT_CALL", "E_TOTAL_TOOL_CALLS"]);
}

#[test]
fn every_prefix_is_judged() {
    let (replay, receipt) = session();
    for length in 0..replay.len() {
        let report = against(&replay[..length], &receipt);
        // Without its last line feed the session is complete, but the file has another hash.
        let whole = length == replay.len() - 1;
        assert_eq!(codes(&report) == ["R_REPLAY_HASH"], whole, "{length}: {:?}", report.codes());
        assert!(!report.pass());
        let is_torn = length > 0 && !whole && !replay[..length].ends_with(['\n', '}']);
        assert_eq!(
            codes(&report).contains(&"E_TORN_TAIL"),
            is_torn || {
                // A line may end with the brace of an inner object.
                length > 0 && replay[..length].ends_with('}') && !replay[length..].starts_with('\n')
            },
            "{length}"
        );
    }
}

/// Reader of a repeated text that is never in memory as a whole.
struct Repeated<'a> {
    parts: Vec<(&'a [u8], usize)>,
    at: usize,
}

impl Read for Repeated<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some((text, times)) = self.parts.first_mut() {
            if *times == 0 {
                self.parts.remove(0);
                continue;
            }
            let rest = &text[self.at..];
            let count = rest.len().min(out.len());
            out[..count].copy_from_slice(&rest[..count]);
            self.at += count;
            if self.at == text.len() {
                (self.at, *times) = (0, *times - 1);
            }
            return Ok(count);
        }
        Ok(0)
    }
}

#[test]
fn a_line_of_two_gigabytes_is_told_and_passed_over() {
    let (replay, _) = session();
    let (head, tail) = replay.split_at(replay.find("{\"commands\"").unwrap());
    let block = vec![b'x'; 1 << 20];
    let parts = vec![
        (head.as_bytes(), 1),
        (&b"{\"event\":\""[..], 1),
        (&block, 2048),
        (&b"\"}\n"[..], 1),
        (tail.as_bytes(), 1),
    ];
    let reader = BufReader::with_capacity(1 << 20, Repeated { parts, at: 0 });
    let report = replay_jsonl::verify(reader, &ReplayJsonlOptions::default(), &Options::default()).unwrap();
    assert_eq!(codes(&report), ["E_LINE_TOO_LONG"]);
    assert_eq!(
        report.reasons,
        ["lines: E_LINE_TOO_LONG: line 5: it has 2147483660 bytes, more than 67108864, and was not read"]
    );
}

#[test]
fn a_hostile_file_gives_a_small_report() {
    let (replay, _) = session();
    let lines: Vec<&str> = replay.lines().collect();
    let result = format!("{}\n", lines[3]);
    let bad = b"{\x1b\n".as_slice();
    let parts = vec![(result.as_bytes(), 100_000), (bad, 100_000)];
    let reader = BufReader::new(Repeated { parts, at: 0 });
    let report = replay_jsonl::verify(reader, &ReplayJsonlOptions::default(), &Options::default()).unwrap();
    let size: usize = report.reasons.iter().map(String::len).sum();
    assert!(size < 20_000, "{size}");
    assert!(report.reasons.iter().any(|reason| reason == "lines: E_BAD_JSON: and 99980 more of this kind"));
    assert!(!report.reasons.iter().any(|reason| reason.contains('\x1b')));
}

#[test]
fn reading_that_fails_is_no_verdict() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let error =
        replay_jsonl::verify(BufReader::new(Failing), &ReplayJsonlOptions::default(), &Options::default())
            .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}
