//! `cargo xtask example`: writes the example runs of `examples/runs`, the same bytes each time.
//!
//! The run is a small agent that looks up an invoice with a tool and pays nothing. A platform
//! authorised its envelope, a runtime enforced and signed it. Both keys are constants of this
//! program: the example shows what verification looks like, it proves nothing.
//!
//! | file | content |
//! |---|---|
//! | `invoice.rer.json` | the run as an RER artifact |
//! | `forged.rer.json` | the same with one byte forged |
//! | `signer.jwk`, `platform.jwk` | public keys of the runtime and of the platform |
//! | `invoice.tar.gz` | the run as a Replay Bundle |
//! | `invoice.model_io.json`, `invoice.pack/` | the run as a Model IO session, alone and in a pack |
//! | `invoice.replay/` | the run as a REPLAY.jsonl with its RECEIPT.json |
//! | `invoice.rpk`, `invoice.bundle` | the run as `.rpk`, and masked and signed |
//! | `minimal.rpk`, `legacy-0.9.rpk` | the smallest `.rpk`, and one of version 0.9 |
//! | `shared.key` | the key that signed `invoice.bundle` |
//!
//! A test fails if the committed files are not what this program writes.

mod bundle;
mod replay;
mod rpk;
mod session;

use std::fs;
use std::path::Path;

use reenact_formats::rer::RerVersion;
use reenact_formats::rer::envelope::authorization::{AuthorizationTerms, AuthorizedRuntime, authorise};
use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader, Signer};
use reenact_json::{Limits, Value};

use reenact_testkit::fixture::TestKey;

/// Envelope of the run, which the platform authorises.
const ENVELOPE: &str = r#"{
    "envelope_version": "rer-envelope/0.2",
    "permissions": {"allowed_models": ["claude-sonnet-4-5"], "allowed_tools": ["lookup_invoice"]},
    "limits": {"max_steps": 6, "max_spend_usd": 0.05},
    "expiry": "2026-12-31T00:00:00Z",
    "metadata": {"purpose": "example"}
}"#;

/// Events: type, milliseconds since the start, payload.
const EVENTS: [(&str, u32, &str); 12] = [
    (
        "rer.run.started",
        0,
        r#"{"runtime_version": "0.1.0", "environment": {"os": "linux", "arch": "x86_64"}, "enforcement": "enforce"}"#,
    ),
    (
        "rer.policy.evaluated",
        11,
        r#"{"action": "model.call", "model": "claude-sonnet-4-5", "decision": "allow", "rule": "allowed_models", "step_id": "s1"}"#,
    ),
    (
        "rer.model.called",
        12,
        r#"{"step_id": "s1", "provider": "anthropic", "model": "claude-sonnet-4-5", "endpoint": "messages",
            "http": {"method": "POST", "path": "/v1/messages", "headers": [["content-type", "application/json"]],
            "body": {"text": "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":256,\"messages\":[{\"role\":\"user\",\"content\":\"Is invoice 2041 paid?\"}]}"}},
            "source": "observed"}"#,
    ),
    (
        "rer.model.returned",
        841,
        r#"{"step_id": "s1", "status": 200, "complete": true, "ended_by": "eof", "latency_ms": 829, "spend_usd": 0.000468,
            "http": {"version": "1.1", "headers": [["content-type", "application/json"]],
            "body": {"text": "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_01\",\"name\":\"lookup_invoice\",\"input\":{\"number\":2041}}],\"usage\":{\"input_tokens\":41,\"output_tokens\":23}}"}},
            "source": "observed"}"#,
    ),
    (
        "rer.policy.evaluated",
        842,
        r#"{"action": "tool.call", "tool": "lookup_invoice", "decision": "allow", "rule": "allowed_tools", "step_id": "s2"}"#,
    ),
    (
        "rer.tool.called",
        843,
        r#"{"step_id": "s2", "tool_call_id": "toolu_01", "tool": "lookup_invoice", "input": {"number": 2041}, "via": "conversation", "source": "inferred"}"#,
    ),
    (
        "rer.tool.returned",
        851,
        r#"{"step_id": "s2", "tool_call_id": "toolu_01", "tool": "lookup_invoice", "output": {"number": 2041, "due": "2026-11-30", "amount": "1,240.00 EUR", "paid": false}, "is_error": false, "source": "inferred"}"#,
    ),
    (
        "rer.policy.evaluated",
        852,
        r#"{"action": "model.call", "model": "claude-sonnet-4-5", "decision": "allow", "rule": "allowed_models", "step_id": "s3"}"#,
    ),
    (
        "rer.model.called",
        853,
        r#"{"step_id": "s3", "provider": "anthropic", "model": "claude-sonnet-4-5", "endpoint": "messages",
            "http": {"method": "POST", "path": "/v1/messages", "headers": [["content-type", "application/json"]],
            "body": {"text": "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":256,\"messages\":[{\"role\":\"user\",\"content\":\"Is invoice 2041 paid?\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_01\",\"name\":\"lookup_invoice\",\"input\":{\"number\":2041}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_01\",\"content\":\"paid: false\"}]}]}"}},
            "source": "observed"}"#,
    ),
    (
        "rer.model.returned",
        1502,
        r#"{"step_id": "s3", "status": 200, "complete": true, "ended_by": "eof", "latency_ms": 649, "spend_usd": 0.000756,
            "http": {"version": "1.1", "headers": [["content-type", "application/json"]],
            "body": {"text": "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"No. Invoice 2041 (1,240.00 EUR) is unpaid and due on 2026-11-30.\"}],\"usage\":{\"input_tokens\":97,\"output_tokens\":31}}"}},
            "source": "observed"}"#,
    ),
    (
        "rer.output.final",
        1504,
        r#"{"output": "No. Invoice 2041 (1,240.00 EUR) is unpaid and due on 2026-11-30."}"#,
    ),
    (
        "rer.run.ended",
        1505,
        r#"{"status": "completed", "reason": "exit", "exit_code": 0, "total_model_calls": 2, "total_tool_calls": 1, "total_spend_usd": 0.001224}"#,
    ),
];

/// Writes the run, the same run with one byte forged, the public keys, and the run in the other
/// formats.
///
/// # Errors
/// If a record cannot be built, or a file cannot be written.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let folder = root.join("examples/runs");
    for (name, bytes) in files()? {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        fs::write(&path, &bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{} ({} bytes)", path.display(), bytes.len());
    }
    Ok(())
}

/// Returns every file of the example, by name.
fn files() -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let (signer, platform) = (TestKey::of(0x2A), TestKey::of(0x2B));
    let run = artifact(&signer, &platform)?;
    let forged = forged(&run)?;
    let mut files = vec![
        ("forged.rer.json", forged),
        ("invoice.rer.json", run),
        ("platform.jwk", jwk(&platform).into_bytes()),
        ("signer.jwk", jwk(&signer).into_bytes()),
    ];
    files.extend(bundle::files()?);
    files.extend(session::files()?);
    files.extend(replay::files()?);
    files.extend(rpk::files()?);
    Ok(files)
}

/// Returns the envelope with the platform's authorization for the runtime's key.
fn envelope(signer: &TestKey, platform: &TestKey) -> Result<Vec<u8>, String> {
    let document =
        Value::parse(ENVELOPE.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
    let runtime = AuthorizedRuntime::Key(signer.public_key().id());
    let terms = AuthorizationTerms { runtime, not_after: None };
    authorise(document, &terms, platform).map_err(|fault| fault.to_string())
}

/// Seals the events under the envelope.
fn artifact(signer: &TestKey, platform: &TestKey) -> Result<Vec<u8>, String> {
    let envelope = envelope(signer, platform)?;
    let mut chain = ArtifactBuilder::new(RerVersion::V02);
    for (step_index, (event_type, milliseconds, payload)) in (0..).zip(EVENTS) {
        let timestamp = format!("2026-11-14T09:30:{:02}.{:03}Z", milliseconds / 1000, milliseconds % 1000);
        let event = NewEvent {
            step_index,
            event_type,
            timestamp: &timestamp,
            payload: Some(payload.as_bytes()),
            redacted: false,
        };
        chain.append(&event).map_err(|error| format!("{event_type}: {error}"))?;
    }
    let run = RerRunHeader {
        run_id: "019a8172-3a80-7d21-9f3e-2b6c5d4e3f2a",
        implementation: "reenact",
        version: "0.1.0",
        envelope: &envelope,
        manifest_hash: None,
    };
    chain.seal(&run, signer).map_err(|error| error.to_string())
}

/// Changes one byte of the tool's answer: the invoice is now over 9,240.00 EUR.
fn forged(run: &[u8]) -> Result<Vec<u8>, String> {
    let amount = b"1,240.00 EUR\",\"due\"";
    let at = run
        .windows(amount.len())
        .position(|window| window == amount)
        .ok_or("the tool's answer is not there")?;
    let mut forged = run.to_vec();
    forged[at] = b'9';
    Ok(forged)
}

/// Returns the public key as a JWK.
fn jwk(signer: &TestKey) -> String {
    let key = signer.public_key();
    format!(
        "{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"{}\",\"kid\":\"{}\"}}\n",
        key.to_base64url(),
        key.id()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the repository is what this program writes.
    #[test]
    fn committed_example_is_current() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/runs");
        for (name, bytes) in files().unwrap() {
            assert!(bytes == fs::read(folder.join(name)).unwrap(), "{name}: run `cargo xtask example`");
        }
    }
}
