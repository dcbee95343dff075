//! The file format of a question: canonical JSON with everything that an approver must see.

use std::collections::BTreeSet;

use reenact_formats::key::KeyId;
use reenact_formats::rer::approval::input_hash;
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::envelope::policy::Action;
use reenact_formats::rer::time;
use reenact_json::canonical::{self, ObjectPart};
use reenact_json::{Digest, Limits, Shown, Value, ValueKind};

use super::ApprovalId;
use super::file::MAX_APPROVAL_FILE_BYTES;
use crate::run_id::RunId;

/// Version of the file format, in the member `request_version`.
const VERSION: &str = "reenact-approval-request/1";

/// Question to approvers, as its file holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionFile {
    /// Id of the approval.
    pub approval_id: ApprovalId,
    /// Id of the run that waits for the answer.
    pub run_id: RunId,
    /// Kind of the action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: String,
    /// Masked input of the action: all of it if `is_input_whole`, else its beginning.
    pub input: String,
    /// True if `input` is the whole input.
    pub is_input_whole: bool,
    /// Length of the whole input, in bytes.
    pub input_size: u64,
    /// Hash of the whole input. The answer is bound to it.
    pub input_hash: Digest,
    /// Rule of the envelope that requires the approval.
    pub rule: String,
    /// Types of signers who may answer; `None` for any approver.
    pub signer_types: Option<Vec<SignerType>>,
    /// Keys that may answer: of those that the envelope pins for the action, the ones that the recorder knows.
    pub pinned: BTreeSet<KeyId>,
    /// Time at which the question was asked: RFC 3339, in UTC.
    pub asked_at: String,
    /// Time until which the run waits for an answer, in the same form.
    pub expires_at: String,
}

/// Reason why bytes are no question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionFileFault {
    /// The text is not canonical JSON.
    #[error("is not canonical JSON")]
    NotCanonical,
    /// An unknown member.
    #[error("has the unknown member \"{}\"", Shown::new(.name))]
    Unknown {
        /// Name of the member.
        name: String,
    },
    /// A member that is missing, or has a wrong value.
    #[error("`{member}` must be {wanted}")]
    Member {
        /// Name of the member.
        member: &'static str,
        /// Description of a correct value.
        wanted: &'static str,
    },
    /// The hash is not that of the shown input: an approver would approve something else than what is shown.
    #[error("what it shows is not what its input_hash is the hash of")]
    InputHash,
}

/// All members, in canonical order.
const MEMBERS: [&str; 15] = [
    "action",
    "approval_id",
    "asked_at",
    "expires_at",
    "input",
    "input_hash",
    "input_size",
    "input_whole",
    "model",
    "pinned",
    "request_version",
    "rule",
    "run_id",
    "signer_types",
    "tool",
];

impl QuestionFile {
    /// Returns the text of the file.
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
        let pinned: Vec<String> = self.pinned.iter().map(|id| format!("\"{id}\"")).collect();
        let texts = [
            string(self.action.name()),
            string(&self.approval_id.to_string()),
            string(&self.asked_at),
            string(&self.expires_at),
            string(&self.input),
            string(&self.input_hash.to_string()),
            plain(self.input_size.to_string()),
            plain(self.is_input_whole.to_string()),
            model,
            plain(format!("[{}]", pinned.join(","))),
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
                Some((name, ObjectPart::Value(value)))
            })
            .collect();
        let mut out = Vec::new();
        // Texts, small numbers and words always have a canonical form, so this cannot fail.
        let _ = canonical::write_object(&members, &mut out);
        out
    }

    /// Parses the text of a file. If the input is shown as a whole, its hash must match.
    pub(super) fn read(text: &[u8]) -> Result<Self, QuestionFileFault> {
        let value = Value::parse(text, &Limits { max_depth: 8, max_bytes: MAX_APPROVAL_FILE_BYTES })
            .ok()
            .filter(|value| value.kind() == ValueKind::Object && value.is_canonical() && value.text() == text)
            .ok_or(QuestionFileFault::NotCanonical)?;
        if let Some((name, _)) =
            value.members().find(|(name, _)| !MEMBERS.iter().any(|known| name.is_string(known)))
        {
            return Err(QuestionFileFault::Unknown { name: name.string().unwrap_or_default().into_owned() });
        }
        let file = QuestionMembers(value);
        file.text("request_version", "\"reenact-approval-request/1\"", |text| {
            (text == VERSION).then_some(())
        })?;
        let action = file.text("action", "\"model.call\" or \"tool.call\"", |text| {
            [Action::Model, Action::Tool].into_iter().find(|action| action.name() == text)
        })?;
        let (own, other) = match action {
            Action::Model => ("model", "tool"),
            Action::Tool => ("tool", "model"),
        };
        if value.member(other).is_some() {
            return Err(QuestionFileFault::Member { member: other, wanted: "absent" });
        }
        let moment = |text: &str| time::instant(text).map(|_| text.to_owned());
        let a_moment = "a time of RFC 3339";
        let request = Self {
            approval_id: file.text("approval_id", "an id", |text| text.parse().ok())?,
            run_id: file.text("run_id", "the id of a run", |text| text.parse().ok())?,
            action,
            name: file.text(own, "a text of at least one character", |text| {
                (!text.is_empty()).then(|| text.to_owned())
            })?,
            input: file.text("input", "a text", |text| Some(text.to_owned()))?,
            is_input_whole: file.value("input_whole", "true or false", |value| value.boolean())?,
            input_size: file.value("input_size", "a whole number", |value| value.unsigned_integer())?,
            input_hash: file.text("input_hash", "64 lower-case hexadecimal digits", Digest::from_hex)?,
            rule: file.text("rule", "a text", |text| Some(text.to_owned()))?,
            signer_types: file.value("signer_types", "null, or a list of signer types", signer_types)?,
            pinned: file.value("pinned", "a list of key ids", key_ids)?,
            asked_at: file.text("asked_at", a_moment, moment)?,
            expires_at: file.text("expires_at", a_moment, moment)?,
        };
        if request.is_input_whole && input_hash(request.input.as_bytes()) != request.input_hash {
            return Err(QuestionFileFault::InputHash);
        }
        Ok(request)
    }

    /// Returns the time at which the question was asked, in nanoseconds since 1970.
    pub fn asked_at_nanoseconds(&self) -> i128 {
        time::instant(&self.asked_at).unwrap_or(i128::MIN)
    }

    /// Returns the time until which the run waits for an answer, in nanoseconds since 1970.
    pub fn expires_at_nanoseconds(&self) -> i128 {
        time::instant(&self.expires_at).unwrap_or(i128::MIN)
    }
}

fn signer_types(value: Value<'_>) -> Option<Option<Vec<SignerType>>> {
    match value.kind() {
        ValueKind::Null => Some(None),
        ValueKind::Array => value.elements().map(SignerType::of).collect::<Option<Vec<_>>>().map(Some),
        _ => None,
    }
}

fn key_ids(value: Value<'_>) -> Option<BTreeSet<KeyId>> {
    let ids = (value.kind() == ValueKind::Array).then(|| value.elements())?;
    ids.map(|id| KeyId::parse(&id.string()?)).collect()
}

/// Members of a file that is being parsed.
struct QuestionMembers<'a>(Value<'a>);

impl<'a> QuestionMembers<'a> {
    fn text<T>(
        &self,
        member: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, QuestionFileFault> {
        self.value(member, wanted, |value| read(&value.string()?))
    }

    fn value<T>(
        &self,
        member: &'static str,
        wanted: &'static str,
        read: impl FnOnce(Value<'a>) -> Option<T>,
    ) -> Result<T, QuestionFileFault> {
        self.0.member(member).and_then(read).ok_or(QuestionFileFault::Member { member, wanted })
    }
}
