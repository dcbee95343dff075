//! Envelopes as people and platforms write them, converted to the JSON that a run is sealed with.
//!
//! People write `[envelope]` in TOML, with the field names of the RER draft:
//!
//! ```toml
//! [envelope]
//! expiry = "2026-12-31T00:00:00Z"
//! [envelope.permissions]
//! allowed_models = ["gpt-5"]
//! allowed_tools = ["search_flights"]
//! [envelope.limits]
//! max_steps = 7
//! max_spend_usd = 0.05
//! ```
//!
//! A platform hands out JSON. Both become canonical JSON without a `signature` member, which the key of the
//! run adds with the seal. Start reading at [`parse`].

mod describe;
pub(crate) mod toml_reader;

use std::path::Path;

use reenact_formats::rer::envelope::approvers::{PinnedApprovers, unpinned_rules};
use reenact_formats::rer::envelope::authorization::Authorization;
use reenact_formats::rer::envelope::permission::Envelope;
use reenact_json::{Jcs, Limits, Shown, Value, canonical};
use reenact_verify::disk;

use crate::output::CommandError;

pub(crate) use describe::{summary_lines, terms_text};

/// An envelope that is checked and ready to be sealed.
pub(crate) struct UnsignedEnvelope {
    /// Canonical JSON (RFC 8785), without `signature`.
    pub(crate) json: Vec<u8>,
    /// Parsed permissions, as the policy engine takes them.
    pub(crate) envelope: Envelope,
    /// Notes for the author about rules that are allowed but probably not meant so.
    pub(crate) notes: Vec<String>,
}

/// Reads an envelope from a file, or from standard input if the path is `-`. See [`parse`].
///
/// # Errors
///
/// `impossible` if the file cannot be read, `refused` if it is no envelope.
pub(crate) fn load(path: &Path) -> Result<UnsignedEnvelope, CommandError> {
    let name = path.to_string_lossy().into_owned();
    let bytes = if name == "-" { disk::read_standard_input() } else { disk::read(path) };
    let bytes = bytes.map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))?;
    parse(&bytes).map_err(|why| {
        let name = if name == "-" { "standard input" } else { &name };
        CommandError::refused(format!("{}: {why}", Shown::whole(name)))
    })
}

/// Parses an envelope: JSON if the first character is `{`, otherwise TOML with a table `[envelope]`.
///
/// # Errors
///
/// A message with the line and the field (TOML) or the JSON path, and the allowed values.
pub(crate) fn parse(bytes: &[u8]) -> Result<UnsignedEnvelope, String> {
    let is_json = bytes.trim_ascii_start().starts_with(b"{");
    let json = if is_json {
        canonical_unsigned(bytes)?
    } else {
        let text = core::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        toml_reader::to_canonical_json(text).map_err(|fault| fault.to_string())?
    };
    let value = Value::parse(&json, &Limits::default()).map_err(|error| error.describe(&json))?;
    // The shape in the draft requires a signature, which only the seal adds; a placeholder stands in for it here.
    let signed = with_placeholder_signature(&json);
    let whole = Value::parse(&signed, &Limits::default()).map_err(|error| error.describe(&signed))?;
    let envelope = Envelope::read(whole).map_err(|fault| fault.to_string().replacen("$.envelope", "$", 1))?;
    if let PinnedApprovers::Unreadable(fault) = &envelope.approvers {
        return Err(fault.to_string());
    }
    let notes = author_notes(&envelope, value);
    Ok(UnsignedEnvelope { json, envelope, notes })
}

/// Returns an envelope in JSON in canonical form, without its signature.
fn canonical_unsigned(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let value = Value::parse(bytes, &Limits::default()).map_err(|error| error.describe(bytes))?;
    let mut out = Vec::new();
    canonical::write_without(value, &["signature"], &mut out).map_err(|fault| fault.to_string())?;
    // `write_without` copies a canonical object as it stands and rewrites any other one.
    let value = Value::parse(&out, &Limits::default()).map_err(|error| error.describe(&out))?;
    canonical::to_vec(value, Jcs).map_err(|fault| fault.to_string())
}

/// Returns the envelope with a signature of the right shape (128 zeros), so that the rest of its shape can be checked.
fn with_placeholder_signature(json: &[u8]) -> Vec<u8> {
    let mut signed = format!("{{\"signature\":\"{}\"", "0".repeat(128)).into_bytes();
    let rest = json.get(1..).unwrap_or_default();
    if rest != b"}" {
        signed.push(b',');
    }
    signed.extend_from_slice(rest);
    signed
}

/// Returns notes about names that look like patterns, about approval rules that never apply or that nobody can satisfy, and about an
/// authorisation that is missing or cannot be read.
fn author_notes(envelope: &Envelope, value: Value<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for (what, list) in
        [("allowed_models", &envelope.allowed_models), ("allowed_tools", &envelope.allowed_tools)]
    {
        for name in list.iter().filter(|name| name.contains(['*', '?'])) {
            notes.push(format!(
                "{what}: {} is a name like any other: these lists hold exact names, and only approvals have patterns",
                Shown::new(name)
            ));
        }
    }
    for (at, rule) in envelope.required_approvals.iter().enumerate() {
        let other = match rule.action.as_str() {
            "model.call" => rule.tool_pattern.as_ref().map(|_| "tool_pattern"),
            "tool.call" => rule.model_pattern.as_ref().map(|_| "model_pattern"),
            _ => {
                notes.push(format!(
                    "required_approvals[{at}]: no action is called {}; there are model.call and tool.call",
                    Shown::new(&rule.action)
                ));
                None
            }
        };
        if let Some(other) = other {
            notes.push(format!("required_approvals[{at}]: {other} says nothing about {}", rule.action));
        }
    }
    for at in unpinned_rules(envelope) {
        notes.push(format!(
            "required_approvals[{at}]: no approver is pinned for it, so nobody can approve, and `record` refuses to start; give it approvers = [\"KEY_ID\"]"
        ));
    }
    match Authorization::read(value) {
        Ok(Some(_)) => {}
        Ok(None) => notes.push("nobody has authorised it yet: `reenact policy sign` does".to_owned()),
        Err(fault) => {
            notes.push(format!("{fault}; `record` refuses it until `reenact policy sign` signs it again"));
        }
    }
    notes
}
