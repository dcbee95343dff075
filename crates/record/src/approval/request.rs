//! A question as it lies on the disk: everything that an approver must see, in canonical form.

use reenact_formats::rer::approval::input_hash;
use reenact_formats::rer::envelope::decide::Action;
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::time;
use reenact_json::canonical::{self, Part};
use reenact_json::{Digest, Kind, Limits, Shown, Value};

use super::ApprovalId;
use super::file::LARGEST;
use crate::run_id::RunId;

/// The version of these files, as they name themselves.
const VERSION: &str = "reenact-approval-request/1";

/// A question to approvers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its id.
    pub approval_id: ApprovalId,
    /// The run that waits for the answer.
    pub run_id: RunId,
    /// What is to happen.
    pub action: Action,
    /// Of which model or tool.
    pub name: String,
    /// With what: all of it if `is_whole`, else its beginning. Secrets are masked.
    pub input: String,
    /// Whether `input` is all of it.
    pub is_whole: bool,
    /// How long all of it is, in bytes.
    pub input_size: u64,
    /// The hash of all of it; this is what the answer is bound to.
    pub input_hash: Digest,
    /// The rule of the envelope that asks for an approval.
    pub rule: String,
    /// Who may answer; `None` any approver.
    pub signer_types: Option<Vec<SignerType>>,
    /// When it was asked: RFC 3339, in UTC.
    pub asked_at: String,
    /// Until when an answer is waited for, in the same form.
    pub expires_at: String,
}

/// Why bytes are no question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestFault {
    /// Not a text that we write.
    #[error("is not canonical JSON")]
    NotCanonical,
    /// A member that no question has.
    #[error("has the unknown member \"{}\"", Shown::new(.name))]
    Unknown {
        /// Its name.
        name: String,
    },
    /// A member that is missing, or is not what belongs there.
    #[error("`{member}` must be {wanted}")]
    Member {
        /// Its name.
        member: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// Whoever approves what is shown would approve something else.
    #[error("what it shows is not what its input_hash is the hash of")]
    InputHash,
}

/// Every member, in canonical order.
const MEMBERS: [&str; 14] = [
    "action",
    "approval_id",
    "asked_at",
    "expires_at",
    "input",
    "input_hash",
    "input_size",
    "input_whole",
    "model",
    "request_version",
    "rule",
    "run_id",
    "signer_types",
    "tool",
];

impl Request {
    /// The file's text.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let string = |text: &str| {
            let mut out = Vec::new();
            canonical::write_string(text, &mut out);
            Some(out)
        };
        let plain = |text: String| Some(text.into_bytes());
        let (model, tool) = match self.action {
            Action::Model => (string(&self.name), None),
            Action::Tool => (None, string(&self.name)),
        };
        let types = self.signer_types.as_ref().map(|types| {
            let names: Vec<String> = types.iter().map(|kind| format!("\"{}\"", kind.name())).collect();
            format!("[{}]", names.join(","))
        });
        let texts = [
            string(self.action.name()),
            string(&self.approval_id.to_string()),
            string(&self.asked_at),
            string(&self.expires_at),
            string(&self.input),
            string(&self.input_hash.to_string()),
            plain(self.input_size.to_string()),
            plain(self.is_whole.to_string()),
            model,
            string(VERSION),
            string(&self.rule),
            string(&self.run_id.to_string()),
            plain(types.unwrap_or_else(|| "null".into())),
            tool,
        ];
        let members: Vec<_> = MEMBERS
            .into_iter()
            .zip(&texts)
            .filter_map(|(name, text)| {
                let value = Value::parse(text.as_deref()?, &Limits::default()).ok()?;
                Some((name, Part::Value(value)))
            })
            .collect();
        let mut out = Vec::new();
        // Texts, small numbers and words all have a canonical form.
        let _ = canonical::write_object(&members, &mut out);
        out
    }

    /// Reads a file's text. What it shows must be what its hash says, as far as it shows all.
    pub(super) fn read(text: &[u8]) -> Result<Self, RequestFault> {
        let value = Value::parse(text, &Limits { depth: 8, bytes: LARGEST })
            .ok()
            .filter(|value| value.kind() == Kind::Object && value.is_canonical() && value.text() == text)
            .ok_or(RequestFault::NotCanonical)?;
        if let Some((name, _)) =
            value.members().find(|(name, _)| !MEMBERS.iter().any(|known| name.is_string(known)))
        {
            return Err(RequestFault::Unknown { name: name.string().unwrap_or_default().into_owned() });
        }
        let file = File(value);
        file.read("request_version", "\"reenact-approval-request/1\"", |text| {
            (text == VERSION).then_some(())
        })?;
        let action = file.read("action", "\"model.call\" or \"tool.call\"", |text| {
            [Action::Model, Action::Tool].into_iter().find(|action| action.name() == text)
        })?;
        let (own, other) = match action {
            Action::Model => ("model", "tool"),
            Action::Tool => ("tool", "model"),
        };
        if value.member(other).is_some() {
            return Err(RequestFault::Member { member: other, wanted: "absent" });
        }
        let moment = |text: &str| time::instant(text).map(|_| text.to_owned());
        let a_moment = "a time of RFC 3339";
        let request = Self {
            approval_id: file.read("approval_id", "an id", |text| text.parse().ok())?,
            run_id: file.read("run_id", "the id of a run", |text| text.parse().ok())?,
            action,
            name: file.read(own, "a text of at least one character", |text| {
                (!text.is_empty()).then(|| text.to_owned())
            })?,
            input: file.read("input", "a text", |text| Some(text.to_owned()))?,
            is_whole: file.other("input_whole", "true or false", |value| value.boolean())?,
            input_size: file.other("input_size", "a whole number", |value| value.whole())?,
            input_hash: file.read("input_hash", "64 lower-case hexadecimal digits", Digest::from_hex)?,
            rule: file.read("rule", "a text", |text| Some(text.to_owned()))?,
            signer_types: file.other("signer_types", "null, or a list of signer types", signer_types)?,
            asked_at: file.read("asked_at", a_moment, moment)?,
            expires_at: file.read("expires_at", a_moment, moment)?,
        };
        if request.is_whole && input_hash(request.input.as_bytes()) != request.input_hash {
            return Err(RequestFault::InputHash);
        }
        Ok(request)
    }

    /// When it was asked, in nanoseconds since 1970.
    pub fn asked(&self) -> i128 {
        time::instant(&self.asked_at).unwrap_or(i128::MIN)
    }

    /// Until when an answer is waited for, in nanoseconds since 1970.
    pub fn expires(&self) -> i128 {
        time::instant(&self.expires_at).unwrap_or(i128::MIN)
    }
}

fn signer_types(value: Value<'_>) -> Option<Option<Vec<SignerType>>> {
    match value.kind() {
        Kind::Null => Some(None),
        Kind::Array => value.elements().map(SignerType::of).collect::<Option<Vec<_>>>().map(Some),
        _ => None,
    }
}

/// The members of a file.
struct File<'a>(Value<'a>);

impl<'a> File<'a> {
    fn read<T>(
        &self,
        member: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, RequestFault> {
        self.other(member, wanted, |value| read(&value.string()?))
    }

    fn other<T>(
        &self,
        member: &'static str,
        wanted: &'static str,
        read: impl FnOnce(Value<'a>) -> Option<T>,
    ) -> Result<T, RequestFault> {
        self.0.member(member).and_then(read).ok_or(RequestFault::Member { member, wanted })
    }
}
