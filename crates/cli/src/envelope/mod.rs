//! Envelopes as people write them, and as RER has them.
//!
//! People write `[envelope]` in TOML, with the draft's own field names; a platform hands out JSON. Either becomes the JSON that a
//! run is sealed with, without its signature: that is the run's own key's to give.

mod describe;
pub(crate) mod read;

use std::path::Path;

use reenact_formats::rer::envelope::permission::Envelope;
use reenact_json::{Jcs, Limits, Shown, Value, canonical};
use reenact_verify::disk;

use crate::output::Ending;

pub(crate) use describe::lines;

/// An envelope that can be sealed.
pub(crate) struct Ready {
    /// Canonical, without `signature`.
    pub(crate) json: Vec<u8>,
    /// What it says.
    pub(crate) envelope: Envelope,
    /// What its author should know.
    pub(crate) notes: Vec<String>,
}

/// Reads a file: TOML with a table `[envelope]`, or an envelope as RER has it.
pub(crate) fn read(path: &Path) -> Result<Ready, Ending> {
    let name = path.to_string_lossy().into_owned();
    let bytes = if name == "-" { disk::read_standard_input() } else { disk::read(path) };
    let bytes = bytes.map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))?;
    of(&bytes).map_err(|why| {
        let name = if name == "-" { "standard input" } else { &name };
        Ending::refused(format!("{}: {why}", Shown::whole(name)))
    })
}

/// Reads an envelope from its bytes; why it is none, with the line and the field.
pub(crate) fn of(bytes: &[u8]) -> Result<Ready, String> {
    let is_json = bytes.trim_ascii_start().starts_with(b"{");
    let json = if is_json {
        json(bytes)?
    } else {
        let text = core::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        read::toml(text).map_err(|fault| fault.to_string())?
    };
    let value = Value::parse(&json, &Limits::default()).map_err(|error| error.describe(&json))?;
    // The published shape asks for a signature, which comes with the seal.
    let signed = with_signature(&json);
    let whole = Value::parse(&signed, &Limits::default()).map_err(|error| error.describe(&signed))?;
    let envelope = Envelope::read(whole).map_err(|fault| fault.to_string().replacen("$.envelope", "$", 1))?;
    let notes = notes(&envelope, value);
    Ok(Ready { json, envelope, notes })
}

/// An envelope in JSON, canonical and without its signature.
fn json(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let value = Value::parse(bytes, &Limits::default()).map_err(|error| error.describe(bytes))?;
    let mut out = Vec::new();
    canonical::write_without(value, &["signature"], &mut out).map_err(|fault| fault.to_string())?;
    // What was canonical is copied as it stands; the rest was rewritten.
    let value = Value::parse(&out, &Limits::default()).map_err(|error| error.describe(&out))?;
    canonical::to_vec(value, Jcs).map_err(|fault| fault.to_string())
}

/// The same with a signature of the right shape, so that the rest can be judged.
fn with_signature(json: &[u8]) -> Vec<u8> {
    let mut signed = format!("{{\"signature\":\"{}\"", "0".repeat(128)).into_bytes();
    let rest = json.get(1..).unwrap_or_default();
    if rest != b"}" {
        signed.push(b',');
    }
    signed.extend_from_slice(rest);
    signed
}

fn notes(envelope: &Envelope, value: Value<'_>) -> Vec<String> {
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
    if value.member("metadata").and_then(|metadata| metadata.member("authorization")).is_none() {
        notes.push("nobody has authorised it yet: `reenact envelope sign` does".to_owned());
    }
    notes
}
