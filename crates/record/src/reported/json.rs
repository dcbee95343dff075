//! Reports as an agent in any language sends them: `{"type": "rer.plan.started", "payload": {…}}`.

use reenact_json::{Digest, Kind, Limits, Shown, Value};

use super::Report;

/// Why a report is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportFault {
    /// Not JSON, by the strict rules.
    #[error("it is not JSON: {0}")]
    Json(String),
    /// A type that nobody may report, or none.
    #[error("type: must be one of {}, and this is {found}", TYPES.join(", "))]
    Type {
        /// What it is; safe to print.
        found: String,
    },
    /// A member that is missing, or is not what it should be.
    #[error("payload.{member}: must be {wanted}")]
    Member {
        /// Which.
        member: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// A member that the event does not have.
    #[error("{member}: there is no such member")]
    Stranger {
        /// Which; safe to print.
        member: String,
    },
}

/// What may be reported. What was seen by others is not an agent's to tell.
const TYPES: [&str; 6] = [
    "rer.artifact.written",
    "rer.output.final",
    "rer.plan.started",
    "rer.prompt.rendered",
    "rer.step.completed",
    "rer.verification.ran",
];

/// Reads a report, and hands it on.
pub fn read<R>(text: &[u8], take: impl FnOnce(&Report<'_>) -> R) -> Result<R, ReportFault> {
    let document =
        Value::parse(text, &Limits::default()).map_err(|error| ReportFault::Json(error.describe(text)))?;
    only(document, "", &["payload", "type"])?;
    let name = document.member("type").and_then(|name| name.string());
    let payload = Payload(document.member("payload"));
    match name.as_deref() {
        Some("rer.prompt.rendered") => {
            payload.only(&["prompt", "template", "variables"])?;
            let (prompt, template) = (payload.text("prompt")?, payload.optional_text("template")?);
            let variables = payload.json("variables");
            Ok(take(&Report::PromptRendered {
                template: template.as_deref(),
                variables: variables.as_deref(),
                prompt: &prompt,
            }))
        }
        Some("rer.plan.started") => {
            payload.only(&["plan_hash", "steps"])?;
            let plan_hash = payload.optional_hash("plan_hash")?;
            let steps =
                payload.json("steps").ok_or(ReportFault::Member { member: "steps", wanted: "there" })?;
            Ok(take(&Report::PlanStarted { plan_hash, steps: &steps }))
        }
        Some("rer.step.completed") => {
            payload.only(&["iterations", "status", "step_id", "utility"])?;
            let (step_id, status) = (payload.text("step_id")?, payload.text("status")?);
            let iterations = payload.optional("iterations", "a whole number", |value| value.whole())?;
            let utility = payload.optional("utility", "a number", |value| value.double())?;
            Ok(take(&Report::StepCompleted { step_id: &step_id, status: &status, iterations, utility }))
        }
        Some("rer.verification.ran") => {
            payload.only(&["commands", "delta", "exit_codes"])?;
            let commands =
                payload.list("commands", "a list of texts", |value| Some(value.string()?.into_owned()))?;
            let exit_codes = payload.list("exit_codes", "a list of exit codes", exit_code)?;
            let delta = payload.json("delta").unwrap_or_else(|| "null".to_owned());
            let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
            let (commands, exit_codes) = (commands.as_slice(), exit_codes.as_slice());
            Ok(take(&Report::VerificationRan { commands, exit_codes, delta: &delta }))
        }
        Some("rer.artifact.written") => {
            payload.only(&["artifact_hash", "media_type", "name", "size_bytes"])?;
            let wanted = "64 hexadecimal digits";
            let artifact_hash = payload.optional_hash("artifact_hash")?;
            let artifact_hash =
                artifact_hash.ok_or(ReportFault::Member { member: "artifact_hash", wanted })?;
            let wanted = "a whole number";
            let size_bytes = payload.optional("size_bytes", wanted, |value| value.whole())?;
            let size_bytes = size_bytes.ok_or(ReportFault::Member { member: "size_bytes", wanted })?;
            let (name, media_type) = (payload.text("name")?, payload.optional_text("media_type")?);
            let media_type = media_type.as_deref();
            Ok(take(&Report::ArtifactWritten { artifact_hash, name: &name, size_bytes, media_type }))
        }
        Some("rer.output.final") => {
            payload.only(&["output"])?;
            let output = payload.0.and_then(|payload| payload.member("output"));
            let text = output.and_then(|output| output.string()).map(|text| text.into_owned());
            let output = text.or_else(|| payload.json("output"));
            let output = output.ok_or(ReportFault::Member { member: "output", wanted: "there" })?;
            Ok(take(&Report::OutputFinal { output: &output }))
        }
        Some(other) => Err(ReportFault::Type { found: format!("\"{}\"", Shown::new(other)) }),
        None => Err(ReportFault::Type { found: "none".to_owned() }),
    }
}

/// The payload of a report, if there is one.
struct Payload<'v>(Option<Value<'v>>);

impl Payload<'_> {
    fn only(&self, members: &[&str]) -> Result<(), ReportFault> {
        match self.0 {
            Some(payload) if payload.kind() == Kind::Object => only(payload, "payload.", members),
            _ => Err(ReportFault::Member { member: "*", wanted: "an object" }),
        }
    }

    fn optional<T>(
        &self,
        member: &'static str,
        wanted: &'static str,
        read: impl FnOnce(Value<'_>) -> Option<T>,
    ) -> Result<Option<T>, ReportFault> {
        let found = self.0.and_then(|payload| payload.member(member)).filter(|value| !value.is_null());
        found.map(|value| read(value).ok_or(ReportFault::Member { member, wanted })).transpose()
    }

    fn optional_text(&self, member: &'static str) -> Result<Option<String>, ReportFault> {
        self.optional(member, "a text", |value| Some(value.string()?.into_owned()))
    }

    fn text(&self, member: &'static str) -> Result<String, ReportFault> {
        self.optional_text(member)?.ok_or(ReportFault::Member { member, wanted: "a text" })
    }

    fn optional_hash(&self, member: &'static str) -> Result<Option<[u8; 32]>, ReportFault> {
        let read = |value: Value<'_>| Some(*Digest::from_hex(&value.string()?)?.as_bytes());
        self.optional(member, "64 hexadecimal digits", read)
    }

    fn list<T>(
        &self,
        member: &'static str,
        wanted: &'static str,
        read: impl Fn(Value<'_>) -> Option<T>,
    ) -> Result<Vec<T>, ReportFault> {
        let list = self.optional(member, wanted, |value| {
            (value.kind() == Kind::Array).then(|| value.elements().map(&read).collect::<Option<Vec<T>>>())?
        })?;
        list.ok_or(ReportFault::Member { member, wanted })
    }

    fn json(&self, member: &str) -> Option<String> {
        let value = self.0.and_then(|payload| payload.member(member))?;
        Some(String::from_utf8_lossy(value.text()).into_owned())
    }
}

fn only(object: Value<'_>, prefix: &str, members: &[&str]) -> Result<(), ReportFault> {
    let strange = |name: &Value<'_>| !members.iter().any(|known| name.is_string(known));
    match object.members().map(|(name, _)| name).find(strange) {
        None => Ok(()),
        Some(name) => {
            let name = name.string().unwrap_or_default();
            Err(ReportFault::Stranger { member: format!("{prefix}{}", Shown::new(&name)) })
        }
    }
}

fn exit_code(value: Value<'_>) -> Option<i32> {
    core::str::from_utf8(value.text()).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<String, String> {
        read(text.as_bytes(), |report| format!("{report:?}")).map_err(|fault| fault.to_string())
    }

    #[test]
    fn each_type_is_read() {
        let hash = "ab".repeat(32);
        for (payload, expected) in [
            (r#""rer.output.final","payload":{"output":"done"}"#.to_owned(), r#"OutputFinal { output: "done" }"#),
            (r#""rer.output.final","payload":{"output":{"a":1}}"#.to_owned(), r#"OutputFinal { output: "{\"a\":1}" }"#),
            (
                r#""rer.plan.started","payload":{"steps":["a"]}"#.to_owned(),
                r#"PlanStarted { plan_hash: None, steps: "[\"a\"]" }"#,
            ),
            (
                r#""rer.step.completed","payload":{"step_id":"1","status":"ok","utility":0.5,"iterations":2}"#.to_owned(),
                r#"StepCompleted { step_id: "1", status: "ok", iterations: Some(2), utility: Some(0.5) }"#,
            ),
            (
                r#""rer.prompt.rendered","payload":{"prompt":"p","variables":{"x":1}}"#.to_owned(),
                r#"PromptRendered { template: None, variables: Some("{\"x\":1}"), prompt: "p" }"#,
            ),
            (
                r#""rer.verification.ran","payload":{"commands":["t"],"exit_codes":[-1],"delta":null}"#.to_owned(),
                r#"VerificationRan { commands: ["t"], exit_codes: [-1], delta: "null" }"#,
            ),
        ] {
            assert_eq!(told(&format!(r#"{{"type":{payload}}}"#)), Ok(expected.to_owned()));
        }
        let written = format!(
            r#"{{"type":"rer.artifact.written","payload":{{"artifact_hash":"{hash}","name":"a","size_bytes":3}}}}"#
        );
        assert!(told(&written).unwrap().starts_with("ArtifactWritten { artifact_hash: [171, "));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let types = TYPES.join(", ");
        for (text, expected) in [
            ("{}", format!("type: must be one of {types}, and this is none")),
            (
                r#"{"type":"rer.model.called","payload":{}}"#,
                format!("type: must be one of {types}, and this is \"rer.model.called\""),
            ),
            (r#"{"type":"rer.output.final"}"#, "payload.*: must be an object".to_owned()),
            (r#"{"type":"rer.output.final","payload":{}}"#, "payload.output: must be there".to_owned()),
            (
                r#"{"type":"rer.output.final","payload":{"output":1},"x":1}"#,
                "x: there is no such member".to_owned(),
            ),
            (
                r#"{"type":"rer.output.final","payload":{"output":1,"salt":1}}"#,
                "payload.salt: there is no such member".to_owned(),
            ),
            (
                r#"{"type":"rer.step.completed","payload":{"step_id":1,"status":"ok"}}"#,
                "payload.step_id: must be a text".to_owned(),
            ),
            (
                r#"{"type":"rer.verification.ran","payload":{"commands":["a"],"exit_codes":[0.5]}}"#,
                "payload.exit_codes: must be a list of exit codes".to_owned(),
            ),
        ] {
            assert_eq!(told(text), Err(expected), "{text}");
        }
        assert!(told("{").unwrap_err().starts_with("it is not JSON: "));
    }
}
