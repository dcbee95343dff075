//! The example as `.rpk`: the smallest document, one with every type of step, the same as a bundle,
//! and one of version 0.9.

use reenact_formats::rpk::bundle::{RpkMask, RpkMaskPolicy, make_bundle};
use reenact_formats::rpk::hash_walk::compute_digests;
use reenact_formats::rpk::write::{HmacSigning, NewRpkStep, RpkDocumentBuilder, RpkRunHeader};
use reenact_formats::rpk::{HmacKey, RpkHead};
use reenact_json::Limits;

/// Key that signs the bundle. It is published: the signature shows what one looks like and proves
/// nothing.
const KEY: &str = "an example key that everyone knows";

/// Steps: type, input, output, metadata.
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

/// Returns every file, by name.
pub(super) fn files() -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let key = HmacKey::from_text(KEY.as_bytes()).map_err(|error| error.to_string())?;
    let full = document(&STEPS, "run-invoice-1042")?;
    let policy = RpkMaskPolicy { profile: "example", version: "1.0+example" };
    let signing = HmacSigning { key: &key, key_id: "example" };
    let masked =
        make_bundle(&full, &ExampleMask, &policy, Some(signing)).map_err(|error| error.to_string())?;
    Ok(vec![
        ("invoice.bundle", masked.bytes),
        ("invoice.rpk", full),
        ("legacy-0.9.rpk", legacy()?),
        ("minimal.rpk", document(&STEPS[6..], "run-minimal")?),
        ("shared.key", format!("{KEY}\n").into_bytes()),
    ])
}

/// Returns a document with these steps.
fn document(steps: &[(&str, &str, &str, &str)], id: &str) -> Result<Vec<u8>, String> {
    let mut draft = RpkDocumentBuilder::new();
    for (number, (step_type, input, output, metadata)) in (1..).zip(steps) {
        let id = format!("step-{number:06}");
        let step = NewRpkStep {
            id: &id,
            step_type,
            input: input.as_bytes(),
            output: output.as_bytes(),
            metadata: metadata.as_bytes(),
            timestamp: None,
        };
        draft.append(&step).map_err(|error| format!("{step_type}: {error}"))?;
    }
    let run = RpkRunHeader {
        version: "1.0",
        id,
        timestamp: "2026-11-14T09:30:00+01:00",
        environment_fingerprint: br#"{"os": "linux", "arch": "x86_64"}"#,
        runtime_versions: br#"{"reenact": "0.1.0"}"#,
        extra_members: &[],
        metadata: &[],
        created_at: "2026-11-14T09:30:00+01:00",
    };
    draft.finish(&run, None).map_err(|error| error.to_string())
}

/// Returns the document of version 0.9 with its checksum.
fn legacy() -> Result<Vec<u8>, String> {
    let head = RpkHead::read(LEGACY.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
    let checksum = compute_digests(&head, None, |_, _, _| {}).checksum.map_err(|fault| fault.to_string())?;
    Ok(LEGACY.replace("CHECKSUM", &format!("sha256:{checksum}")).into_bytes())
}

/// Mask of the example: two names and one address count as secret.
struct ExampleMask;

impl RpkMask for ExampleMask {
    fn is_secret(&self, name: &str) -> bool {
        ["x-api-key", "token"].contains(&name)
    }

    fn masked(&self, _: Option<&str>, text: &str) -> Option<String> {
        text.contains("ada@example.com").then(|| text.replace("ada@example.com", "[REDACTED]"))
    }
}
