//! RECEIPT.json: the summary of a session. Two generations are in use, told apart by their members.

use std::borrow::Cow;

use reenact_json::canonical::{self, ByteSink};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Limits, SyntaxError, Value, ValueKind};

use super::canonical::{ReplayJsonlForm, write_without};
use crate::rer::RerStructureProblem;

/// Largest receipt that is read, in bytes.
pub const MAX_RECEIPT_BYTES: u64 = 256 << 20;

/// Shape of a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptGeneration {
    /// `SessionReceipt`: calls have ids and utilities.
    First,
    /// `openagents.receipt.v1`: calls have no ids; the receipt carries a digest of itself.
    Second,
}

/// Reason why a file is not a receipt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptError {
    /// The file is not JSON within the limits.
    #[error("it is not JSON: {0}")]
    Syntax(SyntaxError),
    /// The file is JSON, but not an object.
    #[error("a receipt is an object, this is {found}")]
    NotAnObject {
        /// Kind of the value, in words.
        found: &'static str,
    },
    /// A required member is missing or of the wrong kind.
    #[error("{path} {problem}")]
    Member {
        /// JSON path of the member, without `$.`.
        path: String,
        /// Fault of the member.
        problem: RerStructureProblem,
    },
}

/// Receipt, as a view over its bytes.
#[derive(Debug, Clone)]
pub struct Receipt<'a> {
    /// Shape of the receipt.
    pub generation: ReceiptGeneration,
    document: Value<'a>,
    tool_calls: Vec<Value<'a>>,
}

impl<'a> Receipt<'a> {
    /// Reads a receipt of either generation, and checks that its required members are present.
    ///
    /// # Errors
    ///
    /// [`ReceiptError`] at the first fault.
    pub fn read(bytes: &'a [u8], limits: &Limits) -> Result<Self, ReceiptError> {
        let document = Value::parse(bytes, limits).map_err(ReceiptError::Syntax)?;
        if document.kind() != ValueKind::Object {
            return Err(ReceiptError::NotAnObject { found: document.kind().name() });
        }
        let of_second =
            |schema: Value<'_>| schema.string().is_some_and(|s| s.starts_with("openagents.receipt."));
        let is_second = document.member("schema").is_some_and(of_second)
            || document.member("canonical_json_sha256").is_some();
        let generation = if is_second { ReceiptGeneration::Second } else { ReceiptGeneration::First };
        let mut receipt = Self { generation, document, tool_calls: Vec::new() };
        receipt.required_member("", document, "session_id", ValueKind::String)?;
        let calls = receipt.required_member("", document, "tool_calls", ValueKind::Array)?;
        match generation {
            ReceiptGeneration::First => {
                receipt.required_member("", document, "verification", ValueKind::Object)?;
                receipt.required_member("", document, "final_confidence", ValueKind::Number)?;
            }
            ReceiptGeneration::Second => {
                receipt.required_member("", document, "canonical_json_sha256", ValueKind::String)?;
            }
        }
        for (at, call) in calls.elements().enumerate() {
            let path = format!("tool_calls[{at}]");
            if call.kind() != ValueKind::Object {
                let problem = RerStructureProblem::Kind { wanted: "an object", found: call.kind().name() };
                return Err(ReceiptError::Member { path, problem });
            }
            let first: &[&str] = if generation == ReceiptGeneration::First { &["id"] } else { &[] };
            for name in first.iter().chain(&["tool", "params_hash", "output_hash"]) {
                receipt.required_member(&path, call, name, ValueKind::String)?;
            }
            receipt.tool_calls.push(call);
        }
        Ok(receipt)
    }

    fn required_member(
        &self,
        path: &str,
        of: Value<'a>,
        name: &str,
        wanted: ValueKind,
    ) -> Result<Value<'a>, ReceiptError> {
        let problem = match of.member(name) {
            Some(value) if value.kind() == wanted => return Ok(value),
            Some(value) => RerStructureProblem::Kind { wanted: wanted.name(), found: value.kind().name() },
            None => RerStructureProblem::Missing,
        };
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        Err(ReceiptError::Member { path, problem })
    }

    /// Returns a member of the receipt.
    pub fn member(&self, name: &str) -> Option<Value<'a>> {
        self.document.member(name)
    }

    /// Returns the policy: `policy_bundle_id`, or its older name `policy_version`.
    pub fn policy(&self) -> Option<Value<'a>> {
        self.member("policy_bundle_id").or_else(|| self.member("policy_version"))
    }

    /// Returns the tool calls, each an object with `tool`, `params_hash` and `output_hash`, and `id` in the first
    /// generation.
    pub fn tool_calls(&self) -> &[Value<'a>] {
        &self.tool_calls
    }

    /// Returns the commands that checked the work, and their exit codes, as two lists.
    pub fn verification(&self) -> (Vec<Value<'a>>, Vec<Value<'a>>) {
        let Some(verification) = self.member("verification") else { return Default::default() };
        match self.generation {
            ReceiptGeneration::First => {
                let list =
                    |name| verification.member(name).map_or(Vec::new(), |list| list.elements().collect());
                (list("commands_run"), list("exit_codes"))
            }
            ReceiptGeneration::Second => {
                let each = |name: &str| {
                    verification.elements().filter_map(|ran| ran.member(name)).collect::<Vec<_>>()
                };
                (each("command"), each("exit_code"))
            }
        }
    }

    /// Returns the value that `canonical_json_sha256` of the second generation should have: the hash of the receipt
    /// without that member and without `signature`, and of its payments without theirs.
    ///
    /// # Errors
    ///
    /// [`CanonicalFault`] if a value has no canonical form.
    pub fn digest(&self) -> Result<Digest, CanonicalFault> {
        let name = |value: Value<'a>| value.string().unwrap_or(Cow::Borrowed(""));
        let mut members: Vec<(Value<'a>, Value<'a>)> = self.document.members().collect();
        members
            .retain(|(found, _)| !found.is_string("canonical_json_sha256") && !found.is_string("signature"));
        members.sort_by(|(a, _), (b, _)| name(*a).cmp(&name(*b)));
        let mut out = Hasher::new();
        let mut before: &[u8] = b"{";
        for (found, value) in members {
            out.put(before);
            before = b",";
            canonical::write(found, ReplayJsonlForm, &mut out)?;
            out.put(b":");
            if found.is_string("payments") && value.kind() == ValueKind::Array {
                let mut before: &[u8] = b"[";
                for payment in value.elements() {
                    out.put(before);
                    before = b",";
                    write_without(payment, &["signature"], &mut out)?;
                }
                out.put(if before == b"[" { b"[]" } else { b"]" });
            } else {
                canonical::write(value, ReplayJsonlForm, &mut out)?;
            }
        }
        out.put(if before == b"{" { b"{}" } else { b"}" });
        Ok(out.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Receipt<'_>, ReceiptError> {
        Receipt::read(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn generations_by_their_members() {
        let first = r#"{"session_id":"s","tool_calls":[],"verification":{},"final_confidence":1}"#;
        assert_eq!(read(first).map(|receipt| receipt.generation), Ok(ReceiptGeneration::First));
        let second = r#"{"session_id":"s","tool_calls":[],"canonical_json_sha256":""}"#;
        assert_eq!(read(second).map(|receipt| receipt.generation), Ok(ReceiptGeneration::Second));
    }

    #[test]
    fn what_is_no_receipt() {
        assert_eq!(read("[]").err(), Some(ReceiptError::NotAnObject { found: "an array" }));
        assert!(matches!(read("{").err(), Some(ReceiptError::Syntax(_))));
        for (text, message) in [
            ("{}", "session_id is missing"),
            (r#"{"session_id":"s","tool_calls":{}}"#, "tool_calls must be an array, not an object"),
            (
                r#"{"session_id":"s","tool_calls":[{"tool":"t"}],"verification":{},"final_confidence":1}"#,
                "tool_calls[0].id is missing",
            ),
            (
                r#"{"session_id":"s","tool_calls":[],"schema":"openagents.receipt.v1"}"#,
                "canonical_json_sha256 is missing",
            ),
        ] {
            assert_eq!(read(text).err().map(|error| error.to_string()).as_deref(), Some(message), "{text}");
        }
    }

    #[test]
    fn the_digest_leaves_out_what_is_added_later() {
        let receipt = r#"{"session_id":"s","tool_calls":[],"canonical_json_sha256":"x","signature":{},"payments":[{"signature":1,"canonical_json_sha256":"y"}]}"#;
        let hashed = br#"{"payments":[{"canonical_json_sha256":"y"}],"session_id":"s","tool_calls":[]}"#;
        assert_eq!(read(receipt).unwrap().digest(), Ok(Digest::of(hashed)));
    }
}
