//! RECEIPT.json: what a session did, summed up after it. Two generations are in use, told apart by their members.

use std::borrow::Cow;

use reenact_json::canonical::{self, Sink};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Kind, Limits, SyntaxError, Value};

use super::canonical::{ReplayJsonlForm, write_without};
use crate::rer::Problem;

/// The largest receipt that is read.
pub const LARGEST: u64 = 256 << 20;

/// Which shape a receipt has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// `SessionReceipt`: calls have ids and utilities.
    First,
    /// `openagents.receipt.v1`: calls have no ids; the receipt has a digest of its own.
    Second,
}

/// Why a file is no receipt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptError {
    /// It is not JSON that we read.
    #[error("it is not JSON: {0}")]
    Syntax(SyntaxError),
    /// It is JSON, but not an object.
    #[error("a receipt is an object, this is {found}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// A member is not as it should be.
    #[error("{path} {problem}")]
    Member {
        /// Where.
        path: String,
        /// What is wrong with it.
        problem: Problem,
    },
}

/// A receipt over its bytes.
#[derive(Debug, Clone)]
pub struct Receipt<'a> {
    /// Its shape.
    pub generation: Generation,
    document: Value<'a>,
    calls: Vec<Value<'a>>,
}

impl<'a> Receipt<'a> {
    /// Reads a receipt of either generation; what is always there must be there.
    pub fn read(bytes: &'a [u8], limits: &Limits) -> Result<Self, ReceiptError> {
        let document = Value::parse(bytes, limits).map_err(ReceiptError::Syntax)?;
        if document.kind() != Kind::Object {
            return Err(ReceiptError::NotAnObject { found: document.kind().name() });
        }
        let of_second =
            |schema: Value<'_>| schema.string().is_some_and(|s| s.starts_with("openagents.receipt."));
        let is_second = document.member("schema").is_some_and(of_second)
            || document.member("canonical_json_sha256").is_some();
        let generation = if is_second { Generation::Second } else { Generation::First };
        let mut receipt = Self { generation, document, calls: Vec::new() };
        receipt.needed("", document, "session_id", Kind::String)?;
        let calls = receipt.needed("", document, "tool_calls", Kind::Array)?;
        match generation {
            Generation::First => {
                receipt.needed("", document, "verification", Kind::Object)?;
                receipt.needed("", document, "final_confidence", Kind::Number)?;
            }
            Generation::Second => {
                receipt.needed("", document, "canonical_json_sha256", Kind::String)?;
            }
        }
        for (at, call) in calls.elements().enumerate() {
            let path = format!("tool_calls[{at}]");
            if call.kind() != Kind::Object {
                let problem = Problem::Kind { wanted: "an object", found: call.kind().name() };
                return Err(ReceiptError::Member { path, problem });
            }
            let first: &[&str] = if generation == Generation::First { &["id"] } else { &[] };
            for name in first.iter().chain(&["tool", "params_hash", "output_hash"]) {
                receipt.needed(&path, call, name, Kind::String)?;
            }
            receipt.calls.push(call);
        }
        Ok(receipt)
    }

    fn needed(&self, path: &str, of: Value<'a>, name: &str, wanted: Kind) -> Result<Value<'a>, ReceiptError> {
        let problem = match of.member(name) {
            Some(value) if value.kind() == wanted => return Ok(value),
            Some(value) => Problem::Kind { wanted: wanted.name(), found: value.kind().name() },
            None => Problem::Missing,
        };
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        Err(ReceiptError::Member { path, problem })
    }

    /// A member of the receipt.
    pub fn member(&self, name: &str) -> Option<Value<'a>> {
        self.document.member(name)
    }

    /// The policy: `policy_bundle_id`, or `policy_version` as it was called first.
    pub fn policy(&self) -> Option<Value<'a>> {
        self.member("policy_bundle_id").or_else(|| self.member("policy_version"))
    }

    /// The calls, each an object with `tool`, `params_hash` and `output_hash`, and `id` in the first generation.
    pub fn calls(&self) -> &[Value<'a>] {
        &self.calls
    }

    /// The commands that checked the work, and their exit codes, as two lists.
    pub fn verification(&self) -> (Vec<Value<'a>>, Vec<Value<'a>>) {
        let Some(verification) = self.member("verification") else { return Default::default() };
        match self.generation {
            Generation::First => {
                let list =
                    |name| verification.member(name).map_or(Vec::new(), |list| list.elements().collect());
                (list("commands_run"), list("exit_codes"))
            }
            Generation::Second => {
                let each = |name: &str| {
                    verification.elements().filter_map(|ran| ran.member(name)).collect::<Vec<_>>()
                };
                (each("command"), each("exit_code"))
            }
        }
    }

    /// What `canonical_json_sha256` of the second generation should be: the hash of the receipt without that member and
    /// the signature, and with its payments without theirs.
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
            if found.is_string("payments") && value.kind() == Kind::Array {
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
        assert_eq!(read(first).map(|receipt| receipt.generation), Ok(Generation::First));
        let second = r#"{"session_id":"s","tool_calls":[],"canonical_json_sha256":""}"#;
        assert_eq!(read(second).map(|receipt| receipt.generation), Ok(Generation::Second));
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
