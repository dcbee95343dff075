//! The example as a REPLAY.jsonl with its RECEIPT.json.

use reenact_formats::replay_jsonl::writer::{
    ReplayJsonlEvent, ReplayJsonlSession, ReplayJsonlWriter, SessionStatus, StepStatus,
};
use reenact_json::Digest;

/// Output of the tool; the record holds its hash only.
const OUTPUT: &str = r#"{"amount":"1,240.00 EUR","due":"2026-12-01","status":"open"}"#;

/// Returns every file, by name.
pub(super) fn files() -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let text = |error: &dyn ToString| error.to_string();
    let session = ReplayJsonlSession {
        producer: "reenact@0.1.0",
        session_id: "019a8172-3a80-7d21-9f3e-2b6c5d4e3f2a",
        issue_number: Some(2041),
        policy: "invoices.v1",
        started_at: "2026-11-14T09:30:00.000Z",
    };
    let mut writer = ReplayJsonlWriter::start(Vec::new(), &session).map_err(|error| text(&error))?;
    let call = ReplayJsonlEvent::ToolCall {
        id: "toolu_01",
        tool: "lookup_invoice",
        params: br#"{"number": 2041, "tolerance": 0.5}"#,
        step_id: "step-1",
    };
    let result = ReplayJsonlEvent::ToolResult {
        id: "toolu_01",
        output_hash: Some(Digest::of(OUTPUT.as_bytes())),
        exit_code: None,
        step_utility: Some(0.8),
        latency_ms: Some(57),
    };
    let events = [
        ("2026-11-14T09:30:00.840Z", call),
        ("2026-11-14T09:30:00.897Z", result),
        (
            "2026-11-14T09:30:01.509Z",
            ReplayJsonlEvent::StepComplete { step_id: "step-1", status: StepStatus::Success, iterations: 1 },
        ),
        (
            "2026-11-14T09:30:01.702Z",
            ReplayJsonlEvent::Verification {
                commands: &["check-answer"],
                exit_codes: &[0],
                verification_delta: 1,
            },
        ),
    ];
    for (t, event) in &events {
        writer.emit(t, event).map_err(|error| text(&error))?;
    }
    let ended = writer.end("2026-11-14T09:30:01.710Z", SessionStatus::Success, 0.9);
    let (replay, receipt) = ended.map_err(|error| text(&error))?;
    Ok(vec![("invoice.replay/REPLAY.jsonl", replay), ("invoice.replay/RECEIPT.json", receipt)])
}
