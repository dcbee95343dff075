//! The example as a Model IO session, and a pack that names the session.

use reenact_formats::model_io::writer::{ModelIoMode, ModelIoPrompt, ModelIoSession, NewInteraction};
use reenact_formats::model_io::{ModelIoWriter, pack};
use reenact_json::Limits;

/// Prompts: the question, and the same with the tool's answer.
const PROMPTS: [&str; 2] = [
    r#"{"model":"claude-sonnet-4-5","max_tokens":256,"messages":[{"role":"user","content":"Is invoice 2041 paid?"}]}"#,
    r#"{"model":"claude-sonnet-4-5","max_tokens":256,"messages":[{"role":"user","content":"Is invoice 2041 paid?"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01","name":"lookup_invoice","input":{"number":2041}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","content":"1,240.00 EUR, open"}]}]}"#,
];

/// Responses: text, input tokens, output tokens, milliseconds.
const RESPONSES: [(&str, u64, u64, u64); 2] = [
    (r#"{"type":"tool_use","id":"toolu_01","name":"lookup_invoice","input":{"number":2041}}"#, 41, 23, 829),
    ("No. Invoice 2041 over 1,240.00 EUR is open.\n", 88, 19, 612),
];

/// Run of the pack, before the session's hash is added.
const RUN: &str = r#"{
    "run_schema_version": "1.0.0", "run_id": "019a8172-3a80-7d21-9f3e-2b6c5d4e3f2a", "kernel_version": "0.3.10",
    "started_at": "2026-11-14T09:30:00.000Z", "completed_at": "2026-11-14T09:30:02.310Z", "model_mode": "record",
    "intent": {"goal": "Is invoice 2041 paid?"}, "policy": {"name": "dev"}, "kernel_result_kind": "BUNDLE", "decision": "ACCEPT"
}"#;

/// Returns every file, by name.
pub(super) fn files() -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let about = ModelIoSession {
        adapter_id: "reenact/anthropic",
        model_id: "claude-sonnet-4-5",
        mode: ModelIoMode::Record,
        created_at_utc: Some("2026-11-14T09:30:00.000Z"),
        ended_at_utc: Some("2026-11-14T09:30:02.310Z"),
        stats: true,
    };
    let mut session = Vec::new();
    let mut writer = ModelIoWriter::begin(about, &mut session).map_err(|fault| fault.to_string())?;
    for (prompt, (response, input, output, latency)) in PROMPTS.into_iter().zip(RESPONSES) {
        let interaction = NewInteraction {
            prompt: ModelIoPrompt::Text(prompt),
            response,
            tokens_input: Some(input),
            tokens_output: Some(output),
            latency_ms: Some(latency),
        };
        writer.add(&interaction).map_err(|fault| fault.to_string())?;
    }
    let written = writer.finish();
    let run = pack::bind(RUN.as_bytes(), &written.model_io_hash, &Limits::default());
    let run = run.map_err(|fault| fault.to_string())?;
    Ok(vec![
        ("invoice.model_io.json", session.clone()),
        ("invoice.pack/model_io.json", session),
        ("invoice.pack/run.json", run),
    ])
}
