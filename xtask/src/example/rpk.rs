//! The example as `.rpk`: the smallest document, one with every type of step, the same as a bundle, and one of version 0.9.

use reenact_formats::rpk::bundle::{Mask, Policy, bundle};
use reenact_formats::rpk::survey::survey;
use reenact_formats::rpk::write::{Draft, NewStep, RunHeader, Signing};
use reenact_formats::rpk::{Head, HmacKey};
use reenact_json::Limits;

/// The key that the bundle is signed with. It is published: the signature shows what one looks like and proves nothing.
const KEY: &str = "an example key that everyone knows";

/// Type, input, output, metadata.
const STEPS: [(&str, &str, &str, &str); 7] = [
    (
        "prompt.render",
        r#"{"template": "What does invoice {{id}} come to?", "variables": {"id": "INV-1042"}}"#,
        r#"{"prompt": "What does invoice INV-1042 come to?"}"#,
        r#"{"boundary": "prompt", "tags": ["invoice", "demo"]}"#,
    ),
    (
        "model.request",
        r#"{"model": "claude-sonnet-4-5", "input": {"headers": {"x-api-key": "example-0000"}, "max_tokens": 256, "temperature": 0.2,
            "messages": [{"role": "user", "content": "What does invoice INV-1042 come to?"}]}}"#,
        r#"{"status": "sent"}"#,
        r#"{"boundary": "model", "provider": "anthropic", "request_id": "req_01"}"#,
    ),
    (
        "model.response",
        r#"{"model": "claude-sonnet-4-5"}"#,
        r#"{"output": {"stop_reason": "tool_use", "tool": "lookup_invoice", "usage": {"input_tokens": 112, "output_tokens": 38}}}"#,
        r#"{"boundary": "model", "provider": "anthropic", "duration_ms": 812.5, "request_id": "req_01"}"#,
    ),
    (
        "tool.request",
        r#"{"tool": "lookup_invoice", "args": [], "kwargs": {"id": "INV-1042", "path": "C:\\invoices\\2026\\..\\INV-1042.json"}}"#,
        r#"{"status": "called"}"#,
        r#"{"boundary": "tool", "tool": "lookup_invoice", "pid": 4711}"#,
    ),
    (
        "tool.response",
        r#"{"tool": "lookup_invoice"}"#,
        r#"{"result": {"id": "INV-1042", "total": "1,240.00 EUR", "contact": {"email": "ada@example.com", "token": "example-1111"}}}"#,
        r#"{"boundary": "tool", "tool": "lookup_invoice", "latency_ms": 17}"#,
    ),
    (
        "error.event",
        r#"{"boundary": "http", "target": "https://rates.example.com/eur"}"#,
        r#"{"error_type": "PolicyDenied", "message": "rates.example.com is not an allowed host"}"#,
        r#"{"boundary": "http", "kind": "policy"}"#,
    ),
    (
        "output.final",
        r#"{"agent": "invoice"}"#,
        r#"{"text": "Invoice INV-1042 comes to 1,240.00 EUR."}"#,
        r#"{"boundary": "output"}"#,
    ),
];

/// The same run as version 0.9 wrote it.
const LEGACY: &str = r#"{
  "checksum": "CHECKSUM",
  "metadata": {"created_at": "2026-02-22T19:00:00Z", "owner": "billing", "run_id": "run-invoice-0.9"},
  "payload": {
    "run": {
      "env_fingerprint": {"hostname": "build-7", "os": "linux"},
      "id": "run-invoice-0.9",
      "runtime": {"python": "3.11.9"},
      "steps": [
        {
          "id": "step-000001",
          "metadata": {"duration_ms": 4, "tool": "lookup_invoice"},
          "note": "kept",
          "request": {"id": "INV-1042"},
          "response": {"total": "1,240.00 EUR"},
          "step_hash": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
          "type": "tool.request"
        }
      ],
      "timestamp": "2026-02-22T19:00:00Z"
    }
  },
  "version": "0.9"
}
"#;

/// Every file, by name.
pub(super) fn files() -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let key = HmacKey::from_text(KEY.as_bytes()).map_err(|error| error.to_string())?;
    let full = document(&STEPS, "run-invoice-1042")?;
    let policy = Policy { profile: "example", version: "1.0+example" };
    let signing = Signing { key: &key, key_id: "example" };
    let masked = bundle(&full, &Example, &policy, Some(signing)).map_err(|error| error.to_string())?;
    Ok(vec![
        ("invoice.bundle", masked.bytes),
        ("invoice.rpk", full),
        ("legacy-0.9.rpk", legacy()?),
        ("minimal.rpk", document(&STEPS[6..], "run-minimal")?),
        ("shared.key", format!("{KEY}\n").into_bytes()),
    ])
}

fn document(steps: &[(&str, &str, &str, &str)], id: &str) -> Result<Vec<u8>, String> {
    let mut draft = Draft::new();
    for (number, (step_type, input, output, metadata)) in (1..).zip(steps) {
        let id = format!("step-{number:06}");
        let step = NewStep {
            id: &id,
            step_type,
            input: input.as_bytes(),
            output: output.as_bytes(),
            metadata: metadata.as_bytes(),
            timestamp: None,
        };
        draft.append(&step).map_err(|error| format!("{step_type}: {error}"))?;
    }
    let run = RunHeader {
        version: "1.0",
        id,
        timestamp: "2026-11-14T09:30:00+01:00",
        environment_fingerprint: br#"{"os": "linux", "arch": "x86_64"}"#,
        runtime_versions: br#"{"reenact": "0.1.0"}"#,
        more: &[],
        metadata: &[],
        created_at: "2026-11-14T09:30:00+01:00",
    };
    draft.finish(&run, None).map_err(|error| error.to_string())
}

fn legacy() -> Result<Vec<u8>, String> {
    let head = Head::read(LEGACY.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
    let checksum = survey(&head, None, |_, _, _| {}).checksum.map_err(|fault| fault.to_string())?;
    Ok(LEGACY.replace("CHECKSUM", &format!("sha256:{checksum}")).into_bytes())
}

/// What is secret in this example.
struct Example;

impl Mask for Example {
    fn is_secret(&self, name: &str) -> bool {
        ["x-api-key", "token"].contains(&name)
    }

    fn masked(&self, _: Option<&str>, text: &str) -> Option<String> {
        text.contains("ada@example.com").then(|| text.replace("ada@example.com", "[REDACTED]"))
    }
}
